/* SPDX-License-Identifier: MIT */
/*
 * Claim: who waits for the lock of a folio gets it, however fast others take it
 * again; a wait that a signal may end ends, and then the lock is not held; two
 * holders there never are.
 *
 * Source: semantics/filemap.md 1.7 R15, C11, C24
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <pthread.h>
#include <time.h>

static struct folio *folio;
static bool stop;

static void sleep_us(long us)
{
	struct timespec ts = { 0, us * 1000 };

	nanosleep(&ts, NULL);
}

static void start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	assert_int_equal(pthread_create(thread, NULL, fn, arg), 0);
}

/* ---- one waiter ----------------------------------------------------------- */

static struct waiter *victim;
static int ended;
static bool let_it_go;

static void *wait_for_it(void *arg)
{
	struct machine *previous = machine_enter(the_machine());

	(void)arg;
	smp_store_release(&victim, current->waiter);
	ended = folio_lock_mode(folio, SUBCLASS_NORMAL, WAIT_INTERRUPTIBLE);
	while (!ended && !READ_ONCE(let_it_go))
		sleep_us(50);
	if (!ended)
		folio_unlock(folio);
	waiter_clear();
	machine_leave(previous);
	return NULL;
}

static bool is_heir(void)
{
	return READ_ONCE(the_machine()->folio_heirs[folio_pfn(folio) %
						    FOLIO_WAIT_QUEUES].first);
}

/* Sleeping for the folio, which this thread has locked. */
static void start_waiter(pthread_t *thread)
{
	victim = NULL;
	let_it_go = false;
	start(thread, wait_for_it, NULL);
	while (!smp_load_acquire(&victim) ||
	       !READ_ONCE(folio_waitqueue(folio)->nr_waiters))
		sleep_us(50);
}

/* As if it had been unlocked, and locked again before he was awake. */
static unsigned int let_it_lose(void)
{
	unsigned int losses;

	for (losses = 0; !is_heir() && losses < 1000; losses++) {
		wake_up_all(folio_waitqueue(folio));
		sleep_us(300);
	}
	return losses;
}

static void test_fm_C24(void **state)
{
	(void)state;
	cache_begin();
	folio = cache_add(3, 0);
	for (unsigned int i = 0; i < 20; i++) {
		pthread_t waiter;

		folio_lock(folio);
		start_waiter(&waiter);
		assert_false(is_heir());
		/* Some more if he is slow. */
		assert_in_range(let_it_lose(), 4, 999);
		assert_true(is_heir());
		/* It stays locked: it is his, and nobody is faster. */
		folio_unlock(folio);
		assert_false(folio_trylock(folio));
		assert_false(is_heir());
		WRITE_ONCE(let_it_go, true);
		pthread_join(waiter, NULL);
		assert_int_equal(ended, 0);
		assert_false(folio_test_locked(folio));
	}
	cache_end();
}

/* He is handed the lock, and a signal comes before he is awake. */
static void test_heir_and_signal(void **state)
{
	(void)state;
	cache_begin();
	folio = cache_add(3, 0);
	for (unsigned int i = 0; i < 100; i++) {
		pthread_t waiter;

		folio_lock(folio);
		start_waiter(&waiter);
		let_it_lose();
		WRITE_ONCE(let_it_go, true);
		if (i & 1)
			waiter_post(victim, SIGNAL_ORDINARY);
		folio_unlock(folio);
		waiter_post(victim, SIGNAL_ORDINARY);
		pthread_join(waiter, NULL);
		/* With it or without: it is not lost. */
		assert_false(folio_test_locked(folio));
		assert_false(is_heir());
	}
	cache_end();
}

static void *grab_interruptible(void *arg)
{
	struct machine *previous = machine_enter(the_machine());

	(void)arg;
	smp_store_release(&victim, current->waiter);
	ended = (int)PTR_ERR(__filemap_get_folio(&map, 3, FGP_LOCK |
						 FGP_INTERRUPTIBLE, 0));
	waiter_clear();
	machine_leave(previous);
	return NULL;
}

static void test_signal(void **state)
{
	pthread_t waiter;

	(void)state;
	cache_begin();
	folio = cache_add(3, 0);
	lru_add_drain_all(the_machine());
	folio_lock(folio);
	victim = NULL;
	start(&waiter, grab_interruptible, NULL);
	while (!smp_load_acquire(&victim))
		sleep_us(100);
	sleep_us(1000);
	waiter_post(victim, SIGNAL_ORDINARY);
	pthread_join(waiter, NULL);
	assert_int_equal(ended, -EINTR);
	assert_true(folio_test_locked(folio));
	assert_int_equal(folio_ref_count(folio), 1);
	folio_unlock(folio);
	cache_end();
}

/* ---- many ----------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct random rnd;
	struct waiter *waiter;
	unsigned long got, lost;
};

#define NR_WORKERS 4

static unsigned long holders[2], total[2];

static void *lock_them(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	smp_store_release(&w->waiter, current->waiter);
	while (!READ_ONCE(stop)) {
		pgoff_t index = random_below(&w->rnd, 2);
		struct folio *f = filemap_get_folio(&map, index);
		unsigned long turns = random_below(&w->rnd, 300);

		if (folio_lock_mode(f, SUBCLASS_NORMAL, WAIT_INTERRUPTIBLE)) {
			w->lost++;
			waiter_clear();
			folio_put(f);
			continue;
		}
		BUG_ON(holders[index]++);
		total[index]++;
		while (turns--)
			cpu_relax();
		BUG_ON(--holders[index]);
		w->got++;
		let_go(f);
	}
	machine_leave(previous);
	return NULL;
}

/* Two folios, signals all the time. */
static void test_storm(void **state)
{
	static struct worker workers[NR_WORKERS];
	unsigned long got = 0;
	struct random rnd;
	u64 until;

	(void)state;
	random_init(&rnd);
	cache_begin();
	cache_add(0, 0);
	cache_add(1, 0);
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		workers[i].rnd.state = random_next(&rnd);
		start(&workers[i].thread, lock_them, &workers[i]);
		while (!smp_load_acquire(&workers[i].waiter))
			sleep_us(100);
	}
	for (until = clock_ns() + 500000000; clock_ns() < until;) {
		waiter_post(workers[random_below(&rnd, NR_WORKERS)].waiter,
			    SIGNAL_ORDINARY);
		sleep_us((long)random_below(&rnd, 300));
	}
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].got > 10);
		got += workers[i].got;
	}
	assert_int_equal(got, total[0] + total[1]);
	for (unsigned int i = 0; i < FOLIO_WAIT_QUEUES; i++)
		assert_null(the_machine()->folio_heirs[i].first);
	cache_end();
}

/* fm_C11: of two who add, one does, and both get it in turn. */
static struct folio *added[2];
static unsigned long inside;

static void *grab_it(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct folio **out = arg;

	*out = filemap_grab_folio(&map, 9);
	BUG_ON(inside++);
	sleep_us(100);
	BUG_ON(--inside);
	folio_unlock(*out);
	machine_leave(previous);
	return NULL;
}

static void test_fm_C11(void **state)
{
	pthread_t threads[2];

	(void)state;
	cache_begin();
	for (unsigned int i = 0; i < 200; i++) {
		start(&threads[0], grab_it, &added[0]);
		start(&threads[1], grab_it, &added[1]);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		assert_ptr_equal(added[0], added[1]);
		assert_int_equal(map.nrpages, 1);
		lru_add_drain_all(the_machine());
		assert_int_equal(folio_ref_count(added[0]), 3);
		folio_put(added[0]);
		folio_put(added[1]);
		cache_empty();
	}
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_C24),
		cmocka_unit_test(test_heir_and_signal),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_fm_C11),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
