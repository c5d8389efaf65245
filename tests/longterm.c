/* SPDX-License-Identifier: MIT */
/*
 * Claim: a longterm pin either lies wholly where memory need not move, or ends
 * with an error, nothing pinned and nothing isolated.
 *
 * v15, case_C1: the scenarios of that name.
 * Source: mm/gup.c: __gup_longterm_locked(),
 *         check_and_migrate_movable_folios()
 */
#include "tests/longterm_test.h"

#include <inttypes.h>

/* ---- calls ------------------------------------------------------------ */

static void write_pages(u64 first, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		write_word(&t, P(first + i), first + i);
}

/* Nothing is pinned or isolated by the call, and it counted what it did. */
static void assert_refused(pf_addr_t at, unsigned long nr, unsigned int flags,
			   unsigned long got)
{
	u64 acquired = nr_foll_pin_acquired(m);
	u64 released = nr_foll_pin_released(m);

	memset(pages, 0, sizeof(pages));
	assert_int_equal(pin_pages(at, nr, flags), -ENOMEM);
	assert_int_equal(nr_foll_pin_acquired(m) - acquired, got);
	assert_int_equal(nr_foll_pin_released(m) - released, got);
	assert_int_equal(nr_isolated(), 0);
	assert_int_equal(current->flags, 0);
	assert_valid(&t);
}

/* 1000 movable pages, 100 frames that may be pinned: all or nothing. */
static void case_C1(void **state)
{
	unsigned long used, free;
	char frame[40];

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 1000, RW);
	write_pages(0, 1000);
	while ((filler[nr_filler] = folio_alloc(GFP_KERNEL, 0)))
		nr_filler++;
	drop_filler(100);
	lru_add_drain_all(m);
	used = nr_used_pages(m);
	free = nr_free_pages(m);
	for (unsigned int i = 0; i < 3; i++) {
		pf_pfn_t pfn = page_to_pfn(page_mapped_at(&t, BASE));
		u64 acquired = nr_foll_pin_acquired(m);
		u64 released = nr_foll_pin_released(m);

		assert_int_equal(pin_pages(BASE, 1000, LONGTERM | FOLL_WRITE),
				 -ENOMEM);
		snprintf(frame, sizeof(frame), "frame %" PRIu64 " lies", pfn);
		assert_non_null(strstr(pf_error_text(), frame));
		assert_non_null(strstr(pf_error_text(), "ZONE_MOVABLE"));
		assert_int_equal(nr_foll_pin_acquired(m) - acquired,
				 nr_foll_pin_released(m) - released);
		assert_int_equal(live_pins(), 0);
		assert_int_equal(nr_isolated(), 0);
		assert_int_equal(nr_used_pages(m), used);
		assert_int_equal(nr_free_pages(m), free);
	}
	/* the folio form: one folio of the same kind */
	assert_int_equal(pin_pages(BASE, 1, FOLL_WRITE), 1);
	assert_int_equal(check_and_migrate_movable_folios(1,
			 (struct folio **)pages), -ENOMEM);
	assert_int_equal(live_pins(), 0);
	/* the contents are where they were */
	for (u64 i = 0; i < 1000; i++)
		assert_int_equal(read_word(&t, P(i)), i);
	drop_filler(nr_filler);
	/* with memory, and pages that the call makes itself */
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(1000),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(pin_pages(BASE, 1000, LONGTERM | FOLL_WRITE), 1000);
	assert_pinnable(1000);
	assert_held(1000);
	unpin_user_pages(pages, 1000);
	end();
}

static void the_text_names_the_area(void **state)
{
	struct page *page;
	char frame[40];
	u64 i = 0;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	map_at(&t, BASE, 3000, RW);
	/* ZONE_MOVABLE first; CMA begins behind it */
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(3000),
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	while (folio_migratetype(page_folio(page_mapped_at(&t, P(i)))) !=
	       MIGRATE_CMA)
		i++;
	page = page_mapped_at(&t, P(i));
	assert_refused(P(i), 1, LONGTERM, 1);
	snprintf(frame, sizeof(frame), "frame %" PRIu64 " lies in a CMA area",
		 page_to_pfn(page));
	assert_non_null(strstr(pf_error_text(), frame));
	end();
}

/* One bad page among good ones, first, in the middle, last. */
static void the_good_ones_are_given_back_too(void **state)
{
	char frame[40];

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 64, RW);
	for (u64 bad = 0; bad < 64; bad += 21) {
		assert_int_equal(pf_madvise(t.mm, BASE, PAGES(64),
					    PINFOLD_MADV_DONTNEED), 0);
		write_pages(bad, 1);
		assert_refused(BASE, 64, LONGTERM | FOLL_WRITE, 64);
		assert_refused(BASE, 64, LONGTERM, 64);
		/* and it is the bad one that is named */
		snprintf(frame, sizeof(frame), "frame %" PRIu64 " lies",
			 page_to_pfn(page_mapped_at(&t, P(bad))));
		assert_non_null(strstr(pf_error_text(), frame));
		/* around it there is no harm */
		if (bad) {
			assert_int_equal(pin_pages(BASE, bad, LONGTERM), bad);
			assert_pinnable(bad);
			unpin_user_pages(pages, bad);
		}
	}
	end();
}

/* The error hides a short count, as the pages before the hole are released. */
static void short_of_a_hole(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 20, RW);
	assert_int_equal(pin_pages(BASE + PAGES(10), 20,
				   LONGTERM | FOLL_WRITE), 10);
	assert_pinnable(10);
	assert_held(10);
	unpin_user_pages(pages, 10);
	write_pages(4, 1);
	assert_refused(BASE, 30, LONGTERM | FOLL_WRITE, 20);
	assert_int_equal(pin_pages(P(20), 1, LONGTERM), -EFAULT);
	end();
}

static void v15_pinned_by_somebody_else(void **state)
{
	struct page *other;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 4, RW);
	write_pages(0, 4);
	assert_int_equal(pin_pages(P(2), 1, FOLL_WRITE), 1);
	other = pages[0];
	assert_int_equal(pin_pages(BASE, 4, LONGTERM), -ENOMEM);
	pages[0] = other;
	assert_held(1);
	assert_ptr_equal(page_mapped_at(&t, P(2)), other);
	unpin_user_page(other);
	end();
}

/* What the call faults in is born where it may stay. */
static void born_pinnable(void **state)
{
	static const unsigned long orders[] = { 0, BIT(4), BIT(9), BIT(9) |
		BIT(5) | BIT(2) };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
		unsigned long nr = 1500;

		begin((struct pf_machine_options){
			.thp_always = orders[i], .metadata_only = true,
		});
		map_at(&t, BASE, nr, RW);
		assert_int_equal(pin_pages(BASE, nr, LONGTERM | FOLL_WRITE),
				 nr);
		assert_pinnable(nr);
		assert_held(nr);
		unpin_user_pages(pages, nr);
		/* and there it is the next time */
		assert_int_equal(pin_pages(BASE, nr, LONGTERM), nr);
		unpin_user_pages(pages, nr);
		/* the call's scope ends with it */
		map_at(&t, BASE, nr, RW);
		assert_int_equal(pf_madvise(t.mm, BASE, PAGES(nr),
					    PINFOLD_MADV_POPULATE_WRITE), 0);
		assert_true(is_zone_movable_page(page_mapped_at(&t, BASE)));
		end();
	}
}

static void a_leaf_in_the_wrong_place(void **state)
{
	(void)state;
	begin((struct pf_machine_options){
		.thp_always = BIT(9), .metadata_only = true,
	});
	map_at(&t, BASE, 1024, RW);
	assert_int_equal(pf_madvise(t.mm, BASE, PMD_SIZE,
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	assert_true(is_zone_movable_page(page_mapped_at(&t, BASE)));
	assert_refused(BASE, 512, LONGTERM | FOLL_WRITE, 512);
	assert_refused(BASE + PAGES(511), 2, LONGTERM | FOLL_WRITE, 2);
	assert_int_equal(pin_pages(P(512), 512, LONGTERM | FOLL_WRITE), 512);
	assert_true(pmd_leaf(leaf_at(&t, P(512))));
	assert_pinnable(512);
	unpin_user_pages(pages, 512);
	end();
}

/* The zero pages: a page of its own for each reader that wants to stay. */
static void zero_pages(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ .thp_madvise = BIT(9) });
	map_at(&t, BASE, 512, RW);
	map_at(&t, P(512), 512, RW);
	assert_int_equal(pf_madvise(t.mm, P(512), PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	assert_int_equal(read_word(&t, P(3)), 0);
	assert_int_equal(read_word(&t, P(512)), 0);
	assert_int_equal(pin_pages(P(3), 1, 0), 1);
	assert_ptr_equal(pages[0], m->zero_page);
	assert_int_equal(live_pins(), 0);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(P(3), 1, LONGTERM), 1);
	assert_ptr_not_equal(pages[0], m->zero_page);
	assert_pinnable(1);
	write_word(&t, P(3), 5);
	assert_int_equal(*(u64 *)page_address(pages[0]), 5);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(P(512), 512, LONGTERM), 512);
	assert_pinnable(512);
	for (unsigned int i = 0; i < 512; i++)
		assert_ptr_not_equal(page_folio(pages[i]), m->huge_zero_folio);
	assert_held(512);
	unpin_user_pages(pages, 512);
	/* in an array it is as good as any */
	pages[0] = m->zero_page;
	assert_int_equal(per_page_check(1, pages), 0);
	end();
}

/* Somebody has taken it off its list: it cannot be moved, and stays theirs. */
static void isolated_by_somebody_else(void **state)
{
	struct folio *folio;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 2, RW);
	write_pages(0, 2);
	lru_add_drain_all(m);
	folio = page_folio(page_mapped_at(&t, BASE));
	assert_true(folio_isolate_lru(folio));
	assert_int_equal(pin_pages(BASE, 2, LONGTERM), -ENOMEM);
	assert_int_equal(nr_isolated(), 1);
	assert_false(folio_test_lru(folio));
	assert_int_equal(folio_ref_count(folio), 2);
	folio_putback_lru(folio);
	assert_valid(&t);
	end();
}

/* All entry points that pin go through the same check. */
static void every_pin_entry(void **state)
{
	struct mm_struct *mm;
	int locked = 1;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	mm = mm_of(t.mm);
	map_at(&t, BASE, 8, RW);
	write_pages(0, 4);
	pf_mm_read_lock(t.mm);
	assert_int_equal(pf_pin_user_pages(t.mm, BASE, 8, LONGTERM, handles),
			 -ENOMEM);
	assert_int_equal(pf_pin_user_pages_remote(t.mm, BASE, 8, LONGTERM,
						  handles, NULL), -ENOMEM);
	assert_int_equal(pf_pin_user_pages_remote(t.mm, BASE, 8, LONGTERM,
						  handles, &locked), -ENOMEM);
	assert_int_equal(locked, 1);
	assert_true(rwsem_is_locked(&mm->mmap_lock));
	assert_int_equal(pf_pin_user_pages_remote(t.mm, P(4), 4, LONGTERM,
						  handles, &locked), 4);
	pf_mm_read_unlock(t.mm);
	assert_pinnable(4);
	unpin_user_pages(pages, 4);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, BASE, 8, LONGTERM,
						handles), -ENOMEM);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(4), 4, LONGTERM,
						handles), 4);
	unpin_user_pages(pages, 4);
	assert_valid(&t);
	end();
}

/* ---- the loop --------------------------------------------------------- */

static unsigned int passes, good_from;
static int answer;

static int stub_check(unsigned long nr_pages, struct page **array)
{
	assert_true(current->flags & TASK_MEMALLOC_PIN);
	assert_int_equal(live_pins(), nr_pages);
	passes++;
	if (good_from && passes >= good_from)
		return 0;
	unpin_user_pages(array, nr_pages);
	return answer;
}

static int unmapping_check(unsigned long nr_pages, struct page **array)
{
	unpin_user_pages(array, nr_pages);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(8)), 0);
	return -EAGAIN;
}

static int killing_check(unsigned long nr_pages, struct page **array)
{
	unpin_user_pages(array, nr_pages);
	pf_task_signal(pf_task_self(), true);
	return -EAGAIN;
}

static long loop(gup_pin_check_fn check)
{
	int locked = 0;
	long ret;

	passes = 0;
	ret = gup_longterm_loop(check, mm_of(t.mm), BASE, 8, pages, &locked,
				FOLL_PIN | LONGTERM | FOLL_WRITE |
				FOLL_UNLOCKABLE);
	assert_int_equal(locked, 0);
	assert_int_equal(current->flags, 0);
	return ret;
}

static void at_most_ten_passes(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 8, RW);
	answer = -EAGAIN;
	good_from = 0;
	assert_int_equal(loop(stub_check), -ENOMEM);
	assert_int_equal(passes, 10);
	assert_non_null(strstr(pf_error_text(), "10 passes"));
	assert_valid(&t);
	for (good_from = 1; good_from <= 10; good_from++) {
		assert_int_equal(loop(stub_check), 8);
		assert_int_equal(passes, good_from);
		assert_held(8);
		unpin_user_pages(pages, 8);
	}
	assert_int_equal(loop(stub_check), -ENOMEM);
	/* any other error is final */
	good_from = 0;
	answer = -ENOMEM;
	assert_int_equal(loop(stub_check), -ENOMEM);
	assert_int_equal(passes, 1);
	assert_valid(&t);
	end();
}

/* What was got is checked, not what was asked for. */
static void the_check_stops_where_the_pins_do(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 5, RW);
	/* slots that no pin of this call is in */
	for (unsigned int i = 0; i < 8; i++)
		pages[i] = m->zero_page;
	good_from = 2;
	answer = -EAGAIN;
	assert_int_equal(loop(stub_check), 5);
	assert_int_equal(passes, 2);
	assert_ptr_equal(pages[5], m->zero_page);
	assert_held(5);
	unpin_user_pages(pages, 5);
	assert_valid(&t);
	end();
}

/* The later passes find what is there then. */
static void passes_see_changes(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 8, RW);
	assert_int_equal(loop(killing_check), -EINTR);
	pf_task_clear_signals();
	assert_valid(&t);
	assert_int_equal(loop(unmapping_check), -EFAULT);
	assert_valid(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_C1),
		cmocka_unit_test(the_text_names_the_area),
		cmocka_unit_test(the_good_ones_are_given_back_too),
		cmocka_unit_test(short_of_a_hole),
		cmocka_unit_test(v15_pinned_by_somebody_else),
		cmocka_unit_test(born_pinnable),
		cmocka_unit_test(a_leaf_in_the_wrong_place),
		cmocka_unit_test(zero_pages),
		cmocka_unit_test(isolated_by_somebody_else),
		cmocka_unit_test(every_pin_entry),
		cmocka_unit_test(at_most_ten_passes),
		cmocka_unit_test(the_check_stops_where_the_pins_do),
		cmocka_unit_test(passes_see_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
