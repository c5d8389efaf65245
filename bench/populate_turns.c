/* SPDX-License-Identifier: MIT */
/*
 * One machine and one file, filled again and again by threads.
 *
 * 1. All memory is touched before the clock starts, but in cold parts, where
 *    each turn has a machine of its own.
 * 2. Frames wait on the CPU list of the thread that uses them, last freed first
 *    used.  Whatever order they are in stays as it is.
 * 3. The source says something else in each turn, so what is found afterwards
 *    was copied in this one.
 */
#include "bench/populate.h"

#include "host/backend.h"
#include "host/clock.h"
#include "host/errtext.h"
#include "host/rcu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_BYTES	((u64)32 << 20)
#define GRANULE		((u64)PAGE_SIZE << MAX_PAGE_ORDER)
#define LINES		(PAGE_SIZE / 64)

enum { START_WAIT, START_GO, START_CANCEL };

/* ---- contents ---------------------------------------------------------------- */

/* Which word of a page carries the stamp: another one in each turn. */
static size_t stamp_place(const struct populate *p, pgoff_t index)
{
	struct random r = { p->stamp ^ index };
	u64 line = random_below(&r, LINES);

	return (index << PAGE_SHIFT) + line * 64 + random_below(&r, 8) * 8;
}

static void stamp_source(struct populate *p)
{
	p->stamp = random_next(&p->random);
	for (pgoff_t i = 0; i < p->nr_pages; i++) {
		u64 word = p->stamp + i;

		memcpy(p->source + stamp_place(p, i), &word, sizeof(word));
	}
}

/* @bytes: of page @index, copied */
static bool page_is_right(const struct populate *p, pgoff_t index,
			  const char *bytes)
{
	const size_t page = index << PAGE_SHIFT;
	const u64 word = p->stamp + index;

	if (memcmp(bytes + (stamp_place(p, index) - page), &word, sizeof(word)))
		return false;
	return !p->careful || !memcmp(bytes, p->source + page, PAGE_SIZE);
}

struct census {
	unsigned long folios, ascending, adjacent;
};

static int check_folio(const struct populate *p, struct folio *folio,
		       pgoff_t index)
{
	const unsigned long nr = 1UL << p->order;

	if (folio->index != index || folio_order(folio) != p->order)
		return fail(-EINVAL, "index %" PRIu64 " is in a folio of order %"
			    PRIu64 " at %" PRIu64, index, folio_order(folio),
			    folio->index);
	for (unsigned long i = 0; p->copy && i < nr; i++) {
		const char *bytes = page_address(folio_page(folio, i));

		if (!folio_test_uptodate(folio) ||
		    !page_is_right(p, index + i, bytes))
			return fail(-EINVAL, "page %" PRIu64 " does not say what "
				    "the source says", index + i, 0, 0);
	}
	return 0;
}

static int check_order(const struct populate *p, const struct census *c)
{
	if (!p->shuffled && c->ascending + p->nr_lanes < c->folios)
		return fail(-EINVAL, "only %" PRIu64 " of %" PRIu64 " folios lie "
			    "above the one before", c->ascending + 1, c->folios,
			    0);
	if (p->shuffled && c->folios > 16 && c->adjacent > c->folios / 4)
		return fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " folios directly "
			    "follow the one before", c->adjacent, c->folios, 0);
	return 0;
}

/* Is the file what it claims to be?  Nobody else is at it. */
static int check_file(struct populate *p)
{
	XA_STATE(xas, &p->gmem->mapping.i_pages, 0);
	struct census c = { 0 };
	pf_pfn_t last = 0;
	pgoff_t index = 0;
	struct folio *folio;
	int err = 0;

	rcu_read_lock();
	xas_for_each(&xas, folio, (unsigned long)-1) {
		pf_pfn_t pfn = folio_pfn(folio);

		err = check_folio(p, folio, index);
		if (err)
			break;
		index += 1UL << p->order;
		c.folios++;
		c.ascending += last && pfn > last;
		c.adjacent += last && pfn == last + (1UL << p->order);
		last = pfn;
	}
	rcu_read_unlock();
	if (!err && index != p->nr_pages)
		err = fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " pages are in the "
			   "file", index, p->nr_pages, 0);
	/* Of a file that was half there, the other half came later. */
	if (!err && p->file != FILE_HALF)
		err = check_order(p, &c);
	return err;
}

static int check_target(const struct populate *p)
{
	for (pgoff_t i = 0; i < p->nr_pages; i++)
		if (!page_is_right(p, i, p->target + (i << PAGE_SHIFT)))
			return fail(-EINVAL, "memcpy() did not copy page %" PRIu64,
				    i, 0, 0);
	return 0;
}

/* ---- before and after ------------------------------------------------------- */

/* Folios number first, first + step ... of the stripe are added. */
static int add_some(struct populate_lane *lane, unsigned int first,
		    unsigned int step)
{
	struct populate *p = lane->p;

	for (pgoff_t index = lane->start + ((pgoff_t)first << p->order);
	     index < lane->end; index += (pgoff_t)step << p->order) {
		struct folio *folio = folio_alloc(p->gmem->mapping.gfp_mask, p->order);
		int err = -ENOMEM;

		if (folio)
			err = filemap_add_folio(&p->gmem->mapping, folio, index,
						p->gmem->mapping.gfp_mask);
		if (err)
			return err;
		folio_unlock(folio);
		folio_put(folio);
	}
	return 0;
}

static int fill_before(struct populate_lane *lane)
{
	switch (lane->p->file) {
	case FILE_HALF:
		return add_some(lane, 1, 2);
	case FILE_FULL:
		return add_some(lane, 0, 1);
	default:
		return 0;
	}
}

/* Backward, and what was there last goes first: see 2. */
static void remove_some(struct populate_lane *lane, unsigned int first,
			unsigned int step)
{
	struct populate *p = lane->p;
	const pgoff_t nr = (lane->end - lane->start) >> p->order;

	for (pgoff_t i = nr; i-- > 0;) {
		struct folio *folio;

		if (i % step != first)
			continue;
		folio = filemap_lock_folio(&p->gmem->mapping,
					   lane->start + (i << p->order));
		if (IS_ERR(folio))
			continue;
		filemap_remove_folio(folio);
		folio_unlock(folio);
		folio_put(folio);
	}
}

static void empty_stripe(struct populate_lane *lane)
{
	const bool half = lane->p->file == FILE_HALF;

	if (half)
		remove_some(lane, 0, 2);
	remove_some(lane, half ? 1 : 0, half ? 2 : 1);
}

/* Take what the stripe needs, give it back in random order. */
static int shuffle_stripe(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	const unsigned long nr = (lane->end - lane->start) >> p->order;
	struct folio **folios = calloc(nr + 1, sizeof(*folios));
	struct random r = { p->options->seed + lane->start };
	unsigned long got = 0;

	while (folios && got < nr &&
	       (folios[got] = folio_alloc(p->gmem->mapping.gfp_mask, p->order)))
		got++;
	for (unsigned long i = got; i > 0; i--) {
		unsigned long k = random_below(&r, i);

		folio_put(folios[k]);
		folios[k] = folios[i - 1];
	}
	free(folios);
	return got == nr ? 0 : -ENOMEM;
}

/* ---- a turn ------------------------------------------------------------------ */

static void timed_fill(struct populate_lane *lane)
{
	u64 before[NR_EVENTS], start;

	gate_wait(&lane->p->gate);
	memcpy(before, event_counts, sizeof(before));
	start = clock_ns();
	lane->p->way->fill(lane);
	lane->ns += clock_ns() - start;
	for (unsigned int i = 0; COUNTING_BUILD && i < NR_EVENTS; i++)
		lane->events[i] += event_counts[i] - before[i];
	gate_wait(&lane->p->gate);
}

static int check_turn(struct populate *p)
{
	if (p->way->engine)
		return check_file(p);
	return p->copy && p->careful ? check_target(p) : 0;
}

static void run_round(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	const bool engine = p->way->engine;

	/* Both find descriptors in the caches as what goes before leaves them. */
	if (engine && !lane->err)
		lane->err = fill_before(lane);
	else if (!p->copy && p->file == FILE_FULL)
		populate_limit_add(lane);
	timed_fill(lane);
	if (lane == &p->lanes[0] && !lane->err)
		lane->err = check_turn(p);
	gate_wait(&p->gate);
	if (engine)
		empty_stripe(lane);
	else if (!p->copy)
		populate_limit_empty(lane);
	gate_wait(&p->gate);
}

static void run_lane(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	struct machine *previous = machine_enter(p->machine);
	unsigned int cpu = current->cpu;

	/* The same one in each turn: its frames are there. */
	current->cpu = (unsigned int)(lane - p->lanes) + 1;
	lane->ns = 0;
	lane->err = 0;
	memset(lane->events, 0, sizeof(lane->events));
	if (p->way)
		for (unsigned int i = 0; i < p->rounds; i++)
			run_round(lane);
	else
		lane->err = shuffle_stripe(lane);
	current->cpu = cpu;
	machine_leave(previous);
}

static void lane_thread(void *arg)
{
	struct populate_lane *lane = arg;
	u32 start;

	while ((start = READ_ONCE(lane->p->start)) == START_WAIT)
		cpu_relax();
	if (start == START_GO)
		run_lane(lane);
}

/* The gate opens for all lanes or none, so none goes before all exist. */
static int run_lanes(struct populate *p)
{
	struct backend_thread *threads[BENCH_MAX_THREADS];
	unsigned int nr = 1;
	int err = 0;

	WRITE_ONCE(p->start, START_WAIT);
	for (; nr < p->nr_lanes && !err; nr += !err)
		err = backend_thread_create(&threads[nr], lane_thread,
					    &p->lanes[nr]);
	WRITE_ONCE(p->start, err ? START_CANCEL : START_GO);
	if (!err)
		run_lane(&p->lanes[0]);
	while (--nr)
		backend_thread_join(threads[nr]);
	return err ? fail(err, "cannot start %" PRIu64 " threads", p->nr_lanes,
			  0, 0) : 0;
}

static char *get_bytes(u64 bytes, bool touch)
{
	char *memory = host_reserve(bytes, HPAGE_PMD_SIZE);

	if (memory && host_commit(memory, bytes, true, false)) {
		host_release(memory, bytes);
		memory = NULL;
	}
	if (memory && touch)
		host_touch(memory, bytes);
	return memory;
}

static int make_machine(struct populate *p, bool touch)
{
	const struct bench_options *o = p->options;
	const u64 bytes = ALIGN(o->bytes, GRANULE) + SLACK_BYTES;
	int err = machine_create(&(struct machine_options){
		.memory_bytes = bytes + o->movable_bytes + o->cma_bytes,
		.touch = touch,
		.nr_cpus = BENCH_MAX_THREADS,
		.pcp_high = bytes >> PAGE_SHIFT,
		.movable_bytes = o->movable_bytes,
		.cma_bytes = o->cma_bytes,
	}, &p->machine);

	struct machine *previous;

	if (err)
		return err;
	previous = machine_enter(p->machine);
	err = guest_memfd_create(o->bytes, p->order, &p->gmem);
	machine_leave(previous);
	return err;
}

static void drop_machine(struct populate *p)
{
	struct machine *previous;

	if (!p->machine)
		return;
	previous = machine_enter(p->machine);
	if (p->gmem)
		guest_memfd_destroy(p->gmem);
	machine_leave(previous);
	machine_destroy(p->machine);
	p->gmem = NULL;
	p->machine = NULL;
}

/* Cold: the memory is the host's until the clock runs. */
static void make_cold(struct populate *p)
{
	drop_machine(p);
	host_release(p->target, p->options->bytes);
	p->target = NULL;
}

static void fill_source(struct populate *p)
{
	for (u64 i = 0; i < p->options->bytes; i += sizeof(u64)) {
		u64 word = random_next(&p->random);

		memcpy(p->source + i, &word, sizeof(word));
	}
}

/* What is copied from and, by the limit, to. */
static int get_contents(struct populate *p)
{
	if (!p->source) {
		p->source = get_bytes(p->options->bytes, false);
		if (p->source)
			fill_source(p);
	}
	if (!p->target)
		p->target = get_bytes(p->options->bytes, !p->cold);
	if (!p->source || !p->target)
		return fail(-ENOMEM, "no memory for %" PRIu64 " bytes twice",
			    p->options->bytes, 0, 0);
	/* memcpy() is looked at once. */
	if (p->way->engine || p->careful)
		stamp_source(p);
	return 0;
}

static int begin_turn(struct populate *p)
{
	int err = 0;

	if (p->cold)
		make_cold(p);
	if (p->copy)
		err = get_contents(p);
	if (err)
		return err;
	return p->machine ? 0 : make_machine(p, !p->cold);
}

int populate_turn(struct populate *p, const struct populate_way *way,
		  double *ns)
{
	u64 slowest = 0;
	int err;

	p->way = way;
	err = begin_turn(p);
	if (!err)
		err = run_lanes(p);
	for (unsigned int i = 0; i < p->nr_lanes && !err; i++) {
		struct populate_lane *lane = &p->lanes[i];

		err = lane->err;
		if (err && error_note.err != err)
			fail(err, "a thread could not fill its part of the file",
			     0, 0, 0);
		slowest = max(slowest, lane->ns);
	}
	*ns = (double)slowest / ((double)p->rounds * (double)p->nr_pages);
	return err;
}

/* ---- a column ---------------------------------------------------------------- */

/* Stripes are cut where no folio, and no leaf of the index, is in two. */
static void cut_stripes(struct populate *p)
{
	const pgoff_t unit = HPAGE_PMD_NR, nr = p->nr_pages;
	pgoff_t at = 0;

	for (unsigned int i = 0; i < p->nr_lanes; i++) {
		p->lanes[i].p = p;
		p->lanes[i].start = at;
		at = ALIGN_DOWN(nr * (i + 1) / p->nr_lanes, unit);
		p->lanes[i].end = at;
	}
}

int populate_begin(struct populate *p, const struct bench_options *options,
		   unsigned int order, bool shuffled)
{
	int err;

	*p = (struct populate){
		.options = options, .order = order, .shuffled = shuffled,
		.nr_pages = options->bytes >> PAGE_SHIFT, .rounds = 1,
		.random = { options->seed }, .nr_lanes = options->threads,
		.gate = { .nr_lanes = options->threads },
	};
	cut_stripes(p);
	err = populate_limit_begin(&p->limit, p->nr_pages, order,
				   shuffled ? &p->random : NULL);
	if (!err)
		err = make_machine(p, true);
	/* Without a way to fill it, the frames are shuffled. */
	if (!err && shuffled)
		err = run_lanes(p);
	for (unsigned int i = 0; i < p->nr_lanes && !err; i++)
		if (p->lanes[i].err)
			err = fail(p->lanes[i].err, "no memory to shuffle the "
				   "frames", 0, 0, 0);
	if (err)
		populate_end(p);
	return err;
}

void populate_end(struct populate *p)
{
	drop_machine(p);
	populate_limit_end(&p->limit);
	host_release(p->source, p->options->bytes);
	host_release(p->target, p->options->bytes);
}
