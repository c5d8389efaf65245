/* SPDX-License-Identifier: MIT */
/*
 * Where one area maps a folio: entry after entry, each found under its lock.
 *
 * Locks: one page-table lock at a time.
 * Source: mm/page_vma_mapped.c
 */
#include "mm/rmap.h"

#include "mm/hugetlb.h"

static pf_addr_t walk_end(const struct page_vma_mapped_walk *pvmw)
{
	const struct vm_area_struct *vma = pvmw->vma;
	pgoff_t end = pvmw->pgoff + pvmw->nr_pages;

	if (end - vma->vm_pgoff >= vma_pages(vma))
		return vma->vm_end;
	return vma->vm_start + ((end - vma->vm_pgoff) << PAGE_SHIFT);
}

static bool maps(const struct page_vma_mapped_walk *pvmw, pf_pfn_t pfn)
{
	return pfn - pvmw->pfn < pvmw->nr_pages;
}

void page_vma_mapped_walk_done(struct page_vma_mapped_walk *pvmw)
{
	if (!pvmw->ptl)
		return;
	if (pvmw->pte)
		pte_unmap_unlock(pvmw->pte, pvmw->ptl);
	else
		spin_unlock(pvmw->ptl);
	pvmw->pte = NULL;
	pvmw->ptl = NULL;
}

/* Is the entry a leaf that maps the folio?  Then its lock is held. */
static bool lock_leaf(struct page_vma_mapped_walk *pvmw, pmd_t *pmd)
{
	pmd_t leaf = pmdp_get(pmd);

	pvmw->pmd = pmd;
	if (!pmd_leaf(leaf))
		return false;
	pvmw->ptl = pmd_lock(pvmw->vma->vm_mm, pmd);
	leaf = pmdp_get(pmd);
	if (pmd_leaf(leaf) && maps(pvmw, pmd_pfn(leaf)))
		return true;
	page_vma_mapped_walk_done(pvmw);
	return false;
}

/* From the entry at hand to the table's end, or @end. */
static bool next_in_table(struct page_vma_mapped_walk *pvmw, pf_addr_t end)
{
	for (;;) {
		pte_t pte = ptep_get(pvmw->pte);

		if (pte_present(pte) && !pte_special(pte) &&
		    maps(pvmw, pte_pfn(pte)))
			return true;
		pvmw->address += PAGE_SIZE;
		if (pvmw->address >= end ||
		    IS_ALIGNED(pvmw->address, PMD_SIZE))
			break;
		pvmw->pte++;
	}
	page_vma_mapped_walk_done(pvmw);
	return false;
}

/* Forget the entry that was found last.  Return: false at the end. */
static bool step(struct page_vma_mapped_walk *pvmw, pf_addr_t end)
{
	if (!pvmw->ptl)
		return true;
	if (!pvmw->pte) {	/* a leaf maps the whole folio */
		page_vma_mapped_walk_done(pvmw);
		return false;
	}
	pvmw->address += PAGE_SIZE;
	if (pvmw->address < end && !IS_ALIGNED(pvmw->address, PMD_SIZE)) {
		pvmw->pte++;
		return true;
	}
	page_vma_mapped_walk_done(pvmw);
	return true;
}

/*
 * Go down to a table, which is locked then, or to a leaf.
 *
 * Return: true if it is a leaf that maps the folio.  If there is nothing, the
 * address has moved on.
 */
static bool find_entry(struct page_vma_mapped_walk *pvmw, pf_addr_t end)
{
	struct mm_struct *mm = pvmw->vma->vm_mm;
	pf_addr_t address = pvmw->address;

	pvmw->pmd = mm_find_pmd(mm, address);
	if (!pvmw->pmd) {
		pvmw->address = pud_addr_end(address, end);
		return false;
	}
	if (lock_leaf(pvmw, pvmw->pmd))
		return true;
	pvmw->pte = pte_offset_map_lock(mm, pvmw->pmd, address, &pvmw->ptl);
	if (!pvmw->pte)
		pvmw->address = pmd_addr_end(address, end);
	return false;
}

bool page_vma_mapped_walk(struct page_vma_mapped_walk *pvmw)
{
	const pf_addr_t end = walk_end(pvmw);

	if (!step(pvmw, end))
		return false;
	/* The area's flags are its mmap_lock's, which need not be held. */
	if (hstate_vma(pvmw->vma)) {
		pvmw->pmd = hugetlb_find_leaf(pvmw->vma, pvmw->address);
		return pvmw->pmd && lock_leaf(pvmw, pvmw->pmd);
	}
	while (pvmw->address < end) {
		if (!pvmw->pte && find_entry(pvmw, end))
			return true;
		if (pvmw->pte && next_in_table(pvmw, end))
			return true;
	}
	return false;
}
