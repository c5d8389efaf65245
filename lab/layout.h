/* SPDX-License-Identifier: MIT */
/*
 * Layouts: the memory shape of a process, without its contents.
 *
 * A layout is a list of mappings (VMAs), each cut into runs of pages that are
 * alike: not resident, or resident in folios of one order.  It comes from a
 * running process (layout_capture()) or from a file (layout_read()).
 * docs/layout.md has the file format, its caps and its errors.
 *
 * Invariants of a layout that layout_read() or layout_capture() returned:
 *  1. VMAs ascend and do not overlap; addresses are page-aligned and end at or
 *     below LAYOUT_MAX_ADDRESS.
 *  2. The runs of a VMA cover it exactly; no run is empty.
 *  3. A resident run's order is 0..LAYOUT_MAX_ORDER or LAYOUT_ORDER_UNKNOWN;
 *     a run that is not resident has LAYOUT_ORDER_UNKNOWN.
 *  4. If @orders_known, no resident run has LAYOUT_ORDER_UNKNOWN.
 *  5. Every cap below holds.
 *
 * A run of order k is not always a multiple of 2^k pages: a process may map a
 * part of a folio, at any page-aligned address.
 */
#ifndef LAB_LAYOUT_H
#define LAB_LAYOUT_H

#include <stdio.h>

#include "host/compiler.h"
#include "host/types.h"

#define LAYOUT_VERSION		1
#define LAYOUT_PAGE_BYTES	4096
#define LAYOUT_ORDER_UNKNOWN	(-1)
#define LAYOUT_MAX_ORDER	10
#define LAYOUT_HUGE_ORDER	9	/* what one PMD maps */
#define LAYOUT_MAX_ADDRESS	((pf_addr_t)1 << 47)
#define LAYOUT_MAX_VMAS		65530
#define LAYOUT_MAX_RUNS		((u64)512 << 10)
#define LAYOUT_MAX_VMA_RUNS	((u64)64 << 10)
#define LAYOUT_MAX_RESIDENT	((u64)1 << 26)	/* pages: 256 GiB */
#define LAYOUT_MAX_LINE_BYTES	((size_t)4 << 20)
#define LAYOUT_NAME_BYTES	64
#define LAYOUT_SOURCE_BYTES	128

struct layout_run {
	u64 nr_pages;
	int8_t order;		/* LAYOUT_ORDER_UNKNOWN unless resident */
	bool resident;
};

struct layout_vma {
	pf_addr_t start, end;	/* [start, end), bytes */
	bool read, write, exec, shared;
	bool file;		/* page cache of a file, shmem or hugetlbfs */
	char name[LAYOUT_NAME_BYTES];	/* printable ASCII; "" if none */
	size_t nr_runs;
	struct layout_run *runs;
};

struct layout {
	char source[LAYOUT_SOURCE_BYTES];	/* where from, for people */
	bool orders_known;
	size_t nr_vmas;
	struct layout_vma *vmas;
};

/* Why there is no layout: one line, without newline. */
struct layout_error {
	char text[512];
};

/*
 * layout_read() - a layout from a file
 * @path: the file
 * @out: untouched on failure
 * @why: filled on failure: file, line and the value that is wrong
 *
 * Return: 0; -EINVAL not a layout, or a broken one; -E2BIG past a cap;
 * -ENOMEM; or the errno of opening or reading the file.
 * Owner: on success the caller, who gives the layout to layout_free().
 */
int __must_check layout_read(const char *path, struct layout **out,
			     struct layout_error *why);

/*
 * layout_write() - write a layout as layout_read() takes it
 * @l: fulfils the invariants above
 *
 * What is written may still be in @out's buffer; the caller checks the flush.
 *
 * Return: 0, -ENOMEM, or the errno of writing.
 */
int __must_check layout_write(const struct layout *l, FILE *out);

/* layout_free() - NULL allowed */
void layout_free(struct layout *l);

/* layout_resident_pages() - how many pages are resident */
u64 layout_resident_pages(const struct layout *l);

/* layout_unknown_pages() - resident pages whose folio order is not known */
u64 layout_unknown_pages(const struct layout *l);

/*
 * layout_drop_names() - forget the names that say what a process uses
 *
 * The source becomes "process"; of the VMAs' names those stay that the kernel
 * gives ([heap], [stack], [vdso], [vvar...]).
 */
void layout_drop_names(struct layout *l);

/*
 * layout_set_text() - copy @src to @dst of @bytes, as a layout holds text
 *
 * Cut to fit; what is not printable ASCII becomes '?'.
 */
void layout_set_text(char *dst, size_t bytes, const char *src);

/*
 * layout_capture() - the layout of a running process
 * @pid: the process
 * @out: untouched on failure
 * @why: filled on failure
 *
 * The process runs on meanwhile: each VMA is a view of one moment at best, the
 * whole is none.  Folio orders need the right to see frame numbers; without it
 * they are LAYOUT_ORDER_UNKNOWN except where the kernel says that a PMD maps
 * the pages, and @orders_known is false.
 *
 * Return: 0; -ESRCH no such process, or it ended meanwhile; -ENODATA it has no
 * memory of its own; -EACCES or -EPERM not ours to read; -ENOSYS no pagemap
 * here; -E2BIG past a cap; -EOPNOTSUPP other page size, or addresses beyond
 * LAYOUT_MAX_ADDRESS; -ENOMEM.
 * Owner: on success the caller, who gives the layout to layout_free().
 */
int __must_check layout_capture(pid_t pid, struct layout **out,
				struct layout_error *why);

/*
 * layout_mark_huge() - find the pages that PMDs map, from their sum alone
 * @vma: runs of unknown order become runs of order 9 where that is certain
 * @huge_bytes: how much of @vma PMDs map
 *
 * Only 2 MiB that are aligned and all resident can be mapped by a PMD.  If
 * there are exactly as many such pieces as the sum takes, each of them is;
 * otherwise nothing is known and nothing changes, nor if the runs would be more
 * than LAYOUT_MAX_VMA_RUNS.
 *
 * Return: 0, or -ENOMEM with @vma unchanged.
 */
int __must_check layout_mark_huge(struct layout_vma *vma, u64 huge_bytes);

#endif
