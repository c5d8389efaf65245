/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, RACE_HUGE + 8);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr > 0 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, RACE_HUGE + 8));
}

SCENARIO(fast_pin_vs_move,
	.claim = "what a fast pin found moves with its area",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
