/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void get(struct race *r, struct race_hold *mine)
{
	race_get(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	if (race_peek(h, 3))
		race_check(race_values(h, 100, 1) && !race_load(r, 3));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 0));
}

SCENARIO(get_vs_dontneed,
	.claim = "a page that was got outlives the entry it was found by",
	.setup = race_setup_pages,
	.threads = { { "get", get }, { "dontneed", discard } },
	.check = check)
