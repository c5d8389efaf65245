/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
}

/* Its frame is the next one's: who still has the old slot meets that. */
static void reuse(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 1);
	race_grab_one(r, mine, 3);
	race_grab(r, mine, 4, 1, 0);
}

static void look(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look(r, mine, 1);

	race_check(!folio || folio->index == 1);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 3));
	race_check(race_is_cached(r, &r->hold[0], 1, 4));
	race_check(r->cache->nrpages == 2);
}

SCENARIO(cache_stale_reader,
	.claim = "a frame may be used again under a lookup, which lets go of it",
	.reference = "R13, C28",
	.cache = true,
	.setup = setup,
	.threads = { { "reuse", reuse }, { "look", look } },
	.check = check)
