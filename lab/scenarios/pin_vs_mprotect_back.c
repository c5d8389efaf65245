/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void there_and_back(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, 4, PINFOLD_PROT_NONE);
	race_protect(r, mine, 0, 4, RACE_RW);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
	race_check(race_load(r, 3) == 103);
}

SCENARIO(pin_vs_mprotect_back,
	.claim = "PROT_NONE and back: a pin before, between or after it",
	.reference = "inv_O5",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", there_and_back } },
	.check = check)
