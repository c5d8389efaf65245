/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge_empty(r);
	race_check(race_load(r, 0) == 0);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_LONGTERM);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_load(r, 0) == 7);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(huge_longterm_vs_write,
	.claim = "a longterm pin where zeroes were read sees later stores",
	.reference = "case_A6",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "pin", pin }, { "write", write } },
	.check = check)
