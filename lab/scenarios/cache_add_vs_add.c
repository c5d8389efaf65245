/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 3);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 1);
	race_check(race_is_cached(r, &r->hold[0], 0, 3));
	race_check(race_is_cached(r, &r->hold[1], 0, 3));
}

SCENARIO(cache_add_vs_add,
	.claim = "two who add one index get one folio, filled once",
	.reference = "K5, C11",
	.cache = true,
	.setup = setup,
	.threads = { { "one", add }, { "two", add } },
	.check = check)
