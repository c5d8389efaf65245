/* SPDX-License-Identifier: MIT */
/*
 * What the hardware takes for pinning and unpinning a shape.
 *
 * The least that any pinning can do, in the same memory and the same array: load
 * every table entry once and every folio head once, one locked read-modify-write
 * for each count that the result changes, store every slot; for put, load every
 * slot once.  No walk from the top, no lock, no check is in it.
 *
 * limit_get_calls() is the same for who returns between parts of a folio: each
 * call changes the counts.
 */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include "lab/shape.h"

/* Consecutive entries of one table that map whole folios of one order. */
struct limit_span {
	const u64 *entries;
	unsigned long nr_pages;
	unsigned int order;
	bool leaf;		/* one PMD leaf */
};

struct limit {
	struct page *memmap;
	struct limit_span *spans;
	size_t nr_spans;
	unsigned long pages_per_call;
};

/*
 * limit_prepare() - find the spans of [range, + pages of it)
 * @pages_per_call: of limit_get_calls()
 *
 * Return: 0 or -ENOMEM.  Owner: the caller, who calls limit_free().
 */
int __must_check limit_prepare(struct limit *limit, struct shape *shape,
			       const struct shape_range *ranges,
			       size_t nr_ranges, unsigned long pages_per_call);
void limit_free(struct limit *limit);

/* Real pins, in @pages; limit_put() takes them back.  Return: pages. */
unsigned long limit_get(const struct limit *limit, struct page **pages);
/* The same, a call at a time: a folio is one count operation a call. */
unsigned long limit_get_calls(const struct limit *limit, struct page **pages);
/* The same, and each folio's pageblock and zone looked at once. */
unsigned long limit_get_longterm(const struct limit *limit,
				 struct page **pages);
unsigned long limit_put(const struct limit *limit, struct page **pages);

#endif
