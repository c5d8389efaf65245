/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void read(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 2, 1, 0);
}

/* A zero page in its place: then the store gets a small page. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[1];

	race_check(h->nr == 1 && race_peek(h, 0) == 0);
	race_check(race_load(r, 0) == 7 && race_load(r, 2) == 0);
	race_check(race_load(r, 3) == 0);
}

SCENARIO(first_touch_large_vs_read,
	.claim = "a large folio is mapped where nothing else is",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_empty,
	.threads = { { "write", write }, { "read", read } },
	.check = check)
