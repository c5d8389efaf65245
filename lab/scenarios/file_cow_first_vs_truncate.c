/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_PRIVATE);
}

static void store(struct race *r, struct race_hold *mine)
{
	(void)race_touch_in(r, mine, r->mm, 1, 7);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 1);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 1));
}

SCENARIO(file_cow_first_vs_truncate,
	.claim = "a copy made at once is not left above the size either",
	.reference = "case_H14",
	.setup = setup,
	.threads = { { "write", store }, { "truncate", shorten } },
	.check = check)
