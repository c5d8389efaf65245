/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(RACE_HUGE), 0);

	race_check(ret == 1 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(split_huge_vs_fast_pin,
	.claim = "a huge page pinned fast is not split, or its part is pinned",
	.reference = "case_D7",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "split", split } },
	.check = check)
