/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever somebody does between two steps of the lockless walk, what it
 * gives is still mapped there after it was held, nobody else's folio keeps a
 * count of it, and no frame is lost or freed twice.
 *
 * The hook of host/race_point.h does the work of the other thread, at a chosen
 * point, once or each time.
 *
 * case_D1, case_D2, case_D6: the public reports of these numbers.
 * Source: mm/gup.c:try_grab_folio_fast(), gup_fast_pte_range(),
 *         gup_fast_pmd_leaf(), gup_fast()
 */
#include "tests/fast_test.h"

#include "host/race_point.h"
#include "mm/swap.h"

#define NR_CALLS	4

static const unsigned int calls[NR_CALLS] = {
	GET, GET | WRITE, PIN, PIN | WRITE,
};

static struct race {
	enum race_point at;
	void (*act)(void);
	int times;		/* to act; counts down */
	bool fired;
} race;

static void hook(void *arg, enum race_point point)
{
	race_hook_fn self = race_hook;

	(void)arg;
	if (point != race.at || !race.times)
		return;
	race.times--;
	race.fired = true;
	race_hook = NULL;
	race.act();
	race_hook = self;
}

/* walk() with @act done at @at, the first time it gets there */
static long race_walk(unsigned long page, unsigned long nr, unsigned int flags,
		      enum race_point at, void (*act)(void))
{
	long ret;

	race = (struct race){ .at = at, .act = act, .times = 1 };
	race_hook = hook;
	ret = walk(page, nr, flags);
	race_hook = NULL;
	assert_true(race.fired);
	return ret;
}

static struct folio *victim;

static void discard(unsigned long page, unsigned long nr)
{
	assert_int_equal(do_madvise(gs->mm, state_address(gs, page),
				    nr * PAGE_SIZE, MADV_DONTNEED), 0);
}

/* ---- the page goes ------------------------------------------------------- */

static void discard_first(void)
{
	discard(0, 1);
}

/* Freed before it was held: the count is 0 and stays so (case_D6). */
static void case_D6_freed_before(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		victim = mapped_folio(0, 0, STATE_OWN);
		assert_int_equal(race_walk(0, 1, calls[i], RACE_FAST_GUESSED,
					   discard_first), 0);
		assert_exit(GUP_FAST_F5_FROZEN);
		assert_int_equal(folio_ref_count(victim), 0);
		assert_pins_live(0);
	}
}

/* Unmapped while it was held: the walk frees it. */
static void unmapped_while_held(void **state)
{
	unsigned long before;

	(void)state;
	area(0, 8, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		victim = mapped_folio(0, 0, STATE_OWN);
		lru_add_drain();
		before = nr_free_pages(gs->machine);
		assert_int_equal(race_walk(0, 1, calls[i], RACE_FAST_HELD,
					   discard_first), 0);
		assert_exit(GUP_FAST_F6_ENTRY);
		assert_int_equal(nr_free_pages(gs->machine), before + 1);
		assert_int_equal(folio_ref_count(victim), 0);
		assert_pins_live(0);
	}
}

/* Its frame is another address's page by the time it is held. */
static void reuse_elsewhere(void)
{
	discard(0, 1);
	for (unsigned long i = 8; i < 200; i++) {
		struct folio *folio = mapped_folio(i, 0, STATE_OWN);

		if (folio == victim)
			return;
	}
	fail_msg("the frame did not come back");
}

static void reused_before(void **state)
{
	(void)state;
	for (int i = 0; i < NR_CALLS; i++) {
		area(0, 256, STATE_RW);
		victim = mapped_folio(0, 0, STATE_OWN);
		lru_add_drain();
		assert_int_equal(race_walk(0, 1, calls[i], RACE_FAST_GUESSED,
					   reuse_elsewhere), 0);
		assert_exit(GUP_FAST_F6_ENTRY);
		lru_add_drain();
		assert_counts(victim, 1, 0, 1);
		assert_pins_live(0);
		assert_int_equal(do_munmap(gs->mm, state_address(gs, 0),
					   256 * PAGE_SIZE), 0);
	}
}

/* The same entry again, with the same page: that is no change. */
static void take_and_put_back(void)
{
	pmd_t *pmd = mm_find_pmd(gs->mm, state_address(gs, 0));
	spinlock_t *ptl;
	pte_t *pte, entry;

	pte = pte_offset_map_lock(gs->mm, pmd, state_address(gs, 0), &ptl);
	BUG_ON(!pte);
	entry = ptep_get_and_clear(gs->mm, state_address(gs, 0), pte);
	set_pte_at(gs->mm, state_address(gs, 0), pte, entry);
	pte_unmap_unlock(pte, ptl);
}

static void same_again(void **state)
{
	(void)state;
	area(0, 8, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(race_walk(0, 1, calls[i], RACE_FAST_HELD,
					   take_and_put_back), 1);
		assert_exit(-1);
		let_go(1, calls[i]);
	}
}

/* ---- the frame becomes something else ------------------------------------ */

/* Frames of order @order until one has @pfn in it: @other is that folio. */
static struct folio *others[400], *other;
static unsigned int nr_others;

static void take_frame_as(unsigned int order, pf_pfn_t pfn)
{
	drain_all_cpu_lists(gs->machine);
	other = NULL;
	while (!other) {
		struct folio *folio = folio_alloc(__GFP_MOVABLE, order);

		if (!folio || nr_others == ARRAY_SIZE(others)) {
			fail_msg("the frame did not come back");
			return;
		}
		others[nr_others++] = folio;
		if (pfn - folio_pfn(folio) < 1ul << order)
			other = folio;
	}
}

static void drop_others(void)
{
	while (nr_others)
		folio_put(others[--nr_others]);
}

static void becomes_a_head(void)
{
	pf_pfn_t pfn = folio_pfn(victim);

	discard(0, 16);
	take_frame_as(2, pfn);
}

/* A small page, then the first page of a large folio: counted as neither. */
static void small_becomes_large(void **state)
{
	(void)state;
	area(0, 16, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		/* So that a buddy's first frame is among them. */
		for (unsigned long k = 0; k < 16; k++) {
			struct folio *folio = mapped_folio(k, 0, STATE_OWN);

			if (folio_pfn(folio) % 4 == 0)
				victim = folio;
		}
		lru_add_drain();
		for (unsigned long k = 0; k < 16; k++) {
			if (state_page(gs, k) != &victim->page)
				continue;
			assert_int_equal(race_walk(k, 1, calls[i],
						   RACE_FAST_GUESSED,
						   becomes_a_head), 0);
			break;
		}
		assert_int_equal(gup_exits[GUP_FAST_F5_MOVED] -
				 exits_before[GUP_FAST_F5_MOVED], 1);
		assert_ptr_equal(other, victim);
		assert_counts(other, 1, 0, 0);
		drop_others();
		assert_pins_live(0);
	}
}

static void becomes_small(void)
{
	pf_pfn_t pfn = folio_pfn(victim);

	discard(0, 16);
	take_frame_as(0, pfn);
}

static void becomes_shorter(void)
{
	pf_pfn_t pfn = folio_pfn(victim);

	discard(0, 16);
	take_frame_as(3, pfn);
}

static void becomes_longer(void)
{
	pf_pfn_t pfn = folio_pfn(victim);

	discard(0, 16);
	take_frame_as(5, pfn);
}

/* The order that was guessed is wrong by the time the folio is held. */
static void large_becomes_another(void **state)
{
	static void (*const acts[])(void) = {
		becomes_small, becomes_shorter, becomes_longer,
	};

	(void)state;
	area(0, 16, STATE_RW);
	for (unsigned int a = 0; a < ARRAY_SIZE(acts); a++) {
		for (int i = 0; i < NR_CALLS; i++) {
			victim = mapped_folio(0, 4, STATE_OWN);
			lru_add_drain();
			assert_int_equal(race_walk(i & 1 ? 5 : 0, 9, calls[i],
						   RACE_FAST_GUESSED, acts[a]),
					 0);
			assert_counts(other, 1, 0, 0);
			for (unsigned int k = 0; k < nr_others; k++)
				assert_counts(others[k], 1, 0, 0);
			drop_others();
			assert_pins_live(0);
		}
	}
}

/* As a split does: the folio's four pages become folios of their own. */
static void becomes_four(void)
{
	BUG_ON(folio_ref_count(victim) != 4);
	for (int i = 3; i >= 0; i--) {
		struct page *page = folio_page(victim, i);

		WRITE_ONCE(page->flags, (victim->flags & ~BIT(PG_head)) |
			   (i ? BIT(PG_anon_exclusive) : 0));
		if (i) {
			WRITE_ONCE(page->compound_head, 0);
			page->flags &= ~BIT(PG_lru);
			page->mapping = victim->mapping;
		}
		atomic_set(&page->_mapcount, 1);
		WRITE_ONCE(page->order, 0);
		atomic_set(&page->_refcount, 1);
	}
}

/* X14: the entries still map the pages, but the counts are others. */
static void split_into_small(void **state)
{
	(void)state;
	area(0, 16, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		const int bias = calls[i] & PIN ? GUP_PIN_COUNTING_BIAS : 1;

		for (int first = 0; first < 3; first += 2) {
			const long nr = 4 - first;

			victim = mapped_folio(0, 2, STATE_OWN);
			lru_add_drain();
			assert_int_equal(race_walk(first, 4, calls[i],
						   RACE_FAST_GUESSED,
						   becomes_four), nr);
			assert_int_equal(gup_exits[GUP_FAST_F5_MOVED] -
					 exits_before[GUP_FAST_F5_MOVED], 1);
			for (int k = 0; k < 4; k++) {
				struct page *page = folio_page(victim, k);

				assert_int_equal(atomic_read(&page->_refcount),
						 1 + (k < first ? 0 : bias));
				assert_int_equal(atomic_read(&page->_pincount),
						 0);
			}
			let_go(nr, calls[i]);
			discard(0, 4);
		}
	}
}

/* A page table, for a moment; freed before the walk notices. */
static struct page *table;

static void becomes_a_table(void)
{
	struct page *tables[300];
	unsigned int nr = 0;

	discard(0, 1);
	drain_all_cpu_lists(gs->machine);
	/* The frame's block takes tables only once it has been asked for. */
	do {
		tables[nr] = pte_alloc_one(gs->mm);
		assert_non_null(tables[nr]);
	} while (tables[nr++] != &victim->page && nr < 300);
	table = tables[--nr];
	assert_ptr_equal(table, &victim->page);
	while (nr--)
		pte_free(gs->mm, tables[nr]);
}

static void table_goes(void)
{
	assert_true(atomic_read(&table->_refcount) > 1);
	pte_free(gs->mm, table);
	/* The walk has it now. */
	assert_true(atomic_read(&table->_refcount) > 0);
}

static void table_hook(void *arg, enum race_point point)
{
	race_hook_fn self = race_hook;

	(void)arg;
	race_hook = NULL;
	if (point == RACE_FAST_GUESSED)
		becomes_a_table();
	else if (point == RACE_FAST_HELD)
		table_goes();
	race_hook = self;
}

static void table_freed_while_held(void **state)
{
	struct folio *folio = NULL;

	(void)state;
	area(0, 8, STATE_RW);
	/* A frame from where tables come from. */
	folio = folio_alloc(GFP_KERNEL, 0);
	assert_non_null(folio);
	__folio_set_uptodate(folio);
	__folio_set_swapbacked(folio);
	folio->mapping = (struct address_space *)PAGE_MAPPING_ANON;
	for (int i = 0; i < NR_CALLS; i++) {
		unsigned long before;

		victim = folio;
		state_map(gs, 0, folio, 0, 1, STATE_OWN);
		folio_put(folio);
		lru_add_drain();
		before = nr_free_pages(gs->machine);
		race_hook = table_hook;
		assert_int_equal(walk(0, 1, calls[i]), 0);
		race_hook = NULL;
		assert_exit(GUP_FAST_F6_ENTRY);
		assert_int_equal(nr_free_pages(gs->machine), before + 1);
		assert_pins_live(0);
		folio = folio_alloc(GFP_KERNEL, 0);
		assert_non_null(folio);
		__folio_set_uptodate(folio);
		__folio_set_swapbacked(folio);
		folio->mapping = (struct address_space *)PAGE_MAPPING_ANON;
	}
	folio_put(folio);
}

/* ---- runs ---------------------------------------------------------------- */

static void discard_sixth(void)
{
	discard(5, 1);
}

static void discard_run_first(void)
{
	discard(0, 1);
}

/* A mismatch in position k keeps exactly k. */
static void cut_while_held(void **state)
{
	(void)state;
	area(0, 16, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		const int pins = calls[i] & PIN ? 5 : 0;

		victim = mapped_folio(0, 4, STATE_OWN);
		assert_int_equal(race_walk(0, 16, calls[i], RACE_FAST_HELD,
					   discard_sixth), 5);
		assert_exit(GUP_FAST_F2);
		assert_pages(0, victim, 0, 5);
		assert_counts(victim, 15 + 5, pins, 15);
		assert_pins_live(pins);
		let_go(5, calls[i]);
		assert_counts(victim, 15, 0, 15);
		/* At the first: nothing. */
		assert_int_equal(race_walk(0, 5, calls[i], RACE_FAST_HELD,
					   discard_run_first), 0);
		assert_exit(GUP_FAST_F6_ENTRY);
		assert_counts(victim, 14, 0, 14);
		discard(0, 16);
	}
}

static void read_only(void)
{
	assert_int_equal(do_mprotect(gs->mm, state_address(gs, 3),
				     2 * PAGE_SIZE, true, false, false), 0);
}

/* X1: nothing is written through an entry that was read-only when held. */
static void protected_while_held(void **state)
{
	(void)state;
	area(0, 16, STATE_RW);
	victim = mapped_folio(0, 4, STATE_OWN);
	assert_int_equal(race_walk(0, 16, PIN | WRITE, RACE_FAST_HELD,
				   read_only), 3);
	assert_exit(GUP_FAST_F2);
	let_go(3, PIN);
	assert_int_equal(do_mprotect(gs->mm, state_address(gs, 0),
				     16 * PAGE_SIZE, true, true, false), 0);
	assert_int_equal(race_walk(3, 1, PIN | WRITE, RACE_FAST_HELD,
				   read_only), 0);
	assert_exit(GUP_FAST_F6_ENTRY);
	/* A reader goes on: the page is exclusive. */
	assert_int_equal(walk(0, 16, PIN), 16);
	let_go(16, PIN);
	assert_counts(victim, 16, 0, 16);
}

/* ---- leaves and tables --------------------------------------------------- */

static void split(void)
{
	split_huge_pmd(state_vma(gs, 0), mm_find_pmd(gs->mm,
						     state_address(gs, 0)),
		       state_address(gs, 0));
}

static void split_while_held(void **state)
{
	(void)state;
	area(0, 512, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		enum race_point at = i & 1 ? RACE_FAST_HELD : RACE_FAST_GUESSED;

		victim = mapped_leaf(0, STATE_OWN);
		assert_int_equal(race_walk(100, 50, calls[i], at, split), 0);
		assert_exit(GUP_FAST_F6_ENTRY);
		assert_counts(victim, 512, 0, 512);
		assert_pins_live(0);
		assert_int_equal(walk(100, 50, calls[i]), 50);
		let_go(50, calls[i]);
		assert_int_equal(do_munmap(gs->mm, state_address(gs, 0),
					   PMD_SIZE), 0);
		area(0, 512, STATE_RW);
	}
}

static void discard_leaf(void)
{
	discard(0, 512);
}

static void leaf_goes(void **state)
{
	(void)state;
	area(0, 512, STATE_RW);
	for (int i = 0; i < NR_CALLS; i++) {
		victim = mapped_leaf(0, STATE_OWN);
		assert_int_equal(race_walk(100, 50, calls[i], RACE_FAST_HELD,
					   discard_leaf), 0);
		assert_exit(GUP_FAST_F6_ENTRY);
		assert_int_equal(folio_ref_count(victim), 0);
		assert_pins_live(0);
	}
}

static pmd_t *the_pmd, was;

static void detach_table(void)
{
	spinlock_t *ptl = pmd_lock(gs->mm, the_pmd);

	was = pmdp_huge_get_and_clear(gs->mm, state_address(gs, 0), the_pmd);
	spin_unlock(ptl);
}

/*
 * case_D1: whoever puts a huge page in the place of a table detaches the table,
 * whose entries stay as they are, and then looks for references.
 */
static void case_D1_table_detached_while_held(void **state)
{
	struct folio *run;

	(void)state;
	area(0, 32, STATE_RW);
	victim = mapped_folio(0, 0, STATE_OWN);
	run = mapped_folio(16, 4, STATE_OWN);
	lru_add_drain();
	the_pmd = mm_find_pmd(gs->mm, state_address(gs, 0));
	for (int i = 0; i < NR_CALLS; i++) {
		assert_int_equal(race_walk(0, 1, calls[i], RACE_FAST_HELD,
					   detach_table), 0);
		assert_exit(GUP_FAST_F6_TABLE);
		set_pmd_at(gs->mm, 0, the_pmd, was);
		assert_counts(victim, 1, 0, 1);
		assert_int_equal(race_walk(20, 8, calls[i], RACE_FAST_HELD,
					   detach_table), 0);
		assert_exit(GUP_FAST_F6_TABLE);
		set_pmd_at(gs->mm, 0, the_pmd, was);
		assert_counts(run, 16, 0, 16);
		assert_pins_live(0);
	}
}

static void unmap_all(void)
{
	struct page *pte_table = pmd_page(pmdp_get(the_pmd));

	assert_int_equal(do_munmap(gs->mm, state_address(gs, 0),
				   16 * PAGE_SIZE), 0);
	/* The walk is in it: it waits for a grace period. */
	assert_true(test_bit(PG_table, &pte_table->flags));
	assert_int_equal(atomic_read(&pte_table->_refcount), 1);
}

/* X8: a table stays while somebody walks it, and holds nothing any more. */
static void tables_go_under_the_walk(void **state)
{
	(void)state;
	for (int i = 0; i < NR_CALLS; i++) {
		enum race_point at = i & 1 ? RACE_FAST_HELD : RACE_FAST_READ;

		area(0, 16, STATE_RW);
		for (unsigned long k = 0; k < 16; k++)
			mapped_folio(k, 0, STATE_OWN);
		the_pmd = mm_find_pmd(gs->mm, state_address(gs, 0));
		assert_int_equal(race_walk(0, 16, calls[i], at, unmap_all), 0);
		assert_pins_live(0);
	}
}

/* ---- who looks at counts -------------------------------------------------- */

/* As reclaim of lazily freed memory: gone, unless somebody refers to it. */
static bool reclaimed;

static void reclaim(void)
{
	pf_addr_t at = state_address(gs, 0);
	spinlock_t *ptl;
	pte_t *pte, entry;

	pte = pte_offset_map_lock(gs->mm, mm_find_pmd(gs->mm, at), at, &ptl);
	BUG_ON(!pte);
	entry = ptep_get_and_clear(gs->mm, at, pte);
	reclaimed = folio_ref_count(victim) == 1;
	if (!reclaimed)
		set_pte_at(gs->mm, at, pte, entry);
	pte_unmap_unlock(pte, ptl);
	if (reclaimed) {
		atomic_dec(&victim->_mapcount);
		atomic64_add(-1, &gs->mm->rss_pages);
		folio_put(victim);
	}
}

/* case_D2: the page is discarded or pinned, never both. */
static void case_D2_reclaim(void **state)
{
	static const enum race_point points[] = {
		RACE_FAST_READ, RACE_FAST_GUESSED, RACE_FAST_HELD,
	};

	(void)state;
	area(0, 8, STATE_RW);
	for (unsigned int p = 0; p < ARRAY_SIZE(points); p++) {
		for (int i = 0; i < NR_CALLS; i++) {
			long got_it;

			victim = mapped_folio(0, 0, STATE_OWN);
			lru_add_drain();
			got_it = race_walk(0, 1, calls[i], points[p], reclaim);
			assert_int_equal(got_it, !reclaimed);
			assert_int_equal(reclaimed, points[p] != RACE_FAST_HELD);
			if (got_it) {
				assert_ptr_equal(state_page(gs, 0),
						 &victim->page);
				let_go(1, calls[i]);
				reclaim();
				assert_true(reclaimed);
			}
			assert_pins_live(0);
		}
	}
}

/* As KSM, or swap-out: the page is no longer exclusive, unless it is pinned. */
static void make_shared(void)
{
	pf_addr_t at = state_address(gs, 0);
	spinlock_t *ptl;
	pte_t *pte, entry;

	pte = pte_offset_map_lock(gs->mm, mm_find_pmd(gs->mm, at), at, &ptl);
	BUG_ON(!pte);
	entry = ptep_get_and_clear(gs->mm, at, pte);
	reclaimed = !folio_maybe_dma_pinned(victim);
	if (reclaimed)
		ClearPageAnonExclusive(&victim->page);
	set_pte_at(gs->mm, at, pte, entry);
	pte_unmap_unlock(pte, ptl);
}

/* E4: pinned, or shared, never both. */
static void exclusivity_goes(void **state)
{
	static const enum race_point points[] = {
		RACE_FAST_READ, RACE_FAST_GUESSED, RACE_FAST_HELD,
	};

	(void)state;
	area(0, 8, STATE_RW);
	victim = mapped_folio(0, 0, STATE_YOUNG);
	for (unsigned int p = 0; p < ARRAY_SIZE(points); p++) {
		long nr = race_walk(0, 1, PIN, points[p], make_shared);

		assert_int_equal(nr, !reclaimed);
		assert_int_equal(reclaimed, points[p] != RACE_FAST_HELD);
		assert_exit(nr ? -1 : GUP_FAST_F8);
		let_go(nr, PIN);
		SetPageAnonExclusive(&victim->page);
	}
	assert_pins_live(0);
}

/* ---- fork ---------------------------------------------------------------- */

static void fork_begins(void)
{
	raw_write_seqcount_begin(&gs->mm->write_protect_seq);
	raw_write_seqcount_end(&gs->mm->write_protect_seq);
}

/* Fork may have shared any of the pages: all are let go, the slow path looks. */
static void forked(void **state)
{
	static const enum race_point points[] = {
		RACE_FAST_READ, RACE_FAST_HELD, RACE_FAST_WALKED,
	};
	struct folio *run;

	(void)state;
	area(0, 32, STATE_RW);
	victim = mapped_folio(0, 0, STATE_OWN);
	run = mapped_folio(16, 4, STATE_OWN);
	lru_add_drain();
	for (unsigned int p = 0; p < ARRAY_SIZE(points); p++) {
		u64 acquired = nr_foll_pin_acquired(gs->machine);

		assert_int_equal(race_walk(16, 16, PIN | WRITE, points[p],
					   fork_begins), 0);
		assert_exit(GUP_FAST_FORKED);
		assert_counts(run, 16, 0, 16);
		assert_pins_live(0);
		assert_int_equal(nr_foll_pin_acquired(gs->machine) - acquired,
				 16);
		assert_int_equal(race_walk(0, 1, PIN, points[p], fork_begins),
				 0);
		assert_exit(GUP_FAST_FORKED);
		assert_counts(victim, 1, 0, 1);
		assert_int_equal(race_walk(0, 1, GET, points[p], fork_begins),
				 1);
		let_go(1, GET);
	}
	/* What is not exclusive any more is no bug then. */
	ClearPageAnonExclusive(&victim->page);
	assert_int_equal(race_walk(0, 1, PIN | WRITE, RACE_FAST_WALKED,
				   fork_begins), 0);
	SetPageAnonExclusive(&victim->page);
}

/* The whole call then takes the slow path, for all pages. */
static void forked_goes_slow(void **state)
{
	(void)state;
	area(0, 32, STATE_RW);
	for (unsigned long i = 0; i < 20; i++)
		mapped_folio(i, 0, STATE_OWN);
	race = (struct race){ RACE_FAST_WALKED, fork_begins, 1, false };
	race_hook = hook;
	assert_int_equal(fast(0, 20, PIN | WRITE), 20);
	race_hook = NULL;
	assert_exit(GUP_FAST_FORKED);
	for (unsigned long i = 0; i < 20; i++)
		assert_ptr_equal(got[i], state_page(gs, i));
	assert_pins_live(20);
	let_go(20, PIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(case_D6_freed_before), gup_test(unmapped_while_held),
		gup_test(reused_before), gup_test(same_again),
		gup_test(small_becomes_large), gup_test(large_becomes_another),
		gup_test(split_into_small),
		gup_test(table_freed_while_held), gup_test(cut_while_held),
		gup_test(protected_while_held), gup_test(split_while_held),
		gup_test(leaf_goes),
		gup_test(case_D1_table_detached_while_held),
		gup_test(tables_go_under_the_walk), gup_test(case_D2_reclaim),
		gup_test(exclusivity_goes), gup_test(forked),
		gup_test(forked_goes_slow),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
