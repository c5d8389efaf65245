/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 0, 3, 0);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate_bare(r, mine, 0, 3);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	unsigned long cached = 0;

	race_check(h->nr == 3);
	for (int i = 0; i < 3; i++) {
		bool there = race_is_cached(r, h, i, i);

		cached += there;
		race_check(there || race_is_gone(race_folio(h, i), i));
	}
	race_check(r->cache->nrpages == cached);
}

SCENARIO(cache_grab_vs_truncate_bare,
	.claim = "without it a batch's folios stay, or go and keep their index",
	.reference = "K2, K3",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "truncate", shorten } },
	.check = check)
