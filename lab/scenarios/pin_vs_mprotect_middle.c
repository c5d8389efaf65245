/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 1, 2, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 1);
	race_check(race_values(h, 100, 1));
	race_protect(r, &r->hold[1], 1, 2, RACE_RW);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_vs_mprotect_middle,
	.claim = "a pin for writing ends before a page that became read-only",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
