/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 0, 2, RACE_RW);
	race_map(r, 2, 2, RACE_RW | PINFOLD_PROT_EXEC);
	race_map(r, 4, 2, RACE_RW);
	race_store(r, 0, 6, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 6, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 2, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 6 || h->nr == 2);
	race_check(race_values(h, 100, 1));
	race_check(race_same(r, h, 0, 0) && race_same(r, h, 1, 1));
	race_check(h->nr == 2 || race_same(r, h, 5, 5));
	race_check(race_load(r, 2) == (u64)-1 && race_load(r, 4) == 104);
}

SCENARIO(pin_two_areas_vs_munmap,
	.claim = "a pin crosses areas, and ends where one of them went",
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
