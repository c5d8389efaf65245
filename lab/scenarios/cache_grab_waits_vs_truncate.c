/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

/* Sleeps for folio 2 with 0 and 1 locked, if the holder is first. */
static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 0, 3, 0);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate_bare(r, mine, 1, 1);
}

static void holder(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_lock(r, 2);

	race_unlock(folio);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 0));
	race_check(race_is_cached(r, &r->hold[0], 2, 2));
	race_check(r->cache->nrpages == 2 + !!race_entry(r, 1));
}

SCENARIO(cache_grab_waits_vs_truncate,
	.claim = "truncation waits for a batch that waits, and both end",
	.reference = "K4",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "truncate", shorten },
		     { "holder", holder } },
	.check = check)
