/* SPDX-License-Identifier: MIT */
/*
 * `fast`: what the lockless walk takes a page, and what it adds to look whether
 * a page may be pinned for long: not at all, in a pass behind it, or inside.
 *
 * As gup_benchmark: pin_user_pages_fast(FOLL_WRITE | FOLL_LONGTERM) over the
 * whole shape in calls of so many pages, into one array.
 */
#include "bench/turns.h"

#include "lab/gup_fast_algos.h"
#include "mm/gup.h"

static long pin_chunk(const void *arg, struct mm_struct *mm __maybe_unused,
		      pf_addr_t start, unsigned long nr, unsigned int flags,
		      struct page **pages)
{
	return gup_fast_algo_call(arg, start, nr, FOLL_PIN | FOLL_LONGTERM |
				  flags, pages);
}

static long share_pin_fast(struct share *s, pin_chunk_fn pin, const void *arg)
{
	long got;

	current->mm = s->shape->mm;
	got = share_pin(s, pin, arg);
	current->mm = NULL;
	return got;
}

static long fast_get(const struct contestant *c, struct share *s)
{
	return share_pin_fast(s, pin_chunk, c->arg);
}

static void fast_put(const struct contestant *c __maybe_unused, struct share *s)
{
	unpin_user_pages(s->pages, s->got);
}

static const struct contestant contestants[] = {
	{ "none", &gup_fast_algos[FAST_NONE], fast_get, fast_put, true },
	{ "after", &gup_fast_algos[FAST_AFTER], fast_get, fast_put, true },
	{ "inside", &gup_fast_algos[FAST_INSIDE], fast_get, fast_put, true },
};

static int run_fast(const struct bench_options *o, struct bench_result *result)
{
	return bench_run_shapes(&bench_fast, o, result);
}

const struct bench_suite bench_fast = {
	.name = "fast",
	.summary = "the lockless path: longterm pins unchecked, or checked "
		   "after or inside",
	.call = "pin_user_pages_fast(WRITE|LONGTERM)",
	.pages_per_call = 64,
	.contestants = contestants,
	.nr_contestants = ARRAY_SIZE(contestants),
	.run = run_fast,
};
