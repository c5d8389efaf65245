/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 1, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 1);
	race_check(race_values(h, 100, 1));
	race_check(race_same(r, h, 0, 0));
	race_check(h->nr < 4 || race_same(r, h, 3, 3));
	race_check(race_load(r, 1) == (u64)-1 && race_load(r, 2) == (u64)-1);
	race_check(race_load(r, 3) == 103);
}

SCENARIO(pin_vs_munmap_middle,
	.claim = "a pin ends before a hole, and what lies around it stays",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
