/* SPDX-License-Identifier: MIT */
/*
 * Recounting a machine: tables, folios, free blocks and areas against each other.
 *
 * Everything is walked and added up again from nothing; what the engine keeps
 * in counters and flags must agree.  The numbers below are what mm_validate()
 * returns.
 */
#ifndef LAB_VALIDATE_H
#define LAB_VALIDATE_H

#include "mm/mm.h"

enum mm_invariant {
	MM_LOCKED = 1,	/* inv_O7: nothing is locked, nothing is isolated */
	MM_AREAS,	/* areas ascend, are not empty, fit map_count; protection */
	MM_TABLES,	/* tables are tables, serve an area, fit mm->pgtables */
	MM_DEPOSITS,	/* one spare table for each THP leaf, in its PMD table */
	MM_ENTRIES,	/* entries lie in areas and permit what those permit */
	MM_INDEX,	/* an anonymous page is where its folio's index says */
	MM_EXCLUSIVE,	/* writable or pinned, and anonymous: exclusive; exclusive:
			 * mapped by one entry at most */
	MM_RSS,		/* rss_pages = anonymous pages mapped, but for hugetlb */
	MM_REFCOUNT,	/* inv_O2 */
	MM_MAPCOUNT,	/* mapcount = entries that map the folio */
	MM_PINCOUNT,	/* pincount of a large folio = pins held */
	MM_PINS,	/* inv_O1: acquired - released = pins held */
	MM_ZERO,	/* inv_O6: the zero pages read zero, nobody may write */
	MM_LRU,		/* an anonymous folio is on one list, or in a batch; one
			 * of a page cache too, unless that is unevictable */
	MM_FREE_LISTS,	/* free blocks: aligned, on their list, counts fit */
	MM_BUDDIES,	/* two free buddies are merged, CMA not with others */
	MM_ZONES,	/* tables lie neither in ZONE_MOVABLE nor in CMA */
	MM_POOLS,	/* pool counts fit lists; reservations fit areas */
	MM_RMAP,	/* a walk from a folio meets all its entries, once each */
	MM_FRAMES,	/* each frame is free, a table, or of a living folio */
	MM_CACHE,	/* page caches: those of mm/filemap.h */
	MM_CHARGES,	/* usage of a memory group = pages of folios with its id */
};

/* What the caller holds, each page as often as it was got or pinned. */
struct mm_holds {
	struct page **gets;
	unsigned long nr_gets;
	struct page **pins;
	unsigned long nr_pins;
};

/*
 * mm_validate() - check all of @machine and of its address spaces
 * @holds: NULL: nothing is held
 *
 * Context: nothing else is running on the machine; waits for a grace period.
 * Return: 0; or the number of the first invariant that is broken, after saying
 * so on stderr; -ENOMEM.
 */
int __must_check mm_validate(struct machine *machine,
			     const struct mm_holds *holds);

#endif
