/* SPDX-License-Identifier: MIT */
/*
 * pinfold - Linux's page pinning as an ordinary process
 *
 * A machine is physical memory; an mm is an address space on it.  Addresses in
 * an mm are pf_addr_t, in bytes; they mean nothing to the host.  The bytes of a
 * page are at pf_page_address().
 *
 * Rules for callers
 *  - Functions that act return 0 or a negative errno; pf_error_text() then says
 *    what was wrong, in words, with the values.
 *  - get/pin functions return the number of pages, possibly short, or a negative
 *    errno if there is none.  What was got is put, what was pinned is unpinned.
 *  - Any thread may call anything at any time, except the destroy functions:
 *    no other call may be running on what they destroy.
 *  - Pages outlive the mm they came from; the machine outlives both.
 *  - A host fork() does not carry a machine along: the child must not touch it.
 *
 * Names and meanings of flags and calls are Linux's, as of 6.12.
 */
#ifndef PINFOLD_PINFOLD_H
#define PINFOLD_PINFOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PINFOLD_API __attribute__((visibility("default")))
#define PINFOLD_MUST_CHECK __attribute__((warn_unused_result))
#else
#define PINFOLD_API
#define PINFOLD_MUST_CHECK
#endif

#define PINFOLD_VERSION_MAJOR 0
#define PINFOLD_VERSION_MINOR 1

typedef uint64_t pf_addr_t;	/* address in an mm, bytes */
typedef uint64_t pf_pfn_t;	/* frame number, frames of PINFOLD_PAGE_SIZE */

#define PINFOLD_PAGE_SIZE 4096u

struct pf_guest_memfd;
struct pf_machine;
struct pf_mm;
struct pf_page;
struct pf_task;
struct pf_file;

/* pf_error_text() - why the calling thread's last failure happened
 *
 * Return: a string of the calling thread's, valid until its next failure.
 */
PINFOLD_API const char *pf_error_text(void);

/* ---- machines --------------------------------------------------------- */

struct pf_machine_options {
	size_t size;		/* sizeof(struct pf_machine_options) */
	uint64_t memory_bytes;	/* a multiple of 4 MiB, up to 256 GiB - 4 MiB */
	bool metadata_only;	/* no user bytes: pf_read, pf_write and
				 * pf_page_address do not work, any size runs */
	bool touch;		/* take all host memory now */
	unsigned int nr_cpus;	/* simulated CPUs, up to 16; 0: four */
	unsigned long thp_always;  /* folio orders 2 ... 9 that every area may
				    * use, bit k is order k */
	unsigned long thp_madvise; /* the same, for PINFOLD_MADV_HUGEPAGE areas */
	uint64_t movable_bytes;	/* of memory_bytes: ZONE_MOVABLE */
	uint64_t cma_bytes;	/* of memory_bytes: a CMA area */
	uint64_t hugetlb_2m_pages; /* pools, besides memory_bytes */
	uint64_t hugetlb_1g_pages;
	bool no_huge_zero;	/* a read fault takes a huge page, not the one
				 * huge zero folio */
};

/*
 * pf_machine_create() - make a machine
 *
 * Return: 0; -EINVAL for options that make no sense; -ENOMEM.
 * Owner: on success the caller, who calls pf_machine_destroy().
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_machine_create(const struct pf_machine_options *options,
		  struct pf_machine **machine);

/*
 * pf_machine_destroy() - give all memory back
 *
 * Return: 0; -EBUSY, and nothing happens, while an mm, a file or guest memory
 * exists, or pages are got or pinned.  NULL is allowed.
 */
PINFOLD_API int pf_machine_destroy(struct pf_machine *machine);

struct pf_machine_stat {
	size_t size;		/* sizeof(struct pf_machine_stat) */
	uint64_t memory_bytes;
	uint64_t free_pages;
	uint64_t pins_acquired;	/* nr_foll_pin_acquired, pages */
	uint64_t pins_released;	/* nr_foll_pin_released, pages */
	uint64_t host_huge_bytes; /* of the arena, backed by host huge pages */
};

/* pf_machine_stat() - counters; exact while no other call is running */
PINFOLD_API int pf_machine_stat(struct pf_machine *machine,
				struct pf_machine_stat *stat);

/* ---- address spaces -------------------------------------------------- */

/* Return: 0 or -ENOMEM.  Owner: the caller, who calls pf_mm_destroy(). */
PINFOLD_API PINFOLD_MUST_CHECK int pf_mm_create(struct pf_machine *machine,
						struct pf_mm **mm);
/*
 * pf_mm_fork() - a copy of an address space, as fork() makes it
 * @child: set on success
 *
 * Both see the same bytes, and from then on only their own stores.  Pages are
 * shared until one side writes; a page that the parent has pinned stays the
 * parent's page, so its pins stay coherent, and the child gets a copy at once.
 * A page that was only got may become the child's.  PINFOLD_MADV_DONTFORK and
 * _WIPEONFORK areas are absent from the child, or empty.
 *
 * Return: 0; -ENOMEM (also: a pinned huge page and an empty pool), -EINTR.  On
 * failure the parent sees what it saw.
 * Owner: the caller, who calls pf_mm_destroy(), in any order with the parent's.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_mm_fork(struct pf_mm *parent,
					      struct pf_mm **child);
/* pf_mm_destroy() - unmap everything; pages got or pinned stay.  NULL allowed. */
PINFOLD_API void pf_mm_destroy(struct pf_mm *mm);

/*
 * pf_mm_read_lock() - hold mmap_lock for read
 *
 * Needed around the get/pin forms that take a @locked argument or none; the
 * _unlocked forms take it themselves.  Not recursive.
 */
PINFOLD_API void pf_mm_read_lock(struct pf_mm *mm);
PINFOLD_API void pf_mm_read_unlock(struct pf_mm *mm);

enum {
	PINFOLD_PROT_NONE = 0,
	PINFOLD_PROT_READ = 1,
	PINFOLD_PROT_WRITE = 2,
	PINFOLD_PROT_EXEC = 4,
};

enum {
	PINFOLD_MAP_SHARED = 0x1,	/* stores are seen by all who map it */
	PINFOLD_MAP_PRIVATE = 0x2,	/* they are not; so it is if none is said */
	PINFOLD_MAP_FIXED = 0x10,	/* there, whatever is there now */
	PINFOLD_MAP_FIXED_NOREPLACE = 0x100000,
	PINFOLD_MAP_POPULATE = 0x8000,	/* fault in, best effort */
	PINFOLD_MAP_LOCKED = 0x2000,
	PINFOLD_MAP_NORESERVE = 0x4000,	/* a huge page may be missing when touched */
	PINFOLD_MAP_HUGETLB = 0x40000,	/* 2 MiB pages of the pool */
	PINFOLD_MAP_HUGE_2MB = 21 << 26, /* the same, said; with MAP_HUGETLB */
	PINFOLD_MAP_HUGE_1GB = 30 << 26, /* 1 GiB pages; with MAP_HUGETLB */
};

/*
 * pf_mmap() - map anonymous memory, private unless PINFOLD_MAP_SHARED
 * @hint: where, if it is free there; the place itself with a FIXED flag
 * @length: bytes, rounded up to whole pages
 * @address: set on success
 *
 * Shared memory is seen by the children of pf_mm_fork().
 * Return: 0; -EINVAL (length 0, unknown bits, both SHARED and PRIVATE, unaligned
 * fixed address), -ENOMEM (no room, past the top, too many areas; or no huge pages left to promise: a
 * FIXED place is empty then), -EEXIST (NOREPLACE), -EPERM (fixed below 64 KiB),
 * -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_mmap(struct pf_mm *mm, pf_addr_t hint,
					   uint64_t length, int prot, int flags,
					   pf_addr_t *address);
/*
 * pf_mmap_file() - map a file
 * @flags: PINFOLD_MAP_*, but for the HUGE ones; one of SHARED and PRIVATE
 * @file: kept until it is unmapped, whoever closes it
 * @offset: in the file, bytes, a multiple of the page size
 *
 * A page above the file's size is -EFAULT to whoever touches it.  A store to a
 * private area makes a copy of the page; to a shared one, makes it dirty.
 * Return: as pf_mmap(); also -EACCES (the file is not open for that), -EPERM (a
 * seal), -EOVERFLOW (@offset + @length).  Of a hugetlb file @offset is a multiple
 * of its page size, and @length is rounded up to it.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_mmap_file(struct pf_mm *mm, pf_addr_t hint, uint64_t length, int prot,
	     int flags, struct pf_file *file, uint64_t offset,
	     pf_addr_t *address);
/* Return: 0, -EINVAL, -ENOMEM (a hole would make too many areas), -EINTR. */
PINFOLD_API int pf_munmap(struct pf_mm *mm, pf_addr_t start, uint64_t length);
/* Return: 0, -EINVAL, -ENOMEM (a hole; what lies before it is changed), -EINTR */
PINFOLD_API PINFOLD_MUST_CHECK int pf_mprotect(struct pf_mm *mm, pf_addr_t start,
					       uint64_t length, int prot);

enum {
	PINFOLD_MREMAP_MAYMOVE = 1,
	PINFOLD_MREMAP_FIXED = 2,
	PINFOLD_MREMAP_DONTUNMAP = 4,
};

/*
 * pf_mremap() - resize or move; pages and pins stay what they are
 * @new_address: with PINFOLD_MREMAP_FIXED, where to; with _DONTUNMAP, a hint
 *
 * FIXED first unmaps what is there, and what the old range has too much, even
 * if it then fails.
 * Return: 0; -EINVAL, -EFAULT (the old range is not inside one area), -ENOMEM
 * (no room or no memory; nothing has moved), -EPERM (below 64 KiB), -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_mremap(struct pf_mm *mm, pf_addr_t old_address,
					     uint64_t old_length,
					     uint64_t new_length, int flags,
					     pf_addr_t new_address,
					     pf_addr_t *address);

enum {
	PINFOLD_MADV_NORMAL = 0,
	PINFOLD_MADV_DONTNEED = 4,
	PINFOLD_MADV_DONTFORK = 10,	/* leave it out of children */
	PINFOLD_MADV_DOFORK = 11,
	PINFOLD_MADV_HUGEPAGE = 14,
	PINFOLD_MADV_NOHUGEPAGE = 15,
	PINFOLD_MADV_WIPEONFORK = 18,	/* children find it untouched */
	PINFOLD_MADV_KEEPONFORK = 19,
	PINFOLD_MADV_POPULATE_READ = 22,
	PINFOLD_MADV_POPULATE_WRITE = 23,
	PINFOLD_MADV_COLLAPSE = 25,	/* make huge pages of it, now */
};

/*
 * pf_madvise() - advise about a range
 *
 * Return: 0; -EINVAL (unknown advice, unaligned, not applicable), -ENOMEM (a
 * hole; all but the POPULATE kinds do the rest all the same), -EAGAIN (no
 * memory, or too many areas, to cut one), -EFAULT, -EHWPOISON, -EINTR.
 * COLLAPSE: 0 if each whole 2 MiB of the range is one huge page now; -EAGAIN if
 * a page is got, pinned or in other use; -ENOMEM; -EBUSY (empty entries of an
 * area with a userfault handler); -EINVAL (what no later try would change).
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_madvise(struct pf_mm *mm, pf_addr_t start,
					      uint64_t length, int advice);

/*
 * pf_read(), pf_write() - copy through the page tables, faulting as needed
 *
 * As a user's load or store: the area must permit it.
 * Return: bytes copied, short if a later page could not be reached; a negative
 * errno if none; -EOPNOTSUPP on a metadata-only machine.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t pf_read(struct pf_mm *mm, pf_addr_t from,
					       void *to, uint64_t bytes);
PINFOLD_API PINFOLD_MUST_CHECK int64_t pf_write(struct pf_mm *mm, pf_addr_t to,
						const void *from, uint64_t bytes);

/* ---- files ----------------------------------------------------------- */

/*
 * pf_file_open() - a file of the host's, as memory of the machine
 * @fd: a regular file, which is duplicated
 * @writable: it may be written and mapped so; @fd is open for reading and writing
 *
 * Pages are read when they are needed.  Stores stay in the machine's memory, and
 * the file's owner is told of them, so longterm pins for writing of shared areas
 * are -EFAULT.
 * Return: 0; -EBADF, -ENODEV (not a regular file), -EACCES, -ENOMEM, -EOPNOTSUPP
 * (a metadata-only machine).
 * Owner: the caller, who calls pf_file_close().
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_file_open(struct pf_machine *machine, int fd, bool writable,
	     struct pf_file **file);

enum {
	PINFOLD_SHMEM_NO_PIN = 1,	/* no page is got or pinned, as secretmem */
};

/*
 * pf_shmem_create() - a file of memory alone, of @size zeroes (memfd, tmpfs)
 * @max_order: of its folios, up to 9; larger ones may begin before what is
 *	touched, and end after it
 * @flags: PINFOLD_SHMEM_*
 *
 * Return: 0; -EINVAL, -ENOMEM.  Owner: the caller, who calls pf_file_close().
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_shmem_create(struct pf_machine *machine, uint64_t size,
		unsigned int max_order, unsigned int flags,
		struct pf_file **file);

/*
 * pf_hugetlb_create() - a file of zeroes in huge pages (memfd with MFD_HUGETLB)
 * @page_bytes: 2 MiB or 1 GiB
 * @size: bytes, whole huge pages; pf_file_truncate() wants those, too
 *
 * No page is taken or promised yet.  Mapping a shared area promises a page for
 * each place of it (but for PINFOLD_MAP_NORESERVE), for good, to whoever touches
 * it; a private area is promised its copies.  An area for writing makes the file
 * as large as it reaches.  Bytes are read by areas or pf_file_read(), written by
 * areas only.
 * Return: 0; -EINVAL, -ENOMEM.  Owner: the caller, who calls pf_file_close().
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_hugetlb_create(struct pf_machine *machine, uint64_t page_bytes,
		  uint64_t size, struct pf_file **file);

/*
 * pf_file_close() - the handle is not used any more; NULL allowed
 *
 * With the last area that maps it the file's pages go as well; those got or
 * pinned stay until they are put.
 */
PINFOLD_API void pf_file_close(struct pf_file *file);

/* pf_file_size() - bytes */
PINFOLD_API uint64_t pf_file_size(struct pf_file *file);

/*
 * pf_file_truncate() - set the size
 *
 * Above it nothing is mapped any more, private copies included.  A host's file
 * follows.
 * Return: 0; -EBADF (not open for writing), -EPERM (a seal), -EFBIG, -EINVAL (not
 * whole huge pages, of a hugetlb file), or the host's errno.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_file_truncate(struct pf_file *file,
						    uint64_t size);

enum {
	PINFOLD_FALLOC_KEEP_SIZE = 1,
	PINFOLD_FALLOC_PUNCH_HOLE = 2,	/* with KEEP_SIZE */
};

/*
 * pf_file_allocate() - have pages for a range, or a hole in its place
 * @mode: 0, or PINFOLD_FALLOC_*
 *
 * In a hole bytes are zero and nothing is mapped but private copies; a page at
 * its edge stays, zeroed in part.  Where pages are huge, a hole inside one only
 * zeroes.
 * Return: 0; -EINVAL, -EOPNOTSUPP (@mode), -EBADF (not open for writing), -EFBIG,
 * -EPERM (a seal), -ENOMEM, -EINTR, or the host's errno.  On failure no page has
 * come.  Of a hugetlb file: -ENOSPC, the pool has no more, and what it had has
 * come.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_file_allocate(struct pf_file *file, int mode, int64_t offset,
		 int64_t length);

/*
 * pf_file_read(), pf_file_write() - bytes of the file, whoever maps it
 *
 * Return: bytes, short at the end of the file; -EBADF, -EPERM (a seal), -EIO and
 * other errnos of the host, -ENOMEM, -EINTR, -EINVAL (a position below 0; writing
 * a hugetlb file), -EFBIG
 * (a host's file does not grow by being written), -EOPNOTSUPP on a metadata-only
 * machine.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t pf_file_read(struct pf_file *file,
						    void *to, uint64_t bytes,
						    int64_t position);
PINFOLD_API PINFOLD_MUST_CHECK int64_t pf_file_write(struct pf_file *file,
						     const void *from,
						     uint64_t bytes,
						     int64_t position);

enum {	/* as Linux's F_SEAL_* */
	PINFOLD_SEAL_SEAL = 1,
	PINFOLD_SEAL_SHRINK = 2,
	PINFOLD_SEAL_GROW = 4,
	PINFOLD_SEAL_WRITE = 8,
	PINFOLD_SEAL_FUTURE_WRITE = 16,	/* areas that may write already, may */
};

/*
 * pf_file_add_seals() - forbid something for good, of a file of memory
 *
 * Return: 0; -EPERM (SEAL_SEAL), -EINVAL; -EBUSY: SEAL_WRITE, and an area may
 * write to it, or one of its pages is got or pinned.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_file_add_seals(struct pf_file *file,
						     unsigned int seals);

/*
 * pf_memfd_pin_folios() - pin the bytes @start to @end, @end included
 * @file: of memory
 * @pages: room for @max; gets the first page of each folio
 * @offset: gets the bytes from there to @start, in the first folio
 *
 * One longterm pin a folio; what is missing is added.
 * Return: how many folios, at most @max; -EINVAL, -ENOMEM, -EINTR, with nothing
 * pinned.
 * Owner: the caller, who calls pf_unpin_user_pages().
 */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_memfd_pin_folios(struct pf_file *file, int64_t start, int64_t end,
		    struct pf_page **pages, unsigned int max,
		    uint64_t *offset);

/* ---- what happens to an address space unasked ------------------------ */

struct pf_collapse_limits {
	size_t size;		/* sizeof(struct pf_collapse_limits) */
	/* Of the 512 entries of a table, how many may be: */
	unsigned int max_ptes_none;	/* empty, or the zero page; Linux: 511 */
	unsigned int max_ptes_swap;	/* not present; Linux: 64 */
	unsigned int max_ptes_shared;	/* mapped elsewhere too; Linux: 256 */
};

/*
 * pf_machine_collapse_scan() - one pass of khugepaged
 * @limits: NULL: Linux's
 *
 * Looks at every address space of the machine and makes huge pages where order
 * 9 is enabled for the area and where nobody has a page got or pinned.  A table
 * that is at a limit still is collapsed.
 * Context: pf_mm_read_lock() is not held by the caller.  pf_mm_destroy() waits
 * for it.
 * Return: huge pages made; -EINVAL for limits of another version.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_machine_collapse_scan(struct pf_machine *machine,
			 const struct pf_collapse_limits *limits);

/*
 * pf_clear_soft_dirty() - forget what was written (clear_refs, 4)
 *
 * The next store to each page faults, and marks it again; pages and pins stay.
 * Small mappings of pinned pages are left as they are.
 * Return: 0; -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_clear_soft_dirty(struct pf_mm *mm);

/* Bits of an entry of pf_pagemap(); the lower 55 are the frame number. */
#define PINFOLD_PM_PFRAME_MASK	((UINT64_C(1) << 55) - 1)
#define PINFOLD_PM_SOFT_DIRTY	(UINT64_C(1) << 55)	/* written since */
#define PINFOLD_PM_UFFD_WP	(UINT64_C(1) << 57)
#define PINFOLD_PM_SWAP		(UINT64_C(1) << 62)	/* elsewhere */
#define PINFOLD_PM_PRESENT	(UINT64_C(1) << 63)

/*
 * pf_pagemap() - what maps each page, as in /proc/PID/pagemap
 * @start: a multiple of the page size
 * @entries: room for @nr_pages; 0 where nothing is mapped
 *
 * Return: 0; -EINVAL (unaligned, above the user addresses), -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_pagemap(struct pf_mm *mm, pf_addr_t start,
					      unsigned long nr_pages,
					      uint64_t *entries);

/*
 * pf_numa_hint() - mark a range so that the next use of each page faults
 *
 * What NUMA balancing does to find out who uses a page.  The fault gives the
 * access back; nothing is moved.  Pins and gets look through the mark, unless
 * with PINFOLD_FOLL_HONOR_NUMA_FAULT or in the fast forms.
 * Return: pages marked: neither zero pages nor, by small entries, pinned ones;
 * -EINVAL (unaligned, above the user addresses), -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t pf_numa_hint(struct pf_mm *mm,
						    pf_addr_t start,
						    uint64_t length);

/*
 * pf_split() - split large folios (debugfs split_huge_pages)
 * @start, @length: whole pages; a folio that has one mapped there is split
 * @order: of the parts: 0, or 2 ... 8
 *
 * Bytes, protection and marks stay.  Split to order 0, pages of zeroes become
 * the zero page, and unmapped ones are freed.  Folios with a page got or pinned
 * are left out; a huge page may be mapped by small entries afterwards.
 * Return: folios split; -EAGAIN if there are some and all are in use; -EINVAL
 * (unaligned, above the user addresses, @order), -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_split(struct pf_mm *mm, pf_addr_t start, uint64_t length,
	 unsigned int order);

/*
 * Write-protection with a handler (userfaultfd).
 *
 * The handler is called by the thread whose store, or pin for writing, met a
 * protected page, without mmap_lock, so it may call anything but
 * pf_mm_destroy().  Then the thread sleeps until the page's protection is ended,
 * by the handler or by somebody it told; a fatal signal ends the sleep.  Calls
 * that cannot let mmap_lock go get -EFAULT instead, FOLL_NOWAIT what it has.
 */
typedef void (*pf_userfault_fn)(void *arg, pf_addr_t address);

/*
 * pf_userfault_register() - serve write faults of a range; protects nothing yet
 * @fn: NULL: a store ends the protection of its page, and goes on
 * @arg: for @fn
 *
 * What is moved by pf_mremap() leaves protection and handler behind.
 * Return: 0; -EINVAL (unaligned, empty, nothing mapped), -EBUSY (there is
 * another handler), -ENOMEM (areas before the one that could not be cut are
 * registered).
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_userfault_register(struct pf_mm *mm, pf_addr_t start, uint64_t length,
		      pf_userfault_fn fn, void *arg);
/* Ends protection and wakes who waits.  Return: 0, -EINVAL, -ENOMEM. */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_userfault_unregister(struct pf_mm *mm, pf_addr_t start, uint64_t length);

/*
 * pf_userfault_writeprotect() - protect a range, or end that and wake who waits
 *
 * Only pages that are there are protected: a page that is faulted in later is
 * not.
 * Return: 0; -ENOENT (not all is registered; what lies before is changed),
 * -EINVAL (unaligned, empty, inside a hugetlb page), -EINTR.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_userfault_writeprotect(struct pf_mm *mm, pf_addr_t start, uint64_t length,
			  bool on);

/* ---- getting and pinning --------------------------------------------- */

enum {
	PINFOLD_FOLL_WRITE = 0x1,	/* the holder will write */
	PINFOLD_FOLL_GET = 0x2,
	PINFOLD_FOLL_FORCE = 0x8,	/* as a debugger: override protection */
	PINFOLD_FOLL_NOWAIT = 0x10,	/* do not wait; makes 0 a legal result */
	PINFOLD_FOLL_NOFAULT = 0x20,	/* only what is there */
	PINFOLD_FOLL_HWPOISON = 0x40,	/* report poison as -EHWPOISON */
	PINFOLD_FOLL_ANON = 0x80,	/* anonymous areas only */
	PINFOLD_FOLL_LONGTERM = 0x100,	/* for pins without a bound in time */
	PINFOLD_FOLL_SPLIT_PMD = 0x200,	/* map huge pages by PTEs first */
	PINFOLD_FOLL_INTERRUPTIBLE = 0x800,
	PINFOLD_FOLL_HONOR_NUMA_FAULT = 0x1000,
};

/*
 * pf_pin_user_pages() - pin [start, start + nr_pages pages)
 * @nr_pages: pages
 * @flags: PINFOLD_FOLL_*
 * @pages: room for @nr_pages; slots past the result are unspecified
 *
 * Context: pf_mm_read_lock() is held and stays held.
 * Return: pages pinned, possibly short; -EFAULT, -ENOMEM, -EINTR; 0 for invalid
 * flags, as in Linux.
 * Owner: the caller, who unpins each page once.
 */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_pin_user_pages(struct pf_mm *mm, pf_addr_t start, unsigned long nr_pages,
		  unsigned int flags, struct pf_page **pages);
/* The same with references, put by pf_put_page(); invalid flags: -EINVAL. */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_get_user_pages(struct pf_mm *mm, pf_addr_t start, unsigned long nr_pages,
		  unsigned int flags, struct pf_page **pages);

/*
 * The _remote forms may drop the lock: *@locked is 1 on entry and tells on return
 * whether pf_mm_read_lock() still is held.  NULL: it is never dropped.
 */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_pin_user_pages_remote(struct pf_mm *mm, pf_addr_t start,
			 unsigned long nr_pages, unsigned int flags,
			 struct pf_page **pages, int *locked);
PINFOLD_API PINFOLD_MUST_CHECK long
pf_get_user_pages_remote(struct pf_mm *mm, pf_addr_t start,
			 unsigned long nr_pages, unsigned int flags,
			 struct pf_page **pages, int *locked);

/* The _unlocked forms take and release the lock themselves. */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_pin_user_pages_unlocked(struct pf_mm *mm, pf_addr_t start,
			   unsigned long nr_pages, struct pf_page **pages,
			   unsigned int flags);
PINFOLD_API PINFOLD_MUST_CHECK long
pf_get_user_pages_unlocked(struct pf_mm *mm, pf_addr_t start,
			   unsigned long nr_pages, struct pf_page **pages,
			   unsigned int flags);

/*
 * The _fast forms: no lock is held; at most INT_MAX pages.  Only WRITE, FORCE,
 * NOFAULT, LONGTERM (pins) and HONOR_NUMA_FAULT are allowed, else -EINVAL;
 * -EOVERFLOW and -EFAULT for a range that wraps or is above the user addresses;
 * nr_pages <= 0 gives 0.
 */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_pin_user_pages_fast(struct pf_mm *mm, pf_addr_t start, int nr_pages,
		       unsigned int flags, struct pf_page **pages);
PINFOLD_API PINFOLD_MUST_CHECK long
pf_get_user_pages_fast(struct pf_mm *mm, pf_addr_t start, int nr_pages,
		       unsigned int flags, struct pf_page **pages);
/* Never faults and never waits; 0 is a legal result. */
PINFOLD_API PINFOLD_MUST_CHECK long
pf_get_user_pages_fast_only(struct pf_mm *mm, pf_addr_t start, int nr_pages,
			    unsigned int flags, struct pf_page **pages);

/*
 * pf_get_dump_page() - a page for a dump, without allocating anything
 *
 * Return: 1 and *@page, which the caller puts; 0 for a hole or a page that can
 * only be zero.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_get_dump_page(struct pf_mm *mm, pf_addr_t address, struct pf_page **page);

/*
 * pf_access_remote() - copy as a debugger does
 * @flags: PINFOLD_FOLL_WRITE to write, PINFOLD_FOLL_FORCE to override protection
 *
 * Return: bytes copied, 0 if none could be; -EOPNOTSUPP on a metadata-only
 * machine.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_access_remote(struct pf_mm *mm, pf_addr_t address, void *buffer,
		 uint64_t bytes, unsigned int flags);

PINFOLD_API void pf_put_page(struct pf_page *page);
PINFOLD_API void pf_unpin_user_page(struct pf_page *page);
/* All pages of one machine; NULL entries are skipped. */
PINFOLD_API void pf_unpin_user_pages(struct pf_page **pages,
				     unsigned long nr_pages);
/* @dirty: the holder wrote: mark the folios dirty first (may sleep). */
PINFOLD_API void pf_unpin_user_pages_dirty_lock(struct pf_page **pages,
						unsigned long nr_pages,
						bool dirty);
/* @nr_pages consecutive frames from @page on. */
PINFOLD_API void pf_unpin_user_page_range_dirty_lock(struct pf_page *page,
						     unsigned long nr_pages,
						     bool dirty);

/*
 * pf_page_address() - where the host finds a page's bytes
 *
 * Return: 0 and *@address; -EOPNOTSUPP on a metadata-only machine.
 * Valid while the page is got or pinned.
 */
PINFOLD_API PINFOLD_MUST_CHECK int pf_page_address(const struct pf_page *page,
						   void **address);
PINFOLD_API pf_pfn_t pf_page_pfn(const struct pf_page *page);
/* pf_page_folio_order() - log2 of the pages of the folio it belongs to */
PINFOLD_API unsigned int pf_page_folio_order(const struct pf_page *page);
/* pf_page_maybe_dma_pinned() - Linux's folio_maybe_dma_pinned() */
PINFOLD_API bool pf_page_maybe_dma_pinned(const struct pf_page *page);

/* ---- guest memory ----------------------------------------------------- */

/*
 * The memory of a guest, which no address space maps (guest_memfd).
 *
 * A page is absent, allocated, or prepared: its bytes count, and its frame stays
 * the same until a hole is punched.  Offsets and lengths are bytes, of whole
 * pages but for pf_guest_memfd_read().  What is not prepared reads as zero.
 *
 * Who enters frames into tables of a guest keeps their references while they
 * are there, and lets no hole slip in between:
 *
 *	fault:	seq = pf_guest_memfd_invalidate_seq(gmem);
 *		get the frame; lock the tables;
 *		if pf_guest_memfd_invalidate_retry(gmem, seq)
 *			unlock, put the frame, begin again
 *		enter it; unlock
 *	hole:	pf_guest_memfd_punch(); lock the tables; take out what is in the
 *		hole; unlock; put the frames
 */

/* In flags: folios of up to this order, 1 ... 9, where they fit; else order 0 */
#define PINFOLD_GUEST_MEMFD_FOLIOS(order)	(UINT64_C(1) << 63 | (order))

/*
 * pf_guest_memfd_create() - @size bytes of guest memory, all of it absent
 * @flags: 0, or PINFOLD_GUEST_MEMFD_FOLIOS()
 *
 * Return: 0; -EINVAL (@size: 0, no whole pages, above INT64_MAX; @flags);
 * -ENOMEM.
 * Owner: the caller, who calls pf_guest_memfd_destroy() before the machine is
 * destroyed.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_guest_memfd_create(struct pf_machine *machine, uint64_t size, uint64_t flags,
		      struct pf_guest_memfd **gmem);
/* Frames that are got stay.  NULL is allowed. */
PINFOLD_API void pf_guest_memfd_destroy(struct pf_guest_memfd *gmem);
PINFOLD_API uint64_t pf_guest_memfd_size(const struct pf_guest_memfd *gmem);

/*
 * pf_guest_memfd_allocate() - let each page have a frame (fallocate, KEEP_SIZE)
 *
 * Return: 0; -EINVAL, -EFBIG (the end is above INT64_MAX), -EINTR, -ENOMEM (what
 * was done by then stays).
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_guest_memfd_allocate(struct pf_guest_memfd *gmem, uint64_t offset,
			uint64_t length);
/*
 * pf_guest_memfd_punch() - drop pages; they read as zero (fallocate, PUNCH_HOLE)
 *
 * A larger folio that sticks out of the hole and that is got keeps its frames:
 * the pages in the hole are zeroed in place.
 * Return: 0; -EINVAL, -EFBIG.  Beyond the size is no error.
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_guest_memfd_punch(struct pf_guest_memfd *gmem, uint64_t offset,
		     uint64_t length);

/*
 * pf_guest_memfd_get_pfn() - the page at @index, prepared: zero if it was not
 * @index: in pages
 *
 * Return: 0 and *@page, with a reference; -EINVAL (beyond the size), -ENOMEM,
 * -EHWPOISON.
 * Owner: the caller, who calls pf_put_page().
 */
PINFOLD_API PINFOLD_MUST_CHECK int
pf_guest_memfd_get_pfn(struct pf_guest_memfd *gmem, uint64_t index,
		       struct pf_page **page);
PINFOLD_API unsigned int
pf_guest_memfd_invalidate_seq(const struct pf_guest_memfd *gmem);
/* Has a page been taken away since, or is one being taken away? */
PINFOLD_API bool
pf_guest_memfd_invalidate_retry(const struct pf_guest_memfd *gmem,
				unsigned int seq);

/*
 * All below: bytes done, short at what ended it, or if none a negative errno:
 * -EINVAL (no whole pages, beyond the size), -EOPNOTSUPP (a metadata-only
 * machine), -EHWPOISON, -EINTR, -ENOMEM, and as said.
 */

/* pf_guest_memfd_read() - copy out, in any alignment; allocates nothing */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_guest_memfd_read(struct pf_guest_memfd *gmem, uint64_t offset, void *to,
		    uint64_t bytes);

/*
 * pf_guest_memfd_populate() - fill pages that are not prepared, at memory speed
 * pf_guest_memfd_write() - the same
 *
 * Each page is prepared with all its bytes, or not at all, whoever else prepares
 * it at that time.  Any thread may fill any part; disjoint parts, of multiples
 * of 256 KiB, do not wait for each other.
 * Return: a page that is prepared already ends it: -EEXIST, write: -ENOSPC.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_guest_memfd_populate(struct pf_guest_memfd *gmem, uint64_t offset,
			const void *from, uint64_t bytes);
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_guest_memfd_write(struct pf_guest_memfd *gmem, uint64_t offset,
		     const void *from, uint64_t bytes);

/*
 * pf_guest_memfd_restore() - let memory read as a file does
 * pf_guest_memfd_save() - let a file read as memory does
 * @fd: a regular file; its position is unspecified afterwards
 *
 * Restoring overwrites pages that are prepared, in place.  Holes of the file
 * take no memory, and what is not prepared becomes a hole of the file.  Behind
 * the bytes done nothing has changed, but that the file may be longer.
 * Return: -ENODATA (the file has ended), -EISDIR, -ESPIPE (no regular file),
 * -EIO, -ENOSPC and what else reading and writing gives.
 */
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_guest_memfd_restore(struct pf_guest_memfd *gmem, int fd,
		       uint64_t file_offset, uint64_t offset, uint64_t bytes);
PINFOLD_API PINFOLD_MUST_CHECK int64_t
pf_guest_memfd_save(struct pf_guest_memfd *gmem, int fd, uint64_t file_offset,
		    uint64_t offset, uint64_t bytes);

/* ---- signals --------------------------------------------------------- */

/* pf_task_self() - the calling thread, for others to signal; valid till it ends */
PINFOLD_API struct pf_task *pf_task_self(void);
/* pf_task_signal() - end that thread's waits: killable ones only if @fatal */
PINFOLD_API void pf_task_signal(struct pf_task *task, bool fatal);
/* pf_task_clear_signals() - of the calling thread */
PINFOLD_API void pf_task_clear_signals(void);

#ifdef __cplusplus
}
#endif

#endif
