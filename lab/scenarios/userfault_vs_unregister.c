/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void on_fault(void *arg, pf_addr_t address)
{
	struct race *r = arg;

	race_check(address == race_at(1));
	r->note[0]++;
}

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_userfault_register(r->mm, race_at(0), race_bytes(4),
					  on_fault, r));
	race_check(!pf_userfault_writeprotect(r->mm, race_at(0), race_bytes(4),
					      true));
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 777);
}

static void unregister(struct race *r, struct race_hold *mine)
{
	race_check(!pf_userfault_unregister(r->mm, race_at(0), race_bytes(4)));
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(r->note[0] <= 1);
	race_check(race_load(r, 1) == 777);
}

SCENARIO(userfault_vs_unregister,
	.claim = "a store is woken when nobody serves it any more",
	.waits = true,
	.setup = setup,
	.threads = { { "write", write }, { "unregister", unregister } },
	.check = check)
