/* SPDX-License-Identifier: MIT */
/*
 * A state, a fault script and short calls, for tests with fixed states.
 *
 * Each test gets an empty window of GUP_PAGES pages at a multiple of 2 MiB;
 * gup_teardown() fails it if a frame, a reference or a pin is left over.  The
 * calls take mmap_lock themselves, go through the script (empty: faults pass)
 * and forget the faults of the call before.
 */
#ifndef TESTS_HELPER_GUP_H
#define TESTS_HELPER_GUP_H

#include "lab/fault_script.h"
#include "mm/gup.h"

#define GUP_PAGES	2048ul

extern struct state *gs;		/* of the running test */
extern struct fault_script gup_faults;
extern struct page *got[GUP_PAGES];

int gup_group_setup(void **state);
int gup_group_teardown(void **state);
int gup_setup(void **state);
int gup_teardown(void **state);

#define gup_test(f) \
	cmocka_unit_test_setup_teardown(f, gup_setup, gup_teardown)

/* gup_rules() - the script of the calls to come */
#define gup_rules(...) do {						\
	static const struct fault_rule _rules[] = { __VA_ARGS__ };	\
	gup_faults.rules = _rules;					\
	gup_faults.nr_rules = ARRAY_SIZE(_rules);			\
} while (0)

long pin(unsigned long page, unsigned long nr, unsigned int flags);
/* the remote form, without a lock to drop: it marks accessed and dirty */
long pin_touch(unsigned long page, unsigned long nr, unsigned int flags);
/* the remote form with one: @locked as it was on return */
long pin_unlockable(unsigned long page, unsigned long nr, unsigned int flags,
		    int *locked);
long get(unsigned long page, unsigned long nr, unsigned int flags);
long populate(unsigned long page, unsigned long nr, unsigned int flags);
void put(unsigned long nr);

/* An area in the window, and in it a folio whose creator let go of it. */
struct vm_area_struct *area(unsigned long page, unsigned long nr,
			    vm_flags_t flags);
struct folio *mapped_folio(unsigned long page, unsigned int order,
			   unsigned int bits);
/* the same by a PMD leaf */
struct folio *mapped_leaf(unsigned long page, unsigned int bits);

/*
 * gup_runs() - how often the folio was marked accessed: 0, 1, 2, or 3 for more
 *
 * A folio is marked once a run, and new folios are not marked.
 */
int gup_runs(const struct folio *folio);

/* gup_faulted() - the page that the @i-th fault of the last call hit */
unsigned long gup_faulted(size_t i);
unsigned int gup_fault_flag(size_t i);

/* The folio's counts, all three at once. */
#define assert_counts(folio, refs, pins, maps) do {			\
	assert_int_equal(folio_ref_count(folio), (refs));		\
	assert_int_equal(atomic_read(&(folio)->_pincount), (pins));	\
	assert_int_equal(folio_mapcount(folio), (maps));		\
} while (0)

/* got[0 ... @nr - 1] are pages of @folio from @from on */
#define assert_pages(first, folio, from, nr)				\
	for (long _i = 0; _i < (long)(nr); _i++)			\
		assert_ptr_equal(got[(first) + _i],			\
				 folio_page(folio, (from) + _i))

#endif
