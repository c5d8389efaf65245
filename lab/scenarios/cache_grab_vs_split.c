/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 4, 2);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 5, 4, 0);
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, 4, 0);
}

/* What is taken before the split is of four pages. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	bool whole = folio_test_large(race_folio(h, 0));

	race_check(h->nr == (whole ? 2 : 4));
	race_check(race_is_cached(r, h, 0, 5));
	race_check(race_is_cached(r, h, h->nr - 1, 8));
	race_check(r->cache->nrpages == 5);
}

SCENARIO(cache_grab_vs_split,
	.claim = "a batch meets a split: the whole, or all parts, without a gap",
	.reference = "K13, B21",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "grab", grab }, { "split", split } },
	.check = check)
