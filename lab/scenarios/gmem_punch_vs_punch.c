/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 2);
	race_check(race_gmem_populate(r, &r->hold[0], 0, 4, 7) == 4);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 0, 2);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 1, 2);
}

static void check(struct race *r)
{
	unsigned int seq = pf_guest_memfd_invalidate_seq(r->gmem);

	race_check(!pf_guest_memfd_invalidate_retry(r->gmem, seq));
	for (unsigned long i = 0; i < 3; i++)
		race_check(!race_gmem_value(r, i));
	race_check(race_gmem_value(r, 3) == 7);
}

SCENARIO(gmem_punch_vs_punch,
	.claim = "holes that overlap are both holes, and the rest stays",
	.reference = "K1, C16",
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
