/* SPDX-License-Identifier: MIT */
/*
 * `walk`: what the slow path takes a page, with a walk a page, a walk a table,
 * and runs of pages grabbed together.
 *
 * As gup_test does it: pin_user_pages(FOLL_WRITE) over the whole shape in calls
 * of so many pages, mmap_lock held around all of them, into one array; then one
 * unpin_user_pages() of the array.  Read-only areas of a layout are pinned for
 * reading.
 */
#include "bench/turns.h"

#include "lab/gup_algos.h"
#include "mm/gup.h"

static long pin_chunk(const void *arg, struct mm_struct *mm, pf_addr_t start,
		      unsigned long nr, unsigned int flags, struct page **pages)
{
	int locked = 1;

	return gup_algo_call(arg, mm, start, nr, FOLL_PIN | flags, pages,
			     &locked);
}

static long walk_get(const struct contestant *c, struct share *s)
{
	return share_pin(s, pin_chunk, c->arg);
}

static void walk_put(const struct contestant *c __maybe_unused, struct share *s)
{
	unpin_user_pages(s->pages, s->got);
}

static const struct contestant contestants[] = {
	{ "single", &gup_algos[GUP_SINGLE], walk_get, walk_put, false },
	{ "walk", &gup_algos[GUP_WALK], walk_get, walk_put, false },
	{ "batch", &gup_algos[GUP_BATCH], walk_get, walk_put, false },
};

static const struct bench_gain gains[] = {
	{ "4K", "single", "walk", "2.3x" },
	{ "64K", "single", "walk", "2.2x" },
	{ "64K", "walk", "batch", "5.9x" },
	{ "2M", "single", "batch", "unchanged" },
};

static int run_walk(const struct bench_options *o, struct bench_result *result)
{
	return bench_run_shapes(&bench_walk, o, result);
}

const struct bench_suite bench_walk = {
	.name = "walk",
	.summary = "the slow path: a page, a table or a run at a time",
	.call = "pin_user_pages(PIN|WRITE)",
	.pages_per_call = 512,
	.contestants = contestants,
	.nr_contestants = ARRAY_SIZE(contestants),
	.gains = gains,
	.nr_gains = ARRAY_SIZE(gains),
	.run = run_walk,
};
