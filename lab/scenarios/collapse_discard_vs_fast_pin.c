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
	/* The table, which the huge page kept, goes too. */
	race_discard(r, mine, 0, RACE_HUGE);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	/* Before all that the pages of then, or behind it new ones. */
	race_check(h->nr == 2);
	race_check(race_peek(h, 1) == 0 || race_peek(h, 1) == 101);
}

SCENARIO(collapse_discard_vs_fast_pin,
	.claim = "nobody is in a table that collapsed when it is freed",
	.reference = "case_D1",
	.setup = setup,
	.threads = { { "pin", pin }, { "collapse", collapse } },
	.check = check)
