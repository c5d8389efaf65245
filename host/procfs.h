/* SPDX-License-Identifier: MIT */
/*
 * Another process's memory as /proc shows it: mappings, presence, frames.
 *
 * One struct procfs reads one process.  Its files stay bound to the address
 * space that the process had at procfs_open(): a later exec is not followed.
 *
 * Rules for callers
 * - The process runs on while it is read.  Each call is a view of its own;
 *   nothing holds two calls together.
 * - After the last mapping, ask procfs_alive(): a process that ends half way
 *   looks like one with fewer mappings.
 * - A struct procfs belongs to one thread at a time.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst,
 *         Documentation/filesystems/proc.rst
 */
#ifndef HOST_PROCFS_H
#define HOST_PROCFS_H

#include "host/compiler.h"
#include "host/types.h"

/* An entry of pagemap, one a page. */
#define PAGEMAP_PFN(entry)	((pf_pfn_t)((entry) & (((u64)1 << 55) - 1)))
#define PAGEMAP_PRESENT		((u64)1 << 63)	/* mapped; swapped out is not */

/* Flags of a frame in kpageflags. */
#define KPAGE_COMPOUND_HEAD	((u64)1 << 15)
#define KPAGE_COMPOUND_TAIL	((u64)1 << 16)
#define KPAGE_NOPAGE		((u64)1 << 20)	/* no memory there */
#define KPAGE_ZERO		((u64)1 << 24)	/* zero page, small or huge */

struct procfs_vma {
	pf_addr_t start, end;	/* [start, end), bytes */
	bool read, write, exec, shared;
	bool file;		/* page cache of a file, shmem or hugetlbfs */
	bool special;		/* device memory or raw frames: no GUP there */
	u64 rss_bytes;		/* without hugetlb and zero pages */
	u64 huge_bytes;		/* mapped at the PMD level, without hugetlb */
	u64 page_bytes;		/* size of the mapping's own pages */
	const char *path;	/* as in maps, or ""; until the next call */
};

/* A part of a mapping whose pages look alike. */
struct procfs_range {
	pf_addr_t start, end;	/* [start, end), bytes */
	bool huge;		/* known to be mapped at the PMD level */
	bool zero;		/* known to be the zero page */
};

struct procfs;

/*
 * procfs_open() - begin to read a process
 * @pid: its number, as the caller's /proc has it
 *
 * Return: 0; -ESRCH no such process; -ENODATA it has no memory of its own
 * (kernel thread, or ended and not yet waited for); -EACCES or -EPERM not
 * ours to read; -ENOSYS no /proc here, or one without pagemap; -ENOMEM.
 * Owner: on success the caller, who gives it to procfs_close().
 */
int __must_check procfs_open(pid_t pid, struct procfs **out);
void procfs_close(struct procfs *p);

/* procfs_command() - the process's short name; "" if it cannot be read */
const char *procfs_command(const struct procfs *p);

/*
 * procfs_frames_readable() - are frame numbers and frame flags shown to us?
 *
 * Takes CAP_SYS_ADMIN and access to /proc/kpageflags.
 */
bool procfs_frames_readable(const struct procfs *p);

/*
 * procfs_next_vma() - the next mapping, by ascending address
 *
 * The gate page at the top of the address space, which belongs to no process,
 * is left out.
 *
 * Return: 1, 0 after the last, -ESRCH the process is gone, or a negative errno.
 */
int __must_check procfs_next_vma(struct procfs *p, struct procfs_vma *vma);

/*
 * procfs_scan() - where in a part of one mapping pages may be present
 * @start: page-aligned address
 * @end: page-aligned address, above @start
 * @ranges: ascending, filled up to @nr
 * @next: where to go on; @end when the part is done
 *
 * Outside the ranges nothing was present.  On a kernel that cannot tell
 * (before 6.7) the answer is one range, the whole part.
 *
 * Return: the number of ranges, or a negative errno (-ESRCH: gone).
 */
int __must_check procfs_scan(struct procfs *p, pf_addr_t start, pf_addr_t end,
			     struct procfs_range *ranges, size_t nr,
			     pf_addr_t *next);
/* procfs_can_scan() - false once procfs_scan() found that the kernel cannot */
bool procfs_can_scan(const struct procfs *p);

/*
 * procfs_pagemap() - the pagemap entries of @nr pages from @start
 *
 * Return: 0; -ESRCH the process is gone; or a negative errno.
 */
int __must_check procfs_pagemap(struct procfs *p, pf_addr_t start, size_t nr,
				u64 *entries);

/*
 * procfs_frame_flags() - the flags of @nr frames from @pfn
 *
 * Frames past the end of memory read as KPAGE_NOPAGE.
 *
 * Context: procfs_frames_readable().
 * Return: 0 or a negative errno.
 */
int __must_check procfs_frame_flags(struct procfs *p, pf_pfn_t pfn, size_t nr,
				    u64 *flags);

/* procfs_alive() - does the address space that was opened still exist? */
bool procfs_alive(struct procfs *p);

#endif
