/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that meet in a page cache: r->cache, which a scenario has that says
 * .cache = true.
 *
 *	static void setup(struct race *r)
 *	{
 *		race_add(r, 3, 0);
 *	}
 *
 *	static void grab(struct race *r, struct race_hold *mine)
 *	{
 *		race_grab(r, mine, 2, 3, 0);
 *	}
 *
 *	static void truncate(struct race *r, struct race_hold *mine)
 *	{
 *		race_truncate(r, mine, 2, 2);
 *	}
 *
 * There is no file: the threads call the engine, and have entered the machine.
 * A hold has a reference to each of its folios.  Who creates a folio fills it:
 * the first word of the page of index i becomes race_word(i); whoever finds it
 * filled finds that.  In the end the cache is recounted and emptied.
 */
#ifndef LAB_SCENARIO_CACHE_H
#define LAB_SCENARIO_CACHE_H

#include "lab/scenario.h"
#include "mm/filemap.h"

static inline u64 race_word(pgoff_t index)
{
	return 1000 + index;
}

/* race_folio() - the @i-th of @hold */
static inline struct folio *race_folio(const struct race_hold *hold, long i)
{
	return (struct folio *)hold->pages[i];
}

/* ---- setting up ----------------------------------------------------- */

/* race_add() - a filled folio of @order, on its list, nothing held */
struct folio *race_add(struct race *r, pgoff_t index, unsigned int order);
/* race_shadow() - what such a folio leaves when it is reclaimed */
void race_shadow(struct race *r, pgoff_t index, unsigned int order,
		 unsigned long value);

/* ---- what threads do ------------------------------------------------ */

/*
 * race_grab() - filemap_grab_folios() of [@start, @start + @nr), until all are
 * there; filled, then unlocked, and held
 *
 * race_grab_once(): one call; its result.
 * race_grab_one(): filemap_grab_folio(), added to what is held.
 */
void race_grab(struct race *r, struct race_hold *mine, pgoff_t start,
	       pgoff_t nr, unsigned int max_order);
int race_grab_once(struct race *r, struct race_hold *mine, pgoff_t start,
		   pgoff_t nr, unsigned int max_order, fgf_t fgp);
struct folio *race_grab_one(struct race *r, struct race_hold *mine,
			    pgoff_t index);
/*
 * race_look() - find it without its lock; NULL if there is no folio
 *
 * It is added to what is held.
 */
struct folio *race_look(struct race *r, struct race_hold *mine, pgoff_t index);
/* race_look_locked() - the same, locked; the bytes are looked at */
struct folio *race_look_locked(struct race *r, struct race_hold *mine,
			       pgoff_t index);
/* race_lock() - find and lock it, or NULL; race_unlock() puts, too */
struct folio *race_lock(struct race *r, pgoff_t index);
void race_unlock(struct folio *folio);

/* Each is done if it found something, or found what it could do. */
void race_remove(struct race *r, struct race_hold *mine, pgoff_t index);
/* race_truncate() - with the invalidate lock; race_truncate_bare(): without */
void race_truncate(struct race *r, struct race_hold *mine, pgoff_t index,
		   pgoff_t nr);
void race_truncate_bare(struct race *r, struct race_hold *mine, pgoff_t index,
			pgoff_t nr);
/* race_split() - into folios of @order, unless it is in other use */
void race_split(struct race *r, struct race_hold *mine, pgoff_t index,
		unsigned int order);
/* race_reclaim() - all that nobody holds becomes shadows; how many pages */
unsigned long race_reclaim(struct race *r, struct race_hold *mine);

/* ---- checking ------------------------------------------------------- */

/* race_entry() - what is at @index: a folio, a shadow, NULL; nothing is held */
void *race_entry(struct race *r, pgoff_t index);
/* race_is_cached() - is the @i-th of @hold what is at @index? */
bool race_is_cached(struct race *r, const struct race_hold *hold, long i,
		    pgoff_t index);
/* race_is_gone() - removed, keeping index @index */
bool race_is_gone(const struct folio *folio, pgoff_t index);

/* ---- for lab/scenario.c --------------------------------------------- */

void race_cache_begin(struct race *r);
void race_cache_end(struct race *r);

#endif
