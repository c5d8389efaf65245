/* SPDX-License-Identifier: MIT */
/*
 * The collapse of one page table.
 *
 *   unlink      the PMD entry is cleared, and whoever walks without locks has
 *               left the table
 *   isolate     each folio: locked, off its LRU list, nobody's but the tables'
 *   copy        or put everything back
 *   install     the PMD leaf, with the old table as its deposit
 *
 * Invariants:
 * 1. References are counted after the table was unlinked and a grace period
 *    went by: a lockless walk either holds its reference by then, and the
 *    collapse gives up, or sees that the PMD entry changed, and lets go.
 * 2. Until the copy is complete the old entries stay in the unlinked table, so
 *    giving up is to link it again.
 * 3. The huge page is new and exclusive; nothing of the old pages' state carries
 *    over.
 *
 * Locks: mmap_lock for write, the anon_vma's lock for write until all folios are
 * locked (by trylock only), page-table lock, lru lock.
 * Source: mm/khugepaged.c:collapse_huge_page()
 */
#include "mm/khugepaged_internal.h"

#include "mm/rmap.h"
#include "mm/swap.h"

#include <string.h>

/* ---- isolating the old pages ----------------------------------------- */

static void release_pte_folio(struct folio *folio)
{
	folio_unlock(folio);
	folio_putback_lru(folio);
}

/* The large folios among them, each once. */
static void release_large_folios(struct list_head *large)
{
	while (!list_empty(large)) {
		struct folio *folio = list_first_entry(large, struct folio,
						       lru);

		list_del(&folio->lru);
		release_pte_folio(folio);
	}
}

/* Undo the isolation of what the entries in [first, end) map. */
static void release_pte_pages(pte_t *first, pte_t *end, struct list_head *large)
{
	while (end-- > first) {
		pte_t pte = ptep_get(end);
		struct folio *folio;

		if (pte_none_or_zero(pte))
			continue;
		folio = page_folio(pte_page(pte));
		if (!folio_test_large(folio))
			release_pte_folio(folio);
	}
	release_large_folios(large);
}

static bool is_listed(struct folio *folio, struct list_head *large)
{
	struct folio *f;

	list_for_each_entry(f, large, lru)
		if (f == folio)
			return true;
	return false;
}

static enum scan_result isolate_folio(struct folio *folio,
				      struct list_head *large)
{
	if (folio_test_large(folio) && is_listed(folio, large))
		return SCAN_SUCCEED;
	if (!folio_trylock(folio))
		return SCAN_PAGE_LOCK;
	/*
	 * The table is unlinked and no walker is inside: no pin can be added
	 * from this address space, and no other may write to the page.
	 */
	if (!is_refcount_suitable(folio)) {
		folio_unlock(folio);
		return SCAN_PAGE_COUNT;
	}
	if (!folio_isolate_lru(folio)) {
		folio_unlock(folio);
		return SCAN_DEL_PAGE_LRU;
	}
	if (folio_test_large(folio))
		list_add_tail(&folio->lru, large);
	return SCAN_SUCCEED;
}

static enum scan_result isolate_pte(struct scan *s, pf_addr_t address,
				    pte_t pte, struct list_head *large)
{
	enum scan_result result;
	struct folio *folio;
	struct page *page;

	if (pte_none_or_zero(pte))
		return scan_none(s);
	if (!pte_present(pte))
		return SCAN_PTE_NON_PRESENT;
	if (pte_uffd_wp(pte))
		return SCAN_PTE_UFFD_WP;
	page = vm_normal_page(s->vma, address, pte);
	if (!page)
		return SCAN_PAGE_NULL;
	folio = page_folio(page);
	result = scan_page(s, pte, folio);
	return result == SCAN_SUCCEED ? isolate_folio(folio, large) : result;
}

/* All, or none: the table as the look found it may have changed since. */
static enum scan_result collapse_isolate(struct scan *s, struct page *table,
					 pf_addr_t address,
					 struct list_head *large)
{
	pte_t *first = page_address(table), *pte;
	enum scan_result result = SCAN_SUCCEED;

	spin_lock(&table->ptl);
	for (pte = first; pte < first + HPAGE_PMD_NR; pte++) {
		result = isolate_pte(s, address, ptep_get(pte), large);
		if (result != SCAN_SUCCEED)
			break;
		address += PAGE_SIZE;
	}
	if (result == SCAN_SUCCEED)
		result = scan_verdict(s);
	if (result != SCAN_SUCCEED)
		release_pte_pages(first, pte, large);
	spin_unlock(&table->ptl);
	return result;
}

/* ---- copying --------------------------------------------------------- */

/* Return: false if a page's bytes are lost. */
static bool copy_entry(struct page *to, pte_t pte)
{
	const bool metadata_only = page_machine(to)->metadata_only;

	if (pte_none_or_zero(pte)) {
		if (!metadata_only)
			memset(page_address(to), 0, PAGE_SIZE);
		return true;
	}
	if (PageHWPoison(pte_page(pte)))
		return false;
	if (!metadata_only)
		memcpy(page_address(to), page_address(pte_page(pte)),
		       PAGE_SIZE);
	return true;
}

/* The old pages lose their mappings; most have no other reference. */
static void drop_old_entry(struct vm_area_struct *vma, struct page *table,
			   pte_t *ptep, pf_addr_t address)
{
	pte_t pte = ptep_get(ptep);
	struct folio *folio = NULL;

	if (!pte_none_or_zero(pte)) {
		folio = page_folio(pte_page(pte));
		if (!folio_test_large(folio))
			release_pte_folio(folio);
	}
	spin_lock(&table->ptl);
	pte_clear(vma->vm_mm, address, ptep);
	if (folio)
		folio_remove_rmap(folio, vma, 1, 1);
	spin_unlock(&table->ptl);
	if (folio)
		folio_put(folio);
}

/* Return: false, and nothing has changed, if a page's bytes are lost. */
static bool collapse_copy(struct page *table, struct folio *new)
{
	pte_t *first = page_address(table);

	for (unsigned int i = 0; i < HPAGE_PMD_NR; i++)
		if (!copy_entry(folio_page(new, i), ptep_get(first + i)))
			return false;
	return true;
}

static void drop_old_entries(struct vm_area_struct *vma, struct page *table,
			     pf_addr_t address, struct list_head *large)
{
	pte_t *first = page_address(table);

	for (unsigned int i = 0; i < HPAGE_PMD_NR; i++)
		drop_old_entry(vma, table, first + i, address + i * PAGE_SIZE);
	release_large_folios(large);
}

/* ---- one table ------------------------------------------------------- */

/* Take the table away from faults and walks, and wait until they are out. */
static struct page *unlink_pte_table(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *ptl = pmd_lock(mm, pmd);
	struct page *table = pmd_page(pmdp_get(pmd));

	pmd_clear(pmd);
	spin_unlock(ptl);
	/*
	 * Who walks with mmap_lock is kept out by the caller; who walks without
	 * is in a read section, and the pages must not be counted before its
	 * end.
	 */
	synchronize_rcu();
	return table;
}

static void relink_pte_table(struct mm_struct *mm, pmd_t *pmd,
			     struct page *table)
{
	spinlock_t *ptl = pmd_lock(mm, pmd);

	BUG_ON(!pmd_none(pmdp_get(pmd)));
	pmd_populate(mm, pmd, table);
	spin_unlock(ptl);
}

/* Consumes the caller's reference of @new. */
static void install_huge(struct vm_area_struct *vma, pmd_t *pmd,
			 struct page *table, struct folio *new,
			 pf_addr_t address)
{
	pmd_t leaf = pmd_mkyoung(pmd_mkhuge(mk_pmd(&new->page,
						   vma->vm_page_prot)));
	spinlock_t *ptl;

	__folio_set_uptodate(new);
	ptl = pmd_lock(vma->vm_mm, pmd);
	BUG_ON(!pmd_none(pmdp_get(pmd)));
	folio_add_new_anon_rmap(new, vma, address, true);
	folio_add_lru(new);
	pgtable_trans_huge_deposit(vma->vm_mm, pmd, table);
	set_pmd_at(vma->vm_mm, address, pmd,
		   maybe_pmd_mkwrite(pmd_mkdirty(leaf), vma));
	spin_unlock(ptl);
}

enum scan_result collapse_pmd(struct vm_area_struct *vma, pmd_t *pmd,
			      pf_addr_t address, struct folio *new,
			      const struct collapse_control *cc)
{
	struct scan s = { .cc = cc, .vma = vma };
	struct mm_struct *mm = vma->vm_mm;
	enum scan_result result;
	struct page *table;
	LIST_HEAD(large);

	mmap_assert_write_locked(mm);
	/*
	 * Who walks from a folio to its entries would miss those of this table.
	 * Once all folios are locked, nobody does.
	 */
	anon_vma_lock_write(mm->anon_vma);
	table = unlink_pte_table(mm, pmd);
	result = collapse_isolate(&s, table, address, &large);
	if (result != SCAN_SUCCEED)
		relink_pte_table(mm, pmd, table);
	anon_vma_unlock_write(mm->anon_vma);
	if (result != SCAN_SUCCEED)
		return result;
	if (!collapse_copy(table, new)) {
		/* Before the folios are let go, for the same reason. */
		relink_pte_table(mm, pmd, table);
		release_pte_pages(page_address(table),
				  (pte_t *)page_address(table) + HPAGE_PMD_NR,
				  &large);
		return SCAN_COPY_MC;
	}
	drop_old_entries(vma, table, address, &large);
	install_huge(vma, pmd, table, new, address);
	return SCAN_SUCCEED;
}
