/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 2, 0, 2);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 1 && race_load(r, 2) == 2);
	race_check(race_load(r, 1) == 0 && race_load(r, 3) == 0);
}

SCENARIO(first_touch_large,
	.claim = "two first stores to one large folio's place make one folio",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_empty,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
