/* SPDX-License-Identifier: MIT */
/*
 * Soft-dirty tracking: forgetting what was written.
 *
 * Forgetting write-protects every entry, so that the next store faults and
 * says so again.  The page stays, exclusive as it was: that fault reuses it, and
 * a pin stays coherent (inv_O5).
 *
 * Locks: mmap_lock for write, page-table lock.
 * Source: fs/proc/task_mmu.c:clear_refs_write()
 * Differs: writable migration entries become read-only too, so that no store
 *          after the migration goes unnoticed.
 */
#include "mm/pagemap.h"

#include "host/errtext.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

/*
 * A pinned page may be written without a fault for as long as it is pinned, so
 * write-protecting it would tell nothing.  A pin that comes later than this look
 * finds the entry changed, or leaves a read-only entry whose page is reused.
 */
static bool pte_is_pinned(struct vm_area_struct *vma, pf_addr_t address,
			  pte_t pte)
{
	struct page *page;

	if (!pte_write(pte) || !is_cow_mapping(vma->vm_flags) ||
	    !test_bit(MMF_HAS_PINNED, &vma->vm_mm->flags))
		return false;
	page = vm_normal_page(vma, address, pte);
	return page && folio_maybe_dma_pinned(page_folio(page));
}

static void clear_soft_dirty(struct vm_area_struct *vma, pf_addr_t address,
			     pte_t *ptep)
{
	pte_t pte = ptep_get(ptep);

	if (pte_none(pte))
		return;
	if (!pte_present(pte))
		pte = pte_swp_clear_soft_dirty(pte_swp_wrprotect(pte));
	else if (pte_is_pinned(vma, address, pte))
		return;
	else
		pte = pte_clear_soft_dirty(pte_wrprotect(pte));
	set_pte_at(vma->vm_mm, address, ptep, pte);
}

/* One store: the entry never looks empty to who drops pages meanwhile. */
static bool clear_soft_dirty_pmd(struct vm_area_struct *vma, pf_addr_t address,
				 pmd_t *pmd)
{
	spinlock_t *ptl = pmd_lock(vma->vm_mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	const bool huge = pmd_trans_huge(leaf);

	if (huge)
		set_pmd_at(vma->vm_mm, address, pmd,
			   pmd_clear_soft_dirty(pmd_wrprotect(leaf)));
	spin_unlock(ptl);
	return huge;
}

static void clear_refs_pte_range(struct vm_area_struct *vma, pmd_t *pmd,
				 pf_addr_t addr, pf_addr_t end)
{
	pte_t *first, *pte;
	spinlock_t *ptl;

	if (clear_soft_dirty_pmd(vma, addr, pmd))
		return;
	first = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!first)
		return;
	for (pte = first; addr < end; pte++, addr += PAGE_SIZE)
		clear_soft_dirty(vma, addr, pte);
	pte_unmap_unlock(first, ptl);
}

static void clear_refs_vma(struct vm_area_struct *vma)
{
	pf_addr_t addr, next;

	if (is_vm_hugetlb_page(vma) || (vma->vm_flags & VM_PFNMAP))
		return;
	for (addr = vma->vm_start; addr < vma->vm_end; addr = next) {
		pmd_t *pmd = mm_find_pmd(vma->vm_mm, addr);

		if (!pmd) {
			next = pud_addr_end(addr, vma->vm_end);
			continue;
		}
		next = pmd_addr_end(addr, vma->vm_end);
		clear_refs_pte_range(vma, pmd, addr, next);
	}
}

int clear_refs_soft_dirty(struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	if (mmap_write_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to clear soft-dirty",
			    0, 0, 0);
	for (vma = vma_first(mm); vma; vma = vma_next(vma))
		vma_set_flags(vma, vma->vm_flags & ~VM_SOFTDIRTY);
	for (vma = vma_first(mm); vma; vma = vma_next(vma))
		clear_refs_vma(vma);
	mmap_write_unlock(mm);
	return 0;
}
