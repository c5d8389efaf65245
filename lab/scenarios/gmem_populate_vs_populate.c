/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 0);
}

static void low(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_gmem_populate(r, mine, 0, 3, 5);
}

static void high(struct race *r, struct race_hold *mine)
{
	r->note[1] = race_gmem_populate(r, mine, 1, 3, 7);
}

/* Each page is one's alone, and who is told so many has filled so many. */
static void check(struct race *r)
{
	for (long i = 0; i < 4; i++) {
		u64 value = race_gmem_value(r, (unsigned long)i);

		race_check(!value || value == 5 || value == 7);
		race_check((value == 5) == (i < r->note[0]));
		race_check((value == 7) == (i >= 1 && i < 1 + r->note[1]));
	}
	race_check(r->note[0] >= 1);
}

SCENARIO(gmem_populate_vs_populate,
	.claim = "of two who fill a page one does, and the other is told",
	.reference = "K5, K21, B17",
	.setup = setup,
	.threads = { { "low", low }, { "high", high } },
	.check = check)
