/* SPDX-License-Identifier: MIT */
/*
 * What tests of hugetlb share: a machine with a pool of 2 MiB pages, which must
 * be whole again at the end.
 */
#ifndef TESTS_HUGETLB_TEST_H
#define TESTS_HUGETLB_TEST_H

#include "tests/mm_test.h"

#include "mm/hugetlb.h"

#define HUGE		((u64)PMD_SIZE)
#define GIGANTIC	((u64)PUD_SIZE)
#define H(n)		(BASE + (u64)(n) * HUGE)
#define HUGETLB		PINFOLD_MAP_HUGETLB
#define FAR		(BASE + ((u64)1 << 41))
#define TO		(PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED)

static struct mm_test t;
static struct page *pages[2 * HPAGE_PUD_NR + 1];
#define handles		((struct pf_page **)pages)

static inline struct hstate *pool(void)
{
	return &machine_of(t.machine)->hstates[HSTATE_2M];
}

static inline void begin(u64 huge_pages)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_2m_pages = huge_pages,
	});
	assert_int_equal(pool()->nr_huge_pages, huge_pages);
	assert_int_equal(pool()->free_huge_pages, huge_pages);
}

static inline void end(void)
{
	unsigned long huge_pages = pool()->nr_huge_pages;

	pf_mm_destroy(t.mm);
	assert_int_equal(pool()->free_huge_pages, huge_pages);
	assert_int_equal(pool()->resv_huge_pages, 0);
	assert_int_equal(pf_mm_create(t.machine, &t.mm), 0);
	mm_test_end(&t);
}

#define assert_pool(free, resv) do {					\
	assert_int_equal(pool()->free_huge_pages, (free));		\
	assert_int_equal(pool()->resv_huge_pages, (resv));		\
} while (0)

static inline void map_huge(pf_addr_t at, u64 nr, int prot)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t.mm, at, nr * HUGE, prot,
				 HUGETLB | PINFOLD_MAP_FIXED, &place), 0);
}

static inline long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static inline void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(machine_of(t.machine), &holds), 0);
}

static inline struct folio *folio_at(pf_addr_t at)
{
	struct page *page = page_mapped_at(&t, at);

	return page ? page_folio(page) : NULL;
}

#endif
