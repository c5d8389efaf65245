/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 2, 100);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 1, 7));
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 1, 1);
}

static void check(struct race *r)
{
	race_check(race_maps_the_file(r, r->mm, 1));
	r->note[0] = (long)race_file_word(r, 1);
	race_check(r->note[0] == 0 || r->note[0] == 7);
	race_check((long)race_load(r, 1) == r->note[0]);
}

SCENARIO(file_write_vs_punch,
	.claim = "after a hole nobody sees what was there; a store is before or after",
	.reference = "case_H13",
	.setup = setup,
	.threads = { { "write", store }, { "punch", punch } },
	.check = check)
