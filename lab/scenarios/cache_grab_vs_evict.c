/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"


static void setup(struct race *r __maybe_unused)
{
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 1, 2, 0);
}

/* The references of whoever added them keep them. */
static void evict(struct race *r, struct race_hold *mine)
{
	race_check(!race_reclaim(r, mine));
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 1));
	race_check(race_is_cached(r, &r->hold[0], 1, 2));
}

SCENARIO(cache_grab_vs_evict,
	.claim = "what was just added is not evicted while it is held",
	.reference = "K8",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "evict", evict } },
	.check = check)
