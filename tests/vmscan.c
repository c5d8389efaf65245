/* SPDX-License-Identifier: MIT */
/*
 * Claim: reclaim takes the oldest folios of files that are clean and that nobody
 * but the cache has, all their pages, and nothing else; it leaves a shadow; and
 * an allocation or charge that finds nothing free gets what is reclaimed, if its
 * mask says so.
 *
 * Source: semantics/filemap.md 1.3-1.5, 6.2 (K8, K9, K25), C19, C20, B22
 */
#include "tests/reclaim_test.h"

#include "mm/filemap_grab.h"
#include "mm/memcontrol.h"

static void test_fm_C19(void **state)
{
	struct folio *dirty, *held, *locked, *writeback, *pinned, *cancelled;
	pgoff_t i;

	(void)state;
	cache_begin();
	for (i = 0; i < 8; i++)
		cache_add(i, 0);
	cache_add(64, 4);
	cache_add(128, 4);
	dirty = filemap_lock_folio(&map, 0);
	folio_mark_dirty(dirty);
	let_go(dirty);
	held = filemap_get_folio(&map, 1);
	locked = cached(2);
	assert_true(folio_trylock(locked));
	writeback = filemap_lock_folio(&map, 3);
	folio_start_writeback(writeback);
	let_go(writeback);
	/* Clean again, but still marked until somebody looks. */
	cancelled = filemap_lock_folio(&map, 7);
	folio_mark_dirty(cancelled);
	folio_cancel_dirty(cancelled);
	let_go(cancelled);
	pinned = filemap_get_folio(&map, 128 + 5);
	atomic_inc(&pinned->_pincount);
	/* The rest, all their pages. */
	assert_int_equal(reclaim_all(), 4 + 16);
	for (i = 0; i < 4; i++)
		assert_non_null(cached(i));
	for (; i < 8; i++)
		assert_true(is_shadow(i));
	assert_true(is_shadow(64) && is_shadow(79));
	assert_int_equal(xa_get_order(&map.i_pages, 70), 4);
	assert_ptr_equal(cached(128), pinned);
	assert_int_equal(map.nrpages, 4 + 16);
	assert_int_equal(folio_ref_count(held), 2);
	folio_put(held);
	folio_unlock(locked);
	folio_end_writeback(writeback);
	atomic_dec(&pinned->_pincount);
	folio_put(pinned);
	assert_valid(&t);
	assert_int_equal(reclaim_all(), 3 + 16);
	assert_ptr_equal(cached(0), dirty);
	assert_int_equal(map.nrpages, 1);
	cache_end();
}

static void test_fm_C20(void **state)
{
	(void)state;
	cache_begin();
	cache_add(64, 4);
	set_bit(AS_EXITING, &map.flags);
	assert_int_equal(reclaim_all(), 16);
	assert_true(xa_empty(&map.i_pages));
	cache_end();
}

/* Without the work of reclaim: no shadow. */
static void test_remove_mapping(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	cache_add(64, 4);
	folio = filemap_lock_folio(&map, 70);
	folio_get(folio);
	assert_int_equal(remove_mapping(&map, folio), 0);
	folio_put(folio);
	folio_mark_dirty(folio);
	assert_int_equal(remove_mapping(&map, folio), 0);
	assert_int_equal(folio_ref_count(folio), 17);
	folio_cancel_dirty(folio);
	assert_int_equal(remove_mapping(&map, folio), 16);
	assert_int_equal(folio_ref_count(folio), 1);
	let_go(folio);
	assert_true(xa_empty(&map.i_pages));
	cache_end();
}

static void test_kept_mappings(void **state)
{
	(void)state;
	cache_begin();
	mapping_set_inaccessible(&map);
	cache_add(0, 0);
	cache_add(64, 4);
	assert_int_equal(reclaim_all(), 0);
	/* Old or young is nothing to it. */
	use(64);
	use(64);
	assert_false(folio_test_active(cached(64)));
	assert_true(folio_test_referenced(cached(64)));
	assert_valid(&t);
	cache_end();
	cache_begin();
	mapping_set_keep_values(&map);
	cache_add(64, 4);
	assert_int_equal(reclaim_all(), 0);
	cache_end();
}

/* The oldest go first; what was used twice since is not old. */
static void test_order(void **state)
{
	unsigned long nr;

	(void)state;
	cache_begin();
	for (pgoff_t i = 0; i < 200; i++)
		cache_add(i, 0);
	lru_add_drain_all(the_machine());
	for (pgoff_t i = 0; i < 10; i++)
		use(i);
	nr = try_to_free_pages(the_machine(), 0, CACHE_GFP);
	assert_true(nr >= 32 && nr < 64);
	for (pgoff_t i = 0; i < 200; i++)
		assert_int_equal(is_shadow(i), i >= 10 && i < 10 + nr);
	assert_valid(&t);
	cache_end();
}

/* Where most are active those grow old, and say so in their shadows. */
static void test_age(void **state)
{
	unsigned long nr;

	(void)state;
	cache_begin();
	for (pgoff_t i = 0; i < 100; i++) {
		cache_add(i, 0);
		use(i);
	}
	lru_add_drain_all(the_machine());
	assert_true(folio_test_active(cached(0)));
	nr = try_to_free_pages(the_machine(), 0, CACHE_GFP);
	assert_true(nr >= 32 && nr < 64);
	for (pgoff_t i = 0; i < 100; i++)
		assert_int_equal(is_shadow(i), i < nr);
	assert_false(folio_test_active(cached(nr)));
	assert_true(folio_test_active(cached(99)));
	assert_valid(&t);
	cache_add(nr - 1, 0);
	assert_int_equal(refaults(), 1);
	assert_int_equal(activations(), 1);
	assert_int_equal(atomic64_read(&the_machine()->workingset.restore), 1);
	assert_true(folio_test_workingset(cached(nr - 1)));
	assert_true(folio_test_active(cached(nr - 1)));
	cache_end();
}

static unsigned int freed;

static void count_freed(struct folio *folio)
{
	assert_null(folio->mapping);
	assert_int_equal(folio_ref_count(folio), 0);
	freed++;
}

/* A mapping whose owner wants to hear of it. */
static void test_free_folio(void **state)
{
	static const struct address_space_operations ops = {
		.free_folio = count_freed,
	};

	(void)state;
	cache_begin();
	map.a_ops = &ops;
	for (pgoff_t i = 0; i < 5; i++)
		cache_add(i, 0);
	assert_int_equal(try_to_free_pages(the_machine(), 0, CACHE_GFP &
					   ~__GFP_FS), 0);
	assert_int_equal(freed, 0);
	assert_int_equal(reclaim_all(), 5);
	assert_int_equal(freed, 5);
	map.a_ops = NULL;
	cache_end();
}

/* All of memory is in the cache, clean, from @index on. */
static pgoff_t fill_memory(void)
{
	pgoff_t index = 0;
	struct folio *folio;

	while ((folio = filemap_alloc_folio(GFP_NOWAIT | __GFP_MOVABLE, 0))) {
		assert_int_equal(filemap_add_folio(&map, folio, index++,
						   GFP_NOWAIT), 0);
		let_go(folio);
	}
	return index;
}

static void test_allocation(void **state)
{
	struct page *pages[200];
	pgoff_t nr;

	(void)state;
	cache_begin();
	nr = fill_memory();
	assert_true(nr > 3000);
	assert_null(alloc_pages(GFP_NOWAIT, 0));
	assert_null(alloc_pages(GFP_TRANSHUGE_LIGHT, 9));
	assert_int_equal(map.nrpages, nr);
	for (unsigned int i = 0; i < 200; i++) {
		pages[i] = alloc_pages(i & 1 ? GFP_KERNEL :
				       CACHE_GFP | __GFP_NORETRY, i % 3);
		assert_non_null(pages[i]);
	}
	assert_true(map.nrpages < nr - 200);
	/* A large block as well, by luck: all of it was filled in order. */
	assert_int_equal(xa_get_order(&map.i_pages, 0), 0);
	for (unsigned int i = 0; i < 200; i++)
		__free_pages(pages[i], i % 3);
	cache_end();
}

/* Nothing can go: the allocation fails, in the end. */
static void test_nothing(void **state)
{
	pgoff_t nr;

	(void)state;
	cache_begin();
	nr = fill_memory();
	for (pgoff_t i = 0; i < nr; i++) {
		struct folio *folio = filemap_lock_folio(&map, i);

		folio_mark_dirty(folio);
		let_go(folio);
	}
	assert_null(alloc_pages(GFP_KERNEL, 0));
	assert_int_equal(PTR_ERR(filemap_grab_folio(&map, nr)), -ENOMEM);
	assert_int_equal(map.nrpages, nr);
	cache_end();
}

/* A file that is larger than memory. */
static void test_large_file(void **state)
{
	(void)state;
	cache_begin();
	for (pgoff_t i = 0; i < 10000; i++) {
		struct folio *folio = filemap_grab_folio(&map, i);

		assert_false(IS_ERR(folio));
		let_go(folio);
	}
	assert_true(map.nrpages < 4096);
	assert_true(is_shadow(0));
	assert_non_null(cached(9999));
	assert_valid(&t);
	cache_end();
}

/* A group that has its share gets more by giving back its own. */
static void test_group(void **state)
{
	struct mem_cgroup *group;

	(void)state;
	cache_begin();
	for (pgoff_t i = 0; i < 100; i++)
		cache_add(i, 0);
	assert_int_equal(mem_cgroup_create(the_machine(), 50, &group), 0);
	set_active_memcg(group);
	for (pgoff_t i = 1000; i < 1300; i++) {
		struct folio *folio = filemap_grab_folio(&map, i);

		assert_false(IS_ERR(folio));
		let_go(folio);
		assert_true(atomic64_read(&group->usage) <= 50);
	}
	/* Too much at once; and with a mask that does not let it. */
	assert_int_equal(try_charge(group, GFP_KERNEL, 51), -ENOMEM);
	assert_int_equal(try_charge(group, GFP_NOWAIT, 50), -ENOMEM);
	assert_int_equal(try_charge(group, GFP_KERNEL, 50), 0);
	mem_cgroup_cancel_charge(group, 50);
	set_active_memcg(NULL);
	for (pgoff_t i = 0; i < 100; i++)
		assert_non_null(cached(i));
	assert_true(is_shadow(1000));
	mem_cgroup_destroy(group);
	assert_valid(&t);
	cache_end();
}

/* ---- who has locked something does not reclaim ---------------------------- */

static unsigned long requests;

static void check_unlocked(unsigned int gfp)
{
	struct folio *folio;
	pgoff_t index;

	if (!(gfp & __GFP_DIRECT_RECLAIM))
		return;
	requests++;
	xa_for_each(&map.i_pages, index, folio)
		assert_true(xa_is_value(folio) || !folio_test_locked(folio));
}

static void *checking_zalloc(size_t bytes, gfp_t gfp)
{
	check_unlocked(gfp);
	if (current->fail_nth && !--current->fail_nth)
		return NULL;
	return calloc(1, bytes);
}

/* Present folios, shadows, holes; each allocation fails in turn. */
static void test_fm_B22(void **state)
{
	bool whole = false;

	(void)state;
	for (long n = 1; !whole; n++) {
		xa_zalloc_fn zalloc;
		struct folio_grab g;
		int got;

		cache_begin();
		filemap_grab_init(&g);
		zalloc = map.i_pages.xa_zalloc;
		cache_shadow(512, 9, 9);
		cache_add(130, 0);
		cache_add(600, 0);
		map.i_pages.xa_zalloc = checking_zalloc;
		current->alloc_hook = check_unlocked;
		current->fail_nth = n;
		for (pgoff_t at = 100; at < 700; at = g.next) {
			got = filemap_grab_folios(&map, at, 700 - at, FGP_LOCK |
						  FGP_CREAT, CACHE_GFP,
						  (unsigned int)n % 7, &g);
			if (got < 0)
				break;
			for (int i = 0; i < got; i++)
				let_go(g.folios[i]);
		}
		whole = current->fail_nth > 0;
		current->fail_nth = 0;
		current->alloc_hook = NULL;
		map.i_pages.xa_zalloc = zalloc;
		assert_true(got > 0 || got == -ENOMEM);
		filemap_grab_end(&g);
		cache_end();
	}
	assert_true(requests > 1000);
}

/* K8, K9: what a grab has returned stays; what it has let go may be gone. */
static void test_grabbed(void **state)
{
	struct folio_grab g;

	(void)state;
	cache_begin();
	filemap_grab_init(&g);
	assert_int_equal(filemap_grab_folios(&map, 0, 64, FGP_LOCK | FGP_CREAT,
					     CACHE_GFP, 0, &g), 64);
	assert_int_equal(reclaim_all(), 0);
	for (unsigned int i = 0; i < 32; i++)
		let_go(g.folios[i]);
	for (unsigned int i = 32; i < 64; i++)
		folio_unlock(g.folios[i]);
	assert_int_equal(reclaim_all(), 32);
	for (unsigned int i = 32; i < 64; i++) {
		assert_ptr_equal(cached(i), g.folios[i]);
		folio_put(g.folios[i]);
	}
	filemap_grab_end(&g);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_C19),
		cmocka_unit_test(test_fm_C20),
		cmocka_unit_test(test_remove_mapping),
		cmocka_unit_test(test_kept_mappings),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_free_folio),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_fm_B22),
		cmocka_unit_test(test_grabbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
