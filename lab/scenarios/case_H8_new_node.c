/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#define INDEX	69

static void setup(struct race *r)
{
	race_add(r, 64, 6);
}

/* Without the lock, then with it. */
static void look(struct race *r, struct race_hold *mine)
{
	race_check(race_look(r, mine, INDEX));
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, INDEX, 3);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1 && race_is_cached(r, h, 0, INDEX));
	race_check(r->cache->nrpages == 64);
}

SCENARIO(case_H8_new_node,
	.claim = "the same, when the parts are in a node of their own",
	.reference = "case_H8, K12",
	.cache = true, .max_order = 6,
	.setup = setup,
	.threads = { { "look", look }, { "split", split } },
	.check = check)
