/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 0, 0);
	race_add(r, 64, 0);
}

/* The root goes, then the leaf: what is left is the head. */
static void remove_it(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 64);
}

static void look(struct race *r, struct race_hold *mine)
{
	race_check(race_look(r, mine, 0));
	race_look(r, mine, 64);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[1], 0, 0));
	race_check(r->cache->nrpages == 1 && !race_entry(r, 64));
}

SCENARIO(cache_look_vs_shrink,
	.claim = "index 0 is found while the index loses its nodes",
	.reference = "R3, X51",
	.cache = true,
	.setup = setup,
	.threads = { { "remove", remove_it }, { "look", look } },
	.check = check)
