/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 0, 3, 0);
}

static void remove_it(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 2);
	race_remove(r, mine, 1);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3);
	for (int i = 0; i < 3; i++)
		race_check(race_is_cached(r, h, i, i) ||
			   race_is_gone(race_folio(h, i), i));
}

SCENARIO(cache_grab_vs_remove,
	.claim = "what a batch waited for and is gone, it adds",
	.reference = "K14, B21",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "remove", remove_it } },
	.check = check)
