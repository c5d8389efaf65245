/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_check(!pf_mm_create(r->machine, &r->mms[0]));
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
	race_map_file_in(r, r->mms[0], 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 0, 7));
}

static void store_other(struct race *r, struct race_hold *mine)
{
	u64 value = 8;

	race_check(pf_write(r->mms[0], race_at(0) + 8, &value,
			    sizeof(value)) == sizeof(value));
	race_done(mine);
}

static void check(struct race *r)
{
	u64 words[2];

	race_check(race_mapped(r->mm, 0) == race_mapped(r->mms[0], 0));
	race_check(pf_read(r->mm, race_at(0), words, 16) == 16);
	race_check(words[0] == 7 && words[1] == 8);
}

SCENARIO(file_first_touch,
	.claim = "who touches a page of a file first, adds it for all",
	.setup = setup,
	.threads = { { "write", store }, { "other write", store_other } },
	.check = check)
