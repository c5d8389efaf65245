/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 63, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	down_read(&r->cache->invalidate_lock);
	race_grab(r, mine, 63, 2, 0);
	for (int i = 0; i < 2; i++)
		race_check(race_is_cached(r, mine, i, 63 + i));
	up_read(&r->cache->invalidate_lock);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate(r, mine, 62, 3);
}

/* Both or neither. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	bool there = race_is_cached(r, h, 0, 63);

	race_check(race_is_cached(r, h, 1, 64) == there);
	race_check(r->cache->nrpages == (there ? 2 : 0));
	race_check(there || (race_is_gone(race_folio(h, 0), 63) &&
			     race_is_gone(race_folio(h, 1), 64)));
}

SCENARIO(cache_grab_vs_truncate,
	.claim = "with the invalidate lock a range is empty when truncated",
	.reference = "K1, I13",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "truncate", shorten } },
	.check = check)
