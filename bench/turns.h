/* SPDX-License-Identifier: MIT */
/*
 * Contestants take turns on one shape.
 *
 * A turn is: get every page of the shape, then put all of them, both timed.
 * This kind of machine flips between two speeds, so nobody runs alone: in each
 * repeat every contestant has one turn, the limit last, and figures are medians
 * over the repeats.  With several threads each has its share of the shape and
 * the slowest one counts.
 */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench/bench.h"
#include "bench/limit.h"

struct share;

struct contestant {
	const char *name;
	const void *arg;
	/* Fill share->pages; the number of pages got. */
	long (*get)(const struct contestant *c, struct share *share);
	void (*put)(const struct contestant *c, struct share *share);
	bool unlocked;		/* mmap_lock is not held around them */
};

/* One thread's part of a shape. */
struct share {
	struct shape *shape;
	struct shape_range *ranges;
	size_t nr_ranges;
	unsigned long nr_pages;
	unsigned long pages_per_call;
	struct page **pages;		/* room for nr_pages */
	struct limit limit;
	long got;
	long kept;		/* of a contestant's own, from get to put */
};

/* One call of so many pages; @flags is FOLL_WRITE or 0. */
typedef long (*pin_chunk_fn)(const void *arg, struct mm_struct *mm,
			     pf_addr_t start, unsigned long nr,
			     unsigned int flags, struct page **pages);

/*
 * share_pin() - pin the whole share, call by call
 *
 * Return: pages pinned; fewer than there are if a call failed.
 */
long share_pin(struct share *share, pin_chunk_fn pin, const void *arg);

/* bench_run_shapes() - all shapes that @options ask for, with @suite's rows */
int __must_check bench_run_shapes(const struct bench_suite *suite,
				  const struct bench_options *options,
				  struct bench_result *result);

/*
 * bench_add_rows() - the rows of @suite on one shape
 * @shape: NULL: it failed, and error_text() says why
 * @column: what the rows have in common
 *
 * Return: 0, failed rows among them; -E2BIG.
 */
int __must_check bench_add_rows(const struct bench_suite *suite,
				const struct bench_options *options,
				struct bench_result *result,
				struct shape *shape,
				const struct bench_row *column);

/* The hardware's part; add it last. */
extern const struct contestant contestant_limit;

/*
 * turns_run() - let @contestants take turns on @shape
 * @rows: one each; figures, ratios and events are filled in
 * @nr: contestants, the last of which is contestant_limit
 *
 * Return: 0; -EINVAL if a contestant did not get every page; -ENOMEM.
 */
int __must_check turns_run(const struct bench_options *options,
			   struct shape *shape,
			   const struct contestant *contestants,
			   struct bench_row *rows, unsigned int nr);

#endif
