/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_store(r, 0, 2, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_next_fault(RACE_FAULT_RETRY);
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 2 || h->nr == -EFAULT);
	if (h->nr > 0)
		race_check(race_peek(h, 0) == 100 && race_peek(h, 1) == 101);
	race_check(race_load(r, 0) == (u64)-1);
}

SCENARIO(pin_retry_vs_munmap,
	.claim = "after the lock was dropped the area is looked up again",
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
