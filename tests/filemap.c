/* SPDX-License-Identifier: MIT */
/*
 * Claim: what is added is found from each index that it covers and nowhere
 * else; a failed add leaves nothing behind; removing gives every reference back
 * and leaves what it was told to leave; each flag does what it says.
 *
 * Source: semantics/filemap.md 1, 2, table C of 8.3
 */
#include "tests/filemap_test.h"

#include "mm/filemap_internal.h"
#include "mm/folio_split.h"
#include "mm/guest_memfd.h"
#include "mm/memcontrol.h"

static void test_fm_C1(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	assert_int_equal(PTR_ERR(filemap_get_folio(&map, 5)), -ENOENT);
	assert_int_equal(PTR_ERR(filemap_lock_folio(&map, 5)), -ENOENT);
	folio = filemap_grab_folio(&map, 5);
	assert_false(IS_ERR(folio));
	assert_true(folio_test_locked(folio));
	assert_true(folio_test_referenced(folio));
	assert_false(folio_test_uptodate(folio));
	assert_int_equal(folio_ref_count(folio), 3);
	lru_add_drain_all(the_machine());
	assert_int_equal(folio_ref_count(folio), 2);
	assert_int_equal(map.nrpages, 1);
	assert_ptr_equal(folio->mapping, &map);
	assert_int_equal(folio->index, 5);
	assert_int_equal(PTR_ERR(filemap_get_folio(&map, 4)), -ENOENT);
	let_go(folio);
	assert_ptr_equal(filemap_grab_folio(&map, 5), folio);
	assert_true(folio_test_active(folio));
	let_go(folio);
	cache_end();
}

/* The half that waits is in tests/filemap_threads.c. */
static void test_fm_C2(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	cache_add(3, 0);
	folio = filemap_lock_folio(&map, 3);
	lru_add_drain_all(the_machine());
	assert_int_equal(PTR_ERR(__filemap_get_folio(&map, 3, FGP_LOCK |
						     FGP_CREAT | FGP_NOWAIT,
						     0)), -EAGAIN);
	assert_int_equal(folio_ref_count(folio), 2);
	let_go(folio);
	cache_end();
}

static void test_fm_C4(void **state)
{
	struct folio *folio;
	void *shadow = NULL;

	(void)state;
	cache_begin();
	cache_shadow(7, 0, 42);
	assert_ptr_equal(filemap_get_entry(&map, 7), xa_mk_value(42));
	assert_int_equal(PTR_ERR(filemap_get_folio(&map, 7)), -ENOENT);
	folio = filemap_alloc_folio(0, 0);
	__folio_set_locked(folio);
	assert_int_equal(__filemap_add_folio(&map, folio, 7, 0, &shadow), 0);
	assert_ptr_equal(shadow, xa_mk_value(42));
	assert_int_equal(map.nrpages, 1);
	filemap_queue_new(folio, NULL, 0);
	let_go(folio);
	cache_end();
}

/* A folio smaller than the shadow splits it once; one as large replaces it. */
static void test_fm_C5(void **state)
{
	static const unsigned int orders[] = { 0, 4, 9 };

	(void)state;
	cache_begin();
	for (unsigned int i = 0; i < 3; i++) {
		pgoff_t at = 512 + 48, base = at >> orders[i] << orders[i];

		cache_shadow(512, 9, 9);
		cache_add(base, orders[i]);
		assert_valid(&t);
		for (pgoff_t k = 512; k < 1024; k++) {
			void *entry = xa_load(&map.i_pages, k);

			if (k >= base && k < base + (1UL << orders[i]))
				assert_false(xa_is_value(entry));
			else
				assert_ptr_equal(entry, xa_mk_value(9));
		}
		assert_null(xa_load(&map.i_pages, 511));
		assert_null(xa_load(&map.i_pages, 1024));
		cache_empty();
	}
	cache_end();
}

/* Smaller shadows below a large folio go; the last one is told. */
static void test_shadows_below(void **state)
{
	struct folio *folio;
	void *shadow;

	(void)state;
	cache_begin();
	cache_shadow(64, 0, 1);
	cache_shadow(66, 1, 2);
	cache_shadow(100, 2, 3);
	folio = filemap_alloc_folio(0, 6);
	__folio_set_locked(folio);
	assert_int_equal(__filemap_add_folio(&map, folio, 64, 0, &shadow), 0);
	assert_ptr_equal(shadow, xa_mk_value(3));
	assert_int_equal(map.nrpages, 64);
	filemap_queue_new(folio, NULL, 0);
	let_go(folio);
	cache_end();
}

static void test_fm_C7(void **state)
{
	struct folio *folio, *other;

	(void)state;
	cache_begin();
	other = cache_add(8 + 3, 0);
	folio = __filemap_get_folio(&map, 8, FGP_LOCK | FGP_CREAT |
				    fgf_set_order(PAGE_SIZE << 3), 0);
	assert_false(IS_ERR(folio));
	assert_int_equal(folio_order(folio), 1);
	assert_int_equal(folio->index, 8);
	assert_ptr_equal(xa_load(&map.i_pages, 11), other);
	assert_null(xa_load(&map.i_pages, 10));
	let_go(folio);
	cache_end();
}

static void check_new_order(pgoff_t index, unsigned int hint,
			    unsigned int expected)
{
	struct folio *folio = __filemap_get_folio(&map, index, FGP_LOCK |
			FGP_CREAT | fgf_set_order(PAGE_SIZE << hint), 0);

	assert_false(IS_ERR(folio));
	assert_int_equal(folio_order(folio), expected);
	assert_true(folio_contains(folio, index));
	let_go(folio);
}

static void test_fm_C8(void **state)
{
	(void)state;
	cache_begin();
	check_new_order(6, 4, 1);
	check_new_order(512, 11, 9);
	cache_end();
	cache_begin_orders(0, 0);
	check_new_order(16, 4, 0);
	cache_end();
}

/*
 * A file system wants folios that an index of 64 slots could not split in one
 * step: none becomes larger than what can be, and that can be split to pages.
 */
static void test_case_H10(void **state)
{
	static const unsigned int orders[] = { 8, 9, 10, 12, 13, 18, 31 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
		const unsigned int most = min(orders[i], MAX_PAGECACHE_ORDER);
		struct guest_memfd *gmem;
		struct pf_file *file;
		struct folio *folio;

		cache_begin_orders(0, orders[i]);
		assert_int_equal(mapping_max_folio_order(&map), most);
		folio = __filemap_get_folio(&map, 0, FGP_LOCK | FGP_CREAT |
				fgf_set_order(PAGE_SIZE << orders[i]),
				map.gfp_mask);
		assert_false(IS_ERR(folio));
		assert_int_equal(folio_order(folio), most);
		assert_int_equal(split_folio_to_order(folio, 0), 0);
		assert_int_equal(map.nrpages, 1 << most);
		for (pgoff_t p = 0; p < 1UL << most; p++) {
			struct folio *page = xa_load(&map.i_pages, p);

			assert_int_equal(page->index, p);
			assert_int_equal(folio_order(page), 0);
		}
		let_go(folio);
		/* Who asks for more by name is told. */
		if (orders[i] > most) {
			assert_int_equal(pf_shmem_create(t.machine, MIB(8),
							 orders[i], 0, &file),
					 -EINVAL);
			assert_int_equal(guest_memfd_create(MIB(8), orders[i],
							    &gmem), -EINVAL);
		}
		cache_end();
	}
}

static void test_fm_C9(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin_orders(2, 5);
	current->fail_nth = 1;
	assert_int_equal(PTR_ERR(filemap_grab_folio(&map, 7)), -ENOMEM);
	assert_int_equal(current->fail_nth, 0);
	assert_int_equal(map.nrpages, 0);
	folio = filemap_grab_folio(&map, 7);
	assert_false(IS_ERR(folio));
	assert_int_equal(folio->index, 4);
	assert_int_equal(folio_order(folio), 2);
	let_go(folio);
	cache_end();
}

/* The shadow changes while nodes to split it are got. */
static unsigned int new_order;
static bool changed;

static void *changing_zalloc(size_t bytes, gfp_t gfp)
{
	(void)gfp;
	if (!changed) {
		changed = true;
		xa_erase(&map.i_pages, 512);
		if (new_order)
			cache_shadow(512, new_order, 10 + new_order);
	}
	return calloc(1, bytes);
}

static void test_fm_C6(void **state)
{
	xa_zalloc_fn zalloc;
	struct folio *folio;
	void *shadow;

	(void)state;
	cache_begin();
	zalloc = map.i_pages.xa_zalloc;
	for (new_order = 0; new_order <= 9; new_order++) {
		cache_shadow(512, 9, 9);
		folio = filemap_alloc_folio(0, 0);
		__folio_set_locked(folio);
		changed = false;
		map.i_pages.xa_zalloc = changing_zalloc;
		assert_int_equal(__filemap_add_folio(&map, folio, 512, 0,
						     &shadow), 0);
		map.i_pages.xa_zalloc = zalloc;
		assert_true(changed);
		assert_ptr_equal(shadow, new_order ?
				 xa_mk_value(10 + new_order) : NULL);
		assert_ptr_equal(xa_load(&map.i_pages, 512), folio);
		assert_ptr_equal(xa_load(&map.i_pages, 513), shadow);
		assert_null(xa_load(&map.i_pages, 512 + (1u << new_order)));
		filemap_queue_new(folio, NULL, 0);
		let_go(folio);
		assert_valid(&t);
		cache_empty();
	}
	cache_end();
}

/* Every allocation of an add over a larger shadow fails once. */
static void test_fm_C10(void **state)
{
	struct mem_cgroup *group;
	struct folio *folio;
	int err = -ENOMEM;
	long n;

	(void)state;
	cache_begin();
	cache_shadow(512, 9, 9);
	assert_int_equal(mem_cgroup_create(the_machine(), 1, &group), 0);
	set_active_memcg(group);
	folio = filemap_alloc_folio(0, 0);
	for (n = 1; err; n++) {
		current->fail_nth = n;
		err = filemap_add_folio(&map, folio, 512 + 77, 0);
		if (!err)
			break;
		current->fail_nth = 0;
		assert_int_equal(err, -ENOMEM);
		assert_null(folio->mapping);
		assert_int_equal(folio->index, n > 1 ? 512 + 77 : 0);
		assert_false(folio_test_locked(folio));
		assert_int_equal(folio_ref_count(folio), 1);
		assert_int_equal(map.nrpages, 0);
		assert_int_equal(xa_get_order(&map.i_pages, 600), 9);
		assert_null(folio_memcg(folio));
		assert_int_equal(atomic64_read(&group->usage), 0);
	}
	current->fail_nth = 0;
	/* The charge, and eight leaves. */
	assert_int_equal(n, 10);
	assert_ptr_equal(folio_memcg(folio), group);
	assert_int_equal(atomic64_read(&group->usage), 1);
	let_go(folio);
	/* It may have one. */
	folio = __filemap_get_folio(&map, 5, FGP_LOCK | FGP_CREAT, GFP_NOWAIT);
	assert_int_equal(PTR_ERR(folio), -ENOMEM);
	assert_null(xa_load(&map.i_pages, 5));
	set_active_memcg(NULL);
	mem_cgroup_destroy(group);
	cache_end();
}

/* And every one of a grab, frame and nodes, far from anything. */
static void test_fail_nth(void **state)
{
	struct folio *folio = ERR_PTR(-ENOMEM);
	long n;

	(void)state;
	cache_begin();
	for (n = 1; IS_ERR(folio); n++) {
		current->fail_nth = n;
		folio = __filemap_get_folio(&map, 1UL << 40, FGP_LOCK |
					    FGP_CREAT | FGP_NOWAIT *
					    (unsigned int)(n & 1), 0);
		if (!IS_ERR(folio))
			break;
		assert_int_equal(PTR_ERR(folio), n & 1 ? -EAGAIN : -ENOMEM);
		assert_true(xa_empty(&map.i_pages));
		assert_int_equal(map.nrpages, 0);
		assert_valid(&t);
	}
	current->fail_nth = 0;
	assert_true(n > 5);
	let_go(folio);
	cache_end();
}

/* -EAGAIN three times: the lock, a frame, a node.  STABLE waits all the same. */
static void test_fm_C26(void **state)
{
	const fgf_t fgp = FGP_LOCK | FGP_CREAT | FGP_NOWAIT;
	struct folio *folio;
	unsigned long used;

	(void)state;
	cache_begin();
	cache_add(3, 0);
	folio = filemap_lock_folio(&map, 3);
	used = frames_in_use(the_machine());
	assert_int_equal(PTR_ERR(__filemap_get_folio(&map, 3, fgp, 0)),
			 -EAGAIN);
	/* Far away: frame, charge, node. */
	for (long n = 1; n <= 3; n++) {
		current->fail_nth = n;
		assert_int_equal(PTR_ERR(__filemap_get_folio(&map, 1UL << 30,
							     fgp, GFP_USER)),
				 -EAGAIN);
		assert_int_equal(current->fail_nth, 0);
	}
	assert_int_equal(frames_in_use(the_machine()), used);
	assert_int_equal(map.nrpages, 1);
	/* Not under writeback: nothing to wait for. */
	let_go(folio);
	set_bit(AS_STABLE_WRITES, &map.flags);
	folio = __filemap_get_folio(&map, 3, fgp | FGP_STABLE, 0);
	assert_false(IS_ERR(folio));
	let_go(folio);
	cache_end();
}

static void test_fm_C12(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	cache_add(64, 6);
	folio = filemap_lock_folio(&map, 100);
	filemap_remove_folio(folio);
	assert_null(folio->mapping);
	assert_int_equal(folio->index, 64);
	assert_int_equal(folio_ref_count(folio), 1);
	assert_true(xa_empty(&map.i_pages));
	assert_int_equal(map.nrpages, 0);
	let_go(folio);
	cache_end();
}

static void test_exists(void **state)
{
	struct folio *small, *folio = NULL;

	(void)state;
	cache_begin();
	small = cache_add(70, 0);
	cache_add(256, 4);
	folio = filemap_alloc_folio(0, 4);
	assert_int_equal(filemap_add_folio(&map, folio, 64, 0), -EEXIST);
	assert_int_equal(filemap_add_folio(&map, folio, 256, 0), -EEXIST);
	assert_false(folio_test_locked(folio));
	assert_int_equal(folio_ref_count(folio), 1);
	assert_ptr_equal(xa_load(&map.i_pages, 70), small);
	assert_int_equal(map.nrpages, 17);
	folio_put(folio);
	cache_end();
}

static struct folio *grab(pgoff_t index, fgf_t fgp)
{
	return __filemap_get_folio(&map, index, fgp, 0);
}

static void test_fm_C25(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	folio = grab(1, FGP_CREAT | FGP_FOR_MMAP);
	assert_false(folio_test_locked(folio));
	folio_put(folio);
	folio = grab(1, FGP_CREAT | FGP_FOR_MMAP);
	assert_false(folio_test_locked(folio));
	folio_put(folio);
	folio = grab(2, FGP_CREAT | FGP_LOCK | FGP_FOR_MMAP);
	assert_false(folio_test_locked(folio));
	folio_put(folio);
	folio = grab(2, FGP_CREAT | FGP_LOCK | FGP_FOR_MMAP);
	assert_true(folio_test_locked(folio));
	let_go(folio);
	folio = grab(2, FGP_CREAT);
	assert_false(folio_test_locked(folio));
	folio_put(folio);
	cache_end();
}

static void test_fm_C13(void **state)
{
	struct folio_batch b;
	pgoff_t start = 70;

	(void)state;
	cache_begin();
	cache_add(64, 4);
	cache_shadow(90, 0, 1);
	for (pgoff_t i = 100; i < 140; i++)
		cache_add(i, 0);
	cache_add((pgoff_t)-1, 0);
	folio_batch_init(&b);
	assert_int_equal(filemap_get_folios(&map, &start, 200, &b), 31);
	assert_int_equal(b.folios[0]->index, 64);
	assert_int_equal(start, 130);
	folio_batch_release(&b);
	assert_int_equal(filemap_get_folios(&map, &start, 200, &b), 10);
	assert_int_equal(start, 201);
	folio_batch_release(&b);
	assert_int_equal(filemap_get_folios(&map, &start, (pgoff_t)-1, &b), 1);
	assert_int_equal(start, (pgoff_t)-1);
	folio_batch_release(&b);
	cache_end();
}

static unsigned int contig(pgoff_t *start, pgoff_t end)
{
	struct folio_batch b;
	unsigned int nr;

	folio_batch_init(&b);
	nr = filemap_get_folios_contig(&map, start, end, &b);
	folio_batch_release(&b);
	return nr;
}

static void test_fm_C14(void **state)
{
	pgoff_t start = 3;

	(void)state;
	cache_begin();
	cache_add(0, 2);
	cache_add(4, 0);
	cache_shadow(5, 0, 1);
	cache_add(6, 0);
	assert_int_equal(contig(&start, 100), 2);
	assert_int_equal(start, 5);
	assert_int_equal(contig(&start, 100), 0);
	assert_int_equal(start, 5);
	start = 6;
	assert_int_equal(contig(&start, 100), 1);
	assert_int_equal(start, 7);
	cache_end();
}

/* THP at 0, pages 2 and 3 of it asked for: one folio, no sibling. */
static void test_case_H2(void **state)
{
	struct folio_batch b;
	pgoff_t start = 2;

	(void)state;
	cache_begin();
	cache_add(0, 9);
	folio_batch_init(&b);
	assert_int_equal(filemap_get_folios_contig(&map, &start, 3, &b), 1);
	assert_int_equal(b.folios[0]->index, 0);
	folio_batch_release(&b);
	cache_end();
}

static void test_fm_C15(void **state)
{
	struct folio *locked, *writeback;
	pgoff_t indices[PAGEVEC_SIZE], start = 2;
	struct folio_batch b;

	(void)state;
	cache_begin();
	cache_add(0, 2);		/* begins before */
	cache_shadow(4, 0, 1);
	cache_add(5, 0);
	cache_add(6, 0);
	cache_add(7, 0);
	cache_add(8, 2);
	cache_add(16, 3);		/* ends behind */
	locked = filemap_lock_folio(&map, 6);
	writeback = filemap_get_folio(&map, 7);
	folio_lock_nested(writeback, filemap_subclass(7));
	folio_start_writeback(writeback);
	folio_unlock(writeback);
	folio_batch_init(&b);
	assert_int_equal(find_lock_entries(&map, &start, 20, &b, indices), 3);
	assert_ptr_equal(b.folios[0], xa_mk_value(1));
	assert_int_equal(indices[1], 5);
	assert_int_equal(indices[2], 8);
	assert_int_equal(start, 12);
	folio_unlock(b.folios[1]);
	folio_unlock(b.folios[2]);
	folio_batch_remove_exceptionals(&b);
	assert_int_equal(b.nr, 2);
	folio_batch_release(&b);
	folio_end_writeback(writeback);
	folio_put(writeback);
	let_go(locked);
	cache_end();
}

static void test_fm_C23(void **state)
{
	struct folio_batch b;

	(void)state;
	cache_begin();
	cache_add(1, 0);
	cache_add(2, 0);
	cache_shadow(3, 0, 1);
	cache_add(4, 2);
	folio_batch_init(&b);
	folio_batch_add(&b, filemap_lock_folio(&map, 1));
	folio_batch_add(&b, __filemap_get_folio(&map, 6, FGP_LOCK |
						FGP_NOWAIT, 0));
	delete_from_page_cache_batch(&map, &b);
	assert_int_equal(map.nrpages, 1);
	assert_null(xa_load(&map.i_pages, 1));
	assert_non_null(xa_load(&map.i_pages, 2));
	assert_ptr_equal(xa_load(&map.i_pages, 3), xa_mk_value(1));
	assert_null(xa_load(&map.i_pages, 7));
	folio_unlock(b.folios[0]);
	folio_unlock(b.folios[1]);
	folio_batch_release(&b);
	cache_end();
}

static bool marked(pgoff_t index, xa_mark_t mark)
{
	return xa_get_mark(&map.i_pages, index, mark);
}

static void test_marks(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	cache_add(64, 3);
	folio = filemap_get_folio(&map, 70);
	assert_true(folio_mark_dirty(folio));
	assert_false(folio_mark_dirty(folio));
	assert_true(marked(65, PAGECACHE_TAG_DIRTY));
	tag_pages_for_writeback(&map, 0, 100);
	assert_true(marked(65, PAGECACHE_TAG_TOWRITE));
	folio_lock(folio);
	assert_true(folio_clear_dirty_for_io(folio));
	assert_true(marked(65, PAGECACHE_TAG_DIRTY));
	folio_start_writeback(folio);
	assert_false(marked(65, PAGECACHE_TAG_DIRTY));
	assert_false(marked(65, PAGECACHE_TAG_TOWRITE));
	assert_true(marked(65, PAGECACHE_TAG_WRITEBACK));
	folio_unlock(folio);
	folio_end_writeback(folio);
	assert_false(marked(65, PAGECACHE_TAG_WRITEBACK));
	folio_mark_dirty(folio);
	folio_put(folio);
	/* A shadow in its place has no marks. */
	cache_empty();
	cache_shadow(64, 3, 5);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_C1),
		cmocka_unit_test(test_fm_C2),
		cmocka_unit_test(test_fm_C4),
		cmocka_unit_test(test_fm_C5),
		cmocka_unit_test(test_shadows_below),
		cmocka_unit_test(test_fm_C6),
		cmocka_unit_test(test_fm_C7),
		cmocka_unit_test(test_fm_C8),
		cmocka_unit_test(test_case_H10),
		cmocka_unit_test(test_fm_C9),
		cmocka_unit_test(test_fm_C10),
		cmocka_unit_test(test_fail_nth),
		cmocka_unit_test(test_fm_C26),
		cmocka_unit_test(test_fm_C12),
		cmocka_unit_test(test_fm_C13),
		cmocka_unit_test(test_fm_C14),
		cmocka_unit_test(test_case_H2),
		cmocka_unit_test(test_fm_C15),
		cmocka_unit_test(test_fm_C23),
		cmocka_unit_test(test_fm_C25),
		cmocka_unit_test(test_exists),
		cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
