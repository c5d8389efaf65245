/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

static void reclaim(struct race *r, struct race_hold *mine)
{
	race_reclaim(r, mine);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate(r, mine, 1, 1);
}

/* The hole has neither folio nor shadow, whoever took it. */
static void check(struct race *r)
{
	void *other = race_entry(r, 2);

	race_check(other && !race_entry(r, 1));
	race_check(r->cache->nrpages == (xa_is_value(other) ? 0 : 1));
}

SCENARIO(cache_reclaim_vs_truncate,
	.claim = "reclaim leaves no shadow behind truncation",
	.reference = "K3, K16",
	.cache = true,
	.setup = setup,
	.threads = { { "reclaim", reclaim }, { "truncate", shorten } },
	.check = check)
