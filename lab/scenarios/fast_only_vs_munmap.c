/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void get(struct race *r, struct race_hold *mine)
{
	long nr = pf_get_user_pages_fast_only(r->mm, race_at(0), 4, 0,
						  mine->pages);

	race_check(nr >= 0 && nr <= 4);
	mine->nr = nr;
	race_done(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(race_values(&r->hold[0], 100, 1));
	race_check(race_load(r, 0) == (u64)-1);
}

SCENARIO(fast_only_vs_munmap,
	.claim = "fast_only waits for nobody, and gives old pages or none",
	.setup = race_setup_pages,
	.threads = { { "get", get }, { "munmap", unmap } },
	.check = check)
