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

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, 4, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 3 || h->nr == 2 ||
		   h->nr == -EFAULT);
	race_protect(r, &r->hold[1], 0, 4, RACE_RW);
	race_check(race_all_same(r, h, 0));
	race_check(race_load(r, 0) == 100 && race_load(r, 1) == 101);
}

SCENARIO(pin_retry_vs_mprotect,
	.claim = "after the lock was dropped its permissions are asked again",
	.setup = setup,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
