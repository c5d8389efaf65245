/* SPDX-License-Identifier: MIT */
/*
 * Claim: huge pages are mapped by single leaves, pinned in parts and across
 * leaves, copied whole where they are shared, and outlive their mappings while
 * they are pinned.
 *
 * v20, v21: the scenarios of that name.
 * Source: mm/hugetlb.c; mm/gup.c: check_vma_flags(), follow_huge_pmd(),
 *         follow_huge_pud()
 */
#include "tests/hugetlb_test.h"

#include <errno.h>

/* ---- leaves ----------------------------------------------------------- */

/* [at, + nr) lies in leaves of 2^order pages: counts and array are exact. */
static void check_pin(pf_addr_t at, unsigned long nr, unsigned int order,
		      unsigned int flags)
{
	u64 acquired = nr_foll_pin_acquired(machine_of(t.machine));
	unsigned long in_leaf = 1UL << order;
	unsigned long first = (at >> PAGE_SHIFT) & (in_leaf - 1);

	assert_int_equal(pin_pages(at, nr, flags), nr);
	assert_int_equal(nr_foll_pin_acquired(machine_of(t.machine)) -
			 acquired, nr);
	for (unsigned long i = 0; i < nr; ) {
		struct folio *folio = page_folio(pages[i]);
		unsigned long part = min(in_leaf - (first + i) % in_leaf,
					 nr - i);

		assert_int_equal(folio_order(folio), order);
		assert_int_equal(folio_ref_count(folio), 1 + part);
		assert_int_equal(atomic_read(&folio->_pincount), part);
		assert_int_equal(folio_mapcount(folio), 1);
		assert_true(folio_maybe_dma_pinned(folio));
		for (unsigned long k = 0; k < part; k++)
			if (pages[i + k] != folio_page(folio, (first + i) %
						       in_leaf + k))
				assert_true(false);
		i += part;
	}
	assert_held(nr);
	unpin_user_pages(pages, nr);
}

static const unsigned int each_intent[] = {
	0, FOLL_WRITE, FOLL_LONGTERM, FOLL_WRITE | FOLL_LONGTERM,
};

static void pmd_leaves(void **state)
{
	(void)state;
	begin(3);
	for (unsigned int i = 0; i < ARRAY_SIZE(each_intent); i++) {
		const unsigned int flags = each_intent[i];

		map_huge(H(0), 3, RW);
		check_pin(H(0), 512, HPAGE_PMD_ORDER, flags);
		check_pin(H(1) + PAGES(200), 123, HPAGE_PMD_ORDER, flags);
		check_pin(H(0) + PAGES(511), 2, HPAGE_PMD_ORDER, flags);
		check_pin(H(0) + PAGES(389), 123 + 512 + 1, HPAGE_PMD_ORDER,
			  flags);
		check_pin(H(0), 3 * 512, HPAGE_PMD_ORDER, flags);
		/* past the area's end: what there is */
		assert_int_equal(pin_pages(H(2) + PAGES(500), 100, flags), 12);
		unpin_user_pages(pages, 12);
		assert_int_equal(pf_munmap(t.mm, H(0), 3 * HUGE), 0);
	}
	end();
}

static void pmd_leaf_has_no_spare_table(void **state)
{
	struct page *table;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 1);
	table = virt_to_page(mm_find_pmd(mm_of(t.mm), H(0)));
	assert_null(table->pt_next);
	/* pgd, pud, pmd */
	assert_int_equal(atomic64_read(&mm_of(t.mm)->pgtables), 3);
	end();
}

static void the_head_is_exclusive(void **state)
{
	struct folio *folio;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	folio = folio_at(H(0));
	assert_true(PageAnonExclusive(&folio->page));
	for (unsigned int i = 1; i < HPAGE_PMD_NR; i++)
		assert_false(PageAnonExclusive(folio_page(folio, i)));
	/* a read pin in the middle asks the head */
	assert_int_equal(pin_pages(H(0) + PAGES(100), 5, 0), 5);
	assert_int_equal(pool()->free_huge_pages, 0);
	assert_held(5);
	unpin_user_pages(pages, 5);
	end();
}

/* A read maps the page read-only; the store that follows takes it as it is. */
static void a_read_maps_read_only(void **state)
{
	struct folio *folio;
	pmd_t leaf;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	assert_int_equal(read_word(&t, H(0)), 0);
	leaf = leaf_at(&t, H(0));
	assert_false(pmd_write(leaf));
	assert_false(pmd_dirty(leaf));
	folio = folio_at(H(0));
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE | FOLL_NOFAULT),
			 -EFAULT);
	/* exclusive: a pin for reading needs nothing more */
	assert_int_equal(pin_pages(H(0), 1, FOLL_LONGTERM | FOLL_NOFAULT), 1);
	write_word(&t, H(0), 1);
	leaf = leaf_at(&t, H(0));
	assert_true(pmd_write(leaf) && pmd_dirty(leaf));
	assert_ptr_equal(folio_at(H(0)), folio);
	assert_int_equal(*(u64 *)page_address(pages[0]), 1);
	unpin_user_pages(pages, 1);
	end();
}

static struct hstate *gigantic_pool(void)
{
	return &machine_of(t.machine)->hstates[HSTATE_1G];
}

static void begin_gigantic(u64 nr)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_1g_pages = nr,
		.metadata_only = true,
	});
}

static void map_gigantic(pf_addr_t at, u64 nr, int prot)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t.mm, at, nr * GIGANTIC, prot,
				 HUGETLB | PINFOLD_MAP_HUGE_1GB |
				 PINFOLD_MAP_FIXED, &place), 0);
}

static void pud_leaves(void **state)
{
	(void)state;
	begin_gigantic(2);
	for (unsigned int i = 0; i < ARRAY_SIZE(each_intent); i += 3) {
		const unsigned int flags = each_intent[i];
		pf_addr_t middle = BASE + GIGANTIC;

		map_gigantic(BASE, 2, RW);
		check_pin(BASE, HPAGE_PUD_NR, HPAGE_PUD_ORDER, flags);
		check_pin(middle - PAGES(100), 123, HPAGE_PUD_ORDER, flags);
		check_pin(middle + PAGES(70000), 123, HPAGE_PUD_ORDER, flags);
		check_pin(middle - PAGES(1), HPAGE_PUD_NR + 1, HPAGE_PUD_ORDER,
			  flags);
		check_pin(BASE, 2 * HPAGE_PUD_NR, HPAGE_PUD_ORDER, flags);
		assert_int_equal(pin_pages(middle + PAGES(HPAGE_PUD_NR - 7),
					   100, flags), 7);
		assert_int_equal(pf_page_folio_order(handles[0]), 18);
		unpin_user_pages(pages, 7);
		assert_int_equal(gigantic_pool()->free_huge_pages, 0);
		assert_int_equal(pf_munmap(t.mm, BASE, 2 * GIGANTIC), 0);
		assert_int_equal(gigantic_pool()->free_huge_pages, 2);
	}
	mm_test_end(&t);
}

static void pud_leaves_change_and_move(void **state)
{
	struct mm_struct *mm;
	pf_addr_t place;
	pud_t *pud;

	(void)state;
	begin_gigantic(3);
	mm = mm_of(t.mm);
	map_gigantic(BASE, 3, RW);
	assert_int_equal(gigantic_pool()->resv_huge_pages, 3);
	assert_int_equal(pin_pages(BASE + PAGES(5), 1, 0), 1);
	pud = mm_find_pud(mm, BASE);
	assert_true(pud_leaf(pudp_get(pud)) && !pud_write(pudp_get(pud)));
	assert_int_equal(pin_pages(BASE + PAGES(5), 1,
				   FOLL_WRITE | FOLL_NOFAULT), -EFAULT);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(BASE + PAGES(5), 1, FOLL_WRITE), 1);
	assert_true(pud_write(pudp_get(pud)));
	assert_int_equal(gigantic_pool()->free_huge_pages, 2);

	assert_int_equal(pf_mprotect(t.mm, BASE, PMD_SIZE, PINFOLD_PROT_NONE),
			 -EINVAL);
	assert_int_equal(pf_munmap(t.mm, BASE, PMD_SIZE), -EINVAL);
	assert_int_equal(pf_mprotect(t.mm, BASE, GIGANTIC, PINFOLD_PROT_NONE),
			 0);
	assert_held(1);
	unpin_user_page(pages[0]);
	assert_int_equal(pin_pages(BASE, 1, 0), -EFAULT);
	assert_int_equal(pin_pages(BASE, 9, FOLL_FORCE), 9);
	assert_held(9);
	assert_int_equal(pf_mprotect(t.mm, BASE, GIGANTIC, RW), 0);
	assert_int_equal(pf_mremap(t.mm, BASE, 2 * GIGANTIC, 2 * GIGANTIC, TO,
				   FAR, &place), 0);
	assert_held(9);
	assert_int_equal(pf_munmap(t.mm, FAR, GIGANTIC), 0);
	assert_int_equal(gigantic_pool()->free_huge_pages, 2);
	assert_int_equal(gigantic_pool()->resv_huge_pages, 2);
	unpin_user_pages(pages, 9);
	assert_int_equal(gigantic_pool()->free_huge_pages, 3);
	/* small pages where a leaf was */
	assert_int_equal(pf_munmap(t.mm, FAR, 2 * GIGANTIC), 0);
	map_at(&t, FAR, 4, RW);
	assert_int_equal(pin_pages(FAR, 4, FOLL_WRITE), 4);
	assert_held(4);
	unpin_user_pages(pages, 4);
	mm_test_end(&t);
}

/* ---- outliving -------------------------------------------------------- */

static void pins_outlive_mapping_and_mm(void **state)
{
	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1) + PAGE_SIZE, 77);
	assert_int_equal(pin_pages(H(1), 600, FOLL_WRITE), 600);
	assert_pool(2, 2);
	assert_int_equal(pf_munmap(t.mm, H(0), 4 * HUGE), 0);
	assert_pool(2, 0);
	assert_held(600);
	pf_mm_destroy(t.mm);
	assert_int_equal(*(u64 *)page_address(pages[1]), 77);
	assert_int_equal(pf_machine_destroy(t.machine), -EBUSY);
	/* the first page goes with its 512th pin */
	unpin_user_pages(pages, 511);
	assert_pool(2, 0);
	unpin_user_page(pages[511]);
	assert_pool(3, 0);
	unpin_user_pages_dirty_lock(pages + 512, 88, true);
	assert_pool(4, 0);
	assert_int_equal(pf_mm_create(t.machine, &t.mm), 0);
	end();
}

static void references_keep_pages_too(void **state)
{
	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, H(0) + PAGES(3), 2,
						    handles, FOLL_WRITE), 2);
	assert_int_equal(pf_munmap(t.mm, H(0), HUGE), 0);
	assert_pool(1, 0);
	put_page(pages[0]);
	assert_pool(1, 0);
	put_page(pages[1]);
	assert_pool(2, 0);
	end();
}

/* ---- copy on write ---------------------------------------------------- */

/*
 * As fork leaves a page: another entry maps it, and neither is exclusive.  The
 * other mapping's share is played by a reference and a count.
 */
static struct folio *share_leaf(pf_addr_t at, pmd_t *leaf)
{
	struct folio *folio = page_folio(pmd_page(pmdp_get(leaf)));

	ClearPageAnonExclusive(&folio->page);
	set_pmd_at(mm_of(t.mm), at, leaf, pmd_wrprotect(pmdp_get(leaf)));
	folio_get(folio);
	atomic_inc(&folio->_mapcount);
	return folio;
}

static struct folio *share(pf_addr_t at)
{
	return share_leaf(at, mm_find_pmd(mm_of(t.mm), at));
}

static void unshare(struct folio *folio)
{
	atomic_dec(&folio->_mapcount);
	folio_put(folio);
}

static void a_shared_page_is_copied(void **state)
{
	struct folio *old;

	(void)state;
	begin(3);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0) + PAGES(300), 5);
	old = share(H(0));
	write_word(&t, H(0), 1);
	assert_ptr_not_equal(folio_at(H(0)), old);
	assert_int_equal(read_word(&t, H(0) + PAGES(300)), 5);
	assert_int_equal(folio_mapcount(old), 1);
	assert_int_equal(folio_ref_count(old), 1);
	assert_pool(1, 0);
	unshare(old);
	assert_pool(2, 0);

	/* a pin for reading: a page of its own, mapped read-only */
	old = share(H(0));
	assert_int_equal(pin_pages(H(0) + PAGES(300), 1, 0), 1);
	assert_ptr_not_equal(page_folio(pages[0]), old);
	assert_false(pmd_write(leaf_at(&t, H(0))));
	assert_int_equal(*(u64 *)page_address(pages[0]), 5);
	/* GET takes it as it is */
	unpin_user_pages(pages, 1);
	unshare(old);
	old = share(H(0));
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, H(0), 1, handles, 0),
			 1);
	assert_ptr_equal(page_folio(pages[0]), old);
	put_page(pages[0]);
	unshare(old);
	assert_pool(2, 0);
	assert_valid(&t);
	end();
}

/* The same of a PUD leaf, whose head speaks for a page far behind it. */
static void a_shared_gigantic_page_is_copied(void **state)
{
	const pf_addr_t far = BASE + PAGES(70000);
	struct folio *old;
	pud_t *pud;

	(void)state;
	begin_gigantic(2);
	map_gigantic(BASE, 1, RW);
	assert_int_equal(pin_pages(BASE, 1, FOLL_WRITE), 1);
	unpin_user_pages(pages, 1);
	pud = mm_find_pud(mm_of(t.mm), BASE);
	old = share_leaf(BASE, (pmd_t *)pud);
	assert_int_equal(pin_pages(far, 1, FOLL_NOFAULT), -EFAULT);
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, far, 1, handles,
						    FOLL_NOFAULT), 1);
	assert_ptr_equal(pages[0], folio_page(old, 70000));
	put_page(pages[0]);
	assert_int_equal(pin_pages(far, 3, 0), 3);
	assert_ptr_not_equal(page_folio(pages[0]), old);
	assert_true(PageAnonExclusive(&page_folio(pages[0])->page));
	assert_false(pud_write(pudp_get(pud)));
	assert_int_equal(folio_ref_count(old), 1);
	unpin_user_pages(pages, 3);
	unshare(old);
	assert_int_equal(gigantic_pool()->free_huge_pages, 1);
	/* exclusive, and still read-only */
	assert_int_equal(pin_pages(far, 3, FOLL_NOFAULT), 3);
	assert_held(3);
	unpin_user_pages(pages, 3);
	mm_test_end(&t);
}

/* For a dump, a PUD leaf that may not be written is as good as none. */
static void dump_of_a_read_only_gigantic_page(void **state)
{
	pud_t *pud;

	(void)state;
	begin_gigantic(1);
	map_gigantic(BASE, 1, RW);
	assert_int_equal(pin_pages(BASE, 1, 0), 1);
	unpin_user_pages(pages, 1);
	pud = mm_find_pud(mm_of(t.mm), BASE);
	assert_int_equal(pin_pages(BASE, 1, FOLL_WRITE | FOLL_DUMP), -EFAULT);
	assert_false(pud_write(pudp_get(pud)));
	assert_int_equal(pin_pages(BASE, 1, FOLL_DUMP), 1);
	unpin_user_pages(pages, 1);
	assert_int_equal(pin_pages(BASE, 1, FOLL_WRITE), 1);
	assert_true(pud_write(pudp_get(pud)));
	unpin_user_pages(pages, 1);
	mm_test_end(&t);
}

static void a_copy_needs_a_page(void **state)
{
	struct folio *old;
	u64 word = 1;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	old = share(H(0));
	assert_int_equal(pf_write(t.mm, H(0), &word, sizeof(word)), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, 0), -EFAULT);
	assert_ptr_equal(folio_at(H(0)), old);
	assert_int_equal(read_word(&t, H(0)), 3);
	unshare(old);
	/* the last mapping takes it over, whoever else has a reference */
	folio_get(old);
	write_word(&t, H(0), 1);
	assert_ptr_equal(folio_at(H(0)), old);
	assert_true(PageAnonExclusive(&old->page));
	folio_put(old);
	end();
}

/* A page that cannot be read cannot be copied: nothing is kept of the try. */
static void a_poisoned_page_is_not_copied(void **state)
{
	struct folio *old;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	old = share(H(0));
	set_bit(PG_hwpoison, &folio_page(old, 77)->flags);
	assert_int_equal(pin_pages(H(0), 1, 0), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, FOLL_HWPOISON), -EHWPOISON);
	assert_int_equal(pin_pages(H(0), 1, FOLL_HWPOISON | FOLL_WRITE),
			 -EHWPOISON);
	assert_ptr_equal(folio_at(H(0)), old);
	assert_int_equal(folio_mapcount(old), 2);
	assert_pool(1, 0);
	clear_bit(PG_hwpoison, &folio_page(old, 77)->flags);
	unshare(old);
	end();
}

/* A page of its own changes nothing in what stores have to ask first. */
static void an_unshared_copy_stays_write_protected(void **state)
{
	struct folio *old;
	pmd_t *pmd;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	old = share(H(0));
	pmd = mm_find_pmd(mm_of(t.mm), H(0));
	set_pmd_at(mm_of(t.mm), H(0), pmd, pmd_mkuffd_wp(pmdp_get(pmd)));
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	assert_ptr_not_equal(page_folio(pages[0]), old);
	assert_true(pmd_uffd_wp(pmdp_get(pmd)));
	assert_false(pmd_write(pmdp_get(pmd)));
	unpin_user_pages(pages, 1);
	unshare(old);
	/* and none is made up */
	set_pmd_at(mm_of(t.mm), H(0), pmd, pmd_clear_uffd_wp(pmdp_get(pmd)));
	old = share(H(0));
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	assert_false(pmd_uffd_wp(pmdp_get(pmd)));
	unpin_user_pages(pages, 1);
	unshare(old);
	end();
}

/* ---- what is refused -------------------------------------------------- */

static void v20_forced_write_to_read_only(void **state)
{
	(void)state;
	begin(2);
	map_huge(H(0), 1, PINFOLD_PROT_READ);
	map_huge(H(1), 1, RW);
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE | FOLL_FORCE), -EFAULT);
	assert_int_equal(read_word(&t, H(0)), 0);
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE | FOLL_FORCE), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, FOLL_FORCE), 1);
	unpin_user_pages(pages, 1);
	/* up to the border between the two */
	assert_int_equal(pin_pages(H(1) - PAGES(3), 6, 0), 6);
	unpin_user_pages(pages, 6);
	assert_int_equal(pin_pages(H(1) - PAGES(3), 6, FOLL_WRITE), -EFAULT);
	end();
}

static void flags_not_for_huge_pages(void **state)
{
	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin_pages(H(0), 1, FOLL_ANON), -EFAULT);
		assert_int_equal(pin_pages(H(0), 1, FOLL_SPLIT_PMD),
				 -EOPNOTSUPP);
		/* ANON is looked at first */
		assert_int_equal(pin_pages(H(0), 1, FOLL_ANON | FOLL_SPLIT_PMD),
				 -EFAULT);
		assert_int_equal(pin_pages(H(0), 1, FOLL_NOFAULT),
				 i ? 1 : -EFAULT);
		if (i)
			unpin_user_pages(pages, 1);
		else
			write_word(&t, H(0), 1);
	}
	end();
}

static void v21_dump_of_huge_pages(void **state)
{
	struct pf_page *page = NULL;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	assert_int_equal(pf_get_dump_page(t.mm, H(0) + PAGES(9), &page), 0);
	assert_pool(2, 2);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->pgtables), 1);
	write_word(&t, H(0), 1);
	/* its neighbour, now that the table is there */
	assert_int_equal(pf_get_dump_page(t.mm, H(1), &page), 0);
	assert_pool(1, 1);
	assert_null(page);
	assert_int_equal(pf_get_dump_page(t.mm, H(0) + PAGES(9), &page), 1);
	assert_ptr_equal(page_of(page), folio_page(folio_at(H(0)), 9));
	pf_put_page(page);
	end();
}

/* ---- transfers --------------------------------------------------------- */

/* The pages that a device would read for [@start, @end) of the buffer. */
static void transfer(u64 start, u64 end)
{
	const unsigned long first = start >> PAGE_SHIFT;
	const unsigned long nr = ((end + PAGE_SIZE - 1) >> PAGE_SHIFT) -
				 first;

	assert_int_equal(pf_pin_user_pages_fast(t.mm, H(0) + PAGES(first), nr,
						0, handles), nr);
	assert_held(nr);
	unpin_user_pages(pages, nr);
}

/* No pin is left, wherever the transfer starts and ends. */
static void gup_O2(void **state)
{
	static const u64 offsets[] = { 0, PAGE_SIZE / 2 };

	(void)state;
	begin(3);
	for (unsigned int i = 0; i < 4; i++) {
		map_huge(H(0), 3, RW);
		for (u64 k = 0; k < 3; k++)
			write_word(&t, H(k), k + 1);
		assert_pool(0, 0);
		transfer(offsets[i & 1], 3 * HUGE - offsets[i >> 1]);
		assert_int_equal(pf_munmap(t.mm, H(0), 3 * HUGE), 0);
		assert_pool(3, 0);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gup_O2),
		cmocka_unit_test(pmd_leaves),
		cmocka_unit_test(pmd_leaf_has_no_spare_table),
		cmocka_unit_test(the_head_is_exclusive),
		cmocka_unit_test(a_read_maps_read_only),
		cmocka_unit_test(pud_leaves),
		cmocka_unit_test(pud_leaves_change_and_move),
		cmocka_unit_test(pins_outlive_mapping_and_mm),
		cmocka_unit_test(references_keep_pages_too),
		cmocka_unit_test(a_shared_page_is_copied),
		cmocka_unit_test(a_shared_gigantic_page_is_copied),
		cmocka_unit_test(dump_of_a_read_only_gigantic_page),
		cmocka_unit_test(a_copy_needs_a_page),
		cmocka_unit_test(a_poisoned_page_is_not_copied),
		cmocka_unit_test(an_unshared_copy_stays_write_protected),
		cmocka_unit_test(v20_forced_write_to_read_only),
		cmocka_unit_test(flags_not_for_huge_pages),
		cmocka_unit_test(v21_dump_of_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
