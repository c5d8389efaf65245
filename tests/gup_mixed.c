/* SPDX-License-Identifier: MIT */
/*
 * Claim: on tables that hold different things side by side, the walk takes
 * exactly the runs that it may: same folio, next frame, each page's own
 * permission and exclusivity.
 *
 * Runs are counted by their accessed marks: one leaves the folio referenced,
 * two leave it active, more both.
 *
 * Source: mm/gup.c
 */
#include "tests/helper_gup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define EXCLUSIVE_RO	(STATE_YOUNG | STATE_SOFT)
#define SHARED_RO	(EXCLUSIVE_RO | STATE_SHARED)

/* What a test does is the same for a read and for a write. */
static const unsigned int read_and_write[] = { 0, FOLL_WRITE };

static void unpin_all(long nr)
{
	unpin_user_pages(got, nr);
}

/* ---- one folio, or two --------------------------------------------------- */

static void folio_is_one_run(void **state)
{
	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 2; i++) {
		struct folio *f = mapped_folio(16 * i, 4, STATE_OWN);

		assert_counts(f, 16, 0, 16);
		assert_int_equal(pin_touch(16 * i, 16, read_and_write[i]), 16);
		assert_int_equal(gup_faults.nr_records, 0);
		assert_pages(0, f, 0, 16);
		assert_counts(f, 32, 16, 16);
		assert_int_equal(gup_runs(f), 1);
		unpin_all(16);
		assert_counts(f, 16, 0, 16);
	}
}

/* Page 5 was shared by fork, the rest was not. */
static struct folio *folio_with_shared_page(unsigned int others)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 5, others);
	state_map(gs, 5, f, 5, 1, SHARED_RO);
	state_map(gs, 6, f, 6, 10, others);
	state_drop(gs, f);
	return f;
}

static void check_one_page_replaced(struct folio *f, unsigned int fault_flag)
{
	struct folio *own = page_folio(got[5]);

	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_faulted(0), 5);
	assert_int_equal(gup_fault_flag(0) & (FAULT_FLAG_WRITE |
					      FAULT_FLAG_UNSHARE), fault_flag);
	assert_pages(0, f, 0, 5);
	assert_pages(6, f, 6, 10);
	assert_int_equal(folio_order(own), 0);
	/* entry, pin, LRU batch */
	assert_counts(own, 1 + 1024 + 1, 0, 1);
	assert_true(PageAnonExclusive(got[5]));
	/* 15 entries, the other process, 15 pins */
	assert_counts(f, 15 + 1 + 15, 15, 16);
	assert_int_equal(gup_runs(f), 2);
}

static void shared_page_is_unshared(void **state)
{
	/* Exclusive and read-only, and exclusive and writable. */
	static const unsigned int others[] = { EXCLUSIVE_RO, STATE_OWN };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct folio *f = folio_with_shared_page(others[i]);

		assert_int_equal(pin_touch(0, 16, 0), 16);
		check_one_page_replaced(f, FAULT_FLAG_UNSHARE);
		assert_false(pte_write(state_pte(gs, 5)));
		unpin_all(16);
		assert_int_equal(gup_teardown(NULL), 0);
		assert_int_equal(gup_setup(NULL), 0);
	}
}

static void shared_page_is_copied_for_write(void **state)
{
	struct folio *f = folio_with_shared_page(STATE_OWN);

	(void)state;
	assert_int_equal(pin_touch(0, 16, FOLL_WRITE), 16);
	check_one_page_replaced(f, FAULT_FLAG_WRITE);
	assert_true(pte_write(state_pte(gs, 5)));
	unpin_all(16);
}

/* Writable ones and read-only exclusive ones by turns: a write faults each. */
static void writability_is_asked_of_each_page(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 16; i++)
		state_map(gs, i, f, i, 1, i % 4 == 3 ? EXCLUSIVE_RO :
						       STATE_OWN);
	state_drop(gs, f);
	assert_int_equal(pin(0, 16, FOLL_WRITE | FOLL_NOFAULT), 3);
	assert_counts(f, 16 + 3, 3, 16);
	unpin_all(3);
	assert_int_equal(pin(0, 16, FOLL_NOFAULT), 16);
	unpin_all(16);
	assert_int_equal(pin(0, 16, FOLL_WRITE), 16);
	assert_int_equal(gup_faults.nr_records, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(gup_faulted(i), 4 * i + 3);
	assert_counts(f, 32, 16, 16);
	unpin_all(16);
}

/* Wherever the odd page is: wide compares look at eight entries at once. */
static void odd_page_is_found_anywhere(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 6);

	(void)state;
	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 64, STATE_OWN);
	state_drop(gs, f);
	for (int odd = 1; odd < 64; odd++) {
		state_map(gs, odd, f, odd, 1, EXCLUSIVE_RO);
		assert_int_equal(pin(0, 64, FOLL_WRITE | FOLL_NOFAULT), odd);
		assert_pages(0, f, 0, odd);
		unpin_all(odd);
		assert_int_equal(pin(odd, 64 - odd, FOLL_WRITE | FOLL_NOFAULT),
				 -EFAULT);
		state_map(gs, odd, f, odd, 1, STATE_OWN);
		assert_int_equal(pin(0, 64, FOLL_WRITE | FOLL_NOFAULT), 64);
		unpin_all(64);
		/* Each mapping above replaced an entry but took a reference. */
		folio_put_refs(f, 2);
		atomic_sub(2, &f->_mapcount);
		atomic64_add(-2, &gs->mm->rss_pages);
	}
}

static void shared_folio_becomes_small_pages(void **state)
{
	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 2; i++) {
		struct folio *f = mapped_folio(16 * i, 4, SHARED_RO);
		unsigned int flag = i ? FAULT_FLAG_WRITE : FAULT_FLAG_UNSHARE;

		assert_counts(f, 32, 0, 32);
		assert_int_equal(pin(16 * i, 16, read_and_write[i]), 16);
		assert_int_equal(gup_faults.nr_records, 16);
		for (int k = 0; k < 16; k++) {
			assert_int_equal(gup_faulted(k), 16 * i + k);
			assert_int_equal(gup_fault_flag(k), flag);
			assert_false(folio_test_large(page_folio(got[k])));
			assert_true(PageAnonExclusive(got[k]));
			/* entry, pin; and the LRU batch, until it was full */
			assert_in_range(folio_ref_count(page_folio(got[k])),
					1025, 1026);
		}
		assert_counts(f, 16, 0, 16);
		unpin_all(16);
	}
}

/* References never unshare. */
static void get_takes_shared_pages(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 64, STATE_RW);
	f = mapped_folio(0, 4, SHARED_RO);
	assert_int_equal(get(0, 16, 0), 16);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(gup_runs(f), 1);
	assert_counts(f, 32 + 16, 0, 32);
	put(16);
}

static void area_ends_inside_folio(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 8, STATE_RW);
	area(8, 8, STATE_RO);
	f = state_folio(gs, STATE_ANON, 4);
	state_map(gs, 0, f, 0, 8, STATE_OWN);
	state_map(gs, 8, f, 8, 8, EXCLUSIVE_RO);
	state_drop(gs, f);
	assert_int_equal(pin_touch(0, 16, 0), 16);
	assert_int_equal(gup_runs(f), 2);
	assert_counts(f, 32, 16, 16);
	assert_pages(0, f, 0, 16);
	unpin_all(16);
	assert_int_equal(pin(0, 16, FOLL_WRITE), 8);
	assert_counts(f, 16 + 8, 8, 16);
	assert_int_equal(gup_faults.nr_records, 0);
	unpin_all(8);
	assert_int_equal(pin(8, 8, FOLL_WRITE), -EFAULT);
	assert_counts(f, 16, 0, 16);
}

/* What the table maps behind the area's end is nobody's. */
static void request_ends_with_area(void **state)
{
	struct vm_area_struct *low;
	struct folio *f;

	(void)state;
	area(0, 16, STATE_RW);
	f = mapped_folio(0, 4, STATE_OWN);
	low = state_vma(gs, 0);
	mmap_write_lock(gs->mm);
	assert_int_equal(split_vma(low, state_address(gs, 11)), 0);
	vma_set_flags(vma_next(low), STATE_MAY);
	mmap_write_unlock(gs->mm);
	assert_int_equal(pin(0, 16, 0), 11);
	assert_counts(f, 16 + 11, 11, 16);
	unpin_all(11);
	assert_int_equal(pin(0, 3, 0), 3);
	assert_counts(f, 16 + 3, 3, 16);
	assert_null(got[11]);
	unpin_all(3);
}

static void neighbour_folios_are_counted_apart(void **state)
{
	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 2; i++) {
		struct folio *f = mapped_folio(32 * i, 4, STATE_OWN);
		struct folio *g = mapped_folio(32 * i + 16, 4, STATE_OWN);

		assert_int_equal(folio_pfn(f) + 16, folio_pfn(g));
		assert_int_equal(pin_touch(32 * i, 32, read_and_write[i]), 32);
		assert_counts(f, 32, 16, 16);
		assert_counts(g, 32, 16, 16);
		assert_int_equal(gup_runs(f), 1);
		assert_int_equal(gup_runs(g), 1);
		assert_pages(0, f, 0, 16);
		assert_pages(16, g, 0, 16);
		unpin_all(32);
		assert_counts(f, 16, 0, 16);
		assert_counts(g, 16, 0, 16);
		/* From one into the other. */
		assert_int_equal(get(32 * i + 14, 4, 0), 4);
		assert_counts(f, 18, 0, 16);
		assert_counts(g, 18, 0, 16);
		put(4);
	}
}

static void small_neighbours_are_counted_apart(void **state)
{
	struct folio *f[20];

	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 20; i++)
		f[i] = mapped_folio(i, 0, STATE_OWN);
	assert_int_equal(pin_touch(0, 20, FOLL_WRITE), 20);
	for (int i = 0; i < 20; i++) {
		assert_counts(f[i], 1 + 1024, 0, 1);
		assert_ptr_equal(got[i], &f[i]->page);
		assert_int_equal(gup_runs(f[i]), 1);
	}
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 20);
	unpin_all(20);
	for (int i = 0; i < 20; i++)
		assert_counts(f[i], 1, 0, 1);
	assert_int_equal(nr_foll_pin_released(gs->machine), 20);
}

static void reordered_folio_in_areas_of_one_page(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	for (int i = 0; i < 16; i++) {
		area(i, 1, STATE_RW);
		state_map(gs, i, f, i * 5 % 16, 1, STATE_OWN);
	}
	state_drop(gs, f);
	assert_int_equal(pin_touch(0, 16, FOLL_WRITE), 16);
	for (int i = 0; i < 16; i++)
		assert_ptr_equal(got[i], folio_page(f, i * 5 % 16));
	assert_counts(f, 32, 16, 16);
	assert_int_equal(gup_runs(f), 3);
	unpin_all(16);
}

/* 0 1 2 3 8 9 10 11 4 5 6 7 ..., then one page twice. */
static void reordered_folio_in_one_area(void **state)
{
	static const int order[17] = { 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 15,
				       14, 13, 12, 12 };
	struct folio *f = state_folio(gs, STATE_FILE, 4);

	(void)state;
	state_area(gs, 0, 64, STATE_RO, &gs->file_ops);
	for (int i = 0; i < 17; i++)
		state_map(gs, i, f, order[i], 1, EXCLUSIVE_RO);
	assert_int_equal(pin(0, 17, 0), 17);
	for (int i = 0; i < 17; i++)
		assert_ptr_equal(got[i], folio_page(f, order[i]));
	/* page cache, entries, pins */
	assert_counts(f, 1 + 17 + 17, 17, 17);
	unpin_all(17);
	assert_int_equal(pin_touch(0, 8, 0), 8);
	assert_int_equal(gup_runs(f), 2);
	unpin_all(8);
}

static void folio_is_entered_in_its_middle(void **state)
{
	(void)state;
	area(0, 64, STATE_RW);
	for (int i = 0; i < 2; i++) {
		struct folio *f = mapped_folio(16 * i, 4, STATE_OWN);

		assert_int_equal(pin_touch(16 * i + 7, 9, read_and_write[i]),
				 9);
		assert_pages(0, f, 7, 9);
		assert_counts(f, 16 + 9, 9, 16);
		assert_int_equal(gup_runs(f), 1);
		unpin_all(9);
	}
}

/* Mapped from its middle on, beside a folio that goes on with the frames. */
static void partly_mapped_folio_ends_at_its_end(void **state)
{
	struct folio *f = state_folio(gs, STATE_ANON, 3);
	struct folio *g = state_folio(gs, STATE_ANON, 3);

	(void)state;
	assert_int_equal(folio_pfn(f) + 8, folio_pfn(g));
	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 3, 5, STATE_OWN);
	state_map(gs, 5, g, 0, 4, STATE_OWN);
	state_drop(gs, f);
	state_drop(gs, g);
	assert_int_equal(pin(0, 9, 0), 9);
	assert_counts(f, 10, 5, 5);
	assert_counts(g, 8, 4, 4);
	unpin_all(9);
}

/* A run ends with its table; the next one begins a walk of its own. */
static void table_ends(void **state)
{
	struct folio *f = state_folio(gs, STATE_FILE, 4);

	(void)state;
	state_area(gs, 500, 64, STATE_RO, &gs->file_ops);
	state_map(gs, 504, f, 0, 16, EXCLUSIVE_RO);
	assert_int_equal(pin_touch(504, 16, 0), 16);
	assert_pages(0, f, 0, 16);
	assert_int_equal(gup_runs(f), 2);
	assert_counts(f, 1 + 16 + 16, 16, 16);
	unpin_all(16);
}

/* ---- what is not a page -------------------------------------------------- */

/* A folio with its page 3 dropped. */
static struct folio *folio_with_hole(void)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	area(0, 64, STATE_RW);
	state_map(gs, 0, f, 0, 3, STATE_OWN);
	state_map(gs, 4, f, 4, 12, STATE_OWN);
	state_drop(gs, f);
	return f;
}

static void hole_reads_zero(void **state)
{
	struct folio *f = folio_with_hole();

	(void)state;
	assert_int_equal(pin_touch(0, 16, 0), 16);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_faulted(0), 3);
	assert_ptr_equal(got[3], gs->machine->zero_page);
	assert_int_equal(atomic_read(&gs->machine->zero_page->_refcount), 1);
	assert_counts(f, 15 + 15, 15, 15);
	assert_int_equal(gup_runs(f), 2);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 15);
	unpin_all(16);
	assert_int_equal(nr_foll_pin_released(gs->machine), 15);
}

static void hole_gets_page_for_write(void **state)
{
	struct folio *f = folio_with_hole();

	(void)state;
	assert_int_equal(pin_touch(0, 16, FOLL_WRITE), 16);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(gup_fault_flag(0),
			 FAULT_FLAG_WRITE | FAULT_FLAG_REMOTE);
	assert_counts(page_folio(got[3]), 1 + 1024 + 1, 0, 1);
	assert_counts(f, 15 + 15, 15, 15);
	assert_int_equal(gup_runs(f), 2);
	unpin_all(16);
}

static void longterm_read_of_hole_unshares_zero(void **state)
{
	(void)state;
	folio_with_hole();
	assert_int_equal(pin(0, 16, FOLL_LONGTERM), 16);
	assert_int_equal(gup_faults.nr_records, 2);
	assert_int_equal(gup_faulted(0), 3);
	assert_int_equal(gup_fault_flag(0), 0);
	assert_int_equal(gup_faulted(1), 3);
	assert_int_equal(gup_fault_flag(1), FAULT_FLAG_UNSHARE);
	assert_true(PageAnon(got[3]) && PageAnonExclusive(got[3]));
	assert_false(pte_write(state_pte(gs, 3)));
	unpin_all(16);
}

/* Zero page, folio, zero page twice. */
static struct folio *folio_between_zeros(void)
{
	struct vm_area_struct *vma = area(0, 64, STATE_RW);
	struct folio *f = mapped_folio(1, 4, STATE_OWN);

	state_map_zero(gs, vma, state_address(gs, 0), STATE_YOUNG);
	state_map_zero(gs, vma, state_address(gs, 17), STATE_YOUNG);
	state_map_zero(gs, vma, state_address(gs, 18), STATE_YOUNG);
	return f;
}

static void zero_page_is_not_pinned(void **state)
{
	struct page *zero = gs->machine->zero_page;
	struct folio *f = folio_between_zeros();

	(void)state;
	assert_int_equal(pin(0, 19, 0), 19);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_ptr_equal(got[0], zero);
	assert_ptr_equal(got[17], zero);
	assert_ptr_equal(got[18], zero);
	assert_pages(1, f, 0, 16);
	assert_counts(f, 32, 16, 16);
	assert_int_equal(atomic_read(&zero->_refcount), 1);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 16);
	unpin_all(19);
	assert_int_equal(atomic_read(&zero->_refcount), 1);
	assert_int_equal(nr_foll_pin_released(gs->machine), 16);
	unpin_user_page(zero);
	unpin_user_page_range_dirty_lock(zero, 1, false);
	assert_int_equal(atomic_read(&zero->_refcount), 1);
}

static void zero_page_is_got(void **state)
{
	struct page *zero = gs->machine->zero_page;

	(void)state;
	folio_between_zeros();
	assert_int_equal(get(0, 19, 0), 19);
	assert_int_equal(atomic_read(&zero->_refcount), 1 + 3);
	assert_int_equal(nr_foll_pin_acquired(gs->machine), 0);
	put(19);
	assert_int_equal(atomic_read(&zero->_refcount), 1);
}

static void zero_page_is_replaced_for_write(void **state)
{
	struct folio *f = folio_between_zeros();

	(void)state;
	assert_int_equal(pin(0, 19, FOLL_WRITE), 19);
	assert_int_equal(gup_faults.nr_records, 3);
	assert_int_equal(gup_faulted(0), 0);
	assert_int_equal(gup_faulted(1), 17);
	assert_int_equal(gup_faulted(2), 18);
	assert_ptr_not_equal(got[17], got[18]);
	assert_counts(page_folio(got[0]), 1 + 1024 + 1, 0, 1);
	assert_counts(f, 32, 16, 16);
	unpin_all(19);
}

/* The table maps it by an entry without a descriptor, and a folio goes on. */
static void pfn_entry_ends_the_walk(void **state)
{
	struct vm_area_struct *vma;
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	(void)state;
	vma = state_area(gs, 0, 16, STATE_RW | VM_MIXEDMAP, &gs->bare_ops);
	state_map(gs, 0, f, 0, 6, STATE_OWN);
	state_map_pfn(gs, vma, state_address(gs, 6), folio_pfn(f) + 6,
		      STATE_WRITE | STATE_SOFT);
	state_map(gs, 7, f, 7, 9, STATE_OWN);
	state_drop(gs, f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin(0, 16, read_and_write[i]), 6);
		assert_counts(f, 15 + 6, 6, 15);
		unpin_all(6);
		assert_int_equal(pin(6, 10, read_and_write[i]), -EEXIST);
		assert_int_equal(get(6, 10, read_and_write[i]), -EEXIST);
	}
	assert_int_equal(pin(6, 1, FOLL_DUMP), -EFAULT);
	assert_int_equal(pin(7, 9, 0), 9);
	unpin_all(9);
	assert_int_equal(gup_faults.nr_records, 0);
	/* Counted where no page is asked for, and touched. */
	set_pte_at(gs->mm, 0, pte_offset_map(mm_find_pmd(gs->mm, gs->base),
					     state_address(gs, 6)),
		   pte_mkclean(pte_mkold(state_pte(gs, 6))));
	rcu_read_unlock();
	assert_int_equal(populate(0, 16, 0), 16);
	assert_true(pte_young(state_pte(gs, 6)));
	assert_false(pte_dirty(state_pte(gs, 6)));
	assert_int_equal(populate(0, 16, FOLL_WRITE), 16);
	assert_true(pte_dirty(state_pte(gs, 6)));
	assert_counts(f, 15, 0, 15);
}

/* Waited for, and then the walk goes on with what came. */
static void migration_entry_between_folios(void **state)
{
	(void)state;
	gup_rules({ .page = 9, .nth = 0, .answer = ANSWER_REPAIR },
		  { .page = 39, .nth = 0, .answer = ANSWER_REPAIR });
	for (int i = 0; i < 2; i++) {
		unsigned long at = 30 * i;
		struct vm_area_struct *vma = area(at, 30, STATE_RW);
		struct folio *f = mapped_folio(at + 1, 3, STATE_OWN);
		struct folio *g = mapped_folio(at + 10, 2, STATE_OWN);

		state_map_absent(gs, vma, state_address(gs, at + 9),
				 ABSENT_MIGRATION_WRITE);
		assert_int_equal(pin_touch(at + 1, 13, read_and_write[i]), 13);
		assert_int_equal(gup_faults.nr_records, 1);
		assert_int_equal(gup_faulted(0), at + 9);
		assert_pages(0, f, 0, 8);
		assert_pages(9, g, 0, 4);
		/* the migration's own reference, entry, pin */
		assert_counts(page_folio(got[8]), 1 + 1 + 1024, 0, 1);
		assert_counts(f, 16, 8, 8);
		assert_counts(g, 8, 4, 4);
		unpin_all(13);
	}
}

/* The fault waits for the folio lock: nobody holds it, so it passes. */
static void absent_entries_fault_even_for_a_dump(void **state)
{
	struct vm_area_struct *vma = area(0, 64, STATE_RW);

	(void)state;
	gup_rules({ .page = 0, .nth = 0, .answer = ANSWER_PASS },
		  { .page = 0, .nth = 1, .answer = ANSWER_REPAIR });
	state_map_absent(gs, vma, state_address(gs, 0), ABSENT_MIGRATION_WRITE);
	state_map_absent(gs, vma, state_address(gs, 1), ABSENT_SWAP);
	state_map_absent(gs, vma, state_address(gs, 2), ABSENT_HWPOISON);
	state_map_absent(gs, vma, state_address(gs, 3), ABSENT_MARKER_POISON);
	assert_int_equal(pin(0, 1, FOLL_DUMP), 1);
	assert_int_equal(gup_faults.nr_records, 2);
	unpin_all(1);
	assert_int_equal(pin(1, 1, FOLL_DUMP), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 1);
	for (int i = 2; i < 4; i++) {
		assert_int_equal(pin(i, 1, 0), -EFAULT);
		assert_int_equal(pin(i, 1, FOLL_HWPOISON), -EHWPOISON);
		assert_int_equal(gup_faults.nr_records, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(folio_is_one_run),
		gup_test(shared_page_is_unshared),
		gup_test(shared_page_is_copied_for_write),
		gup_test(writability_is_asked_of_each_page),
		gup_test(odd_page_is_found_anywhere),
		gup_test(shared_folio_becomes_small_pages),
		gup_test(get_takes_shared_pages),
		gup_test(area_ends_inside_folio),
		gup_test(request_ends_with_area),
		gup_test(neighbour_folios_are_counted_apart),
		gup_test(small_neighbours_are_counted_apart),
		gup_test(reordered_folio_in_areas_of_one_page),
		gup_test(reordered_folio_in_one_area),
		gup_test(folio_is_entered_in_its_middle),
		gup_test(partly_mapped_folio_ends_at_its_end),
		gup_test(table_ends),
		gup_test(hole_reads_zero),
		gup_test(hole_gets_page_for_write),
		gup_test(longterm_read_of_hole_unshares_zero),
		gup_test(zero_page_is_not_pinned),
		gup_test(zero_page_is_got),
		gup_test(zero_page_is_replaced_for_write),
		gup_test(pfn_entry_ends_the_walk),
		gup_test(migration_entry_between_folios),
		gup_test(absent_entries_fault_even_for_a_dump),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
