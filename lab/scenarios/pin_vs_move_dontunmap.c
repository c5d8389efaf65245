/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	const int flags = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED |
			  PINFOLD_MREMAP_DONTUNMAP;
	pf_addr_t place;

	race_check(!pf_mremap(r->mm, race_at(0), race_bytes(4), race_bytes(4),
				  flags, race_at(16), &place));
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	if (race_peek(h, 0) == 100)
		race_check(race_all_same(r, h, 16) && !race_load(r, 0));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 0));
	race_check(race_load(r, 17) == 101);
}

SCENARIO(pin_vs_move_dontunmap,
	.claim = "where pages moved away from, a pin gets new ones",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
