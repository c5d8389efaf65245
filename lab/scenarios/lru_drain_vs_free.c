/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	/* Not drained: the batch has them. */
	race_setup_empty(r);
	race_store(r, 0, 4, 100);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 2);
}

static void populate_drains(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 2, 2, true));
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == (u64)-1);
	race_check(race_load(r, 2) == 102 && race_load(r, 3) == 103);
}

SCENARIO(lru_drain_vs_free,
	.claim = "a folio unmapped while in a batch is freed by the drain",
	.setup = setup,
	.threads = { { "munmap", unmap }, { "populate", populate_drains } },
	.check = check)
