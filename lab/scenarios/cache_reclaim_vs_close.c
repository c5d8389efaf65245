/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#include "api/handle.h"
#include "mm/vmscan.h"
#include "mm/workingset.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_shadow(r, 64, 0, 7);
}

/* It finds the mapping by its folio, and has nothing that keeps it. */
static void reclaim(struct race *r, struct race_hold *mine)
{
	unsigned long nr = try_to_free_pages(machine_of(r->machine), 0,
					     GFP_HIGHUSER_MOVABLE);

	mine->succeeded += nr > 0;
	shrink_shadow_nodes(machine_of(r->machine), 4);
}

static void close_it(struct race *r, struct race_hold *mine)
{
	race_cache_end(r);
	race_done(mine);
}

static void check(struct race *r)
{
	race_cache_begin(r);
}

SCENARIO(cache_reclaim_vs_close,
	.claim = "a mapping that ends is not used by who reclaims its folios",
	.reference = "K11, K15, K16",
	.cache = true,
	.setup = setup,
	.threads = { { "reclaim", reclaim }, { "close", close_it } },
	.check = check)
