/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	/* Not drained: the batch has them. */
	race_setup_empty(r);
	race_store(r, 0, 4, 100);
}

static void get(struct race *r, struct race_hold *mine)
{
	race_get(r, mine, 0, 2, 0);
}

static void populate_drains(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 3, 1, false));
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == 2);
	race_check(race_values(&r->hold[0], 100, 1));
}

SCENARIO(lru_activate_vs_drain,
	.claim = "a folio found used twice is on the active list alone",
	.setup = setup,
	.threads = { { "get", get }, { "populate", populate_drains } },
	.check = check)
