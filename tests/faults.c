/* SPDX-License-Identifier: MIT */
/*
 * Claim: write and unshare faults on present small pages reuse or copy: what is
 * exclusive is reused without a look at its counts, what is not only by its
 * sole owner, and a page of a large folio never; a hint gives back what was
 * there; entries that are not present wait or fail; and the zero page is never
 * counted (case_E1).
 *
 * Source: mm/memory.c:do_wp_page(), wp_can_reuse_anon_folio(), do_numa_page()
 */
#include "tests/fault_test.h"

#include "host/backend.h"
#include "host/clock.h"
#include "mm/gup_internal.h"
#include "mm/swapops.h"

#include <errno.h>

/* ---- small pages ------------------------------------------------------ */

/* Exclusive: whatever else refers to it, it is reused. */
static void test_exclusive(void **state)
{
	struct page *page, *pins[2];

	(void)state;
	begin_small(RW);
	page = page_mapped_at(&t, AT);
	assert_int_equal(get_user_pages_unlocked(mm_of(t.mm), AT, 1, pins, 0),
			 1);
	assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 1, pins + 1,
						 0), 1);
	protect_entry(AT);
	fault(AT, UNSHARE);
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_false(pte_write(entry_at(&t, AT)));
	fault(AT, WRITE);
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_true(pte_write(entry_at(&t, AT)));
	assert_true(pte_dirty(entry_at(&t, AT)));
	assert_true(pte_young(entry_at(&t, AT)));
	put_page(pins[0]);
	unpin_user_page(pins[1]);
	mm_test_end(&t);
}

/* A forced write: dirty, and still read-only. */
static void test_exclusive_read_only_area(void **state)
{
	struct page *page;

	(void)state;
	begin_small(PINFOLD_PROT_READ);
	protect_entry(AT);
	page = page_mapped_at(&t, AT);
	fault(AT, WRITE);
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_false(pte_write(entry_at(&t, AT)));
	assert_true(pte_dirty(entry_at(&t, AT)));
	mm_test_end(&t);
}

/* An entry that can be written only gets its bits. */
static void test_writable(void **state)
{
	pte_t before;

	(void)state;
	begin_small(RW);
	before = entry_at(&t, AT);
	set_entry(AT, __pte(pte_val(before) & ~(_PAGE_DIRTY | _PAGE_ACCESSED)));
	fault_with(AT, 0, 0);
	assert_int_equal(pte_val(entry_at(&t, AT)),
			 pte_val(before) & ~_PAGE_DIRTY);
	fault_with(AT, UNSHARE, 0);
	assert_false(pte_dirty(entry_at(&t, AT)));
	fault_with(AT, WRITE, 0);
	assert_int_equal(pte_val(entry_at(&t, AT)), pte_val(before));
	mm_test_end(&t);
}

static void check_reused(struct page *page, unsigned int how)
{
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_true(PageAnonExclusive(page));
	assert_int_equal(pte_write(entry_at(&t, AT)), how == WRITE);
	assert_int_equal(read_word(&t, AT), 77);
}

/* Sole owner: the reference of this CPU's LRU batch does not count. */
static void test_orphan_is_reused(void **state)
{
	static const unsigned int kinds[] = { WRITE, UNSHARE };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct page *page;

		begin_small(RW);
		page = orphan_page(AT);
		assert_int_equal(folio_ref_count(page_folio(page)), 2);
		if (i >= 2)
			lru_add_drain();
		fault(AT, kinds[i % 2]);
		check_reused(page, kinds[i % 2]);
		assert_int_equal(folio_ref_count(page_folio(page)), 1);
		mm_test_end(&t);
	}
}

static void check_copied(struct page *old, unsigned int how)
{
	struct page *new = page_mapped_at(&t, AT);

	assert_ptr_not_equal(new, old);
	assert_int_equal(folio_order(page_folio(new)), 0);
	assert_true(PageAnonExclusive(new));
	assert_int_equal(pte_write(entry_at(&t, AT)), how == WRITE);
	if (how == WRITE)
		assert_true(pte_dirty(entry_at(&t, AT)));
	assert_int_equal(read_word(&t, AT), 77);
}

enum extra { EXTRA_GET, EXTRA_PIN, EXTRA_LOCK, EXTRA_OTHER_CPU, NR_EXTRA };

static void take_extra(struct page *page, enum extra extra)
{
	struct folio *folio = page_folio(page);

	if (extra != EXTRA_OTHER_CPU)
		lru_add_drain();
	switch (extra) {
	case EXTRA_GET:
		folio_get(folio);
		break;
	case EXTRA_PIN:
		assert_int_equal(try_grab_folio(folio, 1, FOLL_PIN), 0);
		break;
	case EXTRA_LOCK:
		/* by somebody else: this thread is going to take mmap_lock */
		set_bit(PG_locked, &folio->flags);
		break;
	default:	/* it is in that CPU's batch, and we are on the next */
		current->cpu = current->cpu % the_machine()->nr_cpus + 1;
	}
}

static void drop_extra(struct page *page, enum extra extra)
{
	struct folio *folio = page_folio(page);

	switch (extra) {
	case EXTRA_GET:
		folio_put(folio);
		break;
	case EXTRA_PIN:
		gup_put_folio(folio, 1, FOLL_PIN);
		break;
	case EXTRA_LOCK:
		clear_bit(PG_locked, &folio->flags);
		break;
	default:
		break;
	}
}

/* Any other reference, or a lock that cannot be had at once: copied. */
static void test_orphan_is_copied(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * NR_EXTRA; i++) {
		unsigned int how = i % 2 ? WRITE : UNSHARE;
		struct page *page;

		begin_small(RW);
		page = orphan_page(AT);
		folio_get(page_folio(page));	/* to look at it later */
		take_extra(page, i / 2);
		/* with ours it is more than one in any case */
		if (i / 2 == EXTRA_LOCK || i / 2 == EXTRA_OTHER_CPU)
			folio_put(page_folio(page));
		fault(AT, how);
		check_copied(page, how);
		if (i / 2 == EXTRA_GET || i / 2 == EXTRA_PIN)
			assert_int_equal(folio_mapcount(page_folio(page)), 0);
		drop_extra(page, i / 2);
		if (i / 2 == EXTRA_GET || i / 2 == EXTRA_PIN)
			folio_put(page_folio(page));
		mm_test_end(&t);
	}
}

/* The bits of the entry survive an unsharing copy, and not a write. */
static void test_copied_bits(void **state)
{
	const u64 bits = _PAGE_SOFT_DIRTY | _PAGE_UFFD_WP;
	struct page *page;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const u64 set = i & 1 ? bits : 0;
		u64 entry;

		begin_small(RW);
		track_writes();
		page = orphan_page(AT);
		folio_get(page_folio(page));
		set_entry(AT, __pte((pte_val(entry_at(&t, AT)) & ~bits) | set));
		fault(AT, i & 2 ? WRITE : UNSHARE);
		entry = pte_val(entry_at(&t, AT));
		check_copied(page, i & 2 ? WRITE : UNSHARE);
		assert_int_equal(entry & bits, i & 2 ? _PAGE_SOFT_DIRTY : set);
		folio_put(page_folio(page));
		mm_test_end(&t);
	}
}

/* Write-protection that nobody serves: the bit goes, the page stays. */
static void test_uffd_wp_exclusive(void **state)
{
	struct page *page;

	(void)state;
	begin_small(RW);
	track_writes();
	page = page_mapped_at(&t, AT);
	protect_entry(AT);
	set_entry(AT, pte_mkuffd_wp(entry_at(&t, AT)));
	fault(AT, UNSHARE);
	assert_true(pte_uffd_wp(entry_at(&t, AT)));
	fault(AT, WRITE);
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_false(pte_uffd_wp(entry_at(&t, AT)));
	assert_true(pte_write(entry_at(&t, AT)));
	mm_test_end(&t);
}

static void test_zero_page(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct page *page;

		BEGIN(.memory_bytes = MIB(4));
		map_at(&t, AT, 1, RW);
		fault(AT, 0);
		assert_true(is_zero_page(page_mapped_at(&t, AT)));
		fault(AT, i ? WRITE : UNSHARE);
		page = page_mapped_at(&t, AT);
		assert_false(is_zero_page(page));
		assert_true(PageAnonExclusive(page));
		assert_int_equal(pte_write(entry_at(&t, AT)), i);
		assert_int_equal(read_word(&t, AT), 0);
		mm_test_end(&t);
	}
}

/* An unshare fault is a read fault where nothing is there yet. */
static void test_unshare_nothing(void **state)
{
	(void)state;
	BEGIN(.memory_bytes = MIB(4));
	map_at(&t, AT, 1, RW);
	fault_with(AT, UNSHARE, 0);
	assert_true(is_zero_page(page_mapped_at(&t, AT)));
	mm_test_end(&t);
}

/* ---- entries that are not present ------------------------------------- */

static void set_absent(unsigned int type, u64 offset)
{
	assert_int_equal(pf_madvise(t.mm, AT, PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	set_entry(AT, swp_entry_to_pte(swp_entry(type, offset)));
}

static void test_absent(void **state)
{
	static const struct {
		unsigned int type;
		u64 offset;
		vm_fault_t answer;
	} rows[] = {
		{ 0, 5, VM_FAULT_SIGBUS },
		{ SWP_HWPOISON, 600, VM_FAULT_HWPOISON },
		{ SWP_PTE_MARKER, PTE_MARKER_POISONED, VM_FAULT_HWPOISON },
		{ SWP_PTE_MARKER, PTE_MARKER_UFFD_WP, VM_FAULT_SIGBUS },
	};

	(void)state;
	begin_small(RW);
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		pte_t entry;

		set_absent(rows[i].type, rows[i].offset);
		entry = entry_at(&t, AT);
		fault_with(AT, 0, rows[i].answer);
		fault_with(AT, WRITE, rows[i].answer);
		assert_int_equal(pte_val(entry_at(&t, AT)), pte_val(entry));
	}
	mm_test_end(&t);
}

struct waiting {
	struct backend_thread *thread;
	bool done;
};

static void wait_for_migration(void *arg)
{
	struct waiting *w = arg;
	struct machine *previous = machine_enter(the_machine());

	fault_with(AT, WRITE, 0);
	smp_store_release(&w->done, true);
	machine_leave(previous);
}

/* The fault ends when whoever migrates has unlocked the folio. */
static void test_migration_wait(void **state)
{
	struct waiting w = { 0 };
	struct folio *folio;
	pte_t entry;
	u64 until;

	(void)state;
	begin_small(RW);
	folio = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	assert_non_null(folio);
	set_absent(SWP_MIGRATION_READ, folio_pfn(folio));
	folio_lock(folio);
	entry = entry_at(&t, AT);
	assert_int_equal(backend_thread_create(&w.thread, wait_for_migration,
					       &w), 0);
	/* it announces itself */
	while (!test_bit(PG_waiters, &folio->flags))
		cpu_relax();
	until = clock_ns() + 5000000;
	while (clock_ns() < until)
		assert_false(smp_load_acquire(&w.done));
	folio_unlock(folio);
	backend_thread_join(w.thread);
	assert_int_equal(pte_val(entry_at(&t, AT)), pte_val(entry));
	assert_int_equal(folio_ref_count(folio), 1);
	folio_put(folio);
	set_entry(AT, __pte(0));
	mm_test_end(&t);
}

/* ---- hints ------------------------------------------------------------ */

static pte_t hinted(pte_t entry)
{
	return pte_modify(entry, prot_for(false, false, false));
}

/* The permissions come back; writing, only with exclusivity. */
static void test_hint(void **state)
{
	(void)state;
	for (unsigned int exclusive = 0; exclusive < 2; exclusive++) {
		struct page *page;

		begin_small(RW);
		page = page_mapped_at(&t, AT);
		if (!exclusive)
			orphan_page(AT);
		set_entry(AT, hinted(entry_at(&t, AT)));
		assert_true(pte_protnone(entry_at(&t, AT)));
		assert_valid(&t);
		fault_with(AT, 0, 0);
		assert_false(pte_protnone(entry_at(&t, AT)));
		assert_int_equal(pte_write(entry_at(&t, AT)), exclusive);
		assert_ptr_equal(page_mapped_at(&t, AT), page);
		assert_int_equal(read_word(&t, AT), 77);
		mm_test_end(&t);
	}
}

/* In an area without access there are no hints: forced, they are followed. */
static void test_hint_no_access(void **state)
{
	struct page *page, *pin;

	(void)state;
	begin_small(PINFOLD_PROT_NONE);
	page = page_mapped_at(&t, AT);
	assert_true(pte_protnone(entry_at(&t, AT)));
	assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 1, &pin,
						 FOLL_WRITE | FOLL_FORCE), 1);
	assert_ptr_equal(pin, page);
	assert_true(pte_protnone(entry_at(&t, AT)));
	unpin_user_page(pin);
	assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 1, &pin, 0),
			 -EFAULT);
	mm_test_end(&t);
}

/* ---- large folios, by PTEs -------------------------------------------- */

static void begin_order(unsigned int order)
{
	BEGIN(.thp_always = BIT(order));
	map_at(&t, AT, HUGE_PAGES, RW);
	for (u64 i = 0; i < 1u << order; i++)
		write_word(&t, AT + PAGES(i), 77 + i);
	assert_int_equal(folio_order(page_folio(page_mapped_at(&t, AT))),
			 order);
}

/* Even of a sole owner: one small page, and the others stay. */
static void test_large_orphan_is_copied(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int how = i ? WRITE : UNSHARE;
		struct page *page, *next;

		begin_order(4);
		next = page_mapped_at(&t, AT + PAGE_SIZE);
		page = orphan_page(AT);
		fault(AT, how);
		check_copied(page, how);
		assert_ptr_equal(page_mapped_at(&t, AT + PAGE_SIZE), next);
		assert_int_equal(folio_mapcount(page_folio(page)), 15);
		assert_int_equal(folio_ref_count(page_folio(page)), 15);
		mm_test_end(&t);
	}
}

/* ... and even with only this page of it left. */
static void test_last_of_large_is_copied(void **state)
{
	struct page *page;

	(void)state;
	begin_order(2);
	assert_int_equal(pf_madvise(t.mm, AT + PAGE_SIZE, PAGES(3),
				    PINFOLD_MADV_DONTNEED), 0);
	page = orphan_page(AT);
	assert_int_equal(folio_ref_count(page_folio(page)), 1);
	fault(AT, WRITE);
	check_copied(page, WRITE);
	mm_test_end(&t);
}

static void test_large_exclusive_is_reused(void **state)
{
	struct page *page;

	(void)state;
	begin_order(4);
	page = page_mapped_at(&t, AT + PAGES(3));
	protect_entry(AT + PAGES(3));
	fault(AT + PAGES(3), WRITE);
	assert_ptr_equal(page_mapped_at(&t, AT + PAGES(3)), page);
	assert_true(pte_write(entry_at(&t, AT + PAGES(3))));
	mm_test_end(&t);
}

/* ---- the zero page's counts ------------------------------------------- */

static void test_case_E1(void **state)
{
	struct folio *zero;
	struct page *pin;
	u64 acquired;

	(void)state;
	BEGIN(.memory_bytes = MIB(4));
	map_at(&t, AT, 1, RW);
	assert_int_equal(read_word(&t, AT), 0);
	zero = page_folio(the_machine()->zero_page);
	assert_int_equal(folio_ref_count(zero), 1);
	acquired = nr_foll_pin_acquired(the_machine());
	/* one count a call would be seen at the first */
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 1,
							 &pin, 0), 1);
		assert_ptr_equal(pin, &zero->page);
		assert_int_equal(folio_ref_count(zero), 1);
		assert_false(folio_maybe_dma_pinned(zero));
		if (i & 1)	/* the others are forgotten */
			unpin_user_page(pin);
		assert_int_equal(folio_ref_count(zero), 1);
	}
	assert_int_equal(nr_foll_pin_acquired(the_machine()), acquired);
	assert_int_equal(nr_foll_pin_released(the_machine()), acquired);
	assert_valid(&t);
	mm_test_end(&t);
}

/* A longterm pin gets a page of its own instead, in one call. */
static void test_case_E1_longterm(void **state)
{
	struct page *pin;

	(void)state;
	for (unsigned int huge = 0; huge < 2; huge++) {
		BEGIN(.thp_always = huge ? BIT(HPAGE_PMD_ORDER) : 0);
		map_at(&t, AT, HUGE_PAGES, RW);
		assert_int_equal(read_word(&t, AT), 0);
		assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), AT, 1,
						&pin, FOLL_LONGTERM), 1);
		assert_false(is_zero_page(pin));
		assert_int_equal(folio_order(page_folio(pin)), 0);
		assert_false(pte_write(entry_at(&t, AT)));
		/* case_A6: and it is the page that a later store goes to */
		write_word(&t, AT, 5);
		assert_int_equal(*(u64 *)page_address(pin), 5);
		unpin_user_page(pin);
		mm_test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusive),
		cmocka_unit_test(test_exclusive_read_only_area),
		cmocka_unit_test(test_writable),
		cmocka_unit_test(test_orphan_is_reused),
		cmocka_unit_test(test_orphan_is_copied),
		cmocka_unit_test(test_copied_bits),
		cmocka_unit_test(test_uffd_wp_exclusive),
		cmocka_unit_test(test_zero_page),
		cmocka_unit_test(test_unshare_nothing),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_migration_wait),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_hint_no_access),
		cmocka_unit_test(test_large_orphan_is_copied),
		cmocka_unit_test(test_last_of_large_is_copied),
		cmocka_unit_test(test_large_exclusive_is_reused),
		cmocka_unit_test(test_case_E1),
		cmocka_unit_test(test_case_E1_longterm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
