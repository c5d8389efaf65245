/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 3, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 1);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3 && race_values(h, 101, 1));
	race_check(race_all_same(r, h, 1));
	race_check(race_load(r, 0) == (u64)-1);
}

SCENARIO(pin_huge_vs_munmap_part,
	.claim = "a huge page whose first page goes leaves the others in place",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
