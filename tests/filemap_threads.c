/* SPDX-License-Identifier: MIT */
/*
 * Claim: threads that grab, look up, split and remove the same indices never find a
 * folio of another index, never wait for each other in a circle, and in the end
 * every page, reference and frame is accounted for; each sleeper is woken.
 *
 * Source: semantics/filemap.md 1.7, 6.2 (K5-K8, K13), C2, C3, C11, C28;
 *         cases.md H8; [filemap-recheck]
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "mm/filemap_grab.h"
#include "mm/folio_split.h"

#include <pthread.h>

#define SPAN	160u

struct worker {
	pthread_t thread;
	struct random rnd;
	unsigned int kind;
	unsigned long done;
};

static bool stop;

static void grab_some(struct worker *w, struct folio_grab *g)
{
	pgoff_t start = random_below(&w->rnd, SPAN);
	pgoff_t nr = 1 + random_below(&w->rnd, SPAN - start);
	int got = filemap_grab_folios(&map, start, nr, FGP_LOCK | FGP_CREAT,
				      map.gfp_mask,
				      (unsigned int)random_below(&w->rnd, 5),
				      g);
	pgoff_t next = start;

	BUG_ON(got < 1);
	for (int i = 0; i < got; i++) {
		struct folio *folio = g->folios[i];

		BUG_ON(folio->mapping != &map ||
		       !folio_contains(folio, next) ||
		       (i && folio->index != next));
		next = folio_next_index(folio);
		let_go(folio);
	}
	BUG_ON(next != g->next);
}

static void grab_one(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);
	struct folio *folio = filemap_grab_folio(&map, index);

	BUG_ON(IS_ERR(folio) || folio->mapping != &map ||
	       !folio_contains(folio, index));
	let_go(folio);
}

static void remove_some(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN), indices[PAGEVEC_SIZE];
	struct folio_batch b;

	folio_batch_init(&b);
	find_lock_entries(&map, &start, start + 20, &b, indices);
	folio_batch_remove_exceptionals(&b);
	delete_from_page_cache_batch(&map, &b);
	for (unsigned int i = 0; i < b.nr; i++)
		folio_unlock(b.folios[i]);
	folio_batch_release(&b);
}

static void look_up(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);
	struct folio *folio = filemap_get_folio(&map, index);

	if (IS_ERR(folio))
		return;
	/* The index stays when it is removed. */
	BUG_ON(!folio_contains(folio, index));
	folio_put(folio);
}

/* case_H8: lookups meet a split */
static void split_one(struct worker *w)
{
	struct folio *folio = filemap_lock_folio(&map,
						 random_below(&w->rnd, SPAN));

	if (IS_ERR(folio))
		return;
	if (folio_test_large(folio) &&
	    !split_folio_to_order(folio, random_chance(&w->rnd, 30)))
		BUG_ON(folio_order(folio) > 1);
	let_go(folio);
}

static void *work(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;
	struct folio_grab g;

	filemap_grab_init(&g);
	for (; !READ_ONCE(stop); w->done++) {
		if (w->kind == 0)
			grab_some(w, &g);
		else if (w->kind == 1)
			grab_one(w);
		else if (w->kind == 2)
			remove_some(w);
		else if (w->kind == 3)
			look_up(w);
		else
			split_one(w);
	}
	filemap_grab_end(&g);
	machine_leave(previous);
	return NULL;
}

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void test_fm_B8(void **state)
{
	static struct worker workers[7];
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < 7; i++) {
		workers[i].kind = i < 2 ? 0 : i - 2;
		workers[i].rnd.state = random_next(&rnd);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	sleep_ms(1200);
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < 7; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].done > 10);
	}
	cache_end();
}

/* C2, C3: a sleeper finds the folio gone, and gets a new one. */
static struct folio *first;

static void *grab_after_removal(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct folio *folio = filemap_grab_folio(&map, 9);

	(void)arg;
	BUG_ON(folio == first || folio->index != 9 || folio->mapping != &map);
	let_go(folio);
	machine_leave(previous);
	return NULL;
}

static void test_fm_C3(void **state)
{
	pthread_t thread;

	(void)state;
	cache_begin();
	first = filemap_grab_folio(&map, 9);
	lru_add_drain_all(the_machine());
	assert_int_equal(pthread_create(&thread, NULL, grab_after_removal,
					NULL), 0);
	while (folio_ref_count(first) < 3)
		sleep_ms(1);
	filemap_remove_folio(first);
	folio_unlock(first);
	pthread_join(thread, NULL);
	assert_int_equal(folio_ref_count(first), 1);
	folio_put(first);
	assert_int_equal(map.nrpages, 1);
	cache_end();
}

static void *grab_stable(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct folio *folio = __filemap_get_folio(&map, 9, FGP_WRITEBEGIN, 0);

	(void)arg;
	BUG_ON(folio_test_writeback(folio));
	let_go(folio);
	machine_leave(previous);
	return NULL;
}

/* The last part of fm_C26. */
static void test_stable(void **state)
{
	pthread_t thread;
	struct folio *folio;

	(void)state;
	cache_begin();
	set_bit(AS_STABLE_WRITES, &map.flags);
	folio = filemap_grab_folio(&map, 9);
	lru_add_drain_all(the_machine());
	folio_start_writeback(folio);
	folio_unlock(folio);
	assert_int_equal(pthread_create(&thread, NULL, grab_stable, NULL), 0);
	while (!folio_test_locked(folio))
		sleep_ms(1);
	sleep_ms(5);
	folio_end_writeback(folio);
	pthread_join(thread, NULL);
	folio_put(folio);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_C3),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_fm_B8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
