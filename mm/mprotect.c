/* SPDX-License-Identifier: MIT */
/*
 * Changing what an area permits.
 *
 * Taking write permission away makes entries read-only and keeps their pages;
 * giving it makes those entries writable that need no fault (exclusive pages,
 * no tracking in the way).  A pinned page stays the page its mm sees (inv_O5).
 *
 * Locks: mmap_lock for write, then each table's lock.
 * Source: mm/mprotect.c
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

static void change_pte_range(struct vm_area_struct *vma, pmd_t *pmd,
			     pf_addr_t addr, pf_addr_t end)
{
	struct mm_struct *mm = vma->vm_mm;
	spinlock_t *ptl;
	pte_t *first = pte_offset_map_lock(mm, pmd, addr, &ptl), *pte = first;

	if (!first)
		return;
	for (; addr < end; addr += PAGE_SIZE, pte++) {
		pte_t entry = ptep_get(pte);

		if (pte_none(entry))
			continue;
		if (!pte_present(entry)) {
			/* What comes back must not have more than is left. */
			if (!(vma->vm_flags & VM_WRITE))
				set_pte_at(mm, addr, pte,
					   pte_swp_wrprotect(entry));
			continue;
		}
		entry = pte_modify(entry, vma->vm_page_prot);
		if (can_change_pte_writable(vma, addr, entry))
			entry = pte_mkwrite_novma(entry);
		set_pte_at(mm, addr, pte, entry);
	}
	pte_unmap_unlock(first, ptl);
}

static void change_protection(struct vm_area_struct *vma, pf_addr_t start,
			      pf_addr_t end)
{
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
			    change_huge_pmd(vma, pmd, vma->vm_page_prot))
				continue;
			split_huge_pmd(vma, pmd, addr);
		}
		change_pte_range(vma, pmd, addr, next);
	}
}

static int mprotect_vma(struct vm_area_struct *vma, pf_addr_t start,
			pf_addr_t end, vm_flags_t access)
{
	const vm_flags_t old = vma->vm_flags;
	vm_flags_t flags = (old & ~VM_ACCESS_FLAGS) | access;
	int err;

	/* VM_MAYx is VM_x moved up by four. */
	if (access & ~(flags >> 4) & VM_ACCESS_FLAGS)
		return fail(-EACCES, "the area at %#" PRIx64
			    " may not be given that access", vma->vm_start, 0, 0);
	if (flags == old)
		return 0;
	err = vma_modify_flags(&vma, start, end, flags);
	if (err)
		return err;
	if (is_vm_hugetlb_page(vma))
		hugetlb_change_protection(vma, start, end);
	else
		change_protection(vma, start, end);
	/* Locked pages that may be written from now on become private now. */
	if ((old & (VM_LOCKED | VM_SHARED | VM_WRITE)) == VM_LOCKED &&
	    (access & VM_WRITE))
		(void)populate_vma_page_range(vma, start, end, NULL);
	return 0;
}

static int mprotect_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			  vm_flags_t access)
{
	struct vm_area_struct *vma;
	pf_addr_t at = start;
	int err;

	/* What lies before a hole is changed, as in Linux. */
	while (at < end) {
		pf_addr_t next;

		vma = vma_lookup(mm, at);
		if (!vma)
			return fail(-ENOMEM, "nothing is mapped at %#" PRIx64,
				    at, 0, 0);
		next = min(end, vma->vm_end);
		err = mprotect_vma(vma, at, next, access);
		if (err)
			return err;
		at = next;
	}
	return 0;
}

int do_mprotect(struct mm_struct *mm, pf_addr_t start, u64 length, bool read,
		bool write, bool exec)
{
	vm_flags_t access = (read ? VM_READ : 0) | (write ? VM_WRITE : 0) |
			    (exec ? VM_EXEC : 0);
	u64 rounded = ALIGN(length, PAGE_SIZE);
	int err;

	if (!IS_ALIGNED(start, PAGE_SIZE))
		return fail(-EINVAL, "address %#" PRIx64
			    " is not a multiple of the page size", start, 0, 0);
	if (!length)
		return 0;
	if (!rounded || start + rounded <= start)
		return fail(-ENOMEM, "%#" PRIx64 " + %" PRIu64 " wraps around",
			    start, length, 0);
	if (mmap_write_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to change %#" PRIx64,
			    start, 0, 0);
	err = mprotect_range(mm, start, start + rounded, access);
	mmap_write_unlock(mm);
	return err;
}
