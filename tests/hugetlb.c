/* SPDX-License-Identifier: MIT */
/*
 * Claim: a pool keeps what it promised, and gets back exactly what it gave;
 * huge pages are mapped by single leaves, pinned in parts and across leaves,
 * cut between pages only, and outlive their mappings while they are pinned.
 *
 * Source: mm/hugetlb.c; mm/gup.c: check_vma_flags(), follow_huge_pmd(),
 *         follow_huge_pud()
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "mm/hugetlb.h"

#include <errno.h>
#include <pthread.h>

#define HUGE		((u64)PMD_SIZE)
#define GIGANTIC	((u64)PUD_SIZE)
#define H(n)		(BASE + (u64)(n) * HUGE)
#define HUGETLB		PINFOLD_MAP_HUGETLB
#define FAR		(BASE + ((u64)1 << 41))
#define TO		(PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED)

static struct mm_test t;
static struct page *pages[2 * HPAGE_PUD_NR + 1];
#define handles		((struct pf_page **)pages)

static struct hstate *pool(void)
{
	return &machine_of(t.machine)->hstates[HSTATE_2M];
}

static struct hstate *gigantic_pool(void)
{
	return &machine_of(t.machine)->hstates[HSTATE_1G];
}

static void begin(u64 huge_pages)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_2m_pages = huge_pages,
	});
	assert_int_equal(pool()->nr_huge_pages, huge_pages);
	assert_int_equal(pool()->free_huge_pages, huge_pages);
}

static void end(void)
{
	unsigned long huge_pages = pool()->nr_huge_pages;

	pf_mm_destroy(t.mm);
	assert_int_equal(pool()->free_huge_pages, huge_pages);
	assert_int_equal(pool()->resv_huge_pages, 0);
	assert_int_equal(pf_mm_create(t.machine, &t.mm), 0);
	mm_test_end(&t);
}

#define assert_pool(free, resv) do {					\
	assert_int_equal(pool()->free_huge_pages, (free));		\
	assert_int_equal(pool()->resv_huge_pages, (resv));		\
} while (0)

static void map_huge(pf_addr_t at, u64 nr, int prot)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t.mm, at, nr * HUGE, prot,
				 HUGETLB | PINFOLD_MAP_FIXED, &place), 0);
}

static long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(machine_of(t.machine), &holds), 0);
}

static struct folio *folio_at(pf_addr_t at)
{
	struct page *page = page_mapped_at(&t, at);

	return page ? page_folio(page) : NULL;
}

/* ---- pools ------------------------------------------------------------ */

static void pools_are_made_or_refused(void **state)
{
	struct pf_machine_options o = {
		.size = sizeof(o), .memory_bytes = MIB(4),
		.metadata_only = true,
	};
	struct pf_machine *machine;

	(void)state;
	o.hugetlb_2m_pages = 3;
	o.hugetlb_1g_pages = 2;
	assert_int_equal(pf_machine_create(&o, &machine), 0);
	assert_int_equal(machine_of(machine)->hstates[HSTATE_2M]
			 .free_huge_pages, 3);
	assert_int_equal(machine_of(machine)->hstates[HSTATE_1G]
			 .free_huge_pages, 2);
	/* What is in a pool is neither free memory nor in use. */
	assert_true(nr_free_pages(machine_of(machine)) <= MIB(8) / PAGE_SIZE);
	assert_int_equal(nr_used_pages(machine_of(machine)), 0);
	assert_int_equal(mm_validate(machine_of(machine), NULL), 0);
	assert_int_equal(pf_machine_destroy(machine), 0);

	/* Counts whose bytes or frames wrap around are no small pools. */
	for (unsigned int shift = 16; shift < 64; shift++) {
		o.hugetlb_2m_pages = shift & 1 ? (u64)1 << shift : 0;
		o.hugetlb_1g_pages = shift & 1 ? 0 : (u64)1 << shift;
		if (shift == 16)
			continue;
		assert_int_equal(pf_machine_create(&o, &machine), -EINVAL);
	}
}

static void reservations_promise(void **state)
{
	pf_addr_t place = 0xdead;

	(void)state;
	begin(6);
	map_huge(H(0), 4, RW);
	assert_pool(6, 4);
	/* Two are left that nobody has a right to. */
	assert_int_equal(pf_mmap(t.mm, 0, 3 * HUGE, RW, HUGETLB, &place),
			 -ENOMEM);
	assert_int_equal(place, 0xdead);
	assert_non_null(strstr(pf_error_text(), "2048 KiB"));
	assert_pool(6, 4);
	assert_int_equal(pf_mmap(t.mm, 0, 2 * HUGE, RW, HUGETLB, &place), 0);
	assert_true(IS_ALIGNED(place, HUGE));
	assert_pool(6, 6);
	assert_valid(&t);
	assert_int_equal(pf_munmap(t.mm, place, 2 * HUGE), 0);
	assert_pool(6, 4);
	/* Lengths are whole huge pages. */
	assert_int_equal(pf_mmap(t.mm, 0, HUGE + 1, RW, HUGETLB, &place), 0);
	assert_pool(6, 6);
	end();
}

static void a_fault_takes_its_reservation(void **state)
{
	(void)state;
	begin(5);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1) + 8, 11);
	assert_pool(4, 3);
	assert_int_equal(read_word(&t, H(1) + 8), 11);
	assert_int_equal(read_word(&t, H(1) + HUGE - 8), 0);
	assert_pool(4, 3);
	assert_int_equal(read_word(&t, H(3)), 0);
	assert_pool(3, 2);
	assert_valid(&t);
	assert_int_equal(nr_used_pages(machine_of(t.machine)) -
			 atomic64_read(&mm_of(t.mm)->pgtables),
			 2 * HPAGE_PMD_NR);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 0);
	assert_int_equal(pf_munmap(t.mm, H(0), 4 * HUGE), 0);
	assert_pool(5, 0);
	end();
}

/* Pages come back zeroed, whoever had them before. */
static void pages_are_zero_again(void **state)
{
	(void)state;
	begin(1);
	for (int i = 0; i < 3; i++) {
		map_huge(H(i), 1, RW);
		for (pf_addr_t at = 0; at < HUGE; at += 65536)
			assert_int_equal(read_word(&t, H(i) + at), 0);
		for (pf_addr_t at = 0; at < HUGE; at += 65536)
			write_word(&t, H(i) + at, at + 1);
		assert_int_equal(pf_munmap(t.mm, H(i), HUGE), 0);
	}
	end();
}

static void parts_are_unmapped(void **state)
{
	(void)state;
	begin(6);
	map_huge(H(0), 6, RW);
	write_word(&t, H(1), 1);
	write_word(&t, H(2), 2);
	write_word(&t, H(5), 5);
	assert_pool(3, 3);
	/* one in use, one not */
	assert_int_equal(pf_munmap(t.mm, H(2), 2 * HUGE), 0);
	assert_pool(4, 2);
	assert_valid(&t);
	assert_int_equal(read_word(&t, H(1)), 1);
	assert_int_equal(read_word(&t, H(5)), 5);
	/* The piece above knows which places it has. */
	write_word(&t, H(4), 4);
	assert_pool(3, 1);
	assert_int_equal(pf_munmap(t.mm, H(4), 2 * HUGE), 0);
	assert_pool(5, 1);
	assert_int_equal(pf_munmap(t.mm, H(0), 2 * HUGE), 0);
	assert_pool(6, 0);
	end();
}

static void cuts_are_between_pages(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pf_munmap(t.mm, H(1) + PAGE_SIZE, HUGE),
				 -EINVAL);
		assert_int_equal(pf_munmap(t.mm, H(1), HUGE - PAGE_SIZE),
				 -EINVAL);
		assert_int_equal(pf_munmap(t.mm, H(1) - PAGE_SIZE,
					   PAGES(2)), -EINVAL);
		assert_int_equal(pf_mprotect(t.mm, H(1) + PAGE_SIZE, HUGE,
					     PINFOLD_PROT_READ), -EINVAL);
		assert_int_equal(pf_mprotect(t.mm, H(1), HUGE + PAGE_SIZE,
					     PINFOLD_PROT_READ), -EINVAL);
		assert_int_equal(pf_mmap(t.mm, H(1) + PAGE_SIZE, PAGE_SIZE, RW,
					 PINFOLD_MAP_FIXED, &place), -EINVAL);
		assert_int_equal(pf_mmap(t.mm, H(1) + PAGE_SIZE, HUGE, RW,
					 PINFOLD_MAP_FIXED | HUGETLB, &place),
				 -EINVAL);
		assert_int_equal(pf_madvise(t.mm, H(1) + PAGE_SIZE, HUGE,
					    PINFOLD_MADV_DONTNEED), -EINVAL);
		assert_pool(3, 3);
		assert_int_equal(mm_of(t.mm)->map_count, 1);
		assert_valid(&t);
		/* Asking for what is there already cuts nothing. */
		assert_int_equal(pf_mprotect(t.mm, H(1) + PAGE_SIZE, HUGE, RW),
				 0);
	}
	assert_int_equal(read_word(&t, H(1)), 1);
	end();
}

static void protection_changes_keep_pages(void **state)
{
	struct folio *folio;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	folio = folio_at(H(1));
	assert_int_equal(pin_pages(H(1), 1, FOLL_WRITE), 1);
	assert_int_equal(pf_mprotect(t.mm, H(1), 2 * HUGE, PINFOLD_PROT_READ),
			 0);
	assert_pool(3, 3);
	assert_held(1);
	assert_false(pmd_write(leaf_at(&t, H(1))));
	assert_int_equal(pin_pages(H(1), 1, FOLL_WRITE), -EFAULT);
	/* a place not touched yet, read-only */
	assert_int_equal(read_word(&t, H(2)), 0);
	assert_pool(2, 2);
	assert_int_equal(pf_mprotect(t.mm, H(1), 2 * HUGE, RW), 0);
	write_word(&t, H(1), 2);
	assert_ptr_equal(folio_at(H(1)), folio);
	assert_int_equal(*(u64 *)page_address(pages[0]), 2);
	assert_pool(2, 2);
	unpin_user_pages(pages, 1);

	/* out of reach, but for who may force it */
	assert_int_equal(pf_mprotect(t.mm, H(0), 4 * HUGE, PINFOLD_PROT_NONE),
			 0);
	assert_int_equal(pin_pages(H(1), 1, 0), -EFAULT);
	assert_int_equal(pin_pages(H(1), 600, FOLL_FORCE), 600);
	assert_held(600);
	unpin_user_pages(pages, 600);
	assert_int_equal(pin_pages(H(3), 1, FOLL_FORCE), 1);
	unpin_user_pages(pages, 1);
	assert_pool(1, 1);
	assert_int_equal(pf_mprotect(t.mm, H(0), 4 * HUGE, RW), 0);
	assert_int_equal(read_word(&t, H(1)), 2);
	end();
}

/* ---- moving ----------------------------------------------------------- */

static void moving_takes_reservations_along(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(6);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	write_word(&t, H(2), 2);
	assert_int_equal(pin_pages(H(1), 10, 0), 10);
	/* two from the middle, one of them in use */
	assert_int_equal(pf_mremap(t.mm, H(2), 2 * HUGE, 2 * HUGE, TO, FAR,
				   &place), 0);
	assert_pool(4, 2);
	assert_held(10);
	assert_int_equal(read_word(&t, FAR), 2);
	write_word(&t, FAR + HUGE, 3);
	assert_pool(3, 1);
	/* what stayed has its own still */
	write_word(&t, H(0), 0);
	assert_pool(2, 0);
	assert_int_equal(pf_munmap(t.mm, H(0), 2 * HUGE), 0);
	assert_pool(3, 0);
	unpin_user_pages(pages, 10);
	assert_pool(4, 0);
	assert_int_equal(pf_munmap(t.mm, FAR, HUGE), 0);
	assert_pool(5, 0);
	assert_valid(&t);
	end();
}

static void moving_over_huge_pages(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	map_huge(H(0), 2, RW);
	map_huge(H(8), 2, RW);
	write_word(&t, H(0), 1);
	write_word(&t, H(8), 8);
	assert_pool(2, 2);
	assert_int_equal(pf_mremap(t.mm, H(0), 2 * HUGE, 2 * HUGE, TO, H(8),
				   &place), 0);
	assert_pool(3, 1);
	assert_int_equal(read_word(&t, H(8)), 1);
	/* to a place of the engine's choice, which is aligned */
	map_at(&t, H(10), 1, RW);
	assert_int_equal(pf_mremap(t.mm, H(8), HUGE, HUGE, TO, FAR, &place),
			 0);
	assert_pool(3, 1);
	assert_valid(&t);
	end();
}

static void moves_that_cannot_be(void **state)
{
	pf_addr_t place = 0xdead;

	(void)state;
	begin(4);
	map_huge(H(0), 4, RW);
	map_at(&t, FAR, 512, RW);
	write_word(&t, FAR + PAGE_SIZE, 7);
	write_word(&t, H(0), 1);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE, TO, FAR + PAGE_SIZE,
				   &place), -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(0) + PAGE_SIZE, HUGE, HUGE, TO, FAR,
				   &place), -EINVAL);
	/* found out before the target is made free */
	assert_int_equal(read_word(&t, FAR + PAGE_SIZE), 7);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE,
				   TO | PINFOLD_MREMAP_DONTUNMAP, FAR, &place),
			 -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(2), 2 * HUGE, 3 * HUGE,
				   PINFOLD_MREMAP_MAYMOVE, 0, &place), -EINVAL);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, (u64)-1 - HUGE,
				   PINFOLD_MREMAP_MAYMOVE, 0, &place), -EINVAL);
	assert_int_equal(place, 0xdead);
	assert_pool(3, 3);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_valid(&t);

	/* Lengths are rounded up, so this keeps one page and drops three. */
	assert_int_equal(pf_mremap(t.mm, H(0), 4 * HUGE - PAGE_SIZE, PAGE_SIZE,
				   0, 0, &place), 0);
	assert_int_equal(place, H(0));
	assert_pool(3, 0);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_valid(&t);
	end();
}

/* ---- dropping --------------------------------------------------------- */

static void dropped_pages_bring_reservations_back(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 1);
	write_word(&t, H(1), 2);
	assert_pool(0, 0);
	/* the end is rounded down: nothing is lost by surprise */
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE - PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE + PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_pool(1, 1);
	assert_valid(&t);
	/* nobody can take it meanwhile */
	assert_int_equal(pf_mmap(t.mm, FAR, HUGE, RW, HUGETLB, &place),
			 -ENOMEM);
	assert_int_equal(read_word(&t, H(0)), 0);
	assert_int_equal(read_word(&t, H(1)), 2);
	assert_pool(0, 0);
	end();
}

/* A pin keeps the page; then there is none to keep the promise with. */
static void dropped_pinned_pages_do_not(void **state)
{
	struct folio *old;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	old = folio_at(H(0));
	assert_int_equal(pin_pages(H(0), 3, FOLL_WRITE | FOLL_LONGTERM), 3);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	assert_pool(1, 0);
	assert_held(3);
	assert_int_equal(*(u64 *)page_address(pages[0]), 1);
	/* from what is left over, if there is anything */
	write_word(&t, H(0), 2);
	assert_pool(0, 0);
	assert_ptr_not_equal(folio_at(H(0)), old);
	assert_int_equal(*(u64 *)page_address(pages[0]), 1);
	unpin_user_pages(pages, 3);
	assert_pool(1, 0);
	assert_valid(&t);
	end();
}

static void an_empty_pool_is_a_bus_error(void **state)
{
	struct page *page;
	u64 word = 1;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	page = pages[0];
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	/* the other one is promised elsewhere */
	map_huge(H(4), 1, RW);
	assert_pool(1, 1);
	assert_int_equal(pf_write(t.mm, H(0), &word, sizeof(word)), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, 0), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE | FOLL_LONGTERM),
			 -EFAULT);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE,
				    PINFOLD_MADV_POPULATE_WRITE), -EFAULT);
	assert_pool(1, 1);
	/* once it is back the same call succeeds */
	unpin_user_page(page);
	assert_pool(2, 1);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	assert_pool(1, 1);
	write_word(&t, H(4), 1);
	assert_pool(0, 0);
	unpin_user_pages(pages, 1);
	end();
}

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

/* ---- copy on write ---------------------------------------------------- */

/*
 * As fork leaves a page: another entry maps it, and neither is exclusive.  The
 * other mapping's share is played by a reference and a count.
 */
static struct folio *share(pf_addr_t at)
{
	struct folio *folio = folio_at(at);
	pmd_t *pmd = mm_find_pmd(mm_of(t.mm), at);

	ClearPageAnonExclusive(&folio->page);
	set_pmd_at(mm_of(t.mm), at, pmd, pmd_wrprotect(pmdp_get(pmd)));
	folio_get(folio);
	atomic_inc(&folio->_mapcount);
	return folio;
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

static void advice_for_thp_is_refused(void **state)
{
	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_HUGEPAGE),
			 -EINVAL);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_NOHUGEPAGE),
			 -EINVAL);
	end();
}

/* ---- placing ---------------------------------------------------------- */

static void places_are_aligned(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	/* a hint inside a page means the next one */
	assert_int_equal(pf_mmap(t.mm, H(0) + PAGE_SIZE, HUGE, RW, HUGETLB,
				 &place), 0);
	assert_int_equal(place, H(1));
	assert_int_equal(pf_mmap(t.mm, H(4), HUGE, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_2MB, &place), 0);
	assert_int_equal(place, H(4));
	assert_int_equal(pf_mmap(t.mm, 0, PAGE_SIZE, RW, HUGETLB, &place), 0);
	assert_true(IS_ALIGNED(place, HUGE));
	assert_int_equal(pf_mmap(t.mm, H(7) + PAGE_SIZE, HUGE, RW, HUGETLB |
				 PINFOLD_MAP_FIXED_NOREPLACE, &place), -EINVAL);
	assert_int_equal(pf_mmap(t.mm, 0, GIGANTIC, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_1GB, &place), -ENOMEM);
	assert_pool(4, 3);
	end();
}

/* What the area holds that is in the way is enough for the one that comes. */
static void mapping_over_itself_with_a_full_pool(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(3);
	map_huge(H(0), 3, RW);
	write_word(&t, H(1), 1);
	map_huge(H(0), 3, RW);
	assert_pool(3, 3);
	assert_int_equal(read_word(&t, H(1)), 0);
	assert_valid(&t);
	/* one too many, even so */
	assert_int_equal(pf_mmap(t.mm, H(0), 4 * HUGE, RW,
				 HUGETLB | PINFOLD_MAP_FIXED, &place), -ENOMEM);
	assert_pool(3, 0);
	assert_valid(&t);
	end();
}

/* Nothing is said by locking them, so nothing is in the way later. */
static void locked_huge_pages_are_just_populated(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(2);
	assert_int_equal(pf_mmap(t.mm, H(0), 2 * HUGE, RW, HUGETLB |
				 PINFOLD_MAP_LOCKED, &place), 0);
	assert_pool(0, 0);
	assert_int_equal(pf_madvise(t.mm, place, HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	assert_pool(1, 1);
	end();
}

/* ---- cases from the field --------------------------------------------- */

static void case_L3(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	/* MAP_POPULATE is best effort, but a promise of 8 cannot be made. */
	assert_int_equal(pf_mmap(t.mm, H(0), 8 * HUGE, RW, HUGETLB |
				 PINFOLD_MAP_POPULATE, &place), -ENOMEM);
	assert_pool(4, 0);

	/* Four places whose pages are dropped, and kept by pins. */
	map_huge(H(0), 4, RW);
	assert_int_equal(pin_pages(H(0), 4 * HPAGE_PMD_NR, FOLL_WRITE),
			 4 * HPAGE_PMD_NR);
	assert_int_equal(pf_madvise(t.mm, H(0), 4 * HUGE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_pool(0, 0);
	unpin_user_pages(pages + 2 * HPAGE_PMD_NR, 2 * HPAGE_PMD_NR);
	assert_pool(2, 0);
	/* asked for, prefaulting fails, after what it could get */
	assert_int_equal(pf_madvise(t.mm, H(0), 4 * HUGE,
				    PINFOLD_MADV_POPULATE_WRITE), -EFAULT);
	assert_non_null(folio_at(H(0)));
	assert_non_null(folio_at(H(1)));
	assert_null(folio_at(H(2)));
	assert_pool(0, 0);
	/* as part of a call that goes on, it does not */
	assert_int_equal(mm_populate(mm_of(t.mm), H(0), 4 * HUGE, true), 0);
	assert_int_equal(mm_populate(mm_of(t.mm), H(0), 4 * HUGE, false),
			 -EFAULT);
	/* then the pin is short, and at the hole an error */
	unpin_user_pages(pages, 2 * HPAGE_PMD_NR);
	assert_pool(2, 0);
	map_huge(H(8), 2, RW);
	assert_int_equal(pin_pages(H(0), 4 * HPAGE_PMD_NR, FOLL_WRITE),
			 2 * HPAGE_PMD_NR);
	assert_held(2 * HPAGE_PMD_NR);
	unpin_user_pages(pages, 2 * HPAGE_PMD_NR);
	assert_int_equal(pin_pages(H(2), HPAGE_PMD_NR, FOLL_WRITE), -EFAULT);
	assert_pool(2, 2);
	end();
}

/* ---- several threads -------------------------------------------------- */

#define NR_RACERS	4
#define NR_ROUNDS	60
#define NR_RACED	4

static u32 arrived;

static void meet(u32 *round)
{
	u32 target = ++*round * NR_RACERS;

	word_add(&arrived, 1);
	while (smp_load_acquire(&arrived) < target)
		cpu_relax();
}

/* All write to all places at once, of which the pool has just one page each. */
static void *racer(void *arg)
{
	const u64 me = (uintptr_t)arg;
	u32 round = 0;
	long errors = 0;

	for (unsigned int i = 0; i < NR_ROUNDS; i++) {
		meet(&round);
		for (u64 k = 0; k < NR_RACED; k++) {
			u64 word = i;

			errors += pf_write(t.mm, H(k) + PAGES(me), &word,
					   sizeof(word)) != sizeof(word);
		}
		meet(&round);
		if (!me)
			errors += pf_madvise(t.mm, H(0), NR_RACED * HUGE,
					     PINFOLD_MADV_DONTNEED) != 0;
	}
	return (void *)errors;
}

static void racing_faults_share_one_page(void **state)
{
	pthread_t threads[NR_RACERS];
	void *errors;

	(void)state;
	begin(NR_RACED);
	map_huge(H(0), NR_RACED, RW);
	arrived = 0;
	for (uintptr_t i = 0; i < NR_RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, racer,
						(void *)i), 0);
	for (unsigned int i = 0; i < NR_RACERS; i++) {
		assert_int_equal(pthread_join(threads[i], &errors), 0);
		assert_null(errors);
	}
	assert_pool(NR_RACED, NR_RACED);
	assert_valid(&t);
	end();
}

/* Faults against drops: a place never loses what it was promised. */
static void *dropper(void *arg)
{
	long errors = 0;

	for (unsigned int i = 0; i < 400; i++)
		errors += pf_madvise(t.mm, H(i % 2), HUGE,
				     PINFOLD_MADV_DONTNEED) != 0;
	(void)arg;
	return (void *)errors;
}

static void faults_against_drops(void **state)
{
	pthread_t thread;
	void *errors;
	u64 word = 1;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	assert_int_equal(pthread_create(&thread, NULL, dropper, NULL), 0);
	for (unsigned int i = 0; i < 400; i++)
		assert_int_equal(pf_write(t.mm, H(i % 2), &word, sizeof(word)),
				 sizeof(word));
	assert_int_equal(pthread_join(thread, &errors), 0);
	assert_null(errors);
	assert_valid(&t);
	end();
}

/* ---- at random -------------------------------------------------------- */

#define NR_PLACES	24
#define NR_POOL		10
#define NR_HELD		40

static struct page *held[NR_HELD];
static unsigned int nr_held;

static void random_pin(struct random *r, pf_addr_t at)
{
	unsigned int flags = random_chance(r, 50) ? FOLL_WRITE : 0;
	long nr = pin_pages(at + PAGES(random_below(r, 512)),
			    1 + random_below(r, 600), flags);

	if (nr <= 0)
		return;
	if (nr_held < NR_HELD) {
		held[nr_held++] = pages[nr - 1];
		nr--;
	}
	unpin_user_pages(pages, nr);
}

static void random_step(struct random *r)
{
	pf_addr_t at = H(random_below(r, NR_PLACES));
	u64 bytes = HUGE * (1 + random_below(r, 4));
	pf_addr_t place;
	int ret = 0;

	switch (random_below(r, 8)) {
	case 0:
		ret = pf_mmap(t.mm, at, bytes, random_chance(r, 80) ? RW :
			      PINFOLD_PROT_READ, HUGETLB | PINFOLD_MAP_FIXED |
			      (random_chance(r, 20) ? PINFOLD_MAP_POPULATE : 0),
			      &place);
		break;
	case 1:
		ret = pf_munmap(t.mm, at, bytes);
		break;
	case 2:
		ret = pf_madvise(t.mm, at, bytes, PINFOLD_MADV_DONTNEED);
		break;
	case 3:
		ret = pf_mprotect(t.mm, at, bytes, random_chance(r, 60) ? RW :
				  PINFOLD_PROT_READ);
		break;
	case 4:
		ret = pf_mremap(t.mm, at, bytes, bytes, TO,
				H(random_below(r, NR_PLACES)), &place);
		break;
	case 5:
		if (nr_held)
			unpin_user_page(held[--nr_held]);
		break;
	default:
		random_pin(r, at);
	}
	assert_true(ret == 0 || ret == -ENOMEM || ret == -EFAULT ||
		    ret == -EINVAL);
}

static void pool_counts_hold_at_random(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (unsigned int round = 0; round < 12; round++) {
		mm_test_begin(&t, (struct pf_machine_options){
			.memory_bytes = MIB(8), .hugetlb_2m_pages = NR_POOL,
			.metadata_only = true,
		});
		for (unsigned int i = 0; i < 150; i++) {
			struct mm_holds holds = { .pins = held };

			random_step(&r);
			holds.nr_pins = nr_held;
			if (i % 3 == 0)
				assert_int_equal(mm_validate(
						machine_of(t.machine), &holds),
						0);
		}
		unpin_user_pages(held, nr_held);
		nr_held = 0;
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_are_made_or_refused),
		cmocka_unit_test(reservations_promise),
		cmocka_unit_test(a_fault_takes_its_reservation),
		cmocka_unit_test(pages_are_zero_again),
		cmocka_unit_test(parts_are_unmapped),
		cmocka_unit_test(cuts_are_between_pages),
		cmocka_unit_test(protection_changes_keep_pages),
		cmocka_unit_test(moving_takes_reservations_along),
		cmocka_unit_test(moving_over_huge_pages),
		cmocka_unit_test(moves_that_cannot_be),
		cmocka_unit_test(dropped_pages_bring_reservations_back),
		cmocka_unit_test(dropped_pinned_pages_do_not),
		cmocka_unit_test(an_empty_pool_is_a_bus_error),
		cmocka_unit_test(pins_outlive_mapping_and_mm),
		cmocka_unit_test(references_keep_pages_too),
		cmocka_unit_test(pmd_leaves),
		cmocka_unit_test(pmd_leaf_has_no_spare_table),
		cmocka_unit_test(the_head_is_exclusive),
		cmocka_unit_test(a_read_maps_read_only),
		cmocka_unit_test(pud_leaves),
		cmocka_unit_test(pud_leaves_change_and_move),
		cmocka_unit_test(a_shared_page_is_copied),
		cmocka_unit_test(a_copy_needs_a_page),
		cmocka_unit_test(v20_forced_write_to_read_only),
		cmocka_unit_test(flags_not_for_huge_pages),
		cmocka_unit_test(v21_dump_of_huge_pages),
		cmocka_unit_test(advice_for_thp_is_refused),
		cmocka_unit_test(places_are_aligned),
		cmocka_unit_test(mapping_over_itself_with_a_full_pool),
		cmocka_unit_test(locked_huge_pages_are_just_populated),
		cmocka_unit_test(case_L3),
		cmocka_unit_test(racing_faults_share_one_page),
		cmocka_unit_test(faults_against_drops),
		cmocka_unit_test(pool_counts_hold_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
