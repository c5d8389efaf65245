/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 2, 2, PINFOLD_PROT_READ);
}

static void kill_pin(struct race *r, struct race_hold *mine)
{
	race_signal(r, mine, 0, true);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 2 || h->nr == 1 || h->nr == 3 ||
		   h->nr == -EINTR || h->nr == -EAGAIN);
	race_check(race_values(h, 0, 0));
	race_protect(r, &r->hold[1], 2, 2, RACE_RW);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_killed,
	.claim = "a fatal signal ends a pin, which keeps what it has",
	.setup = race_setup_empty,
	.threads = { { "pin", pin }, { "mprotect", protect },
			 { "kill", kill_pin } },
	.check = check)
