/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(4), 0);

	race_check(ret == 1 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(split_folio_vs_pin,
	.claim = "a folio pinned is not split, or its part is pinned",
	.reference = "case_D7",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "split", split } },
	.check = check)
