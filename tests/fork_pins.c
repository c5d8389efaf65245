/* SPDX-License-Identifier: MIT */
/*
 * Claim: fork leaves a page that may be pinned with the parent, entry and all,
 * and gives the child a copy; it looks at pins only where there can be any, and
 * at the exclusivity of each page.  References that are no pins do not count.
 *
 * Source: mm/memory.c:copy_present_page(), mm/huge_memory.c:copy_huge_pmd(),
 *         include/linux/mm.h:folio_needs_cow_for_dma()
 */
#include "tests/fork_test.h"

#define LONGTERM	PINFOLD_FOLL_LONGTERM
#define WRITE		PINFOLD_FOLL_WRITE

static struct mm_test t;

static void begin(unsigned long orders)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_always = orders,
		.hugetlb_2m_pages = 3,
	});
}

static void make_pages(u64 nr)
{
	map_at(&t, BASE, nr, RW);
	for (u64 i = 0; i < nr; i++)
		write_word(&t, BASE + PAGES(i), i);
}

static void map_huge(void)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t.mm, BASE, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
				 PINFOLD_MAP_FIXED, &place), 0);
}

/* The device and the parent stay together, whatever the child does. */
static void silent_divergence(pf_addr_t at, unsigned int flags)
{
	struct mm_test child;
	struct page *page;

	write_word(&t, at, 'A');
	page = page_pinned_at(&t, at, flags);
	child = fork_of(&t);
	assert_ptr_equal(page_mapped_at(&t, at), page);
	assert_ptr_not_equal(page_mapped_at(&child, at), page);
	assert_true(exclusive_at(&t, at));
	assert_pinned(&t, &page, 1);
	write_word(&t, at, 'B');
	assert_int_equal(device_read(page), 'B');
	device_write(page, 'D');
	assert_int_equal(read_word(&t, at), 'D');
	assert_int_equal(read_word(&child, at), 'A');
	assert_ptr_equal(page_mapped_at(&t, at), page);
	exit_of(&child);
	unpin_user_page(page);
}

static void case_A1(void **state)
{
	static const unsigned int flags[] = { LONGTERM | WRITE, LONGTERM, WRITE };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		begin(0);
		make_pages(3);
		silent_divergence(BASE + PAGES(1), flags[i]);
		/* "has pinned" is never taken back */
		silent_divergence(BASE + PAGES(1), flags[i]);
		silent_divergence(BASE, flags[i]);
		mm_test_end(&t);

		begin(BIT(4));
		make_pages(16);
		silent_divergence(BASE + PAGES(5), flags[i]);
		mm_test_end(&t);

		begin(0);
		map_huge();
		silent_divergence(BASE + PAGES(5), flags[i]);
		mm_test_end(&t);
	}
}

/* gup_V11 and case_A3: one pinned page of a leaf */
static void case_A3_a_leaf_is_split(void **state)
{
	struct page *before[512], *pin;
	struct mm_test child;

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER));
	make_pages(512);
	for (u64 i = 0; i < 512; i++)
		before[i] = page_mapped_at(&t, BASE + PAGES(i));
	pin = page_pinned_at(&t, BASE + PAGES(7), LONGTERM | WRITE);
	child = fork_of(&t);
	assert_true(pmd_none(leaf_at(&t, BASE)));
	for (u64 i = 0; i < 512; i++) {
		pf_addr_t at = BASE + PAGES(i);
		struct page *own = page_mapped_at(&child, at);

		assert_ptr_equal(page_mapped_at(&t, at), before[i]);
		assert_true(exclusive_at(&t, at));
		assert_true(writable_at(&t, at));
		assert_int_equal(folio_order(page_folio(own)), 0);
		assert_true(PageAnonExclusive(own));
		assert_true(writable_at(&child, at));
		assert_int_equal(read_word(&child, at), i);
	}
	assert_pinned(&t, &pin, 1);
	write_word(&t, BASE + PAGES(7), 99);
	assert_int_equal(device_read(pin), 99);
	assert_int_equal(read_word(&child, BASE + PAGES(7)), 7);
	exit_of(&child);
	unpin_user_page(pin);
	mm_test_end(&t);
}

static void the_entry_stays_as_it_is(void **state)
{
	struct mm_test child;
	struct page *pin;
	pte_t entry;

	(void)state;
	begin(0);
	make_pages(2);
	pin = page_pinned_at(&t, BASE, WRITE);
	entry = entry_at(&t, BASE);
	child = fork_of(&t);
	assert_int_equal(pte_val(entry_at(&t, BASE)), pte_val(entry));
	assert_true(pte_dirty(entry_at(&child, BASE)));
	assert_true(pte_soft_dirty(entry_at(&child, BASE)));
	/* its neighbour is shared as ever */
	assert_ptr_equal(page_mapped_at(&t, BASE + PAGES(1)),
			 page_mapped_at(&child, BASE + PAGES(1)));
	exit_of(&child);

	/* read-only areas get read-only copies */
	assert_int_equal(pf_mprotect(t.mm, BASE, PAGES(1), PINFOLD_PROT_READ),
			 0);
	child = fork_of(&t);
	assert_ptr_not_equal(page_mapped_at(&child, BASE), pin);
	assert_false(writable_at(&child, BASE));
	assert_true(exclusive_at(&child, BASE));
	exit_of(&child);
	unpin_user_page(pin);
	mm_test_end(&t);
}

/* Of a pinned folio, what is exclusive is copied, what is not is shared. */
static void a_mixed_folio(void **state)
{
	struct mm_test child;
	struct page *pin;

	(void)state;
	begin(BIT(4));
	make_pages(16);
	advise(&t, BASE + PAGES(4), PAGES(8), PINFOLD_MADV_DONTFORK);
	child = fork_of(&t);
	exit_of(&child);
	advise(&t, BASE, PAGES(16), PINFOLD_MADV_DOFORK);
	/* once shared: 0-3, 12-15; such a page of a large folio stays so */
	pin = page_pinned_at(&t, BASE + PAGES(5), WRITE);
	child = fork_of(&t);
	for (u64 i = 0; i < 16; i++) {
		pf_addr_t at = BASE + PAGES(i);
		const bool shared = page_mapped_at(&child, at) ==
				    page_mapped_at(&t, at);

		assert_int_equal(shared, i < 4 || i >= 12);
		assert_int_equal(exclusive_at(&t, at), !shared);
		assert_int_equal(read_word(&child, at), i);
	}
	assert_pinned(&t, &pin, 1);
	exit_of(&child);
	unpin_user_page(pin);
	mm_test_end(&t);
}

/* gup_V12: had the flag not been set before the walk, the pin would be lost. */
static void v12_without_the_flag(void **state)
{
	struct mm_test child;
	struct page *pin;

	(void)state;
	begin(0);
	make_pages(1);
	pin = page_pinned_at(&t, BASE, WRITE);
	clear_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags);
	child = fork_of(&t);
	assert_ptr_equal(page_mapped_at(&child, BASE), pin);
	write_word(&t, BASE, 55);
	assert_ptr_not_equal(page_mapped_at(&t, BASE), pin);
	assert_int_not_equal(device_read(pin), 55);
	exit_of(&child);
	/* what unpinning checks in debug builds */
	SetPageAnonExclusive(pin);
	unpin_user_page(pin);
	mm_test_end(&t);
}

/* gup_V13: many references look like a pin; a copy too many does no harm. */
static void v13_a_false_positive(void **state)
{
	struct mm_test child;
	struct page *page;

	(void)state;
	begin(0);
	make_pages(2);
	unpin_user_page(page_pinned_at(&t, BASE + PAGES(1), WRITE));
	page = page_mapped_at(&t, BASE);
	folio_ref_add(page_folio(page), GUP_PIN_COUNTING_BIAS);
	child = fork_of(&t);
	assert_ptr_not_equal(page_mapped_at(&child, BASE), page);
	assert_true(exclusive_at(&t, BASE));
	exit_of(&child);
	/* in an address space that never pinned anything they do not */
	clear_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags);
	child = fork_of(&t);
	assert_ptr_equal(page_mapped_at(&child, BASE), page);
	exit_of(&child);
	folio_put_refs(page_folio(page), GUP_PIN_COUNTING_BIAS);
	mm_test_end(&t);
}

static void a_large_folio_has_no_false_positive(void **state)
{
	struct mm_test child;
	struct page *page;

	(void)state;
	begin(BIT(4));
	make_pages(16);
	unpin_user_page(page_pinned_at(&t, BASE + PAGES(1), WRITE));
	page = page_mapped_at(&t, BASE);
	folio_ref_add(page_folio(page), 2000);
	child = fork_of(&t);
	assert_ptr_equal(page_mapped_at(&child, BASE), page);
	exit_of(&child);
	folio_put_refs(page_folio(page), 2000);
	mm_test_end(&t);
}

static void spliced(pf_addr_t at, bool pinned, bool child_stores)
{
	struct mm_test child, *reader, *writer;
	struct page *page;

	write_word(&t, at, 'B');
	child = fork_of(&t);
	reader = child_stores ? &t : &child;
	writer = child_stores ? &child : &t;
	page = pinned ? page_pinned_at(reader, at, 0) :
			page_got_at(reader, at, 0);
	advise(reader, at & PMD_MASK, PMD_SIZE, PINFOLD_MADV_DONTNEED);
	write_word(writer, at, 'S');
	assert_int_equal(device_read(page), 'B');
	if (pinned)
		unpin_user_page(page);
	else
		put_page(page);
	exit_of(&child);
}

/*
 * CVE-2020-29374.  Of pool pages a reference does not hold the bytes, a pin
 * does: see tests/gup_actions.c.
 */
static void case_A5(void **state)
{
	(void)state;
	for (int child_stores = 0; child_stores < 2; child_stores++) {
		for (int pinned = 0; pinned < 2; pinned++) {
			begin(0);
			make_pages(512);
			spliced(BASE + PAGES(7), pinned, child_stores);
			mm_test_end(&t);

			begin(BIT(HPAGE_PMD_ORDER));
			make_pages(512);
			spliced(BASE + PAGES(7), pinned, child_stores);
			mm_test_end(&t);
		}
		begin(0);
		map_huge();
		spliced(BASE + PAGES(7), true, child_stores);
		mm_test_end(&t);
	}
}

static void case_A6(void **state)
{
	struct page *pin;
	struct mm_test child;

	(void)state;
	begin(0);
	map_at(&t, BASE, 2, RW);
	assert_int_equal(read_word(&t, BASE), 0);
	pin = page_pinned_at(&t, BASE, LONGTERM);
	assert_false(is_zero_page(pin));
	child = fork_of(&t);
	write_word(&t, BASE, 5);
	assert_int_equal(device_read(pin), 5);
	assert_int_equal(read_word(&child, BASE), 0);
	exit_of(&child);
	unpin_user_page(pin);
	mm_test_end(&t);
}

/* References do not protect: the page may be the child's in the end. */
static void case_A7(void **state)
{
	struct mm_test child;
	struct page *page;

	(void)state;
	begin(0);
	make_pages(1);
	page = page_got_at(&t, BASE, WRITE);
	child = fork_of(&t);
	assert_ptr_equal(page_mapped_at(&child, BASE), page);
	write_word(&t, BASE, 8);
	assert_int_equal(read_word(&child, BASE), 0);
	put_page(page);
	exit_of(&child);
	mm_test_end(&t);
}

/* The copy of a poisoned page fails, and the fork with it. */
static void a_poisoned_page(void **state)
{
	struct pf_mm *child = NULL;
	struct page *pin;

	(void)state;
	begin(0);
	make_pages(3);
	pin = page_pinned_at(&t, BASE + PAGES(1), WRITE);
	set_bit(PG_hwpoison, &pin->flags);
	assert_int_equal(pf_mm_fork(t.mm, &child), -ENOMEM);
	assert_null(child);
	assert_pinned(&t, &pin, 1);
	clear_bit(PG_hwpoison, &pin->flags);
	assert_int_equal(pf_mm_fork(t.mm, &child), 0);
	pf_mm_destroy(child);
	unpin_user_page(pin);
	mm_test_end(&t);
}

/* A child's pins are its own business, and so is what it pins of the parent. */
static void pins_in_the_child(void **state)
{
	struct mm_test child, grandchild;
	struct page *pins[2];

	(void)state;
	begin(0);
	make_pages(1);
	child = fork_of(&t);
	pins[0] = page_pinned_at(&child, BASE, 0);
	assert_true(exclusive_at(&child, BASE));
	assert_false(writable_at(&child, BASE));
	pins[1] = page_pinned_at(&t, BASE, LONGTERM);
	assert_true(exclusive_at(&t, BASE));
	assert_ptr_not_equal(pins[0], pins[1]);
	assert_pinned(&t, pins, 2);
	grandchild = fork_of(&child);
	assert_ptr_equal(page_mapped_at(&child, BASE), pins[0]);
	write_word(&child, BASE, 3);
	assert_int_equal(device_read(pins[0]), 3);
	assert_int_equal(device_read(pins[1]), 0);
	assert_int_equal(read_word(&grandchild, BASE), 0);
	assert_pinned(&t, pins, 2);
	exit_of(&child);
	exit_of(&grandchild);
	unpin_user_pages(pins, 2);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_A1),
		cmocka_unit_test(case_A3_a_leaf_is_split),
		cmocka_unit_test(the_entry_stays_as_it_is),
		cmocka_unit_test(a_mixed_folio),
		cmocka_unit_test(v12_without_the_flag),
		cmocka_unit_test(v13_a_false_positive),
		cmocka_unit_test(a_large_folio_has_no_false_positive),
		cmocka_unit_test(case_A5),
		cmocka_unit_test(case_A6),
		cmocka_unit_test(case_A7),
		cmocka_unit_test(a_poisoned_page),
		cmocka_unit_test(pins_in_the_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
