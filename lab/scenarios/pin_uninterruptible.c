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

static void signal_pin(struct race *r, struct race_hold *mine)
{
	race_signal(r, mine, 0, false);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 && race_all_same(r, h, 0));
}

SCENARIO(pin_uninterruptible,
	.claim = "an ordinary signal ends no wait but an INTERRUPTIBLE one",
	.setup = setup,
	.threads = { { "pin", pin }, { "signal", signal_pin } },
	.check = check)
