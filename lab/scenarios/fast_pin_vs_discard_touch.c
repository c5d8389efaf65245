/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

/* What the third stores to has a table of its own, and comes to it anew. */
static void setup(struct race *r)
{
	race_map(r, 0, RACE_HUGE + 1, RACE_RW);
	race_store(r, 0, 1, 100);
	race_store(r, RACE_HUGE, 1, 0);
	race_check(!pf_madvise(r->mm, race_at(RACE_HUGE), race_bytes(1),
			       PINFOLD_MADV_DONTNEED));
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 1);
}

static void touch(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, RACE_HUGE, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1);
	race_check(!race_same(r, h, 0, RACE_HUGE));
	race_check(race_load(r, RACE_HUGE) == 7);
}

SCENARIO(fast_pin_vs_discard_touch,
	.claim = "a page goes after its entry, so that nobody finds it for another's",
	.setup = setup,
	.threads = { { "pin", pin }, { "discard", discard }, { "touch", touch } },
	.check = check)
