/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 3, 0);
	race_map_file(r, 0, 3, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 3, 100);
}

/* Before, in the middle, behind: who waits, waits for the middle only. */
static void read_all(struct race *r, struct race_hold *mine)
{
	race_check(race_load(r, 0) == 100);
	r->note[0] = (long)race_load(r, 1);
	race_check(race_load(r, 2) == 102);
	race_done(mine);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 1, 1);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 101 || r->note[0] == 0);
	race_check(race_maps_the_file(r, r->mm, 1));
	race_check(race_load(r, 1) == 0);
}

SCENARIO(file_reads_vs_punch,
	.claim = "a hole is punched while it is read; neighbours stay",
	.reference = "case_H13",
	.waits = true,
	.setup = setup,
	.threads = { { "read", read_all }, { "punch", punch } },
	.check = check)
