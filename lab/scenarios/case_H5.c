/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
}

static void pin_folios(struct race *r, struct race_hold *mine)
{
	u64 offset;

	mine->nr = pf_memfd_pin_folios(r->file, 0, (int64_t)race_bytes(2) - 1,
				       mine->pages, 2, &offset);
	mine->pin = true;
	race_check(mine->nr == 2 && !offset);
	race_done(mine);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 1, 7));
}

static void check(struct race *r)
{
	race_check((struct page *)r->hold[0].pages[1] ==
		   race_mapped(r->mm, 1));
	race_check(race_peek(&r->hold[0], 1) == 7);
}

SCENARIO(case_H5,
	.claim = "who pins a memfd and finds a page added meanwhile, takes that",
	.reference = "case_H5",
	.setup = setup,
	.threads = { { "pin", pin_folios }, { "write", store } },
	.check = check)
