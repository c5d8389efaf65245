/* SPDX-License-Identifier: MIT */
/*
 * Claim: a shadow tells how long a folio has been gone; one that comes back soon
 * enough begins as active, once for each folio however it is added; and of the
 * nodes with nothing but shadows there are never many more than could tell
 * anything, and none is lost or freed under anybody.
 *
 * Source: semantics/filemap.md 1.5, 2.4 step 12, 3.7, C4, B11, B23
 */
#include "tests/reclaim_test.h"

#include "lab/xa_validate.h"
#include "mm/filemap_grab.h"
#include "mm/truncate.h"
#include "mm/workingset.h"

static struct folio_grab g;

/* One folio, whatever else is on the lists. */
static void *evict_for(pgoff_t index, struct mem_cgroup *target)
{
	struct folio *folio = filemap_lock_folio(&map, index);
	pgoff_t base = folio->index;
	void *shadow;

	lru_add_drain_all(the_machine());
	folio_del_lru(folio);
	xa_lock(&map.i_pages);
	shadow = workingset_eviction(folio, target);
	__filemap_remove_folio(folio, shadow);
	xa_unlock(&map.i_pages);
	filemap_free_folio(&map, folio);
	let_go(folio);
	assert_ptr_equal(xa_load(&map.i_pages, base), shadow);
	return shadow;
}

static void *evict(pgoff_t index)
{
	return evict_for(index, NULL);
}

static bool recent(void *shadow)
{
	bool workingset;

	return workingset_test_recent(the_machine(), shadow, &workingset);
}

/* @nr active pages, out of the way. */
static void add_active(unsigned int nr)
{
	for (pgoff_t i = 0; i < nr; i++) {
		cache_add(100000 + i, 0);
		use(100000 + i);
	}
	lru_add_drain_all(the_machine());
}

static void test_fm_C4(void **state)
{
	struct folio *folio;

	(void)state;
	for (unsigned int others = 0; others < 20; others++) {
		u64 refaulted, activated;

		cache_begin();
		add_active(10);
		for (pgoff_t i = 0; i < 40; i++)
			cache_add(i, 0);
		evict(7);
		/* Each of them is one tick; its own is the first. */
		for (pgoff_t i = 0; i < others; i++)
			evict(20 + i);
		refaulted = refaults();
		activated = activations();
		assert_int_equal(PTR_ERR(filemap_get_folio(&map, 7)), -ENOENT);
		folio = filemap_grab_folio(&map, 7);
		assert_false(IS_ERR(folio));
		assert_int_equal(refaults() - refaulted, 1);
		assert_int_equal(activations() - activated, others + 1 <= 10);
		assert_int_equal(folio_test_active(folio), others + 1 <= 10);
		assert_false(folio_test_workingset(folio));
		let_go(folio);
		/* What will be written is no refault. */
		evict(8);
		folio = __filemap_get_folio(&map, 8, FGP_WRITEBEGIN, 0);
		assert_int_equal(refaults() - refaulted, 1);
		assert_false(folio_test_active(folio));
		let_go(folio);
		cache_end();
	}
}

/* The clock counts pages, evicted or activated. */
static void test_clock(void **state)
{
	void *shadow;

	(void)state;
	cache_begin();
	add_active(20);
	cache_add(64, 4);
	cache_add(1, 0);
	cache_add(2, 0);
	shadow = evict(1);
	assert_true(recent(shadow));
	evict(64);
	assert_true(recent(shadow));
	/* 1 + 16; the active list grows with each of these. */
	use(2);
	assert_true(recent(shadow));
	shadow = evict(2);
	cache_add(512, 9);
	evict(512);
	assert_false(recent(shadow));
	cache_end();
}

/* A group's own clock and list; when it is gone nothing is recent. */
static void test_groups(void **state)
{
	struct mem_cgroup *group;
	void *shadow, *other;

	(void)state;
	cache_begin();
	assert_int_equal(mem_cgroup_create(the_machine(), MEMCG_MAX, &group),
			 0);
	add_active(10);
	set_active_memcg(group);
	cache_add(1, 0);
	cache_add(2, 0);
	cache_add(3, 0);
	other = evict(1);
	shadow = evict_for(2, group);
	/* Nothing active is the group's. */
	assert_true(recent(other));
	assert_false(recent(shadow));
	use(3);
	/* One is now; and one activation and one eviction have been since. */
	assert_int_equal(memcg_lru_pages(group, LRU_ACTIVE_FILE), 1);
	assert_false(recent(shadow));
	cache_add(4, 0);
	use(4);
	shadow = evict_for(4, group);
	assert_true(recent(shadow));
	assert_valid(&t);
	set_active_memcg(NULL);
	mem_cgroup_destroy(group);
	assert_false(recent(shadow));
	cache_end();
}

/*
 * Batches over shadows of any order: each is replaced, one refault for each
 * folio, what was not covered stays a shadow.
 */
static void test_fm_B11(void **state)
{
	static const unsigned int orders[] = { 0, 4, 9 };

	(void)state;
	for (unsigned int o = 0; o < 3; o++) {
		for (unsigned int max = 0; max <= 6; max += 2) {
			const pgoff_t start = 512 + 24, nr = 40;
			const bool small = max & 2;
			u64 before;
			int got;

			cache_begin();
			filemap_grab_init(&g);
			/* At most 512 + 40 ticks ago. */
			add_active(small ? 100 : 600);
			for (pgoff_t i = 512; i < 1024; i += 1UL << orders[o])
				cache_add(i, orders[o]);
			for (pgoff_t i = 512; i < 1024; i += 1UL << orders[o])
				evict(i);
			before = refaults();
			got = filemap_grab_folios(&map, start, nr, FGP_LOCK |
						  FGP_CREAT, 0, max, &g);
			assert_true(got > 0);
			assert_int_equal(g.next, start + nr);
			/* Pages, and every folio was over one. */
			assert_int_equal(refaults() - before, nr);
			for (int i = 0; i < got; i++) {
				assert_int_equal(folio_test_active(
							g.folios[i]), !small);
				let_go(g.folios[i]);
			}
			for (pgoff_t i = 512; i < 1024; i++)
				assert_int_equal(is_shadow(i), i < start ||
						 i >= start + nr);
			filemap_grab_end(&g);
			cache_end();
		}
	}
}

/* A large shadow under single pages, in pieces; one alone in its leaf. */
static void test_fm_B23(void **state)
{
	(void)state;
	for (pgoff_t cut = 1; cut <= 8; cut++) {
		u64 before;

		cache_begin();
		filemap_grab_init(&g);
		cache_add(512, 9);
		evict(512);
		before = refaults();
		for (pgoff_t i = 0; i < cut * 64; i = g.next - 512) {
			int got = filemap_grab_folios(&map, 512 + i, 64,
						      FGP_LOCK | FGP_CREAT, 0,
						      0, &g);

			assert_int_equal(got, 64);
			for (int k = 0; k < got; k++) {
				assert_int_equal(g.folios[k]->index,
						 512 + i + k);
				let_go(g.folios[k]);
			}
		}
		assert_int_equal(refaults() - before, cut * 64);
		for (pgoff_t i = 0; i < 512; i++) {
			struct folio *folio = cached(512 + i);

			assert_int_equal(folio != NULL, i < cut * 64);
			assert_true(!folio || folio->index == 512 + i);
		}
		/* Eight leaves, and the root. */
		assert_int_equal(xa_count_nodes(&map.i_pages), 9);
		filemap_grab_end(&g);
		cache_end();
	}
	cache_begin();
	cache_add(8, 3);
	cache_add(4096, 0);
	evict(8);
	cache_add(10, 0);
	assert_int_equal(xa_get_order(&map.i_pages, 12), 0);
	assert_true(is_shadow(15) && is_shadow(8) && is_shadow(11));
	cache_end();
}

/* ---- nodes ---------------------------------------------------------------- */

static unsigned long nr_nodes(void)
{
	return the_machine()->workingset.nr_shadow_nodes;
}

/* A node for each leaf of @nr that have one shadow each. */
static void add_shadow_nodes(pgoff_t nr)
{
	for (pgoff_t i = 1; i <= nr; i++)
		cache_shadow(i * 64, 0, i);
}

static void test_nodes(void **state)
{
	unsigned long most;

	(void)state;
	cache_begin();
	most = (the_machine()->zones[0].managed_pages +
		the_machine()->zones[1].managed_pages) / 8;
	add_shadow_nodes(most);
	assert_int_equal(nr_nodes(), most);
	assert_int_equal(count_shadow_nodes(the_machine()), 0);
	assert_valid(&t);
	/* A folio among them, a hole, an empty leaf. */
	cache_add(64 + 1, 0);
	assert_int_equal(nr_nodes(), most - 1);
	evict(64 + 1);
	assert_int_equal(nr_nodes(), most);
	xa_erase(&map.i_pages, 2 * 64);
	assert_int_equal(nr_nodes(), most - 1);
	for (pgoff_t i = 1; i <= 11; i++)
		cache_shadow((most + i) * 64, 0, 1);
	assert_int_equal(count_shadow_nodes(the_machine()), 10);
	assert_valid(&t);
	/* Whose index is locked waits. */
	xa_lock(&map.i_pages);
	assert_int_equal(shrink_shadow_nodes(the_machine(), 1), 0);
	xa_unlock(&map.i_pages);
	/* It was the first, and is the last now. */
	try_to_free_pages(the_machine(), 0, CACHE_GFP);
	assert_int_equal(nr_nodes(), most);
	assert_int_equal(atomic64_read(&the_machine()->workingset.nodereclaim),
			 10);
	assert_true(is_shadow(3 * 64));
	for (pgoff_t i = 4; i < 14; i++)
		assert_false(is_shadow(i * 64));
	assert_true(is_shadow(14 * 64));
	assert_valid(&t);
	/* All of them: nothing is left above them either. */
	assert_int_equal(shrink_shadow_nodes(the_machine(), most), most);
	assert_true(xa_empty(&map.i_pages));
	cache_end();
}

/* What keeps count is counted again, and a node that is lost is missed. */
static void test_checked(void **state)
{
	struct workingset *ws;
	struct xa_node *node;

	(void)state;
	cache_begin();
	ws = &the_machine()->workingset;
	add_shadow_nodes(3);
	assert_valid(&t);
	ws->nr_shadow_nodes++;
	assert_int_equal(mm_validate(the_machine(), NULL), MM_CACHE);
	ws->nr_shadow_nodes--;
	node = list_first_entry(&ws->shadow_nodes, struct xa_node,
				private_list);
	list_del(&node->private_list);
	INIT_LIST_HEAD(&node->private_list);
	ws->nr_shadow_nodes--;
	assert_int_equal(mm_validate(the_machine(), NULL), MM_CACHE);
	list_add(&node->private_list, &ws->shadow_nodes);
	ws->nr_shadow_nodes++;
	assert_valid(&t);
	cache_end();
}

/* In the head there is no node, and no list knows of the shadow. */
static void test_lone_shadow(void **state)
{
	(void)state;
	cache_begin();
	assert_true(mapping_shrinkable(&map));
	cache_add(0, 0);
	assert_false(mapping_shrinkable(&map));
	evict(0);
	assert_int_equal(nr_nodes(), 0);
	assert_true(mapping_shrinkable(&map));
	cache_add(1, 0);
	assert_false(mapping_shrinkable(&map));
	assert_valid(&t);
	truncate_inode_pages_final(&map);
	assert_true(mapping_shrinkable(&map));
	cache_end();
}

/* Large shadows above the leaves; split, overwritten, truncated. */
static void test_large_shadows(void **state)
{
	(void)state;
	cache_begin();
	cache_shadow(512, 9, 1);
	assert_int_equal(nr_nodes(), 1);
	cache_add(512, 0);
	assert_valid(&t);
	assert_int_equal(nr_nodes(), 7);
	cache_empty();
	assert_int_equal(nr_nodes(), 0);
	cache_shadow(512, 9, 1);
	cache_add(512 + 64, 6);
	assert_valid(&t);
	truncate_inode_pages_range(&map, PAGES(512 + 256), -1ul);
	assert_valid(&t);
	/* A mapping may end with shadows in it. */
	cache_empty();
	add_shadow_nodes(20);
	mapping_destroy(&map);
	assert_int_equal(nr_nodes(), 0);
	mapping_init(&map, the_machine());
	cache_end();
}

/* Values that are somebody's are no shadows. */
static void test_fm_B25(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	filemap_grab_init(&g);
	mapping_set_keep_values(&map);
	xa_store(&map.i_pages, 70, xa_mk_value(5), 0);
	assert_int_equal(nr_nodes(), 0);
	folio = filemap_grab_folio(&map, 70);
	assert_int_equal(PTR_ERR(folio), -EINVAL);
	folio = __filemap_get_folio(&map, 64, FGP_LOCK | FGP_CREAT |
				    fgf_set_order(PAGES(16)), 0);
	assert_int_equal(folio_order(folio), 2);
	let_go(folio);
	/* At the start, in the middle, under a large one. */
	for (unsigned int order = 0; order < 6; order++) {
		assert_int_equal(filemap_grab_folios(&map, 70, 8, FGP_LOCK |
						     FGP_CREAT, 0, order, &g),
				 -EINVAL);
		assert_true(filemap_grab_folios(&map, 64, 32, FGP_LOCK |
						FGP_CREAT, 0, order, &g) > 1);
		assert_int_equal(g.next, 70);
		for (unsigned int i = 0; i < g.nr; i++)
			let_go(g.folios[i]);
	}
	assert_int_equal(filemap_grab_folios(&map, 70, 8, FGP_LOCK, 0, 0, &g),
			 -ENOENT);
	assert_int_equal(filemap_grab_folios(&map, 69, 8, 0, 0, 0, &g), 1);
	folio_put(g.folios[0]);
	assert_int_equal(filemap_grab_folios(&map, 69, 0, FGP_CREAT, 0, 0, &g),
			 -EINVAL);
	assert_int_equal(filemap_grab_folios(&map, 69, (pgoff_t)-68, FGP_CREAT,
					     0, 0, &g), -EINVAL);
	assert_ptr_equal(xa_load(&map.i_pages, 70), xa_mk_value(5));
	filemap_grab_end(&g);
	assert_valid(&t);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_C4),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_fm_B11),
		cmocka_unit_test(test_fm_B23),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_lone_shadow),
		cmocka_unit_test(test_large_shadows),
		cmocka_unit_test(test_fm_B25),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
