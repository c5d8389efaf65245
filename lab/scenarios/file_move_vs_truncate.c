/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 4, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 2, 100);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 2, 600);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 1);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 1) && !race_mapped(r->mm, 601));
	race_check(race_load(r, 600) == 100);
}

SCENARIO(file_move_vs_truncate,
	.claim = "truncation finds an entry that is moved meanwhile",
	.setup = setup,
	.threads = { { "move", move }, { "truncate", shorten } },
	.check = check)
