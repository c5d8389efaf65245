/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#include "mm/truncate.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 1, 2, 0);
}

static void invalidate(struct race *r, struct race_hold *mine)
{
	r->note[0] = (long)invalidate_mapping_pages(r->cache, 0, 3);
	mine->succeeded += r->note[0] > 0;
}

/* It takes nothing that somebody has. */
static void check(struct race *r)
{
	race_check(r->cache->nrpages == 2);
	race_check(r->note[0] <= 2);
	for (int i = 0; i < 2; i++)
		race_check(race_is_cached(r, &r->hold[0], i, 1 + i));
}

SCENARIO(cache_invalidate_vs_grab,
	.claim = "what a batch has got is not invalidated",
	.reference = "K9, C18",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "invalidate", invalidate } },
	.check = check)
