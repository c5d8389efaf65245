/* SPDX-License-Identifier: MIT */
/*
 * Claim: the lockless walk ends at exactly the entries and folios that the
 * specification of its steps (F1 to F9) names, keeps what it had before, leaves
 * no trace on what it could not have, and takes neither a fault nor a lock.
 *
 * Exits that need somebody else at work meanwhile are in fast_threads.c.
 *
 * Source: mm/gup.c:gup_fast_pte_range(), gup_fast_pmd_leaf(),
 *         try_grab_folio_fast(), gup_fast_folio_allowed()
 */
#include "tests/fast_test.h"

#include <limits.h>

#define NR_CALLS	4

/* What the walk must treat alike, if not said otherwise. */
static const unsigned int calls[NR_CALLS] = {
	GET, GET | WRITE, PIN, PIN | WRITE,
};

/* Pages 0-2 are good, page 3 is not: so 3 are got, and the exit is @which. */
static void assert_three(unsigned int flags, int which)
{
	assert_int_equal(walk(0, 8, flags), 3);
	assert_exit(which);
	if (flags & PIN)
		assert_pins_live(3);
	let_go(3, flags);
	assert_int_equal(walk(3, 5, flags), 0);
	assert_exit(which);
	assert_pins_live(0);
}

static void three_good_pages(void)
{
	for (unsigned long i = 0; i < 3; i++)
		mapped_folio(i, 0, STATE_OWN);
}

/* ---- nothing there ------------------------------------------------------- */

static void absent(void **state)
{
	(void)state;
	area(0, GUP_PAGES, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(0, 8, calls[i]), 0);
		assert_exit(GUP_FAST_ABSENT);
	}
	/* The upper tables are there now, and this PTE table; not the next. */
	for (unsigned long i = 500; i < 512; i++)
		mapped_folio(i, 0, STATE_OWN);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(500, 20, calls[i]), 12);
		assert_exit(GUP_FAST_ABSENT);
		let_go(12, calls[i]);
	}
	/* An entry in swap format, at either level, is no table and no leaf. */
	state_map_absent_leaf(gs, state_vma(gs, 512), state_address(gs, 512));
	assert_int_equal(walk(512, 8, PIN), 0);
	assert_exit(GUP_FAST_ABSENT);
}

/* R10: no page behind a gap, in whatever table or leaf it lies. */
static void nothing_behind_a_gap(void **state)
{
	(void)state;
	area(0, GUP_PAGES, STATE_RW);
	for (unsigned long i = 500; i < 520; i++)
		if (i != 510)
			mapped_folio(i, 0, STATE_OWN);
	mapped_leaf(1024, STATE_OWN | STATE_PROTNONE);
	mapped_leaf(1536, STATE_OWN);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(500, 20, calls[i]), 10);
		assert_exit(GUP_FAST_F2);
		let_go(10, calls[i]);
		assert_int_equal(walk(511, 2000, calls[i]), 9);
		assert_exit(GUP_FAST_F2);
		let_go(9, calls[i]);
		assert_int_equal(walk(1500, 500, calls[i]), 0);
		assert_exit(GUP_FAST_F1);
	}
}

/* Nothing of the area is looked at: there need not even be one. */
static void beyond_areas(void **state)
{
	(void)state;
	assert_int_equal(walk(5, 8, PIN), 0);
	assert_exit(GUP_FAST_ABSENT);
	assert_int_equal(gup_fast(gs->mm, 0, 1, PIN, got), 0);
	assert_int_equal(gup_fast(gs->mm, TASK_SIZE_MAX - PAGE_SIZE, 1, GET,
				  got), 0);
}

/* ---- F1, F2, F4: what the entry says ------------------------------------- */

static void f1_protnone(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	three_good_pages();
	mapped_folio(3, 0, STATE_OWN | STATE_PROTNONE);
	mapped_folio(4, 0, STATE_OWN);
	for (int i = 0; i < NR_CALLS; i++)
		assert_three(calls[i], GUP_FAST_F1);
	/* with and without the flag */
	assert_three(PIN | FOLL_HONOR_NUMA_FAULT, GUP_FAST_F1);
}

static void f1_protnone_in_a_run(void **state)
{
	struct folio *folio;

	(void)state;
	area(0, 16, STATE_RW);
	folio = state_folio(gs, STATE_ANON, 4);
	state_map(gs, 0, folio, 0, 3, STATE_OWN);
	state_map(gs, 3, folio, 3, 1, STATE_OWN | STATE_PROTNONE);
	state_map(gs, 4, folio, 4, 12, STATE_OWN);
	state_drop(gs, folio);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(0, 16, calls[i]), 3);
		assert_exit(GUP_FAST_F1);
		assert_pages(0, folio, 0, 3);
		if (calls[i] & PIN)
			assert_counts(folio, 16 + 3, 3, 16);
		else
			assert_counts(folio, 16 + 3, 0, 16);
		let_go(3, calls[i]);
		assert_counts(folio, 16, 0, 16);
		assert_pins_live(0);
	}
}

static void f2_not_permitted(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	three_good_pages();
	mapped_folio(3, 0, STATE_YOUNG);
	assert_three(GET | WRITE, GUP_FAST_F2);
	assert_three(PIN | WRITE, GUP_FAST_F2);
	/* A forced write goes by the area, which is not looked at. */
	assert_three(PIN | WRITE | FOLL_FORCE, GUP_FAST_F2);
	assert_int_equal(walk(0, 4, PIN), 4);
	assert_exit(-1);
	let_go(4, PIN);
}

static void f2_none(void **state)
{
	static const enum state_absent whats[] = {
		ABSENT_SWAP, ABSENT_MIGRATION_READ, ABSENT_MIGRATION_WRITE,
		ABSENT_HWPOISON, ABSENT_MARKER_UFFD_WP,
	};

	(void)state;
	area(0, 16, STATE_RW);
	three_good_pages();
	for (int i = 0; i < NR_CALLS; i++)
		assert_three(calls[i], GUP_FAST_F2);
	for (unsigned long i = 0; i < ARRAY_SIZE(whats); i++) {
		state_map_absent(gs, state_vma(gs, 8 + i),
				 state_address(gs, 8 + i), whats[i]);
		for (int k = 0; k < NR_CALLS; k++) {
			assert_int_equal(walk(8 + i, 1, calls[k]), 0);
			assert_exit(GUP_FAST_F2);
		}
	}
}

static void f4_special(void **state)
{
	struct page *zero = gs->machine->zero_page;

	(void)state;
	area(0, 8, STATE_RW);
	three_good_pages();
	state_map_zero(gs, state_vma(gs, 3), state_address(gs, 3), 0);
	assert_three(GET, GUP_FAST_F4);
	assert_three(PIN, GUP_FAST_F4);
	assert_three(PIN | LONGTERM, GUP_FAST_F4);
	/* read-only it is too, and that is asked first */
	assert_three(PIN | WRITE, GUP_FAST_F2);
	assert_int_equal(atomic_read(&zero->_refcount), 1);
}

static void f4_frame_number(void **state)
{
	(void)state;
	area(0, 8, STATE_RW | VM_MIXEDMAP);
	three_good_pages();
	state_map_pfn(gs, state_vma(gs, 3), state_address(gs, 3), 5,
		      STATE_WRITE);
	for (int i = 0; i < NR_CALLS; i++)
		assert_three(calls[i], GUP_FAST_F4);
}

/* ---- F5: what the folio says --------------------------------------------- */

static void f5_frozen(void **state)
{
	static const int counts[] = { 0, -1, INT_MIN };
	struct folio *small, *large;
	static unsigned long pages[] = { 3, 8 };

	(void)state;
	area(0, 32, STATE_RW);
	three_good_pages();
	small = mapped_folio(3, 0, STATE_OWN);
	large = mapped_folio(8, 2, STATE_OWN);
	for (unsigned int i = 0; i < ARRAY_SIZE(counts); i++) {
		state_set_refcount(gs, small, counts[i]);
		state_set_refcount(gs, large, counts[i]);
		for (int k = 0; k < NR_CALLS; k++) {
			assert_three(calls[k], GUP_FAST_F5_FROZEN);
			assert_int_equal(walk(pages[1], 4, calls[k]), 0);
			assert_exit(GUP_FAST_F5_FROZEN);
		}
		assert_counts(small, counts[i], 0, 1);
		assert_counts(large, counts[i], 0, 4);
	}
}

/* While the pageblock of @folio is CMA's. */
static void in_cma(struct folio *folio, bool on)
{
	u8 *type = &gs->machine->pageblock_type[folio_pfn(folio) >>
						PAGEBLOCK_ORDER];
	static u8 was;

	if (on)
		was = *type;
	*type = on ? MIGRATE_CMA : was;
}

static void f5_longterm(void **state)
{
	struct folio *folio;

	(void)state;
	area(0, 1024, STATE_RW);
	for (unsigned long i = 0; i < 700; i++)
		folio = mapped_folio(i, 0, STATE_OWN);
	/* The last of them lies in another block than the first. */
	in_cma(folio, true);
	assert_int_equal(walk(0, 700, PIN | WRITE), 700);
	assert_exit(-1);
	let_go(700, PIN);
	for (int i = 0; i < 2; i++) {
		long nr = walk(0, 700, PIN | LONGTERM | (i ? WRITE : 0));

		assert_exit(GUP_FAST_F5_LONGTERM);
		assert_in_range(nr, 1, 699);
		assert_pins_live(nr);
		for (long k = 0; k < nr; k++)
			assert_true(folio_is_longterm_pinnable(
					page_folio(got[k])));
		assert_false(folio_is_longterm_pinnable(
				page_folio(state_page(gs, nr))));
		assert_counts(page_folio(state_page(gs, nr)), 1, 0, 1);
		let_go(nr, PIN);
	}
	in_cma(folio, false);
	assert_int_equal(walk(0, 700, PIN | LONGTERM), 700);
	let_go(700, PIN);
}

static void f5_longterm_of_large(void **state)
{
	struct folio *leaf, *folio;

	(void)state;
	area(0, 1024, STATE_RW);
	leaf = mapped_leaf(0, STATE_OWN);
	folio = mapped_folio(512, 4, STATE_OWN);
	in_cma(leaf, true);
	assert_int_equal(walk(5, 20, PIN | LONGTERM), 0);
	assert_exit(GUP_FAST_F5_LONGTERM);
	assert_counts(leaf, 1, 0, 1);
	in_cma(leaf, false);
	in_cma(folio, true);
	assert_int_equal(walk(510, 10, PIN | LONGTERM | WRITE), 2);
	assert_exit(GUP_FAST_F5_LONGTERM);
	assert_counts(folio, 16, 0, 16);
	let_go(2, PIN);
	in_cma(folio, false);
}

/* ---- F7: the folio's kind ------------------------------------------------ */

static void f7_file_memory(void **state)
{
	struct folio *folio, *small;

	(void)state;
	state_area(gs, 0, 64, VM_READ | VM_WRITE | VM_MAYREAD | VM_MAYWRITE |
		   VM_SHARED | VM_MAYSHARE, &gs->file_ops);
	folio = state_folio(gs, STATE_FILE, 3);
	small = state_folio(gs, STATE_FILE, 0);
	state_map(gs, 0, folio, 0, 8, STATE_OWN);
	state_map(gs, 8, small, 0, 1, STATE_OWN);
	/*
	 * 0: in a file.  1: as if truncated; what is small and of no file may have
	 * been of one that forbids it.
	 */
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < NR_CALLS; k++) {
			assert_int_equal(walk(0, 9, calls[k]), 9 - i);
			let_go(9 - i, calls[k]);
		}
		assert_int_equal(walk(0, 9, PIN | LONGTERM), 9 - i);
		let_go(9 - i, PIN);
		for (int at = 0; at < 9; at += 8) {
			assert_int_equal(walk(at, 1, PIN | LONGTERM | WRITE),
					 0);
			assert_exit(GUP_FAST_F7);
		}
		assert_counts(folio, 9, 0, 8);
		assert_counts(small, 2, 0, 1);
		assert_pins_live(0);
		folio->mapping = small->mapping = NULL;
	}
}

static void f7_anon_is_allowed(void **state)
{
	(void)state;
	area(0, 1024, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	mapped_folio(16, 4, STATE_OWN);
	mapped_leaf(512, STATE_OWN);
	assert_int_equal(walk(0, 1, PIN | LONGTERM | WRITE), 1);
	let_go(1, PIN);
	assert_int_equal(walk(16, 16, PIN | LONGTERM | WRITE), 16);
	let_go(16, PIN);
	assert_int_equal(walk(512, 512, PIN | LONGTERM | WRITE), 512);
	let_go(512, PIN);
}

/* ---- F8: exclusivity ----------------------------------------------------- */

static void f8_not_exclusive(void **state)
{
	struct folio *shared;

	(void)state;
	area(0, 8, STATE_RW);
	three_good_pages();
	shared = mapped_folio(3, 0, STATE_SHARED);
	mapped_folio(4, 0, STATE_YOUNG);
	assert_three(PIN, GUP_FAST_F8);
	assert_three(PIN | LONGTERM, GUP_FAST_F8);
	assert_int_equal(folio_ref_count(shared), 2);
	/* A get does not mind, nor does it promise anything. */
	assert_int_equal(walk(0, 5, GET), 5);
	assert_exit(-1);
	let_go(5, GET);
	/* Read-only and exclusive is fine. */
	assert_int_equal(walk(4, 1, PIN), 1);
	assert_exit(-1);
	let_go(1, PIN);
}

/* Each page of a run is asked. */
static void f8_in_a_run(void **state)
{
	struct folio *folio;

	(void)state;
	area(0, 32, STATE_RW);
	folio = state_folio(gs, STATE_ANON, 4);
	state_map(gs, 0, folio, 0, 11, STATE_YOUNG);
	state_map(gs, 11, folio, 11, 1, STATE_ORPHAN);
	state_map(gs, 12, folio, 12, 4, STATE_YOUNG);
	state_drop(gs, folio);
	assert_int_equal(walk(0, 16, PIN), 11);
	assert_exit(GUP_FAST_F8);
	assert_counts(folio, 16 + 11, 11, 16);
	let_go(11, PIN);
	assert_counts(folio, 16, 0, 16);
	assert_int_equal(walk(12, 4, PIN), 4);
	let_go(4, PIN);
	assert_int_equal(walk(0, 16, GET), 16);
	let_go(16, GET);
}

static void f8_file_for_long(void **state)
{
	struct folio *folio;

	(void)state;
	/* It may be a private mapping: only the area knows. */
	state_area(gs, 0, 8, VM_READ | VM_MAYREAD | VM_SHARED | VM_MAYSHARE,
		   &gs->file_ops);
	folio = state_folio(gs, STATE_FILE, 2);
	state_map(gs, 0, folio, 0, 4, STATE_YOUNG);
	assert_int_equal(walk(0, 4, PIN), 4);
	let_go(4, PIN);
	assert_int_equal(walk(0, 4, PIN | LONGTERM), 0);
	assert_exit(GUP_FAST_F8);
	assert_counts(folio, 5, 0, 4);
}

/* ---- leaves -------------------------------------------------------------- */

static void leaves(void **state)
{
	struct folio *a, *b;

	(void)state;
	area(0, 1536, STATE_RW);
	a = mapped_leaf(0, STATE_OWN);
	b = mapped_leaf(512, STATE_OWN);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(7, 1000, calls[i]), 1000);
		assert_exit(-1);
		assert_pages(0, a, 7, 505);
		assert_pages(505, b, 0, 495);
		assert_counts(a, 1 + 505, calls[i] & PIN ? 505 : 0, 1);
		assert_counts(b, 1 + 495, calls[i] & PIN ? 495 : 0, 1);
		let_go(1000, calls[i]);
		assert_int_equal(walk(1023, 8, calls[i]), 1);
		assert_exit(GUP_FAST_ABSENT);
		let_go(1, calls[i]);
	}
}

static void leaf_exits(void **state)
{
	struct folio *hint, *reader, *shared;

	(void)state;
	area(0, 2048, STATE_RW);
	hint = mapped_leaf(0, STATE_OWN | STATE_PROTNONE);
	reader = mapped_leaf(512, STATE_YOUNG);
	shared = mapped_leaf(1024, STATE_SHARED);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(3, 5, calls[i]), 0);
		assert_exit(GUP_FAST_F1);
	}
	assert_int_equal(walk(512, 5, PIN | WRITE), 0);
	assert_exit(GUP_FAST_F2);
	assert_int_equal(walk(512, 5, PIN), 5);
	let_go(5, PIN);
	assert_int_equal(walk(1030, 5, PIN), 0);
	assert_exit(GUP_FAST_F8);
	assert_int_equal(walk(1030, 5, GET), 5);
	let_go(5, GET);
	state_set_refcount(gs, reader, 0);
	assert_int_equal(walk(512, 5, GET), 0);
	assert_exit(GUP_FAST_F5_FROZEN);
	assert_counts(hint, 1, 0, 1);
	assert_counts(reader, 0, 0, 1);
	assert_counts(shared, 2, 0, 2);
}

/* While it is being split, a leaf is not present for the walk. */
static void leaf_in_a_split(void **state)
{
	pmd_t *pmd, leaf;

	(void)state;
	area(0, 512, STATE_RW);
	mapped_leaf(0, STATE_OWN);
	pmd = mm_find_pmd(gs->mm, state_address(gs, 0));
	leaf = pmdp_get(pmd);
	set_pmd_at(gs->mm, 0, pmd, __pmd(pmd_val(leaf) & ~_PAGE_PRESENT));
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(walk(3, 5, calls[i]), 0);
		assert_exit(GUP_FAST_F2);
	}
	set_pmd_at(gs->mm, 0, pmd, leaf);
}

/* An ordinary large folio, unlike the small zero page. */
static void huge_zero(void **state)
{
	struct folio *zero;
	int refs;

	(void)state;
	area(0, 512, STATE_RW);
	assert_true(state_map_huge_zero(gs, state_vma(gs, 0),
					state_address(gs, 0), 0));
	zero = page_folio(state_page(gs, 0));
	refs = folio_ref_count(zero);
	assert_int_equal(walk(9, 100, PIN), 100);
	assert_counts(zero, refs + 100, 100, 0);
	assert_pins_live(100);
	let_go(100, PIN);
	assert_int_equal(walk(9, 100, GET), 100);
	assert_counts(zero, refs + 100, 0, 0);
	let_go(100, GET);
	assert_int_equal(walk(9, 100, PIN | LONGTERM), 0);
	assert_exit(GUP_FAST_F8);
	assert_int_equal(walk(9, 100, PIN | WRITE), 0);
	assert_exit(GUP_FAST_F2);
	assert_counts(zero, refs, 0, 0);
}

/* ---- fork ---------------------------------------------------------------- */

/* A fork is at work: no pins; a get has nothing to fear from it. */
static void forking(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	three_good_pages();
	raw_write_seqcount_begin(&gs->mm->write_protect_seq);
	assert_int_equal(walk(0, 3, PIN | WRITE), 0);
	assert_exit(GUP_FAST_FORKING);
	assert_int_equal(walk(0, 3, GET | WRITE), 3);
	assert_exit(-1);
	let_go(3, GET);
	raw_write_seqcount_end(&gs->mm->write_protect_seq);
	assert_int_equal(walk(0, 3, PIN | WRITE), 3);
	assert_exit(-1);
	let_go(3, PIN);
}

/* ---- undoing ------------------------------------------------------------- */

/*
 * A page that was pinned and is let go at once was pinned: both counters move,
 * by the pages that a walk page by page would have undone.
 */
static void counters_of_undoing(void **state)
{
	u64 acquired, released;

	(void)state;
	area(0, 1024, STATE_RW);
	mapped_folio(0, 0, STATE_SHARED);
	mapped_folio(16, 4, STATE_ORPHAN);
	mapped_leaf(512, STATE_ORPHAN);
	acquired = nr_foll_pin_acquired(gs->machine);
	released = nr_foll_pin_released(gs->machine);
	assert_int_equal(walk(0, 1, PIN), 0);
	assert_int_equal(walk(16, 16, PIN), 0);
	assert_int_equal(walk(512, 100, PIN), 0);
	assert_int_equal(nr_foll_pin_acquired(gs->machine) - acquired, 102);
	assert_int_equal(nr_foll_pin_released(gs->machine) - released, 102);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(absent), gup_test(nothing_behind_a_gap),
		gup_test(beyond_areas),
		gup_test(f1_protnone), gup_test(f1_protnone_in_a_run),
		gup_test(f2_not_permitted), gup_test(f2_none),
		gup_test(f4_special), gup_test(f4_frame_number),
		gup_test(f5_frozen), gup_test(f5_longterm),
		gup_test(f5_longterm_of_large),
		gup_test(f7_file_memory), gup_test(f7_anon_is_allowed),
		gup_test(f8_not_exclusive), gup_test(f8_in_a_run),
		gup_test(f8_file_for_long),
		gup_test(leaves), gup_test(leaf_exits),
		gup_test(leaf_in_a_split), gup_test(huge_zero),
		gup_test(forking), gup_test(counters_of_undoing),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
