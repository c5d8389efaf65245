/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 4, 2);
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, 4, 0);
}

/* Its own split may find the folio in use, and then it goes as a whole. */
static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate(r, mine, 6, 2);
}

static void check(struct race *r)
{
	race_check(!race_entry(r, 6) && !race_entry(r, 7));
	race_check(!race_entry(r, 4) == !race_entry(r, 5));
	race_check(r->cache->nrpages == (race_entry(r, 4) ? 2 : 0));
}

SCENARIO(cache_split_vs_truncate,
	.claim = "half of a folio goes, whoever splits it",
	.reference = "K12, C16",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "split", split }, { "truncate", shorten } },
	.check = check)
