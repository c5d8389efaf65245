/* SPDX-License-Identifier: MIT */
/*
 * What tests of reclaim share.
 */
#ifndef TESTS_RECLAIM_TEST_H
#define TESTS_RECLAIM_TEST_H

#include "tests/filemap_test.h"

#include "mm/vmscan.h"

#define CACHE_GFP	GFP_HIGHUSER_MOVABLE

/* Everything that can go, goes. */
static inline unsigned long reclaim_all(void)
{
	unsigned long all = 0, nr;

	while ((nr = try_to_free_pages(the_machine(), 10, CACHE_GFP)))
		all += nr;
	return all;
}

static inline struct folio *cached(pgoff_t index)
{
	void *entry = xa_load(&map.i_pages, index);

	return xa_is_value(entry) ? NULL : entry;
}

static inline bool is_shadow(pgoff_t index)
{
	return xa_is_value(xa_load(&map.i_pages, index));
}

/* Twice: that is what makes it active. */
static inline void use(pgoff_t index)
{
	struct folio *folio = filemap_get_folio(&map, index);

	folio_mark_accessed(folio);
	folio_mark_accessed(folio);
	folio_put(folio);
}

static inline u64 refaults(void)
{
	return (u64)atomic64_read(&the_machine()->workingset.refault);
}

static inline u64 activations(void)
{
	return (u64)atomic64_read(&the_machine()->workingset.activate);
}

#endif
