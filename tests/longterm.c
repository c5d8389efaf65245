/* SPDX-License-Identifier: MIT */
/*
 * Claim: a longterm pin either lies wholly where memory need not move, or ends
 * with an error, nothing pinned and nothing isolated.  Looking once a folio and
 * skipping by frame numbers finds what looking at every page finds.
 *
 * Source: mm/gup.c: collect_longterm_unpinnable_folios(),
 *         migrate_longterm_unpinnable_folios(), __gup_longterm_locked()
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "lab/longterm_per_page.h"
#include "mm/hugetlb.h"

#include <errno.h>
#include <inttypes.h>

#define LONGTERM	FOLL_LONGTERM
#define FAR		(BASE + ((pf_addr_t)1 << 40))
#define MOST		2048
#define P(n)		(BASE + PAGES(n))

static struct mm_test t;
static struct machine *m;
static struct page *pages[MOST + 1];
#define handles		((struct pf_page **)pages)

static void begin(struct pf_machine_options options)
{
	options.memory_bytes = MIB(24);
	options.movable_bytes = MIB(8);
	options.cma_bytes = MIB(8);
	mm_test_begin(&t, options);
	m = machine_of(t.machine);
	current->cpu = 1;
}

static void end(void)
{
	assert_int_equal(current->flags, 0);
	mm_test_end(&t);
}

static long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(m, &holds), 0);
}

/* inv_O3 */
static void assert_pinnable(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		assert_true(folio_is_longterm_pinnable(page_folio(pages[i])));
}

static u64 live_pins(void)
{
	return nr_foll_pin_acquired(m) - nr_foll_pin_released(m);
}

static unsigned long nr_isolated(void)
{
	return m->zones[ZONE_NORMAL].nr_isolated +
	       m->zones[ZONE_MOVABLE].nr_isolated;
}

/* ---- folios without an address space ---------------------------------- */

#define NR_FOLIOS	80

static struct folio *folios[NR_FOLIOS];
static unsigned int nr_folios;
static unsigned long isolated_elsewhere;	/* pages */

/* As if one entry mapped it; its reference is the creator's. */
static struct folio *add_folio(gfp_t gfp, unsigned int order)
{
	struct folio *folio = folio_alloc(gfp, order);

	assert_non_null(folio);
	atomic_set(&folio->_mapcount, 1);
	folio_add_lru(folio);
	assert_true(nr_folios < NR_FOLIOS);
	folios[nr_folios++] = folio;
	return folio;
}

static void drop_folios(void)
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

static void grab(struct page **array, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (array[i])
			assert_int_equal(try_grab_folio(page_folio(array[i]), 1,
							FOLL_PIN), 0);
}

/* The end of a check: everything unpinned, the list put back. */
static void finish(struct list_head *list, struct page **array,
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

static void note_found(struct found *f, unsigned long count,
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

static void collect_pages(struct found *f, struct page **array,
			  unsigned long nr)
{
	struct pages_or_folios pofs = { .pages = array, .nr_entries = nr };
	LIST_HEAD(list);

	grab(array, nr);
	note_found(f, collect_longterm_unpinnable_folios(&list, &pofs), &list);
	finish(&list, array, nr);
}

static void collect_per_page(struct found *f, struct page **array,
			     unsigned long nr)
{
	LIST_HEAD(list);

	grab(array, nr);
	note_found(f, per_page_collect(&list, nr, array), &list);
	finish(&list, array, nr);
}

/* Entries that are looked at and found wanting, by the definition. */
static unsigned long count_by_rule(struct page **array, unsigned long nr,
				   bool per_page)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < nr; i++) {
		struct folio *folio = array[i] ? page_folio(array[i]) : NULL;
		bool again = i && array[i - 1] && folio &&
			     page_folio(array[i - 1]) == folio;

		if (!folio || folio_is_longterm_pinnable(folio))
			continue;
		count += !again || (!per_page && !folio_test_large(folio));
	}
	return count;
}

/* The same folios, in the same order; the same count, by the rule. */
static void assert_same(const struct found *folio, const struct found *page,
			struct page **array, unsigned long nr)
{
	assert_int_equal(folio->count, count_by_rule(array, nr, false));
	assert_int_equal(page->count, count_by_rule(array, nr, true));
	assert_int_equal(folio->nr, page->nr);
	assert_memory_equal(folio->isolated, page->isolated,
			    page->nr * sizeof(page->isolated[0]));
}

/* ---- property: per folio is per page ---------------------------------- */

static struct folio *filler[4096];
static unsigned long nr_filler;

static void drop_filler(unsigned long nr)
{
	while (nr--)
		folio_put(filler[--nr_filler]);
}

/* With ZONE_MOVABLE full, CMA is next. */
static void fill_zone_movable(void)
{
	struct folio *folio;

	for (;;) {
		folio = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
		if (!is_zone_movable_page(&folio->page))
			break;
		filler[nr_filler++] = folio;
	}
	folio_put(folio);
}

/* Every kind of folio in every place, neighbours among them. */
static void make_folios(void)
{
	static const unsigned int orders[] = { 0, 0, 0, 0, 1, 2, 4, 4, 6, 9 };

	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
		add_folio(GFP_KERNEL, orders[i]);
		add_folio(GFP_HIGHUSER_MOVABLE, orders[i]);
	}
	fill_zone_movable();
	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++)
		add_folio(GFP_HIGHUSER_MOVABLE, orders[i]);
	folios[nr_folios++] = page_folio(m->zero_page);
}

static void add_hugetlb(void)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t.mm, FAR, 3 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED |
				 PINFOLD_MAP_POPULATE, &place), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct page *page = page_mapped_at(&t, FAR + i * PMD_SIZE);

		folios[nr_folios++] = page_folio(page);
		/* The pool's frames are in no CMA area, so play that. */
		if (i)
			m->pageblock_type[page_to_pfn(page) >>
					  PAGEBLOCK_ORDER] = MIGRATE_CMA;
	}
}

static void forget_hugetlb(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct page *page = page_mapped_at(&t, FAR + i * PMD_SIZE);

		m->pageblock_type[page_to_pfn(page) >> PAGEBLOCK_ORDER] =
			MIGRATE_UNMOVABLE;
	}
}

static void every_kind_is_there(void)
{
	unsigned int movable = 0, cma = 0, normal = 0, hugetlb = 0;

	for (unsigned int i = 0; i < nr_folios; i++) {
		if (folio_test_hugetlb(folios[i]))
			hugetlb++;
		else if (is_zone_movable_page(&folios[i]->page))
			movable++;
		else if (folio_migratetype(folios[i]) == MIGRATE_CMA)
			cma++;
		else
			normal++;
	}
	assert_true(movable >= 10 && cma >= 4 && normal >= 10 && hugetlb == 3);
}

/* One stretch of the array: pages of one folio, in one of several orders. */
static unsigned long random_stretch(struct random *r, struct page **slot,
				    unsigned long room)
{
	struct folio *folio = folios[random_below(r, nr_folios)];
	unsigned long nr = folio_nr_pages(folio);
	unsigned long first = random_below(r, nr);
	unsigned long len = min(room, 1 + random_below(r, min(nr, 40ul)));
	unsigned int how = random_below(r, 10);

	for (unsigned long i = 0; i < len; i++) {
		unsigned long n;

		if (how < 5)
			n = (first + i) % nr;		/* ascending */
		else if (how == 5)
			n = first;			/* one page again */
		else if (how == 6)
			n = (nr + first - i % nr) % nr;	/* descending */
		else if (how == 7)
			n = nr - 1;
		else
			n = random_below(r, nr);
		slot[i] = how == 9 && random_chance(r, 30) ? NULL :
			  folio_page(folio, n);
	}
	if (how == 8)
		slot[0] = NULL;
	return len;
}

/* Batches as they may be: some small folios wait on some CPU. */
static void shuffle_batches(struct random *r)
{
	lru_add_drain_all(m);
	for (unsigned int i = 0; i < nr_folios; i++) {
		if (folio_test_large(folios[i]) || !folio_test_lru(folios[i]) ||
		    random_chance(r, 50))
			continue;
		folio_del_lru(folios[i]);
		current->cpu = 1 + random_below(r, m->nr_cpus);
		folio_add_lru(folios[i]);
	}
	current->cpu = 1;
}

/* Somebody else may be at work on one of them. */
static struct folio *isolate_one(struct random *r)
{
	struct folio *folio = folios[random_below(r, nr_folios)];

	lru_add_drain_all(m);
	if (random_chance(r, 60) || !folio_isolate_lru(folio))
		return NULL;
	isolated_elsewhere = folio_nr_pages(folio);
	return folio;
}

static void compare_at_random(struct random *r)
{
	static struct page *array[600];
	static struct found per_folio, per_page;
	const unsigned long nr = 1 + random_below(r, ARRAY_SIZE(array));
	struct folio *taken = isolate_one(r);
	struct random again;

	for (unsigned long i = 0; i < nr; )
		i += random_stretch(r, array + i, nr - i);
	again = *r;
	shuffle_batches(&again);
	collect_pages(&per_folio, array, nr);
	shuffle_batches(r);
	collect_per_page(&per_page, array, nr);
	assert_same(&per_folio, &per_page, array, nr);
	if (taken)
		folio_putback_lru(taken);
	isolated_elsewhere = 0;
}

static void per_folio_is_per_page(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	begin((struct pf_machine_options){
		.hugetlb_2m_pages = 3, .metadata_only = true,
	});
	make_folios();
	add_hugetlb();
	every_kind_is_there();
	for (unsigned int round = 0; round < 1500; round++)
		compare_at_random(&r);
	forget_hugetlb();
	drop_folios();
	drop_filler(nr_filler);
	end();
}

/* ---- skipping --------------------------------------------------------- */

static unsigned long collect_array(struct found *f, struct page **array,
				   unsigned long nr)
{
	static struct found per_page;

	collect_pages(f, array, nr);
	collect_per_page(&per_page, array, nr);
	assert_same(f, &per_page, array, nr);
	return f->count;
}

/*
 * Folios that stand beside each other, in memory and in the array: the skip
 * ends with the folio, not a page before or behind.
 */
static void skips_end_with_the_folio(void **state)
{
	struct page *array[40];
	struct folio *a, *b;
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	a = add_folio(GFP_HIGHUSER_MOVABLE, 4);
	b = add_folio(GFP_HIGHUSER_MOVABLE, 4);
	assert_int_equal(folio_pfn(b), folio_pfn(a) + 16);
	for (unsigned long i = 0; i < 32; i++)
		array[i] = folio_page(a, i);	/* on into b */
	assert_int_equal(collect_array(&f, array, 32), 2);
	assert_int_equal(f.nr, 2);
	assert_ptr_equal(f.isolated[0], a);
	assert_ptr_equal(f.isolated[1], b);
	/* the last of one and the first of the other, both ways round */
	assert_int_equal(collect_array(&f, array + 15, 2), 2);
	array[0] = folio_page(b, 0);
	array[1] = folio_page(a, 15);
	assert_int_equal(collect_array(&f, array, 2), 2);
	assert_ptr_equal(f.isolated[0], b);
	/* ends of the array */
	for (unsigned long i = 0; i < 16; i++)
		array[i] = folio_page(a, i);
	for (unsigned long nr = 1; nr <= 16; nr++)
		assert_int_equal(collect_array(&f, array, nr), 1);
	drop_folios();
	end();
}

/* In between stands one that is fine. */
static void good_folios_are_skipped_too(void **state)
{
	struct folio *bad, *good, *small;
	struct page *array[64];
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	bad = add_folio(GFP_HIGHUSER_MOVABLE, 4);
	good = add_folio(GFP_KERNEL, 4);
	small = add_folio(GFP_HIGHUSER_MOVABLE, 0);
	for (unsigned long i = 0; i < 16; i++) {
		array[i] = folio_page(good, i);
		array[16 + i] = folio_page(bad, i);
		array[32 + i] = folio_page(good, i);
	}
	assert_int_equal(collect_array(&f, array, 16), 0);
	assert_int_equal(collect_array(&f, array, 48), 1);
	array[48] = &small->page;
	assert_int_equal(collect_array(&f, array, 49), 2);
	/* one that comes again later is looked at again, and counts again */
	for (unsigned long i = 0; i < 4; i++)
		array[49 + i] = folio_page(bad, i);
	assert_int_equal(collect_array(&f, array, 53), 3);
	assert_int_equal(f.nr, 2);
	drop_folios();
	end();
}

static void empty_slots_are_stepped_over(void **state)
{
	struct folio *large, *small;
	struct page *array[16];
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	large = add_folio(GFP_HIGHUSER_MOVABLE, 2);
	small = add_folio(GFP_HIGHUSER_MOVABLE, 0);
	memset(array, 0, sizeof(array));
	assert_int_equal(collect_array(&f, array, 16), 0);
	array[3] = folio_page(large, 0);
	array[4] = folio_page(large, 1);
	array[6] = folio_page(large, 2);	/* behind a hole: again */
	array[8] = &small->page;
	assert_int_equal(collect_array(&f, array, 16), 3);
	assert_int_equal(f.nr, 2);
	array[15] = folio_page(large, 3);
	assert_int_equal(collect_array(&f, array, 16), 4);
	assert_int_equal(collect_array(&f, array + 9, 6), 0);
	assert_int_equal(collect_array(&f, array, 0), 0);
	drop_folios();
	end();
}

/* ---- arrays of folios ------------------------------------------------- */

static void folio_arrays_skip_nothing(void **state)
{
	struct folio *array[12], *large, *good;
	struct pages_or_folios pofs = {
		.folios = array, .has_folios = true, .nr_entries = 12,
	};
	LIST_HEAD(list);
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	large = add_folio(GFP_HIGHUSER_MOVABLE, 4);
	good = add_folio(GFP_KERNEL, 4);
	memset(array, 0, sizeof(array));
	array[1] = large;
	array[2] = large;
	array[3] = large;
	array[5] = good;
	array[6] = good;
	array[7] = large;
	array[11] = add_folio(GFP_HIGHUSER_MOVABLE, 0);
	grab((struct page **)array, 12);
	assert_int_equal(live_pins(), 7);
	note_found(&f, collect_longterm_unpinnable_folios(&list, &pofs), &list);
	assert_int_equal(f.count, 5);
	assert_int_equal(f.nr, 2);
	assert_ptr_equal(f.isolated[0], large);
	assert_int_equal(nr_isolated(), 17);
	assert_int_equal(migrate_longterm_unpinnable_folios(&list, &pofs),
			 -ENOMEM);
	assert_int_equal(nr_isolated(), 0);
	assert_int_equal(live_pins(), 0);
	/* all good: nothing is touched */
	array[0] = good;
	grab((struct page **)array, 1);
	assert_int_equal(check_and_migrate_movable_folios(1, array), 0);
	assert_int_equal(live_pins(), 1);
	unpin_folios(array, 1);
	assert_int_equal(check_and_migrate_movable_folios(0, array), 0);
	drop_folios();
	end();
}

/* ---- batches ---------------------------------------------------------- */

static unsigned int batched(unsigned int cpu)
{
	return m->cpus[cpu - 1].nr_lru_add;
}

/* A new small folio, in the batch of @cpu or, 0, on its list. */
static struct folio *small_on(unsigned int cpu)
{
	struct folio *folio;

	current->cpu = cpu ? cpu : 1;
	folio = add_folio(GFP_HIGHUSER_MOVABLE, 0);
	if (!cpu)
		lru_add_drain();
	current->cpu = 1;
	return folio;
}

static unsigned long collect_folio(struct folio *folio)
{
	struct page *array[1] = { &folio->page };
	struct found f;

	collect_pages(&f, array, 1);
	assert_int_equal(f.count, 1);
	return f.nr;
}

static void the_own_batch_is_drained_first(void **state)
{
	struct folio *folio;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	/* on its list, with the references of one mapping and one pin */
	folio = small_on(0);
	small_on(1);
	small_on(2);
	assert_int_equal(collect_folio(folio), 1);
	assert_int_equal(batched(1), 1);
	assert_int_equal(batched(2), 1);
	/* in this CPU's batch */
	assert_int_equal(collect_folio(small_on(1)), 1);
	assert_int_equal(batched(1), 0);
	assert_int_equal(batched(2), 1);
	/* in another's: all are drained */
	small_on(1);
	small_on(3);
	assert_int_equal(collect_folio(small_on(2)), 1);
	for (unsigned int cpu = 1; cpu <= m->nr_cpus; cpu++)
		assert_int_equal(batched(cpu), 0);
	/* one reference that draining does not explain */
	folio = small_on(0);
	small_on(3);
	folio_get(folio);
	assert_int_equal(collect_folio(folio), 1);
	assert_int_equal(batched(3), 0);
	folio_put(folio);
	drop_folios();
	end();
}

static void each_drain_comes_once(void **state)
{
	struct folio *folio;
	int drained = 0;
	LIST_HEAD(list);

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	grab((struct page *[]){ &small_on(2)->page }, 1);
	longterm_isolate(folios[0], &list, &drained);
	assert_int_equal(drained, 2);
	/* From now on what waits in a batch is not to be had. */
	folio = small_on(1);
	small_on(2);
	grab((struct page *[]){ &folio->page }, 1);
	longterm_isolate(folio, &list, &drained);
	assert_int_equal(batched(1), 1);
	assert_int_equal(batched(2), 1);
	assert_int_equal(nr_isolated(), 1);
	unpin_user_page(&folio->page);
	finish(&list, (struct page *[]){ &folios[0]->page }, 1);
	/* local first: the global one is not needed for this */
	drained = 0;
	grab((struct page *[]){ &folio->page }, 1);
	longterm_isolate(folio, &list, &drained);
	assert_int_equal(drained, 1);
	assert_int_equal(batched(2), 1);
	finish(&list, (struct page *[]){ &folio->page }, 1);
	drop_folios();
	end();
}

static void large_folios_drain_nothing(void **state)
{
	struct folio *large;
	pf_addr_t place;
	struct page *page;

	(void)state;
	begin((struct pf_machine_options){
		.metadata_only = true, .hugetlb_2m_pages = 1,
	});
	large = add_folio(GFP_HIGHUSER_MOVABLE, 4);
	small_on(1);
	small_on(2);
	folio_get(large);
	assert_int_equal(collect_folio(large), 1);
	folio_put(large);
	assert_int_equal(pf_mmap(t.mm, FAR, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
				 PINFOLD_MAP_FIXED | PINFOLD_MAP_POPULATE,
				 &place), 0);
	/* populating drained this CPU's */
	assert_int_equal(batched(1), 0);
	small_on(1);
	page = page_mapped_at(&t, FAR);
	m->pageblock_type[page_to_pfn(page) >> PAGEBLOCK_ORDER] = MIGRATE_CMA;
	folio_get(page_folio(page));
	assert_int_equal(collect_folio(page_folio(page)), 1);
	put_page(page);
	m->pageblock_type[page_to_pfn(page) >> PAGEBLOCK_ORDER] =
		MIGRATE_UNMOVABLE;
	assert_int_equal(batched(1), 1);
	assert_int_equal(batched(2), 1);
	drop_folios();
	end();
}

/* A page that the call pinned twice never has the expected count. */
static void pages_pinned_twice_drain_all(void **state)
{
	struct folio *folio;
	struct page *array[2];
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	folio = small_on(0);
	small_on(2);
	array[0] = &folio->page;
	array[1] = &folio->page;
	collect_pages(&f, array, 2);
	assert_int_equal(f.count, 2);
	assert_int_equal(f.nr, 1);
	assert_int_equal(batched(2), 0);
	drop_folios();
	end();
}

/* ---- hugetlb ---------------------------------------------------------- */

static void hugetlb_is_isolated_from_its_pool(void **state)
{
	struct folio *folio;
	pf_addr_t place;
	LIST_HEAD(list);

	(void)state;
	begin((struct pf_machine_options){
		.metadata_only = true, .hugetlb_2m_pages = 2,
	});
	assert_int_equal(pf_mmap(t.mm, FAR, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
				 PINFOLD_MAP_FIXED | PINFOLD_MAP_POPULATE,
				 &place), 0);
	folio = page_folio(page_mapped_at(&t, FAR));
	assert_true(isolate_hugetlb(folio, &list));
	assert_int_equal(folio_ref_count(folio), 2);
	assert_true(list_empty(&m->hstates[HSTATE_2M].active));
	/* it can be had once */
	assert_false(isolate_hugetlb(folio, &list));
	assert_int_equal(folio_ref_count(folio), 2);
	folio_putback_hugetlb(folio);
	assert_true(list_empty(&list));
	assert_valid(&t);
	/* nor is a free page to be had */
	folio = list_first_entry(&m->hstates[HSTATE_2M].freelist, struct folio,
				 lru);
	assert_false(isolate_hugetlb(folio, &list));
	/* unmapped while isolated: it goes home with the last reference */
	folio = page_folio(page_mapped_at(&t, FAR));
	assert_true(isolate_hugetlb(folio, &list));
	assert_int_equal(pf_munmap(t.mm, FAR, PMD_SIZE), 0);
	assert_int_equal(m->hstates[HSTATE_2M].free_huge_pages, 1);
	folio_putback_hugetlb(folio);
	assert_int_equal(m->hstates[HSTATE_2M].free_huge_pages, 2);
	end();
}

static void hugetlb_in_cma_ends_the_call(void **state)
{
	pf_addr_t place;
	struct page *page;

	(void)state;
	begin((struct pf_machine_options){
		.metadata_only = true, .hugetlb_2m_pages = 2,
	});
	assert_int_equal(pf_mmap(t.mm, FAR, 2 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED |
				 PINFOLD_MAP_POPULATE, &place), 0);
	assert_int_equal(pin_pages(FAR, 1024, LONGTERM | FOLL_WRITE), 1024);
	assert_held(1024);
	unpin_user_pages(pages, 1024);
	page = page_mapped_at(&t, FAR + PMD_SIZE);
	m->pageblock_type[page_to_pfn(page) >> PAGEBLOCK_ORDER] = MIGRATE_CMA;
	assert_int_equal(pin_pages(FAR, 512, LONGTERM), 512);
	unpin_user_pages(pages, 512);
	assert_int_equal(pin_pages(FAR, 513, LONGTERM), -ENOMEM);
	assert_held(0);
	assert_int_equal(pin_pages(FAR, 513, 0), 513);
	unpin_user_pages(pages, 513);
	m->pageblock_type[page_to_pfn(page) >> PAGEBLOCK_ORDER] =
		MIGRATE_UNMOVABLE;
	end();
}

/* ---- calls ------------------------------------------------------------ */

static void write_pages(u64 first, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		write_word(&t, P(first + i), first + i);
}

/* Nothing is pinned or isolated by the call, and it counted what it did. */
static void assert_refused(pf_addr_t at, unsigned long nr, unsigned int flags,
			   unsigned long got)
{
	u64 acquired = nr_foll_pin_acquired(m);
	u64 released = nr_foll_pin_released(m);

	memset(pages, 0, sizeof(pages));
	assert_int_equal(pin_pages(at, nr, flags), -ENOMEM);
	assert_int_equal(nr_foll_pin_acquired(m) - acquired, got);
	assert_int_equal(nr_foll_pin_released(m) - released, got);
	assert_int_equal(nr_isolated(), 0);
	assert_int_equal(current->flags, 0);
	assert_valid(&t);
}

/* 1000 movable pages, 100 frames that may be pinned: all or nothing. */
static void case_C1(void **state)
{
	unsigned long used, free;
	char frame[40];

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 1000, RW);
	write_pages(0, 1000);
	while ((filler[nr_filler] = folio_alloc(GFP_KERNEL, 0)))
		nr_filler++;
	drop_filler(100);
	lru_add_drain_all(m);
	used = nr_used_pages(m);
	free = nr_free_pages(m);
	for (unsigned int i = 0; i < 3; i++) {
		pf_pfn_t pfn = page_to_pfn(page_mapped_at(&t, BASE));
		u64 acquired = nr_foll_pin_acquired(m);
		u64 released = nr_foll_pin_released(m);

		assert_int_equal(pin_pages(BASE, 1000, LONGTERM | FOLL_WRITE),
				 -ENOMEM);
		snprintf(frame, sizeof(frame), "frame %" PRIu64 " lies", pfn);
		assert_non_null(strstr(pf_error_text(), frame));
		assert_non_null(strstr(pf_error_text(), "ZONE_MOVABLE"));
		assert_int_equal(nr_foll_pin_acquired(m) - acquired,
				 nr_foll_pin_released(m) - released);
		assert_int_equal(live_pins(), 0);
		assert_int_equal(nr_isolated(), 0);
		assert_int_equal(nr_used_pages(m), used);
		assert_int_equal(nr_free_pages(m), free);
	}
	/* the folio form: one folio of the same kind */
	assert_int_equal(pin_pages(BASE, 1, FOLL_WRITE), 1);
	assert_int_equal(check_and_migrate_movable_folios(1,
			 (struct folio **)pages), -ENOMEM);
	assert_int_equal(live_pins(), 0);
	/* the contents are where they were */
	for (u64 i = 0; i < 1000; i++)
		assert_int_equal(read_word(&t, P(i)), i);
	drop_filler(nr_filler);
	/* with memory, and pages that the call makes itself */
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(1000),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(pin_pages(BASE, 1000, LONGTERM | FOLL_WRITE), 1000);
	assert_pinnable(1000);
	assert_held(1000);
	unpin_user_pages(pages, 1000);
	end();
}

static void the_text_names_the_area(void **state)
{
	struct page *page;
	char frame[40];
	u64 i = 0;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	map_at(&t, BASE, 3000, RW);
	/* ZONE_MOVABLE first; CMA begins behind it */
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(3000),
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	while (folio_migratetype(page_folio(page_mapped_at(&t, P(i)))) !=
	       MIGRATE_CMA)
		i++;
	page = page_mapped_at(&t, P(i));
	assert_refused(P(i), 1, LONGTERM, 1);
	snprintf(frame, sizeof(frame), "frame %" PRIu64 " lies in a CMA area",
		 page_to_pfn(page));
	assert_non_null(strstr(pf_error_text(), frame));
	end();
}

/* One bad page among good ones, first, in the middle, last. */
static void the_good_ones_are_given_back_too(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 64, RW);
	for (u64 bad = 0; bad < 64; bad += 21) {
		assert_int_equal(pf_madvise(t.mm, BASE, PAGES(64),
					    PINFOLD_MADV_DONTNEED), 0);
		write_pages(bad, 1);
		assert_refused(BASE, 64, LONGTERM | FOLL_WRITE, 64);
		assert_refused(BASE, 64, LONGTERM, 64);
		/* around it there is no harm */
		if (bad) {
			assert_int_equal(pin_pages(BASE, bad, LONGTERM), bad);
			assert_pinnable(bad);
			unpin_user_pages(pages, bad);
		}
	}
	end();
}

/* The error hides a short count, as the pages before the hole are released. */
static void short_of_a_hole(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 20, RW);
	assert_int_equal(pin_pages(BASE + PAGES(10), 20,
				   LONGTERM | FOLL_WRITE), 10);
	assert_pinnable(10);
	assert_held(10);
	unpin_user_pages(pages, 10);
	write_pages(4, 1);
	assert_refused(BASE, 30, LONGTERM | FOLL_WRITE, 20);
	assert_int_equal(pin_pages(P(20), 1, LONGTERM), -EFAULT);
	end();
}

static void v15_pinned_by_somebody_else(void **state)
{
	struct page *other;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 4, RW);
	write_pages(0, 4);
	assert_int_equal(pin_pages(P(2), 1, FOLL_WRITE), 1);
	other = pages[0];
	assert_int_equal(pin_pages(BASE, 4, LONGTERM), -ENOMEM);
	pages[0] = other;
	assert_held(1);
	assert_ptr_equal(page_mapped_at(&t, P(2)), other);
	unpin_user_page(other);
	end();
}

/* What the call faults in is born where it may stay. */
static void born_pinnable(void **state)
{
	static const unsigned long orders[] = { 0, BIT(4), BIT(9), BIT(9) |
		BIT(5) | BIT(2) };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
		unsigned long nr = 1500;

		begin((struct pf_machine_options){
			.thp_always = orders[i], .metadata_only = true,
		});
		map_at(&t, BASE, nr, RW);
		assert_int_equal(pin_pages(BASE, nr, LONGTERM | FOLL_WRITE),
				 nr);
		assert_pinnable(nr);
		assert_held(nr);
		unpin_user_pages(pages, nr);
		/* and there it is the next time */
		assert_int_equal(pin_pages(BASE, nr, LONGTERM), nr);
		unpin_user_pages(pages, nr);
		/* the call's scope ends with it */
		map_at(&t, BASE, nr, RW);
		assert_int_equal(pf_madvise(t.mm, BASE, PAGES(nr),
					    PINFOLD_MADV_POPULATE_WRITE), 0);
		assert_true(is_zone_movable_page(page_mapped_at(&t, BASE)));
		end();
	}
}

static void a_leaf_in_the_wrong_place(void **state)
{
	(void)state;
	begin((struct pf_machine_options){
		.thp_always = BIT(9), .metadata_only = true,
	});
	map_at(&t, BASE, 1024, RW);
	assert_int_equal(pf_madvise(t.mm, BASE, PMD_SIZE,
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	assert_true(is_zone_movable_page(page_mapped_at(&t, BASE)));
	assert_refused(BASE, 512, LONGTERM | FOLL_WRITE, 512);
	assert_refused(BASE + PAGES(511), 2, LONGTERM | FOLL_WRITE, 2);
	assert_int_equal(pin_pages(P(512), 512, LONGTERM | FOLL_WRITE), 512);
	assert_true(pmd_leaf(leaf_at(&t, P(512))));
	assert_pinnable(512);
	unpin_user_pages(pages, 512);
	end();
}

/* The zero pages: a page of its own for each reader that wants to stay. */
static void zero_pages(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ .thp_madvise = BIT(9) });
	map_at(&t, BASE, 512, RW);
	map_at(&t, P(512), 512, RW);
	assert_int_equal(pf_madvise(t.mm, P(512), PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	assert_int_equal(read_word(&t, P(3)), 0);
	assert_int_equal(read_word(&t, P(512)), 0);
	assert_int_equal(pin_pages(P(3), 1, 0), 1);
	assert_ptr_equal(pages[0], m->zero_page);
	assert_int_equal(live_pins(), 0);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(P(3), 1, LONGTERM), 1);
	assert_ptr_not_equal(pages[0], m->zero_page);
	assert_pinnable(1);
	write_word(&t, P(3), 5);
	assert_int_equal(*(u64 *)page_address(pages[0]), 5);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(P(512), 512, LONGTERM), 512);
	assert_pinnable(512);
	for (unsigned int i = 0; i < 512; i++)
		assert_ptr_not_equal(page_folio(pages[i]), m->huge_zero_folio);
	assert_held(512);
	unpin_user_pages(pages, 512);
	/* in an array it is as good as any */
	pages[0] = m->zero_page;
	assert_int_equal(per_page_check(1, pages), 0);
	end();
}

/* Somebody has taken it off its list: it cannot be moved, and stays theirs. */
static void isolated_by_somebody_else(void **state)
{
	struct folio *folio;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 2, RW);
	write_pages(0, 2);
	lru_add_drain_all(m);
	folio = page_folio(page_mapped_at(&t, BASE));
	assert_true(folio_isolate_lru(folio));
	assert_int_equal(pin_pages(BASE, 2, LONGTERM), -ENOMEM);
	assert_int_equal(nr_isolated(), 1);
	assert_false(folio_test_lru(folio));
	assert_int_equal(folio_ref_count(folio), 2);
	folio_putback_lru(folio);
	assert_valid(&t);
	end();
}

/* All entry points that pin go through the same check. */
static void every_pin_entry(void **state)
{
	struct mm_struct *mm;
	int locked = 1;

	(void)state;
	begin((struct pf_machine_options){ 0 });
	mm = mm_of(t.mm);
	map_at(&t, BASE, 8, RW);
	write_pages(0, 4);
	pf_mm_read_lock(t.mm);
	assert_int_equal(pf_pin_user_pages(t.mm, BASE, 8, LONGTERM, handles),
			 -ENOMEM);
	assert_int_equal(pf_pin_user_pages_remote(t.mm, BASE, 8, LONGTERM,
						  handles, NULL), -ENOMEM);
	assert_int_equal(pf_pin_user_pages_remote(t.mm, BASE, 8, LONGTERM,
						  handles, &locked), -ENOMEM);
	assert_int_equal(locked, 1);
	assert_true(rwsem_is_locked(&mm->mmap_lock));
	assert_int_equal(pf_pin_user_pages_remote(t.mm, P(4), 4, LONGTERM,
						  handles, &locked), 4);
	pf_mm_read_unlock(t.mm);
	assert_pinnable(4);
	unpin_user_pages(pages, 4);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, BASE, 8, LONGTERM,
						handles), -ENOMEM);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(4), 4, LONGTERM,
						handles), 4);
	unpin_user_pages(pages, 4);
	assert_valid(&t);
	end();
}

/* ---- the loop --------------------------------------------------------- */

static unsigned int passes, good_from;
static int answer;

static int stub_check(unsigned long nr_pages, struct page **array)
{
	assert_true(current->flags & TASK_MEMALLOC_PIN);
	assert_int_equal(live_pins(), nr_pages);
	passes++;
	if (good_from && passes >= good_from)
		return 0;
	unpin_user_pages(array, nr_pages);
	return answer;
}

static int unmapping_check(unsigned long nr_pages, struct page **array)
{
	unpin_user_pages(array, nr_pages);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(8)), 0);
	return -EAGAIN;
}

static int killing_check(unsigned long nr_pages, struct page **array)
{
	unpin_user_pages(array, nr_pages);
	pf_task_signal(pf_task_self(), true);
	return -EAGAIN;
}

static long loop(gup_pin_check_fn check)
{
	int locked = 0;
	long ret;

	passes = 0;
	ret = gup_longterm_loop(check, mm_of(t.mm), BASE, 8, pages, &locked,
				FOLL_PIN | LONGTERM | FOLL_WRITE |
				FOLL_UNLOCKABLE);
	assert_int_equal(locked, 0);
	assert_int_equal(current->flags, 0);
	return ret;
}

static void at_most_ten_passes(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 8, RW);
	answer = -EAGAIN;
	good_from = 0;
	assert_int_equal(loop(stub_check), -ENOMEM);
	assert_int_equal(passes, 10);
	assert_non_null(strstr(pf_error_text(), "10 passes"));
	assert_valid(&t);
	for (good_from = 1; good_from <= 10; good_from++) {
		assert_int_equal(loop(stub_check), 8);
		assert_int_equal(passes, good_from);
		assert_held(8);
		unpin_user_pages(pages, 8);
	}
	assert_int_equal(loop(stub_check), -ENOMEM);
	/* any other error is final */
	good_from = 0;
	answer = -ENOMEM;
	assert_int_equal(loop(stub_check), -ENOMEM);
	assert_int_equal(passes, 1);
	assert_valid(&t);
	end();
}

/* The later passes find what is there then. */
static void passes_see_changes(void **state)
{
	(void)state;
	begin((struct pf_machine_options){ 0 });
	map_at(&t, BASE, 8, RW);
	assert_int_equal(loop(killing_check), -EINTR);
	pf_task_clear_signals();
	assert_valid(&t);
	assert_int_equal(loop(unmapping_check), -EFAULT);
	assert_valid(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_folio_is_per_page),
		cmocka_unit_test(skips_end_with_the_folio),
		cmocka_unit_test(good_folios_are_skipped_too),
		cmocka_unit_test(empty_slots_are_stepped_over),
		cmocka_unit_test(folio_arrays_skip_nothing),
		cmocka_unit_test(the_own_batch_is_drained_first),
		cmocka_unit_test(each_drain_comes_once),
		cmocka_unit_test(large_folios_drain_nothing),
		cmocka_unit_test(pages_pinned_twice_drain_all),
		cmocka_unit_test(hugetlb_is_isolated_from_its_pool),
		cmocka_unit_test(hugetlb_in_cma_ends_the_call),
		cmocka_unit_test(case_C1),
		cmocka_unit_test(the_text_names_the_area),
		cmocka_unit_test(the_good_ones_are_given_back_too),
		cmocka_unit_test(short_of_a_hole),
		cmocka_unit_test(v15_pinned_by_somebody_else),
		cmocka_unit_test(born_pinnable),
		cmocka_unit_test(a_leaf_in_the_wrong_place),
		cmocka_unit_test(zero_pages),
		cmocka_unit_test(isolated_by_somebody_else),
		cmocka_unit_test(every_pin_entry),
		cmocka_unit_test(at_most_ten_passes),
		cmocka_unit_test(passes_see_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
