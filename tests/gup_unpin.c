/* SPDX-License-Identifier: MIT */
/*
 * Claim: the release functions release each pin once, in whatever order and
 * grouping, skip NULL entries, ignore a count that is an errno, and mark folios
 * dirty if and only if asked to.
 *
 * Source: mm/gup.c: unpin_user_pages() and its kin
 */
#include "tests/helper_gup.h"

#include "mm/gfp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void null_entries_are_skipped(void **state)
{
	struct page *with_nulls[12] = { 0 };
	struct folio *f, *small;

	(void)state;
	area(0, 16, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	small = mapped_folio(8, 0, STATE_OWN);
	assert_int_equal(pin(0, 9, 0), 9);
	memcpy(with_nulls + 1, got, 3 * sizeof(got[0]));
	memcpy(with_nulls + 5, got + 3, 5 * sizeof(got[0]));
	with_nulls[11] = got[8];
	unpin_user_pages(with_nulls, 12);
	assert_counts(f, 8, 0, 8);
	assert_counts(small, 1, 0, 1);
	assert_int_equal(nr_foll_pin_released(gs->machine), 9);
	assert_int_equal(pin(0, 9, 0), 9);
	unpin_user_pages_dirty_lock(with_nulls, 12, true);
	assert_counts(f, 8, 0, 8);
	assert_counts(small, 1, 0, 1);
	assert_true(folio_test_dirty(f));
	assert_true(folio_test_dirty(small));
	unpin_user_pages(NULL, 0);
}

static void errno_for_a_count_does_nothing(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 16, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	assert_int_equal(pin(0, 8, 0), 8);
	unpin_user_pages(got, -EFAULT);
	unpin_user_pages(got, -4095L);
	unpin_user_pages_dirty_lock(got, -EINTR, false);
	unpin_user_pages_dirty_lock(got, -EINTR, true);
	assert_counts(f, 16, 8, 8);
	assert_false(folio_test_dirty(f));
	unpin_user_pages(got, 8);
}

static void dirty_is_marked_if_asked(void **state)
{
	struct folio *f, *g;

	(void)state;
	area(0, 16, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	g = mapped_folio(8, 3, STATE_OWN);
	assert_int_equal(pin(0, 16, 0), 16);
	unpin_user_pages_dirty_lock(got, 4, false);
	assert_false(folio_test_dirty(f));
	assert_counts(f, 8 + 4, 4, 8);
	unpin_user_pages_dirty_lock(got + 4, 2, true);
	assert_true(folio_test_dirty(f));
	assert_false(folio_test_dirty(g));
	assert_counts(f, 8 + 2, 2, 8);
	/* through both */
	unpin_user_pages_dirty_lock(got + 6, 10, true);
	assert_true(folio_test_dirty(g));
	assert_false(folio_test_locked(f) || folio_test_locked(g));
	assert_counts(f, 8, 0, 8);
	assert_counts(g, 8, 0, 8);
}

/* Frames, not entries: a range is cut at the end of each folio. */
static void ranges_are_cut_at_folio_ends(void **state)
{
	struct folio *f, *g, *small;

	(void)state;
	area(0, 32, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	g = mapped_folio(8, 3, STATE_OWN);
	assert_int_equal(folio_pfn(f) + 8, folio_pfn(g));
	assert_int_equal(pin(0, 16, 0), 16);
	unpin_user_page_range_dirty_lock(got[0], 5, false);
	assert_counts(f, 8 + 3, 3, 8);
	assert_counts(g, 8 + 8, 8, 8);
	unpin_user_page_range_dirty_lock(got[5], 6, true);
	assert_counts(f, 8, 0, 8);
	assert_counts(g, 8 + 5, 5, 8);
	assert_true(folio_test_dirty(f));
	assert_true(folio_test_dirty(g));
	unpin_user_page_range_dirty_lock(got[11], 5, false);
	assert_counts(g, 8, 0, 8);
	small = mapped_folio(16, 0, STATE_OWN);
	assert_int_equal(pin(16, 1, 0), 1);
	unpin_user_page_range_dirty_lock(got[0], 1, false);
	assert_counts(small, 1, 0, 1);
	assert_false(folio_test_dirty(small));
}

/* The place inside a folio is that of the page reached, not of the first. */
static void range_over_three_folios(void **state)
{
	struct folio *f[3];

	(void)state;
	area(0, 32, STATE_RW);
	for (int i = 0; i < 3; i++)
		f[i] = mapped_folio(8 * i, 3, STATE_OWN);
	assert_int_equal(folio_pfn(f[0]) + 8, folio_pfn(f[1]));
	assert_int_equal(folio_pfn(f[1]) + 8, folio_pfn(f[2]));
	assert_int_equal(pin(0, 24, 0), 24);
	unpin_user_page_range_dirty_lock(got[0], 24, false);
	for (int i = 0; i < 3; i++)
		assert_counts(f[i], 8, 0, 8);
}

static void pins_are_released_in_any_grouping(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 512, STATE_RW);
	f = mapped_leaf(0, STATE_OWN);
	assert_int_equal(pin(0, 512, 0), 512);
	for (int i = 511; i >= 256; i--)
		unpin_user_page(got[i]);
	assert_counts(f, 1 + 256, 256, 1);
	unpin_user_folio(f, 100);
	assert_counts(f, 1 + 156, 156, 1);
	unpin_user_pages(got, 156);
	assert_counts(f, 1, 0, 1);
	assert_int_equal(nr_foll_pin_released(gs->machine), 512);
}

/* Entries of two folios by turns, and one folio's in descending order. */
static void array_order_does_not_matter(void **state)
{
	struct page *turns[32];
	struct folio *f, *g;

	(void)state;
	area(0, 32, STATE_RW);
	f = mapped_folio(0, 4, STATE_OWN);
	g = mapped_folio(16, 4, STATE_OWN);
	assert_int_equal(pin(0, 32, 0), 32);
	for (int i = 0; i < 16; i++) {
		turns[2 * i] = got[15 - i];
		turns[2 * i + 1] = got[16 + i];
	}
	unpin_user_pages(turns, 20);
	assert_counts(f, 16 + 6, 6, 16);
	assert_counts(g, 16 + 6, 6, 16);
	unpin_user_pages(turns + 20, 12);
	assert_counts(f, 16, 0, 16);
	assert_counts(g, 16, 0, 16);
	/* a run that ends at every place, behind it the other folio */
	for (int nr = 1; nr < 16; nr++) {
		assert_int_equal(pin(16 - nr, nr + 3, 0), nr + 3);
		unpin_user_pages(got, nr + 3);
		assert_counts(f, 16, 0, 16);
		assert_counts(g, 16, 0, 16);
	}
}

/* A folio outlives its address space for as long as it is pinned. */
static void last_unpin_frees(void **state)
{
	unsigned long before;

	(void)state;
	area(0, 16, STATE_RW);
	mapped_folio(0, 3, STATE_OWN);
	mapped_folio(8, 0, STATE_OWN);
	assert_int_equal(pin(0, 9, 0), 9);
	before = nr_free_pages(gs->machine);
	mmap_read_lock(gs->mm);
	zap_page_range(vma_first(gs->mm), gs->base, state_address(gs, 16));
	mmap_read_unlock(gs->mm);
	assert_int_equal(nr_free_pages(gs->machine), before);
	unpin_user_pages(got, 8);
	assert_int_equal(nr_free_pages(gs->machine), before + 8);
	unpin_user_pages(got + 8, 1);
	assert_int_equal(nr_free_pages(gs->machine), before + 9);
}

/* Dirty first, then let go: a frame that is free belongs to nobody. */
static void dirty_is_marked_before_the_last_unpin(void **state)
{
	struct folio *large, *small;
	unsigned long before;

	(void)state;
	for (int range = 0; range < 2; range++) {
		struct vm_area_struct *vma = area(32 * range, 16, STATE_RW);

		large = mapped_folio(32 * range, 3, STATE_OWN);
		small = mapped_folio(32 * range + 8, 0, STATE_OWN);
		assert_int_equal(pin(32 * range, 9, 0), 9);
		mmap_read_lock(gs->mm);
		zap_page_range(vma, vma->vm_start, vma->vm_end);
		mmap_read_unlock(gs->mm);
		before = nr_free_pages(gs->machine);
		if (range) {
			unpin_user_page_range_dirty_lock(got[0], 8, true);
			unpin_user_page_range_dirty_lock(got[8], 1, true);
		} else {
			unpin_user_pages_dirty_lock(got, 9, true);
		}
		assert_int_equal(nr_free_pages(gs->machine), before + 9);
		assert_false(folio_test_dirty(large));
		assert_false(folio_test_dirty(small));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(null_entries_are_skipped),
		gup_test(errno_for_a_count_does_nothing),
		gup_test(dirty_is_marked_if_asked),
		gup_test(ranges_are_cut_at_folio_ends),
		gup_test(range_over_three_folios),
		gup_test(pins_are_released_in_any_grouping),
		gup_test(array_order_does_not_matter),
		gup_test(last_unpin_frees),
		gup_test(dirty_is_marked_before_the_last_unpin),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
