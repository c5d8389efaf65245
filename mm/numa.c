/* SPDX-License-Identifier: MIT */
/*
 * Taking access away so that the next use faults.
 *
 * The page does not change: a fault gives the permissions back (do_numa_page(),
 * do_huge_pmd_numa_page()), and GUP without FOLL_HONOR_NUMA_FAULT looks through
 * the mark.  An entry goes from one present form to the other in one store, so
 * that whoever drops pages meanwhile never takes it for an empty one.
 *
 * Locks: mmap_lock for read, page-table lock.
 * Source: mm/mprotect.c:change_pte_range(), mm/huge_memory.c:change_huge_pmd(),
 *         with MM_CP_PROT_NUMA
 */
#include "mm/numa.h"

#include "host/errtext.h"
#include "mm/huge_memory.h"

#include <errno.h>
#include <inttypes.h>

static bool wants_hint(struct vm_area_struct *vma, pf_addr_t address, pte_t pte)
{
	struct folio *folio;
	struct page *page;

	if (!pte_present(pte) || pte_protnone(pte))
		return false;
	page = vm_normal_page(vma, address, pte);
	if (!page)
		return false;
	folio = page_folio(page);
	/* It could not be moved, so nobody needs to know who uses it. */
	return !is_cow_mapping(vma->vm_flags) ||
	       !(folio_maybe_dma_pinned(folio) ||
		 folio_likely_mapped_shared(folio));
}

static unsigned long hint_ptes(struct vm_area_struct *vma, pmd_t *pmd,
			       pf_addr_t addr, pf_addr_t end)
{
	const pgprot_t none = prot_for(false, false, false);
	unsigned long changed = 0;
	pte_t *first, *ptep;
	spinlock_t *ptl;

	first = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!first)
		return 0;
	for (ptep = first; addr < end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = ptep_get(ptep);

		if (!wants_hint(vma, addr, pte))
			continue;
		set_pte_at(vma->vm_mm, addr, ptep, pte_modify(pte, none));
		changed++;
	}
	pte_unmap_unlock(first, ptl);
	return changed;
}

/* Return: whether it was a leaf; pinned or not makes no difference here. */
static bool hint_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd,
			  pf_addr_t addr, unsigned long *changed)
{
	spinlock_t *ptl = pmd_lock(vma->vm_mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	const bool huge = pmd_trans_huge(leaf);

	if (huge && !is_huge_zero_pmd(leaf) && !pmd_protnone(leaf)) {
		set_pmd_at(vma->vm_mm, addr, pmd,
			   pmd_modify(leaf, prot_for(false, false, false)));
		*changed += HPAGE_PMD_NR;
	}
	spin_unlock(ptl);
	return huge;
}

unsigned long change_prot_numa(struct vm_area_struct *vma, pf_addr_t start,
			       pf_addr_t end)
{
	unsigned long changed = 0;
	pf_addr_t addr, next;

	for (addr = start; addr < end; addr = next) {
		pmd_t *pmd = mm_find_pmd(vma->vm_mm, addr);

		if (!pmd) {
			next = pud_addr_end(addr, end);
			continue;
		}
		next = pmd_addr_end(addr, end);
		if (pmd_trans_huge(pmdp_get(pmd))) {
			if (next - addr == PMD_SIZE &&
			    hint_huge_pmd(vma, pmd, addr, &changed))
				continue;
			split_huge_pmd(vma, pmd, addr);
		}
		changed += hint_ptes(vma, pmd, addr, next);
	}
	return changed;
}

static bool vma_takes_hints(const struct vm_area_struct *vma)
{
	return vma_is_accessible(vma) &&
	       !(vma->vm_flags & (VM_HUGETLB | VM_IO | VM_PFNMAP |
				  VM_MIXEDMAP));
}

long numa_hint_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end)
{
	struct vm_area_struct *vma;
	unsigned long changed = 0;

	if (mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to mark %#" PRIx64,
			    start, 0, 0);
	for (vma = find_vma(mm, start); vma && vma->vm_start < end;
	     vma = vma_next(vma))
		if (vma_takes_hints(vma))
			changed += change_prot_numa(vma,
						    max(start, vma->vm_start),
						    min(end, vma->vm_end));
	mmap_read_unlock(mm);
	return changed;
}
