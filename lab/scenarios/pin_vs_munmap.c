/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 0, 4, RACE_RW);
	race_store(r, 0, 4, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine __maybe_unused)
{
	race_check(!pf_munmap(r->mm, race_at(0), 4 * PINFOLD_PAGE_SIZE));
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr < 0);
	for (long i = 0; i < h->nr; i++)
		race_check(race_peek(h, i) == (u64)(100 + i));
	race_check(race_load(r, 0) == (u64)-1);
}

SCENARIO(pin_vs_munmap,
	.claim = "a pinned page keeps its bytes when its area is unmapped",
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
