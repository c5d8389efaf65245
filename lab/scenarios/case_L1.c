/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void populate(struct race *r, struct race_hold *mine)
{
	race_next_fault(RACE_FAULT_RETRY);
	r->note[0] = race_populate(r, mine, 0, 2, true);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 0 || r->note[0] == -ENOMEM);
	race_check(race_load(r, 0) == (u64)-1);
}

SCENARIO(case_L1,
	.claim = "a fault that waits finds the area gone: -ENOMEM, and an end",
	.reference = "case_L1",
	.setup = race_setup_empty,
	.threads = { { "populate", populate }, { "munmap", unmap } },
	.check = check)
