/* SPDX-License-Identifier: MIT */
/*
 * Claim: a batch that sleeps for a folio takes that folio anew when it wakes up,
 * whatever became of it; readers only ever see nothing, a shadow or a folio that
 * is all there; nothing that was there before a hole was punched is there
 * afterwards; and who comes too late for a frame does not disturb its next use.
 *
 * Source: semantics/filemap.md 3.3, 1.7 (R13), 6.2 (K1, K7), B13, B14, B21 of
 *         8.4, C17, C28 of 8.3; [filemap-recheck]
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "mm/filemap_grab.h"
#include "mm/folio_split.h"
#include "mm/truncate.h"

#include <pthread.h>
#include <time.h>

#define CREATE (FGP_LOCK | FGP_CREAT | FGP_ACCESSED)

static void sleep_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

static void start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	assert_int_equal(pthread_create(thread, NULL, fn, arg), 0);
}

/* ---- what became of it while the batch slept ------------------------------ */

#define AT	72u		/* an order-2 folio; the range begins two before */
#define NR	12u

static struct folio_grab g;
static int got;

static void *grab_range(void *arg)
{
	struct machine *previous = machine_enter(the_machine());

	filemap_grab_init(&g);
	got = filemap_grab_folios(&map, AT - 2, NR, CREATE, map.gfp_mask, 0,
				  &g);
	BUG_ON(got < 1);
	for (pgoff_t next = AT - 2, i = 0; i < g.nr; i++) {
		BUG_ON(g.folios[i]->mapping != &map ||
		       !folio_contains(g.folios[i], next) ||
		       (i && g.folios[i]->index != next));
		next = folio_next_index(g.folios[i]);
		BUG_ON(i + 1 == g.nr && next != g.next);
		let_go(g.folios[i]);
	}
	filemap_grab_end(&g);
	machine_leave(previous);
	return arg;
}

static void keep(struct folio *folio)
{
	(void)folio;
}

static void truncate_it(struct folio *folio)
{
	filemap_remove_folio(folio);
}

static void shadow_it(struct folio *folio)
{
	xa_lock(&map.i_pages);
	__filemap_remove_folio(folio, xa_mk_value(9));
	xa_unlock(&map.i_pages);
	filemap_free_folio(&map, folio);
}

static void put_another(struct folio *folio)
{
	filemap_remove_folio(folio);
	cache_add(AT, 0);
}

static void put_larger(struct folio *folio)
{
	filemap_remove_folio(folio);
	cache_add(AT, 3);
}

/* Before the batch comes, whose reference would be in the way. */
static void split_it(struct folio *folio)
{
	assert_int_equal(split_folio_to_order(folio, 0), 0);
}

static const struct {
	void (*change)(struct folio *folio);
	unsigned int order;	/* of what is at AT when the batch sleeps */
	int least, most;	/* how many it gets */
} changes[] = {
	{ keep, 2, 9, 9 },		/* two, it, six */
	/* Those before it, or more if it finds something to put there. */
	{ truncate_it, 2, 2, 12 },
	{ shadow_it, 2, 2, 12 },
	{ put_another, 2, 2, 12 },
	{ put_larger, 2, 2, 5 },
	{ split_it, 2, 3, 12 },
};

static void test_fm_B21(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(changes); i++) {
		struct folio *folio;
		pthread_t thread;
		int refs;

		cache_begin();
		cache_add(AT, changes[i].order);
		lru_add_drain_all(the_machine());
		folio = filemap_lock_folio(&map, AT);
		if (changes[i].change == split_it)
			split_it(folio);
		refs = folio_ref_count(folio);
		start(&thread, grab_range, NULL);
		while (folio_ref_count(folio) <= refs)
			sleep_us(100);
		sleep_us(1000);
		if (changes[i].change != split_it)
			changes[i].change(folio);
		folio_unlock(folio);
		pthread_join(thread, NULL);
		folio_put(folio);
		assert_true(got >= changes[i].least && got <= changes[i].most);
		cache_end();
	}
}

/* ---- readers, holes, late-comers ------------------------------------------ */

#define SPAN	192u

struct worker {
	pthread_t thread;
	struct random rnd;
	void (*work)(struct worker *w);
	unsigned long done;
};

static bool stop;
static u64 punched;		/* how often all of it was */

static void *work(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	while (!READ_ONCE(stop)) {
		w->work(w);
		w->done++;
	}
	machine_leave(previous);
	return NULL;
}

static void run(void (*const works[])(struct worker *), unsigned int nr,
		long ms)
{
	static struct worker workers[8];
	struct random rnd;

	random_init(&rnd);
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < nr; i++) {
		workers[i].work = works[i];
		workers[i].done = 0;
		workers[i].rnd.state = random_next(&rnd);
		start(&workers[i].thread, work, &workers[i]);
	}
	sleep_us(ms * 1000);
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].done > 0);
	}
}

/* Each new folio gets the number of the hole that it came after. */
static void grab_some(struct worker *w)
{
	pgoff_t begin = random_below(&w->rnd, SPAN);
	struct folio_grab batch;

	filemap_grab_init(&batch);
	down_read(&map.invalidate_lock);
	BUG_ON(filemap_grab_folios(&map, begin, 1 + random_below(&w->rnd, 64),
				   CREATE, map.gfp_mask,
				   (unsigned int)random_below(&w->rnd, 5),
				   &batch) < 1);
	for (unsigned int i = 0; i < batch.nr; i++) {
		if (batch.created >> i & 1)
			batch.folios[i]->private = punched;
		BUG_ON(batch.folios[i]->private != punched);
		let_go(batch.folios[i]);
	}
	up_read(&map.invalidate_lock);
	filemap_grab_end(&batch);
}

static void punch_all(struct worker *w)
{
	down_write(&map.invalidate_lock);
	truncate_inode_pages_range(&map, 0, ((u64)SPAN + 128) << PAGE_SHIFT);
	BUG_ON(!xa_empty(&map.i_pages));
	punched++;
	up_write(&map.invalidate_lock);
	sleep_us((long)random_below(&w->rnd, 200));
}

/* fm_B13: what is found is initialised, for as long as it is there. */
static void look_up(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);
	struct folio *folio = filemap_get_folio(&map, index);
	const struct address_space *mapping;

	if (IS_ERR(folio))
		return;
	/* Young from the start, and then older at most. */
	BUG_ON(!folio_contains(folio, index) ||
	       !(READ_ONCE(folio->flags) & (BIT(PG_referenced) |
					    BIT(PG_active))));
	mapping = folio_mapping(folio);
	BUG_ON(mapping && mapping != &map);
	folio_put(folio);
}

static void test_fm_B13_B14_C17(void **state)
{
	static void (*const works[])(struct worker *) = {
		grab_some, grab_some, punch_all, look_up, look_up,
	};

	(void)state;
	cache_begin();
	run(works, ARRAY_SIZE(works), 800);
	assert_true(punched > 0);
	cache_end();
}

/* What comes late from a lookup that began long ago, for any frame. */
static void touch_frames(struct worker *w)
{
	struct machine *m = the_machine();

	for (unsigned int i = 0; i < 100; i++) {
		pf_pfn_t pfn = RESERVED_PAGES +
			       random_below(&w->rnd, m->nr_pages -
						     RESERVED_PAGES);
		struct page *page = machine_page(m, pfn);

		if (PageTail(page) || test_bit(PG_table, &page->flags) ||
		    !folio_try_get((struct folio *)page))
			continue;
		if (i & 1)
			cpu_relax();
		folio_put((struct folio *)page);
	}
}

/* Some of it fails: what was begun is undone. */
static void grab_and_fail(struct worker *w)
{
	struct folio_grab batch;

	filemap_grab_init(&batch);
	current->fail_nth = (long)random_below(&w->rnd, 80);
	if (filemap_grab_folios(&map, random_below(&w->rnd, SPAN), 64,
				CREATE, map.gfp_mask,
				(unsigned int)random_below(&w->rnd, 3),
				&batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++)
			let_go(batch.folios[i]);
	current->fail_nth = 0;
	filemap_grab_end(&batch);
}

static void drop_all(struct worker *w)
{
	truncate_inode_pages(&map, 0);
	sleep_us((long)random_below(&w->rnd, 200));
}

static void test_fm_C28(void **state)
{
	static void (*const works[])(struct worker *) = {
		grab_and_fail, grab_and_fail, touch_frames, touch_frames,
		drop_all,
	};

	(void)state;
	cache_begin();
	run(works, ARRAY_SIZE(works), 800);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_B21),
		cmocka_unit_test(test_fm_B13_B14_C17),
		cmocka_unit_test(test_fm_C28),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
