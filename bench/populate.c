/* SPDX-License-Identifier: MIT */
/*
 * `populate`: what it costs to fill a file of the page cache, folio by folio and
 * many at a time; the index alone, and with a copy of the contents.
 *
 * As a guest_memfd is populated (S4): the file is on no LRU list.  What is
 * absent from a table was not measured in that column.
 */
#include "bench/populate.h"

#include "bench/turns.h"
#include "host/errtext.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS	1500000		/* a sample takes about this long */
#define MAX_ROUNDS	16
#define MAX_LOOKS	64		/* looking up large folios takes nothing */
#define COLD_REPEATS	3u		/* each takes its memory from the host */
#define MAX_WAYS	10

static const struct populate_way one = {
	"one", 1, populate_one, true,
};
static const struct populate_way query_one = {
	"query-one", 1, populate_query_one, true,
};
static const struct populate_way query_batch = {
	"query-batch", FOLIO_BATCH_SIZE, populate_query_batch, true,
};
static const struct populate_way limit_add = {
	"limit", 0, populate_limit_add, false,
};
static const struct populate_way limit_query = {
	"limit", 0, populate_limit_query, false,
};
static const struct populate_way limit_copy = {
	"limit", 0, populate_limit_copy, false,
};
static const struct populate_way limit_stream = {
	"limit", 0, populate_limit_stream, false,
};

static const unsigned int batches[] = { 8, 16, 31, 64, 128, 512 };
static const unsigned int usual_batch[] = { 64 };

/* A table: rows that have the same to do. */
struct part {
	const char *name;		/* in JSON */
	const char *title;
	bool copy, cold, query;
	enum populate_file file;
	bool all_batches, ordered_only, small_only;
};

static const struct part parts[] = {
	{ .name = "index", .title = "without a copy", .all_batches = true },
	{ .name = "query", .title = "looking up what is there", .query = true,
	  .file = FILE_FULL },
	{ .name = "index-half", .title = "without a copy, every other folio is "
	  "there", .file = FILE_HALF, .ordered_only = true },
	{ .name = "copy", .title = "with a copy", .copy = true },
	{ .name = "copy-half", .title = "with a copy, every other folio is "
	  "there", .copy = true, .file = FILE_HALF, .ordered_only = true,
	  .small_only = true },
	/* Last: it takes the machine away. */
	{ .name = "copy-cold", .title = "with a copy, into memory that nobody "
	  "has touched", .copy = true, .cold = true, .ordered_only = true },
};

/* ---- rows -------------------------------------------------------------------- */

static bool wanted(const struct bench_options *o, const char *algo)
{
	for (unsigned int i = 0; i < o->nr_algos; i++)
		if (!strcmp(o->algos[i], algo))
			return true;
	return !o->nr_algos;
}

static void add_way(const struct bench_options *o, struct populate_way *ways,
		    unsigned int *nr, const struct populate_way *way)
{
	if (wanted(o, way->name))
		ways[(*nr)++] = *way;
}

static void add_batches(const struct bench_options *o, const struct part *part,
			const struct populate *p, struct populate_way *ways,
			unsigned int *nr)
{
	const unsigned int given = (unsigned int)
		max(o->pages_per_call >> p->order, 1UL);
	const bool all = part->all_batches && !p->shuffled;
	const unsigned int *sizes = all ? batches : usual_batch;
	unsigned int nr_sizes = all ? ARRAY_SIZE(batches) :
				      ARRAY_SIZE(usual_batch);

	if (o->pages_per_call) {
		sizes = &given;
		nr_sizes = 1;
	}
	for (unsigned int i = 0; i < nr_sizes; i++)
		add_way(o, ways, nr, &(struct populate_way){
			"batch", sizes[i], part->copy ? populate_publish :
							populate_batch, true });
}

/* The rows of a part that are asked for, the limit last. */
static unsigned int choose(const struct bench_options *o,
			   const struct part *part, const struct populate *p,
			   struct populate_way *ways)
{
	unsigned int nr = 0;

	if (part->query) {
		add_way(o, ways, &nr, &query_one);
		add_way(o, ways, &nr, &query_batch);
	} else {
		add_way(o, ways, &nr, &one);
		add_batches(o, part, p, ways, &nr);
	}
	if (!nr)
		return 0;
	ways[nr++] = part->copy ? limit_copy : part->query ? limit_query :
							     limit_add;
	return nr;
}

static void size_name(char *out, size_t room, unsigned int order)
{
	static const char units[] = "KMG";

	snprintf(out, room, "%u%c", 1u << ((order + 2) % 10),
		 units[(order + 2) / 10 % 3]);
}

/* Copying takes long, and longer if the host has to find the memory. */
static unsigned int part_repeats(const struct part *part,
				 const struct bench_options *o)
{
	if (part->cold)
		return min(COLD_REPEATS, o->repeats);
	return part->copy ? (2 * o->repeats + 1) / 3 : o->repeats;
}

static void init_row(struct bench_row *row, const struct part *part,
		     const struct populate_way *way,
		     const struct bench_options *o, unsigned int order,
		     bool shuffled)
{
	*row = (struct bench_row){
		.suite = bench_populate.name,
		.part = part->name,
		.populate = true,
		.copy = part->copy,
		.folio_bytes = PAGE_SIZE << order,
		.frames = shuffled ? FRAMES_SHUFFLED : FRAMES_ORDERED,
		.bytes = o->bytes,
		.pages_per_call = (unsigned long)way->batch << order,
		.threads = o->threads,
		.repeats = part_repeats(part, o),
	};
	snprintf(row->algo, sizeof(row->algo), "%s", way->name);
	size_name(row->shape, sizeof(row->shape), order);
}

static void fill_events(const struct populate *p, struct bench_row *row)
{
	const double pages = (double)p->rounds * (double)p->nr_pages;

	row->has_events = COUNTING_BUILD;
	for (unsigned int e = 0; COUNTING_BUILD && e < NR_EVENTS; e++) {
		u64 sum = 0;

		for (unsigned int i = 0; i < p->nr_lanes; i++)
			sum += p->lanes[i].events[e];
		row->get_events[e] = (double)sum / pages;
	}
}

/*
 * The C library's memcpy() streams too, but only from some size on, which the
 * share of a thread may be below: of the two the faster one is the limit.
 */
static int choose_copy(struct populate *p, struct populate_way *limit)
{
	double plain = 0, streaming = 0, ns;
	int err = 0;

	for (int i = 0; i < 3 && !err; i++) {
		err = populate_turn(p, &limit_copy, &ns);
		plain = i ? min(plain, ns) : ns;
		if (!err)
			err = populate_turn(p, &limit_stream, &ns);
		streaming = i ? min(streaming, ns) : ns;
	}
	p->streams = streaming < plain;
	*limit = p->streams ? limit_stream : limit_copy;
	return err;
}

/* As many fillings as make one sample of the limit SAMPLE_NS long. */
static int choose_rounds(struct populate *p, struct populate_way *limit)
{
	const double most = p->file == FILE_FULL ? MAX_LOOKS : MAX_ROUNDS;
	double ns = 0;
	int err;

	p->rounds = 1;
	if (p->cold) {
		/* Nothing can be tried twice: as it was in warm memory. */
		*limit = p->streams ? limit_stream : limit_copy;
		return 0;
	}
	if (COUNTING_BUILD)
		return 0;
	if (p->copy)
		return choose_copy(p, limit);
	err = populate_turn(p, limit, &ns);
	if (!err)
		err = populate_turn(p, limit, &ns);
	p->rounds = (unsigned int)min(SAMPLE_NS / (ns * (double)p->nr_pages + 1)
				      + 1, most);
	return err;
}

typedef double samples[BENCH_MAX_REPEATS];

static int measure(struct populate *p, struct populate_way *ways,
		   unsigned int nr, struct bench_row *rows)
{
	const unsigned int repeats = COUNTING_BUILD ? 1 : rows[0].repeats;
	samples *ns = calloc(nr, sizeof(*ns));
	int err = ns ? choose_rounds(p, &ways[nr - 1]) :
		       fail(-ENOMEM, "no memory for samples", 0, 0, 0);

	/* Turn 0 warms up, and looks at every byte; nothing warms cold memory. */
	for (unsigned int r = p->cold; r <= repeats && !err; r++) {
		p->careful = r == p->cold;
		for (unsigned int i = 0; i < nr && !err; i++) {
			err = populate_turn(p, &ways[i], &ns[i][r ? r - 1 : 0]);
			fill_events(p, &rows[i]);
		}
	}
	for (unsigned int i = nr; i-- > 0 && !err;) {
		rows[i].get_ns = bench_summary(ns[i], repeats);
		rows[i].get_ratio = rows[i].get_ns.median /
				    rows[nr - 1].get_ns.median;
	}
	free(ns);
	return err;
}

/*
 * As for the other suites: five per cent are the clock's.  With folios of 2 MiB
 * the index takes little more than its limit, which has descriptors of its own:
 * where the caches have room for them makes a third from run to run.
 */
static void check_row(struct bench_row *row, const struct bench_row *limit)
{
	const double least = row->copy || row->folio_bytes < HPAGE_PMD_SIZE ?
			     0.95 : 0.7;

	if (COUNTING_BUILD || row->get_ratio >= least ||
	    row->get_ns.min >= least * limit->get_ns.min)
		return;
	row->status = BENCH_FAILED;
	snprintf(row->reason, sizeof(row->reason), "beats the limit: %.2f times",
		 row->get_ratio);
}

static int run_part(struct populate *p, const struct part *part,
		    struct bench_result *result)
{
	const struct bench_options *o = p->options;
	struct bench_row *rows = &result->rows[result->nr_rows];
	struct populate_way ways[MAX_WAYS];
	unsigned int nr = choose(o, part, p, ways);

	if (!nr || (part->ordered_only && p->shuffled) ||
	    (part->small_only && p->order))
		return 0;
	/* A copy adds no events. */
	if (COUNTING_BUILD && (part->copy || p->shuffled))
		return 0;
	if (result->nr_rows + nr > BENCH_MAX_ROWS)
		return fail(-E2BIG, "more than %" PRIu64 " rows", BENCH_MAX_ROWS,
			    0, 0);
	result->nr_rows += nr;
	for (unsigned int i = 0; i < nr; i++)
		init_row(&rows[i], part, &ways[i], o, p->order, p->shuffled);
	p->copy = part->copy;
	p->cold = part->cold;
	p->file = part->file;
	if (o->progress)
		o->progress("populate: %s folios, frames %s, %s", rows->shape,
			    bench_frames_name(rows->frames), part->title);
	if (measure(p, ways, nr, rows)) {
		for (unsigned int i = 0; i < nr; i++) {
			rows[i].status = BENCH_FAILED;
			snprintf(rows[i].reason, sizeof(rows[i].reason), "%s",
				 error_text());
		}
		return 0;
	}
	for (unsigned int i = 0; i < nr; i++)
		check_row(&rows[i], &rows[nr - 1]);
	return 0;
}

static void note_arena(struct bench_result *result, const struct machine *m)
{
	result->arena_bytes = m->arena_bytes;
	result->arena_huge_bytes = host_huge_bytes(m->arena, m->arena_bytes);
}

static int run_column(const struct bench_options *o, unsigned int order,
		      bool shuffled, struct bench_result *result)
{
	struct populate *p = calloc(1, sizeof(*p));
	int err = p ? populate_begin(p, o, order, shuffled) :
		      fail(-ENOMEM, "no memory for a benchmark", 0, 0, 0);

	if (!err) {
		if (!result->arena_bytes)
			note_arena(result, p->machine);
		for (unsigned int i = 0; i < ARRAY_SIZE(parts) && !err; i++)
			err = run_part(p, &parts[i], result);
		populate_end(p);
	}
	free(p);
	return err;
}

/* Source, arena, and what the limit copies to and writes to. */
static int check_memory(const struct bench_options *o)
{
	u64 need = 3 * o->bytes + o->movable_bytes + o->cma_bytes +
		   o->bytes / PAGE_SIZE * (2 * sizeof(struct page) + 32);
	u64 have = host_available_bytes();

	if (have && need > have)
		return fail(-ENOMEM, "populating %" PRIu64 " MiB needs %" PRIu64
			    " MiB of the host, which has %" PRIu64 " MiB to give",
			    o->bytes >> 20, need >> 20, have >> 20);
	return 0;
}

static int run_populate(const struct bench_options *o,
			struct bench_result *result)
{
	static const unsigned int defaults[] = { 0, 4, HPAGE_PMD_ORDER };
	const unsigned int *orders = o->nr_folios ? o->folio_orders : defaults;
	unsigned int nr = o->nr_folios ? o->nr_folios : ARRAY_SIZE(defaults);
	int err = check_memory(o);

	for (unsigned int f = FRAMES_ORDERED; f <= FRAMES_SHUFFLED; f++)
		for (unsigned int i = 0; i < nr && !err; i++)
			/* The page cache has no larger folios. */
			if ((o->frames & f) &&
			    orders[i] <= MAX_PAGECACHE_ORDER)
				err = run_column(o, orders[i],
						 f == FRAMES_SHUFFLED, result);
	return err;
}

/* ---- report ------------------------------------------------------------------ */

static const struct bench_row *find_row(const struct bench_result *r,
					const char *part, unsigned int frames,
					const char *shape, const char *algo,
					unsigned long folios)
{
	for (unsigned int i = 0; i < r->nr_rows; i++) {
		const struct bench_row *row = &r->rows[i];

		if (!strcmp(row->part, part) && row->frames == frames &&
		    !strcmp(row->shape, shape) && !strcmp(row->algo, algo) &&
		    row->pages_per_call * PAGE_SIZE ==
		    folios * row->folio_bytes && row->get_ns.median)
			return row;
	}
	return NULL;
}

/* The names that the rows of a part have in some member, in order. */
struct table {
	const char *shapes[BENCH_MAX_FOLIOS];
	const struct bench_row *lines[MAX_WAYS];	/* one of each */
	unsigned int nr_shapes, nr_lines;
};

static unsigned long folios_a_call(const struct bench_row *row)
{
	return row->pages_per_call * PAGE_SIZE / row->folio_bytes;
}

static void note_row(struct table *t, const struct bench_row *row)
{
	unsigned int i;

	for (i = 0; i < t->nr_shapes; i++)
		if (!strcmp(t->shapes[i], row->shape))
			break;
	if (i == t->nr_shapes && i < BENCH_MAX_FOLIOS)
		t->shapes[t->nr_shapes++] = row->shape;
	for (i = 0; i < t->nr_lines; i++)
		if (!strcmp(t->lines[i]->algo, row->algo) &&
		    folios_a_call(t->lines[i]) == folios_a_call(row))
			break;
	if (i == t->nr_lines && i < MAX_WAYS)
		t->lines[t->nr_lines++] = row;
}

static void print_line(const struct bench_result *r, const struct table *t,
		       const struct bench_row *line, FILE *out)
{
	const unsigned long folios = folios_a_call(line);
	char name[48];

	snprintf(name, sizeof(name), folios > 1 && strcmp(line->algo, "one") ?
		 "%s %lu" : "%s", line->algo, folios);
	fprintf(out, "  %-14s", name);
	for (unsigned int s = 0; s < t->nr_shapes; s++) {
		const struct bench_row *row =
			find_row(r, line->part, line->frames, t->shapes[s],
				 line->algo, folios);

		if (row)
			fprintf(out, "  %8.2f %-6.2f%7.2f ", row->get_ns.median,
				row->get_ratio, bench_gib_per_s(row));
		else
			fprintf(out, "  %8s %-6s%7s ", "-", "", "");
	}
	fprintf(out, "\n");
}

static void print_part(const struct bench_result *r, const struct part *part,
		       unsigned int frames, FILE *out)
{
	struct table t = { .nr_lines = 0 };

	for (unsigned int i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].part, part->name) &&
		    r->rows[i].frames == frames)
			note_row(&t, &r->rows[i]);
	if (!t.nr_lines)
		return;
	fprintf(out, "\n%s, frames %s, medians of %u\n  %-14s", part->title,
		bench_frames_name(frames), t.lines[0]->repeats, "ns/page");
	for (unsigned int s = 0; s < t.nr_shapes; s++)
		fprintf(out, "  %-24s", t.shapes[s]);
	fprintf(out, "\n  %-14s", "");
	for (unsigned int s = 0; s < t.nr_shapes; s++)
		fprintf(out, "  %-24s", "   ns (xlimit)   GiB/s");
	fprintf(out, "\n");
	for (unsigned int last = 0; last < 2; last++)
		for (unsigned int i = 0; i < t.nr_lines; i++)
			if (last == !strcmp(t.lines[i]->algo, "limit"))
				print_line(r, &t, t.lines[i], out);
}

/* What batching saves, both ways of saying it. */
static void print_gain(const struct bench_result *r, const char *part,
		       const char *title, const char *shape, FILE *out)
{
	const struct bench_row *slow = find_row(r, part, FRAMES_ORDERED, shape,
						"one", 1);
	const struct bench_row *fast = find_row(r, part, FRAMES_ORDERED, shape,
						"batch", 64);

	if (slow && fast)
		fprintf(out, "  %-5s %-14s batch 64 takes %4.1f%% less time than "
			"one: %.2f times the rate\n", shape, title,
			100 * (1 - fast->get_ns.median / slow->get_ns.median),
			slow->get_ns.median / fast->get_ns.median);
}

static void print_target(const char *what, double value, bool met,
			 const char *target, FILE *out)
{
	fprintf(out, "  %-51s %5.2f   target %s: %s\n", what, value, target,
		met ? "met" : "MISSED");
}

/* The targets are for ordered frames and one thread. */
static void print_targets(const struct bench_result *r, FILE *out)
{
	const struct bench_row *slow, *fast, *small, *huge;

	slow = find_row(r, "index", FRAMES_ORDERED, "4K", "one", 1);
	fast = find_row(r, "index", FRAMES_ORDERED, "4K", "batch", 64);
	small = find_row(r, "copy", FRAMES_ORDERED, "4K", "batch", 64);
	huge = find_row(r, "copy", FRAMES_ORDERED, "2M", "batch", 64);
	if (slow && fast && slow->threads == 1) {
		double rate = slow->get_ns.median / fast->get_ns.median;

		print_target("4K, without a copy: rate of batch 64 over one",
			     rate, rate >= 3, ">= 3", out);
	}
	if (small && small->threads == 1)
		print_target("4K, with a copy: batch 64 over one copy of the whole",
			     small->get_ratio, small->get_ratio <= 1.2, "<= 1.2",
			     out);
	if (huge && huge->threads == 1)
		print_target("2M, with a copy: batch 64 over one copy of the whole",
			     huge->get_ratio, huge->get_ratio <= 1.15,
			     "<= 1.15", out);
}

static void print_events(const struct bench_result *r, FILE *out)
{
	bool any = false;

	for (unsigned int i = 0; i < r->nr_rows; i++) {
		const struct bench_row *row = &r->rows[i];

		if (!row->has_events || row->frames != FRAMES_ORDERED ||
		    !strcmp(row->algo, "limit") ||
		    (strcmp(row->part, "index") && strcmp(row->part, "query")))
			continue;
		if (!any)
			fprintf(out, "\nevents a page%24s  descents  atomics\n",
				"xa_lock");
		any = true;
		fprintf(out, "  %-5s %-12s %4lu %12.4f  %8.4f  %7.4f\n",
			row->shape, row->algo, folios_a_call(row),
			row->get_events[EV_XA_LOCK],
			row->get_events[EV_XA_DESCENTS],
			row->get_events[EV_ATOMICS]);
	}
}

static void report_populate(const struct bench_result *r, FILE *out)
{
	static const char *const shapes[] = { "4K", "64K", "2M" };

	for (unsigned int f = FRAMES_ORDERED; f <= FRAMES_SHUFFLED; f++)
		for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
			print_part(r, &parts[i], f, out);
	fprintf(out, "\nbatching, frames ordered\n");
	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		print_gain(r, "index", "without a copy", shapes[i], out);
		print_gain(r, "copy", "with a copy", shapes[i], out);
	}
	fprintf(out, "  published for Linux, 3 GiB of 4K with a copy: 10.3%% less "
		"time, 1.11 times the rate\n  expected in a process, where a "
		"page costs little beside its copy: 3-9%% less time\n");
	print_targets(r, out);
	print_events(r, out);
}

/* Names for --algo; the rows are made above. */
static const struct contestant names[] = {
	{ .name = "one" }, { .name = "batch" }, { .name = "query-one" },
	{ .name = "query-batch" },
};

const struct bench_suite bench_populate = {
	.name = "populate",
	.summary = "filling a file of the page cache, alone and with a copy",
	.call = "filling a file",
	.contestants = names,
	.nr_contestants = ARRAY_SIZE(names),
	.no_layout = true,
	.run = run_populate,
	.report = report_populate,
};
