/* SPDX-License-Identifier: MIT */
/*
 * Claim: after a range was emptied no index of it has what was there, every
 * page outside keeps its frame and bytes, and what has to stay reads zero in the
 * range.
 *
 * Source: semantics/filemap.md 6.1, C16, C18-C20, C27
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "mm/folio_split.h"
#include "mm/truncate.h"

#define B(pages) ((u64)(pages) << PAGE_SHIFT)

static u64 *word_of(struct folio *folio, pgoff_t index)
{
	return page_address(folio_page(folio, index - folio->index));
}

/* Each page holds its index + 1, at its start and at its end. */
static void add_filled(pgoff_t index, unsigned int order)
{
	struct folio *folio = cache_add(index, order);

	for (pgoff_t i = index; i < index + (1UL << order); i++) {
		word_of(folio, i)[0] = i + 1;
		word_of(folio, i)[511] = i + 1;
	}
}

static struct folio *at(pgoff_t index)
{
	void *entry = xa_load(&map.i_pages, index);

	return xa_is_value(entry) ? NULL : entry;
}

static void check_filled(pgoff_t from, pgoff_t to)
{
	for (pgoff_t i = from; i < to; i++) {
		assert_non_null(at(i));
		assert_true(folio_contains(at(i), i));
		assert_int_equal(word_of(at(i), i)[0], i + 1);
		assert_int_equal(word_of(at(i), i)[511], i + 1);
	}
}

static void check_gone(pgoff_t from, pgoff_t to)
{
	for (pgoff_t i = from; i < to; i++)
		assert_null(xa_load(&map.i_pages, i));
}

static void set_dirty(pgoff_t index)
{
	struct folio *folio = filemap_lock_folio(&map, index);

	folio_mark_dirty(folio);
	let_go(folio);
}

static void test_split(void **state)
{
	struct folio *folio;

	(void)state;
	cache_begin();
	add_filled(512, 9);
	set_dirty(512);
	folio = filemap_lock_folio(&map, 512);
	assert_int_equal(split_folio_to_order(folio, 3), 0);
	assert_int_equal(folio_order(folio), 3);
	assert_int_equal(map.nrpages, 512);
	check_filled(512, 1024);
	let_go(folio);
	for (pgoff_t i = 512; i < 1024; i += 8) {
		assert_int_equal(at(i)->index, i);
		assert_true(folio_test_dirty(at(i)));
		assert_true(xa_get_mark(&map.i_pages, i, PAGECACHE_TAG_DIRTY));
	}
	assert_valid(&t);
	folio = filemap_lock_folio(&map, 519);
	folio_get(folio);
	assert_int_equal(split_folio_to_order(folio, 0), -EAGAIN);
	folio_put(folio);
	assert_int_equal(split_folio_to_order(folio, 3), -EINVAL);
	assert_int_equal(split_folio_to_order(folio, 1), 0);
	let_go(folio);
	check_filled(512, 1024);
	cache_end();
}

static void test_split_fails(void **state)
{
	struct folio *folio;
	int err = -ENOMEM;

	(void)state;
	cache_begin();
	add_filled(512, 9);
	folio = filemap_lock_folio(&map, 512);
	for (long n = 1; err; n++) {
		current->fail_nth = n;
		err = split_folio_to_order(folio, 0);
		current->fail_nth = 0;
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(folio_order(folio), 9);
		}
	}
	let_go(folio);
	check_filled(512, 1024);
	cache_end();
}

static void punch(u64 start, u64 end)
{
	down_write(&map.invalidate_lock);
	truncate_inode_pages_range(&map, start, end - 1);
	up_write(&map.invalidate_lock);
}

static void test_fm_C16(void **state)
{
	struct folio *other;

	(void)state;
	cache_begin();
	/* splittable: bytes of the edge pages, and pages between */
	add_filled(512, 9);
	punch(B(600) + 8, B(700) + 8);
	check_filled(512, 600);
	check_gone(601, 700);
	check_filled(701, 1024);
	assert_int_equal(word_of(at(600), 600)[0], 601);
	assert_int_equal(word_of(at(600), 600)[511], 0);
	assert_int_equal(word_of(at(700), 700)[0], 0);
	assert_int_equal(word_of(at(700), 700)[511], 701);
	assert_valid(&t);
	cache_empty();
	/* got by somebody: clean goes whole */
	add_filled(512, 9);
	other = filemap_get_folio(&map, 512);
	punch(B(600), B(700));
	check_gone(512, 1024);
	folio_put(other);
	cache_end();
}

/* Dirty it stays, zeroed: what is around the hole has no other copy. */
static void test_fm_C27(void **state)
{
	struct folio *other;

	(void)state;
	cache_begin();
	add_filled(512, 9);
	set_dirty(512);
	other = filemap_get_folio(&map, 512);
	punch(B(600), B(700));
	check_filled(512, 600);
	check_filled(700, 1024);
	for (pgoff_t i = 600; i < 700; i++)
		assert_int_equal(word_of(at(i), i)[0], 0);
	folio_put(other);
	cache_end();
}

static void test_shadows_and_all(void **state)
{
	(void)state;
	cache_begin();
	cache_shadow(64, 6, 1);
	cache_shadow(3, 0, 1);
	for (pgoff_t i = 200; i < 300; i++)
		add_filled(i, 0);
	add_filled(512, 9);
	set_dirty(250);
	truncate_inode_pages_final(&map);
	assert_true(xa_empty(&map.i_pages));
	assert_int_equal(map.nrpages, 0);
	cache_end();
}

/* Any folios, any range of bytes, against a flat array. */
static void test_property(void **state)
{
	static bool present[600];
	struct random rnd;

	(void)state;
	random_init(&rnd);
	cache_begin();
	for (unsigned int round = 0; round < 300; round++) {
		u64 start = random_below(&rnd, B(600) / 8) * 8;
		u64 end = start + 8 + random_below(&rnd, (B(600) - start) / 8) *
			  8;

		memset(present, 0, sizeof(present));
		for (pgoff_t i = 0; i < 512;) {
			unsigned int order =
				(unsigned int)random_below(&rnd, 7);

			if (i & ((1u << order) - 1))
				order = 0;
			if (random_chance(&rnd, 60)) {
				add_filled(i, order);
				memset(&present[i], 1, 1UL << order);
			} else if (random_chance(&rnd, 30)) {
				cache_shadow(i, order, i);
			}
			i += 1u << order;
		}
		punch(start, end);
		for (pgoff_t i = 0; i < 600; i++) {
			bool whole = B(i) >= start && B(i + 1) <= end;
			u64 *word;

			assert_int_equal(at(i) != NULL, present[i] && !whole);
			if (whole)
				assert_null(xa_load(&map.i_pages, i));
			if (!at(i))
				continue;
			word = word_of(at(i), i);
			assert_int_equal(word[0], B(i) >= start &&
					 B(i) < end ? 0 : i + 1);
			assert_int_equal(word[511], B(i) + 4088 >= start &&
					 B(i) + 4088 < end ? 0 : i + 1);
		}
		if (round % 10 == 0)
			assert_valid(&t);
		cache_empty();
	}
	cache_end();
}

static void test_fm_C18(void **state)
{
	struct folio *held;

	(void)state;
	cache_begin();
	for (pgoff_t i = 0; i < 4; i++)
		add_filled(i, 0);
	add_filled(64, 4);
	cache_shadow(9, 0, 1);
	lru_add_drain_all(the_machine());
	set_dirty(1);
	held = filemap_get_folio(&map, 2);
	assert_int_equal(invalidate_mapping_pages(&map, 0, (pgoff_t)-1),
			 1 + 1 + 1 + 16);
	check_filled(1, 3);
	assert_int_equal(map.nrpages, 2);
	assert_int_equal(invalidate_inode_pages2_range(&map, 0, 100), -EBUSY);
	assert_null(at(2));
	assert_non_null(at(1));
	folio_put(held);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_split_fails),
		cmocka_unit_test(test_fm_C16),
		cmocka_unit_test(test_fm_C27),
		cmocka_unit_test(test_shadows_and_all),
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_fm_C18),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
