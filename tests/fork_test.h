/* SPDX-License-Identifier: MIT */
/*
 * What tests of fork share: children as address spaces of their own, and what a
 * test holds of pages.
 */
#ifndef TESTS_FORK_TEST_H
#define TESTS_FORK_TEST_H

#include "tests/mm_test.h"

#include "mm/hugetlb.h"

#include <errno.h>

/* fork_of() - a child, to be used like the test's own address space */
static inline struct mm_test fork_of(struct mm_test *parent)
{
	struct mm_test child = { .machine = parent->machine };

	assert_int_equal(pf_mm_fork(parent->mm, &child.mm), 0);
	return child;
}

static inline void exit_of(struct mm_test *child)
{
	pf_mm_destroy(child->mm);
	child->mm = NULL;
}

static inline struct page *page_pinned_at(struct mm_test *t, pf_addr_t at,
					  unsigned int flags)
{
	struct page *page = NULL;

	assert_int_equal(pf_pin_user_pages_unlocked(t->mm, at, 1,
						    (struct pf_page **)&page,
						    flags), 1);
	return page;
}

static inline struct page *page_got_at(struct mm_test *t, pf_addr_t at,
				       unsigned int flags)
{
	struct page *page = NULL;

	assert_int_equal(pf_get_user_pages_unlocked(t->mm, at, 1,
						    (struct pf_page **)&page,
						    flags), 1);
	return page;
}

/* The first word of a page that is held, as a device would see it. */
static inline u64 device_read(struct page *page)
{
	return *(u64 *)page_address(page);
}

static inline void device_write(struct page *page, u64 word)
{
	*(u64 *)page_address(page) = word;
}

static inline bool exclusive_at(struct mm_test *t, pf_addr_t at)
{
	struct page *page = page_mapped_at(t, at);
	bool leaf = !pmd_none(leaf_at(t, at));

	return PageAnonExclusive(leaf ? &page_folio(page)->page : page);
}

static inline bool writable_at(struct mm_test *t, pf_addr_t at)
{
	pmd_t leaf = leaf_at(t, at);

	return pmd_none(leaf) ? pte_write(entry_at(t, at)) : pmd_write(leaf);
}

/* assert_pinned() - all counts are right, with one pin on each of @pins */
static inline void assert_pinned(struct mm_test *t, struct page **pins,
				 unsigned long nr)
{
	struct mm_holds holds = { .pins = pins, .nr_pins = nr };

	assert_int_equal(mm_validate(machine_of(t->machine), &holds), 0);
}

static inline void advise(struct mm_test *t, pf_addr_t at, u64 bytes,
			  int advice)
{
	assert_int_equal(pf_madvise(t->mm, at, bytes, advice), 0);
}

#endif
