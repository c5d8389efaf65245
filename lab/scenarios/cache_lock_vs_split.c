/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 4, 2);
}

/* Waits for the lock with a reference, or finds a part. */
static void look(struct race *r, struct race_hold *mine)
{
	race_check(race_look_locked(r, mine, 5));
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, 6, 1);
}

static void check(struct race *r)
{
	race_check(race_is_cached(r, &r->hold[0], 0, 5));
}

SCENARIO(cache_lock_vs_split,
	.claim = "a folio that is locked has the index, and all its bytes",
	.reference = "K12, R8, R9",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "look", look }, { "split", split } },
	.check = check)
