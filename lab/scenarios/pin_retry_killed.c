/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

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

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 3, 1, PINFOLD_PROT_READ);
	race_protect(r, mine, 3, 1, RACE_RW);
}

static void kill_pin(struct race *r, struct race_hold *mine)
{
	race_signal(r, mine, 0, true);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check((h->nr > 0 && h->nr <= 4) || h->nr == -EINTR ||
		   h->nr == -EAGAIN);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_retry_killed,
	.claim = "a pin that is killed while it waits keeps what it has",
	.setup = setup,
	.threads = { { "pin", pin }, { "mprotect", protect },
			 { "kill", kill_pin } },
	.check = check)
