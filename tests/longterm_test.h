/* SPDX-License-Identifier: MIT */
/*
 * What tests of longterm pins share: a machine with all kinds of memory, folios
 * without an address space, and collecting what of them may not be pinned.
 */
#ifndef TESTS_LONGTERM_TEST_H
#define TESTS_LONGTERM_TEST_H

#include "tests/mm_test.h"

#include "lab/longterm_per_page.h"

#include <errno.h>

#define LONGTERM	FOLL_LONGTERM
#define FAR		(BASE + ((pf_addr_t)1 << 40))
#define MOST		2048
#define P(n)		(BASE + PAGES(n))

static struct mm_test t;
static struct machine *m;
static struct page *pages[MOST + 1];
#define handles		((struct pf_page **)pages)

static inline void begin(struct pf_machine_options options)
{
	options.memory_bytes = MIB(24);
	options.movable_bytes = MIB(8);
	options.cma_bytes = MIB(8);
	mm_test_begin(&t, options);
	m = machine_of(t.machine);
	current->cpu = 1;
}

static inline void end(void)
{
	assert_int_equal(current->flags, 0);
	mm_test_end(&t);
}

static inline long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static inline void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(m, &holds), 0);
}

/* inv_O3 */
static inline void assert_pinnable(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		assert_true(folio_is_longterm_pinnable(page_folio(pages[i])));
}

static inline u64 live_pins(void)
{
	return nr_foll_pin_acquired(m) - nr_foll_pin_released(m);
}

static inline unsigned long nr_isolated(void)
{
	return m->zones[ZONE_NORMAL].nr_isolated +
	       m->zones[ZONE_MOVABLE].nr_isolated;
}

/* ---- memory that is gone ---------------------------------------------- */

static struct folio *filler[4096];
static unsigned long nr_filler;

static inline void drop_filler(unsigned long nr)
{
	while (nr--)
		folio_put(filler[--nr_filler]);
}

/* ---- folios without an address space ---------------------------------- */

#define NR_FOLIOS	80

static struct folio *folios[NR_FOLIOS];
static unsigned int nr_folios;
static unsigned long isolated_elsewhere;	/* pages */

/* As if one entry mapped it; its reference is the creator's. */
static inline struct folio *add_folio(gfp_t gfp, unsigned int order)
{
	struct folio *folio = folio_alloc(gfp, order);

	assert_non_null(folio);
	atomic_set(&folio->_mapcount, 1);
	folio_add_lru(folio);
	assert_true(nr_folios < NR_FOLIOS);
	folios[nr_folios++] = folio;
	return folio;
}

static inline void drop_folios(void)
{
	lru_add_drain_all(m);
	while (nr_folios) {
		struct folio *folio = folios[--nr_folios];

		if (folio_test_hugetlb(folio) || is_zero_folio(folio))
			continue;
		assert_int_equal(folio_ref_count(folio), 1);
		atomic_set(&folio->_mapcount, 0);
		folio_put(folio);
	}
}

static inline void grab(struct page **array, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (array[i])
			assert_int_equal(try_grab_folio(page_folio(array[i]), 1,
							FOLL_PIN), 0);
}

/* The end of a check: everything unpinned, the list put back. */
static inline void finish(struct list_head *list, struct page **array,
			  unsigned long nr)
{
	struct pages_or_folios pofs = { .pages = array, .nr_entries = nr };

	assert_int_equal(migrate_longterm_unpinnable_folios(list, &pofs),
			 -ENOMEM);
	assert_int_equal(nr_isolated(), isolated_elsewhere);
	assert_int_equal(live_pins(), 0);
}

struct found {
	unsigned long count;
	unsigned int nr;
	struct folio *isolated[NR_FOLIOS];
};

static inline void note_found(struct found *f, unsigned long count,
			      struct list_head *list)
{
	struct folio *folio;

	f->count = count;
	f->nr = 0;
	list_for_each_entry(folio, list, lru) {
		assert_true(f->nr < NR_FOLIOS);
		f->isolated[f->nr++] = folio;
	}
}

static inline void collect_pages(struct found *f, struct page **array,
				 unsigned long nr)
{
	struct pages_or_folios pofs = { .pages = array, .nr_entries = nr };
	LIST_HEAD(list);

	grab(array, nr);
	note_found(f, collect_longterm_unpinnable_folios(&list, &pofs), &list);
	finish(&list, array, nr);
}

#endif
