/* SPDX-License-Identifier: MIT */
/*
 * Claim: the leaf of a huge page says what was done through it: it is young
 * after a fault for reading or writing, dirty and soft-dirty after one for
 * writing only, as it was after one that just makes the page exclusive; and
 * what it says goes along when it moves.
 *
 * Faults are called for by themselves: a walk behind them would mark the leaf,
 * too.
 * Source: mm/hugetlb.c: hugetlb_fault(), hugetlb_wp(), make_huge_pte()
 */
#include "tests/hugetlb_test.h"

#define WRITE		FAULT_FLAG_WRITE
#define UNSHARE		FAULT_FLAG_UNSHARE
#define USED		(_PAGE_ACCESSED | _PAGE_DIRTY | _PAGE_SOFT_DIRTY)
#define BITS		(USED | _PAGE_RW)

static void fault(pf_addr_t at, unsigned int flags)
{
	struct mm_struct *mm = mm_of(t.mm);

	mmap_read_lock(mm);
	assert_int_equal(handle_mm_fault(vma_lookup(mm, at), at, flags, NULL),
			 0);
	mmap_read_unlock(mm);
}

/* The leaf as it is, but for BITS. */
static void set_bits(pf_addr_t at, u64 bits)
{
	pmd_t leaf = leaf_at(&t, at);

	assert_false(pmd_none(leaf));
	set_pmd_at(mm_of(t.mm), at, mm_find_pmd(mm_of(t.mm), at),
		   __pmd((pmd_val(leaf) & ~BITS) | bits));
}

static u64 bits_at(pf_addr_t at)
{
	return pmd_val(leaf_at(&t, at)) & BITS;
}

static void a_new_leaf(void **state)
{
	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	fault(H(0), WRITE);
	assert_int_equal(bits_at(H(0)), BITS);
	fault(H(1), 0);
	assert_int_equal(bits_at(H(1)), _PAGE_ACCESSED);
	end();
}

/* The leaf allows what is wanted, so it is only marked. */
static void a_leaf_that_is_there(void **state)
{
	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	fault(H(0), WRITE);
	set_bits(H(0), _PAGE_RW);
	fault(H(0), 0);
	assert_int_equal(bits_at(H(0)), _PAGE_RW | _PAGE_ACCESSED);
	set_bits(H(0), _PAGE_RW);
	fault(H(0), UNSHARE);
	assert_int_equal(bits_at(H(0)), _PAGE_RW | _PAGE_ACCESSED);
	set_bits(H(0), _PAGE_RW);
	fault(H(0), WRITE);
	assert_int_equal(bits_at(H(0)), BITS);
	set_bits(H(0), 0);
	fault(H(0), 0);
	assert_int_equal(bits_at(H(0)), _PAGE_ACCESSED);
	end();
}

/* Read-only, and the page is this mapping's already, or becomes so. */
static void a_page_that_is_reused(void **state)
{
	struct page *head;

	(void)state;
	/* one more, so that no copy is for want of a page */
	begin(2);
	map_huge(H(0), 1, RW);
	fault(H(0), WRITE);
	head = &folio_at(H(0))->page;
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		set_bits(H(0), 0);
		if (!exclusive)
			ClearPageAnonExclusive(head);
		fault(H(0), WRITE);
		assert_int_equal(bits_at(H(0)), BITS);
		assert_true(PageAnonExclusive(head));
		/* exclusive, and no more than that */
		set_bits(H(0), 0);
		if (!exclusive)
			ClearPageAnonExclusive(head);
		fault(H(0), UNSHARE);
		assert_int_equal(bits_at(H(0)), 0);
		assert_true(PageAnonExclusive(head));
		assert_ptr_equal(&folio_at(H(0))->page, head);
		assert_valid(&t);
	}
	end();
}

static void a_leaf_that_moves(void **state)
{
	static const u64 before[] = { 0, _PAGE_ACCESSED,
		_PAGE_RW | _PAGE_ACCESSED | _PAGE_DIRTY, _PAGE_SOFT_DIRTY };
	pf_addr_t place;

	(void)state;
	begin(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(before); i++) {
		map_huge(H(0), 1, RW);
		fault(H(0), WRITE);
		set_bits(H(0), before[i]);
		assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE, TO, FAR,
					   &place), 0);
		assert_int_equal(bits_at(FAR), before[i] | _PAGE_SOFT_DIRTY);
		assert_int_equal(pf_munmap(t.mm, FAR, HUGE), 0);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_leaf),
		cmocka_unit_test(a_leaf_that_is_there),
		cmocka_unit_test(a_page_that_is_reused),
		cmocka_unit_test(a_leaf_that_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
