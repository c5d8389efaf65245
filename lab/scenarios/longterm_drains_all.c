/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_store(r, 0, 1, 100);
	race_drain(r);
}

static void longterm(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 1, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_LONGTERM);
	race_done(mine);
}

static void touch(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 2, 0, 102);
	race_write(r, mine, 3, 0, 103);
}

/* No frame can be moved out of ZONE_MOVABLE, or it has been. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1 || h->nr == -ENOMEM);
	race_check(race_load(r, 0) == 100 && race_load(r, 3) == 103);
	race_check(h->nr != 1 || race_same(r, h, 0, 0));
}

SCENARIO(longterm_drains_all,
	.claim = "isolating drains every CPU's batch while another one fills",
	.reference = "case_C3",
	.machine = { .memory_bytes = 8 << 20, .movable_bytes = 4 << 20,
			 .nr_cpus = 2 },
	.setup = setup,
	.threads = { { "longterm", longterm }, { "touch", touch } },
	.check = check)
