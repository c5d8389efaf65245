/* SPDX-License-Identifier: MIT */
/*
 * Claim: a folio that may not be pinned is taken off its list or its pool, once
 * the batches that hide it are drained: this CPU's first, all of them only if
 * that was not enough, and each once a call.
 *
 * Source: mm/gup.c: collect_longterm_unpinnable_folios();
 *         mm/hugetlb.c: isolate_hugetlb(), folio_putback_hugetlb()
 */
#include "tests/longterm_test.h"

#include "mm/hugetlb.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_own_batch_is_drained_first),
		cmocka_unit_test(each_drain_comes_once),
		cmocka_unit_test(large_folios_drain_nothing),
		cmocka_unit_test(pages_pinned_twice_drain_all),
		cmocka_unit_test(hugetlb_is_isolated_from_its_pool),
		cmocka_unit_test(hugetlb_in_cma_ends_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
