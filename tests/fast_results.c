/* SPDX-License-Identifier: MIT */
/*
 * Claim: what the fast calls give, and what they do to the pages, is what the
 * lockless walk had plus what the slow path makes of the rest; the fast-only
 * call takes no fault.
 *
 * Source: mm/gup.c:gup_fast_fallback()
 */
#include "tests/fast_test.h"

#include <errno.h>

static bool has_pinned(void)
{
	return test_bit(MMF_HAS_PINNED, &gs->mm->flags);
}

/* Four pages are there, four have to be faulted in. */
static void the_rest_is_faulted_in(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	for (unsigned long i = 0; i < 4; i++)
		mapped_folio(i, 0, STATE_OWN);
	assert_int_equal(fast(0, 8, PIN | WRITE), 8);
	assert_exit(GUP_FAST_F2);
	assert_int_equal(gup_faults.nr_records, 4);
	assert_int_equal(gup_faulted(0), 4);
	for (unsigned long i = 0; i < 8; i++)
		assert_ptr_equal(got[i], state_page(gs, i));
	assert_pins_live(8);
	let_go(8, PIN);
	/* Now all are there. */
	assert_int_equal(fast(0, 8, PIN | WRITE), 8);
	assert_exit(-1);
	assert_int_equal(gup_faults.nr_records, 0);
	let_go(8, PIN);
}

/* The slow path marks what it takes, as the slow calls do. */
static void the_rest_is_marked(void **state)
{
	struct folio *clean;

	(void)state;
	area(0, 8, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	assert_int_equal(fast(0, 2, PIN | WRITE), 2);
	assert_int_equal(gup_runs(page_folio(got[1])), 1);
	let_go(2, PIN);
	/* behind a hole that ends the walk, an entry that is clean */
	clean = mapped_folio(4, 0, STATE_OWN & ~STATE_DIRTY);
	assert_int_equal(fast(3, 2, GET | WRITE), 2);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_runs(clean), 1);
	assert_true(folio_test_dirty(clean));
	put(2);
}

/* V1, V2: the error is found by calling again. */
static void error_is_hidden(void **state)
{
	(void)state;
	area(0, 5, STATE_RW);
	for (unsigned long i = 0; i < 3; i++)
		mapped_folio(i, 0, STATE_OWN);
	assert_int_equal(fast(0, 8, GET | WRITE), 5);
	put(5);
	assert_int_equal(fast(0, 8, PIN | WRITE), 5);
	let_go(5, PIN);
	assert_int_equal(fast(5, 3, PIN | WRITE), -EFAULT);
	/* All five are had without a lock; the slow path has nothing. */
	assert_int_equal(fast(0, 8, PIN | WRITE), 5);
	assert_int_equal(gup_faults.nr_records, 0);
	let_go(5, PIN);
	/* nothing but an error */
	gup_rules({ 4, 0, ANSWER_SIGBUS, 0 });
	assert_int_equal(fast(4, 1, PIN | WRITE), 1);
	let_go(1, PIN);
	assert_pins_live(0);
}

static void no_fault(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	mapped_folio(1, 0, STATE_OWN);
	assert_int_equal(fast(0, 8, PIN | WRITE | FOLL_NOFAULT), 2);
	let_go(2, PIN);
	assert_int_equal(fast(2, 6, PIN | WRITE | FOLL_NOFAULT), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
}

/* V7 and R5 */
static void fast_only_takes_no_fault(void **state)
{
	struct folio *shared;

	(void)state;
	area(0, 16, STATE_RW);
	assert_int_equal(fast_only(0, 4, 0), 0);
	for (unsigned long i = 0; i < 3; i++)
		mapped_folio(i, 0, STATE_OWN);
	shared = mapped_folio(3, 0, STATE_SHARED);
	assert_int_equal(fast_only(0, 8, 0), 4);
	put(4);
	assert_int_equal(fast_only(0, 8, WRITE), 3);
	put(3);
	assert_int_equal(fast_only(3, 5, WRITE), 0);
	assert_int_equal(fast_only(3, 5, WRITE | FOLL_FORCE), 0);
	assert_int_equal(folio_ref_count(shared), 2);
	state_map_zero(gs, state_vma(gs, 4), state_address(gs, 4), 0);
	assert_int_equal(fast_only(4, 1, 0), 0);
	assert_false(has_pinned());
}

/* Even where mmap_lock is held for write. */
static void fast_only_takes_no_lock(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	mmap_write_lock(gs->mm);
	assert_int_equal(fast_only(0, 4, WRITE), 1);
	put(1);
	assert_int_equal(fast_only(1, 3, WRITE), 0);
	mmap_write_unlock(gs->mm);
}

/* The slow path makes exclusive what the walk left. */
static void unshared_by_the_rest(void **state)
{
	struct folio *shared;

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	shared = mapped_folio(1, 0, STATE_SHARED);
	assert_int_equal(fast(0, 2, PIN), 2);
	assert_exit(GUP_FAST_F8);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_fault_flag(0) & FAULT_FLAG_UNSHARE,
			 FAULT_FLAG_UNSHARE);
	assert_ptr_not_equal(got[1], &shared->page);
	assert_true(PageAnonExclusive(got[1]));
	let_go(2, PIN);
}

/* Hints: followed by default, faulted on request; both by the slow path. */
static void hints(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 0, STATE_YOUNG | STATE_PROTNONE);
	mapped_folio(1, 0, STATE_YOUNG | STATE_PROTNONE);
	assert_int_equal(fast(0, 1, PIN), 1);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_true(pte_protnone(state_pte(gs, 0)));
	let_go(1, PIN);
	assert_int_equal(fast(0, 1, PIN | FOLL_HONOR_NUMA_FAULT), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_false(pte_protnone(state_pte(gs, 0)));
	let_go(1, PIN);
}

/* The walk only says that the folio was used; the slow path ages and dirties. */
static void marks(void **state)
{
	struct folio *folio, *later;

	(void)state;
	area(0, 32, STATE_RW);
	folio = mapped_folio(0, 4, STATE_WRITE | STATE_SOFT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fast(0, 16, PIN | WRITE), 16);
		assert_exit(-1);
		let_go(16, PIN);
		assert_int_equal(gup_runs(folio), 1);
		assert_false(folio_test_dirty(folio));
	}
	later = mapped_folio(16, 0, STATE_WRITE | STATE_PROTNONE);
	assert_int_equal(fast(16, 1, PIN), 1);
	let_go(1, PIN);
	assert_int_equal(gup_runs(later), 1);
	assert_int_equal(fast(16, 1, PIN), 1);
	let_go(1, PIN);
	assert_int_equal(gup_runs(later), 2);
}

static void a_table_a_leaf_a_table(void **state)
{
	struct folio *leaf;

	(void)state;
	area(0, 2048, STATE_RW);
	for (unsigned long i = 508; i < 512; i++)
		mapped_folio(i, 0, STATE_OWN);
	leaf = mapped_leaf(512, STATE_OWN);
	mapped_folio(1024, 2, STATE_OWN);
	assert_int_equal(fast(508, 4 + 512 + 4, PIN | WRITE), 520);
	assert_exit(-1);
	assert_pages(4, leaf, 0, 512);
	for (unsigned long i = 0; i < 520; i++)
		assert_ptr_equal(got[i], state_page(gs, 508 + i));
	let_go(520, PIN);
	assert_pins_live(0);
}

/* HAS_PINNED first: also by a call that then gets nothing. */
static void has_pinned_by_pins(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	assert_int_equal(fast(0, 1, GET), 1);
	put(1);
	assert_false(has_pinned());
	assert_int_equal(fast(0, 1, PIN), 1);
	let_go(1, PIN);
	assert_true(has_pinned());
}

/* Small, the count at its edge: the bias no longer fits, as in Linux. */
static void past_the_edge(void **state)
{
	struct folio *small, *large;

	(void)state;
	area(0, 32, STATE_RW);
	small = mapped_folio(0, 0, STATE_OWN);
	large = mapped_folio(16, 4, STATE_OWN);
	state_set_refcount(gs, small, INT32_MAX - 5);
	state_set_refcount(gs, large, INT32_MAX - 5);
	assert_int_equal(fast(0, 1, PIN), 1);
	assert_true(folio_ref_count(small) < 0);
	assert_true(folio_maybe_dma_pinned(small));
	/* and no more */
	assert_int_equal(walk(0, 1, PIN), 0);
	assert_exit(GUP_FAST_F5_FROZEN);
	assert_int_equal(walk(0, 1, GET), 0);
	unpin_user_page(&small->page);
	assert_counts(small, INT32_MAX - 5, 0, 1);
	assert_int_equal(walk(16, 16, PIN), 16);
	assert_true(folio_ref_count(large) < 0);
	let_go(16, PIN);
	assert_counts(large, INT32_MAX - 5, 0, 16);
	assert_pins_live(0);
}

/* case_B5: frames without a page end the range; what lies before is had. */
static void case_b5_frames_without_a_page(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	state_area(gs, 4, 4, VM_READ | VM_WRITE | VM_MAYREAD | VM_MAYWRITE |
		   VM_PFNMAP, &gs->bare_ops);
	for (unsigned long i = 0; i < 4; i++) {
		mapped_folio(i, 0, STATE_OWN);
		state_map_pfn(gs, state_vma(gs, 4 + i), state_address(gs, 4 + i),
			      2000 + i, STATE_WRITE);
	}
	assert_int_equal(fast(0, 8, PIN | WRITE), 4);
	assert_exit(GUP_FAST_F4);
	let_go(4, PIN);
	assert_int_equal(fast(0, 8, GET), 4);
	put(4);
	assert_int_equal(fast(4, 4, PIN | WRITE), -EFAULT);
	assert_int_equal(fast(4, 4, GET), -EFAULT);
	assert_int_equal(fast_only(0, 8, 0), 4);
	put(4);
	assert_pins_live(0);
}

/* case_D4: a page on its way elsewhere is not had; then the new one is. */
static void case_D4_migration(void **state)
{
	(void)state;
	area(0, 1024, STATE_RW);
	state_map_absent(gs, state_vma(gs, 0), state_address(gs, 0),
			 ABSENT_MIGRATION_WRITE);
	state_map_absent_leaf(gs, state_vma(gs, 512), state_address(gs, 512));
	gup_rules({ 0, 0, ANSWER_REPAIR, 0 }, { 512, 0, ANSWER_REPAIR, 0 });
	assert_int_equal(fast_only(0, 1, 0), 0);
	assert_int_equal(fast_only(512, 1, 0), 0);
	assert_int_equal(fast(0, 1, PIN | WRITE), 1);
	assert_ptr_equal(got[0], state_page(gs, 0));
	let_go(1, PIN);
	assert_int_equal(fast(512, 1, PIN | WRITE), 1);
	assert_ptr_equal(got[0], state_page(gs, 512));
	let_go(1, PIN);
	assert_int_equal(fast_only(0, 1, WRITE), 1);
	put(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(the_rest_is_faulted_in), gup_test(error_is_hidden),
		gup_test(the_rest_is_marked),
		gup_test(no_fault), gup_test(fast_only_takes_no_fault),
		gup_test(fast_only_takes_no_lock),
		gup_test(unshared_by_the_rest), gup_test(hints),
		gup_test(marks), gup_test(a_table_a_leaf_a_table),
		gup_test(has_pinned_by_pins), gup_test(past_the_edge),
		gup_test(case_b5_frames_without_a_page),
		gup_test(case_D4_migration),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
