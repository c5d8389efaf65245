/* SPDX-License-Identifier: MIT */
/*
 * Populating a file of the page cache, as a benchmark: one machine, one file,
 * a source to copy from, and rows that take turns at filling the file.
 *
 * A turn fills the whole file once or a few times; only the filling is timed.
 * With several threads each has a stripe, cut at multiples of 2 MiB, and the
 * slowest one counts.  Folios are freed in the order opposite to the one they
 * were added in, so that each turn finds the frames in the same order.
 */
#ifndef BENCH_POPULATE_H
#define BENCH_POPULATE_H

#include "bench/bench.h"
#include "bench/gate.h"
#include "lab/random.h"
#include "mm/guest_memfd.h"

/* What is in the file when the clock starts. */
enum populate_file { FILE_FRESH, FILE_HALF, FILE_FULL };

struct populate_lane;

struct populate_way {
	const char *name;
	unsigned int batch;		/* folios a call; 0: no such thing */
	void (*fill)(struct populate_lane *lane);
	bool engine;			/* the file is really filled, or read */
};

/*
 * The least that adding folios takes.  Descriptors of its own, as many and as
 * large as the machine's, since those of free frames are in use.
 */
struct populate_limit {
	struct page *memmap;
	struct page **frames;	/* of each folio, in the order they are used */
	void **slots;		/* one a page */
	size_t memmap_bytes, frames_bytes, slots_bytes;
};

struct populate_lane {
	struct populate *p;
	pgoff_t start, end;		/* its stripe */
	unsigned long done;		/* pages of it */
	u64 ns;
	u64 events[NR_EVENTS];
	int err;
};

struct populate {
	const struct bench_options *options;
	unsigned int order;
	bool shuffled;
	bool copy, cold;		/* of the part that is running */
	bool streams;			/* the limit copies by streaming */
	bool careful;			/* compare every byte, not a sample */
	enum populate_file file;
	unsigned long nr_pages;

	struct machine *machine;	/* NULL while the part is cold */
	struct guest_memfd *gmem;	/* the file */
	char *source, *target;		/* @target: the limit's */
	struct random random;
	u64 stamp;			/* what the source says in this turn */
	struct populate_limit limit;

	const struct populate_way *way;
	unsigned int rounds;		/* fillings of one turn */
	unsigned int nr_lanes;
	struct gate gate;
	u32 start;
	struct populate_lane lanes[BENCH_MAX_THREADS];
};

/*
 * populate_begin() - the machine, the file and the source of one column
 *
 * Return: 0, or a negative errno and the reason in error_text().
 * Owner: on success the caller, who calls populate_end().
 */
int __must_check populate_begin(struct populate *p,
				const struct bench_options *options,
				unsigned int order, bool shuffled);
void populate_end(struct populate *p);

/*
 * populate_turn() - let @way fill the file @p->rounds times
 * @ns: a page, of the slowest lane
 *
 * What is in the file afterwards is looked at: each folio, its order and place,
 * and with a copy its bytes.
 * Return: 0, or a negative errno and the reason in error_text().
 */
int __must_check populate_turn(struct populate *p,
			       const struct populate_way *way, double *ns);

/* Ways to fill (populate_ways.c). */
void populate_one(struct populate_lane *lane);
void populate_batch(struct populate_lane *lane);
void populate_publish(struct populate_lane *lane);
void populate_query_one(struct populate_lane *lane);
void populate_query_batch(struct populate_lane *lane);

/* The limit (populate_limit.c): adding, looking up, copying. */
int __must_check populate_limit_begin(struct populate_limit *l,
				      unsigned long nr_pages,
				      unsigned int order,
				      struct random *shuffle);
void populate_limit_end(struct populate_limit *l);
void populate_limit_add(struct populate_lane *lane);
void populate_limit_empty(struct populate_lane *lane);
void populate_limit_query(struct populate_lane *lane);
void populate_limit_copy(struct populate_lane *lane);
void populate_limit_stream(struct populate_lane *lane);

#endif
