/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#include "api/handle.h"
#include "mm/workingset.h"

static void setup(struct race *r)
{
	race_shadow(r, 65, 0, 7);
	race_add(r, 1, 0);
}

/* Into the leaf that holds nothing but the shadow, and beside it. */
static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 64, 3, 0);
}

static void shrink(struct race *r, struct race_hold *mine)
{
	r->note[0] = (long)shrink_shadow_nodes(machine_of(r->machine), 4);
	mine->succeeded += r->note[0] > 0;
}

static void check(struct race *r)
{
	race_check(r->note[0] <= 1 && r->cache->nrpages == 4);
	for (int i = 0; i < 3; i++)
		race_check(race_is_cached(r, &r->hold[0], i, 64 + i));
}

SCENARIO(cache_grab_vs_shrinker,
	.claim = "a leaf of shadows goes, or gets the batch; or it is a new one",
	.reference = "K11, K19, I7",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "shrink", shrink } },
	.check = check)
