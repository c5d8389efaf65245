/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 0, 6, RACE_RW);
	race_store(r, 0, 6, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 2, 2, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 2);
	race_munmap(r, mine, 4, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_values(h, 102, 1));
	race_check(race_all_same(r, h, 2));
	race_check(race_load(r, 1) == (u64)-1 && race_load(r, 4) == (u64)-1);
}

SCENARIO(pin_vs_munmap_neighbours,
	.claim = "areas that go on both sides leave the pinned one its table",
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
