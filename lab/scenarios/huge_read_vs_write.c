/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_peek(h, 0) == 0 || race_peek(h, 0) == 7);
	race_check(race_peek(h, 1) == 0);
	race_check(race_load(r, 0) == 7 && race_load(r, 1) == 0);
	race_check(race_same(r, h, 0, 0) == (race_peek(h, 0) == 7));
}

SCENARIO(huge_read_vs_write,
	.claim = "the huge page of zeroes is replaced for the writer alone",
	.machine = { RACE_THP },
	.setup = race_setup_huge_empty,
	.threads = { { "pin", pin }, { "write", write } },
	.check = check)
