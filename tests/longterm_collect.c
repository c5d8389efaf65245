/* SPDX-License-Identifier: MIT */
/*
 * Claim: looking once a folio and skipping by frame numbers finds what looking
 * at every page finds: the same folios, in the same order.
 *
 * Source: mm/gup.c: collect_longterm_unpinnable_folios(),
 *         migrate_longterm_unpinnable_folios()
 */
#include "tests/longterm_test.h"
#include "tests/random.h"

#include "mm/hugetlb.h"

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

static void set_block_type(struct folio *folio, enum migratetype type)
{
	m->pageblock_type[folio_pfn(folio) >> PAGEBLOCK_ORDER] = type;
}

/*
 * A block that was found good says nothing about the next one, on either side.
 * Whole blocks of NORMAL memory; that the middle one is CMA is played.
 */
static void good_blocks_end_at_their_borders(void **state)
{
	struct folio *block[3];
	struct page *array[4];
	struct found f;

	(void)state;
	begin((struct pf_machine_options){ .metadata_only = true });
	for (unsigned int i = 0; i < 3; i++)
		block[i] = add_folio(GFP_KERNEL, PAGEBLOCK_ORDER);
	for (unsigned int i = 1; i < 3; i++)
		assert_int_equal(folio_pfn(block[i]),
				 folio_pfn(block[i - 1]) + PAGEBLOCK_PAGES);
	set_block_type(block[1], MIGRATE_CMA);
	array[0] = folio_page(block[0], PAGEBLOCK_PAGES - 1);
	array[1] = folio_page(block[1], 0);
	array[2] = folio_page(block[2], 0);
	assert_int_equal(collect_array(&f, array, 3), 1);
	assert_ptr_equal(f.isolated[0], block[1]);
	array[0] = folio_page(block[2], 0);
	array[1] = folio_page(block[1], PAGEBLOCK_PAGES - 1);
	array[2] = folio_page(block[0], PAGEBLOCK_PAGES - 1);
	assert_int_equal(collect_array(&f, array, 3), 1);
	assert_ptr_equal(f.isolated[0], block[1]);
	set_block_type(block[1], MIGRATE_UNMOVABLE);
	assert_int_equal(collect_array(&f, array, 3), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_folio_is_per_page),
		cmocka_unit_test(skips_end_with_the_folio),
		cmocka_unit_test(good_folios_are_skipped_too),
		cmocka_unit_test(good_blocks_end_at_their_borders),
		cmocka_unit_test(empty_slots_are_stepped_over),
		cmocka_unit_test(folio_arrays_skip_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
