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
