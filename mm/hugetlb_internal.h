/* SPDX-License-Identifier: MIT */
/*
 * What the parts of hugetlb share: leaves, and taking pages of a pool.
 *
 * PMD and PUD leaves have the same bits, so one pair of names serves both.
 */
#ifndef MM_HUGETLB_INTERNAL_H
#define MM_HUGETLB_INTERNAL_H

#include "mm/hugetlb.h"

/*
 * alloc_hugetlb_folio() - a page for a place, by its reservation if it has one
 *
 * Return: NULL for an empty pool, or one whose pages are all promised.
 */
struct folio *alloc_hugetlb_folio(struct vm_area_struct *vma,
				  pf_addr_t address);

/* hugetlb_alloc_leaf() - hugetlb_find_leaf(), making what is missing */
pmd_t *hugetlb_alloc_leaf(struct vm_area_struct *vma, pf_addr_t address);

static inline spinlock_t *hugetlb_leaf_lockptr(pmd_t *leaf)
{
	return &virt_to_page(leaf)->ptl;
}

static inline spinlock_t *hugetlb_leaf_lock(pmd_t *leaf)
{
	spinlock_t *ptl = hugetlb_leaf_lockptr(leaf);

	spin_lock(ptl);
	return ptl;
}

static inline pmd_t hugetlb_new_leaf(struct vm_area_struct *vma,
				     struct folio *folio, bool writable)
{
	pmd_t entry = pmd_mkyoung(mk_pmd(&folio->page, vma->vm_page_prot));

	if (writable)
		entry = maybe_pmd_mkwrite(pmd_mkdirty(entry), vma);
	return pmd_mkhuge(entry);
}

/*
 * hugetlb_wp() - write or unshare fault on a read-only leaf
 *
 * Context: the place's lock, which nobody else can make the leaf go under.
 */
vm_fault_t hugetlb_wp(struct vm_area_struct *vma, pmd_t *leaf,
		      pf_addr_t address, bool unshare);

#endif
