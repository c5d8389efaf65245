/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate_bare(r, mine, 0, 4);
	for (pgoff_t i = 0; i < 4; i++)
		race_check(!race_entry(r, i));
}

SCENARIO(cache_truncate_vs_truncate,
	.claim = "each folio is removed once, and none is left for the other",
	.reference = "K2, 6.1",
	.cache = true,
	.setup = setup,
	.threads = { { "one", shorten }, { "two", shorten } })
