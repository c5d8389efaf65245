/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that meet in a file: r->file, of memory, which setup() makes.
 *
 *	static void setup(struct race *r)
 *	{
 *		race_file(r, 4, 0);
 *		race_map_file(r, 0, 4, RACE_RW, PINFOLD_MAP_SHARED);
 *	}
 *
 * Page i of the window maps page i of the file.
 */
#ifndef LAB_SCENARIO_FILE_H
#define LAB_SCENARIO_FILE_H

#include "lab/scenario.h"
#include "mm/fs.h"

/* race_file() - @nr_pages of memory in folios of up to @max_order */
void race_file(struct race *r, unsigned long nr_pages, unsigned int max_order);
/*
 * race_host_file() - the same over a file of the host's, which hears of stores
 *
 * Its pages are read at once: a thread must not.
 */
void race_host_file(struct race *r, unsigned long nr_pages);

/* race_hugetlb_file() - pages of 2 MiB, as many as the pool has */
void race_hugetlb_file(struct race *r);

/* race_map_file() - pages @page ... of the file, there in the window */
void race_map_file(struct race *r, unsigned long page, unsigned long nr,
		   int prot, int flags);
/* race_map_file_in() - the same in another address space of the race's */
void race_map_file_in(struct race *r, struct pf_mm *mm, unsigned long page,
		      unsigned long nr, int prot, int flags);

/* Each is done if it succeeds. */
void race_resize_file(struct race *r, struct race_hold *mine,
		      unsigned long nr_pages);
void race_punch(struct race *r, struct race_hold *mine, unsigned long page,
		unsigned long nr);
/* race_clean() - take the dirty bit, as who writes the file back does; was it? */
bool race_clean(struct race *r, struct race_hold *mine, unsigned long page);
/* race_touch_in() - store @value through @mm; false: a bus error */
bool race_touch_in(struct race *r, struct race_hold *mine, struct pf_mm *mm,
		   unsigned long page, u64 value);

/* race_memfd_pin() - pin one page by its offset, longterm */
void race_memfd_pin(struct race *r, struct race_hold *mine, unsigned long page);

/* race_pool_is() - free pages of the 2 MiB pool, and what is promised of them */
bool race_pool_is(struct race *r, unsigned long free, unsigned long promised);

/* race_file_folio() - what the cache has at @index, or NULL; nothing is held */
struct folio *race_file_folio(struct race *r, pgoff_t index);
/* race_file_word() - the file's, through the cache */
u64 race_file_word(struct race *r, unsigned long page);
/* race_mapped() - the page that an entry of @mm maps there, or NULL */
struct page *race_mapped(struct pf_mm *mm, unsigned long page);
/*
 * race_maps_the_file() - page @page of @mm maps nothing, or what the file has
 * there; private areas: or a copy of their own, below the size
 */
bool race_maps_the_file(struct race *r, struct pf_mm *mm, unsigned long page);

#endif
