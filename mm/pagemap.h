/* SPDX-License-Identifier: MIT */
/*
 * What /proc tells of an address space's entries, and what it lets forget.
 *
 * Source: fs/proc/task_mmu.c
 */
#ifndef MM_PAGEMAP_H
#define MM_PAGEMAP_H

#include "mm/mm.h"

/*
 * clear_refs_soft_dirty() - from now on, tell what is written
 *
 * Every entry becomes read-only and not soft-dirty, but for small mappings of
 * pinned pages; no area counts as new.
 * Return: 0; -EINTR.
 * Context: takes mmap_lock for write.
 * Source: fs/proc/task_mmu.c:clear_refs_write(), CLEAR_REFS_SOFT_DIRTY
 */
int __must_check clear_refs_soft_dirty(struct mm_struct *mm);

/* An entry of pagemap: the frame number, or type and offset of a swap entry. */
#define PM_PFRAME_MASK	(((u64)1 << 55) - 1)
#define PM_SOFT_DIRTY	((u64)1 << 55)
#define PM_UFFD_WP	((u64)1 << 57)
#define PM_SWAP		((u64)1 << 62)
#define PM_PRESENT	((u64)1 << 63)

/*
 * pagemap_read() - one entry a page of [start, + nr_pages)
 *
 * Return: 0; -EINTR.
 * Context: takes mmap_lock for read.
 * Source: fs/proc/task_mmu.c:pagemap_read()
 * Differs: PM_FILE and PM_MMAP_EXCLUSIVE are not told.
 */
int __must_check pagemap_read(struct mm_struct *mm, pf_addr_t start,
			      unsigned long nr_pages, u64 *entries);

/*
 * mm_lookup_entry() - what maps @address, as a PTE, whatever the level
 *
 * Looked at without its lock: it may be different on return.
 * Context: mmap_lock held.
 */
pte_t mm_lookup_entry(struct mm_struct *mm, pf_addr_t address);

#endif
