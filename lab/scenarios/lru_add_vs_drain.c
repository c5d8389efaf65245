/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void touch(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 100);
	race_write(r, mine, 1, 0, 101);
}

static void populate_drains(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 2, 1, true));
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 100 && race_load(r, 1) == 101);
	race_check(race_load(r, 2) == 0);
}

SCENARIO(lru_add_vs_drain,
	.claim = "a folio goes from the batch to a list, once",
	.setup = race_setup_empty,
	.threads = { { "touch", touch }, { "populate", populate_drains } },
	.check = check)
