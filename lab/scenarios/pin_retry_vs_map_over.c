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
	race_next_fault(RACE_FAULT_RETRY);
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void map_over(struct race *r, struct race_hold *mine)
{
	race_map(r, 0, 4, RACE_RW);
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	const bool old = race_peek(h, 0);

	race_check(h->nr == 4);
	race_check(race_peek(h, 1) == (old ? 101 : 0));
	race_check(race_peek(h, 2) == 0 && race_peek(h, 3) == 0);
	race_check(race_same(r, h, 0, 0) == !old);
	race_check(old || race_all_same(r, h, 0));
}

SCENARIO(pin_retry_vs_map_over,
	.claim = "a pin goes on in the area that took the place of the first",
	.setup = setup,
	.threads = { { "pin", pin }, { "mmap", map_over } },
	.check = check)
