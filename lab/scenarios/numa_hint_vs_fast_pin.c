/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void hint(struct race *r, struct race_hold *mine)
{
	race_check(pf_numa_hint(r->mm, race_at(0), race_bytes(4)) >= 0);
	race_done(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(numa_hint_vs_fast_pin,
	.claim = "a page pinned fast while it is marked is the one mapped",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "hint", hint } },
	.check = check)
