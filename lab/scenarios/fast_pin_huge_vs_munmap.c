/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
}

SCENARIO(fast_pin_huge_vs_munmap,
	.claim = "a fast pin of a huge page is of all of it, or of none",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
