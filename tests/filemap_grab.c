/* SPDX-License-Identifier: MIT */
/*
 * Claim: grabbing a range together gives what grabbing it index by index would,
 * for every mixture of what is there already; or a prefix of it, with nothing
 * held and nothing changed beyond.
 *
 * Source: semantics/filemap.md 3.2 (D1-D9), 3.3 (C1-C8), table B of 8.4;
 *         cases.md H1
 */
#include "tests/filemap_test.h"
#include "tests/random.h"

#include "mm/filemap_grab.h"

#include <stdlib.h>

static struct folio_grab g;

static int grab(pgoff_t start, pgoff_t nr, fgf_t fgp, unsigned int order)
{
	return filemap_grab_folios(&map, start, nr, fgp, map.gfp_mask, order,
				   &g);
}

/* As promised: ascending, gap-free, locked or not, one reference each. */
static void check_grabbed(pgoff_t start, int nr, bool locked)
{
	pgoff_t next = start;

	assert_int_equal(g.nr, nr);
	for (int i = 0; i < nr; i++) {
		struct folio *folio = g.folios[i];

		assert_true(folio_contains(folio, next));
		if (i)
			assert_int_equal(folio->index, next);
		assert_ptr_equal(folio->mapping, &map);
		assert_int_equal(folio_test_locked(folio), locked);
		assert_ptr_equal(xa_load(&map.i_pages, next), folio);
		next = folio_next_index(folio);
	}
	assert_int_equal(g.next, next ? next : (pgoff_t)-1);
}

static void release_grabbed(bool locked)
{
	for (unsigned int i = 0; i < g.nr; i++) {
		if (locked)
			folio_unlock(g.folios[i]);
		folio_put(g.folios[i]);
	}
}

static struct folio *cached_at(pgoff_t index)
{
	return xa_load(&map.i_pages, index);
}

static void begin(void)
{
	cache_begin();
	filemap_grab_init(&g);
}

static void end(void)
{
	filemap_grab_end(&g);
	cache_end();
}

#define CREATE (FGP_LOCK | FGP_CREAT | FGP_ACCESSED)

static void test_fm_B1(void **state)
{
	static const pgoff_t starts[] = { 0, 1, 63, 64, 65, 127, 4095,
					  (1UL << 30) - 1 };

	(void)state;
	begin();
	for (unsigned int s = 0; s < 8; s++) {
		for (pgoff_t nr = 1; nr <= 200; nr += nr < 66 ? 1 : 67) {
			int got = grab(starts[s], nr, CREATE, 0);

			assert_int_equal(got, min(nr, (pgoff_t)64));
			check_grabbed(starts[s], got, true);
			assert_int_equal(g.created, got == 64 ? ~0UL :
					 (1UL << got) - 1);
			assert_int_equal(map.nrpages, got);
			release_grabbed(true);
			cache_empty();
		}
	}
	assert_int_equal(grab((pgoff_t)-1, 1, CREATE, 0), 1);
	check_grabbed((pgoff_t)-1, 1, true);
	release_grabbed(true);
	assert_int_equal(grab(0, 0, CREATE, 0), -EINVAL);
	assert_int_equal(grab((pgoff_t)-1, 2, CREATE, 0), -EINVAL);
	end();
}

/*
 * All patterns of present, shadow, absent over eight indices, the leaf's end
 * among them: presence, positions and created bits as index by index.
 */
static void test_fm_B2_case_H1(void **state)
{
	(void)state;
	begin();
	for (unsigned int pattern = 0; pattern < 6561; pattern++) {
		struct folio *was[8] = { NULL };
		pgoff_t base = pattern & 1 ? 60 : 0;
		unsigned int p = pattern;

		for (pgoff_t i = 0; i < 8; i++, p /= 3) {
			if (p % 3 == 1)
				was[i] = cache_add(base + i, 0);
			else if (p % 3 == 2)
				cache_shadow(base + i, 0, i);
		}
		assert_int_equal(grab(base, 8, CREATE, 0), 8);
		check_grabbed(base, 8, true);
		for (unsigned int i = 0; i < 8; i++) {
			assert_int_equal(g.created >> i & 1, !was[i]);
			if (was[i])
				assert_ptr_equal(g.folios[i], was[i]);
			else
				assert_true(folio_test_referenced(g.folios[i]));
		}
		assert_int_equal(map.nrpages, 8);
		release_grabbed(true);
		if (pattern % 97 == 0)
			assert_valid(&t);
		cache_empty();
	}
	end();
}

/* What was there is taken as it is: large folios, and shadows around. */
static void test_fm_B9(void **state)
{
	(void)state;
	begin();
	cache_add(64, 4);
	cache_shadow(128, 6, 3);
	assert_int_equal(grab(70, 100, CREATE, 0), 64);
	check_grabbed(70, 64, true);
	assert_int_equal(g.folios[0]->index, 64);
	assert_int_equal(g.created, ~1UL);
	assert_int_equal(g.next, 143);
	assert_ptr_equal(xa_load(&map.i_pages, 143), xa_mk_value(3));
	release_grabbed(true);
	end();
}

/* Greedy orders: as large as alignment, range and limits allow. */
static void test_fm_B10(void **state)
{
	static const unsigned int orders[] = { 0, 1, 2, 6, 7, 8, 3 };
	static const unsigned int small[] = { 0, 1, 2, 2, 2 };

	(void)state;
	begin();
	/* 57, 58-59, 60-63, 64-127, 128-255, 256-511, 512-519 */
	assert_int_equal(grab(57, 520 - 57, CREATE, 9), 7);
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(folio_order(g.folios[i]), orders[i]);
	check_grabbed(57, 7, true);
	assert_int_equal(g.next, 520);
	assert_int_equal(map.nrpages, 520 - 57);
	release_grabbed(true);
	cache_empty();
	assert_int_equal(grab(57, 15, CREATE, 2), 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(folio_order(g.folios[i]), small[i]);
	release_grabbed(true);
	end();
}

/*
 * Blocks of four: the first may begin before the range, the last end behind it,
 * and they are those that one grab for each index gives.
 */
static void test_fm_B20(void **state)
{
	(void)state;
	cache_begin_orders(2, 4);
	filemap_grab_init(&g);
	for (pgoff_t start = 0; start < 8; start++) {
		for (pgoff_t nr = 1; nr <= 9; nr++) {
			const pgoff_t last = start + nr - 1;
			int blocks = (int)(last / 4 - start / 4) + 1, got;
			struct folio *was;

			was = cache_add(4, 2);
			got = grab(start, nr, CREATE, 0);
			assert_int_equal(got, blocks);
			check_grabbed(start, got, true);
			assert_int_equal(g.next, last / 4 * 4 + 4);
			for (int i = 0; i < got; i++) {
				pgoff_t index = (start / 4 + (pgoff_t)i) * 4;

				assert_int_equal(g.folios[i]->index, index);
				assert_int_equal(folio_order(g.folios[i]), 2);
				assert_int_equal(g.created >> i & 1,
						 index != 4);
				assert_true(index != 4 || g.folios[i] == was);
			}
			release_grabbed(true);
			cache_empty();
		}
	}
	end();
}

/* One index is what __filemap_get_folio() does, in every state. */
static void check_single(pgoff_t index, fgf_t fgp)
{
	struct folio *single = __filemap_get_folio(&map, index, fgp,
						   map.gfp_mask);
	bool was = !IS_ERR(single);
	int err = was ? 0 : (int)PTR_ERR(single);
	unsigned long flags = was ? single->flags : 0;
	int refs = was ? folio_ref_count(single) : 0, got;
	bool created = was && !folio_test_uptodate(single);

	if (was) {
		if (fgp & FGP_LOCK)
			folio_unlock(single);
		/* As it was: those that are there are up to date. */
		if (created) {
			folio_lock(single);
			filemap_remove_folio(single);
			folio_unlock(single);
		}
		folio_put(single);
	}
	lru_add_drain_all(the_machine());
	got = grab(index, 1, fgp, 7);
	assert_int_equal(got, was ? 1 : err);
	if (!was)
		return;
	assert_int_equal(g.created, created);
	assert_true(folio_contains(g.folios[0], index));
	/* PG_waiters and the LRU come and go. */
	assert_int_equal((g.folios[0]->flags ^ flags) &
			 (BIT(PG_locked) | BIT(PG_uptodate) | BIT(PG_dirty) |
			  BIT(PG_head)), 0);
	assert_true(!created || folio_order(g.folios[0]) == 0);
	/* The batch that it was in has been drained, or it is in one again. */
	assert_true(abs(folio_ref_count(g.folios[0]) - refs) <= 1);
	if (fgp & FGP_LOCK)
		folio_unlock(g.folios[0]);
	folio_put(g.folios[0]);
}

static void test_fm_B16(void **state)
{
	static const fgf_t flags[] = {
		0, FGP_LOCK, FGP_LOCK | FGP_CREAT, CREATE,
		FGP_LOCK | FGP_NOWAIT, FGP_LOCK | FGP_CREAT | FGP_NOWAIT,
		FGP_ACCESSED, FGP_WRITEBEGIN,
	};

	(void)state;
	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		folio_mark_uptodate(cache_add(64, 0));
		folio_mark_uptodate(cache_add(128, 4));
		folio_mark_dirty(cached_at(128));
		cache_shadow(70, 0, 3);
		cache_shadow(256, 4, 3);
		check_single(64, flags[i]);
		check_single(133, flags[i]);
		check_single(70, flags[i]);
		check_single(260, flags[i]);
		check_single(7, flags[i]);
		check_single((pgoff_t)-1, flags[i]);
		assert_valid(&t);
		cache_empty();
	}
	end();
}

/* Up to the last index, and no further. */
static void test_fm_B19(void **state)
{
	const pgoff_t max = (pgoff_t)-1;

	(void)state;
	begin();
	for (pgoff_t nr = 1; nr <= 70; nr++) {
		pgoff_t start = max - (nr - 1);
		int got = grab(start, nr, CREATE, 0);

		assert_true(got > 0);
		check_grabbed(start, got, true);
		assert_int_equal(got, min(nr, (pgoff_t)64));
		assert_int_equal(g.folios[got - 1]->index,
				 start + (pgoff_t)got - 1);
		release_grabbed(true);
		cache_empty();
	}
	assert_int_equal(grab(max, 2, CREATE, 0), -EINVAL);
	end();
}

/* Who has locked lower ones may grab above them. */
static void test_fm_B26(void **state)
{
	struct folio *lower;

	(void)state;
	begin();
	cache_add(3, 0);
	cache_add(6, 0);
	lower = filemap_lock_folio(&map, 3);
	assert_int_equal(grab(4, 8, CREATE, 0), 8);
	check_grabbed(4, 8, true);
	release_grabbed(true);
	let_go(lower);
	end();
}

static void test_not_created(void **state)
{
	(void)state;
	begin();
	assert_int_equal(grab(5, 8, FGP_LOCK, 0), -ENOENT);
	cache_add(5, 0);
	cache_add(6, 0);
	cache_add(8, 0);
	assert_int_equal(grab(5, 8, FGP_LOCK, 0), 2);
	check_grabbed(5, 2, true);
	release_grabbed(true);
	assert_int_equal(grab(5, 8, 0, 0), 2);
	check_grabbed(5, 2, false);
	release_grabbed(false);
	assert_int_equal(map.nrpages, 3);
	end();
}

static void test_for_mmap(void **state)
{
	struct folio *old;

	(void)state;
	begin();
	old = cache_add(2, 0);
	assert_int_equal(grab(1, 3, FGP_CREAT | FGP_FOR_MMAP, 0), 3);
	check_grabbed(1, 3, false);
	release_grabbed(false);
	assert_int_equal(grab(0, 3, FGP_CREAT | FGP_LOCK | FGP_FOR_MMAP, 0), 3);
	assert_false(folio_test_locked(g.folios[0]));
	assert_true(folio_test_locked(g.folios[1]));
	folio_unlock(g.folios[1]);
	folio_unlock(old);
	release_grabbed(false);
	/* Neither: as FGP_LOCK, for all. */
	assert_int_equal(grab(0, 6, FGP_CREAT, 0), 6);
	check_grabbed(0, 6, true);
	release_grabbed(true);
	end();
}

/* A busy folio ends the prefix. */
static void test_fm_B7(void **state)
{
	struct folio *busy;

	(void)state;
	begin();
	cache_add(4, 0);
	busy = filemap_lock_folio(&map, 4);
	lru_add_drain_all(the_machine());
	assert_int_equal(grab(4, 3, CREATE | FGP_NOWAIT, 0), -EAGAIN);
	assert_int_equal(grab(2, 6, CREATE | FGP_NOWAIT, 0), 2);
	check_grabbed(2, 2, true);
	assert_int_equal(g.next, 4);
	assert_int_equal(folio_ref_count(busy), 2);
	assert_null(xa_load(&map.i_pages, 5));
	release_grabbed(true);
	let_go(busy);
	end();
}

/*
 * Each allocation fails in turn, over a range that is partly there: a prefix or
 * -ENOMEM, no lock, reference or frame left beyond it.
 */
static void fail_each(unsigned int order, fgf_t more)
{
	const pgoff_t start = (1UL << 20) - 20;
	bool whole = false;

	for (long n = 1; !whole; n++) {
		int got;

		begin();
		cache_add(start + 3, 0);
		cache_add(start + 6, 0);
		cache_shadow(start + 24, 2, 7);
		current->fail_nth = n;
		got = grab(start, 40, CREATE | more, order);
		whole = current->fail_nth > 0;
		current->fail_nth = 0;
		if (got < 0) {
			assert_int_equal(got, more ? -EAGAIN : -ENOMEM);
			assert_int_equal(g.next, start);
			assert_int_equal(map.nrpages, 2);
		} else {
			check_grabbed(start, got, true);
			release_grabbed(true);
		}
		if (whole)
			assert_int_equal(g.next, start + 40);
		filemap_grab_end(&g);
		cache_end();
	}
}

static void test_fm_B4(void **state)
{
	(void)state;
	fail_each(0, 0);
	fail_each(5, 0);
	fail_each(0, FGP_NOWAIT);
}

/* A signal that is there, and one that comes after the first allocations. */
static unsigned int calls;

static void post_signal(unsigned int gfp)
{
	(void)gfp;
	if (++calls == 1)
		waiter_post(&waiter_self, SIGNAL_ORDINARY);
}

static void *signalling_zalloc(size_t bytes, gfp_t gfp)
{
	(void)gfp;
	if (xa_load(&map.i_pages, 511))
		waiter_post(&waiter_self, SIGNAL_ORDINARY);
	return calloc(1, bytes);
}

static void test_fm_B12(void **state)
{
	xa_zalloc_fn zalloc;

	(void)state;
	begin();
	cache_add(0, 0);
	waiter_post(&waiter_self, SIGNAL_ORDINARY);
	assert_int_equal(grab(0, 8, CREATE | FGP_INTERRUPTIBLE, 0), -EINTR);
	assert_int_equal(g.next, 0);
	assert_int_equal(map.nrpages, 1);
	/* Who did not ask does not care. */
	assert_int_equal(grab(0, 8, CREATE, 0), 8);
	release_grabbed(true);
	waiter_clear();
	assert_int_equal(grab(0, 16, CREATE | FGP_INTERRUPTIBLE, 0), 16);
	release_grabbed(true);
	/* During: what is covered by then. */
	current->alloc_hook = post_signal;
	assert_int_equal(grab(14, 16, CREATE | FGP_INTERRUPTIBLE, 3), -EINTR);
	assert_int_equal(map.nrpages, 16);
	current->alloc_hook = NULL;
	waiter_clear();
	/* While a large shadow is split, behind what is there: a prefix. */
	cache_shadow(512, 9, 1);
	zalloc = map.i_pages.xa_zalloc;
	map.i_pages.xa_zalloc = signalling_zalloc;
	assert_int_equal(grab(500, 40, CREATE | FGP_INTERRUPTIBLE, 0), 13);
	map.i_pages.xa_zalloc = zalloc;
	check_grabbed(500, 13, true);
	waiter_clear();
	release_grabbed(true);
	end();
}

static unsigned long take_all(struct page **pages)
{
	unsigned long nr = 0;

	while ((pages[nr] = alloc_pages(GFP_USER, 0)))
		nr++;
	return nr;
}

/* No frame at all: -ENOMEM, or what is there (D6). */
static void test_fm_B5(void **state)
{
	static struct page *pages[4097];
	unsigned long nr;

	(void)state;
	begin();
	/* Dirty, or it would be reclaimed. */
	folio_mark_dirty(cache_add(0, 0));
	lru_add_drain_all(the_machine());
	nr = take_all(pages);
	assert_int_equal(grab(0, 8, CREATE, 4), 1);
	check_grabbed(0, 1, true);
	release_grabbed(true);
	assert_int_equal(grab(1, 8, CREATE, 4), -ENOMEM);
	assert_int_equal(grab(1, 8, CREATE | FGP_NOWAIT, 4), -EAGAIN);
	/* One frame: one folio. */
	__free_pages(pages[--nr], 0);
	assert_int_equal(grab(1, 8, CREATE, 4), 1);
	check_grabbed(1, 1, true);
	release_grabbed(true);
	while (nr)
		__free_pages(pages[--nr], 0);
	end();
}

/*
 * Somebody adds a folio after the range was looked at, before any lock is taken:
 * while nodes are got.
 */
static pgoff_t race_index;
static unsigned int race_order;
static struct folio *racer;

static void *racing_zalloc(size_t bytes, gfp_t gfp)
{
	static bool racing;

	(void)gfp;
	if (!racer && !racing) {
		racing = true;
		racer = cache_add(race_index, race_order);
		racing = false;
	}
	return calloc(1, bytes);
}

static void race_at(pgoff_t start, pgoff_t index, unsigned int order,
		    unsigned int max_order)
{
	xa_zalloc_fn zalloc = map.i_pages.xa_zalloc;
	bool returned = false;
	int got;

	racer = NULL;
	race_index = index;
	race_order = order;
	map.i_pages.xa_zalloc = racing_zalloc;
	got = grab(start, 32, CREATE, max_order);
	map.i_pages.xa_zalloc = zalloc;
	assert_true(got > 0);
	assert_non_null(racer);
	check_grabbed(start, got, true);
	for (int i = 0; i < got; i++) {
		if (g.folios[i] != racer)
			continue;
		returned = true;
		assert_int_equal(g.created >> i & 1, 0);
	}
	assert_true(returned || g.next <= index);
	/* Single pages: all of it, whoever was first. */
	assert_true(max_order || order || (got == 32 && returned));
	assert_ptr_equal(xa_load(&map.i_pages, index), racer);
	release_grabbed(true);
	filemap_grab_end(&g);
	assert_valid(&t);
	cache_empty();
}

static void test_fm_B3(void **state)
{
	(void)state;
	begin();
	for (pgoff_t i = 0; i < 32; i++) {
		race_at(0, i, 0, 0);
		race_at(50, 50 + i, 0, 0);
		race_at(64, 64 + i, 0, 5);
		race_at(40, 40 + i, 0, 3);
		race_at(1, i / 4 * 4, 2, 0);
		race_at(64, 64 + i / 8 * 8, 3, 5);
		race_at(70, 64, 6, 2);
	}
	end();
}

/* ---- any mixture against one at a time ------------------------------------ */

#define SPAN	700u

static struct random rnd;

/* What is at each index, and NULL for shadows. */
static struct folio *cells[SPAN];

static void fill_some(void)
{
	memset(cells, 0, sizeof(cells));
	for (unsigned int i = 0; i < SPAN;) {
		unsigned int order = (unsigned int)random_below(&rnd, 8);

		if (i & ((1u << order) - 1) || i + (1u << order) > SPAN)
			order = 0;
		if (random_chance(&rnd, 25)) {
			struct folio *folio = cache_add(i, order);

			for (unsigned int k = 0; k < 1u << order; k++)
				cells[i + k] = folio;
		} else if (random_chance(&rnd, 25)) {
			cache_shadow(i, order, i);
		}
		i += random_chance(&rnd, 50) ? 1u << order :
		     (1u << order) + (unsigned int)random_below(&rnd, 30);
	}
}

static void check_cells(pgoff_t start)
{
	for (unsigned int i = 0; i < g.nr; i++) {
		struct folio *folio = g.folios[i];
		bool created = g.created >> i & 1;

		for (pgoff_t k = folio->index; k < folio_next_index(folio); k++)
			assert_ptr_equal(cells[k], created ? NULL :
					 folio);
		if (created)
			assert_true(folio->index >= start);
		for (pgoff_t k = folio->index; k < folio_next_index(folio); k++)
			cells[k] = folio;
	}
	for (pgoff_t k = 0; k < SPAN; k++) {
		void *entry = xa_load(&map.i_pages, k);

		assert_ptr_equal(xa_is_value(entry) ? NULL : entry,
				 cells[k]);
	}
}

static void test_property(void **state)
{
	(void)state;
	random_init(&rnd);
	begin();
	for (unsigned int round = 0; round < 400; round++) {
		unsigned int order = (unsigned int)random_below(&rnd, 8);

		fill_some();
		for (unsigned int k = 0; k < 6; k++) {
			pgoff_t start = random_below(&rnd, SPAN - 1);
			pgoff_t nr = 1 + random_below(&rnd, SPAN - start - 1);
			int got = grab(start, nr, CREATE, order);

			assert_true(got > 0);
			check_grabbed(start, got, true);
			check_cells(start);
			assert_true(got == 64 || g.next >= start + nr);
			release_grabbed(true);
		}
		if (round % 20 == 0)
			assert_valid(&t);
		cache_empty();
	}
	end();
}

#ifdef PINFOLD_COUNTING
/* One hold of the lock and one descent for each leaf of 64 pages. */
static void test_fm_B15(void **state)
{
	u64 holds, descents;

	(void)state;
	begin();
	assert_int_equal(grab(0, 64, CREATE, 0), 64);
	release_grabbed(true);
	for (pgoff_t leaf = 1; leaf < 20; leaf++) {
		/* Empty, all shadows, or some. */
		for (pgoff_t i = 0; i < 64 && leaf % 4; i += leaf % 4)
			cache_shadow(leaf * 64 + i, 0, 7);
		holds = event_counts[EV_XA_LOCK];
		descents = event_counts[EV_XA_DESCENTS];
		assert_int_equal(grab(leaf * 64, 64, CREATE, 0), 64);
		assert_int_equal(event_counts[EV_XA_LOCK] - holds, 1);
		/* And one that looks what is there. */
		assert_true(event_counts[EV_XA_DESCENTS] - descents <= 2);
		release_grabbed(true);
	}
	end();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_B1),
		cmocka_unit_test(test_fm_B2_case_H1),
		cmocka_unit_test(test_fm_B9),
		cmocka_unit_test(test_fm_B10),
		cmocka_unit_test(test_fm_B20),
		cmocka_unit_test(test_fm_B16),
		cmocka_unit_test(test_fm_B19),
		cmocka_unit_test(test_fm_B26),
		cmocka_unit_test(test_not_created),
		cmocka_unit_test(test_for_mmap),
		cmocka_unit_test(test_fm_B7),
		cmocka_unit_test(test_fm_B12),
		cmocka_unit_test(test_fm_B3),
		cmocka_unit_test(test_fm_B4),
		cmocka_unit_test(test_fm_B5),
		cmocka_unit_test(test_property),
#ifdef PINFOLD_COUNTING
		cmocka_unit_test(test_fm_B15),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
