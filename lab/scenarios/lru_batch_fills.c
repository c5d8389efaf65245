/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

/* In tables of their own, so that no page-table lock keeps them apart. */
static void setup(struct race *r)
{
	race_map(r, 0, 514, RACE_RW);
	race_check(!race_populate(r, &r->hold[0], 0, 1, true));
	race_store(r, 1, 29, 100);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 30, 0, 130);
	race_write(r, mine, 31, 0, 131);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 512, 0, 612);
	race_write(r, mine, 513, 0, 613);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 2; i++) {
		race_check(race_load(r, 30 + i) == 130 + i);
		race_check(race_load(r, 512 + i) == 612 + i);
	}
}

SCENARIO(lru_batch_fills,
	.claim = "two that fill one CPU's LRU batch empty it once",
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
