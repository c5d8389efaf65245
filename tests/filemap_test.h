/* SPDX-License-Identifier: MIT */
/*
 * What tests of the page cache share: a machine with one mapping, which must be
 * right and empty in the end.
 */
#ifndef TESTS_FILEMAP_TEST_H
#define TESTS_FILEMAP_TEST_H

#include "tests/mm_test.h"

#include "mm/filemap.h"

#include <errno.h>

static struct mm_test t;
static struct address_space map;

static inline struct machine *the_machine(void)
{
	return machine_of(t.machine);
}

/* Every frame that is neither free nor the machine's or a table's. */
static unsigned long frames_before;

static inline void cache_begin_orders(unsigned int min, unsigned int max)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16) });
	mapping_init(&map, the_machine());
	mapping_set_folio_order_range(&map, min, max);
	frames_before = frames_in_use(the_machine());
}

static inline void cache_begin(void)
{
	cache_begin_orders(0, MAX_PAGECACHE_ORDER);
}

/* Nobody holds a reference or a lock: all folios go, and all frames. */
static inline void cache_empty(void)
{
	struct folio *folio;
	pgoff_t index;

	xa_for_each(&map.i_pages, index, folio) {
		if (xa_is_value(folio)) {
			xa_erase(&map.i_pages, index);
			continue;
		}
		folio_get(folio);
		folio_lock(folio);
		filemap_remove_folio(folio);
		folio_unlock(folio);
		folio_put(folio);
	}
	assert_int_equal(map.nrpages, 0);
	assert_true(xa_empty(&map.i_pages));
}

static inline void cache_end(void)
{
	assert_valid(&t);
	cache_empty();
	assert_valid(&t);
	assert_int_equal(frames_in_use(the_machine()), frames_before);
	mapping_destroy(&map);
	mm_test_end(&t);
}

/* A folio of @order at @index, not locked, nothing held. */
static inline struct folio *cache_add(pgoff_t index, unsigned int order)
{
	struct folio *folio = filemap_alloc_folio(map.gfp_mask, order);

	assert_non_null(folio);
	assert_int_equal(filemap_add_folio(&map, folio, index, 0), 0);
	folio_unlock(folio);
	folio_put(folio);
	return folio;
}

static inline void let_go(struct folio *folio)
{
	folio_unlock(folio);
	folio_put(folio);
}

/* A shadow of @order, as eviction leaves one. */
static inline void cache_shadow(pgoff_t index, unsigned int order,
				unsigned long value)
{
	struct folio *folio = cache_add(index, order);

	folio_get(folio);
	assert_true(folio_trylock(folio));
	xa_lock(&map.i_pages);
	__filemap_remove_folio(folio, xa_mk_value(value));
	xa_unlock(&map.i_pages);
	filemap_free_folio(&map, folio);
	let_go(folio);
}

#endif
