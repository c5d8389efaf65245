/* SPDX-License-Identifier: MIT */
/*
 * Rows as tables for people and as JSON lines (schema 1) for programs.
 */
#include "bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define MAX_COLUMNS	16

/* ---- tables ------------------------------------------------------------------ */

/* The rows of one frame order, as algorithms by shapes. */
struct table {
	const struct bench_row *cells[BENCH_MAX_ALGOS + 1][MAX_COLUMNS];
	const char *algos[BENCH_MAX_ALGOS + 1];
	const char *shapes[MAX_COLUMNS];
	unsigned int nr_algos, nr_shapes;
};

static unsigned int find_name(const char **names, unsigned int *nr,
			      unsigned int room, const char *name)
{
	unsigned int i;

	for (i = 0; i < *nr; i++)
		if (!strcmp(names[i], name))
			return i;
	if (*nr < room)
		names[(*nr)++] = name;
	return i;
}

static void fill_table(struct table *t, const struct bench_result *result,
		       unsigned int frames)
{
	memset(t, 0, sizeof(*t));
	for (unsigned int i = 0; i < result->nr_rows; i++) {
		const struct bench_row *row = &result->rows[i];
		unsigned int a, s;

		if (row->frames != frames || row->part)
			continue;
		a = find_name(t->algos, &t->nr_algos, ARRAY_SIZE(t->algos),
			      row->algo);
		s = find_name(t->shapes, &t->nr_shapes, MAX_COLUMNS,
			      row->shape);
		if (a < ARRAY_SIZE(t->algos) && s < MAX_COLUMNS)
			t->cells[a][s] = row;
	}
}

static void print_heading(const struct table *t, const char *first, FILE *out)
{
	fprintf(out, "  %-9s", first);
	for (unsigned int s = 0; s < t->nr_shapes; s++)
		fprintf(out, "  %-26s", t->shapes[s]);
	fprintf(out, "\n");
}

static void print_times(const struct table *t, FILE *out)
{
	print_heading(t, "ns/page", out);
	fprintf(out, "  %-9s", "");
	for (unsigned int s = 0; s < t->nr_shapes; s++)
		fprintf(out, "  %-13s%-13s", "get (xlimit)", "put (xlimit)");
	fprintf(out, "\n");
	for (unsigned int a = 0; a < t->nr_algos; a++) {
		fprintf(out, "  %-9s", t->algos[a]);
		for (unsigned int s = 0; s < t->nr_shapes; s++) {
			const struct bench_row *row = t->cells[a][s];

			if (!row || (row->status != BENCH_OK &&
				     !row->get_ns.median))
				fprintf(out, "  %-26s", "-");
			else
				fprintf(out, "  %6.2f %-6.2f%6.2f %-6.2f ",
					row->get_ns.median, row->get_ratio,
					row->put_ns.median, row->put_ratio);
		}
		fprintf(out, "\n");
	}
}

/* Nanoseconds a page times pages is what the whole costs. */
static void print_totals(const struct table *t, FILE *out)
{
	print_heading(t, "total us", out);
	for (unsigned int a = 0; a < t->nr_algos; a++) {
		fprintf(out, "  %-9s", t->algos[a]);
		for (unsigned int s = 0; s < t->nr_shapes; s++) {
			const struct bench_row *row = t->cells[a][s];
			double pages = row ? row->bytes / PAGE_SIZE : 0;

			if (row)
				fprintf(out, "  get %8.0f put %8.0f  ",
					row->get_ns.median * pages / 1000,
					row->put_ns.median * pages / 1000);
		}
		fprintf(out, "\n");
	}
}

static const struct bench_row *table_row(const struct table *t,
					 const char *algo, unsigned int shape)
{
	for (unsigned int a = 0; a < t->nr_algos; a++)
		if (!strcmp(t->algos[a], algo))
			return t->cells[a][shape];
	return NULL;
}

static void print_events(const struct table *t, FILE *out)
{
	for (unsigned int s = 0; s < t->nr_shapes; s++) {
		for (unsigned int a = 0; a < t->nr_algos; a++) {
			const struct bench_row *row = t->cells[a][s];

			if (!row || !row->has_events ||
			    !strcmp(row->algo, "limit"))
				continue;
			fprintf(out, "  %-10s %-9s get: walks %.4f  ptl %.4f  "
				"atomics %.4f  lookups %.4f   put: atomics "
				"%.4f  lookups %.4f\n", t->shapes[s], row->algo,
				row->get_events[EV_WALKS],
				row->get_events[EV_PTL],
				row->get_events[EV_ATOMICS],
				row->get_events[EV_FOLIO_LOOKUPS],
				row->put_events[EV_ATOMICS],
				row->put_events[EV_FOLIO_LOOKUPS]);
		}
	}
}

/* How much faster rows are than others, beside what was published. */
static void print_gains(const struct bench_suite *suite, const struct table *t,
			FILE *out)
{
	for (unsigned int i = 0; i < suite->nr_gains; i++) {
		const struct bench_gain *g = &suite->gains[i];

		for (unsigned int s = 0; s < t->nr_shapes; s++) {
			const struct bench_row *slow = table_row(t, g->slow, s);
			const struct bench_row *fast = table_row(t, g->fast, s);

			if (strcmp(t->shapes[s], g->shape) || !slow || !fast ||
			    !slow->get_ns.median || !fast->get_ns.median)
				continue;
			fprintf(out, "  %-10s get: %s is %.2fx as fast as %s"
				"%s%s\n", g->shape, g->fast,
				slow->get_ns.median / fast->get_ns.median,
				g->slow, *g->published ?
				"; published for Linux: " : "", g->published);
		}
	}
}

static void print_failures(const struct bench_result *result, FILE *out)
{
	for (unsigned int i = 0; i < result->nr_rows; i++) {
		const struct bench_row *row = &result->rows[i];

		if (row->status != BENCH_OK)
			fprintf(out, "  %s %s, frames %s: %s: %s\n", row->shape,
				row->algo, bench_frames_name(row->frames),
				row->status == BENCH_FAILED ? "FAILED" :
							      "skipped",
				row->reason);
	}
}

static void print_preamble(const struct bench_suite *suite,
			   const struct bench_options *o,
			   const struct bench_result *r, FILE *out)
{
	u64 bytes = r->nr_rows ? r->rows[0].bytes : 0;

	fprintf(out, "%s: %s of %.1f MiB, ", suite->name, suite->call,
		bytes / 1048576.0);
	if (o->pages_per_call)
		fprintf(out, "%lu pages a call, ", o->pages_per_call);
	fprintf(out, "%u thread%s", o->threads, o->threads > 1 ? "s" : "");
	/* Its parts differ. */
	if (!r->nr_rows || !r->rows[0].populate)
		fprintf(out, ", medians of %u", o->repeats);
	fprintf(out, "\n");
	if (r->metadata_only)
		fprintf(out, "arena: metadata only, page tables are real\n");
	else if (r->arena_bytes)
		fprintf(out, "arena: %" PRIu64 " MiB, %.0f%% of it in huge pages "
			"of the host\n", r->arena_bytes >> 20,
			100.0 * r->arena_huge_bytes / r->arena_bytes);
	if (!o->layout)
		return;
	fprintf(out, "layout of %s: file mappings rebuilt as anonymous memory: "
		"%lu pages; not accessible, left out: %lu pages\n",
		o->layout->source, r->marked_pages, r->skipped_pages);
	if (!o->layout->orders_known)
		fprintf(out, "folio orders of the process are not known: "
			"assumed 4K where unknown\n");
}

void report_tables(const struct bench_suite *suite,
		   const struct bench_options *options,
		   const struct bench_result *result, FILE *out)
{
	static const unsigned int frames[] = { FRAMES_ORDERED, FRAMES_SHUFFLED,
					       0 };
	struct table t;

	print_preamble(suite, options, result, out);
	for (unsigned int f = 0; f < ARRAY_SIZE(frames); f++) {
		fill_table(&t, result, frames[f]);
		if (!t.nr_shapes)
			continue;
		fprintf(out, "\nframes %s\n", bench_frames_name(frames[f]));
		print_times(&t, out);
		if (options->layout)
			print_totals(&t, out);
		fprintf(out, "\n");
		print_gains(suite, &t, out);
		print_events(&t, out);
	}
	if (suite->report)
		suite->report(result, out);
	print_failures(result, out);
}

/* ---- JSON -------------------------------------------------------------------- */

static json_t *figure_json(struct bench_figure f)
{
	return json_pack("{s:f, s:f, s:f}", "median", f.median, "min", f.min,
			 "max", f.max);
}

/* Of page tables, or of the page cache: what the suite is about. */
static json_t *events_json(const struct bench_row *row, const double *events)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (i == EV_ATOMICS || i == EV_FOLIO_LOOKUPS ||
		    row->populate == (i == EV_XA_LOCK || i == EV_XA_DESCENTS))
			json_object_set_new(object, event_names[i],
					    json_real(events[i]));
	return object;
}

static void add_populate(json_t *j, const struct bench_row *row)
{
	json_object_set_new(j, "copy", json_boolean(row->copy));
	if (row->get_ns.median) {
		json_object_set_new(j, "ns_per_page", figure_json(row->get_ns));
		json_object_set_new(j, "gib_per_s",
				    json_real(bench_gib_per_s(row)));
		json_object_set_new(j, "limit_ratio",
				    json_real(row->get_ratio));
	}
	if (row->has_events)
		json_object_set_new(j, "events",
			json_pack("{s:o}", "get",
				  events_json(row, row->get_events)));
}

static json_t *row_json(const struct bench_row *row)
{
	static const char *const status[] = { "ok", "skipped", "failed" };
	json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "schema", 1,
			      "suite", row->suite, "algo", row->algo, "source",
			      "engine", "status", status[row->status], "shape",
			      row->shape);

	if (row->status != BENCH_OK)
		json_object_set_new(j, "reason", json_string(row->reason));
	if (row->part)
		json_object_set_new(j, "part", json_string(row->part));
	if (row->folio_bytes)
		json_object_set_new(j, "folio_bytes",
				    json_integer(row->folio_bytes));
	json_object_set_new(j, "frames",
			    json_string(bench_frames_name(row->frames)));
	json_object_set_new(j, "bytes", json_integer(row->bytes));
	json_object_set_new(j, "pages_per_call",
			    json_integer(row->pages_per_call));
	json_object_set_new(j, "threads", json_integer(row->threads));
	json_object_set_new(j, "repeats", json_integer(row->repeats));
	if (row->populate)
		add_populate(j, row);
	if (row->get_ns.median && !row->populate) {
		json_object_set_new(j, "get_ns_per_page",
				    figure_json(row->get_ns));
		json_object_set_new(j, "put_ns_per_page",
				    figure_json(row->put_ns));
		json_object_set_new(j, "get_limit_ratio",
				    json_real(row->get_ratio));
		json_object_set_new(j, "put_limit_ratio",
				    json_real(row->put_ratio));
	}
	if (row->has_kept)
		json_object_set_new(j, "kept_per_call", json_real(row->kept));
	if (row->has_events && !row->populate)
		json_object_set_new(j, "events",
			json_pack("{s:o, s:o}",
				  "get", events_json(row, row->get_events),
				  "put", events_json(row, row->put_events)));
	return j;
}

int report_json(const struct bench_result *result, FILE *out)
{
	for (unsigned int i = 0; i < result->nr_rows; i++) {
		json_t *j = row_json(&result->rows[i]);
		int bad = !j || json_dumpf(j, out, JSON_COMPACT |
					   JSON_REAL_PRECISION(6)) ||
			  fputc('\n', out) == EOF;

		json_decref(j);
		if (bad)
			return -EIO;
	}
	return 0;
}
