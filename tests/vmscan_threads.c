/* SPDX-License-Identifier: MIT */
/*
 * Claim: threads that grab, look up, make dirty, truncate, split and reclaim the
 * folios of mappings that come and go lose no page and no byte that is dirty,
 * and in the end every page, charge, node and frame is accounted for.
 *
 * Source: semantics/filemap.md 6.2 (K5-K11, K16, K25), B24's loops;
 *         [filemap-recheck]
 */
#include "tests/reclaim_test.h"
#include "tests/random.h"

#include "mm/filemap_grab.h"
#include "mm/filemap_publish.h"
#include "mm/folio_split.h"
#include "mm/memcontrol.h"
#include "mm/truncate.h"
#include "mm/workingset.h"

#include <pthread.h>
#include <time.h>

#define SPAN	1500u

struct worker {
	pthread_t thread;
	struct random rnd;
	void (*work)(struct worker *w);
	unsigned long done;
};

static bool stop;
static struct mem_cgroup *group;

static u64 *word_of(struct folio *folio, long page)
{
	return page_address(folio_page(folio, (unsigned long)page));
}

static void write_folio(struct folio *folio)
{
	for (long i = 0; i < folio_nr_pages(folio); i++)
		*word_of(folio, i) = folio->index + (u64)i + 1;
	folio_mark_uptodate(folio);
	folio_mark_dirty(folio);
}

/* What was written to this very index, or truncated since. */
static void check_folio(struct folio *folio)
{
	for (long i = 0; i < folio_nr_pages(folio); i++)
		BUG_ON(folio_test_uptodate(folio) && *word_of(folio, i) &&
		       *word_of(folio, i) != folio->index + (u64)i + 1);
}

static void grab_some(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN);
	struct folio_grab g;
	int got;

	filemap_grab_init(&g);
	got = filemap_grab_folios(&map, start, 1 + random_below(&w->rnd, 64),
				  FGP_LOCK | FGP_CREAT | FGP_ACCESSED,
				  CACHE_GFP,
				  (unsigned int)random_below(&w->rnd, 5), &g);
	/* All that the group may have can be dirty, or locked by others. */
	BUG_ON(got < 1 && got != -ENOMEM);
	for (unsigned int i = 0; i < g.nr; i++) {
		struct folio *folio = g.folios[i];

		BUG_ON(folio->mapping != &map);
		check_folio(folio);
		if (random_chance(&w->rnd, 10))
			write_folio(folio);
		let_go(folio);
	}
	filemap_grab_end(&g);
}

/* Written back, so clean again. */
static void clean_one(struct worker *w)
{
	struct folio *folio = filemap_lock_folio(&map,
						 random_below(&w->rnd, SPAN));

	if (IS_ERR(folio))
		return;
	check_folio(folio);
	if (!folio_test_writeback(folio) && folio_clear_dirty_for_io(folio)) {
		folio_start_writeback(folio);
		folio_clear_uptodate(folio);
		folio_unlock(folio);
		folio_end_writeback(folio);
		folio_put(folio);
		return;
	}
	let_go(folio);
}

static void look_up(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);
	struct folio *folio = filemap_get_folio(&map, index);

	if (IS_ERR(folio))
		return;
	BUG_ON(!folio_contains(folio, index));
	folio_mark_accessed(folio);
	folio_put(folio);
}

static void reclaim_some(struct worker *w)
{
	if (random_chance(&w->rnd, 50))
		try_to_free_pages(the_machine(), 0, CACHE_GFP);
	else
		try_to_free_mem_cgroup_pages(group, 40, CACHE_GFP);
	shrink_shadow_nodes(the_machine(), random_below(&w->rnd, 3));
}

static void drop_some(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN);

	if (random_chance(&w->rnd, 50))
		truncate_inode_pages_range(&map, start << PAGE_SHIFT,
					   ((start + 30) << PAGE_SHIFT) - 1);
	else
		invalidate_mapping_pages(&map, start, start + 100);
}

/* A mapping whose folios and shadow nodes are reclaimed while it ends. */
static void make_and_end(struct worker *w)
{
	struct address_space other;
	struct folio *folio;

	mapping_init(&other, the_machine());
	for (pgoff_t i = 0; i < 200; i += 1 + random_below(&w->rnd, 30)) {
		folio = filemap_grab_folio(&other, i);
		if (!IS_ERR(folio))
			let_go(folio);
	}
	for (unsigned long i = random_below(&w->rnd, 4); i; i--)
		try_to_free_pages(the_machine(), 0, CACHE_GFP);
	truncate_inode_pages_final(&other);
	/* K16: nor does who evicts leave a shadow. */
	BUG_ON(!xa_empty(&other.i_pages));
	mapping_destroy(&other);
}

/* Behind what is truncated: dirty from the start, and never written back. */
#define KEPT		(SPAN + 64)
#define NR_KEPT		60

static void add_kept(void)
{
	for (pgoff_t i = KEPT; i < KEPT + NR_KEPT; i++) {
		struct folio *folio = filemap_grab_folio(&map, i);

		write_folio(folio);
		let_go(folio);
	}
}

static void check_kept(void)
{
	for (pgoff_t i = KEPT; i < KEPT + NR_KEPT; i++) {
		assert_non_null(cached(i));
		assert_int_equal(*word_of(cached(i), 0), i + 1);
	}
}

static void *work(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	set_active_memcg(group);
	for (; !READ_ONCE(stop); WRITE_ONCE(w->done, w->done + 1))
		w->work(w);
	set_active_memcg(NULL);
	machine_leave(previous);
	return NULL;
}

static void test_storm(void **state)
{
	static void (*const works[])(struct worker *) = {
		grab_some, grab_some, clean_one, look_up, reclaim_some,
		drop_some, make_and_end,
	};
	static struct worker workers[ARRAY_SIZE(works)];
	struct timespec second = { 1, 200000000 };
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	assert_int_equal(mem_cgroup_create(the_machine(), 900, &group), 0);
	add_kept();
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < ARRAY_SIZE(works); i++) {
		workers[i].work = works[i];
		workers[i].rnd.state = random_next(&rnd);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	nanosleep(&second, NULL);
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < ARRAY_SIZE(works); i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].done > 0);
	}
	check_kept();
	assert_valid(&t);
	assert_true(atomic64_read(&group->usage) <= 900);
	/* Reclaimed, all that is clean, and shadows there were. */
	assert_true(atomic64_read(&the_machine()->workingset.refault) > 0);
	mem_cgroup_destroy(group);
	cache_end();
}

/* ---- published, and everybody wants it gone ------------------------------ */

#define NR_PUBLISHED	2048u

static void drop_all(struct worker *w)
{
	(void)w;
	invalidate_mapping_pages(&map, 0, (pgoff_t)-1);
}

/* fm_B24: no byte is lost that was there as soon as its folio was. */
static void test_fm_B24(void **state)
{
	static struct worker workers[2] = {
		{ .work = reclaim_some }, { .work = drop_all },
	};
	struct filemap_publish publish;
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	assert_int_equal(mem_cgroup_create(the_machine(), MEMCG_MAX, &group),
			 0);
	filemap_publish_init(&publish, &map);
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < 2; i++) {
		workers[i].rnd.state = random_next(&rnd);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	while (!READ_ONCE(workers[0].done) || !READ_ONCE(workers[1].done))
		cpu_relax();
	for (pgoff_t i = 0; i < NR_PUBLISHED; i += 16) {
		struct folio *folios[16];

		for (unsigned int k = 0; k < 16; k++) {
			folios[k] = filemap_alloc_folio(CACHE_GFP, 0);
			*word_of(folios[k], 0) = i + k + 1;
		}
		assert_int_equal(filemap_publish_folios(&publish, i, folios,
							16), 16);
	}
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(workers[i].thread, NULL);
	for (pgoff_t i = 0; i < NR_PUBLISHED; i++) {
		assert_non_null(cached(i));
		assert_int_equal(*word_of(cached(i), 0), i + 1);
		assert_true(xa_get_mark(&map.i_pages, i, PAGECACHE_TAG_DIRTY));
	}
	filemap_publish_end(&publish);
	mem_cgroup_destroy(group);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_B24),
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
