/* SPDX-License-Identifier: MIT */
/*
 * `fast`: what the lockless walk takes a page, and what it adds to look whether
 * a page may be pinned for long: not at all, in a pass behind it, or inside.
 *
 * As gup_benchmark: pin_user_pages_fast(FOLL_WRITE | FOLL_LONGTERM) over the
 * whole shape in calls of so many pages, into one array.  The limit returns
 * after each call, too.
 *
 * Besides the table, with 4 KiB folios: the table of the discussion of 2019, the
 * curve over the pages of a call, and what a single page of CMA memory does to a
 * call.
 */
#include "bench/turns.h"

#include "lab/gup_fast_algos.h"
#include "mm/gup.h"

#include <stdlib.h>
#include <string.h>

/* Of the parts: enough for several thousand calls, and little to wait for. */
#define PART_BYTES	((u64)64 << 20)

/* ---- contestants --------------------------------------------------------- */

static long call_fast(const void *algo, pf_addr_t start, unsigned long nr,
		      unsigned int flags, struct page **pages)
{
	return gup_fast_algo_call(algo, start, nr, FOLL_PIN | flags, pages);
}

static long pin_longterm(const void *arg, struct mm_struct *mm __maybe_unused,
			 pf_addr_t start, unsigned long nr, unsigned int flags,
			 struct page **pages)
{
	return call_fast(arg, start, nr, FOLL_LONGTERM | flags, pages);
}

static long pin_short(const void *arg, struct mm_struct *mm __maybe_unused,
		      pf_addr_t start, unsigned long nr, unsigned int flags,
		      struct page **pages)
{
	return call_fast(arg, start, nr, flags, pages);
}

static long share_pin_fast(struct share *s, pin_chunk_fn pin, const void *arg)
{
	long got;

	current->mm = s->shape->mm;
	got = share_pin(s, pin, arg);
	current->mm = NULL;
	return got;
}

static long longterm_get(const struct contestant *c, struct share *s)
{
	return share_pin_fast(s, pin_longterm, c->arg);
}

static long short_get(const struct contestant *c, struct share *s)
{
	return share_pin_fast(s, pin_short, c->arg);
}

static void fast_put(const struct contestant *c __maybe_unused, struct share *s)
{
	unpin_user_pages(s->pages, s->got);
}

static long limit_fast_get(const struct contestant *c __maybe_unused,
			   struct share *s)
{
	return limit_get_calls(&s->limit, s->pages);
}

static void limit_fast_put(const struct contestant *c __maybe_unused,
			   struct share *s)
{
	limit_put(&s->limit, s->pages);
}

/* The lockless part of each call alone: what it has when it ends. */
static long lockless_get(const struct contestant *c, struct share *s)
{
	const unsigned int flags = FOLL_WRITE | FOLL_LONGTERM | FOLL_FAST_ONLY;

	current->mm = s->shape->mm;
	s->kept = 0;
	for (size_t i = 0; i < s->nr_ranges; i++) {
		const struct shape_range *r = &s->ranges[i];

		for (unsigned long at = 0; at < r->nr_pages;
		     at += s->pages_per_call)
			s->kept += call_fast(c->arg, r->start + at * PAGE_SIZE,
					     min(s->pages_per_call,
						 r->nr_pages - at), flags,
					     s->pages + s->kept);
	}
	current->mm = NULL;
	return s->nr_pages;
}

static void lockless_put(const struct contestant *c __maybe_unused,
			 struct share *s)
{
	unpin_user_pages(s->pages, s->kept);
}

#define NONE	(&gup_fast_algos[FAST_NONE])
#define AFTER	(&gup_fast_algos[FAST_AFTER])
#define INSIDE	(&gup_fast_algos[FAST_INSIDE])

static const struct contestant contestants[] = {
	{ "none", NONE, longterm_get, fast_put, true },
	{ "after", AFTER, longterm_get, fast_put, true },
	{ "inside", INSIDE, longterm_get, fast_put, true },
};

static const struct contestant both_ways[] = {
	{ "none", NONE, short_get, fast_put, true },
	{ "after", AFTER, short_get, fast_put, true },
	{ "inside", INSIDE, short_get, fast_put, true },
	{ "none -l", NONE, longterm_get, fast_put, true },
	{ "after -l", AFTER, longterm_get, fast_put, true },
	{ "inside -l", INSIDE, longterm_get, fast_put, true },
};

static const struct contestant lockless[] = {
	{ "none", NONE, lockless_get, lockless_put, true },
	{ "after", AFTER, lockless_get, lockless_put, true },
	{ "inside", INSIDE, lockless_get, lockless_put, true },
};

static const struct contestant limit = {
	"limit", NULL, limit_fast_get, limit_fast_put, true,
};

/* ---- the parts ------------------------------------------------------------- */

static const char part_2019[] = "2019", part_curve[] = "curve",
		  part_cma[] = "cma";

static const struct bench_suite suite_2019 = {
	.name = "fast",
	.contestants = both_ways,
	.nr_contestants = ARRAY_SIZE(both_ways),
	.limit = &limit,
};

static const struct bench_suite suite_curve = {
	.name = "fast",
	.contestants = contestants,
	.nr_contestants = ARRAY_SIZE(contestants),
	.limit = &limit,
};

static const struct bench_suite suite_cma = {
	.name = "fast",
	.contestants = lockless,
	.nr_contestants = ARRAY_SIZE(lockless),
	.limit = &limit,
	.does_less = true,
};

static const unsigned long curve[] = { 1, 4, 16, 64, 256, 1024, 4096 };

enum { CMA_NONE, CMA_FIRST, CMA_MIDDLE, CMA_LAST, NR_CMA_PLACES };
static const char *const cma_places[NR_CMA_PLACES] = {
	"CMA none", "CMA first", "CMA middle", "CMA last",
};

static int part_shape(const struct bench_options *o, struct shape **shape)
{
	struct shape_options so = { .seed = o->seed };

	return shape_synthetic(o->bytes, 0, &so, shape);
}

static struct bench_row part_row(const char *part, const char *shape)
{
	struct bench_row row = {
		.part = part, .folio_bytes = PAGE_SIZE,
		.frames = FRAMES_ORDERED,
	};

	snprintf(row.shape, sizeof(row.shape), "%s", shape);
	return row;
}

static int run_2019_and_curve(const struct bench_options *options,
			      struct bench_result *result)
{
	struct bench_row column = part_row(part_2019, "4K");
	struct bench_options o = *options;
	struct shape *shape;
	int err = part_shape(&o, &shape);

	if (err)
		return err;
	o.nr_algos = 0;
	err = bench_add_rows(&suite_2019, &o, result, shape, &column);
	o.nr_algos = options->nr_algos;
	column.part = part_curve;
	for (unsigned int i = 0; i < ARRAY_SIZE(curve) && !err; i++) {
		o.pages_per_call = curve[i];
		err = bench_add_rows(&suite_curve, &o, result, shape, &column);
	}
	shape_free(shape);
	return err;
}

/* How many pages a call keeps, by a pass of its own. */
static double pages_kept(const struct bench_options *o, struct shape *shape,
			 const char *algo)
{
	struct machine *previous = machine_enter(shape->machine);
	struct shape_range *r = &shape->ranges[0];
	struct page **pages = calloc(shape->nr_pages, sizeof(*pages));
	struct share s = {
		.shape = shape, .ranges = r, .nr_ranges = 1,
		.nr_pages = shape->nr_pages, .pages = pages,
		.pages_per_call = o->pages_per_call,
	};

	for (unsigned int i = 0; pages && i < ARRAY_SIZE(lockless); i++) {
		if (strcmp(lockless[i].name, algo))
			continue;
		lockless_get(&lockless[i], &s);
		lockless_put(&lockless[i], &s);
	}
	free(pages);
	machine_leave(previous);
	return (double)s.kept * o->pages_per_call / shape->nr_pages;
}

static int run_cma(const struct bench_options *o, struct bench_result *result,
		   unsigned int place)
{
	const unsigned long n = o->pages_per_call;
	const unsigned long page[] = { 0, 0, n / 2, n - 1 };
	struct bench_row column = part_row(part_cma, cma_places[place]);
	unsigned int first = result->nr_rows;
	struct shape *shape;
	int err = part_shape(o, &shape);

	if (err)
		return err;
	if (place != CMA_NONE)
		err = shape_scatter_cma(shape, n, page[place]);
	if (!err)
		err = bench_add_rows(&suite_cma, o, result, shape, &column);
	for (unsigned int i = first; i < result->nr_rows && !err; i++) {
		struct bench_row *row = &result->rows[i];

		row->has_kept = strcmp(row->algo, "limit");
		row->kept = pages_kept(o, shape, row->algo);
	}
	shape_free(shape);
	return err;
}

static bool with_parts(const struct bench_options *o)
{
	bool small = !o->nr_folios;

	for (unsigned int i = 0; i < o->nr_folios; i++)
		small |= !o->folio_orders[i];
	return small && !o->layout && (o->frames & FRAMES_ORDERED) &&
	       !COUNTING_BUILD;
}

static int run_fast(const struct bench_options *options,
		    struct bench_result *result)
{
	struct bench_options o = *options;
	int err = bench_run_shapes(&bench_fast, options, result);

	if (err || !with_parts(options))
		return err;
	o.bytes = min(o.bytes, PART_BYTES);
	if (o.progress)
		o.progress("fast: the table of 2019, and pages a call");
	err = run_2019_and_curve(&o, result);
	/* A CMA page in each of very short calls leaves nothing else. */
	for (unsigned int i = 0; i < NR_CMA_PLACES && !err; i++) {
		if (o.pages_per_call < 16 ||
		    o.bytes / PAGE_SIZE < 16 * PAGEBLOCK_PAGES)
			break;
		if (o.progress)
			o.progress("fast: %s", cma_places[i]);
		err = run_cma(&o, result, i);
	}
	return err;
}

/* ---- printing -------------------------------------------------------------- */

static const struct bench_row *find_row(const struct bench_result *result,
					const char *part, const char *algo,
					const char *shape, unsigned long n)
{
	for (unsigned int i = 0; i < result->nr_rows; i++) {
		const struct bench_row *row = &result->rows[i];

		if (row->part == part && !strcmp(row->algo, algo) &&
		    (!shape || !strcmp(row->shape, shape)) &&
		    (!n || row->pages_per_call == n))
			return row;
	}
	return NULL;
}

static double get_of(const struct bench_result *result, const char *part,
		     const char *algo, const char *shape, unsigned long n)
{
	const struct bench_row *row = find_row(result, part, algo, shape, n);

	return row ? row->get_ns.median : 0;
}

static const struct {
	const char *algo, *with_l;
	double plain_us, longterm_us;
} published[] = {
	{ "none", "none -l", 477.8, 481.07 },
	{ "after", "after -l", 481.8, 640.41 },
	{ "inside", "inside -l", 466.24, 529.74 },
};

static void report_2019(const struct bench_result *result, FILE *out)
{
	const double none = get_of(result, part_2019, "none -l", NULL, 0);

	if (!none)
		return;
	fprintf(out, "\ngup_benchmark -r 100 -n 64 in 2019, us, on a machine "
		"without CMA memory; here, ns/page, 4K\n"
		"  %-9s%12s%8s%12s%8s%16s%8s\n", "", "without -l", "here", "-l",
		"here", "-l over none", "here");
	for (unsigned int i = 0; i < ARRAY_SIZE(published); i++) {
		double l = get_of(result, part_2019, published[i].with_l, NULL,
				  0);

		fprintf(out, "  %-9s%12.2f%8.2f%12.2f%8.2f%15.0f%%%7.0f%%\n",
			published[i].algo, published[i].plain_us,
			get_of(result, part_2019, published[i].algo, NULL, 0),
			published[i].longterm_us, l,
			100 * (published[i].longterm_us / 481.07 - 1),
			100 * (l / none - 1));
	}
}

static void report_curve(const struct bench_result *result, FILE *out)
{
	static const char *const algos[] = {
		"none", "after", "inside", "limit",
	};

	if (!get_of(result, part_curve, "limit", NULL, 0))
		return;
	fprintf(out, "\nget, ns/page by pages a call, 4K\n  %-9s", "");
	for (unsigned int i = 0; i < ARRAY_SIZE(curve); i++)
		fprintf(out, "%9lu", curve[i]);
	for (unsigned int a = 0; a < ARRAY_SIZE(algos); a++) {
		if (!find_row(result, part_curve, algos[a], NULL, 0))
			continue;
		fprintf(out, "\n  %-9s", algos[a]);
		for (unsigned int i = 0; i < ARRAY_SIZE(curve); i++)
			fprintf(out, "%9.2f", get_of(result, part_curve,
						     algos[a], NULL, curve[i]));
	}
	fputc('\n', out);
}

static void report_cma(const struct bench_result *result, FILE *out)
{
	const struct bench_row *row = find_row(result, part_cma, "limit", NULL,
					       0);
	const unsigned long n = row ? row->pages_per_call : 0;

	if (!row)
		return;
	fprintf(out, "\na CMA page in each call of %lu pages, the lockless part: "
		"get, ns a call (pages kept)\n  %-9s", n, "");
	for (unsigned int i = 0; i < NR_CMA_PLACES; i++)
		fprintf(out, "%18s", cma_places[i]);
	for (unsigned int a = 0; a < ARRAY_SIZE(lockless); a++) {
		if (!find_row(result, part_cma, lockless[a].name, NULL, 0))
			continue;
		fprintf(out, "\n  %-9s", lockless[a].name);
		for (unsigned int i = 0; i < NR_CMA_PLACES; i++) {
			row = find_row(result, part_cma, lockless[a].name,
				       cma_places[i], 0);
			if (row)
				fprintf(out, "%11.0f (%4.0f)",
					row->get_ns.median * n, row->kept);
		}
	}
	fputc('\n', out);
}

static void report_fast(const struct bench_result *result, FILE *out)
{
	report_2019(result, out);
	report_curve(result, out);
	report_cma(result, out);
}

const struct bench_suite bench_fast = {
	.name = "fast",
	.summary = "the lockless path: longterm pins unchecked, or checked "
		   "after or inside",
	.call = "pin_user_pages_fast(WRITE|LONGTERM)",
	.pages_per_call = 64,
	.contestants = contestants,
	.nr_contestants = ARRAY_SIZE(contestants),
	.limit = &limit,
	.run = run_fast,
	.report = report_fast,
};
