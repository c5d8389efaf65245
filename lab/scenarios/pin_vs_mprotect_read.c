/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, 4, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	race_write(r, &r->hold[1], 0, 0, 1);
	race_check(race_load(r, 0) == 100);
	race_protect(r, &r->hold[1], 0, 4, RACE_RW);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_vs_mprotect_read,
	.claim = "a pinned page stays its mm's page when its area is protected",
	.reference = "inv_O5",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
