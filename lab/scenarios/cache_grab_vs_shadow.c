/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_shadow(r, 1, 0, 7);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 0, 3, 0);
}

/* The shadow goes, or the folio that took its place becomes one. */
static void forget(struct race *r, struct race_hold *mine)
{
	race_truncate_bare(r, mine, 1, 1);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3 && race_is_cached(r, h, 0, 0));
	race_check(race_is_cached(r, h, 2, 2));
	race_check(race_is_cached(r, h, 1, 1) ||
		   race_is_gone(race_folio(h, 1), 1));
	race_check(!xa_is_value(race_entry(r, 1)));
}

SCENARIO(cache_grab_vs_shadow,
	.claim = "a shadow that was seen and is gone is no hindrance",
	.reference = "K10",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "forget", forget } },
	.check = check)
