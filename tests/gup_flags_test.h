/* SPDX-License-Identifier: MIT */
/*
 * What tests of flags, entries and pins on ordinary areas share: calls on one
 * array, and areas and entries changed behind the engine's back.
 */
#ifndef TESTS_GUP_FLAGS_TEST_H
#define TESTS_GUP_FLAGS_TEST_H

#include "tests/mm_test.h"

#define P(n)		(BASE + PAGES(n))
#define MOST		2048

static struct mm_test t;
static struct machine *m;
static struct page *pages[MOST];
#define handles		((struct pf_page **)pages)

static inline void begin(unsigned long thp_orders)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_madvise = thp_orders,
	});
	m = machine_of(t.machine);
	current->mm = mm_of(t.mm);
	current->cpu = 1;
}

static inline void end(void)
{
	current->mm = NULL;
	mm_test_end(&t);
}

static inline long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static inline long get_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_get_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static inline void put_pages(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		put_page(pages[i]);
}

static inline void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(m, &holds), 0);
}

static inline void write_pages(u64 first, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		write_word(&t, P(first + i), first + i + 1);
	lru_add_drain_all(m);
}

/* An area of @nr pages that may have folios of the enabled orders. */
static inline void map_thp(u64 first, u64 nr)
{
	map_at(&t, P(first), nr, RW);
	assert_int_equal(pf_madvise(t.mm, P(first), PAGES(nr),
				    PINFOLD_MADV_HUGEPAGE), 0);
}

static inline struct folio *folio_at(u64 n)
{
	return page_folio(page_mapped_at(&t, P(n)));
}

static inline void set_entry(u64 n, pte_t entry)
{
	set_pte_at(mm_of(t.mm), P(n), pte_at(&t, P(n)), entry);
}

static inline void change_area(u64 n, vm_flags_t set, vm_flags_t clear)
{
	struct vm_area_struct *vma;

	mmap_write_lock(mm_of(t.mm));
	vma = vma_lookup(mm_of(t.mm), P(n));
	vma->vm_flags = (vma->vm_flags & ~clear) | set;
	mmap_write_unlock(mm_of(t.mm));
}

#endif
