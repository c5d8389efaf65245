/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void split_and_merge(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 1, 1, PINFOLD_PROT_READ);
	race_protect(r, mine, 1, 1, RACE_RW);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 1);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_vs_split_merge,
	.claim = "an area that is cut and joined gives its own pages",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", split_and_merge } },
	.check = check)
