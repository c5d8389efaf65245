/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void read(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_load(r, 0);
	race_done(mine);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 1, 7);
}

static void check(struct race *r)
{
	u64 words[2];

	race_check(r->note[0] == 0);
	race_check(pf_read(r->mm, race_at(0), words, 16) == 16);
	race_check(words[0] == 0 && words[1] == 7);
}

SCENARIO(read_vs_write,
	.claim = "a zero page that a reader maps does not cover a store",
	.setup = race_setup_empty,
	.threads = { { "read", read }, { "write", write } },
	.check = check)
