/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_protect(r, &r->hold[1], 0, 4, PINFOLD_PROT_READ);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 1, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_FORCE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 1);
	race_check(race_load(r, 0) == 0);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1);
	race_check(race_peek(h, 0) == 100 || race_peek(h, 0) == 0);
	race_poke(h, 0, 7);
	/* What was never written must still read zero. */
	race_map(r, 8, 1, RACE_RW);
	race_check(race_load(r, 8) == 0);
	race_check(race_load(r, 0) == 0 || race_load(r, 0) == 7);
}

SCENARIO(case_B1,
	.claim = "a forced write never reaches the page that reads as zero",
	.reference = "case_B1",
	.setup = setup,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
