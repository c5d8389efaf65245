/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 3, 3, 0);
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 4, 4, 2);
}

/* Index 4 is of the large folio, or of the batch's small one. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(race_is_cached(r, h, 0, 3) && race_is_cached(r, h, 1, 4));
	race_check(race_is_cached(r, h, h->nr - 1, 5));
	race_check(r->cache->nrpages == 5);
	race_check(h->nr == (folio_order(race_folio(h, 1)) == 2 ? 2 : 3));
	race_check(race_is_cached(r, &r->hold[1], 0, 4));
}

SCENARIO(cache_grab_vs_large,
	.claim = "a batch of pages takes a large folio that came first, once",
	.reference = "K5, B9, B10",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "grab", grab }, { "large", add } },
	.check = check)
