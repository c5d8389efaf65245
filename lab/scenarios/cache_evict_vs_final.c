/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#include "mm/truncate.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_shadow(r, 2, 0, 5);
}

static void evict(struct race *r, struct race_hold *mine)
{
	race_reclaim(r, mine);
}

static void final(struct race *r, struct race_hold *mine)
{
	truncate_inode_pages_final(r->cache);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(xa_empty(&r->cache->i_pages));
}

SCENARIO(cache_evict_vs_final,
	.claim = "after the final truncation there is no shadow",
	.reference = "K16, C20",
	.cache = true,
	.setup = setup,
	.threads = { { "evict", evict }, { "final", final } },
	.check = check)
