/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 63, 0);
}

static void low(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 62, 3, 0);
}

static void high(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 63, 3, 0);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 4);
	for (int i = 0; i < 3; i++) {
		race_check(race_is_cached(r, &r->hold[0], i, 62 + i));
		race_check(race_is_cached(r, &r->hold[1], i, 63 + i));
	}
}

SCENARIO(cache_grab_vs_grab,
	.claim = "batches that overlap, one begun higher, both end, and share",
	.reference = "K5, K6, B8",
	.cache = true,
	.setup = setup,
	.threads = { { "low", low }, { "high", high } },
	.check = check)
