/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

/* One shadow for 64 indices: both have to split it. */
static void setup(struct race *r)
{
	race_shadow(r, 64, 6, 7);
}

static void add(struct race *r, struct race_hold *mine, pgoff_t index)
{
	race_check(folio_order(race_grab_one(r, mine, index)) == 0);
}

static void one(struct race *r, struct race_hold *mine)
{
	add(r, mine, 70);
}

static void two(struct race *r, struct race_hold *mine)
{
	add(r, mine, 71);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 70));
	race_check(race_is_cached(r, &r->hold[1], 0, 71));
	race_check(race_entry(r, 64) == xa_mk_value(7));
	race_check(race_entry(r, 72) == xa_mk_value(7));
	race_check(race_entry(r, 127) == xa_mk_value(7));
	race_check(r->cache->nrpages == 2);
}

SCENARIO(cache_shadow_two_adds,
	.claim = "a large shadow is split once, and all but two indices keep it",
	.reference = "K10, C5, C6",
	.cache = true, .max_order = 6,
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
