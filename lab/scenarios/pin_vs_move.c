/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
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
	race_check(race_load(r, 0) == (u64)-1 && race_load(r, 19) == 103);
}

SCENARIO(pin_vs_move,
	.claim = "a pinned page moves with its area",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
