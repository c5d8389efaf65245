/* SPDX-License-Identifier: MIT */
/*
 * Collapse: 512 small mappings become one PMD leaf of a new huge page.
 *
 * Source: mm/khugepaged.c, include/linux/khugepaged.h
 */
#ifndef MM_KHUGEPAGED_H
#define MM_KHUGEPAGED_H

#include "mm/mm.h"

/* Entries of a table that the background scan puts up with. */
struct collapse_limits {
	unsigned int max_ptes_none;	/* empty, or the zero page */
	unsigned int max_ptes_swap;	/* not present */
	unsigned int max_ptes_shared;	/* of pages that others map too */
};

/* What Linux starts with, for 512 entries. */
#define COLLAPSE_LIMITS_DEFAULT (struct collapse_limits) {		\
	.max_ptes_none = HPAGE_PMD_NR - 1,				\
	.max_ptes_swap = HPAGE_PMD_NR / 8,				\
	.max_ptes_shared = HPAGE_PMD_NR / 2,				\
}

/*
 * madvise_collapse() - collapse each whole huge page's range in [start, end)
 *
 * Limits do not apply, nor what is enabled; VM_NOHUGEPAGE does.
 * Context: mmap_lock held for read; dropped and taken again inside, so @vma may
 * be gone on return.
 * Return: 0 if each is a PMD leaf now; -EAGAIN (a page is got, pinned, locked or
 * isolated), -ENOMEM (no huge page), -EBUSY (empty entries under userfaultfd),
 * -EINVAL (nothing that a later try would change).
 * Source: mm/khugepaged.c:madvise_collapse()
 */
int __must_check madvise_collapse(struct vm_area_struct *vma, pf_addr_t start,
				  pf_addr_t end);

/*
 * khugepaged_do_scan() - one pass over all address spaces of the machine
 *
 * Areas that may have huge pages are looked at, and what is worth it within
 * @limits is collapsed.  An address space whose mmap_lock is held for write is
 * left out.
 * Context: no mmap_lock is held.
 * Return: huge pages made.
 * Source: mm/khugepaged.c:khugepaged_do_scan()
 * Differs: a call, not a thread; it ends after one pass, not after
 *          pages_to_scan.
 */
unsigned long khugepaged_do_scan(struct machine *machine,
				 const struct collapse_limits *limits);

#endif
