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

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(collapse_vs_pin,
	.claim = "a page pinned while its table collapses is the one that stays",
	.reference = "inv_O5",
	.setup = setup,
	.threads = { { "pin", pin }, { "collapse", collapse } },
	.check = check)
