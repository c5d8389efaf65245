/* SPDX-License-Identifier: MIT */
/*
 * Claim: a split leaves bytes, permissions, marks and exclusivity of every
 * mapping as they were and the page in its frame; pages of zeroes and pages that
 * nothing maps are freed; a folio of which any page is got, pinned or mapped by
 * somebody else stays whole, with all counts as before.
 *
 * Source: semantics/gup.md 4.7, 9.10 (S1, S2, S4), 4.4 (E3, E4); cases.md D7
 */
#include "tests/fault_test.h"
#include "tests/random.h"

#include "mm/folio_split.h"
#include "mm/rmap.h"
#include "mm/swapops.h"

#include <errno.h>

#define NR	HPAGE_PMD_NR

static void begin(unsigned long orders, u64 pages)
{
	BEGIN(.memory_bytes = MIB(32), .thp_always = orders);
	map_at(&t, AT, pages, RW);
}

static void begin_huge(u64 pages)
{
	begin(BIT(HPAGE_PMD_ORDER), pages);
	for (u64 i = 0; i < pages; i++)
		write_word(&t, AT + PAGES(i), i + 1);
	assert_false(pmd_none(leaf_at(&t, AT)));
}

static int64_t split(u64 page, u64 pages, unsigned int order)
{
	return pf_split(t.mm, AT + PAGES(page), PAGES(pages), order);
}

static struct folio *folio_at(u64 page)
{
	return page_folio(page_mapped_at(&t, AT + PAGES(page)));
}

static void check_words(u64 pages)
{
	for (u64 i = 0; i < pages; i++)
		assert_int_equal(read_word(&t, AT + PAGES(i)), i + 1);
}

static void test_gup_S1(void **state)
{
	unsigned long before;
	u64 zero = 0;

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER), 4 * NR);
	for (u64 i = 0; i < 4; i++)
		write_word(&t, AT + i * PMD_SIZE, zero);
	before = frames_in_use(the_machine());
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 4 * NR);
	assert_int_equal(split(0, 4 * NR, 0), 4);
	assert_valid(&t);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 0);
	assert_int_equal(frames_in_use(the_machine()), before - 4 * NR);
	for (u64 i = 0; i < 4 * NR; i++) {
		assert_true(pte_special(entry_at(&t, AT + PAGES(i))));
		assert_true(pte_soft_dirty(entry_at(&t, AT + PAGES(i))));
		assert_int_equal(read_word(&t, AT + PAGES(i)), 0);
	}
	write_word(&t, AT, 7);
	assert_int_equal(read_word(&t, AT), 7);
	assert_int_equal(read_word(&t, AT + PAGE_SIZE), 0);
	mm_test_end(&t);
}

static void test_gup_S2(void **state)
{
	static struct page *before[4 * NR];

	(void)state;
	begin_huge(4 * NR);
	for (u64 i = 0; i < 4 * NR; i++)
		before[i] = page_mapped_at(&t, AT + PAGES(i));
	/* one page of each is enough */
	assert_int_equal(split(7, 1, 0), 1);
	assert_int_equal(split(0, 4 * NR, 0), 3);
	assert_int_equal(split(0, 4 * NR, 0), 0);
	assert_valid(&t);
	for (u64 i = 0; i < 4 * NR; i++) {
		assert_ptr_equal(page_mapped_at(&t, AT + PAGES(i)), before[i]);
		assert_int_equal(folio_order(folio_at(i)), 0);
		assert_int_equal(folio_ref_count(folio_at(i)), 1);
		assert_true(pte_write(entry_at(&t, AT + PAGES(i))));
		assert_true(PageAnonExclusive(before[i]));
	}
	check_words(4 * NR);
	mm_test_end(&t);
}

/* Reachable only through one page each, somewhere else. */
static void test_gup_S2_moved(void **state)
{
	const pf_addr_t there = AT + 64 * PMD_SIZE;
	pf_addr_t place;
	unsigned long used;

	(void)state;
	begin_huge(4 * NR);
	for (u64 i = 0; i < 4; i++)
		assert_int_equal(pf_mremap(t.mm, AT + i * PMD_SIZE + PAGES(i),
					   PAGE_SIZE, PAGE_SIZE,
					   PINFOLD_MREMAP_MAYMOVE |
					   PINFOLD_MREMAP_FIXED,
					   there + PAGES(2 * i), &place), 0);
	assert_int_equal(pf_split(t.mm, there, PAGES(8), 0), 4);
	assert_valid(&t);
	for (u64 i = 0; i < 4; i++) {
		assert_int_equal(read_word(&t, there + PAGES(2 * i)),
				 i * NR + i + 1);
		assert_int_equal(read_word(&t, AT + i * PMD_SIZE + PAGES(9)),
				 i * NR + 10);
	}
	mm_test_end(&t);

	/* and with the rest gone: its frames come back with the split */
	begin_huge(NR);
	assert_int_equal(pf_mremap(t.mm, AT + PAGES(77), PAGE_SIZE, PAGE_SIZE,
				   PINFOLD_MREMAP_MAYMOVE |
				   PINFOLD_MREMAP_FIXED, there, &place), 0);
	assert_int_equal(pf_munmap(t.mm, AT, PMD_SIZE), 0);
	used = frames_in_use(the_machine());
	assert_int_equal(pf_split(t.mm, there, PAGE_SIZE, 0), 1);
	assert_int_equal(frames_in_use(the_machine()), used - (NR - 1));
	assert_valid(&t);
	assert_int_equal(read_word(&t, there), 78);
	mm_test_end(&t);
}

/* Entries as PTEs, whatever level they are on. */
static pte_t as_pte(u64 page)
{
	pmd_t leaf = leaf_at(&t, AT + PAGES(page));

	if (pmd_none(leaf))
		return entry_at(&t, AT + PAGES(page));
	return __pte((pmd_val(leaf) & ~_PAGE_PSE) + PAGES(page % NR));
}

static struct pf_page *held;
static struct mm_holds holds;

enum hold { HOLD_GET, HOLD_PIN, HOLD_PIN_WRITE, HOLD_MAPPED, HOLD_ISOLATED,
	    HOLD_LOCKED, NR_HOLDS };

static void take_hold(enum hold how, u64 page)
{
	pf_addr_t at = AT + PAGES(page);

	holds = (struct mm_holds){ 0 };
	switch (how) {
	case HOLD_GET:
		assert_int_equal(pf_get_user_pages_unlocked(t.mm, at, 1, &held,
							    0), 1);
		holds.gets = (struct page **)&held;
		holds.nr_gets = 1;
		break;
	case HOLD_PIN:
	case HOLD_PIN_WRITE:
		assert_int_equal(pf_pin_user_pages_unlocked(t.mm, at, 1, &held,
				 how == HOLD_PIN ? 0 : PINFOLD_FOLL_WRITE), 1);
		holds.pins = (struct page **)&held;
		holds.nr_pins = 1;
		break;
	case HOLD_MAPPED:
		held = (struct pf_page *)page_mapped_at(&t, at);
		folio_get(folio_at(page));
		atomic_inc(&folio_at(page)->_mapcount);
		break;
	case HOLD_ISOLATED:
		held = (struct pf_page *)page_mapped_at(&t, at);
		assert_true(folio_isolate_lru(folio_at(page)));
		break;
	default:
		held = (struct pf_page *)page_mapped_at(&t, at);
		set_bit(PG_locked, &folio_at(page)->flags);
		break;
	}
}

static void drop_hold(enum hold how)
{
	struct folio *folio = page_folio(page_of(held));

	switch (how) {
	case HOLD_GET:
		pf_put_page(held);
		break;
	case HOLD_PIN:
	case HOLD_PIN_WRITE:
		pf_unpin_user_page(held);
		break;
	case HOLD_MAPPED:
		atomic_dec(&folio->_mapcount);
		folio_put(folio);
		break;
	case HOLD_ISOLATED:
		folio_putback_lru(folio);
		break;
	default:
		clear_bit(PG_locked, &folio->flags);
		break;
	}
}

static void run_busy(unsigned long orders, u64 nr, enum hold how)
{
	static pte_t before[NR];
	int refs;

	begin(orders, NR);
	for (u64 i = 0; i < nr; i++)
		write_word(&t, AT + PAGES(i), i + 1);
	/* some read-only, one not exclusive */
	if (orders != BIT(HPAGE_PMD_ORDER)) {
		protect_entry(AT + PAGES(1));
		if (how != HOLD_PIN && how != HOLD_PIN_WRITE)
			orphan_page(AT + PAGES(2));
	}
	take_hold(how, 5);
	for (u64 i = 0; i < nr; i++)
		before[i] = as_pte(i);
	refs = folio_ref_count(folio_at(0)) - folio_mapcount(folio_at(0));
	assert_int_equal(split(0, nr, 0), -EAGAIN);
	assert_int_equal(error_note.err, -EAGAIN);
	assert_int_equal(folio_nr_pages(folio_at(0)), nr);
	assert_int_equal(folio_ref_count(folio_at(0)) -
			 folio_mapcount(folio_at(0)), refs);
	for (u64 i = 0; i < nr; i++)
		assert_int_equal(pte_val(as_pte(i)), pte_val(before[i]));
	if (how <= HOLD_PIN_WRITE)
		assert_int_equal(mm_validate(the_machine(), &holds), 0);
	drop_hold(how);
	assert_valid(&t);
	assert_int_equal(split(0, nr, 0), 1);
	assert_valid(&t);
	check_words(nr);
	mm_test_end(&t);
}

/* [gup_S4] [case_D7] */
static void test_gup_S4_case_D7(void **state)
{
	(void)state;
	for (int how = 0; how < NR_HOLDS; how++) {
		run_busy(BIT(HPAGE_PMD_ORDER), NR, how);
		run_busy(BIT(4), 16, how);
	}
}

/* The look passes, and then somebody pins: the freeze, or E4, finds it. */
static void run_late(unsigned int flags, bool pin)
{
	struct mm_struct *mm;
	static pte_t before[16];

	begin(BIT(4), NR);
	mm = mm_of(t.mm);
	for (u64 i = 0; i < 16; i++)
		write_word(&t, AT + PAGES(i), i + 1);
	for (u64 i = 0; i < 16; i++)
		before[i] = as_pte(i);
	take_hold(pin ? flags ? HOLD_PIN_WRITE : HOLD_PIN : HOLD_GET, 5);
	mmap_read_lock(mm);
	assert_true(folio_trylock(folio_at(0)));
	folio_get(folio_at(0));
	/* As if the hold was the mapping of a page that is not mapped. */
	atomic_add(folio_ref_count(folio_at(0)) - 1 -
		   folio_mapcount(folio_at(0)), &folio_at(0)->_mapcount);
	assert_int_equal(split_folio_to_order(folio_at(0), 0), -EAGAIN);
	atomic_set(&folio_at(0)->_mapcount, 16);
	folio_unlock(folio_at(0));
	folio_put(folio_at(0));
	mmap_read_unlock(mm);
	for (u64 i = 0; i < 16; i++) {
		assert_int_equal(pte_val(as_pte(i)), pte_val(before[i]));
		assert_true(PageAnonExclusive(page_mapped_at(&t,
							     AT + PAGES(i))));
	}
	assert_int_equal(mm_validate(the_machine(), &holds), 0);
	drop_hold(pin ? HOLD_PIN : HOLD_GET);
	mm_test_end(&t);
}

static void test_late(void **state)
{
	(void)state;
	run_late(0, false);
	run_late(0, true);
	run_late(PINFOLD_FOLL_WRITE, true);
}

/* [gup_E4] exclusivity is not taken from a page that may be pinned. */
static void test_gup_E4(void **state)
{
	struct folio *folio;
	struct page *page;
	pte_t pte;

	(void)state;
	begin(BIT(4), NR);
	write_word(&t, AT, 1);
	page = page_mapped_at(&t, AT + PAGES(5));
	folio = page_folio(page);
	take_hold(HOLD_PIN, 9);
	pte = ptep_get_and_clear(mm_of(t.mm), AT, pte_at(&t, AT + PAGES(5)));
	assert_int_equal(folio_try_share_anon_rmap_pte(folio, page), -EBUSY);
	assert_true(PageAnonExclusive(page));
	drop_hold(HOLD_PIN);
	assert_int_equal(folio_try_share_anon_rmap_pte(folio, page), 0);
	assert_false(PageAnonExclusive(page));
	set_entry(AT + PAGES(5), pte_wrprotect(pte));
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_orders(void **state)
{
	static const unsigned int orders[] = { 8, 5, 4, 2, 0 };

	(void)state;
	begin_huge(NR);
	assert_int_equal(split(0, NR, 1), -EINVAL);
	assert_int_equal(split(0, NR, 9), -EINVAL);
	assert_int_equal(pf_split(t.mm, AT + 1, PAGE_SIZE, 0), -EINVAL);
	assert_int_equal(pf_split(t.mm, TASK_SIZE, PAGE_SIZE, 0), -EINVAL);
	for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
		const u64 nr = 1u << orders[i];

		assert_int_equal(split(0, NR, orders[i]), i ? NR >>
				 orders[i - 1] : 1);
		assert_valid(&t);
		for (u64 k = 0; k < NR; k++) {
			struct folio *folio = folio_at(k);

			assert_int_equal(folio_order(folio), orders[i]);
			assert_int_equal(folio_page_idx(folio,
					 page_mapped_at(&t, AT + PAGES(k))),
					 k % nr);
			assert_int_equal(folio_mapcount(folio), nr);
		}
		check_words(NR);
	}
	mm_test_end(&t);
}

static void test_marks(void **state)
{
	static pte_t before[16];

	(void)state;
	begin(BIT(4), NR);
	for (u64 i = 0; i < 16; i++)
		write_word(&t, AT + PAGES(i), i + 1);
	track_writes();
	for (u64 i = 0; i < 16; i++) {
		pte_t pte = as_pte(i);

		pte = i & 1 ? pte_wrprotect(pte) : pte;
		pte = i & 2 ? pte_mkclean(pte) : pte;
		pte = i & 4 ? pte_mkold(pte) : pte;
		pte = i & 8 ? pte_clear_soft_dirty(pte) : pte;
		if (i % 5 == 1)
			pte = pte_mkuffd_wp(pte_wrprotect(pte));
		set_entry(AT + PAGES(i), pte);
		before[i] = pte;
		if (i == 3)
			ClearPageAnonExclusive(page_mapped_at(&t, AT +
							      PAGES(i)));
	}
	set_bit(PG_hwpoison, &page_mapped_at(&t, AT + PAGES(7))->flags);
	assert_true(folio_test_active(folio_at(0)));
	folio_set_referenced(folio_at(0));
	assert_int_equal(split(0, 1, 0), 1);
	assert_valid(&t);
	for (u64 i = 0; i < 16; i++) {
		struct page *page = page_mapped_at(&t, AT + PAGES(i));

		assert_int_equal(pte_val(as_pte(i)), pte_val(before[i]));
		assert_int_equal(PageAnonExclusive(page), i != 3);
		assert_int_equal(PageHWPoison(page), i == 7);
		assert_true(folio_test_referenced(page_folio(page)));
		assert_true(folio_test_uptodate(page_folio(page)));
		assert_true(folio_test_active(page_folio(page)));
	}
	clear_bit(PG_hwpoison, &page_mapped_at(&t, AT + PAGES(7))->flags);
	mm_test_end(&t);
}

/* No zero page where pages are locked, and a poisoned one is not looked at. */
static void test_zeroes_stay(void **state)
{
	struct page *poisoned;
	pf_addr_t place;

	(void)state;
	begin(BIT(4), NR);
	assert_int_equal(pf_mmap(t.mm, AT + PMD_SIZE, PAGES(16), RW,
				 PINFOLD_MAP_FIXED | PINFOLD_MAP_LOCKED,
				 &place), 0);
	assert_int_equal(pf_split(t.mm, place, PAGES(16), 0), 1);
	for (u64 i = 0; i < 16; i++)
		assert_false(pte_special(entry_at(&t, place + PAGES(i))));
	write_word(&t, AT, 1);
	poisoned = page_mapped_at(&t, AT + PAGES(3));
	set_bit(PG_hwpoison, &poisoned->flags);
	assert_int_equal(split(0, 1, 0), 1);
	assert_ptr_equal(page_mapped_at(&t, AT + PAGES(3)), poisoned);
	assert_true(pte_special(entry_at(&t, AT + PAGES(4))));
	assert_false(pte_special(entry_at(&t, AT)));
	clear_bit(PG_hwpoison, &poisoned->flags);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_not_split(void **state)
{
	struct folio *zero;
	pf_addr_t place;

	(void)state;
	BEGIN(.memory_bytes = MIB(16), .thp_always = BIT(HPAGE_PMD_ORDER),
	      .hugetlb_2m_pages = 1);
	map_at(&t, AT, NR, RW);
	assert_int_equal(read_word(&t, AT), 0);
	zero = page_folio(page_mapped_at(&t, AT));
	assert_true(is_huge_zero_folio(zero));
	assert_int_equal(split(0, NR, 0), 0);
	mmap_read_lock(mm_of(t.mm));
	assert_true(folio_trylock(zero));
	assert_int_equal(split_folio_to_order(zero, 0), -EBUSY);
	folio_unlock(zero);
	mmap_read_unlock(mm_of(t.mm));
	assert_int_equal(pf_mmap(t.mm, 0, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB,
				 &place), 0);
	write_word(&t, place, 1);
	assert_int_equal(pf_split(t.mm, place, PMD_SIZE, 0), 0);
	assert_false(pmd_none(leaf_at(&t, place)));
	mm_test_end(&t);
}

/* [gup_V10] pinned page by page, released at random: splits when it is over. */
static void test_gup_V10(void **state)
{
	static struct pf_page *pages[NR];
	struct random r;

	(void)state;
	random_init(&r);
	begin_huge(NR);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, NR, pages,
						    PINFOLD_FOLL_WRITE), NR);
	for (unsigned int left = NR; left; left--) {
		unsigned int i = random_below(&r, left);

		if (left % 64 == 1)
			assert_int_equal(split(0, NR, 0), -EAGAIN);
		pf_unpin_user_page(pages[i]);
		pages[i] = pages[left - 1];
	}
	assert_int_equal(split(0, NR, 0), 1);
	check_words(NR);
	mm_test_end(&t);
}

/* ---- at random, with the bytes as the oracle ------------------------- */

#define NR_RANDOM	(3 * NR)

static void random_step(struct random *r, u64 *words)
{
	u64 page = random_below(r, NR_RANDOM);
	u64 nr = 1 + random_below(r, min(NR_RANDOM - page, (u64)700));
	static const unsigned int orders[] = { 0, 0, 2, 3, 4, 6, 8 };
	int64_t ret;

	switch (random_below(r, 8)) {
	case 0:
		assert_int_equal(pf_madvise(t.mm, AT + PAGES(page), PAGES(nr),
					    PINFOLD_MADV_DONTNEED), 0);
		memset(words + page, 0, nr * sizeof(*words));
		break;
	case 1:
		ret = pf_madvise(t.mm, AT + PAGES(page), PAGES(nr),
				 PINFOLD_MADV_COLLAPSE);
		assert_true(ret == 0 || ret == -EINVAL || ret == -ENOMEM);
		break;
	case 2:
	case 3:
		ret = split(page, nr, orders[random_below(r, 7)]);
		assert_true(ret >= 0);
		break;
	case 4:
		assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
		break;
	case 5:
		assert_true(pf_numa_hint(t.mm, AT + PAGES(page), PAGES(nr)) >=
			    0);
		break;
	default:
		write_word(&t, AT + PAGES(page), ++words[page]);
		break;
	}
}

static void test_random(void **state)
{
	static u64 words[NR_RANDOM];
	struct random r;

	(void)state;
	random_init(&r);
	for (int round = 0; round < 8; round++) {
		begin(round & 1 ? BIT(HPAGE_PMD_ORDER) : BIT(2 + round),
		      NR_RANDOM);
		memset(words, 0, sizeof(words));
		for (int step = 0; step < 60; step++) {
			random_step(&r, words);
			if (step % 10 == 9)
				assert_valid(&t);
		}
		for (u64 i = 0; i < NR_RANDOM; i++)
			assert_int_equal(read_word(&t, AT + PAGES(i)),
					 words[i]);
		mm_test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gup_S1),
		cmocka_unit_test(test_gup_S2),
		cmocka_unit_test(test_gup_S2_moved),
		cmocka_unit_test(test_gup_S4_case_D7),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_gup_E4),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_zeroes_stay),
		cmocka_unit_test(test_not_split),
		cmocka_unit_test(test_gup_V10),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
