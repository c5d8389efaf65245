/* SPDX-License-Identifier: MIT */
/*
 * What changes on a folio when entries begin or cease to map it.
 *
 * Context of all: the page-table lock of the entry.
 * Source: mm/rmap.c
 */
#ifndef MM_RMAP_H
#define MM_RMAP_H

#include "mm/mm.h"

#include <errno.h>

/*
 * folio_add_new_anon_rmap() - a new, exclusive folio gets its first mapping
 * @pmd: by one PMD leaf; else by one PTE a page
 *
 * Owner: the mapping owns one reference an entry; the caller has seen to that.
 */
static inline void folio_add_new_anon_rmap(struct folio *folio,
					   struct vm_area_struct *vma,
					   pf_addr_t address, bool pmd)
{
	long nr = pmd ? 1 : folio_nr_pages(folio);

	__folio_set_swapbacked(folio);
	folio->index = linear_page_index(vma, address);
	WRITE_ONCE(folio->mapping, (struct address_space *)PAGE_MAPPING_ANON);
	/* A PMD leaf is spoken for by its head page's bit. */
	for (long i = 0; i < nr; i++)
		SetPageAnonExclusive(folio_page(folio, i));
	atomic_set(&folio->_mapcount, nr);
	atomic64_add(folio_nr_pages(folio), &vma->vm_mm->rss_pages);
}

/*
 * folio_add_anon_rmap_pte() - one more entry maps a page of an anonymous folio
 * @exclusive: the mapping is the page's only one
 *
 * Source: mm/rmap.c:folio_add_anon_rmap_ptes()
 */
static inline void folio_add_anon_rmap_pte(struct folio *folio,
					   struct page *page,
					   struct vm_area_struct *vma,
					   bool exclusive)
{
	atomic_inc(&folio->_mapcount);
	atomic64_add(1, &vma->vm_mm->rss_pages);
	if (exclusive)
		SetPageAnonExclusive(page);
}

/*
 * folio_try_share_anon_rmap_pte() - may the page do without its exclusivity?
 *
 * A pin is taken through an entry of an exclusive page only, and stands for that
 * page staying where it is.  So the entry is gone already, by
 * ptep_get_and_clear(), whose barrier lets either a pin be seen here or the
 * missing entry by who is pinning.
 * Return: 0; -EBUSY if the folio may be pinned, and the caller puts the entry
 * back.
 * Source: include/linux/rmap.h:folio_try_share_anon_rmap_pte()
 */
static inline int __must_check folio_try_share_anon_rmap_pte(struct folio *folio,
							     struct page *page)
{
	VM_BUG_ON_FOLIO(!PageAnonExclusive(page), folio);
	if (unlikely(folio_maybe_dma_pinned(folio)))
		return -EBUSY;
	ClearPageAnonExclusive(page);
	return 0;
}

/* folio_remove_rmap() - @nr_entries entries, @nr_pages pages, are gone */
static inline void folio_remove_rmap(struct folio *folio,
				     struct vm_area_struct *vma,
				     int nr_entries, long nr_pages)
{
	VM_BUG_ON_FOLIO(folio_mapcount(folio) < nr_entries, folio);
	atomic_sub(nr_entries, &folio->_mapcount);
	if (folio_test_anon(folio))
		atomic64_add(-nr_pages, &vma->vm_mm->rss_pages);
}

#endif
