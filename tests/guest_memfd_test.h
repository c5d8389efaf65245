/* SPDX-License-Identifier: MIT */
/*
 * What tests of guest_memfd share: a machine with one object, which must leave
 * nothing behind.
 */
#ifndef TESTS_GUEST_MEMFD_TEST_H
#define TESTS_GUEST_MEMFD_TEST_H

#include "tests/mm_test.h"

#include "mm/guest_memfd.h"

#include <errno.h>

static struct mm_test t;
static struct guest_memfd *gmem;

static inline struct machine *the_machine(void)
{
	return machine_of(t.machine);
}

static inline void gmem_begin(u64 pages, unsigned int order)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16) });
	assert_int_equal(guest_memfd_create(PAGES(pages), order, &gmem), 0);
}

static inline void gmem_end(void)
{
	assert_valid(&t);
	guest_memfd_destroy(gmem);
	mm_test_end(&t);
}

/* What the index has there; the object is quiet. */
static inline struct folio *folio_at(pgoff_t index)
{
	return xa_load(&gmem->mapping.i_pages, index);
}

static inline bool prepared(pgoff_t index)
{
	return folio_at(index) && folio_test_uptodate(folio_at(index));
}

/* get_page() - prepared; the caller puts it */
static inline struct page *gmem_page(pgoff_t index)
{
	struct page *page;

	assert_int_equal(guest_memfd_get_pfn(gmem, index, &page), 0);
	return page;
}

/* A word that tells the page and the seed. */
static inline u64 word_of(pgoff_t index, u64 seed)
{
	return (index + 1) * 0x9e3779b97f4a7c15UL ^ seed;
}

static inline void make_page(void *to, pgoff_t index, u64 seed)
{
	u64 *words = to;

	for (unsigned int i = 0; i < PAGE_SIZE / sizeof(u64); i++)
		words[i] = word_of(index, seed) + i;
}

static inline bool page_is(const void *bytes, pgoff_t index, u64 seed)
{
	const u64 *words = bytes;

	for (unsigned int i = 0; i < PAGE_SIZE / sizeof(u64); i++)
		if (words[i] != word_of(index, seed) + i)
			return false;
	return true;
}

static inline bool page_is_zero(const void *bytes)
{
	const u64 *words = bytes;

	for (unsigned int i = 0; i < PAGE_SIZE / sizeof(u64); i++)
		if (words[i])
			return false;
	return true;
}

/* What an embedder reads at @index: @index's page of @seed, or zero. */
static inline void assert_page(pgoff_t index, u64 seed)
{
	static u64 bytes[PAGE_SIZE / sizeof(u64)];

	assert_int_equal(guest_memfd_read(gmem, PAGES(index), bytes, PAGE_SIZE),
			 PAGE_SIZE);
	assert_true(page_is(bytes, index, seed));
}

static inline void assert_zero(pgoff_t index)
{
	static u64 bytes[PAGE_SIZE / sizeof(u64)];

	assert_int_equal(guest_memfd_read(gmem, PAGES(index), bytes, PAGE_SIZE),
			 PAGE_SIZE);
	assert_true(page_is_zero(bytes));
}

#endif
