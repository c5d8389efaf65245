/* SPDX-License-Identifier: MIT */
/*
 * Splitting a folio into smaller ones.
 *
 *   unmap    each entry becomes a migration entry: who faults on it waits for
 *            the folio lock; the entry's reference goes
 *   freeze   only the caller's reference is left, and becomes 0: nobody can get
 *            at the folio any more
 *   split    descriptors, LRU list
 *   remap    each migration entry becomes a mapping of what its page now
 *            belongs to; after a failure, of the folio as it was
 *
 * Invariants:
 * 1. A page that is pinned or got is never unmapped for good: its reference
 *    makes the freeze fail, and a pin of an exclusive page keeps its very entry.
 * 2. A walk without locks that took a tail for the folio's finds the folio
 *    frozen, or, once its count is published, the page not its own any more.
 * 3. Each part is locked until all entries map it.
 *
 * Locks: folio lock, the anon_vma's lock for write, then one page-table lock at
 * a time; lru lock.  Other address spaces' mmap_lock is not needed: areas and
 * tables stay while they can be found, and protection changes with the entries.
 * Source: mm/huge_memory.c, mm/rmap.c:try_to_migrate_one(),
 *         mm/migrate.c:remove_migration_pte()
 * Differs: what is unused is found at once, there is no deferred split.
 */
#include "mm/folio_split.h"

#include "host/errtext.h"
#include "mm/filemap.h"
#include "mm/fs.h"
#include "mm/huge_memory.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- the entries of one place ---------------------------------------- */

/* What a walk over one place's entries is looking for. */
struct place {
	struct vm_area_struct *vma;
	pf_pfn_t pfn;			/* first page of the folio */
	unsigned long nr;		/* its pages */
};

typedef void (*place_pte_fn)(struct place *p, pf_addr_t address, pte_t *ptep);

static pf_addr_t place_end(const struct place *p, const struct folio *folio,
			   pf_addr_t address)
{
	unsigned long seen = linear_page_index(p->vma, address) - folio->index;

	return min(address + (p->nr - seen) * PAGE_SIZE, p->vma->vm_end);
}

/* @fn for each entry of [address, end) that is not empty, under its lock. */
static void for_each_pte(struct place *p, pf_addr_t address, pf_addr_t end,
			 place_pte_fn fn)
{
	struct mm_struct *mm = p->vma->vm_mm;
	pf_addr_t next;

	for (; address < end; address = next) {
		pmd_t *pmd = mm_find_pmd(mm, address);
		pte_t *first, *ptep;
		spinlock_t *ptl;

		next = pmd_addr_end(address, end);
		first = pmd ? pte_offset_map_lock(mm, pmd, address, &ptl) :
			      NULL;
		if (!first)
			continue;
		for (ptep = first; address < next;
		     ptep++, address += PAGE_SIZE)
			if (!pte_none(ptep_get(ptep)))
				fn(p, address, ptep);
		pte_unmap_unlock(first, ptl);
	}
}

/* ---- unmapping ------------------------------------------------------- */

static pte_t migration_pte(pte_t pte, bool exclusive)
{
	unsigned int type = pte_write(pte) ? SWP_MIGRATION_WRITE :
			    exclusive ? SWP_MIGRATION_READ_EXCLUSIVE :
					SWP_MIGRATION_READ;
	u64 offset = pte_pfn(pte);
	pte_t swp;

	if (pte_young(pte))
		offset |= SWP_MIG_YOUNG;
	if (pte_dirty(pte))
		offset |= SWP_MIG_DIRTY;
	swp = swp_entry_to_pte(swp_entry(type, offset));
	if (pte_soft_dirty(pte))
		swp = pte_swp_mksoft_dirty(swp);
	return pte_uffd_wp(pte) ? pte_swp_mkuffd_wp(swp) : swp;
}

static bool maps_place(const struct place *p, pte_t pte)
{
	return pte_present(pte) && !pte_special(pte) &&
	       pte_pfn(pte) - p->pfn < p->nr;
}

static void unmap_pte(struct place *p, pf_addr_t address, pte_t *ptep)
{
	struct mm_struct *mm = p->vma->vm_mm;
	struct folio *folio;
	struct page *page;
	bool exclusive;
	pte_t pte;

	if (!maps_place(p, ptep_get(ptep)))
		return;
	pte = ptep_get_and_clear(mm, address, ptep);
	page = pte_page(pte);
	folio = page_folio(page);
	exclusive = PageAnonExclusive(page);
	if (exclusive && folio_try_share_anon_rmap_pte(folio, page)) {
		set_pte_at(mm, address, ptep, pte);
		return;
	}
	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	set_pte_at(mm, address, ptep, migration_pte(pte, exclusive));
	folio_remove_rmap(folio, p->vma, 1, 1);
	/* Not the last one: the caller has his. */
	folio_put(folio);
}

static bool unmap_place(struct folio *folio, struct vm_area_struct *vma,
			pf_addr_t address, void *arg __maybe_unused)
{
	struct place p = { vma, folio_pfn(folio), folio_nr_pages(folio) };
	pmd_t *pmd = mm_find_pmd(vma->vm_mm, address), leaf;

	leaf = pmd ? pmdp_get(pmd) : __pmd(0);
	/* Of another folio: this one may still be mapped behind that leaf. */
	if (pmd_trans_huge(leaf) && pmd_pfn(leaf) == p.pfn)
		split_huge_pmd(vma, pmd, address);
	for_each_pte(&p, address, place_end(&p, folio, address), unmap_pte);
	return true;
}

/* It may change now; then the entries of the area will be gone through again. */
static pgprot_t vma_page_prot(const struct vm_area_struct *vma)
{
	return (pgprot_t){ READ_ONCE(vma->vm_page_prot.pgprot) };
}

/* ---- mapping again --------------------------------------------------- */

/*
 * A page of zeroes needs no frame of its own.
 *
 * Return: the entry to put there instead; or none.
 * Source: mm/migrate.c:try_to_map_unused_to_zeropage()
 */
static pte_t unused_pte(const struct place *p, struct page *page, pte_t swp)
{
	struct page *zero = page_machine(page)->zero_page;
	pte_t pte;

	if (folio_test_large(page_folio(page)) || PageHWPoison(page) ||
	    (READ_ONCE(p->vma->vm_flags) & VM_LOCKED) ||
	    page_machine(page)->metadata_only)
		return __pte(0);
	if (memcmp(page_address(page), page_address(zero), PAGE_SIZE))
		return __pte(0);
	pte = pte_mkspecial(mk_pte(zero, vma_page_prot(p->vma)));
	if (pte_swp_soft_dirty(swp))
		pte = pte_mksoft_dirty(pte);
	return pte_swp_uffd_wp(swp) ? pte_mkuffd_wp(pte) : pte;
}

static pte_t mapping_pte(struct vm_area_struct *vma, struct page *page,
			 pte_t swp)
{
	swp_entry_t entry = pte_to_swp_entry(swp);
	pte_t pte = mk_pte(page, vma_page_prot(vma));

	pte = swp_offset(entry) & SWP_MIG_YOUNG ? pte_mkyoung(pte) :
						  pte_mkold(pte);
	if (swp_offset(entry) & SWP_MIG_DIRTY)
		pte = pte_mkdirty_hw(pte);
	if (pte_swp_soft_dirty(swp))
		pte = pte_mksoft_dirty(pte);
	if (is_writable_migration_entry(entry))
		pte = pte_mkwrite_novma(pte);
	return pte_swp_uffd_wp(swp) ? pte_mkuffd_wp(pte) : pte;
}

static void remap_pte(struct place *p, pf_addr_t address, pte_t *ptep)
{
	struct mm_struct *mm = p->vma->vm_mm;
	pte_t swp = ptep_get(ptep), unused;
	swp_entry_t entry = pte_to_swp_entry(swp);
	struct folio *folio;
	struct page *page;

	if (pte_present(swp) || !is_migration_entry(entry) ||
	    swp_offset_pfn(entry) - p->pfn >= p->nr)
		return;
	page = pfn_to_page(swp_offset_pfn(entry));
	unused = unused_pte(p, page, swp);
	if (!pte_none(unused)) {
		set_pte_at(mm, address, ptep, unused);
		return;
	}
	folio = page_folio(page);
	folio_get(folio);
	folio_add_anon_rmap_pte(folio, page, p->vma,
				!is_readable_migration_entry(entry));
	set_pte_at(mm, address, ptep, mapping_pte(p->vma, page, swp));
}

static bool remap_place(struct folio *folio, struct vm_area_struct *vma,
			pf_addr_t address, void *arg __maybe_unused)
{
	struct place p = { vma, folio_pfn(folio), folio_nr_pages(folio) };

	for_each_pte(&p, address, place_end(&p, folio, address), remap_pte);
	return true;
}

/* Each part of what was one folio of @order; that may be the whole. */
static void remap_parts(struct folio *folio, unsigned int order)
{
	struct rmap_walk_control rwc = { .rmap_one = remap_place };
	unsigned long step = folio_nr_pages(folio);

	for (unsigned long i = 0; i < 1UL << order; i += step)
		rmap_walk_locked(page_folio(folio_page(folio, i)), &rwc);
}

/* ---- splitting ------------------------------------------------------- */

/* What the parts have in common; the rest is per page, or comes with entries. */
#define SPLIT_FLAGS	(BIT(PG_referenced) | BIT(PG_uptodate) | \
			 BIT(PG_dirty) | BIT(PG_active) | BIT(PG_swapbacked) | \
			 BIT(PG_workingset) | BIT(PG_unevictable))

/* Pages [first, + 2^order) become a folio: locked, refcount 0. */
static struct folio *make_part(struct folio *folio, unsigned long first,
			       unsigned int order)
{
	struct page *page = folio_page(folio, first);
	struct folio *part = (struct folio *)page;
	unsigned long flags = READ_ONCE(folio->flags) & SPLIT_FLAGS;

	for (unsigned long i = 1; i < 1UL << order; i++)
		WRITE_ONCE(page[i].compound_head, (unsigned long)page | 1);
	flags |= READ_ONCE(page->flags) & BIT(PG_hwpoison);
	WRITE_ONCE(page->flags, flags | (order ? BIT(PG_head) : 0));
	WRITE_ONCE(part->order, order);
	WRITE_ONCE(part->mapping, folio->mapping);
	part->index = folio->index + first;
	part->private = 0;
	part->memcg_id = folio->memcg_id;
	atomic_set(&part->_mapcount, 0);
	atomic_set(&part->_pincount, 0);
	__folio_set_locked(part);
	/* Last: from here on the page is found to be its own folio. */
	smp_store_release(&page->compound_head, 0);
	return part;
}

/* The part takes its place in the index, where the folio still is. */
static void store_part(struct address_space *mapping, struct folio *part)
{
	XA_STATE_ORDER(xas, &mapping->i_pages, part->index, folio_order(part));

	xas_store(&xas, part);
	VM_BUG_ON_FOLIO(xas_error(&xas), part);
}

/*
 * The folio is frozen, and nothing maps it.  @mapping: its page cache, whose
 * entry has been split; or NULL.
 */
static void split_frozen(struct folio *folio, unsigned int new_order,
			 struct address_space *mapping)
{
	struct zone *zone = page_zone(&folio->page);
	const unsigned long step = 1UL << new_order;
	const int refs = mapping ? (int)step + 1 : 1;
	unsigned long nr = folio_nr_pages(folio);

	spin_lock(&zone->lru_lock);
	/* Descending, so that the list ascends. */
	for (unsigned long i = nr - step; i; i -= step) {
		struct folio *part = make_part(folio, i, new_order);

		if (!mapping || folio_test_lru(folio))
			lru_add_split(folio, part);
		if (mapping)
			store_part(mapping, part);
		folio_ref_unfreeze(part, refs);
	}
	WRITE_ONCE(folio->order, new_order);
	if (!new_order)
		clear_bit(PG_head, &folio->flags);
	spin_unlock(&zone->lru_lock);
	/* Behind all tails: whoever gets a reference now sees them gone. */
	folio_ref_unfreeze(folio, refs);
}

/* All parts but the first are given up: those that are mapped live on. */
static void put_parts(struct folio *folio, unsigned int order,
		      unsigned int new_order)
{
	const unsigned long step = 1UL << new_order;

	for (unsigned long i = step; i < 1UL << order; i += step) {
		struct folio *part = page_folio(folio_page(folio, i));

		folio_unlock(part);
		folio_put(part);
	}
}

/* Who has references beside the mappings and @caller_refs? */
static bool can_split_folio(struct folio *folio, int caller_refs)
{
	return folio_mapcount(folio) == folio_ref_count(folio) - caller_refs;
}

static int check_split(struct folio *folio, unsigned int new_order)
{
	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	if (is_huge_zero_folio(folio))
		return fail(-EBUSY, "the huge zero folio is not split", 0, 0,
			    0);
	/* Anonymous folios of two pages are not made. */
	if (folio_test_hugetlb(folio) || new_order >= folio_order(folio) ||
	    (folio_test_anon(folio) ? new_order == 1 : !folio->mapping ||
	     new_order < mapping_min_folio_order(folio->mapping)))
		return fail(-EINVAL, "a folio of order %" PRIu64 " is not split "
			    "to order %" PRIu64, folio_order(folio), new_order,
			    0);
	return 0;
}

/* The reverse map is locked: no entry comes, goes or moves but by faults. */
static bool try_split(struct folio *folio, unsigned int new_order)
{
	struct rmap_walk_control rwc = { .rmap_one = unmap_place };
	const unsigned int order = folio_order(folio);
	bool split;

	if (!can_split_folio(folio, 1))
		return false;
	rmap_walk_locked(folio, &rwc);
	split = folio_ref_freeze(folio, 1);
	if (split)
		split_frozen(folio, new_order, NULL);
	remap_parts(folio, order);
	return split;
}

/*
 * A folio of a page cache: the entry becomes several, each of which still shows
 * the folio, frozen, until its part is stored there.  So a lookup finds nothing
 * else meanwhile, and tries again.
 */
static int split_file_folio(struct folio *folio, unsigned int new_order)
{
	struct address_space *mapping = folio->mapping;
	const unsigned int order = folio_order(folio);
	XA_STATE_ORDER(xas, &mapping->i_pages, folio->index, new_order);
	bool split;

	if (folio_test_writeback(folio))
		return fail(-EBUSY, "the folio of frame %" PRIu64 " is under "
			    "writeback", folio_pfn(folio), 0, 0);
	/* Who needs its pages faults them in again. */
	if (!try_to_unmap(folio, TTU_IGNORE_MLOCK))
		return fail(-EAGAIN, "the folio of frame %" PRIu64 " is mapped",
			    folio_pfn(folio), 0, 0);
	xas_split_alloc(&xas, folio, order, GFP_KERNEL);
	if (xas_error(&xas))
		return fail(-ENOMEM, "no memory to split the index at %" PRIu64,
			    folio->index, 0, 0);
	xas_lock(&xas);
	split = folio_ref_freeze(folio, (int)folio_nr_pages(folio) + 1);
	if (split) {
		xas_split(&xas, folio, order);
		split_frozen(folio, new_order, mapping);
	}
	xas_unlock(&xas);
	xas_destroy(&xas);
	if (!split)
		return fail(-EAGAIN, "the folio of frame %" PRIu64 " is in "
			    "other use", folio_pfn(folio), 0, 0);
	put_parts(folio, order, new_order);
	return 0;
}

int split_folio_to_order(struct folio *folio, unsigned int new_order)
{
	const unsigned int order = folio_order(folio);
	int err = check_split(folio, new_order);
	struct anon_vma *anon_vma;
	bool split;

	if (err)
		return err;
	if (!folio_test_anon(folio))
		return split_file_folio(folio, new_order);
	anon_vma = folio_get_anon_vma(folio);
	if (!anon_vma)
		return fail(-EBUSY, "nothing maps the folio of frame %" PRIu64,
			    folio_pfn(folio), 0, 0);
	anon_vma_lock_write(anon_vma);
	split = try_split(folio, new_order);
	anon_vma_unlock_write(anon_vma);
	put_anon_vma(anon_vma);
	if (!split)
		return fail(-EAGAIN, "the folio of frame %" PRIu64 " is in "
			    "other use", folio_pfn(folio), 0, 0);
	put_parts(folio, order, new_order);
	return 0;
}

/* ---- who asks -------------------------------------------------------- */

static bool vma_not_suitable_for_thp_split(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_SPECIAL) || is_vm_hugetlb_page(vma);
}

/* What maps @address, under its lock: a page, or NULL. */
static struct page *lock_mapped_page(struct vm_area_struct *vma,
				     pf_addr_t address, pte_t **ptep,
				     spinlock_t **ptlp)
{
	pmd_t *pmd = mm_find_pmd(vma->vm_mm, address), leaf;
	pte_t pte;

	*ptep = NULL;
	*ptlp = NULL;
	if (!pmd)
		return NULL;
	if (pmd_trans_huge(pmdp_get(pmd))) {
		*ptlp = pmd_lock(vma->vm_mm, pmd);
		leaf = pmdp_get(pmd);
		return pmd_trans_huge(leaf) ? pmd_page(leaf) : NULL;
	}
	*ptep = pte_offset_map_lock(vma->vm_mm, pmd, address, ptlp);
	if (!*ptep)
		return NULL;
	pte = ptep_get(*ptep);
	return pte_present(pte) ? vm_normal_page(vma, address, pte) : NULL;
}

enum split_result { SPLIT_NOTHING, SPLIT_DONE, SPLIT_BUSY };

static enum split_result split_at(struct vm_area_struct *vma, pf_addr_t address,
				  unsigned int new_order)
{
	enum split_result ret = SPLIT_NOTHING;
	struct folio *folio = NULL;
	struct page *page;
	spinlock_t *ptl;
	pte_t *ptep;

	page = lock_mapped_page(vma, address, &ptep, &ptl);
	if (page && folio_order(page_folio(page)) > new_order &&
	    !is_huge_zero_folio(page_folio(page))) {
		folio = page_folio(page);
		ret = SPLIT_BUSY;
		if (can_split_folio(folio, 0) && folio_trylock(folio))
			folio_get(folio);
		else
			folio = NULL;
	}
	if (ptep)
		pte_unmap_unlock(ptep, ptl);
	else if (ptl)
		spin_unlock(ptl);
	if (!folio)
		return ret;
	if (!split_folio_to_order(folio, new_order))
		ret = SPLIT_DONE;
	folio_unlock(folio);
	folio_put(folio);
	return ret;
}

long split_huge_pages_in_range(struct mm_struct *mm, pf_addr_t start,
			       pf_addr_t end, unsigned int new_order)
{
	struct vm_area_struct *vma;
	long nr[SPLIT_BUSY + 1] = { 0 };

	if (mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to split %#" PRIx64,
			    start, 0, 0);
	for (vma = find_vma(mm, start); vma && vma->vm_start < end;
	     vma = vma_next(vma)) {
		pf_addr_t address = max(start, vma->vm_start);

		if (vma_not_suitable_for_thp_split(vma))
			continue;
		for (; address < min(end, vma->vm_end); address += PAGE_SIZE)
			nr[split_at(vma, address, new_order)]++;
	}
	mmap_read_unlock(mm);
	if (!nr[SPLIT_DONE] && nr[SPLIT_BUSY])
		return fail(-EAGAIN, "all folios in %#" PRIx64 "-%#" PRIx64
			    " that could be split are in use", start, end, 0);
	return nr[SPLIT_DONE];
}
