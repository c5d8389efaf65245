/* SPDX-License-Identifier: MIT */
/*
 * What maps each page, in the form of /proc/PID/pagemap.
 *
 * Locks: mmap_lock for read, page-table lock.
 * Source: fs/proc/task_mmu.c
 */
#include "mm/pagemap.h"

#include "host/errtext.h"
#include "mm/hugetlb.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

/* Bits that type and offset of a swap entry share below PM_SOFT_DIRTY. */
#define PM_SWAP_TYPE_BITS	5

static u64 absent_to_pagemap(pte_t pte)
{
	swp_entry_t entry = pte_to_swp_entry(pte);
	u64 flags = swp_offset(entry) << PM_SWAP_TYPE_BITS;

	flags = (flags | swp_type(entry)) & PM_PFRAME_MASK;
	if (pte_swp_soft_dirty(pte))
		flags |= PM_SOFT_DIRTY;
	if (pte_swp_uffd_wp_any(pte))
		flags |= PM_UFFD_WP;
	return is_pte_marker_entry(entry) ? flags : flags | PM_SWAP;
}

static u64 pte_to_pagemap_entry(pte_t pte)
{
	u64 flags;

	if (pte_none(pte))
		return 0;
	if (!pte_present(pte))
		return absent_to_pagemap(pte);
	flags = PM_PRESENT | pte_pfn(pte);
	if (pte_soft_dirty(pte))
		flags |= PM_SOFT_DIRTY;
	if (pte_uffd_wp(pte))
		flags |= PM_UFFD_WP;
	return flags;
}

/* A leaf's part for one page; leaves have the bits of PTEs. */
static pte_t pte_in_leaf(u64 leaf, pf_addr_t address, pf_addr_t size)
{
	return __pte((leaf & ~_PAGE_PSE) +
		     (address & (size - 1) & PAGE_MASK));
}

pte_t mm_lookup_entry(struct mm_struct *mm, pf_addr_t address)
{
	pud_t *pud = mm_find_pud(mm, address);
	pmd_t *pmd, leaf;
	pte_t *ptep, pte;

	if (pud && pud_leaf(pudp_get(pud)))
		return pte_in_leaf(pud_val(pudp_get(pud)), address, PUD_SIZE);
	pmd = mm_find_pmd(mm, address);
	leaf = pmd ? pmdp_get_lockless(pmd) : __pmd(0);
	if (pmd_leaf(leaf))
		return pte_in_leaf(pmd_val(leaf), address, PMD_SIZE);
	ptep = pmd ? pte_offset_map(pmd, address) : NULL;
	if (!ptep)
		return __pte(0);
	pte = ptep_get(ptep);
	pte_unmap(ptep);
	return pte;
}

int pagemap_read(struct mm_struct *mm, pf_addr_t start, unsigned long nr_pages,
		 u64 *entries)
{
	if (mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to look at %#" PRIx64,
			    start, 0, 0);
	for (unsigned long i = 0; i < nr_pages; i++) {
		pf_addr_t address = start + i * PAGE_SIZE;
		struct vm_area_struct *vma = vma_lookup(mm, address);

		entries[i] = 0;
		if (vma)
			entries[i] = pte_to_pagemap_entry(
					mm_lookup_entry(mm, address));
		/* A new area counts as written, empty places included. */
		if (vma && (vma->vm_flags & VM_SOFTDIRTY))
			entries[i] |= PM_SOFT_DIRTY;
	}
	mmap_read_unlock(mm);
	return 0;
}
