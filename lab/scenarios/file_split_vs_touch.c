/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 4, 2);
	race_map_file(r, 0, 4, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 4, 100);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 1, 1);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 2, 7));
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_maps_the_file(r, r->mm, i));
	race_check(race_load(r, 0) == 100 && race_load(r, 1) == 0 &&
		   race_load(r, 2) == 7 && race_load(r, 3) == 103);
}

SCENARIO(file_split_vs_touch,
	.claim = "a hole in a large folio splits it under those who use the rest",
	.reference = "case_H8",
	.setup = setup,
	.threads = { { "punch", punch }, { "write", store } },
	.check = check)
