/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_map(r, 2 * RACE_HUGE, 1, RACE_RW);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, RACE_HUGE + 8);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == -EFAULT);
	race_check(race_values(h, 101, 1));
	race_check(race_all_same(r, h, RACE_HUGE + 9));
	race_check(race_load(r, 1) == (u64)-1);
}

SCENARIO(pin_vs_move_table,
	.claim = "a move into another table frees the old one under nobody",
	.setup = setup,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
