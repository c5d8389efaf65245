/* SPDX-License-Identifier: MIT */
#include "bench/turns.h"

#include "bench/gate.h"
#include "host/backend.h"
#include "host/clock.h"
#include "host/errtext.h"
#include "mm/gup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS	1500000		/* a sample takes about this long */
#define MAX_ROUNDS	512

enum { START_WAIT, START_GO, START_CANCEL };

struct side {
	u64 ns;
	u64 events[NR_EVENTS];
};

struct lane {			/* one thread */
	struct share share;
	struct turns *turns;
	struct side get, put;
};

struct turns {
	const struct bench_options *options;
	struct shape *shape;
	const struct contestant *contestant;
	unsigned int rounds;		/* passes in one sample */
	unsigned int nr_lanes;
	struct gate gate;
	u32 start;			/* START_*: may the lanes go? */
	struct lane lanes[BENCH_MAX_THREADS];
	struct page **pages;
};

/* ---- one turn ---------------------------------------------------------------- */

static void do_get(struct lane *lane)
{
	const struct contestant *c = lane->turns->contestant;

	lane->share.got = c->get(c, &lane->share);
}

static void do_put(struct lane *lane)
{
	const struct contestant *c = lane->turns->contestant;

	c->put(c, &lane->share);
}

static void timed(struct lane *lane, struct side *side,
		  void (*work)(struct lane *))
{
	u64 before[NR_EVENTS], start;

	gate_wait(&lane->turns->gate);
	memcpy(before, event_counts, sizeof(before));
	start = clock_ns();
	work(lane);
	side->ns += clock_ns() - start;
	for (unsigned int i = 0; COUNTING_BUILD && i < NR_EVENTS; i++)
		side->events[i] += event_counts[i] - before[i];
}

static void run_lane(void *arg)
{
	struct lane *lane = arg;
	struct mm_struct *mm = lane->share.shape->mm;
	struct machine *previous = machine_enter(mm->machine);

	lane->get = (struct side){ 0 };
	lane->put = (struct side){ 0 };
	for (unsigned int i = 0; i < lane->turns->rounds; i++) {
		if (!lane->turns->contestant->unlocked)
			mmap_read_lock(mm);
		timed(lane, &lane->get, do_get);
		timed(lane, &lane->put, do_put);
		if (!lane->turns->contestant->unlocked)
			mmap_read_unlock(mm);
	}
	machine_leave(previous);
}

static void lane_thread(void *arg)
{
	struct lane *lane = arg;
	u32 start;

	while ((start = READ_ONCE(lane->turns->start)) == START_WAIT)
		cpu_relax();
	if (start == START_GO)
		run_lane(lane);
}

/* The gate opens for all lanes or none, so none goes before all exist. */
static int run_lanes(struct turns *t)
{
	struct backend_thread *threads[BENCH_MAX_THREADS];
	unsigned int nr = 1;
	int err = 0;

	WRITE_ONCE(t->start, START_WAIT);
	for (; nr < t->nr_lanes && !err; nr += !err)
		err = backend_thread_create(&threads[nr], lane_thread,
					    &t->lanes[nr]);
	WRITE_ONCE(t->start, err ? START_CANCEL : START_GO);
	if (!err)
		run_lane(&t->lanes[0]);
	while (--nr)
		backend_thread_join(threads[nr]);
	return err ? fail(err, "cannot start %" PRIu64 " threads", t->nr_lanes,
			  0, 0) : 0;
}

/* The engine's own reason, if it gave one. */
static int short_of_pages(const struct share *s)
{
	if (error_note.err)
		return error_note.err;
	return fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " pages were pinned",
		    s->got, s->nr_pages, 0);
}

/* Times a page of the whole shape, of the slowest lane. */
static int take_turn(struct turns *t, const struct contestant *c,
		     double *get_ns, double *put_ns)
{
	const double passes = (double)t->rounds * t->shape->nr_pages;
	u64 get = 0, put = 0;
	int err;

	t->contestant = c;
	error_note.err = 0;
	err = run_lanes(t);
	for (unsigned int i = 0; i < t->nr_lanes && !err; i++) {
		struct lane *lane = &t->lanes[i];

		if ((unsigned long)lane->share.got != lane->share.nr_pages)
			err = short_of_pages(&lane->share);
		get = max(get, lane->get.ns);
		put = max(put, lane->put.ns);
	}
	*get_ns = get / passes;
	*put_ns = put / passes;
	return err;
}

/* ---- pinning a share --------------------------------------------------------- */

static long pin_range(const struct share *s, const struct shape_range *r,
		      pin_chunk_fn pin, const void *arg, struct page **pages)
{
	const unsigned int flags = r->write ? FOLL_WRITE : 0;
	unsigned long done = 0;

	while (done < r->nr_pages) {
		unsigned long nr = min(s->pages_per_call, r->nr_pages - done);
		long got = pin(arg, s->shape->mm, r->start + done * PAGE_SIZE,
			       nr, flags, pages + done);

		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

long share_pin(struct share *s, pin_chunk_fn pin, const void *arg)
{
	long done = 0;

	for (size_t i = 0; i < s->nr_ranges; i++) {
		const struct shape_range *r = &s->ranges[i];
		long got = pin_range(s, r, pin, arg, s->pages + done);

		done += got;
		if ((unsigned long)got != r->nr_pages)
			break;
	}
	return done;
}

/* ---- the limit as a contestant ------------------------------------------------- */

static long limit_contestant_get(const struct contestant *c __maybe_unused,
				 struct share *share)
{
	return limit_get(&share->limit, share->pages);
}

static void limit_contestant_put(const struct contestant *c __maybe_unused,
				 struct share *share)
{
	limit_put(&share->limit, share->pages);
}

const struct contestant contestant_limit = {
	"limit", NULL, limit_contestant_get, limit_contestant_put, false,
};

/* ---- shares -------------------------------------------------------------------- */

static int add_piece(struct share *s, struct shape_range *r, unsigned long nr)
{
	struct shape_range *grown = realloc(s->ranges, sizeof(*grown) *
					    (s->nr_ranges + 1));

	if (!grown)
		return fail(-ENOMEM, "no memory for the threads' shares", 0, 0, 0);
	s->ranges = grown;
	grown[s->nr_ranges++] = (struct shape_range){ r->start, nr, r->write };
	s->nr_pages += nr;
	r->start += nr * PAGE_SIZE;
	r->nr_pages -= nr;
	return 0;
}

/* Equal shares, cut at multiples of 2 MiB so that no folio is in two. */
static int cut_shares(struct turns *t)
{
	const unsigned long want = t->shape->nr_pages / t->nr_lanes;
	unsigned int n = 0;

	for (size_t i = 0; i < t->shape->nr_ranges; i++) {
		struct shape_range r = t->shape->ranges[i];

		while (r.nr_pages) {
			struct share *s = &t->lanes[n].share;
			const bool last = n == t->nr_lanes - 1;
			unsigned long left = want - min(want, s->nr_pages);
			pf_addr_t cut = ALIGN(r.start + left * PAGE_SIZE,
					      PMD_SIZE);
			unsigned long nr = (cut - r.start) >> PAGE_SHIFT;
			int err;

			if (!last && !nr) {
				n++;
				continue;
			}
			err = add_piece(s, &r, last ? r.nr_pages :
						min(nr, r.nr_pages));
			if (err)
				return err;
			n += !last && s->nr_pages >= want;
		}
	}
	return 0;
}

static void turns_free(struct turns *t)
{
	for (unsigned int i = 0; i < t->nr_lanes; i++) {
		limit_free(&t->lanes[i].share.limit);
		free(t->lanes[i].share.ranges);
	}
	free(t->pages);
	free(t);
}

static int prepare(struct turns *t)
{
	struct page **pages = calloc(t->shape->nr_pages + 1, sizeof(*pages));
	int err = pages ? 0 : fail(-ENOMEM, "no memory for %" PRIu64 " slots",
				   t->shape->nr_pages, 0, 0);

	t->pages = pages;
	for (unsigned int i = 0; i < t->nr_lanes; i++) {
		t->lanes[i].turns = t;
		t->lanes[i].share.shape = t->shape;
		t->lanes[i].share.pages_per_call = t->options->pages_per_call;
	}
	if (!err)
		err = cut_shares(t);
	for (unsigned int i = 0; i < t->nr_lanes && !err; i++) {
		struct share *s = &t->lanes[i].share;

		s->pages = pages;
		pages += s->nr_pages;
		err = limit_prepare(&s->limit, t->shape, s->ranges,
				    s->nr_ranges, s->pages_per_call);
	}
	return err;
}

/* ---- rows ---------------------------------------------------------------------- */

static void fill_events(struct turns *t, struct bench_row *row)
{
	const double passes = (double)t->rounds * t->shape->nr_pages;

	row->has_events = COUNTING_BUILD;
	for (unsigned int e = 0; COUNTING_BUILD && e < NR_EVENTS; e++) {
		u64 get = 0, put = 0;

		for (unsigned int i = 0; i < t->nr_lanes; i++) {
			get += t->lanes[i].get.events[e];
			put += t->lanes[i].put.events[e];
		}
		row->get_events[e] = get / passes;
		row->put_events[e] = put / passes;
	}
}

/* As many rounds as make one sample of the limit SAMPLE_NS long. */
static int choose_rounds(struct turns *t)
{
	double get, put;
	int err;

	t->rounds = 1;
	err = take_turn(t, &contestant_limit, &get, &put);
	if (!err)
		err = take_turn(t, &contestant_limit, &get, &put);
	if (!err && !COUNTING_BUILD)
		t->rounds = min(SAMPLE_NS / (get * t->shape->nr_pages + 1) + 1,
				(double)MAX_ROUNDS);
	return err;
}

struct samples {
	double get[BENCH_MAX_REPEATS], put[BENCH_MAX_REPEATS];
};

static void summarise(struct samples *samples, struct bench_row *rows,
		      unsigned int nr, unsigned int repeats)
{
	const struct bench_row *limit = &rows[nr - 1];

	for (unsigned int i = 0; i < nr; i++) {
		rows[i].get_ns = bench_summary(samples[i].get, repeats);
		rows[i].put_ns = bench_summary(samples[i].put, repeats);
	}
	for (unsigned int i = 0; i < nr; i++) {
		rows[i].get_ratio = rows[i].get_ns.median / limit->get_ns.median;
		rows[i].put_ratio = rows[i].put_ns.median / limit->put_ns.median;
	}
}

static int measure(struct turns *t, const struct contestant *contestants,
		   struct bench_row *rows, unsigned int nr)
{
	const unsigned int repeats = COUNTING_BUILD ? 1 : t->options->repeats;
	struct samples *samples = calloc(nr, sizeof(*samples));
	int err = samples ? choose_rounds(t) :
			    fail(-ENOMEM, "no memory for samples", 0, 0, 0);

	/* Turn 0 warms up. */
	for (unsigned int r = 0; r <= repeats && !err; r++) {
		for (unsigned int i = 0; i < nr && !err; i++) {
			unsigned int slot = r ? r - 1 : 0;

			err = take_turn(t, &contestants[i],
					&samples[i].get[slot],
					&samples[i].put[slot]);
			fill_events(t, &rows[i]);
		}
	}
	if (!err)
		summarise(samples, rows, nr, repeats);
	free(samples);
	return err;
}

int turns_run(const struct bench_options *options, struct shape *shape,
	      const struct contestant *contestants, struct bench_row *rows,
	      unsigned int nr)
{
	struct turns *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return fail(-ENOMEM, "no memory for a benchmark", 0, 0, 0);
	t->options = options;
	t->shape = shape;
	t->nr_lanes = options->threads;
	t->gate.nr_lanes = options->threads;
	err = prepare(t);
	if (!err)
		err = measure(t, contestants, rows, nr);
	turns_free(t);
	return err;
}
