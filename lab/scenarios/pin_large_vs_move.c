/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 1, 2, 17);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 1);
	race_check(race_values(h, 100, 1));
	race_check(race_same(r, h, 0, 0));
	if (h->nr == 4)
		race_check(race_same(r, h, 1, 17) && race_same(r, h, 3, 3));
	race_check(race_load(r, 18) == 102 && race_load(r, 3) == 103);
}

SCENARIO(pin_large_vs_move,
	.claim = "pages of a large folio that move stay those that are pinned",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
