/* SPDX-License-Identifier: MIT */
/*
 * The layout of a running process.
 *
 * VMAs come from smaps, presence from pagemap, folio orders from the flags of
 * the frames behind the pages.  Three reads are needed for one page, and the
 * process runs between them:
 *
 *	smaps: [a, b)   ->   pagemap: page p, frame f   ->   kpageflags: f
 *
 * Limit: a page that is unmapped, migrated or collapsed in between is recorded
 * with what was seen at each step.  Stop the process for an exact picture.
 */
#include "lab/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/procfs.h"

#define BATCH_PAGES	((size_t)32 << 10)
#define BATCH_RANGES	((size_t)256)
#define HUGE_PAGES	((u64)1 << LAYOUT_HUGE_ORDER)
/* Where the kernel cannot scan, a larger mapping without RSS is not read. */
#define LARGE_BYTES	((u64)1 << 30)
/* The largest folio that can be met: 1 GiB of hugetlb. */
#define GIANT_ORDER	18

struct capture {
	struct procfs *proc;
	struct layout *l;
	struct procfs_vma pv;	/* being captured */
	size_t vmas_cap;
	size_t runs_cap;	/* of the last VMA in @l */
	pf_addr_t pos;		/* its runs so far end here */
	u64 nr_runs, nr_resident;
	u64 *entries;		/* BATCH_PAGES of pagemap */
	u64 *flags;		/* BATCH_PAGES of kpageflags, from @window */
	pf_pfn_t window;
	size_t nr_window;
	pf_pfn_t folio_end;	/* find_folio()'s answer: first frame after */
	int8_t folio_order;	/* find_folio()'s answer */
	pid_t pid;
	struct layout_error *why;
};

static int __printf(3, 4) bad(struct capture *c, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->why->text, sizeof(c->why->text), fmt, ap);
	va_end(ap);
	return err;
}

static int no_memory(struct capture *c)
{
	return bad(c, -ENOMEM, "out of memory");
}

static int too_many_runs(struct capture *c)
{
	return bad(c, -E2BIG, "process %d: more than %" PRIu64 " runs",
		   (int)c->pid, LAYOUT_MAX_RUNS);
}

/* Words for what host/procfs.c returned. */
static int proc_error(struct capture *c, int err)
{
	switch (err) {
	case -ESRCH:
		return bad(c, err, "no process %d", (int)c->pid);
	case -ENODATA:
		return bad(c, err, "process %d has no memory of its own "
			   "(kernel thread, or ended)", (int)c->pid);
	case -EACCES:
	case -EPERM:
		return bad(c, err, "not permitted to read process %d",
			   (int)c->pid);
	case -ENOSYS:
		return bad(c, err, "/proc/self/pagemap is missing: no /proc, "
			   "or a kernel without pagemap");
	default:
		return bad(c, err, "process %d: %s", (int)c->pid,
			   strerror(-err));
	}
}

static struct layout_vma *last_vma(struct capture *c)
{
	return &c->l->vmas[c->l->nr_vmas - 1];
}

/* "/usr/lib/libc.so.6 (deleted)" -> "libc.so.6"; "[heap]" stays. */
static void set_name(struct layout_vma *vma, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = path[0] == '[' ? NULL : strrchr(path, '/');
	size_t n;

	layout_set_text(vma->name, sizeof(vma->name), slash ? slash + 1 : path);
	n = strlen(vma->name);
	if (n >= sizeof(deleted) &&
	    !strcmp(vma->name + n - strlen(deleted), deleted))
		vma->name[n - strlen(deleted)] = '\0';
}

/* A new VMA like c->pv, from @start on. */
static int begin_vma(struct capture *c, pf_addr_t start)
{
	struct layout *l = c->l;
	struct layout_vma *vma;

	if (l->nr_vmas == LAYOUT_MAX_VMAS)
		return bad(c, -E2BIG, "process %d: more than %d VMAs",
			   (int)c->pid, LAYOUT_MAX_VMAS);
	if (l->nr_vmas == c->vmas_cap) {
		size_t cap = c->vmas_cap ? c->vmas_cap * 2 : 64;

		vma = realloc(l->vmas, cap * sizeof(*vma));
		if (!vma)
			return no_memory(c);
		l->vmas = vma;
		c->vmas_cap = cap;
	}
	vma = &l->vmas[l->nr_vmas++];
	*vma = (struct layout_vma){
		.start = start,
		.end = c->pv.end,
		.read = c->pv.read,
		.write = c->pv.write,
		.exec = c->pv.exec,
		.shared = c->pv.shared,
		.file = c->pv.file,
	};
	set_name(vma, c->pv.path);
	c->runs_cap = 0;
	c->pos = start;
	return 0;
}

/* A run of its own; a VMA with too many is continued as a second one. */
static int append_run(struct capture *c, struct layout_run run)
{
	struct layout_vma *vma = last_vma(c);
	int ret;

	if (++c->nr_runs > LAYOUT_MAX_RUNS)
		return too_many_runs(c);
	if (vma->nr_runs == LAYOUT_MAX_VMA_RUNS) {
		vma->end = c->pos;
		ret = begin_vma(c, c->pos);
		if (ret)
			return ret;
		vma = last_vma(c);
	}
	if (vma->nr_runs == c->runs_cap) {
		size_t cap = c->runs_cap ? c->runs_cap * 2 : 8;
		struct layout_run *runs;

		runs = realloc(vma->runs, cap * sizeof(*runs));
		if (!runs)
			return no_memory(c);
		vma->runs = runs;
		c->runs_cap = cap;
	}
	vma->runs[vma->nr_runs++] = run;
	return 0;
}

static int add_pages(struct capture *c, u64 nr_pages, bool resident,
		     int8_t order)
{
	struct layout_vma *vma = last_vma(c);
	struct layout_run *last = NULL;
	int ret = 0;

	if (!nr_pages)
		return 0;
	if (resident) {
		c->nr_resident += nr_pages;
		if (order == LAYOUT_ORDER_UNKNOWN)
			c->l->orders_known = false;
	}
	if (c->nr_resident > LAYOUT_MAX_RESIDENT)
		return bad(c, -E2BIG, "process %d: more than %" PRIu64
			   " resident pages", (int)c->pid, LAYOUT_MAX_RESIDENT);
	if (vma->nr_runs)
		last = &vma->runs[vma->nr_runs - 1];
	if (last && last->resident == resident && last->order == order)
		last->nr_pages += nr_pages;
	else
		ret = append_run(c, (struct layout_run){
			.nr_pages = nr_pages,
			.order = order,
			.resident = resident,
		});
	c->pos += nr_pages * LAYOUT_PAGE_BYTES;
	return ret;
}

/* Nothing is resident from c->pos up to @end. */
static int add_hole(struct capture *c, pf_addr_t end)
{
	return add_pages(c, (end - c->pos) / LAYOUT_PAGE_BYTES, false,
			 LAYOUT_ORDER_UNKNOWN);
}

/* Flags of one frame: from the window where it covers it. */
static int flags_of(struct capture *c, pf_pfn_t pfn, u64 *flags)
{
	if (pfn - c->window < c->nr_window) {
		*flags = c->flags[pfn - c->window];
		return 0;
	}
	return procfs_frame_flags(c->proc, pfn, 1, flags);
}

/*
 * Folios are aligned to their size, and all frames of one but the first are
 * tails.  So from a tail the head is found by clearing low bits until the frame
 * is no tail:     0x1237 -> 0x1236 -> 0x1234 -> 0x1230 (head of order 4)
 * and the order by stepping from the head to the first 2^k that is no tail:
 *                 0x1231 0x1232 0x1234 0x1238 are tails, 0x1240 is none.
 *
 * Leaves the answer in c->folio*; LAYOUT_ORDER_UNKNOWN if the folio fell apart
 * meanwhile.
 */
static int find_folio(struct capture *c, pf_pfn_t pfn, u64 flags)
{
	pf_pfn_t head = pfn;
	int ret, order;

	c->folio_end = pfn + 1;
	c->folio_order = LAYOUT_ORDER_UNKNOWN;
	for (order = 1; (flags & KPAGE_COMPOUND_TAIL) && order <= GIANT_ORDER;
	     order++) {
		head = ALIGN_DOWN(pfn, (pf_pfn_t)1 << order);
		ret = flags_of(c, head, &flags);
		if (ret)
			return ret;
	}
	if (!(flags & KPAGE_COMPOUND_HEAD))
		return 0;
	for (order = 1; order <= GIANT_ORDER; order++) {
		ret = flags_of(c, head + ((pf_pfn_t)1 << order), &flags);
		if (ret)
			return ret;
		if (!(flags & KPAGE_COMPOUND_TAIL))
			break;
	}
	if (pfn - head >= (pf_pfn_t)1 << order)
		return 0;
	c->folio_end = head + ((pf_pfn_t)1 << order);
	c->folio_order = (int8_t)(order > LAYOUT_MAX_ORDER ?
				  LAYOUT_HUGE_ORDER : order);
	return 0;
}

/* Present pages whose frames are the @nr from @pfn. */
static int add_frames(struct capture *c, pf_pfn_t pfn, size_t nr)
{
	const pf_pfn_t end = pfn + nr;
	int ret;

	ret = procfs_frame_flags(c->proc, pfn, nr, c->flags);
	if (ret)
		return proc_error(c, ret);
	c->window = pfn;
	c->nr_window = nr;
	while (pfn < end) {
		u64 flags = c->flags[pfn - c->window];
		pf_pfn_t next = pfn + 1;

		if (flags & KPAGE_NOPAGE) {
			ret = add_pages(c, 1, false, LAYOUT_ORDER_UNKNOWN);
		} else if ((flags & KPAGE_ZERO) || !(flags &
			   (KPAGE_COMPOUND_HEAD | KPAGE_COMPOUND_TAIL))) {
			ret = add_pages(c, 1, true, 0);
		} else {
			ret = find_folio(c, pfn, flags);
			if (ret)
				return proc_error(c, ret);
			next = min(c->folio_end, end);
			ret = add_pages(c, next - pfn, true, c->folio_order);
		}
		if (ret)
			return ret;
		pfn = next;
	}
	return 0;
}

/* The order that is known without frame numbers. */
static int8_t order_by_range(const struct capture *c,
			     const struct procfs_range *range)
{
	if (range->zero)
		return 0;
	if (range->huge || c->pv.page_bytes >= HUGE_PAGES * LAYOUT_PAGE_BYTES)
		return LAYOUT_HUGE_ORDER;
	return LAYOUT_ORDER_UNKNOWN;
}

/* The next @nr pages, whose pagemap entries are in c->entries. */
static int add_batch(struct capture *c, const struct procfs_range *range,
		     size_t nr)
{
	const u64 *e = c->entries;
	const bool frames = procfs_frames_readable(c->proc);
	size_t i = 0, j;
	int ret;

	while (i < nr) {
		const bool present = e[i] & PAGEMAP_PRESENT;

		for (j = i + 1; j < nr; j++) {
			if (!!(e[j] & PAGEMAP_PRESENT) != present)
				break;
			if (present && frames &&
			    PAGEMAP_PFN(e[j]) != PAGEMAP_PFN(e[j - 1]) + 1)
				break;
		}
		if (!present)
			ret = add_pages(c, j - i, false, LAYOUT_ORDER_UNKNOWN);
		else if (frames)
			ret = add_frames(c, PAGEMAP_PFN(e[i]), j - i);
		else
			ret = add_pages(c, j - i, true,
					order_by_range(c, range));
		if (ret)
			return ret;
		i = j;
	}
	return 0;
}

static int capture_range(struct capture *c, const struct procfs_range *range)
{
	int ret;

	ret = add_hole(c, range->start);
	while (!ret && c->pos < range->end) {
		size_t nr = min((range->end - c->pos) / LAYOUT_PAGE_BYTES,
				BATCH_PAGES);

		ret = procfs_pagemap(c->proc, c->pos, nr, c->entries);
		if (ret)
			return proc_error(c, ret);
		ret = add_batch(c, range, nr);
	}
	return ret;
}

static int capture_pages(struct capture *c)
{
	struct procfs_range ranges[BATCH_RANGES];
	const pf_addr_t end = c->pv.end;
	pf_addr_t at = c->pv.start;
	int nr, ret = 0;

	while (at < end) {
		nr = procfs_scan(c->proc, at, end, ranges, BATCH_RANGES, &at);
		if (nr < 0)
			return proc_error(c, nr);
		if (!procfs_can_scan(c->proc) && !c->pv.rss_bytes &&
		    c->pv.page_bytes == LAYOUT_PAGE_BYTES &&
		    end - c->pv.start > LARGE_BYTES)
			break;
		for (int i = 0; i < nr; i++) {
			ret = capture_range(c, &ranges[i]);
			if (ret)
				return ret;
		}
	}
	return add_hole(c, end);
}

/* Older kernels give only the sum of what PMDs map. */
static int mark_huge(struct capture *c)
{
	struct layout_vma *vma = last_vma(c);
	const size_t before = vma->nr_runs;

	if (layout_mark_huge(vma, c->pv.huge_bytes))
		return no_memory(c);
	c->nr_runs += vma->nr_runs - before;
	if (c->nr_runs > LAYOUT_MAX_RUNS)
		return too_many_runs(c);
	return 0;
}

static int capture_vma(struct capture *c)
{
	const size_t first = c->l->nr_vmas;
	int ret;

	if (c->pv.end > LAYOUT_MAX_ADDRESS)
		return bad(c, -EOPNOTSUPP, "process %d: the mapping at 0x%"
			   PRIx64 " lies beyond 2^47", (int)c->pid,
			   c->pv.start);
	ret = begin_vma(c, c->pv.start);
	if (!ret)
		ret = c->pv.special ? add_hole(c, c->pv.end) :
		      capture_pages(c);
	if (ret || procfs_frames_readable(c->proc) ||
	    procfs_can_scan(c->proc) || c->l->nr_vmas != first + 1)
		return ret;
	return mark_huge(c);
}

static int capture_vmas(struct capture *c)
{
	int ret;

	while ((ret = procfs_next_vma(c->proc, &c->pv)) > 0) {
		ret = capture_vma(c);
		if (ret)
			return ret;
	}
	if (ret < 0)
		return proc_error(c, ret);
	if (!c->l->nr_vmas)
		return proc_error(c, -ENODATA);
	if (!procfs_alive(c->proc))
		return bad(c, -ESRCH, "process %d ended while it was read",
			   (int)c->pid);
	return 0;
}

static int capture_all(struct capture *c)
{
	char source[LAYOUT_SOURCE_BYTES];

	c->l = calloc(1, sizeof(*c->l));
	c->entries = calloc(BATCH_PAGES, sizeof(*c->entries));
	c->flags = calloc(BATCH_PAGES, sizeof(*c->flags));
	if (!c->l || !c->entries || !c->flags)
		return no_memory(c);
	c->l->orders_known = procfs_frames_readable(c->proc);
	snprintf(source, sizeof(source), "%s (process %d)",
		 procfs_command(c->proc), (int)c->pid);
	layout_set_text(c->l->source, sizeof(c->l->source), source);
	return capture_vmas(c);
}

int layout_capture(pid_t pid, struct layout **out, struct layout_error *why)
{
	struct capture c = { .pid = pid, .why = why };
	int ret;

	if (sysconf(_SC_PAGESIZE) != LAYOUT_PAGE_BYTES)
		return bad(&c, -EOPNOTSUPP,
			   "pages of %ld bytes here, supported are %d",
			   sysconf(_SC_PAGESIZE), LAYOUT_PAGE_BYTES);
	ret = procfs_open(pid, &c.proc);
	if (ret)
		return proc_error(&c, ret);
	ret = capture_all(&c);
	procfs_close(c.proc);
	free(c.entries);
	free(c.flags);
	if (ret) {
		layout_free(c.l);
		return ret;
	}
	*out = c.l;
	return 0;
}

/* How many whole aligned 2 MiB lie in the run of @nr_pages from page @first. */
static u64 huge_pieces(u64 first, u64 nr_pages)
{
	u64 from = ALIGN(first, HUGE_PAGES);
	u64 to = ALIGN_DOWN(first + nr_pages, HUGE_PAGES);

	return to > from ? (to - from) / HUGE_PAGES : 0;
}

/* Run @run, at page @first, as up to three runs: before, huge, after. */
static size_t split_run(const struct layout_run *run, u64 first,
			struct layout_run *out)
{
	u64 before = ALIGN(first, HUGE_PAGES) - first;
	u64 huge = 0;
	size_t n = 0;

	if (run->resident && run->order == LAYOUT_ORDER_UNKNOWN)
		huge = huge_pieces(first, run->nr_pages) * HUGE_PAGES;
	if (!huge) {
		out[n++] = *run;
		return n;
	}
	if (before)
		out[n++] = (struct layout_run){ before, LAYOUT_ORDER_UNKNOWN,
						true };
	out[n++] = (struct layout_run){ huge, LAYOUT_HUGE_ORDER, true };
	if (run->nr_pages > before + huge)
		out[n++] = (struct layout_run){
			run->nr_pages - before - huge, LAYOUT_ORDER_UNKNOWN,
			true };
	return n;
}

int layout_mark_huge(struct layout_vma *vma, u64 huge_bytes)
{
	u64 page = vma->start / LAYOUT_PAGE_BYTES;
	struct layout_run *runs;
	u64 pieces = 0;
	size_t n = 0;

	for (size_t i = 0; i < vma->nr_runs; i++) {
		const struct layout_run *run = &vma->runs[i];

		if (run->resident && run->order == LAYOUT_ORDER_UNKNOWN)
			pieces += huge_pieces(page, run->nr_pages);
		page += run->nr_pages;
	}
	if (!pieces || pieces * HUGE_PAGES * LAYOUT_PAGE_BYTES != huge_bytes)
		return 0;
	runs = calloc(vma->nr_runs * 3, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	page = vma->start / LAYOUT_PAGE_BYTES;
	for (size_t i = 0; i < vma->nr_runs; i++) {
		n += split_run(&vma->runs[i], page, &runs[n]);
		page += vma->runs[i].nr_pages;
	}
	if (n > LAYOUT_MAX_VMA_RUNS) {
		free(runs);
		return 0;
	}
	free(vma->runs);
	vma->runs = runs;
	vma->nr_runs = n;
	return 0;
}
