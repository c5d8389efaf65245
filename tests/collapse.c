/* SPDX-License-Identifier: MIT */
/*
 * Claim: collapse makes one huge page of a table whose pages nobody else uses,
 * with the bytes that were there; otherwise it leaves every entry, count and
 * byte as it was and says why.  The background scan keeps to its limits to the
 * page, MADV_COLLAPSE has none.
 *
 * Source: semantics/gup.md 4.7, 9.9 (H1 ... H8); Linux's khugepaged selftest
 */
#include "tests/fault_test.h"

#include "lab/state.h"
#include "mm/khugepaged.h"
#include "mm/swapops.h"

#include <errno.h>

#define NR	HPAGE_PMD_NR

static void begin(unsigned long thp_always)
{
	BEGIN(.memory_bytes = MIB(32), .thp_always = thp_always);
}

/* Pages with contents of their own in [first, end); order 9 comes later. */
static void fill(unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		write_word(&t, AT + PAGES(i), i + 1);
}

static void check_words(unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		assert_int_equal(read_word(&t, AT + PAGES(i)), i + 1);
}

static int collapse(u64 pages)
{
	return pf_madvise(t.mm, AT, PAGES(pages), PINFOLD_MADV_COLLAPSE);
}

static bool is_huge(u64 page)
{
	return !pmd_none(leaf_at(&t, AT + PAGES(page)));
}

static void enable_huge(void)
{
	WRITE_ONCE(the_machine()->thp_always, BIT(HPAGE_PMD_ORDER));
}

static int64_t scan(unsigned int none, unsigned int swap, unsigned int shared)
{
	struct pf_collapse_limits l = {
		.size = sizeof(l), .max_ptes_none = none,
		.max_ptes_swap = swap, .max_ptes_shared = shared,
	};

	return pf_machine_collapse_scan(t.machine, &l);
}

static void test_gup_H1(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, AT, 4 * NR, RW);
	fill(0, 4 * NR);
	assert_int_equal(collapse(4 * NR), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(is_huge(i * NR));
	check_words(0, 4 * NR);
	assert_valid(&t);
	/* what it has is exclusive and writable: no fault is left */
	assert_true(pmd_write(leaf_at(&t, AT)));
	assert_true(PageAnonExclusive(page_mapped_at(&t, AT)));

	/* empty: as an entry, and as a table without pages */
	map_at(&t, AT, NR, RW);
	assert_int_equal(collapse(NR), -EINVAL);
	write_word(&t, AT, 1);
	assert_int_equal(pf_madvise(t.mm, AT, PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(collapse(NR), -EINVAL);
	assert_false(resident_at(&t, AT));

	/* one page */
	write_word(&t, AT + PAGES(77), 78);
	assert_int_equal(collapse(NR), 0);
	assert_true(is_huge(0));
	check_words(77, 78);
	assert_int_equal(read_word(&t, AT), 0);
	assert_int_equal(read_word(&t, AT + PAGES(511)), 0);
	mm_test_end(&t);
}

/* [4.4] the leaf of a scan is as that of MADV_COLLAPSE; enabled areas only. */
static void test_scan_enabled(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, AT, 2 * NR, RW);
	fill(0, 2 * NR);
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 0);
	WRITE_ONCE(the_machine()->thp_madvise, BIT(HPAGE_PMD_ORDER));
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 0);
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 1);
	assert_true(is_huge(0));
	assert_false(is_huge(NR));
	enable_huge();
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 1);
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 0);
	check_words(0, 2 * NR);
	mm_test_end(&t);
}

static void test_gup_H2_none(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR - 10);
	/* zero pages count like empty entries */
	for (unsigned int i = NR - 10; i < NR - 5; i++)
		assert_int_equal(read_word(&t, AT + PAGES(i)), 0);
	enable_huge();
	assert_int_equal(scan(9, 64, 256), 0);
	assert_false(is_huge(0));
	assert_int_equal(scan(10, 64, 256), 1);
	assert_true(is_huge(0));
	check_words(0, NR - 10);
	assert_int_equal(read_word(&t, AT + PAGES(NR - 7)), 0);
	assert_valid(&t);
	map_at(&t, AT, NR, RW);
	WRITE_ONCE(the_machine()->thp_always, 0);
	fill(0, 1);
	assert_int_equal(collapse(NR), 0);	/* 511, and no limit */
	check_words(0, 1);
	mm_test_end(&t);
}

/* Somebody else maps the page too. */
static void share(u64 page, int by)
{
	struct folio *folio = page_folio(page_mapped_at(&t, AT + PAGES(page)));

	folio_ref_add(folio, by);
	atomic_add(by, &folio->_mapcount);
}

static void test_gup_H2_shared(void **state)
{
	struct page *shared[20];

	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	for (u64 i = 0; i < 20; i++) {
		shared[i] = orphan_page(AT + PAGES(i));
		share(i, 1);
	}
	enable_huge();
	assert_int_equal(scan(511, 64, 19), 0);
	assert_false(is_huge(0));
	assert_int_equal(scan(511, 64, 20), 1);
	assert_true(is_huge(0));
	check_words(0, NR);
	/* The others keep their pages, with one mapping less. */
	for (u64 i = 0; i < 20; i++) {
		struct folio *folio = page_folio(shared[i]);

		assert_int_equal(folio_mapcount(folio), 1);
		assert_int_equal(folio_ref_count(folio), 1);
		assert_int_equal(*(u64 *)page_address(shared[i]), i + 1);
		atomic_dec(&folio->_mapcount);
		folio_put(folio);
	}
	mm_test_end(&t);
}

static void test_gup_H2_swap(void **state)
{
	pte_t gone = swp_entry_to_pte(swp_entry(3, 99));

	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR - 3);
	for (u64 i = NR - 3; i < NR; i++)
		set_entry(AT + PAGES(i), gone);
	enable_huge();
	assert_int_equal(scan(511, 2, 256), 0);
	/* Within the limit they are brought in, which here nobody can. */
	assert_int_equal(scan(511, 3, 256), 0);
	assert_int_equal(collapse(NR), -EINVAL);
	for (u64 i = NR - 3; i < NR; i++)
		assert_true(pte_same(entry_at(&t, AT + PAGES(i)), gone));
	check_words(0, NR - 3);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_gup_H3(void **state)
{
	(void)state;
	/* one page of a large folio is left */
	begin(BIT(4));
	map_at(&t, AT, NR, RW);
	fill(0, 16);
	assert_int_equal(pf_madvise(t.mm, AT, PAGES(5),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(6), PAGES(10),
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(collapse(NR), 0);
	assert_true(is_huge(0));
	check_words(5, 6);
	mm_test_end(&t);

	/* a table full of one folio's pages, and of sixteen-page folios */
	begin(BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, 2 * NR, RW);
	fill(0, NR);
	assert_true(is_huge(0));
	assert_int_equal(pf_mprotect(t.mm, AT + PAGE_SIZE, PAGE_SIZE,
				     PINFOLD_PROT_READ), 0);
	assert_int_equal(pf_mprotect(t.mm, AT + PAGE_SIZE, PAGE_SIZE, RW), 0);
	assert_false(is_huge(0));
	WRITE_ONCE(the_machine()->thp_always, BIT(4));
	fill(NR, 2 * NR);
	assert_int_equal(collapse(2 * NR), 0);
	assert_true(is_huge(0));
	assert_true(is_huge(NR));
	check_words(0, 2 * NR);
	mm_test_end(&t);
}

/* One page each of 512 large folios. */
static void test_gup_H3_extreme(void **state)
{
	struct state_box *box;
	struct state *s;

	(void)state;
	assert_int_equal(state_box_create(MIB(32), &box), 0);
	assert_int_equal(state_open(box, BASE, NR, &s), 0);
	state_area(s, 0, NR, STATE_RW, NULL);
	for (unsigned int i = 0; i < NR; i++) {
		struct folio *folio = state_folio(s, STATE_ANON, 2);

		assert_non_null(folio);
		folio_add_lru(folio);
		state_map(s, i, folio, i % 4, 1, STATE_OWN);
		state_drop(s, folio);
	}
	assert_int_equal(do_madvise(s->mm, s->base, PMD_SIZE, MADV_COLLAPSE),
			 0);
	assert_true(pmd_leaf(state_pmd(s, 0)));
	assert_int_equal(state_close(s), 0);
	state_box_destroy(box);
}

static void test_gup_H6_H7(void **state)
{
	(void)state;
	begin(BIT(HPAGE_PMD_ORDER));
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	assert_true(is_huge(0));
	assert_int_equal(collapse(NR), 0);
	assert_int_equal(collapse(NR), 0);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(9), PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_false(is_huge(0));
	assert_int_equal(collapse(NR), 0);
	assert_true(is_huge(0));
	check_words(0, 9);
	assert_int_equal(read_word(&t, AT + PAGES(9)), 0);
	check_words(10, NR);
	mm_test_end(&t);
}

static long hold(bool pin, u64 page, struct pf_page **held, unsigned int flags)
{
	return pin ? pf_pin_user_pages_unlocked(t.mm, AT + PAGES(page), 1,
						held, flags) :
		     pf_get_user_pages_unlocked(t.mm, AT + PAGES(page), 1,
						held, flags);
}

/* One page got or pinned; small, or of a large folio. */
static void refuse_held(bool pin, unsigned int flags, unsigned long orders)
{
	struct pf_page *held;
	struct mm_holds holds = { 0 };
	struct page *before;

	begin(orders);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	before = page_mapped_at(&t, AT + PAGES(300));
	assert_int_equal(hold(pin, 300, &held, flags), 1);
	enable_huge();
	assert_int_equal(collapse(NR), -EAGAIN);
	assert_int_equal(error_note.err, -EAGAIN);
	assert_int_equal(pf_machine_collapse_scan(t.machine, NULL), 0);
	assert_false(is_huge(0));
	if (pin)
		holds = (struct mm_holds){ .pins = (struct page **)&held,
					   .nr_pins = 1 };
	else
		holds = (struct mm_holds){ .gets = (struct page **)&held,
					   .nr_gets = 1 };
	assert_int_equal(mm_validate(the_machine(), &holds), 0);
	assert_ptr_equal(page_mapped_at(&t, AT + PAGES(300)), before);
	write_word(&t, AT + PAGES(300), 301);
	assert_ptr_equal(page_of(held), before);
	check_words(0, NR);
	if (pin)
		pf_unpin_user_page(held);
	else
		pf_put_page(held);
	assert_int_equal(collapse(NR), 0);
	check_words(0, NR);
	mm_test_end(&t);
}

static void test_gup_H8(void **state)
{
	(void)state;
	for (int pin = 0; pin < 2; pin++)
		for (unsigned int write = 0; write < 2; write++) {
			refuse_held(pin, write, 0);
			refuse_held(pin, write, BIT(4));
		}
}

/* While the look is on: somebody has the folio locked, or off its list. */
static void test_busy_folio(void **state)
{
	struct folio *folio;

	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	folio = page_folio(page_mapped_at(&t, AT));
	set_bit(PG_locked, &folio->flags);
	assert_int_equal(collapse(NR), -EAGAIN);
	clear_bit(PG_locked, &folio->flags);
	assert_true(folio_isolate_lru(folio));
	assert_int_equal(collapse(NR), -EAGAIN);
	folio_putback_lru(folio);
	assert_int_equal(collapse(NR), 0);
	check_words(0, NR);
	mm_test_end(&t);
}

/*
 * What happens between the look and the count: an entry that is not present
 * brings a fault there, and the hook in front of it does the rest.
 */
enum late { LATE_GET, LATE_LOCK, LATE_ISOLATE, LATE_WRITE_PROTECT, LATE_UNMAP,
	    LATE_UFFD_WP, LATE_ABSENT, NR_LATE };

static enum late late;
static struct folio *late_folio;

static vm_fault_t late_hook(void *arg __maybe_unused,
			    struct vm_area_struct *vma,
			    pf_addr_t address, unsigned int flags __maybe_unused)
{
	pf_addr_t at = AT + PAGES(NR - 1);

	current->fault_hook = NULL;
	pte_clear(vma->vm_mm, address, pte_at(&t, address));
	switch (late) {
	case LATE_GET:
		folio_get(late_folio);
		break;
	case LATE_LOCK:
		set_bit(PG_locked, &late_folio->flags);
		break;
	case LATE_ISOLATE:
		folio_clear_lru(late_folio);
		break;
	case LATE_WRITE_PROTECT:
		for (u64 i = 0; i < NR; i++)
			set_entry(AT + PAGES(i),
				  pte_wrprotect(entry_at(&t, AT + PAGES(i))));
		break;
	case LATE_UNMAP:
		vma->vm_end = at;
		break;
	case LATE_UFFD_WP:
		set_entry(at, pte_mkuffd_wp(entry_at(&t, at)));
		break;
	default:
		set_entry(at, swp_entry_to_pte(swp_entry(SWP_HWPOISON, 5)));
		break;
	}
	return 0;
}

static void undo_late(pte_t last)
{
	pf_addr_t at = AT + PAGES(NR - 1);

	switch (late) {
	case LATE_GET:
		folio_put(late_folio);
		break;
	case LATE_LOCK:
		clear_bit(PG_locked, &late_folio->flags);
		break;
	case LATE_ISOLATE:
		folio_set_lru(late_folio);
		break;
	case LATE_WRITE_PROTECT:
		write_word(&t, AT, 1);
		break;
	case LATE_UNMAP:
		mmap_read_lock(mm_of(t.mm));
		vma_lookup(mm_of(t.mm), AT)->vm_end = AT + PAGES(NR);
		mmap_read_unlock(mm_of(t.mm));
		break;
	default:
		set_entry(at, last);
		break;
	}
}

static void run_late(unsigned long orders, int expected)
{
	struct page *before;
	pte_t last;

	begin(orders);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(3), PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	set_entry(AT + PAGES(3), swp_entry_to_pte(swp_entry(1, 1)));
	before = page_mapped_at(&t, AT + PAGES(NR - 1));
	last = entry_at(&t, AT + PAGES(NR - 1));
	late_folio = page_folio(before);
	current->fault_hook = late_hook;
	assert_int_equal(collapse(NR), expected);
	assert_null(current->fault_hook);
	assert_false(is_huge(0));
	undo_late(last);
	assert_valid(&t);
	assert_ptr_equal(page_mapped_at(&t, AT + PAGES(NR - 1)), before);
	assert_int_equal(collapse(NR), 0);
	check_words(0, 3);
	assert_int_equal(read_word(&t, AT + PAGES(3)), 0);
	check_words(4, NR);
	mm_test_end(&t);
}

/* [case_D1] the count is taken when it cannot rise any more, and decides. */
static void test_case_D1_late(void **state)
{
	static const int expected[NR_LATE] = {
		[LATE_GET] = -EAGAIN, [LATE_LOCK] = -EAGAIN,
		[LATE_ISOLATE] = -EAGAIN, [LATE_WRITE_PROTECT] = -EINVAL,
		[LATE_UNMAP] = -EINVAL, [LATE_UFFD_WP] = -EINVAL,
		[LATE_ABSENT] = -EINVAL,
	};

	(void)state;
	for (late = 0; late < NR_LATE; late++) {
		run_late(0, expected[late]);
		run_late(BIT(5), expected[late]);
	}
}

static void test_errno(void **state)
{
	struct page *poisoned;
	pf_addr_t place;

	(void)state;
	begin(0);
	map_at(&t, AT, 2 * NR, RW);
	fill(0, 2 * NR);
	assert_int_equal(pf_madvise(t.mm, AT + 1, PMD_SIZE,
				    PINFOLD_MADV_COLLAPSE), -EINVAL);
	/* less than one huge page */
	assert_int_equal(pf_madvise(t.mm, AT + PAGES(5), PAGES(100),
				    PINFOLD_MADV_COLLAPSE), -EINVAL);
	/* a hole is reported, the rest is done */
	assert_int_equal(collapse(3 * NR), -ENOMEM);
	assert_true(is_huge(0) && is_huge(NR));
	/* not one that has the advice against it */
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
				    PINFOLD_MADV_NOHUGEPAGE), 0);
	assert_int_equal(collapse(NR), -EINVAL);
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	/* nor one without a writable page */
	assert_int_equal(pf_mprotect(t.mm, AT, PMD_SIZE, PINFOLD_PROT_READ),
			 0);
	assert_int_equal(collapse(NR), -EINVAL);
	assert_int_equal(pf_mprotect(t.mm, AT, PMD_SIZE, RW), 0);
	/* bytes that are lost stay where they were */
	poisoned = page_mapped_at(&t, AT + PAGES(400));
	set_bit(PG_hwpoison, &poisoned->flags);
	assert_int_equal(collapse(NR), -EINVAL);
	assert_false(is_huge(0));
	assert_valid(&t);
	assert_ptr_equal(page_mapped_at(&t, AT + PAGES(400)), poisoned);
	clear_bit(PG_hwpoison, &poisoned->flags);
	check_words(0, NR);
	/* without memory */
	current->fail_nth = 1;
	assert_int_equal(collapse(NR), -ENOMEM);
	assert_valid(&t);
	assert_int_equal(collapse(NR), 0);
	check_words(0, 2 * NR);
	/* hugetlb pages are huge already, and not of this kind */
	assert_int_equal(pf_mmap(t.mm, 0, PMD_SIZE, RW, 0, &place), 0);
	mm_test_end(&t);
}

static void test_userfault(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	set_entry(AT, pte_mkuffd_wp(pte_wrprotect(entry_at(&t, AT))));
	assert_int_equal(collapse(NR), -EINVAL);
	set_entry(AT, pte_clear_uffd_wp(entry_at(&t, AT)));
	track_writes();
	assert_int_equal(pf_madvise(t.mm, AT, PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(collapse(NR), -EBUSY);
	write_word(&t, AT, 1);
	assert_int_equal(collapse(NR), 0);
	check_words(0, NR);
	mm_test_end(&t);
}

/* [gup_C1] exclusivity after: a store goes to the same frame, a pin sees it */
static void test_gup_C1(void **state)
{
	struct pf_page *pages[NR];
	void *bytes;

	(void)state;
	begin(0);
	map_at(&t, AT, NR, RW);
	fill(0, NR);
	assert_int_equal(collapse(NR), 0);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, NR, pages, 0),
			 NR);
	write_word(&t, AT + PAGES(77), 1234);
	assert_int_equal(pf_page_address(pages[77], &bytes), 0);
	assert_int_equal(*(u64 *)bytes, 1234);
	assert_int_equal(collapse(NR), 0);	/* it is, already */
	pf_unpin_user_pages(pages, NR);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gup_H1),
		cmocka_unit_test(test_scan_enabled),
		cmocka_unit_test(test_gup_H2_none),
		cmocka_unit_test(test_gup_H2_shared),
		cmocka_unit_test(test_gup_H2_swap),
		cmocka_unit_test(test_gup_H3),
		cmocka_unit_test(test_gup_H3_extreme),
		cmocka_unit_test(test_gup_H6_H7),
		cmocka_unit_test(test_gup_H8),
		cmocka_unit_test(test_busy_folio),
		cmocka_unit_test(test_case_D1_late),
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_userfault),
		cmocka_unit_test(test_gup_C1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
