/* SPDX-License-Identifier: MIT */
/*
 * Claim: after soft-dirty is cleared exactly the pages written since are
 * soft-dirty, by store or by a pin for writing; the pages themselves stay, so a
 * pin taken before or after sees every store; a small mapping of a pinned page
 * stays writable and keeps its mark.
 *
 * Source: semantics/gup.md 4.7, 9.1 (A13, A14), 9.6 (P8), 9.7, 10 (X16)
 */
#include "tests/fault_test.h"
#include "tests/random.h"

#include "mm/pagemap.h"

#include <errno.h>

#define NR	HPAGE_PMD_NR

static bool soft_dirty_at(u64 page)
{
	uint64_t entry;

	assert_int_equal(pf_pagemap(t.mm, AT + PAGES(page), 1, &entry), 0);
	return entry & PINFOLD_PM_SOFT_DIRTY;
}

static unsigned int count_soft_dirty(u64 nr)
{
	static uint64_t entries[2 * NR];
	unsigned int count = 0;

	assert_int_equal(pf_pagemap(t.mm, AT, nr, entries), 0);
	for (u64 i = 0; i < nr; i++)
		count += !!(entries[i] & PINFOLD_PM_SOFT_DIRTY);
	return count;
}

static void clear(void)
{
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_valid(&t);
}

static void begin(unsigned long orders, u64 pages)
{
	BEGIN(.thp_always = orders);
	map_at(&t, AT, pages, RW);
}

/* A new area is soft-dirty throughout, also where nothing is. */
static void test_new_area(void **state)
{
	(void)state;
	begin(0, 4);
	assert_int_equal(count_soft_dirty(4), 4);
	assert_int_equal(pf_madvise(t.mm, AT, PAGES(2),
				    PINFOLD_MADV_POPULATE_READ), 0);
	clear();
	assert_int_equal(count_soft_dirty(4), 0);
	write_word(&t, AT + PAGES(2), 5);
	assert_int_equal(count_soft_dirty(4), 1);
	assert_true(soft_dirty_at(2));
	/* moved is written, as far as whoever copies pages is concerned */
	clear();
	assert_int_equal(pf_mremap(t.mm, AT + PAGES(2), PAGE_SIZE, PAGE_SIZE,
				   PINFOLD_MREMAP_MAYMOVE |
				   PINFOLD_MREMAP_FIXED, AT + PAGES(9),
				   &(pf_addr_t){ 0 }), 0);
	assert_true(soft_dirty_at(9));
	mm_test_end(&t);
}

static void test_pagemap(void **state)
{
	uint64_t entries[3] = { 1, 1, 1 };

	(void)state;
	begin(0, 2);
	write_word(&t, AT, 5);
	assert_int_equal(pf_pagemap(t.mm, AT + 1, 1, entries), -EINVAL);
	assert_int_equal(pf_pagemap(t.mm, TASK_SIZE - PAGE_SIZE, 2, entries),
			 -EINVAL);
	assert_int_equal(pf_pagemap(t.mm, AT, 3, entries), 0);
	assert_int_equal(entries[0] & PINFOLD_PM_PFRAME_MASK,
			 page_to_pfn(page_mapped_at(&t, AT)));
	assert_true(entries[0] & PINFOLD_PM_PRESENT);
	assert_int_equal(entries[1], PINFOLD_PM_SOFT_DIRTY);
	assert_int_equal(entries[2], 0);
	set_entry(AT + PAGE_SIZE, pte_swp_mksoft_dirty(pte_swp_mkuffd_wp(
		  swp_entry_to_pte(swp_entry(3, 99)))));
	clear();
	assert_int_equal(pf_pagemap(t.mm, AT, 2, entries), 0);
	assert_int_equal(entries[1], PINFOLD_PM_SWAP | PINFOLD_PM_UFFD_WP |
			 3 | 99 << 5);
	mm_test_end(&t);
}

/* [gup_P8] */
static void test_gup_P8(void **state)
{
	(void)state;
	for (int huge = 0; huge < 2; huge++) {
		begin(huge ? BIT(HPAGE_PMD_ORDER) : 0, NR);
		clear();
		assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
					    PINFOLD_MADV_POPULATE_READ), 0);
		assert_int_equal(count_soft_dirty(NR), 0);
		assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
					    PINFOLD_MADV_POPULATE_WRITE), 0);
		assert_int_equal(count_soft_dirty(NR), NR);
		mm_test_end(&t);
	}
}

/* What is pinned after the way of @fast sees the stores that follow. */
static void pin_and_overwrite(u64 nr, bool fast, unsigned int flags)
{
	static struct pf_page *pages[NR];
	struct page *before[NR];

	for (u64 i = 0; i < nr; i++)
		before[i] = page_mapped_at(&t, AT + PAGES(i));
	assert_int_equal(fast ? pf_pin_user_pages_fast(t.mm, AT, nr, flags,
						       pages) :
			 pf_pin_user_pages_unlocked(t.mm, AT, nr, pages, flags),
			 nr);
	for (u64 i = 0; i < nr; i++) {
		void *bytes;

		write_word(&t, AT + PAGES(i), 5000 + i);
		assert_int_equal(pf_page_address(pages[i], &bytes), 0);
		assert_int_equal(*(u64 *)bytes, 5000 + i);
		assert_ptr_equal(page_of(pages[i]), before[i]);
	}
	pf_unpin_user_pages(pages, nr);
}

/* mprotect R, clear, mprotect RW: read-only, and exclusive. */
static void read_only_exclusive(u64 nr)
{
	assert_int_equal(pf_mprotect(t.mm, AT, PAGES(nr), PINFOLD_PROT_READ),
			 0);
	clear();
	assert_int_equal(pf_mprotect(t.mm, AT, PAGES(nr), RW), 0);
	for (u64 i = 0; i < nr; i++) {
		pmd_t leaf = leaf_at(&t, AT + PAGES(i));

		assert_false(pmd_none(leaf) ?
			     pte_write(entry_at(&t, AT + PAGES(i))) :
			     pmd_write(leaf));
	}
}

static void run_A13(unsigned long orders, u64 nr, bool fast)
{
	begin(orders, NR);
	for (u64 i = 0; i < nr; i++)
		write_word(&t, AT + PAGES(i), i + 1);
	read_only_exclusive(nr);
	pin_and_overwrite(nr, fast, PINFOLD_FOLL_LONGTERM);
	/* and again with the pins for writing, which make the entry so */
	read_only_exclusive(nr);
	pin_and_overwrite(nr, fast, PINFOLD_FOLL_LONGTERM |
			  PINFOLD_FOLL_WRITE);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_gup_A13_A14(void **state)
{
	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		run_A13(0, 1, fast);
		run_A13(BIT(4), 16, fast);
		run_A13(BIT(HPAGE_PMD_ORDER), NR, fast);
	}
}

/* [case_A12] a reference only: the page is reused all the same. */
static void test_case_A12(void **state)
{
	struct pf_page *page;
	void *bytes;

	(void)state;
	begin(0, 1);
	write_word(&t, AT, 'A');
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, AT, 1, &page, 0), 1);
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_false(pte_write(entry_at(&t, AT)));
	write_word(&t, AT, 'B');
	assert_ptr_equal(page_mapped_at(&t, AT), page_of(page));
	assert_int_equal(pf_page_address(page, &bytes), 0);
	assert_int_equal(*(u64 *)bytes, 'B');
	pf_put_page(page);
	mm_test_end(&t);
}

/* [gup_X16] pinned and mapped by a writable PTE: left out, mark and all. */
static void test_gup_X16(void **state)
{
	struct pf_page *pinned;
	pte_t before;

	(void)state;
	begin(0, 4);
	write_word(&t, AT, 1);
	write_word(&t, AT + PAGE_SIZE, 1);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &pinned,
						    PINFOLD_FOLL_WRITE), 1);
	before = entry_at(&t, AT);
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_true(pte_same(entry_at(&t, AT), before));
	assert_true(soft_dirty_at(0));
	assert_false(soft_dirty_at(1));
	assert_false(pte_write(entry_at(&t, AT + PAGE_SIZE)));
	/* a read-only entry has nothing to lose but the mark */
	assert_int_equal(pf_mprotect(t.mm, AT, PAGE_SIZE, PINFOLD_PROT_READ),
			 0);
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_false(soft_dirty_at(0));
	assert_int_equal(pf_mprotect(t.mm, AT, PAGE_SIZE, RW), 0);
	write_word(&t, AT, 2);
	assert_ptr_equal(page_mapped_at(&t, AT), page_of(pinned));
	pf_unpin_user_page(pinned);
	/* unpinned: as any other */
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_false(pte_write(entry_at(&t, AT)));
	mm_test_end(&t);
}

/* A PMD leaf has no exemption: read-only, and reused by the next store. */
static void test_pinned_leaf(void **state)
{
	struct pf_page *pinned;
	void *bytes;

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER), NR);
	write_word(&t, AT, 1);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT + PAGES(7), 1,
						    &pinned,
						    PINFOLD_FOLL_WRITE), 1);
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_false(pmd_write(leaf_at(&t, AT)));
	assert_int_equal(count_soft_dirty(NR), 0);
	write_word(&t, AT + PAGES(7), 77);
	assert_true(pmd_write(leaf_at(&t, AT)));
	assert_int_equal(count_soft_dirty(NR), NR);
	assert_int_equal(pf_page_address(pinned, &bytes), 0);
	assert_int_equal(*(u64 *)bytes, 77);
	pf_unpin_user_page(pinned);
	mm_test_end(&t);
}

/* [gup_M1] dirty is not writable: FOLL_FORCE needs a fault after a clear. */
static void test_force(void **state)
{
	u64 word = 9;

	(void)state;
	begin(0, 1);
	write_word(&t, AT, 1);
	assert_int_equal(pf_mprotect(t.mm, AT, PAGE_SIZE, PINFOLD_PROT_READ),
			 0);
	clear();
	assert_int_equal(pf_access_remote(t.mm, AT, &word, 8,
					  PINFOLD_FOLL_WRITE |
					  PINFOLD_FOLL_FORCE), 8);
	assert_true(soft_dirty_at(0));
	assert_false(pte_write(entry_at(&t, AT)));
	assert_int_equal(pf_write(t.mm, AT, &word, 8), -EFAULT);
	assert_int_equal(read_word(&t, AT), 9);
	mm_test_end(&t);
}

/* ---- at random, against a set ---------------------------------------- */

struct model {
	u64 words[NR];
	bool dirty[NR];
};

static void random_step(struct random *r, struct model *m)
{
	unsigned int page = random_below(r, NR);
	struct pf_page *pinned;
	u64 at = AT + PAGES(page);

	switch (random_below(r, 6)) {
	case 0:
		clear();
		memset(m->dirty, 0, sizeof(m->dirty));
		break;
	case 1:
		assert_int_equal(pf_mprotect(t.mm, AT, PMD_SIZE,
					     PINFOLD_PROT_READ), 0);
		assert_int_equal(pf_mprotect(t.mm, AT, PMD_SIZE, RW), 0);
		break;
	case 2:
		assert_int_equal(read_word(&t, at), m->words[page]);
		break;
	case 3:
		assert_int_equal(pf_pin_user_pages_fast(t.mm, at, 1,
						PINFOLD_FOLL_WRITE, &pinned),
				 1);
		pf_unpin_user_page(pinned);
		m->dirty[page] = true;
		break;
	default:
		write_word(&t, at, ++m->words[page]);
		m->dirty[page] = true;
		break;
	}
}

static void test_random(void **state)
{
	static struct model m;
	struct random r;

	(void)state;
	random_init(&r);
	for (int round = 0; round < 6; round++) {
		memset(&m, 0, sizeof(m));
		begin(round & 1 ? BIT(3) : 0, NR);
		assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
					    PINFOLD_MADV_POPULATE_WRITE), 0);
		clear();
		for (int step = 0; step < 300; step++)
			random_step(&r, &m);
		for (unsigned int i = 0; i < NR; i++) {
			assert_int_equal(soft_dirty_at(i), m.dirty[i]);
			assert_int_equal(read_word(&t, AT + PAGES(i)),
					 m.words[i]);
		}
		mm_test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_area),
		cmocka_unit_test(test_pagemap),
		cmocka_unit_test(test_gup_P8),
		cmocka_unit_test(test_gup_A13_A14),
		cmocka_unit_test(test_case_A12),
		cmocka_unit_test(test_gup_X16),
		cmocka_unit_test(test_pinned_leaf),
		cmocka_unit_test(test_force),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
