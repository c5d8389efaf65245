/* SPDX-License-Identifier: MIT */
/*
 * Putting folios that have their contents already into a page cache.
 *
 *   dress    reference, mapping, index, flags; nobody sees it
 *   store    a run of single pages in one leaf in one hold of xa_lock, a whole
 *            leaf by one store; what is large, or meets a shadow, as one alone
 *            is added
 *   finish   LRU
 *
 * The caller's reference becomes the cache's: for a single page no count is
 * touched at all.
 *
 * Locks: xa_lock; nothing is allocated under it.
 * Source: the design is its own; the contract is that of filemap_add_folio()
 *         for each folio.
 */
#include "mm/filemap_publish.h"

#include "host/errtext.h"
#include "mm/filemap_internal.h"
#include "mm/memcontrol.h"

#include <errno.h>
#include <inttypes.h>

void filemap_publish_init(struct filemap_publish *publish,
			  struct address_space *mapping)
{
	publish->mapping = mapping;
	publish->paid = false;
	publish->xas = (struct xa_state)
		XA_STATE_INIT(&mapping->i_pages, 0, 0, 0);
}

void filemap_publish_end(struct filemap_publish *publish)
{
	xas_destroy(&publish->xas);
}

/* For nodes that are missing after all; locks may be held. */
static gfp_t gfp_of(const struct filemap_publish *publish)
{
	const gfp_t gfp = publish->mapping->gfp_mask;

	return publish->paid ? (gfp & ~GFP_KERNEL) | GFP_NOWAIT : gfp;
}

/* Folios of this mapping may be evicted: a clean one would be lost at once. */
static bool evictable(const struct filemap_publish *publish)
{
	return !mapping_unevictable(publish->mapping);
}

/* All but the store: the folio may be found as soon as that is done. */
static void dress(const struct filemap_publish *publish, struct folio *folio,
		  pgoff_t index)
{
	__folio_set_uptodate(folio);
	if (evictable(publish)) {
		__folio_set_dirty(folio);
		/* Ours, until it is queued for its list. */
		folio_get(folio);
	}
	filemap_set_mapping(publish->mapping, folio, index);
}

static void undress(const struct filemap_publish *publish, struct folio *folio)
{
	filemap_clear_mapping(folio);
	folio_clear_uptodate(folio);
	if (evictable(publish)) {
		folio_clear_dirty(folio);
		folio_put(folio);
	}
}

static void finish(const struct filemap_publish *publish, struct folio *folio)
{
	if (!evictable(publish))
		return;
	filemap_queue_new(folio, NULL, 0);
	folio_put(folio);
}

/* Marks for [@index, + @nr), in the hold that has stored them. */
static void mark_dirty(struct xa_state *xas, pgoff_t index, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		xas_set(xas, index + i);
		xas_load(xas);
		xas_set_mark(xas, PAGECACHE_TAG_DIRTY);
	}
}

/* Single pages, one behind the other in one leaf. */
static unsigned int run_length(pgoff_t index, struct folio *const *folios,
			       unsigned int nr)
{
	unsigned int room = XA_CHUNK_SIZE - (unsigned int)
			    (index & XA_CHUNK_MASK);
	unsigned int run;

	for (run = 0; run < min(nr, room); run++)
		if (folio_test_large(folios[run]))
			break;
	return run;
}

/*
 * Store a run in one hold of the lock.  It stops at the first slot with
 * anything in it.
 *
 * Return: how many were stored.
 */
static unsigned int store_run(struct filemap_publish *publish, pgoff_t index,
			      struct folio *const *folios, unsigned int nr)
{
	struct address_space *mapping = publish->mapping;
	struct xa_state *xas = &publish->xas;
	struct xa_node *leaf;
	unsigned int stored;

	for (unsigned int i = 0; i < nr; i++)
		dress(publish, folios[i], index + i);
	leaf = filemap_fill_leaf(xas, (void *const *)folios, nr);
	do {
		xas_set(xas, index);
		xas_lock(xas);
		stored = filemap_store_run(xas, &leaf, (void *const *)folios,
					   nr);
		if (stored)
			filemap_account(mapping, stored);
		if (evictable(publish))
			mark_dirty(xas, index, stored);
		xas_unlock(xas);
	} while (xas_error(xas) == -ENOMEM &&
		 xas_nomem(xas, gfp_of(publish)));
	if (leaf)
		xas_spare_leaf(xas, leaf);
	for (unsigned int i = 0; i < nr; i++) {
		if (i < stored)
			finish(publish, folios[i]);
		else
			undress(publish, folios[i]);
	}
	return stored;
}

static int store_one(struct filemap_publish *publish, pgoff_t index,
		     struct folio *folio)
{
	struct address_space *mapping = publish->mapping;
	void *shadow = NULL;
	int err;

	__folio_set_locked(folio);
	__folio_set_uptodate(folio);
	if (evictable(publish))
		__folio_set_dirty(folio);
	err = __filemap_add_folio(mapping, folio, index, gfp_of(publish),
				  &shadow);
	if (err) {
		folio_clear_uptodate(folio);
		folio_clear_dirty(folio);
	} else {
		filemap_queue_new(folio, shadow, gfp_of(publish));
	}
	folio_unlock(folio);
	if (!err)
		folio_put(folio);
	return err;
}

/* Nodes for all of them, if there is memory. */
static void provide_nodes(struct filemap_publish *publish, pgoff_t index,
			  struct folio *const *folios, unsigned int nr)
{
	struct xa_state *xas = &publish->xas;
	pgoff_t last = index;

	for (unsigned int i = 0; i + 1 < nr; i++)
		last += folios[i] ? (pgoff_t)folio_nr_pages(folios[i]) : 1;
	xas_set(xas, index);
	(void)!xas_alloc_spares(xas, xas_spares_for(xas, last),
				publish->mapping->gfp_mask);
}

/*
 * Pay for all of them at once; if that is too much, for as many as can be.
 *
 * Return: how many are paid for.
 */
static unsigned int charge(const struct filemap_publish *publish,
			   struct folio *const *folios, unsigned int nr)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_current();
	const gfp_t gfp = publish->mapping->gfp_mask;
	unsigned long pages = 0;
	bool all;

	for (unsigned int i = 0; i < nr; i++)
		if (folios[i])
			pages += (unsigned long)folio_nr_pages(folios[i]);
	all = !pages || !try_charge(memcg, gfp, pages);
	for (unsigned int i = 0; i < nr; i++) {
		if (!folios[i])
			continue;
		if (all)
			mem_cgroup_commit_charge(folios[i],
						 mem_cgroup_id(memcg));
		else if (mem_cgroup_charge(folios[i], gfp))
			return i;
	}
	return nr;
}

unsigned int filemap_publish_pay(struct filemap_publish *publish, pgoff_t index,
				 struct folio *const *folios, unsigned int nr)
{
	nr = charge(publish, folios, nr);
	if (nr)
		provide_nodes(publish, index, folios, nr);
	publish->paid = true;
	return nr;
}

int filemap_publish_folios(struct filemap_publish *publish, pgoff_t index,
			   struct folio *const *folios, unsigned int nr)
{
	unsigned int paid = nr, done = 0;
	int err = 0;

	if (!publish->paid) {
		paid = charge(publish, folios, nr);
		if (!paid)
			return -ENOMEM;
		provide_nodes(publish, index, folios, paid);
	}
	while (done < paid && !err) {
		unsigned int run = run_length(index, folios + done,
					      paid - done);
		unsigned int stored = 0;

		/* Alone at index 0 it would be in the head. */
		if (run && index)
			stored = store_run(publish, index, folios + done, run);
		if (!stored) {
			const long pages = folio_nr_pages(folios[done]);

			err = store_one(publish, index, folios[done]);
			if (err)
				break;
			index += (pgoff_t)pages;
			stored = 1;
		} else {
			index += stored;
		}
		done += stored;
	}
	for (unsigned int i = done; i < paid && !publish->paid; i++)
		mem_cgroup_uncharge(folios[i]);
	return done ? (int)done : err;
}
