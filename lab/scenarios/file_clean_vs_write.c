/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_host_file(r, 1);
	race_map_file(r, 0, 1, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 1, 100);
}

static void clean(struct race *r, struct race_hold *mine)
{
	race_check(race_clean(r, mine, 0));
	WRITE_ONCE(r->note[0], 1);
}

static void store(struct race *r, struct race_hold *mine)
{
	r->note[1] = READ_ONCE(r->note[0]);
	race_check(race_touch_in(r, mine, r->mm, 0, 7));
}

/* The recount looks for entries that may be written behind the owner's back. */
static void check(struct race *r)
{
	race_check(!r->note[1] || folio_test_dirty(race_file_folio(r, 0)));
	race_check(race_load(r, 0) == 7);
}

SCENARIO(file_clean_vs_write,
	.claim = "no store is lost to who writes the file back",
	.setup = setup,
	.threads = { { "clean", clean }, { "write", store } },
	.check = check)
