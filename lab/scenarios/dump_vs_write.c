/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_check(race_load(r, 0) == 0);
}

static void dump(struct race *r, struct race_hold *mine)
{
	r->note[0] = pf_get_dump_page(r->mm, race_at(0), &mine->pages[0]);
	mine->nr = r->note[0];
	mine->succeeded += r->note[0];
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(r->note[0] == 0 || r->note[0] == 1);
	race_check(race_load(r, 0) == 7);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(dump_vs_write,
	.claim = "a dump leaves zeroes out, and never takes the zero page",
	.setup = setup,
	.threads = { { "dump", dump }, { "write", write } },
	.check = check)
