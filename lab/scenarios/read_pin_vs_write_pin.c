/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_check(race_load(r, 0) == 0);
}

static void read_pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void write_pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	race_check(race_values(&h[0], 0, 0));
	race_check(race_all_same(r, &h[1], 0));
	for (long i = 0; i < 2; i++)
		race_check(race_same(r, &h[0], i, i) ==
			   (h[0].pages[i] == h[1].pages[i]));
}

SCENARIO(read_pin_vs_write_pin,
	.claim = "who pins to write gets a page, who pins to read maybe zeroes",
	.setup = setup,
	.threads = { { "read", read_pin }, { "write", write_pin } },
	.check = check)
