/* SPDX-License-Identifier: MIT */
/*
 * Claim: references and pins count as worked by hand: on small and large
 * folios, by huge leaf and by PTE, on the huge zero page, on the LRU batch, and
 * at the edges of the count, where a grab is refused without a trace.
 *
 * Source: mm/gup.c: try_grab_folio(), gup_put_folio(), follow_huge_pmd()
 */
#include "tests/helper_gup.h"

#include "host/race_point.h"
#include "lab/gup_algos.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define EXCLUSIVE_RO	(STATE_YOUNG | STATE_SOFT)
#define SHARED_RO	(EXCLUSIVE_RO | STATE_SHARED)

static void unpin_all(long nr)
{
	unpin_user_pages(got, nr);
}

/* ---- huge leaves --------------------------------------------------------- */

static void leaf_is_one_grab(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 1024, STATE_RW);
	f = mapped_leaf(0, STATE_WRITE | STATE_SOFT);
	assert_counts(f, 1, 0, 1);
	assert_int_equal(pin_touch(0, 512, 0), 512);
	assert_counts(f, 513, 512, 1);
	assert_true(folio_maybe_dma_pinned(f));
	assert_pages(0, f, 0, 512);
	/* Touched is the entry, not the folio. */
	assert_true(pmd_young(state_pmd(gs, 0)));
	assert_false(pmd_dirty(state_pmd(gs, 0)));
	assert_int_equal(gup_runs(f), 0);
	unpin_all(512);
	assert_counts(f, 1, 0, 1);
	assert_int_equal(pin_touch(100, 500, FOLL_WRITE), 500);
	assert_pages(0, f, 100, 412);
	assert_counts(f, 1 + 412, 412, 1);
	assert_true(pmd_dirty(state_pmd(gs, 0)));
	assert_false(folio_test_dirty(f));
	unpin_all(500);
}

static void untouched_leaf_stays_old(void **state)
{
	(void)state;
	area(0, 512, STATE_RW);
	mapped_leaf(0, STATE_WRITE | STATE_SOFT);
	assert_int_equal(pin(7, 20, FOLL_WRITE), 20);
	assert_false(pmd_young(state_pmd(gs, 0)));
	assert_false(pmd_dirty(state_pmd(gs, 0)));
	unpin_all(20);
}

static void pinned_leaf_is_split(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 512, STATE_RW);
	f = mapped_leaf(0, STATE_OWN);
	assert_int_equal(pin(0, 512, 0), 512);
	split_huge_pmd(state_vma(gs, 0), mm_find_pmd(gs->mm, gs->base),
		       gs->base);
	assert_counts(f, 1024, 512, 512);
	assert_true(folio_maybe_dma_pinned(f));
	assert_int_equal(get(0, 512, FOLL_WRITE), 512);
	assert_counts(f, 1536, 512, 512);
	put(512);
	unpin_all(512);
	assert_counts(f, 512, 0, 512);
}

static void split_is_asked_for(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 512, STATE_RW);
	f = mapped_leaf(0, STATE_OWN);
	assert_int_equal(pin_touch(3, 5, FOLL_SPLIT_PMD), 5);
	assert_true(pmd_is_table(state_pmd(gs, 0)));
	assert_counts(f, 512 + 5, 5, 512);
	assert_int_equal(gup_runs(f), 1);
	unpin_all(5);
}

/* The leaf goes when the walk lets go of its lock to split it. */
static void zap_leaf(void *arg, enum race_point point)
{
	struct vm_area_struct *vma = arg;

	assert_int_equal(point, RACE_SLOW_SPLIT);
	race_hook = NULL;
	zap_page_range(vma, vma->vm_start, vma->vm_end);
}

static long split_what_is_gone(struct vm_area_struct *vma, long fail_nth)
{
	long ret;

	mapped_leaf(0, STATE_OWN);
	race_hook = zap_leaf;
	race_hook_arg = vma;
	current->fail_nth = fail_nth;
	ret = pin_touch(3, 5, FOLL_SPLIT_PMD);
	assert_null(race_hook);
	assert_int_equal(current->fail_nth, 0);
	return ret;
}

/* Then a table has to be made, for which there may be no memory. */
static void split_leaf_is_gone(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	vma = area(0, 512, STATE_RW);
	assert_int_equal(split_what_is_gone(vma, 1), -ENOMEM);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_true(pmd_none(state_pmd(gs, 0)));
	assert_int_equal(split_what_is_gone(vma, 0), 5);
	assert_int_equal(gup_faults.nr_records, 5);
	unpin_all(5);
}

/* Shared: the mapping is split and one page copied. */
static void shared_leaf_is_unshared(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 512, STATE_RW);
	f = mapped_leaf(0, SHARED_RO);
	assert_int_equal(pin(9, 1, FOLL_NOFAULT), -EFAULT);
	assert_int_equal(get(9, 1, FOLL_NOFAULT), 1);
	put(1);
	assert_int_equal(pin(9, 1, 0), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_fault_flag(0), FAULT_FLAG_UNSHARE);
	assert_false(folio_test_large(page_folio(got[0])));
	assert_true(pmd_is_table(state_pmd(gs, 0)));
	assert_counts(f, 511 + 1, 0, 512);
	unpin_all(1);
}

static void huge_zero_is_an_ordinary_folio(void **state)
{
	struct vm_area_struct *vma = area(0, 1024, STATE_RW);
	struct folio *zero;

	(void)state;
	state_map_huge_zero(gs, vma, gs->base, STATE_YOUNG);
	zero = gs->machine->huge_zero_folio;
	assert_counts(zero, 2, 0, 0);
	assert_int_equal(pin(5, 100, 0), 100);
	assert_counts(zero, 2 + 100, 100, 0);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 100);
	unpin_all(100);
	assert_counts(zero, 2, 0, 0);
	assert_int_equal(get(0, 512, 0), 512);
	assert_counts(zero, 2 + 512, 0, 0);
	put(512);
	assert_int_equal(get(0, 1, FOLL_DUMP), -EFAULT);
	/* Longterm: split, then a page of its own. */
	assert_int_equal(pin(5, 1, FOLL_LONGTERM), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_fault_flag(0), FAULT_FLAG_UNSHARE);
	assert_true(PageAnon(got[0]) && PageAnonExclusive(got[0]));
	assert_counts(zero, 1, 0, 0);
	unpin_all(1);
}

static void hinted_leaf(void **state)
{
	(void)state;
	area(0, 512, STATE_RW);
	mapped_leaf(0, EXCLUSIVE_RO | STATE_PROTNONE);
	assert_int_equal(pin(0, 512, FOLL_NOFAULT), 512);
	unpin_all(512);
	assert_int_equal(pin(0, 512, FOLL_NOFAULT | FOLL_HONOR_NUMA_FAULT),
			 -EFAULT);
	assert_int_equal(pin(0, 512, FOLL_HONOR_NUMA_FAULT), 512);
	assert_int_equal(gup_faults.nr_records, 1);
	unpin_all(512);
}

/* ---- counts at their edges ----------------------------------------------- */

/* One page at a time stops inside the folio, a run passes as a whole. */
static void run_passes_the_edge(void **state)
{
	const struct gup_algo *single = gup_algo_find("single");
	struct folio *f;
	int locked = 1;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 4, STATE_OWN);
	state_set_refcount(gs, f, INT_MAX - 3);
	mmap_read_lock(gs->mm);
	assert_int_equal(gup_algo_call(single, gs->mm, gs->base, 16, FOLL_PIN,
				       got, &locked), 4);
	mmap_read_unlock(gs->mm);
	unpin_all(4);
	assert_int_equal(folio_ref_count(f), INT_MAX - 3);
	assert_int_equal(pin(0, 16, 0), 16);
	assert_true(folio_ref_count(f) < 0);
	assert_true(folio_maybe_dma_pinned(f));
	assert_int_equal(pin(0, 1, 0), -ENOMEM);
	unpin_all(16);
	assert_int_equal(folio_ref_count(f), INT_MAX - 3);
}

static void leaf_passes_the_edge(void **state)
{
	const struct gup_algo *single = gup_algo_find("single");
	struct folio *f;
	int locked = 1;

	(void)state;
	area(0, 512, STATE_RW);
	f = mapped_leaf(0, STATE_OWN);
	state_set_refcount(gs, f, INT_MAX);
	mmap_read_lock(gs->mm);
	assert_int_equal(gup_algo_call(single, gs->mm, gs->base, 16, FOLL_PIN,
				       got, &locked), -EFAULT);
	mmap_read_unlock(gs->mm);
	assert_int_equal(folio_ref_count(f), INT_MAX);
	assert_int_equal(pin(0, 16, 0), 16);
	unpin_all(16);
	assert_int_equal(folio_ref_count(f), INT_MAX);
}

/* A refused grab leaves no trace, and what came before it stays. */
static void frozen_folio_is_refused(void **state)
{
	struct folio *f, *small, *leaf, *ninth;

	(void)state;
	area(0, 64, STATE_RW);
	area(512, 512, STATE_RW);
	f = mapped_folio(0, 2, STATE_OWN);
	small = mapped_folio(4, 0, STATE_OWN & ~STATE_DIRTY);
	leaf = mapped_leaf(512, STATE_WRITE | STATE_SOFT);
	mapped_folio(8, 0, STATE_OWN);
	ninth = mapped_folio(9, 0, STATE_OWN);
	state_set_refcount(gs, small, 0);
	state_set_refcount(gs, ninth, 0);
	state_set_refcount(gs, leaf, -5);
	/* behind a small page that is fine */
	assert_int_equal(pin(8, 2, FOLL_WRITE), 1);
	assert_counts(ninth, 0, 0, 1);
	unpin_all(1);
	assert_int_equal(pin_touch(0, 5, FOLL_WRITE), 4);
	assert_counts(f, 8, 4, 4);
	unpin_all(4);
	assert_int_equal(pin_touch(4, 1, FOLL_WRITE), -ENOMEM);
	assert_int_equal(pin(4, 1, FOLL_WRITE), -ENOMEM);
	assert_int_equal(get(4, 1, FOLL_WRITE), -ENOMEM);
	assert_int_equal(populate(4, 1, FOLL_WRITE), -ENOMEM);
	assert_counts(small, 0, 0, 1);
	assert_int_equal(gup_runs(small), 0);
	assert_false(folio_test_dirty(small));
	assert_int_equal(pin_touch(600, 3, FOLL_WRITE), -ENOMEM);
	assert_false(pmd_young(state_pmd(gs, 512)));
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 4 + 1);
}

/* Small pages that come behind the request are let alone. */
static void request_is_not_exceeded(void **state)
{
	struct folio *third;

	(void)state;
	area(0, 64, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	mapped_folio(1, 0, STATE_OWN);
	third = mapped_folio(2, 0, STATE_OWN);
	assert_int_equal(pin(0, 2, FOLL_WRITE), 2);
	assert_counts(third, 1, 0, 1);
	unpin_all(2);
	assert_int_equal(pin_touch(0, 2, FOLL_WRITE), 2);
	assert_counts(third, 1, 0, 1);
	unpin_all(2);
	assert_int_equal(pin(0, 1, FOLL_WRITE), 1);
	unpin_all(1);
}

/* ---- worked values ------------------------------------------------------- */

static void worked_counts(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 0, STATE_OWN);
	assert_counts(f, 1, 0, 1);
	assert_false(folio_maybe_dma_pinned(f));
	assert_int_equal(get(0, 1, 0), 1);
	assert_counts(f, 2, 0, 1);
	assert_int_equal(pin(0, 1, 0), 1);
	assert_counts(f, 1026, 0, 1);
	assert_true(folio_maybe_dma_pinned(f));
	unpin_all(1);
	put(1);
	/* 1024 plain references look like a pin. */
	state_hold(gs, f, 1022, 0);
	assert_false(folio_maybe_dma_pinned(f));
	state_hold(gs, f, 1, 0);
	assert_true(folio_maybe_dma_pinned(f));

	f = mapped_folio(16, 4, STATE_OWN);
	assert_counts(f, 16, 0, 16);
	assert_false(folio_maybe_dma_pinned(f));
	assert_int_equal(pin(16 + 6, 5, FOLL_WRITE), 5);
	assert_counts(f, 21, 5, 16);
	assert_true(folio_maybe_dma_pinned(f));
	unpin_all(5);
	state_hold(gs, f, 2000, 0);
	assert_false(folio_maybe_dma_pinned(f));
}

static void batch_of_lru_counts_until_drained(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_RW);
	assert_int_equal(pin(0, 1, FOLL_WRITE), 1);
	f = page_folio(got[0]);
	assert_counts(f, 1 + 1024 + 1, 0, 1);
	lru_add_drain_all(gs->machine);
	assert_counts(f, 1 + 1024, 0, 1);
	unpin_all(1);
	assert_counts(f, 1, 0, 1);
}

/* Pages of three kinds of counting in one call. */
static void counters_count_pages(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	vma = area(0, 64, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	mapped_folio(1, 4, STATE_OWN);
	state_map_zero(gs, vma, state_address(gs, 17), STATE_YOUNG);
	mapped_folio(18, 0, STATE_OWN);
	assert_int_equal(pin(0, 19, 0), 19);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 18);
	assert_int_equal(nr_foll_pin_released(gs->machine), 0);
	unpin_user_page(got[0]);
	unpin_user_page(got[17]);
	unpin_user_pages(got + 1, 16);
	unpin_user_page(got[18]);
	assert_int_equal(nr_foll_pin_released(gs->machine), 18);
	assert_int_equal(get(0, 19, 0), 19);
	put(19);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(leaf_is_one_grab),
		gup_test(untouched_leaf_stays_old),
		gup_test(pinned_leaf_is_split),
		gup_test(split_is_asked_for),
		gup_test(split_leaf_is_gone),
		gup_test(shared_leaf_is_unshared),
		gup_test(huge_zero_is_an_ordinary_folio),
		gup_test(hinted_leaf),
		gup_test(run_passes_the_edge),
		gup_test(leaf_passes_the_edge),
		gup_test(frozen_folio_is_refused),
		gup_test(request_is_not_exceeded),
		gup_test(worked_counts),
		gup_test(batch_of_lru_counts_until_drained),
		gup_test(counters_count_pages),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
