/* SPDX-License-Identifier: MIT */
/*
 * Claim: the lockless walk takes PMD and PUD leaves of hugetlb areas, in parts
 * and across leaves, with the head page speaking for all; written for long or
 * not; and what is not there yet is the slow path's.
 *
 * Source: mm/gup.c:gup_fast_pmd_leaf(), gup_fast_pud_leaf()
 */
#include "tests/hugetlb_test.h"

#include "host/exits.h"

static u64 lockless_ends(void)
{
	u64 sum = 0;

	for (int i = GUP_FAST_ABSENT; i < NR_GUP_EXITS; i++)
		sum += gup_exits[i];
	return sum;
}

/* Pages [at, + nr) without the slow path; counts and array are exact. */
static void check_fast(pf_addr_t at, unsigned long nr, unsigned int order,
		       unsigned int flags, bool pins)
{
	const u64 in_leaf = 1UL << order, first = (at >> PAGE_SHIFT) % in_leaf;
	u64 ends = lockless_ends();

	if (pins)
		assert_int_equal(pf_pin_user_pages_fast(t.mm, at, nr, flags,
							handles), nr);
	else
		assert_int_equal(pf_get_user_pages_fast_only(t.mm, at, nr,
							     flags, handles),
				 nr);
	assert_int_equal(lockless_ends(), ends);
	for (unsigned long i = 0, part; i < nr; i += part) {
		struct folio *folio = page_folio(pages[i]);

		part = min(in_leaf - (first + i) % in_leaf, nr - i);
		assert_int_equal(folio_ref_count(folio), 1 + part);
		assert_int_equal(atomic_read(&folio->_pincount),
				 pins ? part : 0);
		for (unsigned long k = 0; k < part; k++)
			if (pages[i + k] != folio_page(folio, (first + i) %
						       in_leaf + k))
				assert_true(false);
	}
	if (pins)
		unpin_user_pages(pages, nr);
	for (unsigned long i = 0; i < nr && !pins; i++)
		put_page(pages[i]);
}

static const unsigned int each_intent[] = {
	0, FOLL_WRITE, FOLL_LONGTERM, FOLL_WRITE | FOLL_LONGTERM,
};

static void pmd_leaves(void **state)
{
	(void)state;
	begin(3);
	map_huge(H(0), 3, RW);
	for (int i = 0; i < 3; i++)
		write_word(&t, H(i), 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(each_intent); i++) {
		const unsigned int flags = each_intent[i];

		check_fast(H(0), 512, HPAGE_PMD_ORDER, flags, true);
		check_fast(H(1) + PAGES(200), 123, HPAGE_PMD_ORDER, flags, true);
		check_fast(H(0) + PAGES(511), 2, HPAGE_PMD_ORDER, flags, true);
		check_fast(H(0) + PAGES(389), 123 + 512 + 1, HPAGE_PMD_ORDER,
			   flags, true);
		if (!(flags & FOLL_LONGTERM))
			check_fast(H(0) + 77, 3 * 512, HPAGE_PMD_ORDER, flags,
				   false);
	}
	end();
}

/* Read-only and exclusive: asked of the head, whichever page is wanted. */
static void read_only(void **state)
{
	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	assert_int_equal(read_word(&t, H(0)), 0);
	check_fast(H(0) + PAGES(100), 5, HPAGE_PMD_ORDER, 0, true);
	check_fast(H(0) + PAGES(100), 5, HPAGE_PMD_ORDER, FOLL_LONGTERM, true);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, H(0), 5, FOLL_WRITE,
						     handles), 0);
	end();
}

static void not_there_yet(void **state)
{
	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 1);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, H(0) + PAGES(500),
						     100, 0, handles), 12);
	for (int i = 0; i < 12; i++)
		put_page(pages[i]);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, H(0) + PAGES(500), 100,
						FOLL_WRITE, handles), 100);
	assert_held(100);
	unpin_user_pages(pages, 100);
	end();
}

/* A page that is pinned outlives its mapping and goes back to the pool then. */
static void outlives_the_mapping(void **state)
{
	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, H(0), 3, FOLL_WRITE,
						handles), 3);
	assert_int_equal(pf_munmap(t.mm, H(0), HUGE), 0);
	assert_pool(0, 0);
	assert_held(3);
	unpin_user_pages(pages, 3);
	assert_pool(1, 0);
	end();
}

static void pud_leaves(void **state)
{
	const unsigned long nr = HPAGE_PUD_NR;
	const pf_addr_t at = (pf_addr_t)5 << 40;
	pf_addr_t place;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_1g_pages = 2,
		.metadata_only = true,
	});
	assert_int_equal(pf_mmap(t.mm, at, 2 * GIGANTIC, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_1GB | PINFOLD_MAP_FIXED,
				 &place), 0);
	assert_int_equal(pf_madvise(t.mm, at, 2 * GIGANTIC,
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(each_intent); i++) {
		const unsigned int flags = each_intent[i];

		check_fast(at, 8, HPAGE_PUD_ORDER, flags, true);
		check_fast(at + PAGES(nr - 3), 1000, HPAGE_PUD_ORDER, flags,
			   true);
		check_fast(at, 2 * nr, HPAGE_PUD_ORDER, flags, true);
	}
	check_fast(at + PAGES(nr - 3), 6, HPAGE_PUD_ORDER, FOLL_WRITE, false);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pmd_leaves), cmocka_unit_test(read_only),
		cmocka_unit_test(not_there_yet),
		cmocka_unit_test(outlives_the_mapping),
		cmocka_unit_test(pud_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
