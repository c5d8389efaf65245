/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_map(r, 0, 8, RACE_RW);
	race_store(r, 0, 8, 100);
	race_drain(r);
}

/* Eight pages become folios of four: both begin with large heads. */
static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(8), 2);

	race_check(ret == 1 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 8, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 8 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(split_to_order_vs_fast_pin,
	.claim = "a run that is pinned fast ends where its folio ends",
	.reference = "case_D7",
	.machine = { .thp_always = 1ul << 3 },
	.setup = setup,
	.threads = { { "pin", pin }, { "split", split } },
	.check = check)
