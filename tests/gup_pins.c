/* SPDX-License-Identifier: MIT */
/*
 * Claim: every pin is counted once, refused where the count is full, and
 * released once, by whichever function; meanwhile the folio is known to be
 * pinned.
 *
 * v9, v10, v13: the scenarios of that name.
 * Source: mm/gup.c: try_grab_folio(), gup_put_folio(), unpin_user_pages() and
 *         its kin; include/linux/mm.h: folio_maybe_dma_pinned()
 */
#include "tests/gup_flags_test.h"
#include "tests/random.h"

#include "mm/gup_internal.h"

#include <errno.h>
#include <limits.h>

#define MOST_PINS	(1 << 21)	/* of a small folio */

/* ---- counts ----------------------------------------------------------- */

static void v9_pin_and_get(void **state)
{
	struct folio *folio;

	(void)state;
	begin(0);
	map_at(&t, P(0), 1, RW);
	write_pages(0, 1);
	folio = folio_at(0);
	assert_int_equal(folio_ref_count(folio), 1);
	assert_false(folio_maybe_dma_pinned(folio));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin_pages(P(0), 1, FOLL_WRITE), 1);
		assert_int_equal(folio_ref_count(folio), 1025);
		assert_true(folio_maybe_dma_pinned(folio));
		assert_int_equal(get_pages(P(0), 1, 0), 1);
		assert_int_equal(folio_ref_count(folio), 1026);
		if (i) {
			put_pages(1);
			assert_true(folio_maybe_dma_pinned(folio));
			unpin_user_page(pages[0]);
		} else {
			unpin_user_page(pages[0]);
			assert_false(folio_maybe_dma_pinned(folio));
			put_pages(1);
		}
		assert_int_equal(folio_ref_count(folio), 1);
	}
	end();
}

static void v10_pins_of_a_huge_page_one_by_one(void **state)
{
	struct folio *folio;
	struct random r;

	(void)state;
	random_init(&r);
	begin(BIT(9));
	map_thp(0, 512);
	write_pages(0, 1);
	folio = folio_at(0);
	assert_int_equal(pin_pages(P(0), 512, FOLL_WRITE), 512);
	assert_int_equal(folio_ref_count(folio), 513);
	assert_int_equal(atomic_read(&folio->_pincount), 512);
	for (unsigned long left = 512; left; left--) {
		unsigned long i = random_below(&r, left);

		assert_true(folio_maybe_dma_pinned(folio));
		unpin_user_page(pages[i]);
		pages[i] = pages[left - 1];
		if (left == 256) {
			/* the mapping is split, the pins stay */
			assert_int_equal(pf_mprotect(t.mm, P(3), PAGE_SIZE,
						     PINFOLD_PROT_READ), 0);
			assert_int_equal(folio_ref_count(folio), 512 + 255);
			assert_held(255);
		}
	}
	assert_int_equal(atomic_read(&folio->_pincount), 0);
	assert_int_equal(folio_ref_count(folio), 512);
	assert_false(folio_maybe_dma_pinned(folio));
	assert_valid(&t);
	end();
}

/* 1024 references look like a pin, on a small folio only. */
static void v13_many_references(void **state)
{
	struct folio *small, *large;

	(void)state;
	begin(BIT(9));
	map_at(&t, P(0), 1, RW);
	write_pages(0, 1);
	map_thp(512, 512);
	write_pages(512, 1);
	small = folio_at(0);
	large = folio_at(512);
	for (int i = 0; i < 1022; i++) {
		folio_get(small);
		folio_get(large);
	}
	assert_false(folio_maybe_dma_pinned(small));
	folio_get(small);
	assert_int_equal(folio_ref_count(small), 1024);
	assert_true(folio_maybe_dma_pinned(small));
	assert_false(folio_maybe_dma_pinned(large));
	folio_put_refs(small, 1023);
	folio_put_refs(large, 1022);
	assert_valid(&t);
	end();
}

/*
 * The 2^21st pin makes the count negative; from then on nothing more is given,
 * and it is known to be pinned all along.
 */
static void a_small_folio_s_limit(void **state)
{
	struct folio *folio;
	int full;

	(void)state;
	begin(0);
	map_at(&t, P(0), 3, RW);
	write_pages(0, 3);
	folio = folio_at(1);
	for (long i = 0; i < MOST_PINS - 3; i++)
		if (try_grab_folio(folio, 1, FOLL_PIN))
			assert_true(false);
	for (int i = 3; i > 0; i--) {
		assert_true(folio_ref_count(folio) > 0);
		assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), 1);
		assert_true(folio_maybe_dma_pinned(folio));
	}
	full = folio_ref_count(folio);
	assert_int_equal(full, INT_MIN + 1);
	assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), -ENOMEM);
	assert_int_equal(pin_pages(P(1), 1, FOLL_LONGTERM), -ENOMEM);
	assert_int_equal(get_pages(P(1), 1, 0), -ENOMEM);
	/* around it, up to it */
	assert_int_equal(pin_pages(P(0), 3, FOLL_WRITE), 1);
	unpin_user_page(pages[0]);
	assert_int_equal(folio_ref_count(folio), full);
	assert_true(folio_maybe_dma_pinned(folio));
	assert_int_equal(nr_foll_pin_acquired(m) - nr_foll_pin_released(m),
			 MOST_PINS);
	/* one back, one more */
	unpin_user_page(&folio->page);
	assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), 1);
	assert_int_equal(folio_ref_count(folio), full);
	/* all at once */
	unpin_user_folio(folio, MOST_PINS);
	assert_int_equal(folio_ref_count(folio), 1);
	assert_false(folio_maybe_dma_pinned(folio));
	assert_valid(&t);
	end();
}

/* A run that was allowed may pass the limit; the next is refused. */
static void a_large_folio_s_limit(void **state)
{
	struct folio *folio;
	int refs;

	(void)state;
	begin(BIT(9));
	map_thp(0, 512);
	write_pages(0, 1);
	folio = folio_at(0);
	folio_ref_add(folio, INT_MAX - 3);
	assert_int_equal(pin_pages(P(0), 100, FOLL_WRITE), 100);
	refs = folio_ref_count(folio);
	assert_true(refs < 0);
	assert_int_equal(pin_pages(P(0), 100, FOLL_WRITE), -ENOMEM);
	assert_int_equal(get_pages(P(0), 100, 0), -ENOMEM);
	assert_int_equal(get_pages(P(511), 3, 0), -ENOMEM);
	assert_int_equal(folio_ref_count(folio), refs);
	assert_int_equal(atomic_read(&folio->_pincount), 100);
	assert_true(folio_maybe_dma_pinned(folio));
	unpin_user_pages(pages, 100);
	assert_false(folio_maybe_dma_pinned(folio));
	folio_put_refs(folio, INT_MAX - 3);
	assert_valid(&t);
	end();
}

/* ---- releasing -------------------------------------------------------- */

static void empty_slots_are_skipped(void **state)
{
	struct page *array[12];

	(void)state;
	begin(BIT(2));
	map_thp(0, 8);
	write_pages(0, 8);
	for (int dirty = -1; dirty < 2; dirty++) {
		assert_int_equal(pin_pages(P(0), 8, FOLL_WRITE), 8);
		memset(array, 0, sizeof(array));
		array[1] = pages[0];
		array[3] = pages[1];		/* behind a page, and before */
		array[4] = pages[2];
		array[5] = pages[3];
		array[7] = pages[4];
		array[10] = pages[5];
		if (dirty < 0)
			unpin_user_pages(array, 12);
		else
			unpin_user_pages_dirty_lock(array, 12, dirty);
		unpin_user_pages(pages + 6, 2);
		assert_valid(&t);
	}
	end();
}

static void counts_that_are_errors(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 4, RW);
	assert_int_equal(pin_pages(P(0), 4, FOLL_WRITE), 4);
	unpin_user_pages(pages, -EFAULT);
	unpin_user_pages(NULL, (unsigned long)-1);
	unpin_user_pages(pages, 0);
	unpin_user_pages_dirty_lock(pages, -ENOMEM, false);
	unpin_user_pages_dirty_lock(pages, -EINTR, true);
	unpin_folios((struct folio **)pages, -EFAULT);
	assert_held(4);
	unpin_user_pages(pages, 4);
	end();
}

/* Dirty if told so, by whichever function, and clean otherwise. */
static void dirty_releases(void **state)
{
	(void)state;
	begin(BIT(4));
	map_thp(0, 32);
	write_pages(0, 32);
	for (int dirty = 0; dirty < 2; dirty++) {
		folio_clear_dirty(folio_at(0));
		folio_clear_dirty(folio_at(16));
		assert_int_equal(pin_pages(P(4), 20, 0), 20);
		unpin_user_pages_dirty_lock(pages, 20, dirty);
		assert_int_equal(folio_test_dirty(folio_at(0)), dirty);
		assert_int_equal(folio_test_dirty(folio_at(16)), dirty);
		assert_valid(&t);

		folio_clear_dirty(folio_at(0));
		folio_clear_dirty(folio_at(16));
		assert_int_equal(pin_pages(P(4), 20, 0), 20);
		/* across two folios, which are neighbours in memory */
		assert_int_equal(page_to_pfn(pages[19]),
				 page_to_pfn(pages[0]) + 19);
		unpin_user_page_range_dirty_lock(pages[0], 20, dirty);
		assert_int_equal(folio_test_dirty(folio_at(0)), dirty);
		assert_int_equal(folio_test_dirty(folio_at(16)), dirty);
		assert_valid(&t);
	}
	/* a folio that is dirty already is not locked */
	assert_int_equal(pin_pages(P(0), 16, 0), 16);
	assert_true(folio_trylock(folio_at(0)));
	unpin_user_pages_dirty_lock(pages, 16, true);
	folio_unlock(folio_at(0));
	assert_valid(&t);
	end();
}

static void folio_releases(void **state)
{
	struct folio *small, *large, *array[9];
	u64 released;

	(void)state;
	begin(BIT(4));
	map_thp(0, 16);
	write_pages(0, 16);
	map_at(&t, P(100), 1, RW);
	write_pages(100, 1);
	large = folio_at(0);
	small = folio_at(100);

	assert_int_equal(pin_pages(P(0), 16, 0), 16);
	unpin_user_folio(large, 15);
	assert_int_equal(atomic_read(&large->_pincount), 1);
	unpin_folio(large);
	assert_valid(&t);

	assert_int_equal(pin_pages(P(0), 4, 0), 4);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	memset(array, 0, sizeof(array));
	array[0] = large;
	array[2] = large;
	array[3] = large;
	array[4] = small;
	array[5] = small;
	array[7] = large;
	unpin_folios(array, 9);
	assert_valid(&t);

	/* One more on what is pinned already; only the release is counted. */
	assert_int_equal(pin_pages(P(0), 1, 0), 1);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	released = nr_foll_pin_released(m);
	folio_add_pin(large);
	folio_add_pin(small);
	assert_int_equal(nr_foll_pin_acquired(m), released + 2);
	assert_int_equal(atomic_read(&large->_pincount), 2);
	assert_int_equal(folio_ref_count(large), 18);
	assert_int_equal(folio_ref_count(small), 1 + 2048);
	unpin_folio(large);
	unpin_folio(large);
	unpin_folio(small);
	unpin_folio(small);
	assert_int_equal(nr_foll_pin_released(m), released + 4);
	assert_int_equal(folio_ref_count(large), 16);
	assert_int_equal(folio_ref_count(small), 1);
	/* what the counter lacks, so that the books close */
	count_pins_acquired(m, 2);
	assert_valid(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v9_pin_and_get),
		cmocka_unit_test(v10_pins_of_a_huge_page_one_by_one),
		cmocka_unit_test(v13_many_references),
		cmocka_unit_test(a_small_folio_s_limit),
		cmocka_unit_test(a_large_folio_s_limit),
		cmocka_unit_test(empty_slots_are_skipped),
		cmocka_unit_test(counts_that_are_errors),
		cmocka_unit_test(dirty_releases),
		cmocka_unit_test(folio_releases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
