/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 9, 0);
}

/* Who waited for a folio that goes gets a new one. */
static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 9);
}

static void remove_it(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 9);
	race_check(!mine->nr);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(race_is_cached(r, h, 0, 9) ||
		   race_is_gone(race_folio(h, 0), 9));
	race_check(r->cache->nrpages == !!race_entry(r, 9));
}

SCENARIO(cache_lock_vs_remove,
	.claim = "a folio that is locked is in the cache, or it is a new one",
	.reference = "K14, C3, R8",
	.cache = true,
	.setup = setup,
	.threads = { { "add", add }, { "remove", remove_it } },
	.check = check)
