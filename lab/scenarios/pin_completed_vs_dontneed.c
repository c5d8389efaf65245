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
	race_next_fault(RACE_FAULT_COMPLETED);
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 2, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	race_check(race_same(r, h, 0, 0) && race_same(r, h, 1, 1));
	race_check(race_peek(h, 2) == 0 && race_peek(h, 3) == 0);
}

SCENARIO(pin_completed_vs_dontneed,
	.claim = "a page that was faulted in and discarded is faulted in again",
	.setup = setup,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
