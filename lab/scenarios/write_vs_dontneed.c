/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 1);
}

static void check(struct race *r)
{
	const u64 word = race_load(r, 0);

	race_check(word == 7 || word == 0);
	race_store(r, 0, 1, 9);
	race_check(race_load(r, 0) == 9 && race_load(r, 1) == 101);
}

SCENARIO(write_vs_dontneed,
	.claim = "a store is kept or discarded, and hits no other page",
	.setup = race_setup_pages,
	.threads = { { "write", write }, { "dontneed", discard } },
	.check = check)
