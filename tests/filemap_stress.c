/* SPDX-License-Identifier: MIT */
/*
 * Claim: while batches that overlap come and are truncated, evicted, split,
 * written and invalidated, whoever finds a folio finds the bytes of its index,
 * each walk goes on, and what is punched with the invalidate lock held is not
 * found again; nobody waits for ever, and in the end every page, reference,
 * node and frame is accounted for.
 *
 * The same with three indices, so that nearly every lookup meets frames that
 * are freed and used again.  Each test goes on until each of its threads has
 * succeeded 20 times; PINFOLD_STRESS_SECONDS is the shortest time (0.4).
 *
 * Source: semantics/filemap.md 6.2 (K1 to K18), B8, B13, B14, C17, C28
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "host/clock.h"
#include "mm/filemap_grab.h"
#include "mm/folio_split.h"
#include "mm/swap.h"
#include "mm/truncate.h"
#include "mm/vmscan.h"

#include <pthread.h>
#include <sched.h>

#define SPAN		160u	/* three leaves */
#define MOST_ORDER	6u	/* one slot above the leaves */
#define ENOUGH		20
#define SECOND		1000000000ull
#define LIMIT		(120 * SECOND)

struct worker;

struct job {
	const char *name;
	void (*run)(struct worker *w);
};

#define MOST_WORKERS	10

static struct worker {
	const struct job *job;
	pthread_t thread;
	struct random rnd;
	unsigned long done;		/* what succeeded */
	struct folio_grab grab;
} workers[MOST_WORKERS];

static bool stop;
static pgoff_t span;
static u64 born[SPAN];		/* invalidate_lock: what is older was punched */
static u64 now;			/* likewise */

static pgoff_t somewhere(struct worker *w)
{
	return random_below(&w->rnd, span);
}

static void did(struct worker *w)
{
	WRITE_ONCE(w->done, w->done + 1);
}

/* ---- bytes: a page's index, and when it was filled ---------------- */

static u64 *words_of(struct folio *folio, unsigned long page)
{
	return page_address(folio_page(folio, page));
}

/* The folio is locked. */
static void fill(struct folio *folio)
{
	if (folio_test_uptodate(folio))
		return;
	for (long i = 0; i < folio_nr_pages(folio); i++) {
		words_of(folio, i)[0] = folio->index + i;
		words_of(folio, i)[1] = READ_ONCE(now);
	}
	folio_mark_uptodate(folio);
}

/* A hole in a folio that is dirty and in use is zeroes, not a hole. */
static void check(struct folio *folio, pgoff_t index)
{
	u64 word;

	BUG_ON(!folio_test_locked(folio) || folio->mapping != &map);
	BUG_ON(!folio_contains(folio, index));
	if (!folio_test_uptodate(folio))
		return;
	word = *words_of(folio, index - folio->index);
	BUG_ON(word != index && word);
}

static struct folio *lock(pgoff_t index)
{
	struct folio *folio = filemap_lock_folio(&map, index);

	if (IS_ERR(folio))
		return NULL;
	check(folio, index);
	return folio;
}

/* ---- what threads do ---------------------------------------------- */

static void grab_range(struct worker *w, pgoff_t start, pgoff_t nr,
		       unsigned int order)
{
	int got = filemap_grab_folios(&map, start, nr, FGP_LOCK | FGP_CREAT,
				      map.gfp_mask, order, &w->grab);
	pgoff_t next = start;

	/* Without memory: who holds the rest goes on. */
	BUG_ON(got < 1 && got != -ENOMEM);
	for (int i = 0; i < got; i++) {
		struct folio *folio = w->grab.folios[i];

		BUG_ON(i && folio->index != next);
		check(folio, next);
		fill(folio);
		next = folio_next_index(folio);
	}
	BUG_ON(w->grab.next != next);
	for (int i = 0; i < got; i++)
		let_go(w->grab.folios[i]);
	if (got > 0)
		did(w);
}

static void grab_low(struct worker *w)
{
	grab_range(w, 0, 1 + somewhere(w),
		   (unsigned int)random_below(&w->rnd, MOST_ORDER + 1));
}

static void grab_high(struct worker *w)
{
	pgoff_t start = somewhere(w);

	grab_range(w, start, span - start, 0);
}

static void grab_one(struct worker *w)
{
	pgoff_t index = somewhere(w);
	struct folio *folio = filemap_grab_folio(&map, index);

	BUG_ON(IS_ERR(folio) && PTR_ERR(folio) != -ENOMEM);
	if (IS_ERR(folio))
		return;
	check(folio, index);
	fill(folio);
	let_go(folio);
	did(w);
}

static void shorten(struct worker *w)
{
	pgoff_t start = somewhere(w);
	pgoff_t nr = 1 + random_below(&w->rnd, 40);

	truncate_inode_pages_range(&map, start << PAGE_SHIFT,
				   ((start + nr) << PAGE_SHIFT) - 1);
	did(w);
}

static void evict(struct worker *w)
{
	if (try_to_free_pages(the_machine(), 0, map.gfp_mask))
		did(w);
	/* The others should meet folios. */
	sched_yield();
}

static void split(struct worker *w)
{
	struct folio *folio = lock(somewhere(w));

	if (!folio)
		return;
	if (folio_test_large(folio) &&
	    !split_folio_to_order(folio, (unsigned int)
				  random_below(&w->rnd, folio_order(folio))))
		did(w);
	let_go(folio);
}

/* Who writes has no reference meanwhile: the cache's has to last. */
static void write_back(struct worker *w)
{
	struct folio *folio = lock(somewhere(w));

	if (!folio)
		return;
	folio_mark_dirty(folio);
	if (!random_chance(&w->rnd, 50) || !folio_clear_dirty_for_io(folio)) {
		let_go(folio);
		return;
	}
	folio_wait_writeback(folio);
	folio_start_writeback(folio);
	let_go(folio);
	sched_yield();
	folio_end_writeback(folio);
	did(w);
}

static void invalidate(struct worker *w)
{
	pgoff_t start = somewhere(w);

	if (random_chance(&w->rnd, 50))
		(void)!invalidate_inode_pages2_range(&map, start, start + 3);
	if (invalidate_mapping_pages(&map, start, start + 20))
		did(w);
}

static void look(struct worker *w)
{
	pgoff_t index = somewhere(w);
	struct folio *folio = filemap_get_entry(&map, index);

	if (!folio || xa_is_value(folio))
		return;
	/* Removed it may be, but it is not another one. */
	BUG_ON(!folio_contains(folio, index) || folio_ref_count(folio) < 1);
	folio_put(folio);
	folio = lock(index);
	if (!folio)
		return;
	let_go(folio);
	did(w);
}

static void walk(struct worker *w)
{
	pgoff_t start = somewhere(w), last = 0;
	const bool tagged = random_chance(&w->rnd, 50);
	struct folio_batch batch;

	folio_batch_init(&batch);
	if (tagged)
		filemap_get_folios_tag(&map, &start, span - 1,
				       PAGECACHE_TAG_DIRTY, &batch);
	else
		filemap_get_folios(&map, &start, span - 1, &batch);
	for (unsigned int i = 0; i < batch.nr; i++) {
		/* One may have come in place of the last, larger or smaller. */
		BUG_ON(i && folio_next_index(batch.folios[i]) <= last + 1);
		last = batch.folios[i]->index;
	}
	if (batch.nr)
		did(w);
	folio_batch_release(&batch);
}

/* B14, C17: what was there before the hole is not found behind it. */
static void punch(struct worker *w)
{
	pgoff_t start = somewhere(w);
	pgoff_t nr = 1 + random_below(&w->rnd, span - start);

	down_write(&map.invalidate_lock);
	truncate_inode_pages_range(&map, start << PAGE_SHIFT,
				   ((start + nr) << PAGE_SHIFT) - 1);
	WRITE_ONCE(now, now + 1);
	for (pgoff_t i = start; i < start + nr; i++) {
		BUG_ON(xa_load(&map.i_pages, i));
		born[i] = now;
	}
	up_write(&map.invalidate_lock);
	did(w);
	sched_yield();
}

/* Whoever was first: the bytes are younger than the hole. */
static void check_age(struct folio *folio, pgoff_t first)
{
	for (pgoff_t i = max(first, folio->index);
	     i < min(folio_next_index(folio), (pgoff_t)SPAN); i++)
		BUG_ON(words_of(folio, i - folio->index)[1] < born[i]);
}

static void grab_shared(struct worker *w)
{
	const pgoff_t start = somewhere(w);
	int got;

	down_read(&map.invalidate_lock);
	got = filemap_grab_folios(&map, start, span - start,
				  FGP_LOCK | FGP_CREAT, map.gfp_mask,
				  (unsigned int)random_below(&w->rnd, 4),
				  &w->grab);
	BUG_ON(got < 1 && got != -ENOMEM);
	for (int i = 0; i < got; i++) {
		fill(w->grab.folios[i]);
		check_age(w->grab.folios[i], start);
		let_go(w->grab.folios[i]);
	}
	up_read(&map.invalidate_lock);
	if (got > 0)
		did(w);
}

/* ---- all at once -------------------------------------------------- */

static void *work(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	filemap_grab_init(&w->grab);
	while (!READ_ONCE(stop))
		w->job->run(w);
	filemap_grab_end(&w->grab);
	machine_leave(previous);
	return NULL;
}

static u64 stress_ns(void)
{
	const char *set = getenv("PINFOLD_STRESS_SECONDS");

	return (u64)((set ? strtod(set, NULL) : 0.4) * SECOND);
}

static bool enough(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (READ_ONCE(workers[i].done) < ENOUGH)
			return false;
	return true;
}

static void run_jobs(const struct job *jobs, unsigned int nr, pgoff_t width)
{
	const u64 begin = clock_ns(), least = stress_ns();
	struct random rnd;

	random_init(&rnd);
	cache_begin_orders(0, MOST_ORDER);
	span = width;
	now = 0;
	memset(born, 0, sizeof(born));
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < nr; i++) {
		workers[i] = (struct worker){ .job = &jobs[i] };
		workers[i].rnd.state = random_next(&rnd);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	while (clock_ns() - begin < (enough(nr) ? least : least + LIMIT))
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		fprintf(stderr, "%-12s %lu\n", jobs[i].name, workers[i].done);
	}
	assert_true(enough(nr));
	lru_add_drain_all(the_machine());
	cache_end();
}

static void fm_B8_B13_everything(void **state)
{
	static const struct job jobs[] = {
		{ "low", grab_low }, { "high", grab_high },
		{ "one", grab_one }, { "truncate", shorten },
		{ "evict", evict }, { "split", split },
		{ "write", write_back }, { "invalidate", invalidate },
		{ "look", look }, { "walk", walk },
	};

	(void)state;
	run_jobs(jobs, ARRAY_SIZE(jobs), SPAN);
}

static void fm_B14_C17_holes(void **state)
{
	static const struct job jobs[] = {
		{ "grab", grab_shared }, { "grab", grab_shared },
		{ "punch", punch }, { "look", look }, { "split", split },
	};

	(void)state;
	run_jobs(jobs, ARRAY_SIZE(jobs), SPAN);
}

static void fm_C28_frames_used_again(void **state)
{
	static const struct job jobs[] = {
		{ "low", grab_low }, { "high", grab_high },
		{ "truncate", shorten }, { "evict", evict },
		{ "look", look }, { "look", look }, { "walk", walk },
	};

	(void)state;
	run_jobs(jobs, ARRAY_SIZE(jobs), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fm_B8_B13_everything),
		cmocka_unit_test(fm_B14_C17_holes),
		cmocka_unit_test(fm_C28_frames_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
