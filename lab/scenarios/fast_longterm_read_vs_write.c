/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_check(race_load(r, 0) == 0);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_LONGTERM);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1 && race_load(r, 0) == 7);
	race_check(race_same(r, h, 0, 0));
}

SCENARIO(fast_longterm_read_vs_write,
	.claim = "a fast longterm pin for reading is never the zero page",
	.reference = "case_A6",
	.setup = setup,
	.threads = { { "pin", pin }, { "write", write } },
	.check = check)
