/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 1, 2, PINFOLD_FOLL_WRITE);
}

static void split(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_SPLIT_PMD);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	race_check(h[0].pages[0] == h[1].pages[0]);
	race_check(race_all_same(r, &h[0], 1) && race_all_same(r, &h[1], 1));
}

SCENARIO(fast_pin_huge_vs_split,
	.claim = "a fast pin of a leaf that is split counts its pages once",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "split", split } },
	.check = check)
