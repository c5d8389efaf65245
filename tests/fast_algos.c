/* SPDX-License-Identifier: MIT */
/*
 * Claim: whether the look for memory that may not be pinned for long is made
 * inside the lockless walk or in a pass behind it, the same pages are kept; with
 * no look at all everything is. What is kept lies nowhere it may not (inv_O3),
 * and all counts are those of what is kept.
 *
 * Anonymous memory only: what else FOLL_LONGTERM asks of a page is asked by the
 * engine alone.
 *
 * Source: "fix omission of check on FOLL_LONGTERM in get_user_pages_fast()"
 */
#include "tests/fast_test.h"

#include "lab/gup_fast_algos.h"
#include "tests/random.h"

#include <errno.h>

#define NR	1000ul

static long algo_walk(int algo, unsigned long page, unsigned long nr,
		      unsigned int flags)
{
	return gup_fast_algos[algo].walk(gs->mm, state_address(gs, page), nr,
					 PIN | flags, got);
}

static u8 *block_type(unsigned long page)
{
	struct folio *folio = page_folio(state_page(gs, page));

	return &gs->machine->pageblock_type[folio_pfn(folio) >>
					    PAGEBLOCK_ORDER];
}

static bool pinnable(unsigned long page)
{
	return folio_is_longterm_pinnable(page_folio(state_page(gs, page)));
}

static u64 sum_of_counts(void)
{
	struct machine *m = gs->machine;
	u64 sum = 0;

	for (pf_pfn_t i = RESERVED_PAGES; i < m->nr_pages; i++) {
		struct page *page = machine_page(m, i);

		sum += atomic_read(&page->_refcount) +
		       atomic_read(&page->_pincount);
	}
	return sum;
}

/* The first page from @page on that may not be pinned for long, or the end. */
static unsigned long first_bad(unsigned long page, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (!pinnable(page + i))
			return i;
	return nr;
}

static void check(unsigned long page, unsigned long nr, unsigned int flags)
{
	unsigned long expect[NR_FAST_ALGOS] = {
		[FAST_NONE] = nr,
		[FAST_AFTER] = first_bad(page, nr),
		[FAST_INSIDE] = first_bad(page, nr),
	};
	u64 before = sum_of_counts(), held[NR_FAST_ALGOS];

	for (int algo = 0; algo < NR_FAST_ALGOS; algo++) {
		long ret = algo_walk(algo, page, nr, LONGTERM | flags);

		assert_int_equal(ret, expect[algo]);
		assert_pins_live(ret);
		for (long i = 0; i < ret; i++)
			assert_ptr_equal(got[i], state_page(gs, page + i));
		held[algo] = sum_of_counts();
		let_go(ret, PIN);
		assert_int_equal(sum_of_counts(), before);
		/* Short pins may lie anywhere. */
		ret = algo_walk(algo, page, nr, flags);
		assert_int_equal(ret, nr);
		let_go(ret, PIN);
	}
	assert_int_equal(held[FAST_AFTER], held[FAST_INSIDE]);
}

/* Folios of small orders, as many as fit, over two pageblocks and more. */
static void populate_window(struct random *r)
{
	unsigned int order;

	area(0, NR, STATE_RW);
	for (unsigned long i = 0; i < NR; i += 1ul << order) {
		order = random_chance(r, 40) ? 0 : random_below(r, 5);
		while ((i & ((1ul << order) - 1)) || i + (1ul << order) > NR)
			order--;
		mapped_folio(i, order, STATE_OWN);
	}
}

static void the_same_pages(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	populate_window(&r);
	for (int round = 0; round < 40; round++) {
		u8 *type = block_type(random_below(&r, NR)), was = *type;

		*type = MIGRATE_CMA;
		for (int i = 0; i < 6; i++) {
			unsigned long page = random_below(&r, NR);

			check(page, 1 + random_below(&r, NR - page),
			      random_chance(&r, 50) ? WRITE : 0);
		}
		*type = was;
	}
	assert_int_equal(first_bad(0, NR), NR);
	check(0, NR, WRITE);
}

/* The whole call: what the walk kept is not given back with the error. */
static void whole_calls(void **state)
{
	struct random r = { 1 };
	unsigned long good;
	u8 *type, was;

	(void)state;
	populate_window(&r);
	type = block_type(NR - 1);
	was = *type;
	*type = MIGRATE_CMA;
	good = first_bad(0, NR);
	assert_in_range(good, 1, NR - 1);
	current->mm = gs->mm;
	for (int algo = FAST_AFTER; algo < NR_FAST_ALGOS; algo++) {
		const struct gup_fast_algo *a = &gup_fast_algos[algo];

		assert_int_equal(gup_fast_algo_call(a, state_address(gs, 0), NR,
						    PIN | LONGTERM | WRITE,
						    got), good);
		assert_pins_live(good);
		let_go(good, PIN);
		assert_int_equal(gup_fast_algo_call(a, state_address(gs, good),
						    1, PIN | LONGTERM, got),
				 -ENOMEM);
		assert_pins_live(0);
	}
	current->mm = NULL;
	*type = was;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(the_same_pages), gup_test(whole_calls),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
