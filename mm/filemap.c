/* SPDX-License-Identifier: MIT */
/*
 * The page cache: a folio comes, is found, goes.
 *
 * A lookup takes no lock.  It may find a folio that is being removed, freed,
 * used for something else:
 *
 *	walk to the slot, try to get what is there, look at the slot again
 *
 * Frames are never given back to the host, so the count of a folio that is long
 * gone can be looked at; and while the slot still shows it after a reference was
 * taken, the reference is to that very folio.
 *
 * Locks: folio lock, xa_lock; nothing is allocated under xa_lock.
 *
 * Source: mm/filemap.c
 */
#include "mm/filemap.h"

#include "host/errtext.h"
#include "mm/filemap_internal.h"
#include "mm/interval_tree.h"
#include "mm/memcontrol.h"
#include "mm/swap.h"
#include "mm/workingset.h"

#include <errno.h>
#include <inttypes.h>

/* ---- mappings -------------------------------------------------------- */

static void *node_zalloc(size_t bytes, gfp_t gfp __maybe_unused)
{
	VM_BUG_ON(lockrank_held(RANK_XA));
	return kzalloc(bytes);
}

void mapping_init(struct address_space *mapping, struct machine *machine)
{
	*mapping = (struct address_space){
		.machine = machine,
		.gfp_mask = GFP_HIGHUSER_MOVABLE,
	};
	xa_init_zalloc(&mapping->i_pages, node_zalloc);
	mapping->i_pages.xa_update = workingset_update_node;
	init_rwsem(&mapping->invalidate_lock, RANK_INVALIDATE);
	init_rwsem(&mapping->i_mmap_rwsem, RANK_I_MMAP);
	interval_tree_init(&mapping->i_mmap);
	spin_lock(&machine->lock);
	list_add_tail(&mapping->machine_list, &machine->mapping_list);
	spin_unlock(&machine->lock);
}

void mapping_destroy(struct address_space *mapping)
{
	BUG_ON(mapping->i_mmap.nr);
	/* It takes the lock, where who reclaims the last folio may still be. */
	xa_destroy(&mapping->i_pages);
	BUG_ON(mapping->nrpages);
	spin_lock(&mapping->machine->lock);
	list_del(&mapping->machine_list);
	spin_unlock(&mapping->machine->lock);
}

void mapping_set_folio_order_range(struct address_space *mapping,
				   unsigned int min, unsigned int max)
{
	unsigned long orders;

	min = min_t(unsigned int, min, MAX_PAGECACHE_ORDER);
	max = min_t(unsigned int, max, MAX_PAGECACHE_ORDER);
	max = max_t(unsigned int, min, max);
	orders = (unsigned long)min << AS_FOLIO_ORDER_MIN |
		 (unsigned long)max << AS_FOLIO_ORDER_MAX;
	mapping->flags &= ~(AS_FOLIO_ORDER_MASK << AS_FOLIO_ORDER_MIN |
			    AS_FOLIO_ORDER_MASK << AS_FOLIO_ORDER_MAX);
	mapping->flags |= orders;
}

void filemap_account(struct address_space *mapping, long nr)
{
	assert_spin_locked(&mapping->i_pages.xa_lock);
	WRITE_ONCE(mapping->nrpages, mapping->nrpages + (unsigned long)nr);
	/* A pool's pages are counted by the pool. */
	if (likely(!mapping_hugetlb(mapping)))
		atomic64_add(nr, &mapping->machine->nr_file_pages);
}

/* ---- adding ---------------------------------------------------------- */

struct shadow {
	void *entry;
	unsigned int order;
};

/*
 * What is where the cursor stores: a folio, which is in the way; or shadows, of
 * which the last one counts.  A larger one is alone.
 */
static int find_shadow(const struct address_space *mapping,
		       struct xa_state *xas, struct shadow *found)
{
	void *entry;

	*found = (struct shadow){ NULL, 0 };
	xas_for_each_conflict(xas, entry) {
		if (!xa_is_value(entry))
			return -EEXIST;
		if (mapping_keeps_values(mapping))
			return -EINVAL;
		if (!found->entry)
			found->order = xas_get_order(xas);
		found->entry = entry;
	}
	return 0;
}

enum add_result { ADD_DONE, ADD_SPLIT };

/*
 * Store once; a shadow that is larger than the folio is split first.  @ready is
 * the one that the cursor's nodes were prepared to split: it may be gone, or
 * another be in its place, when the lock is taken again.
 */
static enum add_result add_locked(struct address_space *mapping,
				  struct xa_state *xas, struct folio *folio,
				  struct shadow *ready, struct shadow *found)
{
	int err = find_shadow(mapping, xas, found);

	if (err) {
		xas_set_err(xas, err);
		return ADD_DONE;
	}
	if (found->order <= folio_order(folio)) {
		if (ready->entry)
			return ADD_SPLIT;
	} else {
		if (ready->entry != found->entry ||
		    ready->order != found->order)
			return ADD_SPLIT;
		xas_split(xas, found->entry, found->order);
		xas_reset(xas);
		ready->entry = NULL;
	}
	xas_store(xas, folio);
	if (xas_error(xas))
		return ADD_DONE;
	filemap_account(mapping, folio_nr_pages(folio));
	if (folio_test_dirty(folio))
		xas_set_mark(xas, PAGECACHE_TAG_DIRTY);
	return ADD_DONE;
}

/* Drop what was prepared for another shadow, and prepare for this one. */
static void prepare_split(struct xa_state *xas, struct shadow *ready,
			  const struct shadow *found, unsigned int order,
			  gfp_t gfp)
{
	xas_destroy(xas);
	xas_reset(xas);
	ready->entry = NULL;
	if (found->order <= order)
		return;
	xas_split_alloc(xas, found->entry, found->order, gfp);
	if (!xas_error(xas))
		*ready = *found;
}

static int store_folio(struct address_space *mapping, struct folio *folio,
		       pgoff_t index, gfp_t gfp, struct shadow *found)
{
	const unsigned int order = folio_order(folio);
	XA_STATE_ORDER(xas, &mapping->i_pages, index, order);
	struct shadow ready = { NULL, 0 };
	enum add_result result;

	do {
		xas_lock(&xas);
		result = add_locked(mapping, &xas, folio, &ready, found);
		xas_unlock(&xas);
		if (result == ADD_SPLIT)
			prepare_split(&xas, &ready, found, order, gfp);
	} while ((result == ADD_SPLIT && !xas_error(&xas)) ||
		 xas_nomem(&xas, gfp));
	return xas_error(&xas);
}

int __filemap_add_folio(struct address_space *mapping, struct folio *folio,
			pgoff_t index, gfp_t gfp, void **shadowp)
{
	struct shadow found;
	int err;

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	VM_BUG_ON_FOLIO(folio_test_swapbacked(folio), folio);
	VM_BUG_ON_FOLIO(folio_order(folio) < mapping_min_folio_order(mapping),
			folio);
	VM_BUG_ON_FOLIO(index & (pgoff_t)(folio_nr_pages(folio) - 1), folio);
	folio_ref_add(folio, (int)folio_nr_pages(folio));
	filemap_set_mapping(mapping, folio, index);
	err = store_folio(mapping, folio, index, gfp, &found);
	if (err) {
		filemap_clear_mapping(folio);
		folio_put_refs(folio, (int)folio_nr_pages(folio));
		return fail(err, "index %" PRIu64 " has a folio or a value, or "
			    "no memory for a node", index, 0, 0);
	}
	if (shadowp)
		*shadowp = found.entry;
	return 0;
}

void filemap_queue_new(struct folio *folio, void *shadow, gfp_t gfp)
{
	if (folio_test_unevictable(folio))
		return;
	/* What is written anew says nothing about what should be kept. */
	if (shadow && !(gfp & __GFP_WRITE))
		workingset_refault(folio, shadow);
	folio_add_lru(folio);
}

int filemap_add_folio(struct address_space *mapping, struct folio *folio,
		      pgoff_t index, gfp_t gfp)
{
	int err = mem_cgroup_charge(folio, gfp);
	void *shadow = NULL;

	if (err)
		return err;
	__folio_set_locked(folio);
	err = __filemap_add_folio(mapping, folio, index, gfp, &shadow);
	if (!err) {
		filemap_queue_new(folio, shadow, gfp);
		return 0;
	}
	mem_cgroup_uncharge(folio);
	folio_unlock(folio);
	return err;
}

/* ---- removing -------------------------------------------------------- */

/*
 * [filemap-recheck] the slot changes, then the references go; paired with
 * filemap_get_entry() and find_get_entry()
 */
void page_cache_delete(struct address_space *mapping, struct folio *folio,
		       void *shadow)
{
	XA_STATE_ORDER(xas, &mapping->i_pages, folio->index,
		       folio_order(folio));
	void *entry __maybe_unused;

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	entry = xas_load(&xas);
	VM_BUG_ON_FOLIO(entry != folio, folio);
	/* First: who walks by marks must not meet NULL under one. */
	xas_init_marks(&xas);
	xas_store(&xas, shadow);
	VM_BUG_ON_FOLIO(xas_error(&xas), folio);
	/* The index stays: truncation looks at it. */
	WRITE_ONCE(folio->mapping, NULL);
	filemap_account(mapping, -folio_nr_pages(folio));
}

void __filemap_remove_folio(struct folio *folio, void *shadow)
{
	page_cache_delete(folio->mapping, folio, shadow);
}

void filemap_free_folio(struct address_space *mapping, struct folio *folio)
{
	if (mapping->a_ops && mapping->a_ops->free_folio)
		mapping->a_ops->free_folio(folio);
	folio_put_refs(folio, (int)folio_nr_pages(folio));
}

void filemap_remove_folio(struct folio *folio)
{
	struct address_space *mapping = folio->mapping;

	xa_lock(&mapping->i_pages);
	__filemap_remove_folio(folio, NULL);
	xa_unlock(&mapping->i_pages);
	filemap_free_folio(mapping, folio);
}

void replace_page_cache_folio(struct folio *old, struct folio *new)
{
	struct address_space *mapping = old->mapping;
	XA_STATE(xas, &mapping->i_pages, old->index);
	void *entry __maybe_unused;

	VM_BUG_ON_FOLIO(!folio_test_locked(old) || folio_test_large(old), old);
	VM_BUG_ON_FOLIO(!folio_test_locked(new) || folio_test_large(new), new);
	VM_BUG_ON_FOLIO(new->mapping, new);
	mem_cgroup_replace_folio(old, new);
	folio_get(new);
	filemap_set_mapping(mapping, new, old->index);
	xas_lock(&xas);
	entry = xas_store(&xas, new);
	VM_BUG_ON_FOLIO(entry != old, old);
	/* They are the old one's, which is not there to be written. */
	xas_init_marks(&xas);
	WRITE_ONCE(old->mapping, NULL);
	xas_unlock(&xas);
	filemap_free_folio(mapping, old);
}

/* ---- finding --------------------------------------------------------- */

/*
 * [filemap-recheck] a reference, then the slot again; paired with
 * page_cache_delete()
 */
void *filemap_get_entry(struct address_space *mapping, pgoff_t index)
{
	XA_STATE(xas, &mapping->i_pages, index);
	struct folio *folio;

	rcu_read_lock();
	for (;; cpu_relax()) {
		xas_reset(&xas);
		folio = xas_load(&xas);
		if (xa_is_zero(folio))
			folio = NULL;
		if (xas_retry(&xas, folio))
			continue;
		if (!folio || xa_is_value(folio))
			break;
		if (!folio_try_get(folio))
			continue;
		if (likely(folio == xas_reload(&xas)))
			break;
		folio_put(folio);
	}
	rcu_read_unlock();
	return folio;
}

/* What xas_next() or xas_prev() has come to: no folio? */
static bool is_miss(struct xa_state *xas, void *entry)
{
	if (xa_is_sibling(entry))
		entry = xas_reload(xas);
	return !entry || xa_is_value(entry);
}

/* From @index to @last by @step, which is one of the two. */
static bool find_miss(struct address_space *mapping, pgoff_t index,
		      pgoff_t last, void *(*step)(struct xa_state *xas),
		      pgoff_t *miss)
{
	XA_STATE(xas, &mapping->i_pages, index);
	bool found;

	rcu_read_lock();
	for (;;) {
		void *entry = step(&xas);

		/* Once more, without moving. */
		if (xa_is_retry(entry)) {
			xas_reset(&xas);
			continue;
		}
		found = is_miss(&xas, entry);
		if (found || xas.xa_index == last)
			break;
	}
	rcu_read_unlock();
	if (found)
		*miss = xas.xa_index;
	return found;
}

bool page_cache_next_miss(struct address_space *mapping, pgoff_t index,
			  unsigned long nr, pgoff_t *miss)
{
	const pgoff_t most = (pgoff_t)-1 - index;

	return nr && find_miss(mapping, index, index + min(nr - 1, most),
			       xas_next, miss);
}

bool page_cache_prev_miss(struct address_space *mapping, pgoff_t index,
			  unsigned long nr, pgoff_t *miss)
{
	return nr && find_miss(mapping, index, index - min(nr - 1, index),
			       xas_prev, miss);
}

int filemap_lock_found(struct address_space *mapping, struct folio *folio,
		       pgoff_t index, fgf_t fgp)
{
	int err = 0;

	if (!(fgp & FGP_NOWAIT))
		err = folio_lock_mode(folio, filemap_subclass(index),
				      fgp & FGP_INTERRUPTIBLE ?
				      WAIT_INTERRUPTIBLE :
				      WAIT_UNINTERRUPTIBLE);
	else if (!folio_trylock(folio))
		err = -EAGAIN;
	if (err) {
		folio_put(folio);
		return err;
	}
	if (likely(folio->mapping == mapping)) {
		/* Splitting and moving take the lock. */
		VM_BUG_ON_FOLIO(!folio_contains(folio, index), folio);
		return 0;
	}
	folio_unlock(folio);
	folio_put(folio);
	return -ESTALE;
}

void filemap_touch_found(struct folio *folio, fgf_t fgp)
{
	if (fgp & FGP_ACCESSED)
		folio_mark_accessed(folio);
	if (fgp & FGP_STABLE)
		folio_wait_stable(folio);
}

/* The order to begin with: no larger than the alignment of @index. */
static unsigned int new_order(const struct address_space *mapping,
			      pgoff_t index, fgf_t fgp)
{
	const unsigned int min_order = mapping_min_folio_order(mapping);
	unsigned int order = FGF_GET_ORDER(fgp);

	order = min_t(unsigned int, order, mapping_max_folio_order(mapping));
	order = max_t(unsigned int, order, min_order);
	if (index & ((1UL << order) - 1))
		order = (unsigned int)__builtin_ctzll(index);
	return order;
}

static struct folio *add_new_folio(struct address_space *mapping,
				   pgoff_t index, fgf_t fgp, gfp_t gfp)
{
	const unsigned int min_order = mapping_min_folio_order(mapping);
	unsigned int order;

	index = mapping_align_index(mapping, index);
	for (order = new_order(mapping, index, fgp);; order--) {
		struct folio *folio;
		int err = -ENOMEM;

		folio = filemap_alloc_folio(order > min_order ?
					    gfp | FILEMAP_GFP_LARGE : gfp,
					    order);

		if (folio) {
			if (fgp & FGP_ACCESSED)
				__folio_set_referenced(folio);
			err = filemap_add_folio(mapping, folio, index, gfp);
			if (!err)
				return folio;
			folio_put(folio);
		}
		if (order == min_order)
			return ERR_PTR(err);
	}
}

/* Nothing there: add one; -EEXIST if somebody else was faster. */
static struct folio *create_folio(struct address_space *mapping, pgoff_t index,
				  fgf_t fgp, gfp_t gfp)
{
	struct folio *folio;

	/* As locked it comes. */
	WARN_ON_ONCE(!(fgp & (FGP_LOCK | FGP_FOR_MMAP)));
	folio = add_new_folio(mapping, index, fgp,
			      filemap_gfp(mapping, fgp, gfp));
	if (IS_ERR(folio)) {
		if (PTR_ERR(folio) == -ENOMEM && (fgp & FGP_NOWAIT))
			return ERR_PTR(-EAGAIN);
		return folio;
	}
	if (fgp & FGP_FOR_MMAP)
		folio_unlock(folio);
	return folio;
}

struct folio *__filemap_get_folio(struct address_space *mapping, pgoff_t index,
				  fgf_t fgp, gfp_t gfp)
{
	for (;; cond_resched()) {
		struct folio *folio = filemap_get_entry(mapping, index);
		int err = 0;

		if (!folio || xa_is_value(folio)) {
			if (!(fgp & FGP_CREAT))
				return ERR_PTR(-ENOENT);
			folio = create_folio(mapping, index, fgp, gfp);
			if (PTR_ERR(folio) == -EEXIST)
				continue;
			return folio;
		}
		if (fgp & FGP_LOCK)
			err = filemap_lock_found(mapping, folio, index, fgp);
		if (err == -ESTALE)
			continue;
		if (err)
			return ERR_PTR(err);
		filemap_touch_found(folio, fgp);
		return folio;
	}
}
