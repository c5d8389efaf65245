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
};

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
