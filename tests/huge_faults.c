/* SPDX-License-Identifier: MIT */
/*
 * Claim: a first touch takes the largest enabled folio that has room and can be
 * had; a huge page is reused by its sole owner and split for others; and a huge
 * page that is cut, by whatever call, keeps its bytes, its dirty bits and its
 * exclusivity.
 *
 * Source: mm/huge_memory.c, mm/memory.c:alloc_anon_folio()
 */
#include "tests/fault_test.h"

#include <errno.h>

/* ---- PMD leaves ------------------------------------------------------- */

static void begin_huge(void)
{
	BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, 2 * HUGE_PAGES, RW);
	for (u64 i = 0; i < HUGE_PAGES; i++)
		write_word(&t, AT + PAGES(i), 77 + i);
	assert_false(pmd_none(leaf_at(&t, AT)));
}

static void check_huge_bytes(void)
{
	for (u64 i = 0; i < HUGE_PAGES; i++)
		assert_int_equal(read_word(&t, AT + PAGES(i)), 77 + i);
}

static struct folio *orphan_leaf(bool exclusive)
{
	struct folio *folio = page_folio(page_mapped_at(&t, AT));

	set_leaf(AT, __pmd(pmd_val(leaf_at(&t, AT)) & ~_PAGE_RW));
	if (!exclusive)
		ClearPageAnonExclusive(&folio->page);
	return folio;
}

/* Write permission that comes back makes exclusive pages writable, no others. */
static void test_protect_and_back(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const bool exclusive = i & 1, huge = i & 2;

		if (huge)
			begin_huge();
		else
			begin_small(RW);
		if (!exclusive && huge)
			orphan_leaf(false);
		else if (!exclusive)
			orphan_page(AT);
		assert_int_equal(pf_mprotect(t.mm, AT, huge ? PMD_SIZE :
				PAGES(8), PINFOLD_PROT_READ), 0);
		assert_int_equal(pf_mprotect(t.mm, AT, huge ? PMD_SIZE :
				PAGES(8), RW), 0);
		if (huge)
			assert_int_equal(pmd_write(leaf_at(&t, AT)),
					 exclusive);
		else
			assert_int_equal(pte_write(entry_at(&t, AT)),
					 exclusive);
		assert_valid(&t);
		mm_test_end(&t);
	}
}

static void test_leaf_is_reused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int how = i % 2 ? WRITE : UNSHARE;
		struct folio *folio;

		begin_huge();
		folio = orphan_leaf(i >= 2);
		if (i >= 2)
			folio_get(folio);	/* exclusive: no matter */
		fault(AT + PAGES(9), how);
		assert_ptr_equal(page_mapped_at(&t, AT), folio);
		assert_true(PageAnonExclusive(&folio->page));
		assert_int_equal(pmd_write(leaf_at(&t, AT)), how == WRITE);
		assert_int_equal(folio_mapcount(folio), 1);
		check_huge_bytes();
		if (i >= 2)
			folio_put(folio);
		mm_test_end(&t);
	}
}

/* Shared with somebody: split, and the one page copied. */
static void test_leaf_is_split(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int how = i ? WRITE : UNSHARE;
		pf_addr_t at = AT + PAGES(9);
		struct folio *folio;

		begin_huge();
		folio = orphan_leaf(false);
		folio_get(folio);
		fault(at, how);
		assert_true(pmd_none(leaf_at(&t, AT)));
		assert_int_equal(folio_mapcount(folio), HUGE_PAGES - 1);
		assert_int_equal(folio_ref_count(folio), HUGE_PAGES);
		assert_ptr_equal(page_mapped_at(&t, AT), folio);
		assert_ptr_not_equal(page_folio(page_mapped_at(&t, at)), folio);
		assert_true(PageAnonExclusive(page_mapped_at(&t, at)));
		assert_false(PageAnonExclusive(folio_page(folio, 8)));
		assert_int_equal(pte_write(entry_at(&t, at)), how == WRITE);
		check_huge_bytes();
		folio_put(folio);
		mm_test_end(&t);
	}
}

static void test_leaf_hint(void **state)
{
	pmd_t leaf;

	(void)state;
	for (unsigned int exclusive = 0; exclusive < 2; exclusive++) {
		begin_huge();
		orphan_leaf(exclusive);
		leaf = leaf_at(&t, AT);
		set_leaf(AT, pmd_modify(leaf, prot_for(false, false, false)));
		assert_true(pmd_protnone(leaf_at(&t, AT)));
		fault_with(AT + PAGES(5), 0, 0);
		assert_false(pmd_protnone(leaf_at(&t, AT)));
		assert_int_equal(pmd_write(leaf_at(&t, AT)), exclusive);
		check_huge_bytes();
		mm_test_end(&t);
	}
}

/* Write-protection by leaf: the page written loses it, the others do not. */
static void test_leaf_uffd_wp(void **state)
{
	struct folio *folio;

	(void)state;
	for (unsigned int zero = 0; zero < 2; zero++) {
		if (zero) {
			BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER));
			map_at(&t, AT, 2 * HUGE_PAGES, RW);
			assert_int_equal(read_word(&t, AT), 0);
		} else {
			begin_huge();
		}
		track_writes();
		set_leaf(AT, pmd_mkuffd_wp(pmd_wrprotect(leaf_at(&t, AT))));
		folio = page_folio(page_mapped_at(&t, AT));
		fault(AT + PAGES(9), WRITE);
		assert_true(pmd_none(leaf_at(&t, AT)));
		assert_true(pte_write(entry_at(&t, AT + PAGES(9))));
		assert_false(pte_uffd_wp(entry_at(&t, AT + PAGES(9))));
		assert_false(pte_write(entry_at(&t, AT + PAGES(8))));
		assert_true(pte_uffd_wp(entry_at(&t, AT + PAGES(8))));
		if (!zero)
			assert_ptr_equal(page_mapped_at(&t, AT + PAGES(9)),
					 folio_page(folio, 9));
		mm_test_end(&t);
	}
}

/* The first touch: all of it, zeroed, with its spare table (assert_valid()). */
static void test_huge_first_touch(void **state)
{
	struct folio *folio;

	(void)state;
	BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT + PAGES(1), 2 * HUGE_PAGES, RW);
	write_word(&t, AT + PAGES(5), 1);	/* no room: a small page */
	assert_int_equal(folio_order(page_folio(page_mapped_at(&t, AT +
							PAGES(5)))), 0);
	write_word(&t, AT + PMD_SIZE + PAGES(7), 1);
	folio = page_folio(page_mapped_at(&t, AT + PMD_SIZE));
	assert_int_equal(folio_order(folio), HPAGE_PMD_ORDER);
	assert_true(pmd_write(leaf_at(&t, AT + PMD_SIZE)));
	assert_int_equal(folio_ref_count(folio), 1);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages),
			 HUGE_PAGES + 1);
	for (u64 i = 0; i < HUGE_PAGES; i++)
		assert_int_equal(read_word(&t, AT + PMD_SIZE + PAGES(i)),
				 i == 7);
	assert_valid(&t);
	mm_test_end(&t);
}

/* An entry that is there already keeps huge pages out. */
static void test_huge_not_over_entries(void **state)
{
	(void)state;
	BEGIN(.thp_madvise = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, HUGE_PAGES, RW);
	write_word(&t, AT + PAGES(5), 1);
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE, PINFOLD_MADV_HUGEPAGE),
			 0);
	write_word(&t, AT, 1);
	assert_true(pmd_none(leaf_at(&t, AT)));
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 2);
	/* nor does an empty table make way for one */
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE, PINFOLD_MADV_DONTNEED),
			 0);
	write_word(&t, AT, 1);
	assert_true(pmd_none(leaf_at(&t, AT)));
	mm_test_end(&t);
}

static void test_huge_zero(void **state)
{
	struct folio *zero;

	(void)state;
	BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, 2 * HUGE_PAGES, RW);
	assert_int_equal(read_word(&t, AT + PAGES(3)), 0);
	zero = page_folio(page_mapped_at(&t, AT));
	assert_true(is_huge_zero_folio(zero));
	assert_int_equal(read_word(&t, AT + PMD_SIZE), 0);
	assert_ptr_equal(page_mapped_at(&t, AT + PMD_SIZE), zero);
	assert_int_equal(folio_ref_count(zero), 3);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 0);
	assert_valid(&t);
	/* a store splits it: one page, and zero pages around it */
	write_word(&t, AT + PAGES(3), 5);
	assert_true(pmd_none(leaf_at(&t, AT)));
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 1);
	assert_true(is_zero_page(page_mapped_at(&t, AT + PAGES(2))));
	assert_int_equal(folio_ref_count(zero), 2);
	assert_int_equal(pf_madvise(t.mm, AT + PMD_SIZE, PMD_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(folio_ref_count(zero), 1);
	mm_test_end(&t);
}

/* Without it, reading takes a huge page of its own. */
static void test_no_huge_zero(void **state)
{
	(void)state;
	BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER), .no_huge_zero = true);
	map_at(&t, AT, HUGE_PAGES, RW);
	assert_int_equal(read_word(&t, AT), 0);
	assert_null(the_machine()->huge_zero_folio);
	assert_true(pmd_write(leaf_at(&t, AT)));
	assert_true(PageAnonExclusive(page_mapped_at(&t, AT)));
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), HUGE_PAGES);
	mm_test_end(&t);
}

/* ---- cutting a huge page ---------------------------------------------- */

enum cut { CUT_MUNMAP, CUT_MPROTECT, CUT_DONTNEED, CUT_MOVE, CUT_KEEP,
	   CUT_ADVICE, CUT_OVERLAY, CUT_FOLL, NR_CUTS };

/* Each touches pages 7 and 8 of the first huge page. */
static void do_cut(enum cut cut)
{
	const pf_addr_t at = AT + PAGES(7), to = AT + 2 * PMD_SIZE + PAGES(3);
	const u64 length = PAGES(2);
	struct page *pins[2];
	pf_addr_t place;
	int err = 0;

	switch (cut) {
	case CUT_MUNMAP:
		err = pf_munmap(t.mm, at, length);
		break;
	case CUT_MPROTECT:
		err = pf_mprotect(t.mm, at, length, PINFOLD_PROT_READ);
		break;
	case CUT_DONTNEED:
		err = pf_madvise(t.mm, at, length, PINFOLD_MADV_DONTNEED);
		break;
	case CUT_MOVE:
	case CUT_KEEP:
		err = pf_mremap(t.mm, at, length, length,
				PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED |
				(cut == CUT_KEEP ? PINFOLD_MREMAP_DONTUNMAP :
						   0), to, &place);
		break;
	case CUT_ADVICE:
		err = pf_madvise(t.mm, at, length, PINFOLD_MADV_NOHUGEPAGE);
		break;
	case CUT_OVERLAY:
		map_at(&t, at, 2, RW);
		break;
	default:
		assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), at, 2,
					pins, FOLL_SPLIT_PMD), 2);
		unpin_user_pages(pins, 2);
	}
	assert_int_equal(err, 0);
}

static bool cut_removes(enum cut cut)
{
	return cut == CUT_MUNMAP || cut == CUT_DONTNEED || cut == CUT_OVERLAY ||
	       cut == CUT_MOVE || cut == CUT_KEEP;
}

static void check_cut(struct folio *folio, enum cut cut, pmd_t leaf)
{
	const u64 kept = HUGE_PAGES - (cut == CUT_MUNMAP ||
				       cut == CUT_DONTNEED ||
				       cut == CUT_OVERLAY ? 2 : 0);
	const bool exclusive = PageAnonExclusive(&folio->page);

	assert_true(pmd_none(leaf_at(&t, AT)));
	assert_int_equal(folio_mapcount(folio), kept);
	assert_int_equal(folio_ref_count(folio), kept);
	for (u64 i = 0; i < HUGE_PAGES; i++) {
		pf_addr_t at = AT + PAGES(i);
		pte_t entry;

		if (i == 7 || i == 8) {
			if (cut_removes(cut))
				assert_false(resident_at(&t, at));
			if (cut != CUT_MOVE && cut != CUT_KEEP)
				continue;
			at += 2 * PMD_SIZE - PAGES(4);
		}
		entry = entry_at(&t, at);
		assert_ptr_equal(pte_page(entry), folio_page(folio, i));
		assert_int_equal(pte_write(entry), pmd_write(leaf));
		assert_int_equal(pte_dirty(entry), pmd_dirty(leaf));
		assert_int_equal(pte_young(entry), pmd_young(leaf));
		assert_int_equal(PageAnonExclusive(pte_page(entry)), exclusive);
		assert_int_equal(read_word(&t, at), 77 + i);
	}
}

static void test_cuts(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4 * NR_CUTS; i++) {
		struct folio *folio;
		pmd_t leaf;

		begin_huge();
		folio = page_folio(page_mapped_at(&t, AT));
		leaf = leaf_at(&t, AT);
		if (i & 1)
			set_leaf(AT, __pmd(pmd_val(leaf) & ~(_PAGE_DIRTY |
							_PAGE_ACCESSED)));
		/* A pin would unshare it. */
		if ((i & 2) && i / 4 != CUT_FOLL)
			orphan_leaf(false);
		leaf = leaf_at(&t, AT);
		do_cut(i / 4);
		check_cut(folio, i / 4, leaf);
		mm_test_end(&t);
	}
}

/* A border between areas that moves into a huge page cuts it, too. */
static void test_border_in_leaf(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		pf_addr_t beside = i ? AT + PMD_SIZE : AT - PAGES(16);
		pf_addr_t inside = i ? AT + PMD_SIZE - PAGES(8) : AT;

		begin_huge();
		map_at(&t, beside, 16, RW);
		assert_int_equal(pf_madvise(t.mm, beside, PAGES(16),
					    PINFOLD_MADV_NOHUGEPAGE), 0);
		assert_false(pmd_none(leaf_at(&t, AT)));
		assert_int_equal(pf_madvise(t.mm, inside, PAGES(8),
					    PINFOLD_MADV_NOHUGEPAGE), 0);
		assert_true(pmd_none(leaf_at(&t, AT)));
		assert_valid(&t);
		check_huge_bytes();
		mm_test_end(&t);
	}
}

/* A pinned page goes where its entry goes, by leaf or by PTE. */
static void test_move_pinned(void **state)
{
	const pf_addr_t to = AT + 4 * PMD_SIZE;
	struct page *pin;
	pf_addr_t place;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		u64 length = i ? PAGES(16) : PMD_SIZE;

		begin_huge();
		assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm),
				AT + PAGES(9), 1, &pin, FOLL_WRITE), 1);
		assert_int_equal(pf_mremap(t.mm, AT, length, length,
				PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED,
				to, &place), 0);
		assert_int_equal(pmd_none(leaf_at(&t, to)), i);
		assert_ptr_equal(page_mapped_at(&t, to + PAGES(9)), pin);
		write_word(&t, to + PAGES(9), 4711);
		assert_int_equal(*(u64 *)page_address(pin), 4711);
		unpin_user_page(pin);
		mm_test_end(&t);
	}
}

/* ---- which order ------------------------------------------------------ */

static unsigned int order_at(u64 page)
{
	write_word(&t, AT + PAGES(page), 1);
	return folio_order(page_folio(page_mapped_at(&t, AT + PAGES(page))));
}

/* The area is pages [3, 40): edges cut the larger orders off. */
static void test_orders_at_edges(void **state)
{
	(void)state;
	BEGIN(.thp_always = BIT(2) | BIT(4) | BIT(9));
	map_at(&t, AT + PAGES(3), 37, RW);
	assert_int_equal(order_at(3), 0);
	assert_int_equal(order_at(5), 2);
	assert_int_equal(order_at(20), 4);
	assert_int_equal(order_at(38), 2);
	assert_int_equal(order_at(34), 2);
	/* pages 8 ... 15: the entries of 4 ... 7 are in order 4's way */
	assert_int_equal(order_at(15), 2);
	assert_true(resident_at(&t, AT + PAGES(31)));
	assert_false(resident_at(&t, AT + PAGES(11)));
	mm_test_end(&t);
}

/* What is there already, a zero page too, is gone around. */
static void test_orders_with_neighbours(void **state)
{
	(void)state;
	BEGIN(.thp_always = BIT(2) | BIT(4));
	map_at(&t, AT, 64, RW);
	assert_int_equal(read_word(&t, AT + PAGES(17)), 0);
	assert_int_equal(order_at(20), 2);
	assert_int_equal(order_at(16), 0);
	assert_int_equal(order_at(17), 0);	/* the zero page's successor */
	assert_int_equal(order_at(32), 4);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(32), PAGES(1),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(order_at(32), 0);
	mm_test_end(&t);
}

static void test_orders_by_advice(void **state)
{
	(void)state;
	BEGIN(.thp_always = BIT(2), .thp_madvise = BIT(4));
	map_at(&t, AT, 96, RW);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(32), PAGES(32),
				    PINFOLD_MADV_HUGEPAGE), 0);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(64), PAGES(32),
				    PINFOLD_MADV_NOHUGEPAGE), 0);
	assert_int_equal(order_at(0), 2);
	assert_int_equal(order_at(32), 4);
	assert_int_equal(order_at(64), 0);
	/* reading never takes a folio of these sizes */
	assert_int_equal(read_word(&t, AT + PAGES(50)), 0);
	assert_true(is_zero_page(page_mapped_at(&t, AT + PAGES(50))));
	mm_test_end(&t);
}

/* Give back the blocks of @order that start at a multiple of 2 * its size. */
static void free_every_other(struct page **pages, unsigned long nr,
			     unsigned int order)
{
	for (unsigned long i = 0; i < nr; i++) {
		if (!pages[i] || page_to_pfn(pages[i]) >> order & 1)
			continue;
		__free_pages(pages[i], 0);
		pages[i] = NULL;
	}
	drain_all_cpu_lists(the_machine());
}

/* Memory in pieces: the largest order that can be had. */
static void test_orders_fragmented(void **state)
{
	static struct page *pages[MIB(8) >> PAGE_SHIFT];
	unsigned long nr;

	(void)state;
	for (unsigned int order = 0; order <= 9; order++) {
		BEGIN(.memory_bytes = MIB(8), .thp_always = BIT(2) | BIT(4) |
							     BIT(9));
		map_at(&t, AT, 2 * HUGE_PAGES, RW);
		/* the tables first */
		assert_int_equal(read_word(&t, AT + PMD_SIZE + PAGES(100)), 0);
		nr = take_all(pages);
		free_every_other(pages, nr, order);
		assert_int_equal(order_at(0), order == 9 ? 9 :
				 order >= 4 ? 4 : order >= 2 ? 2 : 0);
		for (unsigned long i = 0; i < nr; i++)
			if (pages[i])
				__free_pages(pages[i], 0);
		mm_test_end(&t);
	}
}

/* What lies on another CPU's list can be had. */
static void test_other_cpus_frames(void **state)
{
	static struct page *pages[MIB(4) >> PAGE_SHIFT];
	unsigned long nr, some;

	(void)state;
	BEGIN(.memory_bytes = MIB(4), .nr_cpus = 2);
	nr = take_all(pages);
	some = nr / 4;
	for (unsigned long i = 0; i < some; i++)
		__free_pages(pages[--nr], 0);
	current->cpu = current->cpu % 2 + 1;
	assert_int_equal(take_all(pages + nr), some);
	for (unsigned long i = 0; i < nr + some; i++)
		__free_pages(pages[i], 0);
	mm_test_end(&t);
}

/* No memory at all: the fault says so, and nothing is left of it. */
static void test_no_memory(void **state)
{
	static struct page *pages[MIB(4) >> PAGE_SHIFT];
	unsigned long nr;
	u64 word = 1;

	(void)state;
	BEGIN(.memory_bytes = MIB(4), .thp_always = BIT(4) | BIT(9));
	map_at(&t, AT, 2 * HUGE_PAGES, RW);
	nr = take_all(pages);
	fault_with(AT, WRITE, VM_FAULT_OOM);
	fault_with(AT, 0, VM_FAULT_OOM);
	assert_int_equal(pf_write(t.mm, AT, &word, sizeof(word)), -ENOMEM);
	for (unsigned long i = 0; i < nr; i++)
		__free_pages(pages[i], 0);
	assert_valid(&t);
	write_word(&t, AT, 1);
	mm_test_end(&t);
}

/* The huge zero folio is counted like any large one. */
static void test_huge_zero_counts(void **state)
{
	struct page *pins[512];
	struct folio *zero;

	(void)state;
	BEGIN(.thp_always = BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, HUGE_PAGES, RW);
	assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 512, pins,
						 0), 512);
	zero = page_folio(pins[0]);
	assert_true(is_huge_zero_folio(zero));
	assert_int_equal(folio_ref_count(zero), 2 + 512);
	assert_int_equal(atomic_read(&zero->_pincount), 512);
	assert_int_equal(mm_validate(the_machine(), &(struct mm_holds){
		.pins = pins, .nr_pins = 512 }), 0);
	unpin_user_pages(pins, 512);
	assert_int_equal(folio_ref_count(zero), 2);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protect_and_back),
		cmocka_unit_test(test_leaf_is_reused),
		cmocka_unit_test(test_leaf_is_split),
		cmocka_unit_test(test_leaf_hint),
		cmocka_unit_test(test_leaf_uffd_wp),
		cmocka_unit_test(test_huge_first_touch),
		cmocka_unit_test(test_huge_not_over_entries),
		cmocka_unit_test(test_huge_zero),
		cmocka_unit_test(test_no_huge_zero),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_border_in_leaf),
		cmocka_unit_test(test_move_pinned),
		cmocka_unit_test(test_orders_at_edges),
		cmocka_unit_test(test_orders_with_neighbours),
		cmocka_unit_test(test_orders_by_advice),
		cmocka_unit_test(test_orders_fragmented),
		cmocka_unit_test(test_other_cpus_frames),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_huge_zero_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
