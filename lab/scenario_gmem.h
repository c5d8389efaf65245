/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that meet in guest memory: r->gmem, which setup() makes.
 *
 *	static void setup(struct race *r)
 *	{
 *		race_gmem(r, 4, 0);
 *	}
 *
 * A page that is filled with @value has it in its first and its last word.
 */
#ifndef LAB_SCENARIO_GMEM_H
#define LAB_SCENARIO_GMEM_H

#include "lab/scenario.h"

/* race_gmem() - @nr_pages, absent, of folios of up to @max_order */
void race_gmem(struct race *r, unsigned long nr_pages, unsigned int max_order);

/* Each is done if it did something; its result, populate's in pages. */
long race_gmem_populate(struct race *r, struct race_hold *mine,
			unsigned long page, unsigned long nr, u64 value);
int race_gmem_allocate(struct race *r, struct race_hold *mine,
		       unsigned long page, unsigned long nr);
void race_gmem_punch(struct race *r, struct race_hold *mine, unsigned long page,
		     unsigned long nr);
/* race_gmem_get() - the page's frame, added to what is held */
void race_gmem_get(struct race *r, struct race_hold *mine, unsigned long page);

/* race_gmem_value() - what the page is filled with; 0: absent, or prepared */
u64 race_gmem_value(struct race *r, unsigned long page);
/* race_gmem_frame() - prepares it, and holds nothing */
struct pf_page *race_gmem_frame(struct race *r, unsigned long page);

#endif
