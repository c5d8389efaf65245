/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 1, 3, 0);
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 2);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 3);
	for (int i = 0; i < 3; i++)
		race_check(race_is_cached(r, &r->hold[0], i, 1 + i));
	race_check(race_is_cached(r, &r->hold[1], 0, 2));
}

SCENARIO(cache_grab_vs_add,
	.claim = "a folio that comes in a batch's way is taken, not replaced",
	.reference = "K5, B3",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "add", add } },
	.check = check)
