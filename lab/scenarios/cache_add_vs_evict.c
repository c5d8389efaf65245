/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 3, 0);
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 3);
}

static void evict(struct race *r, struct race_hold *mine)
{
	race_reclaim(r, mine);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 1);
	race_check(race_is_cached(r, &r->hold[0], 0, 3));
}

SCENARIO(cache_add_vs_evict,
	.claim = "who gets a folio while it is evicted gets the old or a new one",
	.reference = "K9, K10",
	.cache = true,
	.setup = setup,
	.threads = { { "add", add }, { "evict", evict } },
	.check = check)
