/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 3, PINFOLD_FOLL_WRITE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 2, 1, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3 || h->nr == 1);
	race_check(race_values(h, 101, 1));
	race_protect(r, &r->hold[1], 2, 1, RACE_RW);
	race_check(race_all_same(r, h, 1));
}

SCENARIO(pin_huge_vs_mprotect_part,
	.claim = "a huge page that is protected in part ends the pin there",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
