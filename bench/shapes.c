/* SPDX-License-Identifier: MIT */
/*
 * The rows of a suite whose contestants take turns on shapes: synthetic ones of
 * each folio size and frame order, or a layout and what if.
 */
#include "bench/turns.h"

#include "host/errtext.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Past this a machine keeps no bytes: nothing here reads them. */
#define METADATA_ONLY_BYTES	((u64)2 << 30)

static bool wanted(const struct bench_options *o, const char *algo)
{
	for (unsigned int i = 0; i < o->nr_algos; i++)
		if (!strcmp(o->algos[i], algo))
			return true;
	return !o->nr_algos;
}

/* Those asked for, and the limit. */
static unsigned int choose(const struct bench_suite *suite,
			   const struct bench_options *o,
			   struct contestant *chosen)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < suite->nr_contestants; i++)
		if (wanted(o, suite->contestants[i].name))
			chosen[nr++] = suite->contestants[i];
	chosen[nr++] = suite->limit ? *suite->limit : contestant_limit;
	return nr;
}

static void init_row(struct bench_row *row, const struct bench_suite *suite,
		     const char *algo, const struct bench_options *o,
		     const struct shape *shape)
{
	snprintf(row->algo, sizeof(row->algo), "%s", algo);
	row->suite = suite->name;
	row->pages_per_call = o->pages_per_call;
	row->threads = o->threads;
	row->repeats = o->repeats;
	row->bytes = shape ? shape->nr_pages * PAGE_SIZE : o->bytes;
}

/*
 * A row that is faster than the hardware allows measured something else.  Five
 * per cent, in median and minimum, are the clock's.
 */
static void check_row(struct bench_row *row, const struct bench_row *limit)
{
	const double least = 0.95;
	const bool get = row->get_ratio < least &&
			 row->get_ns.min < least * limit->get_ns.min;
	const bool put = row->put_ratio < least &&
			 row->put_ns.min < least * limit->put_ns.min;

	if (COUNTING_BUILD || (!get && !put))
		return;
	row->status = BENCH_FAILED;
	snprintf(row->reason, sizeof(row->reason),
		 "beats the limit: get %.2f, put %.2f times", row->get_ratio,
		 row->put_ratio);
}

static void fail_rows(struct bench_row *rows, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		rows[i].status = BENCH_FAILED;
		snprintf(rows[i].reason, sizeof(rows[i].reason), "%s",
			 error_text());
	}
}

static void note_arena(struct bench_result *result, const struct shape *shape)
{
	const struct machine *m = shape->machine;

	if (m->arena_bytes <= result->arena_bytes)
		return;
	result->arena_bytes = m->arena_bytes;
	result->metadata_only = m->metadata_only;
	result->arena_huge_bytes = host_huge_bytes(m->arena, m->arena_bytes);
}

int bench_add_rows(const struct bench_suite *suite,
		   const struct bench_options *o, struct bench_result *result,
		   struct shape *shape, const struct bench_row *column)
{
	struct contestant contestants[BENCH_MAX_ALGOS + 1];
	unsigned int nr = choose(suite, o, contestants);
	struct bench_row *rows = &result->rows[result->nr_rows];
	int err = shape ? 0 : -EINVAL;

	if (result->nr_rows + nr > BENCH_MAX_ROWS)
		return fail(-E2BIG, "more than %" PRIu64 " rows", BENCH_MAX_ROWS,
			    0, 0);
	result->nr_rows += nr;
	for (unsigned int i = 0; i < nr; i++) {
		rows[i] = *column;
		init_row(&rows[i], suite, contestants[i].name, o, shape);
	}
	if (!err)
		err = turns_run(o, shape, contestants, rows, nr);
	if (err)
		fail_rows(rows, nr);
	for (unsigned int i = 0; i < nr && !err && !suite->does_less; i++)
		check_row(&rows[i], &rows[nr - 1]);
	return 0;
}

static void size_name(char *out, size_t room, unsigned int order)
{
	static const char units[] = "KMG";
	unsigned int unit = (order + 2) / 10;

	snprintf(out, room, "%u%c", 1u << ((order + 2) % 10), units[unit % 3]);
}

static int run_synthetic(const struct bench_suite *suite,
			 const struct bench_options *o,
			 struct bench_result *result, unsigned int order,
			 unsigned int frames)
{
	struct shape_options so = {
		.shuffled = frames == FRAMES_SHUFFLED,
		.seed = o->seed,
		.metadata_only = o->bytes > METADATA_ONLY_BYTES,
		.movable_bytes = o->movable_bytes,
		.cma_bytes = o->cma_bytes,
	};
	struct bench_row column = {
		.folio_bytes = PAGE_SIZE << order, .frames = frames,
	};
	struct shape *shape = NULL;
	int err;

	size_name(column.shape, sizeof(column.shape), order);
	if (o->progress)
		o->progress("%s: %s folios, frames %s", suite->name,
			    column.shape, bench_frames_name(frames));
	/* A pool's pages come as they are. */
	if (order == HPAGE_PUD_ORDER && so.shuffled)
		return 0;
	so.metadata_only |= order == HPAGE_PUD_ORDER;
	err = shape_synthetic(o->bytes, order, &so, &shape);
	if (err == -ENOMEM)
		return err;
	if (!err && shape_check(shape, order, so.shuffled)) {
		shape_free(shape);
		shape = NULL;
	}
	if (shape)
		note_arena(result, shape);
	err = bench_add_rows(suite, o, result, shape, &column);
	shape_free(shape);
	return err;
}

/* The layout as it is, then as it would be with folios of each size. */
static int run_layout(const struct bench_suite *suite,
		      const struct bench_options *o,
		      struct bench_result *result, int order)
{
	struct bench_row column = { 0 };
	struct shape *shape;
	int err;

	if (order == SHAPE_AS_CAPTURED) {
		snprintf(column.shape, sizeof(column.shape), "%s",
			 o->layout->orders_known ? "captured" : "assumed 4K");
	} else {
		char size[16];

		size_name(size, sizeof(size), order);
		snprintf(column.shape, sizeof(column.shape), "all %s", size);
		column.folio_bytes = PAGE_SIZE << order;
	}
	if (o->progress)
		o->progress("%s: rebuilding the layout, %s", suite->name,
			    column.shape);
	err = shape_from_layout(o->layout, order, &shape);
	if (err)
		return err;
	result->skipped_pages = shape->skipped_pages;
	result->marked_pages = shape->marked_pages;
	note_arena(result, shape);
	if (!shape->nr_pages)
		err = fail(-EINVAL, "no resident page of the layout can be "
			   "pinned", 0, 0, 0);
	else
		err = bench_add_rows(suite, o, result, shape, &column);
	shape_free(shape);
	return err;
}

static int run_layouts(const struct bench_suite *suite,
		       const struct bench_options *o,
		       struct bench_result *result)
{
	static const unsigned int what_if[] = { 0, 4, HPAGE_PMD_ORDER };
	const unsigned int *orders = o->nr_folios ? o->folio_orders : what_if;
	unsigned int nr = o->nr_folios ? o->nr_folios : ARRAY_SIZE(what_if);
	int err = run_layout(suite, o, result, SHAPE_AS_CAPTURED);

	for (unsigned int i = 0; i < nr && !err; i++)
		err = run_layout(suite, o, result, orders[i]);
	return err;
}

int bench_run_shapes(const struct bench_suite *suite,
		     const struct bench_options *o, struct bench_result *result)
{
	static const unsigned int frames[] = { FRAMES_ORDERED, FRAMES_SHUFFLED };
	static const unsigned int defaults[] = { 0, 4, HPAGE_PMD_ORDER };
	const unsigned int *orders = o->nr_folios ? o->folio_orders : defaults;
	unsigned int nr = o->nr_folios ? o->nr_folios : ARRAY_SIZE(defaults);
	int err = 0;

	if (o->layout)
		return run_layouts(suite, o, result);
	for (unsigned int f = 0; f < ARRAY_SIZE(frames) && !err; f++) {
		if (!(o->frames & frames[f]))
			continue;
		for (unsigned int i = 0; i < nr && !err; i++)
			err = run_synthetic(suite, o, result, orders[i],
					    frames[f]);
	}
	return err;
}
