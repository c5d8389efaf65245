/* SPDX-License-Identifier: MIT */
/*
 * What the benchmark suites share.
 *
 * A suite fills rows; the report prints them.  A row is one algorithm on one
 * shape: get and put times a page, beside what the hardware itself takes for
 * the same (bench/limit.h), measured in turn with it.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "host/event.h"
#include "lab/shape.h"

#include <stdio.h>

#define BENCH_MAX_FOLIOS	8
#define BENCH_MAX_ALGOS		8
#define BENCH_MAX_REPEATS	1001
#define BENCH_MAX_THREADS	16
#define BENCH_MAX_ROWS		512

enum bench_frames {
	FRAMES_ORDERED = 1,
	FRAMES_SHUFFLED = 2,
};

struct bench_options {
	u64 bytes;			/* of a synthetic shape */
	unsigned long pages_per_call;	/* 0: the suite's default */
	unsigned int repeats;
	unsigned int threads;
	unsigned int nr_folios;		/* 0: the suite's default */
	unsigned int folio_orders[BENCH_MAX_FOLIOS];
	unsigned int nr_algos;		/* 0: all */
	const char *algos[BENCH_MAX_ALGOS];
	unsigned int frames;		/* FRAMES_* bits */
	const struct layout *layout;	/* NULL: synthetic */
	u64 seed;
	u64 movable_bytes, cma_bytes;	/* more memory, of that kind */
	/* Says what goes on, for somebody who waits; NULL: nothing. */
	void (*progress)(const char *fmt, ...) __printf(1, 2);
};

struct bench_figure {
	double median, min, max;
};

enum bench_status { BENCH_OK, BENCH_SKIPPED, BENCH_FAILED };

struct bench_row {
	const char *suite;
	const char *part;		/* printed by the suite; NULL: the table */
	char algo[32];
	enum bench_status status;
	char reason[160];		/* unless ok */
	char shape[32];			/* the column: "4K", "captured" ... */
	u64 folio_bytes;		/* 0: mixed */
	unsigned int frames;		/* 0: as the layout has them */
	u64 bytes;			/* pinned by one pass over the shape */
	unsigned long pages_per_call;
	unsigned int threads, repeats;
	struct bench_figure get_ns, put_ns;	/* a page */
	double get_ratio, put_ratio;	/* over limit's medians; limit: 1 */
	bool populate;			/* one side only, in get_* */
	bool copy;			/* of populate: contents too */
	bool has_kept;
	double kept;			/* pages of a call, where that is asked */
	bool has_events;
	double get_events[NR_EVENTS], put_events[NR_EVENTS];	/* a page */
};

struct bench_result {
	struct bench_row rows[BENCH_MAX_ROWS];
	unsigned int nr_rows;
	bool metadata_only;
	u64 arena_bytes, arena_huge_bytes;	/* of the largest shape */
	unsigned long skipped_pages, marked_pages;	/* of a layout */
};

struct contestant;

/* What is faster than what, in one column, and by how much for Linux. */
struct bench_gain {
	const char *shape, *slow, *fast;
	const char *published;		/* "" if nobody did */
};

struct bench_suite {
	const char *name;
	const char *summary;
	const char *call;		/* what is timed, for the heading */
	unsigned long pages_per_call;	/* without -n; 0: not one for all rows */
	const struct contestant *contestants;
	unsigned int nr_contestants;
	const struct contestant *limit;	/* NULL: contestant_limit */
	bool does_less;			/* ... than the limit: that is no fault */
	bool no_layout;			/* nothing that a layout could shape */
	const struct bench_gain *gains;
	unsigned int nr_gains;
	/*
	 * Return: 0, rows added to @result (failed ones among them); or a
	 * negative errno and the reason in error_text().
	 */
	int (*run)(const struct bench_options *options,
		   struct bench_result *result);
	/* Prints the rows that have a part; NULL: there are none. */
	void (*report)(const struct bench_result *result, FILE *out);
};

extern const struct bench_suite bench_walk;
extern const struct bench_suite bench_longterm;
extern const struct bench_suite bench_fast;
extern const struct bench_suite bench_populate;

/* Medians and the like; @samples is reordered. */
struct bench_figure bench_summary(double *samples, unsigned int nr);

/* bench_gib_per_s() - what a row of populate comes to */
double bench_gib_per_s(const struct bench_row *row);

/* bench_frames_name() - "ordered", "shuffled" or "captured" */
const char *bench_frames_name(unsigned int frames);

/* The tables and the JSON lines (report.c). */
void report_tables(const struct bench_suite *suite,
		   const struct bench_options *options,
		   const struct bench_result *result, FILE *out);
int __must_check report_json(const struct bench_result *result, FILE *out);

/*
 * bench_add_events() - have the counting build run the same rows
 * @argv: the arguments after `pinfold bench`, NULL-terminated
 *
 * Return: 0, or a negative errno: the rows stay without events.
 */
int __must_check bench_add_events(char *const argv[],
				  struct bench_result *result);

#endif
