/* SPDX-License-Identifier: MIT */
/*
 * Claim: a NUMA hint takes the access away from an entry and nothing else; the
 * next fault gives it back with the permissions the area has; gets and pins look
 * through it unless asked to honour it, or for writing, or fast; pinned pages
 * mapped by small entries are left alone.
 *
 * Source: semantics/gup.md 3.8, 4.7, 6.2 (F1); cases.md D10
 */
#include "tests/fault_test.h"

#include "host/backend.h"
#include "mm/numa.h"

#include <errno.h>

#define NR	HPAGE_PMD_NR

static void begin(unsigned long orders)
{
	BEGIN(.thp_always = orders);
	map_at(&t, AT, NR, RW);
	for (u64 i = 0; i < NR; i++)
		write_word(&t, AT + PAGES(i), i + 1);
}

static int64_t hint(u64 page, u64 nr)
{
	return pf_numa_hint(t.mm, AT + PAGES(page), PAGES(nr));
}

static void test_mark_and_restore(void **state)
{
	struct page *page;

	(void)state;
	begin(0);
	page = page_mapped_at(&t, AT);
	assert_int_equal(hint(0, 8), 8);
	assert_int_equal(hint(0, 8), 0);	/* not twice */
	assert_true(pte_protnone(entry_at(&t, AT)));
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_true(pte_dirty(entry_at(&t, AT)));
	assert_true(pte_soft_dirty(entry_at(&t, AT)));
	assert_valid(&t);
	write_word(&t, AT, 70);
	assert_true(pte_write(entry_at(&t, AT)));
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	/* a read gives an exclusive page its write permission back, too */
	fault(AT + PAGE_SIZE, 0);
	assert_true(pte_write(entry_at(&t, AT + PAGE_SIZE)));
	assert_int_equal(read_word(&t, AT + PAGE_SIZE), 2);
	/* a shared one not */
	ClearPageAnonExclusive(page_mapped_at(&t, AT + PAGES(2)));
	fault(AT + PAGES(2), 0);
	assert_false(pte_write(entry_at(&t, AT + PAGES(2))));
	mm_test_end(&t);
}

static void test_huge(void **state)
{
	(void)state;
	begin(BIT(HPAGE_PMD_ORDER));
	assert_int_equal(hint(0, NR), NR);
	assert_true(pmd_protnone(leaf_at(&t, AT)));
	assert_valid(&t);
	write_word(&t, AT + PAGES(5), 6);
	assert_true(pmd_write(leaf_at(&t, AT)));
	/* a part of one is marked by itself */
	assert_int_equal(hint(10, 3), 3);
	assert_true(pmd_none(leaf_at(&t, AT)));
	assert_true(pte_protnone(entry_at(&t, AT + PAGES(12))));
	assert_false(pte_protnone(entry_at(&t, AT + PAGES(13))));
	for (u64 i = 0; i < NR; i++)
		assert_int_equal(read_word(&t, AT + PAGES(i)), i + 1);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_left_out(void **state)
{
	struct pf_page *pinned;

	(void)state;
	begin(0);
	assert_int_equal(pf_numa_hint(t.mm, AT + 1, PAGE_SIZE), -EINVAL);
	assert_int_equal(pf_numa_hint(t.mm, TASK_SIZE, PAGE_SIZE), -EINVAL);
	/* pinned; shared; zero; empty; without access; nothing */
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &pinned, 0),
			 1);
	atomic_inc(&page_folio(page_mapped_at(&t, AT + PAGE_SIZE))->_mapcount);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(2), PAGES(2),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(read_word(&t, AT + PAGES(2)), 0);
	assert_int_equal(pf_mprotect(t.mm, AT + PAGES(4), PAGE_SIZE, 0), 0);
	assert_int_equal(pf_munmap(t.mm, AT + PAGES(5), PAGE_SIZE), 0);
	assert_int_equal(hint(0, 7), 1);
	assert_false(pte_protnone(entry_at(&t, AT)));
	assert_false(pte_protnone(entry_at(&t, AT + PAGE_SIZE)));
	assert_false(pte_protnone(entry_at(&t, AT + PAGES(2))));
	assert_true(pte_protnone(entry_at(&t, AT + PAGES(6))));
	atomic_dec(&page_folio(page_mapped_at(&t, AT + PAGE_SIZE))->_mapcount);
	pf_unpin_user_page(pinned);
	assert_int_equal(hint(0, 2), 2);
	mm_test_end(&t);
}

/* [gup_3.8] */
static void run_pins(unsigned long orders)
{
	const unsigned int honour = PINFOLD_FOLL_HONOR_NUMA_FAULT;
	struct pf_page *page;

	begin(orders);
	assert_int_equal(hint(0, NR), NR);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, AT, 1, 0, &page), 0);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &page, 0), 1);
	assert_ptr_equal(page_mapped_at(&t, AT), page_of(page));
	pf_unpin_user_page(page);
	assert_true(pte_protnone(entry_at(&t, AT)) ||
		    pmd_protnone(leaf_at(&t, AT)));
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &page,
						    honour |
						    PINFOLD_FOLL_NOFAULT),
			 -EFAULT);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &page,
						    PINFOLD_FOLL_WRITE |
						    PINFOLD_FOLL_NOFAULT),
			 -EFAULT);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &page, honour),
			 1);
	assert_false(pte_protnone(entry_at(&t, AT)));
	assert_false(pmd_protnone(leaf_at(&t, AT)));
	pf_unpin_user_page(page);
	/* fast: by way of the fault */
	assert_true(hint(0, NR) > 0);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, AT, 1,
						PINFOLD_FOLL_WRITE, &page), 1);
	assert_false(pte_protnone(entry_at(&t, AT)));
	assert_false(pmd_protnone(leaf_at(&t, AT)));
	pf_unpin_user_page(page);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_pins(void **state)
{
	(void)state;
	run_pins(0);
	run_pins(BIT(4));
	run_pins(BIT(HPAGE_PMD_ORDER));
}

/* [case_D10] marking never makes an entry look empty to who drops pages. */
struct marker {
	bool stop;
	struct backend_thread *thread;
};

static void keep_marking(void *arg)
{
	struct marker *m = arg;

	while (!READ_ONCE(m->stop))
		BUG_ON(pf_numa_hint(t.mm, AT, PMD_SIZE) < 0);
}

static void test_case_D10(void **state)
{
	struct marker m = { 0 };

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER));
	assert_int_equal(backend_thread_create(&m.thread, keep_marking, &m), 0);
	for (int i = 0; i < 300; i++) {
		write_word(&t, AT + PAGES(9), 10);
		assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
					    PINFOLD_MADV_DONTNEED), 0);
		assert_int_equal(read_word(&t, AT + PAGES(9)), 0);
	}
	WRITE_ONCE(m.stop, true);
	backend_thread_join(m.thread);
	assert_valid(&t);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mark_and_restore),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_pins),
		cmocka_unit_test(test_case_D10),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
