/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

#include "mm/gfp.h"

static void setup(struct race *r __maybe_unused)
{
}

/* Three frames, then the first node, which it gets when it needs it. */
static void grab(struct race *r, struct race_hold *mine)
{
	current->fail_nth = 4;
	race_grab(r, mine, 62, 3, 0);
	race_check(!current->fail_nth);
}

static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 63);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 3);
	for (int i = 0; i < 3; i++)
		race_check(race_is_cached(r, &r->hold[0], i, 62 + i));
	race_check(race_is_cached(r, &r->hold[1], 0, 63));
}

SCENARIO(cache_grab_no_node,
	.claim = "while a batch gets a node its place is looked at again",
	.reference = "K18, B4",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "add", add } },
	.check = check)
