/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, 0);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, 4, PINFOLD_PROT_READ);
	race_protect(r, mine, 0, 4, RACE_RW);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 && race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
}

SCENARIO(read_pin_vs_mprotect,
	.claim = "a pin for reading does not see that writing is forbidden",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
