/* SPDX-License-Identifier: MIT */
/*
 * Claim: what has to stay where it is (page tables, pools, pages born in a
 * longterm call) lies neither in ZONE_MOVABLE nor in CMA; what may move goes to
 * ZONE_MOVABLE first, and into CMA when more than half of the rest is that; CMA
 * stays CMA through every split and merge; and all frames are accounted for.
 *
 * Source: mm/page_alloc.c: __rmqueue(), gfp_zone(), current_gfp_context()
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "mm/hugetlb.h"

#include <errno.h>

#define THIRD		2048ul		/* pages: 8 MiB */
#define BLOCK_ORDER	6u		/* CPU lists take one such at once */
#define BLOCK		(1ul << BLOCK_ORDER)
#define MOST		8192

/* NORMAL, the upper half of it CMA, and MOVABLE; 8 MiB of each. */
static struct machine *m;
static struct machine *previous;
static struct folio *folios[MOST];

static void begin_with(const struct machine_options *options)
{
	assert_int_equal(machine_create(options, &m), 0);
	previous = machine_enter(m);
}

static void begin(void)
{
	begin_with(&(struct machine_options){
		.memory_bytes = MIB(24), .movable_bytes = MIB(8),
		.cma_bytes = MIB(8), .nr_cpus = 2, .metadata_only = true,
	});
}

static void assert_holding(unsigned long nr)
{
	static struct page *gets[MOST];
	struct mm_holds holds = { .gets = gets };

	for (unsigned long i = 0; i < nr; i++)
		if (folios[i])
			gets[holds.nr_gets++] = &folios[i]->page;
	assert_int_equal(mm_validate(m, &holds), 0);
}

static unsigned long free_blocks(enum zone_type zone, unsigned int order)
{
	return m->zones[zone].free_area[order].nr_free;
}

static void end(void)
{
	drain_all_cpu_lists(m);
	assert_int_equal(nr_used_pages(m), 0);
	assert_holding(0);
	machine_leave(previous);
	machine_destroy(m);
}

enum place { PLACE_NORMAL, PLACE_CMA, PLACE_MOVABLE, NR_PLACES };

static enum place place_of(const struct folio *folio)
{
	pf_pfn_t pfn = folio_pfn(folio);
	pf_pfn_t cma = m->zones[ZONE_NORMAL].end_pfn - THIRD;

	if (pfn >= m->zones[ZONE_MOVABLE].start_pfn)
		return PLACE_MOVABLE;
	return pfn >= cma ? PLACE_CMA : PLACE_NORMAL;
}

/* All that can be had; the number in each place. */
static unsigned long take_all(gfp_t gfp, unsigned int order,
			      unsigned long in[NR_PLACES])
{
	unsigned long nr = 0;

	memset(in, 0, NR_PLACES * sizeof(in[0]));
	while ((folios[nr] = folio_alloc(gfp, order)))
		in[place_of(folios[nr++])]++;
	return nr;
}

static void give_back(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (folios[i])
			folio_put(folios[i]);
	memset(folios, 0, nr * sizeof(folios[0]));
}

/* ---- making ----------------------------------------------------------- */

static void machines_have_zones(void **state)
{
	struct zone *normal, *movable;

	(void)state;
	begin();
	normal = &m->zones[ZONE_NORMAL];
	movable = &m->zones[ZONE_MOVABLE];
	assert_int_equal(normal->end_pfn - normal->start_pfn, 2 * THIRD);
	assert_int_equal(movable->end_pfn - movable->start_pfn, THIRD);
	assert_int_equal(normal->managed_pages, 2 * THIRD);
	assert_int_equal(movable->managed_pages, THIRD);
	assert_int_equal(normal->free_cma_pages, THIRD);
	assert_int_equal(movable->free_cma_pages, 0);
	assert_int_equal(nr_free_pages(m), 3 * THIRD - 1);
	assert_ptr_equal(page_zone(m->zero_page), normal);
	assert_int_equal(place_of(page_folio(m->zero_page)), PLACE_NORMAL);
	end();
}

static void impossible_zones_are_refused(void **state)
{
	static const struct { u64 memory, movable, cma; } wrong[] = {
		{ MIB(8), MIB(8), 0 },
		{ MIB(8), 0, MIB(8) },
		{ MIB(8), MIB(4), MIB(4) },
		{ MIB(8), MIB(12), 0 },
		{ MIB(8), MIB(1), 0 },
		{ MIB(8), 0, MIB(2) },
		/* sums that wrap around */
		{ MIB(16), (u64)0 - MIB(4), MIB(8) },
		{ MIB(16), MIB(8), (u64)0 - MIB(4) },
	};
	struct machine *machine = NULL;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct machine_options o = {
			.memory_bytes = wrong[i].memory,
			.movable_bytes = wrong[i].movable,
			.cma_bytes = wrong[i].cma,
		};

		assert_int_equal(machine_create(&o, &machine), -EINVAL);
		assert_null(machine);
	}
}

/* ---- where things go -------------------------------------------------- */

static void movable_zone_goes_first(void **state)
{
	unsigned long nr = 0;

	(void)state;
	begin();
	/* One CPU list refill may wait in the zone below. */
	for (; nr < THIRD; nr++) {
		folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
		assert_int_equal(place_of(folios[nr]), PLACE_MOVABLE);
	}
	assert_int_equal(m->zones[ZONE_MOVABLE].free_pages, 0);
	folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_int_not_equal(place_of(folios[nr++]), PLACE_MOVABLE);
	assert_holding(nr);
	/* what comes free there is used there */
	folio_put(folios[7]);
	folios[7] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_int_equal(place_of(folios[7]), PLACE_MOVABLE);
	give_back(nr);
	end();
}

/* Each block against the rule, applied to the zone's counters before it. */
static void cma_goes_when_most_is_cma(void **state)
{
	struct zone *normal;
	unsigned long in[NR_PLACES] = { 0 }, nr = 0;
	enum place last = PLACE_NORMAL;
	unsigned int changes = 0;

	(void)state;
	begin();
	normal = &m->zones[ZONE_NORMAL];
	for (; nr < THIRD / BLOCK; nr++)
		folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, BLOCK_ORDER);
	for (;; nr++) {
		bool cma = normal->free_cma_pages > normal->free_pages / 2;
		enum place place;

		folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, BLOCK_ORDER);
		if (!folios[nr])
			break;
		place = place_of(folios[nr]);
		in[place]++;
		changes += place != last;
		last = place;
		/*
		 * When the rest has no movable block left, CMA serves too; the
		 * pageblock of the zero page is the last resort.
		 */
		if (in[PLACE_NORMAL] < (THIRD - PAGEBLOCK_PAGES) / BLOCK)
			assert_int_equal(place, cma ? PLACE_CMA : PLACE_NORMAL);
	}
	/* the zero page's block is the only one that cannot be had */
	assert_int_equal(in[PLACE_NORMAL], THIRD / BLOCK - 1);
	assert_int_equal(in[PLACE_CMA], THIRD / BLOCK);
	assert_int_equal(in[PLACE_MOVABLE], 0);
	/* both ran out together */
	assert_true(changes > THIRD / BLOCK);
	assert_int_equal(normal->free_cma_pages, 0);
	assert_holding(nr);
	give_back(nr);
	end();
}

static void cma_is_a_fall_back(void **state)
{
	unsigned long in[NR_PLACES], nr;

	(void)state;
	begin();
	/* the plain third is used up, so nothing is left but CMA */
	nr = take_all(GFP_KERNEL, BLOCK_ORDER, in);
	assert_int_equal(nr, THIRD / BLOCK - 1);
	while ((folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, BLOCK_ORDER)))
		in[place_of(folios[nr++])]++;
	assert_int_equal(in[PLACE_CMA], THIRD / BLOCK);
	assert_int_equal(in[PLACE_MOVABLE], THIRD / BLOCK);
	assert_holding(nr);
	give_back(nr);
	end();
}

static void unmovable_stays_out(void **state)
{
	unsigned long in[NR_PLACES];

	(void)state;
	for (unsigned int order = 0; order <= MAX_PAGE_ORDER; order++) {
		unsigned long nr;

		begin();
		nr = take_all(GFP_KERNEL, order, in);
		assert_int_equal(in[PLACE_CMA], 0);
		assert_int_equal(in[PLACE_MOVABLE], 0);
		assert_int_equal(nr, (THIRD >> order) - 1);
		assert_holding(nr);
		/* and there is memory left that it may not have */
		assert_true(nr_free_pages(m) >= 2 * THIRD);
		assert_null(folio_alloc(GFP_KERNEL, order));
		give_back(nr);
		end();
	}
	assert_null(alloc_pages(GFP_KERNEL, MAX_PAGE_ORDER + 1));
}

static void pin_scope_keeps_out(void **state)
{
	unsigned long in[NR_PLACES], nr;
	unsigned int outer, inner;

	(void)state;
	begin();
	outer = memalloc_pin_save();
	inner = memalloc_pin_save();
	folios[0] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_int_equal(place_of(folios[0]), PLACE_NORMAL);
	memalloc_pin_restore(inner);
	/* the inner scope's end is not the outer's */
	folios[1] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_int_equal(place_of(folios[1]), PLACE_NORMAL);
	give_back(2);
	nr = take_all(GFP_HIGHUSER_MOVABLE, 0, in);
	assert_int_equal(in[PLACE_NORMAL], THIRD - 1);
	assert_int_equal(in[PLACE_CMA] + in[PLACE_MOVABLE], 0);
	for (unsigned long i = 0; i < nr; i++)
		assert_true(folio_is_longterm_pinnable(folios[i]));
	memalloc_pin_restore(outer);
	folios[nr] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_int_equal(place_of(folios[nr++]), PLACE_MOVABLE);
	give_back(nr);
	end();
}

static void pinnable_by_place(void **state)
{
	unsigned long in[NR_PLACES], nr;

	(void)state;
	begin();
	nr = take_all(GFP_HIGHUSER_MOVABLE, 3, in);
	for (unsigned long i = 0; i < nr; i++) {
		enum place place = place_of(folios[i]);

		assert_int_equal(folio_is_longterm_pinnable(folios[i]),
				 place == PLACE_NORMAL);
		assert_int_equal(folio_migratetype(folios[i]) == MIGRATE_CMA,
				 place == PLACE_CMA);
		assert_int_equal(is_zone_movable_page(&folios[i]->page),
				 place == PLACE_MOVABLE);
	}
	assert_true(folio_is_longterm_pinnable(page_folio(m->zero_page)));
	give_back(nr);
	end();
}

/* ---- CPU lists -------------------------------------------------------- */

/* A CMA frame waits among the movable ones, where nobody else looks. */
static void cma_frames_on_cpu_lists(void **state)
{
	unsigned long in[NR_PLACES], nr, cma;
	struct folio *folio;

	(void)state;
	begin();
	nr = take_all(GFP_HIGHUSER_MOVABLE, 0, in);
	assert_int_equal(nr, 3 * THIRD - 1);
	assert_int_equal(nr_free_pages(m), 0);
	for (cma = 0; place_of(folios[cma]) != PLACE_CMA; cma++)
		;
	folio = folios[cma];
	folio_put(folio);
	folios[cma] = NULL;
	assert_int_equal(nr_free_pages(m), 1);
	assert_holding(nr);
	assert_null(folio_alloc(GFP_KERNEL, 0));
	/* drained to find that out: it is CMA still */
	assert_int_equal(m->zones[ZONE_NORMAL].free_cma_pages, 1);
	assert_null(folio_alloc(GFP_KERNEL, 0));
	folios[cma] = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_ptr_equal(folios[cma], folio);
	give_back(nr);
	end();
}

/* Small frames that wait on CPUs come back when a large block is wanted. */
static void cpu_lists_are_drained_in_need(void **state)
{
	unsigned long in[NR_PLACES], nr;

	(void)state;
	begin();
	nr = take_all(GFP_HIGHUSER_MOVABLE, 0, in);
	current->cpu = 1;
	for (unsigned long i = 0; i < nr; i++) {
		current->cpu = 1 + (i & 1);
		folio_put(folios[i]);
	}
	nr = take_all(GFP_HIGHUSER_MOVABLE, MAX_PAGE_ORDER, in);
	assert_int_equal(in[PLACE_MOVABLE], 2);
	assert_int_equal(in[PLACE_CMA], 2);
	assert_int_equal(in[PLACE_NORMAL], 1);
	give_back(nr);
	end();
}

/* ---- merging ---------------------------------------------------------- */

static void everything_merges_again(void **state)
{
	static const unsigned int orders[] = { 0, 1, 4, 9 };
	unsigned long in[NR_PLACES];

	(void)state;
	begin();
	for (unsigned int k = 0; k < ARRAY_SIZE(orders); k++) {
		struct zone *normal = &m->zones[ZONE_NORMAL];
		unsigned long nr = take_all(GFP_HIGHUSER_MOVABLE, orders[k],
					    in);

		/* every second one first, so that much cannot merge at once */
		for (unsigned long i = 0; i < nr; i += 2) {
			folio_put(folios[i]);
			folios[i] = NULL;
		}
		assert_holding(nr);
		give_back(nr);
		drain_all_cpu_lists(m);
		assert_int_equal(free_blocks(ZONE_MOVABLE, MAX_PAGE_ORDER), 2);
		assert_int_equal(free_blocks(ZONE_NORMAL, MAX_PAGE_ORDER), 3);
		assert_int_equal(normal->free_cma_pages, THIRD);
		for (pf_pfn_t pfn = normal->end_pfn - THIRD;
		     pfn < normal->end_pfn; pfn += PAGEBLOCK_PAGES)
			assert_int_equal(m->pageblock_type[pfn >>
					 PAGEBLOCK_ORDER], MIGRATE_CMA);
		assert_holding(0);
	}
	end();
}

/* A CMA block beside one that is none: as large as the two get. */
static void cma_merges_with_cma_only(void **state)
{
	struct folio *low, *high;

	(void)state;
	begin();
	low = folio_alloc(GFP_HIGHUSER_MOVABLE, PAGEBLOCK_ORDER);
	high = folio_alloc(GFP_HIGHUSER_MOVABLE, PAGEBLOCK_ORDER);
	assert_int_equal(folio_pfn(high), folio_pfn(low) + PAGEBLOCK_PAGES);
	m->pageblock_type[folio_pfn(high) >> PAGEBLOCK_ORDER] = MIGRATE_CMA;
	folio_put(low);
	folio_put(high);
	drain_all_cpu_lists(m);
	assert_int_equal(free_blocks(ZONE_MOVABLE, PAGEBLOCK_ORDER), 2);
	assert_int_equal(m->zones[ZONE_MOVABLE].free_cma_pages,
			 PAGEBLOCK_PAGES);
	assert_holding(0);
	end();
}

static void at_random(void **state)
{
	struct random r;
	unsigned long nr = 256;

	(void)state;
	random_init(&r);
	for (unsigned int round = 0; round < 6; round++) {
		begin();
		for (unsigned int step = 0; step < 4000; step++) {
			unsigned long i = random_below(&r, nr);
			bool movable = random_chance(&r, 70);
			bool scope = random_chance(&r, 20);
			unsigned int saved = 0;

			current->cpu = 1 + random_below(&r, 2);
			if (folios[i]) {
				folio_put(folios[i]);
				folios[i] = NULL;
				continue;
			}
			if (scope)
				saved = memalloc_pin_save();
			folios[i] = folio_alloc(movable ? GFP_HIGHUSER_MOVABLE :
						GFP_KERNEL,
						random_chance(&r, 90) ?
						random_below(&r, 6) :
						random_below(&r, 11));
			if (scope)
				memalloc_pin_restore(saved);
			if (folios[i] && (!movable || scope))
				assert_int_equal(place_of(folios[i]),
						 PLACE_NORMAL);
			if (step % 100 == 0)
				assert_holding(nr);
		}
		give_back(nr);
		end();
	}
}

/* ---- address spaces --------------------------------------------------- */

static struct mm_test t;
static struct page *pages[MOST];

static void begin_mm(struct pf_machine_options options)
{
	options.memory_bytes = MIB(24);
	options.movable_bytes = MIB(8);
	options.cma_bytes = MIB(8);
	mm_test_begin(&t, options);
	m = machine_of(t.machine);
}

static void user_pages_and_tables(void **state)
{
	unsigned long in[NR_PLACES] = { 0 };

	(void)state;
	begin_mm((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 5000, RW);
	for (u64 i = 0; i < 5000; i++) {
		write_word(&t, BASE + PAGES(i), i);
		in[place_of(page_folio(page_mapped_at(&t, BASE + PAGES(i))))]++;
	}
	assert_int_equal(in[PLACE_MOVABLE], THIRD);
	assert_true(in[PLACE_CMA] > 0 && in[PLACE_NORMAL] > 0);
	/* MM_ZONES: the tables too are where they should be */
	assert_valid(&t);
	assert_int_equal(nr_used_pages(m),
			 5000 + atomic64_read(&mm_of(t.mm)->pgtables));
	mm_test_end(&t);
}

/* With all that may not move in use, no table can be had, and no more. */
static void out_of_unmovable_memory(void **state)
{
	unsigned long in[NR_PLACES], nr;
	u64 word = 1;

	(void)state;
	begin_mm((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 100, RW);
	map_at(&t, BASE + PMD_SIZE, 100, RW);
	write_word(&t, BASE, 1);
	nr = take_all(GFP_KERNEL, 0, in);
	assert_true(nr > 0);
	/* its table is there, and the page may move */
	write_word(&t, BASE + PAGE_SIZE, 2);
	assert_int_equal(pf_write(t.mm, BASE + PMD_SIZE, &word, sizeof(word)),
			 -ENOMEM);
	/* born in a longterm call: where there is nothing left */
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, BASE + PAGES(5), 1,
						    (struct pf_page **)pages,
						    FOLL_WRITE | FOLL_LONGTERM),
			 -ENOMEM);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, BASE + PAGES(5), 1,
						    (struct pf_page **)pages,
						    FOLL_WRITE), 1);
	unpin_user_page(pages[0]);
	give_back(nr);
	write_word(&t, BASE + PMD_SIZE, 3);
	mm_test_end(&t);
}

static void out_of_all_memory(void **state)
{
	u64 word = 1, i = 0;

	(void)state;
	begin_mm((struct pf_machine_options){ .thp_always = BIT(9) | BIT(4) });
	map_at(&t, BASE, 7000, RW);
	while (pf_write(t.mm, BASE + PAGES(i), &word, sizeof(word)) > 0)
		i++;
	assert_true(i > 3 * THIRD - 64);
	assert_int_equal(nr_free_pages(m), 0);
	assert_valid(&t);
	assert_int_equal(pf_madvise(t.mm, BASE, PMD_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	write_word(&t, BASE + PAGES(i), 1);
	mm_test_end(&t);
}

/* Nobody ever gives the huge zero folio back, so it is in nobody's way. */
static void the_huge_zero_folio(void **state)
{
	(void)state;
	begin_mm((struct pf_machine_options){ .thp_always = BIT(9) });
	map_at(&t, BASE, 512, RW);
	assert_int_equal(read_word(&t, BASE), 0);
	assert_non_null(m->huge_zero_folio);
	assert_int_equal(place_of(m->huge_zero_folio), PLACE_NORMAL);
	/* in use by the one leaf that maps it */
	assert_int_equal(nr_used_pages(m), HPAGE_PMD_NR +
			 atomic64_read(&mm_of(t.mm)->pgtables));
	mm_test_end(&t);
}

static void pools_stay_out(void **state)
{
	struct folio *folio;

	(void)state;
	begin_mm((struct pf_machine_options){
		.hugetlb_2m_pages = 7, .hugetlb_1g_pages = 1,
		.metadata_only = true,
	});
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		list_for_each_entry(folio, &m->hstates[i].freelist, lru)
			assert_true(folio_is_longterm_pinnable(folio));
	/* The zones are as large as without pools. */
	assert_int_equal(m->zones[ZONE_MOVABLE].managed_pages, THIRD);
	assert_int_equal(m->zones[ZONE_NORMAL].free_cma_pages, THIRD);
	assert_int_equal(nr_used_pages(m), 1);		/* a pgd */
	assert_int_equal(m->nr_pages % HPAGE_PUD_NR, THIRD);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_have_zones),
		cmocka_unit_test(impossible_zones_are_refused),
		cmocka_unit_test(movable_zone_goes_first),
		cmocka_unit_test(cma_goes_when_most_is_cma),
		cmocka_unit_test(cma_is_a_fall_back),
		cmocka_unit_test(unmovable_stays_out),
		cmocka_unit_test(pin_scope_keeps_out),
		cmocka_unit_test(pinnable_by_place),
		cmocka_unit_test(cma_frames_on_cpu_lists),
		cmocka_unit_test(cpu_lists_are_drained_in_need),
		cmocka_unit_test(everything_merges_again),
		cmocka_unit_test(cma_merges_with_cma_only),
		cmocka_unit_test(at_random),
		cmocka_unit_test(user_pages_and_tables),
		cmocka_unit_test(out_of_unmovable_memory),
		cmocka_unit_test(out_of_all_memory),
		cmocka_unit_test(the_huge_zero_folio),
		cmocka_unit_test(pools_stay_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
