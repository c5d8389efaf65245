/* SPDX-License-Identifier: MIT */
/*
 * What the look at a table (khugepaged.c) and the collapse of it
 * (khugepaged_pages.c) share.
 */
#ifndef MM_KHUGEPAGED_INTERNAL_H
#define MM_KHUGEPAGED_INTERNAL_H

#include "mm/khugepaged.h"

enum scan_result {
	SCAN_FAIL,
	SCAN_SUCCEED,
	SCAN_PMD_NULL,
	SCAN_PMD_NONE,
	SCAN_PMD_MAPPED,
	SCAN_EXCEED_NONE_PTE,
	SCAN_EXCEED_SWAP_PTE,
	SCAN_EXCEED_SHARED_PTE,
	SCAN_PTE_NON_PRESENT,
	SCAN_PTE_UFFD_WP,
	SCAN_PAGE_RO,
	SCAN_LACK_REFERENCED_PAGE,
	SCAN_PAGE_NULL,
	SCAN_PAGE_COUNT,
	SCAN_PAGE_LRU,
	SCAN_PAGE_LOCK,
	SCAN_VMA_NULL,
	SCAN_VMA_CHECK,
	SCAN_ADDRESS_RANGE,
	SCAN_DEL_PAGE_LRU,
	SCAN_ALLOC_HUGE_PAGE_FAIL,
	SCAN_COPY_MC,
};

struct collapse_control {
	bool is_khugepaged;
	struct collapse_limits limits;
};

/* What the look at one table has found so far. */
struct scan {
	const struct collapse_control *cc;
	struct vm_area_struct *vma;
	unsigned int none_or_zero, unmapped, shared, referenced;
	bool writable;
};

static inline bool pte_none_or_zero(pte_t pte)
{
	return pte_none(pte) ||
	       (pte_present(pte) && is_zero_pfn(pte_pfn(pte)));
}

/*
 * is_refcount_suitable() - nobody has a reference but those who map it
 *
 * With acquire: what a holder stored before it let go is in what is copied.
 */
static inline bool is_refcount_suitable(struct folio *folio)
{
	return smp_load_acquire(&folio->_refcount.counter) ==
	       folio_mapcount(folio);
}

/* What an empty entry, and a page, add to the look; SCAN_SUCCEED: go on. */
enum scan_result scan_none(struct scan *s);
enum scan_result scan_page(struct scan *s, pte_t pte, struct folio *folio);
/* scan_verdict() - is the table worth it, now that all was looked at? */
enum scan_result scan_verdict(const struct scan *s);

/*
 * collapse_pmd() - replace the table of @address by a leaf of @new
 *
 * Context: mmap_lock held for write; waits for a grace period.
 * Return: SCAN_SUCCEED; or why not, and all is as it was.
 * Owner: @new is the leaf's on success, and stays the caller's otherwise.
 */
enum scan_result collapse_pmd(struct vm_area_struct *vma, pmd_t *pmd,
			      pf_addr_t address, struct folio *new,
			      const struct collapse_control *cc);

#endif
