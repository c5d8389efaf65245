/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_WRITE);
}

static void unmap_and_reuse(struct race *r, struct race_hold *mine)
{
	race_map(r, 8, 1, RACE_RW);
	race_munmap(r, mine, 0, 4);
	race_write(r, mine, 8, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 0));
	race_check(race_load(r, 8) == 7);
	race_check(h->nr != 1 || !race_same(r, h, 0, 8));
}

SCENARIO(fast_pin_vs_reuse,
	.claim = "a frame that is used again is not pinned for the old page",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "reuse", unmap_and_reuse } },
	.check = check)
