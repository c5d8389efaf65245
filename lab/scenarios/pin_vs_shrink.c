/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void shrink(struct race *r, struct race_hold *mine)
{
	race_resize(r, mine, 0, 4, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == 4);
	race_check(race_values(h, 100, 1));
	race_check(race_same(r, h, 0, 0) && race_same(r, h, 1, 1));
	race_check(race_load(r, 2) == (u64)-1);
}

SCENARIO(pin_vs_shrink,
	.claim = "pages that a shrinking area lost stay with who pinned them",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", shrink } },
	.check = check)
