/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_FORCE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, 4, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	race_check(race_values(h, 100, 1));
	race_protect(r, &r->hold[1], 0, 4, RACE_RW);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(force_write_vs_mprotect,
	.claim = "a forced write gets a private area's pages, protected or not",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
