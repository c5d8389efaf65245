/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever parts of whatever folios a process maps, a capture records
 * for each page whether it is resident and the order of its folio, or that the
 * order is unknown; in as few runs as possible.
 *
 * /proc is replaced: this file is host/procfs.c for the program, over a machine
 * of random folios and a process that maps random pieces of them.
 *
 * Source: docs/layout.md
 */
#include "host/procfs.h"
#include "lab/layout.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random.h"

#define NR_FRAMES	((pf_pfn_t)1 << 14)
#define GIANT		((pf_pfn_t)1 << 20)	/* head of an order-18 folio */
#define GIANT_FRAMES	((pf_pfn_t)1 << 18)
#define DEVICE		((pf_pfn_t)1 << 30)	/* no memory there */
#define ZERO_FRAME	((pf_pfn_t)1)
#define NR_PAGES	((size_t)1 << 14)
#define START		((pf_addr_t)0x7f0000000000)
#define END		(START + NR_PAGES * LAYOUT_PAGE_BYTES)

struct procfs {
	int nr_given;		/* VMAs handed out */
};

static struct fake {
	bool frames, scan, alive, special;
	u64 huge_bytes;
	u8 order[NR_FRAMES];	/* of the folio that the frame is in */
	pf_pfn_t head[NR_FRAMES];
	pf_pfn_t page[NR_PAGES];	/* 0: nothing mapped */
	bool huge[NR_PAGES];	/* mapped by a PMD */
} fake;

static struct procfs the_procfs;

int procfs_open(pid_t pid, struct procfs **out)
{
	(void)pid;
	the_procfs.nr_given = 0;
	*out = &the_procfs;
	return 0;
}

void procfs_close(struct procfs *p)
{
	(void)p;
}

const char *procfs_command(const struct procfs *p)
{
	(void)p;
	return "fa\tke";
}

bool procfs_frames_readable(const struct procfs *p)
{
	(void)p;
	return fake.frames;
}

bool procfs_can_scan(const struct procfs *p)
{
	(void)p;
	return fake.scan;
}

bool procfs_alive(struct procfs *p)
{
	(void)p;
	return fake.alive;
}

int procfs_next_vma(struct procfs *p, struct procfs_vma *vma)
{
	if (p->nr_given++)
		return 0;
	*vma = (struct procfs_vma){
		.start = START,
		.end = END,
		.read = true,
		.special = fake.special,
		.rss_bytes = 1,
		.huge_bytes = fake.huge_bytes,
		.page_bytes = LAYOUT_PAGE_BYTES,
		.path = "/a/b/lib.so (deleted)",
	};
	return 1;
}

static size_t page_nr(pf_addr_t addr)
{
	return (addr - START) / LAYOUT_PAGE_BYTES;
}

static bool alike(size_t a, size_t b)
{
	return !fake.page[a] == !fake.page[b] &&
	       fake.huge[a] == fake.huge[b] &&
	       (fake.page[a] == ZERO_FRAME) == (fake.page[b] == ZERO_FRAME);
}

int procfs_scan(struct procfs *p, pf_addr_t start, pf_addr_t end,
		struct procfs_range *ranges, size_t nr, pf_addr_t *next)
{
	size_t i = page_nr(start), last = page_nr(end), j, n = 0;

	(void)p;
	*next = end;
	if (!fake.scan) {
		ranges[0] = (struct procfs_range){ .start = start, .end = end };
		return 1;
	}
	for (; i < last && n < nr; i = j) {
		for (j = i + 1; j < last && alike(i, j); j++)
			;
		if (fake.page[i])
			ranges[n++] = (struct procfs_range){
				.start = START + i * LAYOUT_PAGE_BYTES,
				.end = START + j * LAYOUT_PAGE_BYTES,
				.huge = fake.huge[i],
				.zero = fake.page[i] == ZERO_FRAME,
			};
	}
	*next = START + i * LAYOUT_PAGE_BYTES;
	return (int)n;
}

int procfs_pagemap(struct procfs *p, pf_addr_t start, size_t nr, u64 *entries)
{
	(void)p;
	for (size_t i = 0; i < nr; i++) {
		pf_pfn_t pfn = fake.page[page_nr(start) + i];

		entries[i] = pfn ? PAGEMAP_PRESENT : (u64)1 << 62;
		if (pfn && fake.frames)
			entries[i] |= pfn | (u64)1 << 61;
	}
	return 0;
}

static u64 flags_of(pf_pfn_t pfn)
{
	if (pfn == ZERO_FRAME)
		return KPAGE_ZERO;
	if (pfn >= DEVICE)
		return KPAGE_NOPAGE;
	if (pfn == GIANT)
		return KPAGE_COMPOUND_HEAD;
	if (pfn > GIANT && pfn < GIANT + GIANT_FRAMES)
		return KPAGE_COMPOUND_TAIL;
	if (pfn >= NR_FRAMES || !fake.order[pfn])
		return 0;
	return fake.head[pfn] == pfn ? KPAGE_COMPOUND_HEAD :
	       KPAGE_COMPOUND_TAIL;
}

int procfs_frame_flags(struct procfs *p, pf_pfn_t pfn, size_t nr, u64 *flags)
{
	(void)p;
	for (size_t i = 0; i < nr; i++)
		flags[i] = flags_of(pfn + i);
	return 0;
}

/* Fill the machine with folios; the first 4 frames stay single. */
static void make_folios(struct random *r)
{
	pf_pfn_t pfn = 0;

	while (pfn < NR_FRAMES) {
		u64 order = pfn < 4 ? 0 : random_below(r, 11);

		while (pfn & (((pf_pfn_t)1 << order) - 1))
			order--;
		for (pf_pfn_t i = 0; i < (pf_pfn_t)1 << order; i++) {
			fake.order[pfn + i] = (u8)order;
			fake.head[pfn + i] = pfn;
		}
		pfn += (pf_pfn_t)1 << order;
	}
}

static pf_pfn_t random_frame(struct random *r)
{
	switch (random_below(r, 8)) {
	case 0:
		return ZERO_FRAME;
	case 1:
		return DEVICE + random_below(r, 100);
	case 2:
		return GIANT + random_below(r, GIANT_FRAMES - NR_PAGES);
	default:
		return 2 + random_below(r, NR_FRAMES - 2);
	}
}

/* Pieces of consecutive frames, holes between some of them. */
static void map_pieces(struct random *r)
{
	size_t i = 0;

	memset(fake.page, 0, sizeof(fake.page));
	while (i < NR_PAGES) {
		size_t nr = 1 + random_below(r, 1 << random_below(r, 12));
		pf_pfn_t pfn = random_frame(r);

		if (random_below(r, 3) == 0)
			pfn = 0;
		for (; nr-- && i < NR_PAGES; i++) {
			fake.page[i] = pfn;
			if (pfn > ZERO_FRAME && ++pfn == NR_FRAMES)
				pfn = 2;
		}
	}
}

/* Some aligned 2 MiB whose pages are present become mapped by a PMD. */
static void map_huge(struct random *r)
{
	const size_t nr = (size_t)1 << LAYOUT_HUGE_ORDER;

	memset(fake.huge, 0, sizeof(fake.huge));
	for (size_t i = 0; i < NR_PAGES; i += nr) {
		if (random_below(r, 2))
			continue;
		for (size_t j = i; j < i + nr; j++) {
			fake.page[j] = 2;
			fake.huge[j] = true;
		}
	}
}

static int8_t expected_order(size_t i)
{
	const pf_pfn_t pfn = fake.page[i];

	if (!fake.frames) {
		if (fake.scan && pfn == ZERO_FRAME)
			return 0;
		return fake.scan && fake.huge[i] ? LAYOUT_HUGE_ORDER :
		       LAYOUT_ORDER_UNKNOWN;
	}
	if (pfn >= GIANT)
		return LAYOUT_HUGE_ORDER;
	return pfn == ZERO_FRAME ? 0 : (int8_t)fake.order[pfn];
}

static struct layout *capture(void)
{
	struct layout_error why;
	struct layout *l = NULL;

	if (layout_capture(1, &l, &why))
		fail_msg("%s", why.text);
	return l;
}

static void assert_pages(const struct layout_vma *vma)
{
	size_t page = 0;

	for (size_t i = 0; i < vma->nr_runs; i++) {
		const struct layout_run *run = &vma->runs[i];

		if (i)
			assert_true(run->order != run[-1].order ||
				    run->resident != run[-1].resident);
		for (u64 j = 0; j < run->nr_pages; j++, page++) {
			const bool in = fake.page[page] && !(fake.frames &&
					fake.page[page] >= DEVICE);

			assert_int_equal(run->resident, in);
			assert_int_equal(run->order, in ? expected_order(page) :
					 LAYOUT_ORDER_UNKNOWN);
		}
	}
	assert_int_equal(page, NR_PAGES);
}

static void check(void)
{
	struct layout *l = capture();

	assert_string_equal(l->source, "fa?ke (process 1)");
	assert_int_equal(l->orders_known, fake.frames);
	assert_int_equal(l->nr_vmas, 1);
	assert_string_equal(l->vmas[0].name, "lib.so");
	assert_pages(&l->vmas[0]);
	layout_free(l);
}

static void test_model(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 60; i++) {
		fake = (struct fake){
			.frames = i & 1,
			.scan = i & 2,
			.alive = true,
		};
		make_folios(&r);
		map_pieces(&r);
		if (!fake.frames)
			map_huge(&r);
		check();
	}
}

static void test_special_and_gone(void **state)
{
	struct layout_error why;
	struct layout *l;

	(void)state;
	fake = (struct fake){ .frames = true, .alive = true, .special = true };
	fake.page[0] = 2;
	l = capture();
	assert_int_equal(layout_resident_pages(l), 0);
	assert_int_equal(l->vmas[0].nr_runs, 1);
	layout_free(l);
	fake.alive = false;
	assert_int_equal(layout_capture(1, &l, &why), -ESRCH);
	assert_non_null(strstr(why.text, "process 1 ended while"));
}

/* A folio that is split between the two reads: a tail without a head. */
static void test_torn_folio(void **state)
{
	struct layout *l;

	(void)state;
	fake = (struct fake){ .frames = true, .scan = true, .alive = true };
	fake.page[0] = 1031;
	fake.order[1031] = 3;
	fake.head[1031] = 1024;
	l = capture();
	assert_false(l->orders_known);
	assert_int_equal(l->vmas[0].runs[0].nr_pages, 1);
	assert_true(l->vmas[0].runs[0].resident);
	assert_int_equal(l->vmas[0].runs[0].order, LAYOUT_ORDER_UNKNOWN);
	layout_free(l);
}

/* Without a scan, the sum says which 2 MiB are huge only if they all are. */
static void test_huge_by_sum(void **state)
{
	const u64 huge = 512 * LAYOUT_PAGE_BYTES;
	struct layout *l;

	(void)state;
	fake = (struct fake){ .alive = true, .huge_bytes = 2 * huge };
	for (size_t i = 100; i < 1600; i++)
		fake.page[i] = 2;
	l = capture();
	assert_int_equal(l->vmas[0].nr_runs, 5);
	assert_int_equal(l->vmas[0].runs[1].nr_pages, 412);
	assert_int_equal(l->vmas[0].runs[1].order, LAYOUT_ORDER_UNKNOWN);
	assert_int_equal(l->vmas[0].runs[2].nr_pages, 1024);
	assert_int_equal(l->vmas[0].runs[2].order, LAYOUT_HUGE_ORDER);
	assert_int_equal(l->vmas[0].runs[3].nr_pages, 64);
	assert_false(l->orders_known);
	layout_free(l);

	fake.huge_bytes = huge;
	l = capture();
	assert_int_equal(layout_unknown_pages(l), 1500);
	assert_int_equal(l->vmas[0].nr_runs, 3);
	layout_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_special_and_gone),
		cmocka_unit_test(test_torn_folio),
		cmocka_unit_test(test_huge_by_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
