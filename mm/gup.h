/* SPDX-License-Identifier: MIT */
/*
 * Getting and pinning the pages of an address space.
 *
 * get_* takes references, pin_* takes pins; what was got is put, what was
 * pinned is unpinned, in any order and grouping.  All counts are pages.
 *
 * Return of every get/pin: the number of pages, possibly short (the error is
 * found by calling again at the next address); a negative errno if none:
 *   -EFAULT  nothing mapped, not permitted, or the fault failed
 *   -ENOMEM  no memory, or a reference could not be taken
 *   -EINTR   a fatal signal (any signal with FOLL_INTERRUPTIBLE)
 *   -EAGAIN  mmap_lock could not be taken: killed
 *   -EINVAL  invalid flags; pin_user_pages(), _remote() and _unlocked()
 *            return 0 instead
 *   -EHWPOISON, -EEXIST, -EOPNOTSUPP, -EREMOTEIO: see docs of the flag
 * 0 for a positive request: only with FOLL_NOWAIT, or as above.
 *
 * Array slots at and past the count are unspecified.
 *
 * Source: mm/gup.c, include/linux/mm_types.h, mm/internal.h
 */
#ifndef MM_GUP_H
#define MM_GUP_H

#include "mm/mm.h"

#define FOLL_WRITE		0x1
#define FOLL_GET		0x2
#define FOLL_DUMP		0x4
#define FOLL_FORCE		0x8
#define FOLL_NOWAIT		0x10
#define FOLL_NOFAULT		0x20
#define FOLL_HWPOISON		0x40
#define FOLL_ANON		0x80
#define FOLL_LONGTERM		0x100
#define FOLL_SPLIT_PMD		0x200
#define FOLL_PCI_P2PDMA		0x400
#define FOLL_INTERRUPTIBLE	0x800
#define FOLL_HONOR_NUMA_FAULT	0x1000

#define FOLL_TOUCH		0x10000
#define FOLL_TRIED		0x20000
#define FOLL_REMOTE		0x40000
#define FOLL_PIN		0x80000
#define FOLL_FAST_ONLY		0x100000
#define FOLL_UNLOCKABLE		0x200000
#define FOLL_MADV_POPULATE	0x400000

#define INTERNAL_GUP_FLAGS	(FOLL_TOUCH | FOLL_TRIED | FOLL_REMOTE | \
				 FOLL_PIN | FOLL_FAST_ONLY | FOLL_UNLOCKABLE | \
				 FOLL_MADV_POPULATE)

/*
 * @locked: NULL: mmap_lock is held and stays held.  Otherwise *@locked is 1 on
 * entry (held for read) and says on return whether it still is held.
 * @pages: NULL for a get: populate only.
 */
long get_user_pages(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int gup_flags,
		    struct page **pages);
long get_user_pages_remote(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked);
long get_user_pages_unlocked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     unsigned int gup_flags);
long pin_user_pages(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int gup_flags,
		    struct page **pages);
long pin_user_pages_remote(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked);
long pin_user_pages_unlocked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     unsigned int gup_flags);

/*
 * The fast forms work on the calling thread's own mm, which the caller has set.
 * They begin without mmap_lock and take it for what is left.  Flags: FOLL_WRITE, _LONGTERM, _FORCE,
 * _NOFAULT, _PCI_P2PDMA, _HONOR_NUMA_FAULT; anything else is -EINVAL.
 * -EOVERFLOW, -EFAULT: the range wraps, or is above the user addresses.
 */
long get_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages);
long pin_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages);
/* Never faults, never waits: what can be had so, often 0. */
long get_user_pages_fast_only(pf_addr_t start, int nr_pages,
			      unsigned int gup_flags, struct page **pages);

/* Releasing (gup_pin.c). */
void unpin_user_page(struct page *page);
/*
 * unpin_user_pages() - one pin off each page's folio
 *
 * The pages are of one machine.  NULL entries are skipped.  A count that looks
 * like an errno does nothing.
 */
void unpin_user_pages(struct page **pages, unsigned long nr_pages);
/*
 * unpin_user_pages_dirty_lock() - the same, after marking folios dirty
 *
 * Context: may sleep (folio lock) if @make_dirty.
 */
void unpin_user_pages_dirty_lock(struct page **pages, unsigned long nr_pages,
				 bool make_dirty);
/* unpin_user_page_range_dirty_lock() - @nr_pages consecutive frames */
void unpin_user_page_range_dirty_lock(struct page *page,
				      unsigned long nr_pages, bool make_dirty);
void unpin_user_folio(struct folio *folio, unsigned long nr_pages);
/* unpin_folio(), unpin_folios() - one pin off each; NULL entries are skipped */
void unpin_folio(struct folio *folio);
void unpin_folios(struct folio **folios, unsigned long nr_folios);

/*
 * memfd_pin_folios() - pin the bytes @start to @end, @end included, of a memfd
 * @folios: room for @max_folios, where it stops
 * @offset: bytes from the beginning of the first folio to @start
 *
 * Missing folios are added.  One longterm pin a folio, each once.
 * Return: how many; -EINVAL, arguments, or not a file of memory; -ENOMEM, -EINTR
 * and what the file gives.  On failure nothing is pinned.
 * Owner: the caller, who calls unpin_folios().
 * Source: mm/gup.c:memfd_pin_folios()
 * Differs: bounded passes, as with other longterm pins.
 */
long memfd_pin_folios(struct file *memfd, int64_t start, int64_t end,
		      struct folio **folios, unsigned int max_folios,
		      pgoff_t *offset);
/*
 * folio_add_pin() - one pin more on a folio that the caller has pinned
 *
 * nr_foll_pin_acquired does not move, as in Linux; the release moves its own.
 */
void folio_add_pin(struct folio *folio);

/* One page at a time (gup_remote.c). */

/*
 * fixup_user_fault() - fault, whether or not the entry looks fine
 * @unlocked: NULL: mmap_lock is never dropped; else set to true if it was
 *
 * Context: mmap_lock held for read, also on return.
 * Return: 0; -EFAULT, -ENOMEM, -EINTR.
 */
int __must_check fixup_user_fault(struct mm_struct *mm, pf_addr_t address,
				  unsigned int fault_flags, bool *unlocked);
/*
 * get_dump_page() - a page of the own mm for a dump; NULL for a hole, a zero page, any error
 *
 * Nothing is allocated for a hole.  Owner: the caller, who puts it.
 */
struct page *get_dump_page(pf_addr_t address);
/*
 * access_remote_vm() - copy out of, or with FOLL_WRITE into, another mm
 *
 * Return: bytes copied; 0 if none could be.
 */
int64_t access_remote_vm(struct mm_struct *mm, pf_addr_t address, void *buf,
			 u64 bytes, unsigned int gup_flags);
/*
 * fault_in_*() - reach every page of a range of the own mm
 *
 * fault_in_writeable() stores a zero byte into each, fault_in_safe_writeable()
 * changes nothing.
 * Return: bytes that were not reached; 0 is success.
 */
u64 fault_in_readable(pf_addr_t address, u64 bytes);
u64 fault_in_writeable(pf_addr_t address, u64 bytes);
u64 fault_in_safe_writeable(pf_addr_t address, u64 bytes);

/* Populating (gup_populate.c). */
long populate_vma_page_range(struct vm_area_struct *vma, pf_addr_t start,
			     pf_addr_t end, int *locked);
long faultin_page_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			bool write, int *locked);
int mm_populate(struct mm_struct *mm, pf_addr_t start, u64 length,
		bool ignore_errors);

#endif
