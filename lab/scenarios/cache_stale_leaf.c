/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 0, 0);
	race_add(r, 1, 0);
}

/* Index 0 moves from the leaf to the head, and its frame to index 3. */
static void reuse(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 1);
	race_remove(r, mine, 0);
	race_grab_one(r, mine, 3);
}

static void look(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look(r, mine, 0);

	race_check(!folio || folio->index == 0);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 3));
	race_check(r->cache->nrpages == 1);
}

SCENARIO(cache_stale_leaf,
	.claim = "a leaf that is no longer part of the index shows no folio",
	.reference = "R3, I11, C28",
	.cache = true,
	.setup = setup,
	.threads = { { "reuse", reuse }, { "look", look } },
	.check = check)
