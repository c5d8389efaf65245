/* SPDX-License-Identifier: MIT */
/*
 * Claim: collapse and split keep to what fork shared: who collapses gets a huge
 * page of its own and the relatives keep their pages and bytes; a folio is split
 * for all that map it, or for none; a pin of one relative keeps both from
 * happening to it.
 *
 * Source: semantics/gup.md 4.4 (E3, E4, E7), 9.3 (C1 ... C4), 9.9 (H4, H5), 9.10,
 * 9.11 (O3, O4), 10 (X6, X14)
 */
#include "tests/fault_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <errno.h>

#define NR	HPAGE_PMD_NR

static struct pf_mm *child;

static void begin(unsigned long orders, u64 pages)
{
	BEGIN(.memory_bytes = MIB(32), .thp_always = orders);
	map_at(&t, AT, pages, RW);
	for (u64 i = 0; i < pages; i++)
		write_word(&t, AT + PAGES(i), i + 1);
}

static void do_fork(void)
{
	assert_int_equal(pf_mm_fork(t.mm, &child), 0);
}

static void end(void)
{
	pf_mm_destroy(child);
	mm_test_end(&t);
}

static void write_in(struct pf_mm *mm, u64 page, u64 word)
{
	assert_int_equal(pf_write(mm, AT + PAGES(page), &word, 8), 8);
}

static u64 read_in(struct pf_mm *mm, u64 page)
{
	u64 word = 0;

	assert_int_equal(pf_read(mm, AT + PAGES(page), &word, 8), 8);
	return word;
}

static void check_in(struct pf_mm *mm, u64 pages)
{
	for (u64 i = 0; i < pages; i++)
		assert_int_equal(read_in(mm, i), i + 1);
}

static bool huge_in(struct pf_mm *mm)
{
	pmd_t *pmd = mm_find_pmd(mm_of(mm), AT);

	return pmd && pmd_leaf(pmdp_get(pmd));
}

static int collapse_in(struct pf_mm *mm)
{
	return pf_madvise(mm, AT, PMD_SIZE, PINFOLD_MADV_COLLAPSE);
}

/* A small page shared with the parent, collapse in the child. */
static void test_gup_H4(void **state)
{
	struct page *parents;

	(void)state;
	begin(0, 1);
	map_at(&t, AT + PAGE_SIZE, NR - 1, RW);
	parents = page_mapped_at(&t, AT);
	do_fork();
	write_in(child, 1, 2);		/* one that is its own, and writable */
	assert_int_equal(collapse_in(child), 0);
	assert_true(huge_in(child));
	assert_false(huge_in(t.mm));
	assert_valid(&t);
	assert_int_equal(read_in(child, 0), 1);
	write_in(child, 0, 50);
	assert_int_equal(read_word(&t, AT), 1);
	assert_ptr_equal(page_mapped_at(&t, AT), parents);
	write_word(&t, AT, 60);
	assert_ptr_equal(page_mapped_at(&t, AT), parents);
	assert_int_equal(read_in(child, 0), 50);
	assert_valid(&t);
	end();
}

/* A huge page shared, mapped by PTEs and partly copied in the child. */
static void test_gup_H5(void **state)
{
	(void)state;
	begin(BIT(HPAGE_PMD_ORDER), NR);
	do_fork();
	for (u64 i = 0; i < 100; i++)
		write_in(child, i, i + 1);
	assert_false(huge_in(child));
	assert_int_equal(collapse_in(child), 0);
	assert_true(huge_in(child) && huge_in(t.mm));
	assert_valid(&t);
	check_in(child, NR);
	check_in(t.mm, NR);
	write_in(child, 300, 7);
	assert_int_equal(read_word(&t, AT + PAGES(300)), 301);
	write_word(&t, AT + PAGES(301), 8);
	assert_int_equal(read_in(child, 301), 302);
	assert_valid(&t);
	end();
}

/* All shared and read-only: not worth it, as in Linux; one store, and it is. */
static void test_gup_C2(void **state)
{
	(void)state;
	begin(0, NR);
	do_fork();
	assert_int_equal(collapse_in(t.mm), -EINVAL);
	write_word(&t, AT, 1);
	assert_int_equal(collapse_in(t.mm), 0);
	for (u64 i = 0; i < NR; i++)
		write_word(&t, AT + PAGES(i), 5000 + i);
	check_in(child, NR);
	assert_valid(&t);
	end();
}

/* One half stays out of the fork; the child checks the other. */
static void half_shared(u64 kept, u64 shared)
{
	begin(BIT(HPAGE_PMD_ORDER), NR);
	/* mapped by PTEs, as in Linux's test */
	assert_int_equal(pf_mprotect(t.mm, AT + PAGE_SIZE, PAGE_SIZE,
				     PINFOLD_PROT_READ), 0);
	assert_int_equal(pf_mprotect(t.mm, AT + PAGE_SIZE, PAGE_SIZE, RW), 0);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(kept), PAGES(NR / 2),
				    PINFOLD_MADV_DONTFORK), 0);
	do_fork();
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(kept), PAGES(NR / 2),
				    PINFOLD_MADV_DOFORK), 0);
	assert_false(huge_in(t.mm));
	assert_int_equal(collapse_in(t.mm), 0);
	assert_true(huge_in(t.mm));
	for (u64 i = 0; i < NR; i++)
		write_word(&t, AT + PAGES(i), 5000 + i);
	for (u64 i = shared; i < shared + NR / 2; i++)
		assert_int_equal(read_in(child, i), i + 1);
	assert_valid(&t);
	end();
}

static void test_gup_C3(void **state)
{
	(void)state;
	half_shared(NR / 2, 0);
}

static void test_gup_C4(void **state)
{
	(void)state;
	half_shared(0, NR / 2);
}

/* max_ptes_shared, with real relatives: exactly at the limit is fine. */
static void test_gup_H2_shared(void **state)
{
	struct pf_collapse_limits l = {
		.size = sizeof(l), .max_ptes_none = 511, .max_ptes_shared = 99,
	};

	(void)state;
	begin(0, NR);
	do_fork();
	for (u64 i = 100; i < NR; i++)
		write_in(child, i, i + 1);
	WRITE_ONCE(the_machine()->thp_always, BIT(HPAGE_PMD_ORDER));
	assert_int_equal(pf_machine_collapse_scan(t.machine, &l), 0);
	l.max_ptes_shared = 100;
	assert_int_equal(pf_machine_collapse_scan(t.machine, &l), 1);
	assert_true(huge_in(child));
	check_in(child, NR);
	check_in(t.mm, NR);
	assert_valid(&t);
	end();
}

/* The child holds a page that it shares: the parent cannot collapse it. */
static void test_gup_H8(void **state)
{
	struct pf_page *page;

	(void)state;
	begin(0, NR);
	do_fork();
	assert_int_equal(pf_get_user_pages_unlocked(child, AT, 1, &page, 0), 1);
	write_word(&t, AT + PAGES(9), 10);
	assert_int_equal(collapse_in(t.mm), -EAGAIN);
	pf_put_page(page);
	assert_int_equal(collapse_in(t.mm), 0);
	check_in(t.mm, NR);
	check_in(child, NR);
	end();
}

/* One folio, two address spaces, leaf in one and PTEs in the other. */
static void run_split(unsigned int order)
{
	struct pf_page *pin;

	begin(BIT(HPAGE_PMD_ORDER), NR);
	do_fork();
	write_in(child, 5, 6);
	assert_true(huge_in(t.mm) && !huge_in(child));
	/* a reference of one is in the way of both */
	assert_int_equal(pf_get_user_pages_unlocked(child, AT + PAGES(7), 1,
						    &pin, 0), 1);
	assert_int_equal(pf_split(t.mm, AT, PMD_SIZE, order), -EAGAIN);
	pf_put_page(pin);
	assert_int_equal(pf_split(t.mm, AT, PMD_SIZE, order), 1);
	assert_valid(&t);
	assert_int_equal(pf_split(child, AT, PMD_SIZE, order), 0);
	for (u64 i = 0; i < NR; i++) {
		struct page *page = page_mapped_at(&t, AT + PAGES(i));

		assert_int_equal(folio_order(page_folio(page)), order);
		assert_false(PageAnonExclusive(page));
	}
	check_in(t.mm, NR);
	check_in(child, NR);
	write_word(&t, AT, 99);
	assert_int_equal(read_in(child, 0), 1);
	write_in(child, 1, 98);
	assert_int_equal(read_word(&t, AT + PAGE_SIZE), 2);
	assert_valid(&t);
	end();
}

static void test_split_shared(void **state)
{
	(void)state;
	run_split(0);
	run_split(4);
}

/* Zeroes that are shared give way in both. */
static void test_split_zeroes(void **state)
{
	(void)state;
	BEGIN(.memory_bytes = MIB(32), .thp_always = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, NR, RW);
	write_word(&t, AT, 1);
	do_fork();
	assert_int_equal(pf_split(child, AT, PMD_SIZE, 0), 1);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 1);
	assert_int_equal(atomic64_read(&mm_of(child)->rss_pages), 1);
	assert_true(pte_special(entry_at(&t, AT + PAGE_SIZE)));
	assert_int_equal(read_in(child, 0), 1);
	assert_valid(&t);
	end();
}

static void no_handler(void *arg, pf_addr_t address)
{
	(void)arg;
	(void)address;
}

/* [gup_O3] [gup_O4] the child is not served, and its entries not marked. */
static void test_gup_O3_O4(void **state)
{
	struct pf_page *pin;
	uint64_t entry;

	(void)state;
	for (int first = 0; first < 2; first++) {
		begin(0, 1);
		assert_int_equal(pf_userfault_register(t.mm, AT, PAGE_SIZE,
						       no_handler, NULL), 0);
		assert_int_equal(pf_userfault_writeprotect(t.mm, AT, PAGE_SIZE,
							   true), 0);
		if (first)
			assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT,
					 1, &pin, PINFOLD_FOLL_LONGTERM), 1);
		do_fork();
		if (!first)
			assert_int_equal(pf_pin_user_pages_unlocked(child, AT,
					 1, &pin, PINFOLD_FOLL_LONGTERM), 1);
		assert_int_equal(pf_pagemap(child, AT, 1, &entry), 0);
		assert_false(entry & PINFOLD_PM_UFFD_WP);
		assert_int_equal(pf_pagemap(t.mm, AT, 1, &entry), 0);
		assert_true(entry & PINFOLD_PM_UFFD_WP);
		write_in(child, 0, 5);
		assert_int_equal(read_word(&t, AT), 1);
		pf_unpin_user_page(pin);
		assert_valid(&t);
		end();
	}
}

/* ---- threads: two relatives, each checks its own bytes --------------- */

struct worker {
	struct random random;
	struct pf_mm *mm;
	u64 until, done;
	long wrong;
	u64 words[NR];
	struct backend_thread *thread;
};

static atomic64_t collapsed, split;

static void step(struct worker *w)
{
	u64 page = random_below(&w->random, NR), word = w->words[page] + 1;
	struct pf_page *pin;
	void *bytes;
	int64_t ret;

	switch (random_below(&w->random, 8)) {
	case 0:
		ret = collapse_in(w->mm);
		if (ret && ret != -EAGAIN && ret != -EINVAL && ret != -ENOMEM)
			w->wrong = ret;
		atomic64_add(!ret, &collapsed);
		break;
	case 1:
		ret = pf_split(w->mm, AT, PMD_SIZE, page & 1 ? 0 : 4);
		if (ret < 0 && ret != -EAGAIN)
			w->wrong = ret;
		atomic64_add(ret > 0, &split);
		break;
	case 2:
		w->wrong |= pf_clear_soft_dirty(w->mm);
		break;
	case 3:
		w->wrong |= pf_numa_hint(w->mm, AT, PMD_SIZE) < 0;
		break;
	case 4:
		if (pf_pin_user_pages_fast(w->mm, AT + PAGES(page), 1,
					   page & 1 ? PINFOLD_FOLL_WRITE : 0,
					   &pin) != 1)
			break;
		w->wrong |= pf_page_address(pin, &bytes) ||
			    *(u64 *)bytes != w->words[page];
		ret = pf_write(w->mm, AT + PAGES(page), &word, 8);
		if (ret == 8)
			w->words[page] = word;
		w->wrong |= *(u64 *)bytes != w->words[page];
		pf_unpin_user_page(pin);
		break;
	case 5:
		if (pf_read(w->mm, AT + PAGES(page), &word, 8) == 8)
			w->wrong |= word != w->words[page];
		break;
	default:
		if (pf_write(w->mm, AT + PAGES(page), &word, 8) == 8)
			w->words[page] = word;
		break;
	}
	w->done++;
}

/* It also forks, and what the child has is what it had at that moment. */
static void fork_and_check(struct worker *w)
{
	struct pf_mm *mm;

	if (pf_mm_fork(w->mm, &mm))
		return;
	for (unsigned int i = 0; i < 40; i++)
		step(w);
	for (unsigned int i = 0; i < 3; i++)
		(void)!pf_split(mm, AT, PMD_SIZE, 0);
	pf_mm_destroy(mm);
}

static void run_worker(void *arg)
{
	struct worker *w = arg;

	while (!w->wrong && clock_ns() < w->until) {
		for (unsigned int i = 0; i < 20; i++)
			step(w);
		fork_and_check(w);
	}
}

static void test_threads(void **state)
{
	static struct worker w[2];
	struct random seed;

	(void)state;
	random_init(&seed);
	begin(BIT(HPAGE_PMD_ORDER), NR);
	do_fork();
	for (unsigned int i = 0; i < 2; i++) {
		w[i].mm = i ? child : t.mm;
		w[i].random.state = random_next(&seed);
		w[i].until = clock_ns() + 1200000000;
		for (u64 k = 0; k < NR; k++)
			w[i].words[k] = k + 1;
		assert_int_equal(backend_thread_create(&w[i].thread, run_worker,
						       &w[i]), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		backend_thread_join(w[i].thread);
		assert_int_equal(w[i].wrong, 0);
		assert_true(w[i].done > 0);
		for (u64 k = 0; k < NR; k++)
			assert_int_equal(read_in(w[i].mm, k), w[i].words[k]);
	}
	assert_true(atomic64_read(&collapsed) > 0);
	assert_true(atomic64_read(&split) > 0);
	assert_valid(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gup_H4),
		cmocka_unit_test(test_gup_H5),
		cmocka_unit_test(test_gup_C2),
		cmocka_unit_test(test_gup_C3),
		cmocka_unit_test(test_gup_C4),
		cmocka_unit_test(test_gup_H2_shared),
		cmocka_unit_test(test_gup_H8),
		cmocka_unit_test(test_split_shared),
		cmocka_unit_test(test_split_zeroes),
		cmocka_unit_test(test_gup_O3_O4),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
