/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_check(race_load(r, 0) == 0 && race_load(r, 1) == 0);
}

static void longterm_read(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_LONGTERM);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
	race_write(r, mine, 1, 0, 8);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_peek(h, 0) == 7 && race_peek(h, 1) == 8);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(case_A6,
	.claim = "a longterm pin of the zero page's place sees later stores",
	.reference = "case_A6",
	.setup = setup,
	.threads = { { "pin", longterm_read }, { "write", write } },
	.check = check)
