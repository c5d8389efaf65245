/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

/* Four pages of a table that a huge page could take the place of. */
static void setup(struct race *r)
{
	race_map(r, 0, RACE_HUGE, RACE_RW);
	race_store(r, 0, 4, 100);
}

static void collapse(struct race *r, struct race_hold *mine)
{
	int err = pf_madvise(r->mm, race_at(0), race_bytes(RACE_HUGE),
			     PINFOLD_MADV_COLLAPSE);

	race_check(!err || err == -EAGAIN || err == -EINVAL);
	if (!err)
		race_done(mine);
	r->note[0] = err;
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 0);
}

SCENARIO(collapse_vs_dontneed,
	.claim = "nothing is left of what is discarded while it collapses",
	.setup = setup,
	.threads = { { "collapse", collapse }, { "dontneed", discard } },
	.check = check)
