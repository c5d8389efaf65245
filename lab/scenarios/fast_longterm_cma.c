/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

/* Movable memory comes from the CMA area while most of what is free is there. */
static void setup(struct race *r)
{
	race_setup_pages(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	/* refused, which is what it is for */
	if (race_pin_fast(r, mine, 0, 4, PINFOLD_FOLL_LONGTERM) == -ENOMEM)
		race_done(mine);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 2, 1, 7);
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == -ENOMEM);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(fast_longterm_cma,
	.claim = "no longterm pin stays in a CMA area",
	.reference = "inv_O3",
	.machine = { .memory_bytes = 12 << 20, .cma_bytes = 8 << 20 },
	.setup = setup,
	.threads = { { "pin", pin }, { "write", write } },
	.check = check)
