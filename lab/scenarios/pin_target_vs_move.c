/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 16, 4, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, 16);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 16));
}

SCENARIO(pin_target_vs_move,
	.claim = "at the new place are no pages, or all that moved",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
