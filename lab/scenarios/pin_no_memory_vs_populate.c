/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_store(r, 0, 2, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_next_fault(RACE_FAULT_NO_MEMORY);
	race_pin(r, mine, 1, 3, PINFOLD_FOLL_WRITE);
}

static void populate(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 2, 2, true));
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3 || h->nr == 2 || h->nr == 1);
	race_check(race_all_same(r, h, 1));
}

SCENARIO(pin_no_memory_vs_populate,
	.claim = "a pin that finds no memory keeps the pages it has",
	.setup = setup,
	.threads = { { "pin", pin }, { "populate", populate } },
	.check = check)
