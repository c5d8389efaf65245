/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 63, 2, 0);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 2);
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < 2; i++)
			race_check(race_is_cached(r, &r->hold[t], i, 63 + i));
}

SCENARIO(cache_grab_same,
	.claim = "batches of one range, over two leaves: one folio an index",
	.reference = "K5, B8",
	.cache = true,
	.setup = setup,
	.threads = { { "one", grab }, { "two", grab } },
	.check = check)
