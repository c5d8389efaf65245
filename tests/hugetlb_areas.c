/* SPDX-License-Identifier: MIT */
/*
 * Claim: areas of huge pages are placed, cut, changed and moved by whole pages
 * only; what would need less is refused before anything is changed.
 *
 * Source: mm/hugetlb.c: hugetlb_vm_op_split(), hugetlb_change_protection();
 *         mm/mremap.c; mm/madvise.c: madvise_dontneed_free_valid_vma()
 */
#include "tests/hugetlb_test.h"

#include <errno.h>

/* ---- placing ---------------------------------------------------------- */

static void places_are_aligned(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	/* a hint inside a page means the next one */
	assert_int_equal(pf_mmap(t.mm, H(0) + PAGE_SIZE, HUGE, RW, HUGETLB,
				 &place), 0);
	assert_int_equal(place, H(1));
	assert_int_equal(pf_mmap(t.mm, H(4), HUGE, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_2MB, &place), 0);
	assert_int_equal(place, H(4));
	assert_int_equal(pf_mmap(t.mm, 0, PAGE_SIZE, RW, HUGETLB, &place), 0);
	assert_true(IS_ALIGNED(place, HUGE));
	assert_int_equal(pf_mmap(t.mm, H(7) + PAGE_SIZE, HUGE, RW, HUGETLB |
				 PINFOLD_MAP_FIXED_NOREPLACE, &place), -EINVAL);
	assert_int_equal(pf_mmap(t.mm, 0, GIGANTIC, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_1GB, &place), -ENOMEM);
	assert_pool(4, 3);
	end();
}

/* Nothing is said by locking them, so nothing is in the way later. */
static void locked_huge_pages_are_just_populated(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(2);
	assert_int_equal(pf_mmap(t.mm, H(0), 2 * HUGE, RW, HUGETLB |
				 PINFOLD_MAP_LOCKED, &place), 0);
	assert_pool(0, 0);
	assert_int_equal(pf_madvise(t.mm, place, HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	assert_pool(1, 1);
	end();
}

/* ---- cutting and changing --------------------------------------------- */

static void cuts_are_between_pages(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pf_munmap(t.mm, H(1) + PAGE_SIZE, HUGE),
				 -EINVAL);
		assert_int_equal(pf_munmap(t.mm, H(1), HUGE - PAGE_SIZE),
				 -EINVAL);
		assert_int_equal(pf_munmap(t.mm, H(1) - PAGE_SIZE,
					   PAGES(2)), -EINVAL);
		assert_int_equal(pf_mprotect(t.mm, H(1) + PAGE_SIZE, HUGE,
					     PINFOLD_PROT_READ), -EINVAL);
		assert_int_equal(pf_mprotect(t.mm, H(1), HUGE + PAGE_SIZE,
					     PINFOLD_PROT_READ), -EINVAL);
		assert_int_equal(pf_mmap(t.mm, H(1) + PAGE_SIZE, PAGE_SIZE, RW,
					 PINFOLD_MAP_FIXED, &place), -EINVAL);
		assert_int_equal(pf_mmap(t.mm, H(1) + PAGE_SIZE, HUGE, RW,
					 PINFOLD_MAP_FIXED | HUGETLB, &place),
				 -EINVAL);
		assert_int_equal(pf_madvise(t.mm, H(1) + PAGE_SIZE, HUGE,
					    PINFOLD_MADV_DONTNEED), -EINVAL);
		assert_pool(3, 3);
		assert_int_equal(mm_of(t.mm)->map_count, 1);
		assert_valid(&t);
		/* Asking for what is there already cuts nothing. */
		assert_int_equal(pf_mprotect(t.mm, H(1) + PAGE_SIZE, HUGE, RW),
				 0);
	}
	assert_int_equal(read_word(&t, H(1)), 1);
	end();
}

static void protection_changes_keep_pages(void **state)
{
	struct folio *folio;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	folio = folio_at(H(1));
	assert_int_equal(pin_pages(H(1), 1, FOLL_WRITE), 1);
	assert_int_equal(pf_mprotect(t.mm, H(1), 2 * HUGE, PINFOLD_PROT_READ),
			 0);
	assert_pool(3, 3);
	assert_held(1);
	assert_false(pmd_write(leaf_at(&t, H(1))));
	assert_int_equal(pin_pages(H(1), 1, FOLL_WRITE), -EFAULT);
	/* a place not touched yet, read-only */
	assert_int_equal(read_word(&t, H(2)), 0);
	assert_pool(2, 2);
	assert_int_equal(pf_mprotect(t.mm, H(1), 2 * HUGE, RW), 0);
	write_word(&t, H(1), 2);
	assert_ptr_equal(folio_at(H(1)), folio);
	assert_int_equal(*(u64 *)page_address(pages[0]), 2);
	assert_pool(2, 2);
	unpin_user_pages(pages, 1);

	/* out of reach, but for who may force it */
	assert_int_equal(pf_mprotect(t.mm, H(0), 4 * HUGE, PINFOLD_PROT_NONE),
			 0);
	assert_int_equal(pin_pages(H(1), 1, 0), -EFAULT);
	assert_int_equal(pin_pages(H(1), 600, FOLL_FORCE), 600);
	assert_held(600);
	unpin_user_pages(pages, 600);
	assert_int_equal(pin_pages(H(3), 1, FOLL_FORCE), 1);
	unpin_user_pages(pages, 1);
	assert_pool(1, 1);
	assert_int_equal(pf_mprotect(t.mm, H(0), 4 * HUGE, RW), 0);
	assert_int_equal(read_word(&t, H(1)), 2);
	end();
}

static void advice_for_thp_is_refused(void **state)
{
	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_HUGEPAGE),
			 -EINVAL);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_NOHUGEPAGE),
			 -EINVAL);
	end();
}

/* ---- moving ----------------------------------------------------------- */

static void moving_over_huge_pages(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	map_huge(H(0), 2, RW);
	map_huge(H(8), 2, RW);
	write_word(&t, H(0), 1);
	write_word(&t, H(8), 8);
	assert_pool(2, 2);
	assert_int_equal(pf_mremap(t.mm, H(0), 2 * HUGE, 2 * HUGE, TO, H(8),
				   &place), 0);
	assert_pool(3, 1);
	assert_int_equal(read_word(&t, H(8)), 1);
	/* to a place of the engine's choice, which is aligned */
	map_at(&t, H(10), 1, RW);
	assert_int_equal(pf_mremap(t.mm, H(8), HUGE, HUGE, TO, FAR, &place),
			 0);
	assert_pool(3, 1);
	assert_valid(&t);
	end();
}

static void moves_that_cannot_be(void **state)
{
	pf_addr_t place = 0xdead;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	map_at(&t, FAR, 512, RW);
	write_word(&t, FAR + PAGE_SIZE, 7);
	write_word(&t, H(0), 1);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE, TO, FAR + PAGE_SIZE,
				   &place), -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(0) + PAGE_SIZE, HUGE, HUGE, TO, FAR,
				   &place), -EINVAL);
	/* found out before the target is made free */
	assert_int_equal(read_word(&t, FAR + PAGE_SIZE), 7);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE,
				   TO | PINFOLD_MREMAP_DONTUNMAP, FAR, &place),
			 -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(2), 2 * HUGE, 3 * HUGE,
				   PINFOLD_MREMAP_MAYMOVE, 0, &place), -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, (u64)-1 - HUGE,
				   PINFOLD_MREMAP_MAYMOVE, 0, &place), -EINVAL);
	assert_int_equal(place, 0xdead);
	assert_pool(3, 3);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_valid(&t);

	/* Lengths are rounded up, so this keeps one page and drops three. */
	assert_int_equal(pf_mremap(t.mm, H(0), 4 * HUGE - PAGE_SIZE, PAGE_SIZE,
				   0, 0, &place), 0);
	assert_int_equal(place, H(0));
	assert_pool(3, 0);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_valid(&t);
	end();
}

/* ---- lack of memory --------------------------------------------------- */

/* Without tables it is a lack of memory, without a page a bus error. */
static void faults_say_what_is_missing(void **state)
{
	/* A try that fails leaves the tables that it got. */
	static const struct { long nth, answer; } tries[] = {
		{ 1, -ENOMEM }, { 2, -ENOMEM }, { 2, -EFAULT }, { 1, -EFAULT },
	};

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	for (unsigned int i = 0; i < ARRAY_SIZE(tries); i++) {
		current->fail_nth = tries[i].nth;
		assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE),
				 tries[i].answer);
		assert_int_equal(current->fail_nth, 0);
		assert_pool(1, 1);
		assert_valid(&t);
	}
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE), 1);
	unpin_user_pages(pages, 1);
	end();
}

/* A move that cannot be made leaves everything where it was. */
static void moves_without_tables(void **state)
{
	pf_addr_t place;
	long nth = 0;
	int ret;

	(void)state;
	begin(3);
	map_huge(H(0), 3, RW);
	write_word(&t, H(0), 1);
	write_word(&t, H(2), 3);
	do {
		place = 0xdead;
		current->fail_nth = ++nth;
		ret = pf_mremap(t.mm, H(0), 3 * HUGE, 3 * HUGE, TO, FAR,
				&place);
		if (ret) {
			assert_int_equal(ret, -ENOMEM);
			assert_int_equal(current->fail_nth, 0);
			assert_int_equal(place, 0xdead);
			assert_null(folio_at(FAR));
			assert_int_equal(read_word(&t, H(0)), 1);
			assert_int_equal(read_word(&t, H(2)), 3);
		}
		assert_pool(1, 1);
		assert_valid(&t);
	} while (ret);
	assert_true(current->fail_nth);
	current->fail_nth = 0;
	/* an area, and tables of two levels */
	assert_true(nth > 3);
	assert_int_equal(read_word(&t, FAR), 1);
	assert_int_equal(read_word(&t, FAR + 2 * HUGE), 3);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_aligned),
		cmocka_unit_test(locked_huge_pages_are_just_populated),
		cmocka_unit_test(cuts_are_between_pages),
		cmocka_unit_test(protection_changes_keep_pages),
		cmocka_unit_test(advice_for_thp_is_refused),
		cmocka_unit_test(moving_over_huge_pages),
		cmocka_unit_test(moves_that_cannot_be),
		cmocka_unit_test(faults_say_what_is_missing),
		cmocka_unit_test(moves_without_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
