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

static void unpin(struct race *r, struct race_hold *mine)
{
	if (race_pin_fast(r, mine, 1, 1, PINFOLD_FOLL_WRITE) == 1)
		race_poke(mine, 0, 777);
	race_put_dirty(mine);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 100);
	race_check(race_load(r, 1) == 777);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(collapse_vs_unpin,
	.claim = "a collapse finds a pin, or what was stored through it",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "collapse", collapse } },
	.check = check)
