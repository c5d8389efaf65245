/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_SPLIT_PMD);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	for (long i = 0; i < 2; i++)
		race_check(h[0].pages[i] == h[1].pages[i]);
	race_check(race_values(&h[0], 101, 1));
	race_check(race_all_same(r, &h[1], 1));
	race_check(race_load(r, 0) == 100 && race_load(r, 3) == 103);
}

SCENARIO(split_pin_vs_split_pin,
	.claim = "two that split one leaf find the same pages behind it",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "one", pin }, { "two", pin } },
	.check = check)
