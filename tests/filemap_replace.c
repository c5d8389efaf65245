/* SPDX-License-Identifier: MIT */
/*
 * Claim: while one folio is put in the place of another, lookups find one or the
 * other, never nothing, and waiters end with the new one; who sees the bit sees
 * the bytes; and looking for an index without a folio finds the nearest one, or
 * says that there is none.
 *
 * Source: semantics/filemap.md 1.8, 2.4, 6.2 (K14), C21, C22; [folio-uptodate]
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "mm/memcontrol.h"

#include <pthread.h>
#include <time.h>

/* ---- replacing ------------------------------------------------------------ */

static struct folio *new_folio(void)
{
	struct folio *folio = filemap_alloc_folio(map.gfp_mask, 0);

	BUG_ON(!folio);
	__folio_set_locked(folio);
	return folio;
}

/* @old is locked and held; returns what has taken its place, unlocked. */
static struct folio *replace(struct folio *old)
{
	struct folio *new = new_folio();

	replace_page_cache_folio(old, new);
	folio_add_lru(new);
	folio_unlock(old);
	folio_put(old);
	folio_unlock(new);
	folio_put(new);
	return new;
}

static void test_replace(void **state)
{
	struct mem_cgroup *group;
	struct folio *old, *new;

	(void)state;
	cache_begin();
	assert_int_equal(mem_cgroup_create(the_machine(), 1, &group), 0);
	set_active_memcg(group);
	cache_add(70, 0);
	set_active_memcg(NULL);
	lru_add_drain_all(the_machine());
	old = filemap_lock_folio(&map, 70);
	folio_mark_dirty(old);
	folio_get(old);
	new = replace(old);
	assert_null(old->mapping);
	assert_int_equal(old->index, 70);
	assert_int_equal(folio_ref_count(old), 1);
	assert_ptr_equal(xa_load(&map.i_pages, 70), new);
	assert_false(xa_get_mark(&map.i_pages, 70, PAGECACHE_TAG_DIRTY));
	assert_ptr_equal(new->mapping, &map);
	assert_int_equal(map.nrpages, 1);
	/* Both are paid for, as long as both live. */
	assert_int_equal(atomic64_read(&group->usage), 2);
	folio_put(old);
	assert_int_equal(atomic64_read(&group->usage), 1);
	mem_cgroup_destroy(group);
	assert_valid(&t);
	cache_end();
}

#define SPAN 8u

static bool stop;

struct worker {
	pthread_t thread;
	void (*work)(struct random *rnd);
	struct random rnd;
	unsigned long done;
};

static void replace_one(struct random *rnd)
{
	struct folio *old = filemap_lock_folio(&map, random_below(rnd, SPAN));

	BUG_ON(IS_ERR(old));
	replace(old);
}

/* Filled in the cache, with others looking. */
static void fill_one(struct random *rnd)
{
	struct folio *folio = filemap_lock_folio(&map,
						 random_below(rnd, SPAN));

	BUG_ON(IS_ERR(folio));
	if (!folio_test_uptodate(folio)) {
		*(u64 *)page_address(&folio->page) = folio->index + 1;
		folio_mark_uptodate(folio);
	}
	let_go(folio);
}

static void look_up(struct random *rnd)
{
	pgoff_t index = random_below(rnd, SPAN);
	struct folio *folio = filemap_get_folio(&map, index);

	BUG_ON(IS_ERR(folio) || folio->index != index);
	BUG_ON(folio_test_uptodate(folio) &&
	       *(u64 *)page_address(&folio->page) != index + 1);
	folio_put(folio);
}

static void *work(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	for (; !READ_ONCE(stop); w->done++)
		w->work(&w->rnd);
	machine_leave(previous);
	return NULL;
}

static void test_fm_C21(void **state)
{
	static void (*const works[])(struct random *) = {
		replace_one, replace_one, fill_one, look_up, look_up,
	};
	static struct worker workers[ARRAY_SIZE(works)];
	struct timespec wait = { 0, 600000000 };
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	for (pgoff_t i = 0; i < SPAN; i++)
		cache_add(i, 0);
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < ARRAY_SIZE(works); i++) {
		workers[i].work = works[i];
		workers[i].rnd.state = random_next(&rnd);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	nanosleep(&wait, NULL);
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < ARRAY_SIZE(works); i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].done > 0);
	}
	assert_int_equal(map.nrpages, SPAN);
	cache_end();
}

/* ---- holes ---------------------------------------------------------------- */

#define NONE ((pgoff_t)-2)

static pgoff_t next_miss(pgoff_t index, unsigned long nr)
{
	pgoff_t miss = NONE;
	bool found = page_cache_next_miss(&map, index, nr, &miss);

	assert_int_equal(found, miss != NONE);
	return miss;
}

static pgoff_t prev_miss(pgoff_t index, unsigned long nr)
{
	pgoff_t miss = NONE;
	bool found = page_cache_prev_miss(&map, index, nr, &miss);

	assert_int_equal(found, miss != NONE);
	return miss;
}

static void test_fm_C22(void **state)
{
	const pgoff_t max = (pgoff_t)-1;

	(void)state;
	cache_begin();
	assert_int_equal(next_miss(0, 1), 0);
	assert_int_equal(prev_miss(max, 1), max);
	cache_add(0, 0);
	cache_add(1, 0);
	cache_add(2, 1);
	cache_shadow(4, 2, 3);
	cache_add(8, 3);
	cache_add(128, 7);
	cache_add(max, 0);
	cache_add(max - 1, 0);
	/* Full windows, and one more. */
	assert_int_equal(next_miss(0, 0), NONE);
	assert_int_equal(next_miss(0, 4), NONE);
	assert_int_equal(next_miss(0, 5), 4);
	assert_int_equal(prev_miss(3, 4), NONE);
	assert_int_equal(prev_miss(3, 100), NONE);
	/* Shadows, each of their indices. */
	for (pgoff_t i = 4; i < 8; i++) {
		assert_int_equal(next_miss(i, 1), i);
		assert_int_equal(prev_miss(i, 1), i);
	}
	assert_int_equal(prev_miss(15, 8), NONE);
	assert_int_equal(prev_miss(15, 9), 7);
	assert_int_equal(next_miss(8, 100), 16);
	assert_int_equal(next_miss(150, 106), NONE);
	assert_int_equal(next_miss(150, 107), 256);
	assert_int_equal(prev_miss(255, 129), 127);
	/* Where indices end. */
	assert_int_equal(next_miss(max - 1, 100), NONE);
	assert_int_equal(next_miss(max, max), NONE);
	assert_int_equal(prev_miss(max, 2), NONE);
	assert_int_equal(prev_miss(max, max), max - 2);
	assert_int_equal(next_miss(1000, max), 1000);
	cache_end();
}

/* Any contents, any window, against looking at each index. */
static void test_miss_property(void **state)
{
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	for (unsigned int round = 0; round < 100; round++) {
		for (pgoff_t i = 0; i < 300;) {
			unsigned int order =
				(unsigned int)random_below(&rnd, 7);

			if (i & ((1u << order) - 1))
				order = 0;
			if (random_chance(&rnd, 70))
				cache_add(i, order);
			else if (random_chance(&rnd, 50))
				cache_shadow(i, order, i);
			i += 1u << order;
		}
		for (unsigned int k = 0; k < 200; k++) {
			pgoff_t index = random_below(&rnd, 320);
			unsigned long nr = random_below(&rnd, 100);
			pgoff_t next = index, prev = index;
			unsigned long n;

			for (n = nr; n; n--, next++) {
				void *entry = xa_load(&map.i_pages, next);

				if (!entry || xa_is_value(entry))
					break;
			}
			assert_int_equal(next_miss(index, nr), n ? next : NONE);
			for (n = nr; n; n--, prev--) {
				void *entry = xa_load(&map.i_pages, prev);

				if (!entry || xa_is_value(entry) || !prev)
					break;
			}
			if (n && xa_load(&map.i_pages, prev) &&
			    !xa_is_value(xa_load(&map.i_pages, prev)))
				n = 0;
			assert_int_equal(prev_miss(index, nr), n ? prev : NONE);
		}
		cache_empty();
	}
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_fm_C21),
		cmocka_unit_test(test_fm_C22),
		cmocka_unit_test(test_miss_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
