/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
}

static void look(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look_locked(r, mine, 1);

	race_check(!folio || folio_test_uptodate(folio));
	race_done(mine);
}

static void evict(struct race *r, struct race_hold *mine)
{
	race_reclaim(r, mine);
}

/* Found, and then it stayed, or got and evicted by nobody. */
static void check(struct race *r)
{
	void *now = race_entry(r, 1);

	if (r->hold[0].nr)
		race_check(now == race_folio(&r->hold[0], 0));
	else
		race_check(xa_is_value(now));
	race_check(r->cache->nrpages == (unsigned long)!xa_is_value(now));
}

SCENARIO(cache_look_vs_evict,
	.claim = "a folio that was found is not evicted, an evicted one not found",
	.reference = "K8, K9, R5",
	.cache = true,
	.setup = setup,
	.threads = { { "look", look }, { "evict", evict } },
	.check = check)
