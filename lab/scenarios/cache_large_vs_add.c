/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void large(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 4, 4, 2);
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 6);
}

/* One of four pages; or what fits around the one that was first. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(r->cache->nrpages == 4);
	race_check(race_is_cached(r, &r->hold[1], 0, 6));
	race_check(race_is_cached(r, h, 0, 4));
	race_check(race_is_cached(r, h, h->nr - 1, 7));
	race_check(folio_order(race_folio(h, 0)) == 2 || h->nr > 2);
}

SCENARIO(cache_large_vs_add,
	.claim = "a large folio that does not fit becomes smaller ones",
	.reference = "K5, B10, C7",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "large", large }, { "add", add } },
	.check = check)
