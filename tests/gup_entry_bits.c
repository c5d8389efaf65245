/* SPDX-License-Identifier: MIT */
/*
 * Claim: the bits of each entry count for its own page: a run dirties its folio
 * iff one of its entries was clean, forced writes and NUMA hints are judged
 * page by page, and soft bits do not end a run.
 *
 * Runs are counted by their accessed marks: one leaves the folio referenced,
 * two leave it active, more both.
 *
 * Source: mm/gup.c:follow_page_pte()
 */
#include "tests/helper_gup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define EXCLUSIVE_RO	(STATE_YOUNG | STATE_SOFT)
#define SHARED_RO	(EXCLUSIVE_RO | STATE_SHARED)

static void unpin_all(long nr)
{
	unpin_user_pages(got, nr);
}

/* One clean entry anywhere makes the folio dirty. */
static void one_clean_entry_dirties(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 5, STATE_OWN);
	for (int odd = 0; odd < 32; odd++) {
		pmd_t *pmd = mm_find_pmd(gs->mm, gs->base);
		pte_t *pte = (pte_t *)table_of(pmd_pfn(pmdp_get(pmd))) + odd;

		folio_clear_dirty(f);
		set_pte_at(gs->mm, 0, pte, pte_mkclean(ptep_get(pte)));
		assert_int_equal(pin_touch(0, 32, 0), 32);
		assert_false(folio_test_dirty(f));
		unpin_all(32);
		assert_int_equal(pin(0, 32, FOLL_WRITE), 32);
		assert_false(folio_test_dirty(f));
		unpin_all(32);
		assert_int_equal(pin_touch(0, 32, FOLL_WRITE), 32);
		assert_true(folio_test_dirty(f));
		assert_false(pte_dirty(ptep_get(pte)));
		unpin_all(32);
		set_pte_at(gs->mm, 0, pte, pte_mkdirty(ptep_get(pte)));
	}
}

static void dirty_entries_leave_folio_clean(void **state)
{
	struct folio *f, *small;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 4, STATE_OWN);
	small = mapped_folio(16, 0, STATE_OWN);
	assert_int_equal(pin_touch(0, 17, FOLL_WRITE), 17);
	assert_false(folio_test_dirty(f));
	assert_false(folio_test_dirty(small));
	unpin_all(17);
}

/* The clean entry belongs to one folio of two. */
static void dirt_does_not_spread(void **state)
{
	struct folio *f, *g, *small, *clean;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	g = mapped_folio(8, 3, STATE_OWN & ~STATE_DIRTY);
	small = mapped_folio(16, 0, STATE_OWN);
	clean = mapped_folio(17, 0, STATE_OWN & ~STATE_DIRTY);
	assert_int_equal(pin_touch(0, 18, FOLL_WRITE), 18);
	assert_false(folio_test_dirty(f));
	assert_true(folio_test_dirty(g));
	assert_false(folio_test_dirty(small));
	assert_true(folio_test_dirty(clean));
	unpin_all(18);
}

/* The clean entry lies behind the request. */
static void only_taken_entries_count_for_dirt(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 10, STATE_OWN);
	state_map(gs, 10, f, 10, 6, STATE_OWN & ~STATE_DIRTY);
	state_drop(gs, f);
	assert_int_equal(pin_touch(0, 10, FOLL_WRITE), 10);
	assert_false(folio_test_dirty(f));
	unpin_all(10);
	assert_int_equal(pin_touch(0, 11, FOLL_WRITE), 11);
	assert_true(folio_test_dirty(f));
	unpin_all(11);
}

/* Entries that differ in soft bits only are one run. */
static void soft_bits_do_not_end_a_run(void **state)
{
	static const unsigned int bits[4] = {
		STATE_OWN, STATE_WRITE | STATE_DIRTY, STATE_WRITE | STATE_YOUNG,
		STATE_WRITE | STATE_UFFD_WP,
	};
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 16; i++)
		state_map(gs, i, f, i, 1, bits[i % 4]);
	state_drop(gs, f);
	assert_int_equal(pin_touch(0, 16, 0), 16);
	assert_int_equal(gup_runs(f), 1);
	unpin_all(16);
}

static void force_takes_exclusive_pages_only(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RO);
	for (int i = 0; i < 16; i++)
		state_map(gs, i, f, i, 1, STATE_DIRTY |
			  (i % 2 ? SHARED_RO : EXCLUSIVE_RO));
	state_drop(gs, f);
	assert_int_equal(pin(0, 16, FOLL_WRITE), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(pin(0, 16, FOLL_WRITE | FOLL_FORCE), 16);
	assert_int_equal(gup_faults.nr_records, 8);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(gup_faulted(i), 2 * i + 1);
		assert_int_equal(gup_fault_flag(i), FAULT_FLAG_WRITE);
		assert_ptr_equal(got[2 * i], folio_page(f, 2 * i));
		assert_false(folio_test_large(page_folio(got[2 * i + 1])));
		assert_false(pte_write(state_pte(gs, 2 * i + 1)));
		assert_true(pte_dirty(state_pte(gs, 2 * i + 1)));
	}
	/* 8 entries, 8 of the other process, 8 pins */
	assert_counts(f, 8 + 8 + 8, 8, 16);
	unpin_all(16);
}

static void uffd_wp_entry_faults_for_write(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RW | VM_UFFD_WP);
	state_map(gs, 0, f, 0, 4, STATE_OWN);
	state_map(gs, 4, f, 4, 1, EXCLUSIVE_RO | STATE_UFFD_WP);
	state_map(gs, 5, f, 5, 11, STATE_OWN);
	state_drop(gs, f);
	assert_int_equal(pin_touch(0, 16, 0), 16);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(gup_runs(f), 1);
	unpin_all(16);
	assert_int_equal(pin(0, 16, FOLL_WRITE), 16);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_faulted(0), 4);
	assert_counts(f, 32, 16, 16);
	unpin_all(16);
}

static struct folio *folio_with_hints(void)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 4, EXCLUSIVE_RO | STATE_PROTNONE);
	state_map(gs, 4, f, 4, 12, STATE_OWN);
	state_drop(gs, f);
	return f;
}

static void hints_are_ignored(void **state)
{
	struct folio *f = folio_with_hints();

	(void)state;
	assert_int_equal(pin_touch(0, 16, 0), 16);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(gup_runs(f), 1);
	assert_counts(f, 32, 16, 16);
	assert_true(pte_protnone(state_pte(gs, 0)));
	unpin_all(16);
}

/* The entry of a swapped page whose bits are those of the next frame. */
static void absent_entry_is_no_hint(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 4, STATE_OWN);
	for (int odd = 1; odd < 16; odd++) {
		pmd_t *pmd = mm_find_pmd(gs->mm, gs->base);
		pte_t *pte = (pte_t *)table_of(pmd_pfn(pmdp_get(pmd))) + odd;
		pte_t own = ptep_get(pte);
		pte_t absent = __pte(pte_val(own) &
				     ~(_PAGE_PRESENT | _PAGE_USER));

		assert_false(pte_present(absent) || pte_none(absent));
		set_pte_at(gs->mm, 0, pte, absent);
		assert_int_equal(pin(0, 16, FOLL_NOFAULT), odd);
		assert_counts(f, 16 + odd, odd, 16);
		unpin_all(odd);
		assert_int_equal(pin(odd, 1, FOLL_NOFAULT), -EFAULT);
		set_pte_at(gs->mm, 0, pte, own);
	}
}

/* In the other order: the hints come after entries without. */
static void later_hints_are_honoured(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 12, EXCLUSIVE_RO);
	state_map(gs, 12, f, 12, 4, EXCLUSIVE_RO | STATE_PROTNONE);
	state_drop(gs, f);
	assert_int_equal(pin(0, 16, FOLL_NOFAULT | FOLL_HONOR_NUMA_FAULT), 12);
	unpin_all(12);
	assert_int_equal(pin_touch(0, 16, FOLL_NOFAULT), 16);
	assert_int_equal(gup_runs(f), 1);
	unpin_all(16);
	assert_int_equal(pin(0, 16, FOLL_HONOR_NUMA_FAULT), 16);
	assert_int_equal(gup_faults.nr_records, 4);
	unpin_all(16);
}

static void hints_are_honoured(void **state)
{
	struct folio *f = folio_with_hints();

	(void)state;
	assert_int_equal(pin(0, 16, FOLL_HONOR_NUMA_FAULT), 16);
	assert_int_equal(gup_faults.nr_records, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(gup_faulted(i), i);
		assert_int_equal(gup_fault_flag(i), 0);
		assert_false(pte_protnone(state_pte(gs, i)));
	}
	assert_counts(f, 32, 16, 16);
	unpin_all(16);
}

static void hints_fault_for_write(void **state)
{
	struct folio *f = folio_with_hints();

	(void)state;
	assert_int_equal(pin(0, 16, FOLL_WRITE), 16);
	assert_int_equal(gup_faults.nr_records, 4);
	assert_counts(f, 32, 16, 16);
	unpin_all(16);
}

/* Where nothing may be accessed there are no hints to honour. */
static void inaccessible_area_has_no_hints(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_MAY);
	f = mapped_folio(0, 4, EXCLUSIVE_RO | STATE_PROTNONE);
	assert_int_equal(pin(0, 16, FOLL_HONOR_NUMA_FAULT), -EFAULT);
	assert_int_equal(pin(0, 16, FOLL_HONOR_NUMA_FAULT | FOLL_FORCE), 16);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_counts(f, 32, 16, 16);
	unpin_all(16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(one_clean_entry_dirties),
		gup_test(dirty_entries_leave_folio_clean),
		gup_test(dirt_does_not_spread),
		gup_test(only_taken_entries_count_for_dirt),
		gup_test(soft_bits_do_not_end_a_run),
		gup_test(force_takes_exclusive_pages_only),
		gup_test(uffd_wp_entry_faults_for_write),
		gup_test(hints_are_ignored),
		gup_test(absent_entry_is_no_hint),
		gup_test(later_hints_are_honoured),
		gup_test(hints_are_honoured),
		gup_test(hints_fault_for_write),
		gup_test(inaccessible_area_has_no_hints),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
