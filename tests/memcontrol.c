/* SPDX-License-Identifier: MIT */
/*
 * Claim: a group has paid for exactly the folios that were added in its name and
 * still live, never for more than it may have, however an add ends; and a batch
 * gets as much of its range as the group can pay for.
 *
 * Source: semantics/filemap.md 2.4 step 1, 3.3 (C4, C5), 3.4 phase B, B6 of 8.4
 */
#include "tests/filemap_test.h"

#include "mm/filemap_grab.h"
#include "mm/filemap_publish.h"
#include "mm/folio_split.h"
#include "mm/memcontrol.h"
#include "mm/truncate.h"

#define CREATE (FGP_LOCK | FGP_CREAT | FGP_NOFS)

static struct folio_grab g;
static struct mem_cgroup *group;

static void begin(unsigned long max)
{
	cache_begin();
	filemap_grab_init(&g);
	assert_int_equal(mem_cgroup_create(the_machine(), max, &group), 0);
	assert_null(set_active_memcg(group));
}

static void end(void)
{
	filemap_grab_end(&g);
	assert_ptr_equal(set_active_memcg(NULL), group);
	mem_cgroup_destroy(group);
	cache_end();
}

static long usage(void)
{
	return (long)atomic64_read(&group->usage);
}

static int grab(pgoff_t start, pgoff_t nr, unsigned int order)
{
	return filemap_grab_folios(&map, start, nr, CREATE, GFP_NOWAIT, order,
				   &g);
}

static void release_grabbed(void)
{
	for (unsigned int i = 0; i < g.nr; i++)
		let_go(g.folios[i]);
}

static void test_charge(void **state)
{
	struct folio *folio;

	(void)state;
	begin(MEMCG_MAX);
	cache_add(64, 3);
	assert_int_equal(usage(), 8);
	folio = filemap_get_folio(&map, 64);
	assert_ptr_equal(folio_memcg(folio), group);
	/* Removed, and still somebody's: paid for until it is freed. */
	folio_lock(folio);
	filemap_remove_folio(folio);
	folio_unlock(folio);
	assert_int_equal(usage(), 8);
	folio_put(folio);
	assert_int_equal(usage(), 0);
	/* Others pay for theirs. */
	set_active_memcg(NULL);
	folio = cache_add(3, 0);
	assert_ptr_equal(folio_memcg(folio), root_mem_cgroup(the_machine()));
	assert_int_equal(usage(), 0);
	set_active_memcg(group);
	end();
}

/* The parts of a folio pay what the whole did. */
static void test_split(void **state)
{
	struct folio *folio;

	(void)state;
	begin(MEMCG_MAX);
	cache_add(64, 6);
	folio = filemap_lock_folio(&map, 64);
	assert_int_equal(split_folio_to_order(folio, 2), 0);
	let_go(folio);
	assert_int_equal(usage(), 64);
	assert_valid(&t);
	truncate_inode_pages_range(&map, 64 << PAGE_SHIFT,
				   (80 << PAGE_SHIFT) - 1);
	assert_int_equal(usage(), 48);
	end();
}

/* An id is in use as long as a folio has it. */
static void test_ids(void **state)
{
	struct mem_cgroup *others[NR_MEM_CGROUPS], *more;
	unsigned int nr = 0;
	u16 id;

	(void)state;
	begin(MEMCG_MAX);
	id = mem_cgroup_id(group);
	cache_add(1, 0);
	set_active_memcg(NULL);
	mem_cgroup_destroy(group);
	assert_null(mem_cgroup_from_id(the_machine(), id));
	while (!mem_cgroup_create(the_machine(), 5, &others[nr]))
		assert_true(mem_cgroup_id(others[nr++]) != id);
	assert_int_equal(nr, NR_MEM_CGROUPS - 3);
	assert_int_equal(mem_cgroup_create(the_machine(), 5, &more), -ENOSPC);
	cache_empty();
	lru_add_drain_all(the_machine());
	assert_int_equal(mem_cgroup_create(the_machine(), 5, &more), 0);
	assert_int_equal(mem_cgroup_id(more), id);
	while (nr)
		mem_cgroup_destroy(others[--nr]);
	set_active_memcg(group);
	end();
}

/* As many as the group may have: none, a prefix, all. */
static void test_fm_B6(void **state)
{
	(void)state;
	for (unsigned long max = 0; max <= 40; max++) {
		int got;

		begin(max);
		set_active_memcg(NULL);
		cache_add(103, 0);
		set_active_memcg(group);
		got = grab(100, 32, 0);
		if (!max) {
			assert_int_equal(got, -ENOMEM);
			assert_int_equal(g.next, 100);
		} else {
			/* One was there. */
			assert_int_equal(got, min(32UL, max + (max > 2)));
			release_grabbed();
		}
		assert_int_equal(usage(), min(31UL, max));
		end();
	}
}

/* What is too much in one piece is added in smaller ones. */
static void test_large(void **state)
{
	(void)state;
	begin(100);
	assert_int_equal(grab(0, 512, 9), 1);
	assert_int_equal(folio_order(g.folios[0]), 6);
	release_grabbed();
	assert_int_equal(grab(64, 448, 9), 1);
	assert_int_equal(folio_order(g.folios[0]), 5);
	release_grabbed();
	assert_int_equal(grab(96, 416, 9), 1);
	assert_int_equal(folio_order(g.folios[0]), 2);
	release_grabbed();
	assert_int_equal(usage(), 100);
	assert_int_equal(grab(100, 412, 9), -ENOMEM);
	end();
}

/* The charge at the start fails, the one of each piece, all of them. */
static void test_fail_nth(void **state)
{
	(void)state;
	for (long n = 1; n < 30; n++) {
		int got;

		begin(20);
		current->fail_nth = n;
		got = grab(60, 16, 2);
		current->fail_nth = 0;
		if (got < 0)
			assert_int_equal(got, -ENOMEM);
		else
			release_grabbed();
		assert_int_equal(usage(), map.nrpages);
		end();
	}
}

/* Somebody else's folio is there: what was charged for ours goes back. */
static void *racing_zalloc(size_t bytes, gfp_t gfp)
{
	static bool racing;

	(void)gfp;
	if (!racing && !xa_load(&map.i_pages, 77)) {
		racing = true;
		set_active_memcg(NULL);
		cache_add(77, 0);
		set_active_memcg(group);
		racing = false;
	}
	return calloc(1, bytes);
}

static void test_conflict(void **state)
{
	xa_zalloc_fn zalloc;

	(void)state;
	begin(50);
	zalloc = map.i_pages.xa_zalloc;
	map.i_pages.xa_zalloc = racing_zalloc;
	assert_int_equal(grab(70, 20, 0), 20);
	map.i_pages.xa_zalloc = zalloc;
	assert_int_equal(usage(), 19);
	release_grabbed();
	/* A spare folio is nobody's. */
	assert_int_equal(g.nr_spares, 1);
	assert_null(folio_memcg(g.spares[0]));
	end();
}

/* What is filled first is paid for when it is published, or is not. */
static void test_publish(void **state)
{
	struct filemap_publish publish;
	struct folio *folios[20];

	(void)state;
	begin(12);
	filemap_publish_init(&publish, &map);
	for (unsigned int i = 0; i < 20; i++)
		folios[i] = filemap_alloc_folio(GFP_USER, 0);
	set_active_memcg(NULL);
	cache_add(100 + 8, 0);
	set_active_memcg(group);
	/* Up to what is there; those behind are nobody's. */
	assert_int_equal(filemap_publish_folios(&publish, 100, folios, 10), 8);
	assert_int_equal(usage(), 8);
	assert_ptr_equal(folio_memcg(folios[7]), group);
	assert_null(folio_memcg(folios[8]));
	/* As many as it may have: they are dirty, and none is reclaimed. */
	assert_int_equal(filemap_publish_folios(&publish, 200, folios + 8, 12),
			 4);
	assert_int_equal(filemap_publish_folios(&publish, 300, folios + 12, 8),
			 -ENOMEM);
	assert_int_equal(usage(), 12);
	for (unsigned int i = 12; i < 20; i++)
		folio_put(folios[i]);
	filemap_publish_end(&publish);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_fm_B6),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_fail_nth),
		cmocka_unit_test(test_conflict),
		cmocka_unit_test(test_publish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
