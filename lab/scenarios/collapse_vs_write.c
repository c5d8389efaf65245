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

	race_check(!err || err == -EAGAIN);
	if (!err)
		race_done(mine);
	r->note[0] = err;
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 777);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 100);
	race_check(race_load(r, 1) == 777);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(collapse_vs_write,
	.claim = "a store is not lost when its page is copied into a huge one",
	.setup = setup,
	.threads = { { "write", write }, { "collapse", collapse } },
	.check = check)
