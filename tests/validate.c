/* SPDX-License-Identifier: MIT */
/*
 * Claim: mm_validate() finds each kind of damage that it says it does, by its
 * number, and finds nothing when the damage is undone.
 *
 * Source: lab/validate.h
 */
#include "tests/mm_test.h"

#include "mm/hugetlb.h"
#include "mm/rmap.h"

#define SMALL	(BASE + PMD_SIZE)
#define READ_ONLY (BASE + 2 * PMD_SIZE)
#define HUGETLB	(BASE + 4 * PMD_SIZE)

static struct mm_test t;

static struct machine *the_machine(void)
{
	return machine_of(t.machine);
}

/* Where all user pages are. */
static struct zone *the_zone(void)
{
	return &the_machine()->zones[ZONE_MOVABLE];
}

static struct zone *normal_zone(void)
{
	return &the_machine()->zones[ZONE_NORMAL];
}

static struct hstate *the_pool(void)
{
	return &the_machine()->hstates[HSTATE_2M];
}

static struct folio *small_folio(void)
{
	return page_folio(page_mapped_at(&t, SMALL));
}

static struct folio *huge_folio(void)
{
	return page_folio(page_mapped_at(&t, BASE));
}

/* What a store to each page does when nobody shares them any more. */
static void unshare_all(void)
{
	write_word(&t, BASE, 1);
	write_word(&t, SMALL, 2);
}

/* Each does its damage if @on, and undoes it if not. */

static void lock_table(bool on)
{
	mm_of(t.mm)->page_table_lock.word = on;
}

static void lock_folio(bool on)
{
	if (on)
		set_bit(PG_locked, &small_folio()->flags);
	else
		clear_bit(PG_locked, &small_folio()->flags);
}

static void lock_pool(bool on)
{
	the_pool()->lock.word = on;
}

static void lock_place(bool on)
{
	the_machine()->hugetlb_fault[5].state = on;
}

static void count_isolated(bool on)
{
	the_zone()->nr_isolated += on ? 1 : -1;
}

static void count_area(bool on)
{
	mm_of(t.mm)->map_count += on ? 1 : -1;
}

static void count_table(bool on)
{
	atomic64_add(on ? 1 : -1, &mm_of(t.mm)->pgtables);
}

static void lose_spare_table(bool on)
{
	static struct page *spare;
	struct page *table = virt_to_page(mm_find_pmd(mm_of(t.mm), BASE));

	if (on)
		spare = table->pt_next;
	table->pt_next = on ? NULL : spare;
}

static void permit_write(bool on)
{
	pte_t entry = entry_at(&t, READ_ONLY);

	set_pte_at(mm_of(t.mm), READ_ONLY, pte_at(&t, READ_ONLY),
		   on ? pte_mkwrite_novma(entry) : pte_wrprotect(entry));
}

static void move_index(bool on)
{
	small_folio()->index += on ? 1 : -1;
}

static void share_writable(bool on)
{
	if (on)
		ClearPageAnonExclusive(&small_folio()->page);
	else
		SetPageAnonExclusive(&small_folio()->page);
}

/* Two entries for one page, as after fork, but the page is exclusive still. */
static void share_exclusive(bool on)
{
	static struct pf_mm *child;
	struct page *page = page_mapped_at(&t, SMALL);

	if (on) {
		assert_int_equal(pf_mm_fork(t.mm, &child), 0);
		SetPageAnonExclusive(page);
	} else {
		ClearPageAnonExclusive(page);
		pf_mm_destroy(child);
		unshare_all();
	}
}

static void share_exclusive_leaf(bool on)
{
	static struct pf_mm *child;

	if (on) {
		assert_int_equal(pf_mm_fork(t.mm, &child), 0);
		SetPageAnonExclusive(&huge_folio()->page);
	} else {
		ClearPageAnonExclusive(&huge_folio()->page);
		pf_mm_destroy(child);
		unshare_all();
	}
}

/* The folio does not say whose it is. */
static void lose_anon_vma(bool on)
{
	static struct address_space *mapping;

	if (on)
		mapping = small_folio()->mapping;
	small_folio()->mapping = on ?
		(struct address_space *)PAGE_MAPPING_ANON : mapping;
}

static void leave_sequence_odd(bool on)
{
	mm_of(t.mm)->write_protect_seq.sequence += on ? 1 : -1;
}

static void lock_family(bool on)
{
	mm_of(t.mm)->anon_vma->rwsem.state = on;
}

static void count_rss(bool on)
{
	atomic64_add(on ? 1 : -1, &mm_of(t.mm)->rss_pages);
}

static void count_reference(bool on)
{
	atomic_add(on ? 1 : -1, &small_folio()->_refcount);
}

static void count_mapping(bool on)
{
	atomic_add(on ? 1 : -1, &huge_folio()->_mapcount);
}

static void count_pin(bool on)
{
	atomic_add(on ? 1 : -1, &huge_folio()->_pincount);
}

static void count_acquired(bool on)
{
	atomic64_add(on ? 1 : -1, &the_machine()->cpus[0].pin_acquired);
}

static void write_zero_page(bool on)
{
	((char *)page_address(the_machine()->zero_page))[4000] = on;
}

static void count_lru(bool on)
{
	the_zone()->nr_lru[LRU_INACTIVE_ANON] += on ? 1 : -1;
}

static void clear_lru(bool on)
{
	if (on)
		folio_clear_lru(huge_folio());
	else
		folio_set_lru(huge_folio());
}

static void count_free(bool on)
{
	the_zone()->free_pages += on ? 1 : -1;
}

static void count_cpu_free(bool on)
{
	the_machine()->cpus[0].pcp[ZONE_MOVABLE].nr_free[3] += on ? 1 : -1;
}

static void count_cma(bool on)
{
	normal_zone()->free_cma_pages += on ? 1 : -1;
}

static void change_cma(bool on)
{
	pf_pfn_t last = normal_zone()->end_pfn - 1;

	the_machine()->pageblock_type[last >> PAGEBLOCK_ORDER] =
		on ? MIGRATE_MOVABLE : MIGRATE_CMA;
}

/* Tables are where a machine's memory has to be movable. */
static void move_border(bool on)
{
	the_machine()->movable_pfn = on ? RESERVED_PAGES :
					  normal_zone()->end_pfn;
}

static void count_pool_free(bool on)
{
	the_pool()->free_huge_pages += on ? 1 : -1;
}

static void count_reserved(bool on)
{
	the_pool()->resv_huge_pages -= on ? 1 : -1;
}

static void lose_from_pool(bool on)
{
	static struct folio *folio;

	if (on) {
		folio = list_first_entry(&the_pool()->active, struct folio,
					 lru);
		list_del(&folio->lru);
	} else {
		list_add(&folio->lru, &the_pool()->active);
	}
}

static void give_spare_table(bool on)
{
	struct page *table = virt_to_page(mm_find_pmd(mm_of(t.mm), HUGETLB));
	struct page *spare;

	if (on) {
		spare = pte_alloc_one(mm_of(t.mm));
		assert_non_null(spare);
		spare->pt_next = table->pt_next;
		table->pt_next = spare;
	} else {
		spare = table->pt_next;
		table->pt_next = spare->pt_next;
		pte_free(mm_of(t.mm), spare);
	}
}

/* A free block as two halves, which should have been merged. */
static void split_free_block(bool on)
{
	struct free_area *area = &the_zone()->free_area[MAX_PAGE_ORDER];
	static struct page *whole;
	struct page *half;

	if (on)
		whole = list_first_entry(&area->free_list[MIGRATE_MOVABLE],
					 struct page, lru);
	half = whole + (1UL << (MAX_PAGE_ORDER - 1));
	list_del(&whole->lru);
	area[on ? 0 : -1].nr_free--;
	if (on) {
		whole->order = MAX_PAGE_ORDER - 1;
		half->order = MAX_PAGE_ORDER - 1;
		half->migratetype = MIGRATE_MOVABLE;
		half->flags = BIT(PG_buddy);
		list_add(&whole->lru, &area[-1].free_list[MIGRATE_MOVABLE]);
		list_add(&half->lru, &area[-1].free_list[MIGRATE_MOVABLE]);
		area[-1].nr_free += 2;
	} else {
		list_del(&half->lru);
		area[-1].nr_free--;
		half->flags = 0;
		whole->order = MAX_PAGE_ORDER;
		list_add(&whole->lru, &area->free_list[MIGRATE_MOVABLE]);
		area->nr_free++;
	}
}

static void lose_frame(bool on)
{
	static struct page *page;

	if (on) {
		page = alloc_pages(GFP_USER, 0);
		assert_non_null(page);
		atomic_set(&page->_refcount, 0);
	} else {
		atomic_set(&page->_refcount, 1);
		__free_pages(page, 0);
	}
}

static void count_charge(bool on)
{
	atomic64_add(on ? 1 : -1, &the_machine()->memcgs[7].usage);
}

static const struct {
	void (*damage)(bool on);
	enum mm_invariant number;
} rows[] = {
	{ lock_table, MM_LOCKED },
	{ lock_folio, MM_LOCKED },
	{ lock_pool, MM_LOCKED },
	{ lock_place, MM_LOCKED },
	{ count_isolated, MM_LOCKED },
	{ leave_sequence_odd, MM_LOCKED },
	{ lock_family, MM_LOCKED },
	{ count_area, MM_AREAS },
	{ count_table, MM_TABLES },
	{ lose_spare_table, MM_DEPOSITS },
	{ give_spare_table, MM_DEPOSITS },
	{ permit_write, MM_ENTRIES },
	{ move_index, MM_INDEX },
	{ share_writable, MM_EXCLUSIVE },
	{ share_exclusive, MM_EXCLUSIVE },
	{ share_exclusive_leaf, MM_EXCLUSIVE },
	{ lose_anon_vma, MM_RMAP },
	{ count_rss, MM_RSS },
	{ count_reference, MM_REFCOUNT },
	{ count_mapping, MM_MAPCOUNT },
	{ count_pin, MM_PINCOUNT },
	{ count_acquired, MM_PINS },
	{ write_zero_page, MM_ZERO },
	{ count_lru, MM_LRU },
	{ clear_lru, MM_LRU },
	{ count_free, MM_FREE_LISTS },
	{ count_cpu_free, MM_FREE_LISTS },
	{ count_cma, MM_FREE_LISTS },
	{ change_cma, MM_FREE_LISTS },
	{ move_border, MM_ZONES },
	{ count_pool_free, MM_POOLS },
	{ count_reserved, MM_POOLS },
	{ lose_from_pool, MM_POOLS },
	{ split_free_block, MM_BUDDIES },
	{ lose_frame, MM_FRAMES },
	{ count_charge, MM_CHARGES },
};

static void begin(void)
{
	pf_addr_t place;

	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(20), .movable_bytes = MIB(12),
		.cma_bytes = MIB(4), .hugetlb_2m_pages = 2,
		.thp_madvise = BIT(HPAGE_PMD_ORDER) });
	assert_int_equal(pf_mmap(t.mm, HUGETLB, 2 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	write_word(&t, HUGETLB, 4);
	map_at(&t, BASE, HPAGE_PMD_NR, RW);
	assert_int_equal(pf_madvise(t.mm, BASE, PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	map_at(&t, SMALL, 4, RW);
	map_at(&t, READ_ONLY, 4, RW);
	write_word(&t, BASE, 1);
	write_word(&t, SMALL, 2);
	write_word(&t, READ_ONLY, 3);
	assert_int_equal(pf_mprotect(t.mm, READ_ONLY, PAGES(4),
				     PINFOLD_PROT_READ), 0);
	lru_add_drain();
}

static void test_damage(void **state)
{
	(void)state;
	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_valid(&t);
		rows[i].damage(true);
		assert_int_equal(mm_validate(the_machine(), NULL),
				 rows[i].number);
		rows[i].damage(false);
	}
	assert_valid(&t);
	mm_test_end(&t);
}

/* What is held and not said, or said and not held. */
static void test_holds(void **state)
{
	struct mm_holds gets = { .nr_gets = 1 }, pins = { .nr_pins = 1 };
	struct page *page;

	(void)state;
	begin();
	gets.gets = &page;
	pins.pins = &page;
	page = page_mapped_at(&t, SMALL);
	assert_int_equal(mm_validate(the_machine(), &gets), MM_REFCOUNT);
	assert_int_equal(mm_validate(the_machine(), &pins), MM_PINS);
	assert_int_equal(get_user_pages_unlocked(mm_of(t.mm), SMALL, 1, &page,
						 0), 1);
	assert_int_equal(mm_validate(the_machine(), NULL), MM_REFCOUNT);
	assert_int_equal(mm_validate(the_machine(), &gets), 0);
	put_page(page);
	assert_int_equal(pin_user_pages_unlocked(mm_of(t.mm), BASE, 1, &page,
						 0), 1);
	assert_int_equal(mm_validate(the_machine(), NULL), MM_PINS);
	assert_int_equal(mm_validate(the_machine(), &pins), 0);
	unpin_user_page(page);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
