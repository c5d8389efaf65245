/* SPDX-License-Identifier: MIT */
/*
 * Locks: none is held between two calls, but what race_lock() returns.
 */
#include "lab/scenario_cache.h"

#include "api/handle.h"
#include "mm/filemap_grab.h"
#include "mm/folio_split.h"
#include "mm/swap.h"
#include "mm/truncate.h"
#include "mm/vmscan.h"

#include <errno.h>
#include <stdlib.h>

/* ---- bytes ---------------------------------------------------------- */

static u64 *word_of(struct folio *folio, unsigned long page)
{
	return page_address(folio_page(folio, page));
}

/* The folio is locked: who comes first fills it. */
static void fill(struct folio *folio)
{
	if (folio_test_uptodate(folio))
		return;
	for (long i = 0; i < folio_nr_pages(folio); i++)
		*word_of(folio, i) = race_word(folio->index + i);
	folio_mark_uptodate(folio);
}

static void check_bytes(struct folio *folio, pgoff_t index)
{
	race_check(folio_contains(folio, index));
	if (folio_test_uptodate(folio))
		race_check(*word_of(folio, index - folio->index) ==
			   race_word(index));
}

/* ---- setting up ----------------------------------------------------- */

struct folio *race_add(struct race *r, pgoff_t index, unsigned int order)
{
	struct folio *folio = filemap_alloc_folio(r->cache->gfp_mask, order);

	race_check(folio);
	race_check(!filemap_add_folio(r->cache, folio, index, 0));
	fill(folio);
	race_unlock(folio);
	race_drain(r);
	return folio;
}

void race_shadow(struct race *r, pgoff_t index, unsigned int order,
		 unsigned long value)
{
	struct folio *folio = race_add(r, index, order);

	race_check(race_lock(r, index) == folio);
	xa_lock(&r->cache->i_pages);
	__filemap_remove_folio(folio, xa_mk_value(value));
	xa_unlock(&r->cache->i_pages);
	filemap_free_folio(r->cache, folio);
	race_unlock(folio);
}

/* ---- what threads do ------------------------------------------------ */

static void hold(struct race_hold *mine, struct folio *folio)
{
	race_check(mine->nr < RACE_PAGES);
	mine->pages[mine->nr++] = (struct pf_page *)&folio->page;
	race_done(mine);
}

/* It is locked, in the cache, and as whoever finds it wants it. */
static void check_locked(struct race *r, struct folio *folio, pgoff_t index)
{
	race_check(folio_test_locked(folio));
	race_check(folio->mapping == r->cache);
	check_bytes(folio, index);
}

int race_grab_once(struct race *r, struct race_hold *mine, pgoff_t start,
		   pgoff_t nr, unsigned int max_order, fgf_t fgp)
{
	struct folio_grab grab;
	pgoff_t next = start;
	int got;

	filemap_grab_init(&grab);
	got = filemap_grab_folios(r->cache, start, nr, fgp, r->cache->gfp_mask,
				  max_order, &grab);
	race_check(got > 0 || got == -ENOMEM || got == -EAGAIN ||
		   (got == -ENOENT && !(fgp & FGP_CREAT)));
	for (int i = 0; i < got; i++) {
		struct folio *folio = grab.folios[i];

		race_check(!i || folio->index == next);
		check_locked(r, folio, next);
		fill(folio);
		next = folio_next_index(folio);
		folio_unlock(folio);
		hold(mine, folio);
	}
	race_check(grab.next == next);
	filemap_grab_end(&grab);
	return got;
}

void race_grab(struct race *r, struct race_hold *mine, pgoff_t start,
	       pgoff_t nr, unsigned int max_order)
{
	const pgoff_t end = start + nr;

	while (start < end) {
		int got = race_grab_once(r, mine, start, end - start, max_order,
					 FGP_LOCK | FGP_CREAT);

		race_check(got > 0);
		start = folio_next_index(race_folio(mine, mine->nr - 1));
	}
}

struct folio *race_grab_one(struct race *r, struct race_hold *mine,
			    pgoff_t index)
{
	struct folio *folio = filemap_grab_folio(r->cache, index);

	race_check(!IS_ERR(folio));
	check_locked(r, folio, index);
	fill(folio);
	folio_unlock(folio);
	hold(mine, folio);
	return folio;
}

struct folio *race_look(struct race *r, struct race_hold *mine, pgoff_t index)
{
	struct folio *folio = filemap_get_folio(r->cache, index);

	if (IS_ERR(folio))
		return NULL;
	/* It may be gone, but then with its index. */
	race_check(folio_contains(folio, index));
	hold(mine, folio);
	return folio;
}

struct folio *race_lock(struct race *r, pgoff_t index)
{
	struct folio *folio = filemap_lock_folio(r->cache, index);

	if (IS_ERR(folio))
		return NULL;
	check_locked(r, folio, index);
	return folio;
}

void race_unlock(struct folio *folio)
{
	folio_unlock(folio);
	folio_put(folio);
}

struct folio *race_look_locked(struct race *r, struct race_hold *mine,
			       pgoff_t index)
{
	struct folio *folio = race_lock(r, index);

	if (!folio)
		return NULL;
	folio_unlock(folio);
	hold(mine, folio);
	return folio;
}

void race_remove(struct race *r, struct race_hold *mine, pgoff_t index)
{
	struct folio *folio = race_lock(r, index);

	if (!folio)
		return;
	filemap_remove_folio(folio);
	race_unlock(folio);
	race_done(mine);
}

void race_truncate_bare(struct race *r, struct race_hold *mine, pgoff_t index,
			pgoff_t nr)
{
	truncate_inode_pages_range(r->cache, index << PAGE_SHIFT,
				   ((index + nr) << PAGE_SHIFT) - 1);
	race_done(mine);
}

void race_truncate(struct race *r, struct race_hold *mine, pgoff_t index,
		   pgoff_t nr)
{
	down_write(&r->cache->invalidate_lock);
	race_truncate_bare(r, mine, index, nr);
	for (pgoff_t i = index; i < index + nr; i++)
		race_check(!race_entry(r, i));
	up_write(&r->cache->invalidate_lock);
}

void race_split(struct race *r, struct race_hold *mine, pgoff_t index,
		unsigned int order)
{
	struct folio *folio = race_lock(r, index);
	int err = -EAGAIN;

	if (!folio)
		return;
	if (folio_order(folio) > order)
		err = split_folio_to_order(folio, order);
	race_check(!err || err == -EAGAIN);
	race_unlock(folio);
	mine->succeeded += !err;
}

unsigned long race_reclaim(struct race *r, struct race_hold *mine)
{
	unsigned long nr = try_to_free_pages(machine_of(r->machine), 0,
					     r->cache->gfp_mask);

	mine->succeeded += nr > 0;
	return nr;
}

/* ---- checking ------------------------------------------------------- */

void *race_entry(struct race *r, pgoff_t index)
{
	return xa_load(&r->cache->i_pages, index);
}

bool race_is_cached(struct race *r, const struct race_hold *hold, long i,
		    pgoff_t index)
{
	return i < hold->nr && race_entry(r, index) == race_folio(hold, i);
}

bool race_is_gone(const struct folio *folio, pgoff_t index)
{
	return !folio->mapping && folio->index == index;
}

/* ---- for lab/scenario.c --------------------------------------------- */

/*
 * One frame comes and goes: it brings the CPU's list of others, which would be
 * most of a run that has to fetch it.
 */
static void fill_cpu_list(void)
{
	struct folio *folio = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);

	race_check(folio);
	folio_put(folio);
}

void race_cache_begin(struct race *r)
{
	fill_cpu_list();
	r->cache = kzalloc(sizeof(*r->cache));
	race_check(r->cache);
	mapping_init(r->cache, machine_of(r->machine));
	mapping_set_folio_order_range(r->cache, 0, r->scenario->max_order);
}

void race_cache_end(struct race *r)
{
	truncate_inode_pages_final(r->cache);
	mapping_destroy(r->cache);
	free(r->cache);
	r->cache = NULL;
}
