/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

/* So many that no CPU's LRU batch refers to the first pages any more. */
static void setup(struct race *r)
{
	race_setup_pages(r);
	race_map(r, 64, 32, RACE_RW);
	race_store(r, 64, 31, 200);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_WRITE);
}

/* The tables stay; the frame is the next page that somebody wants. */
static void discard_and_reuse(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 1);
	race_write(r, mine, 95, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1);
	race_check(race_peek(h, 0) == 100 || race_peek(h, 0) == 0);
	race_check(race_load(r, 95) == 7);
	race_check(!race_same(r, h, 0, 95));
}

SCENARIO(fast_pin_vs_discard_reuse,
	.claim = "a fast pin has no frame that became another address's page",
	.setup = setup,
	.threads = { { "pin", pin }, { "reuse", discard_and_reuse } },
	.check = check)
