/* SPDX-License-Identifier: MIT */
/*
 * NUMA hints: entries that fault once, to tell who uses a page.
 *
 * Source: kernel/sched/fair.c:task_numa_work(), mm/mprotect.c
 */
#ifndef MM_NUMA_H
#define MM_NUMA_H

#include "mm/mm.h"

/*
 * change_prot_numa() - make the entries of [start, end) fault, once
 *
 * Present entries become PROT_NONE and keep all else.  Left out: zero pages and,
 * in copy-on-write areas, small mappings of pages that are pinned or mapped
 * elsewhere.
 * Context: mmap_lock held; the range lies in @vma, which is accessible.
 * Return: pages whose entry was changed.
 * Source: mm/mempolicy.c:change_prot_numa()
 */
unsigned long change_prot_numa(struct vm_area_struct *vma, pf_addr_t start,
			       pf_addr_t end);

/*
 * numa_hint_range() - the same for all areas of [start, end) that it suits
 *
 * Not areas of huge pages of a pool, of frames without descriptors, or without
 * access at all.
 * Return: pages whose entry was changed; -EINTR.
 * Context: takes mmap_lock for read.
 */
long numa_hint_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end);

#endif
