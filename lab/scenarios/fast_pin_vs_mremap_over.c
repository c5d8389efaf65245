/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_map(r, 16, 4, RACE_RW);
	race_store(r, 16, 4, 200);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 16, 2, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, 16);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1 || h->nr == 2);
	for (long i = 0; i < h->nr; i++)
		race_check((race_peek(h, i) == (u64)(216 + i) &&
				!race_same(r, h, i, 16 + i)) ||
			   (race_peek(h, i) == (u64)(100 + i) &&
				race_same(r, h, i, 16 + i)));
}

SCENARIO(fast_pin_vs_mremap_over,
	.claim = "a fast pin of a place has one of the pages that were there",
	.setup = setup,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
