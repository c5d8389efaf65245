/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[1]));
	race_done(mine);
}

static void exit_child(struct race *r, struct race_hold *mine)
{
	pf_mm_destroy(r->mms[0]);
	r->mms[0] = NULL;
	race_done(mine);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 100 + i);
}

SCENARIO(fork_vs_exit,
	.claim = "a relative goes while another comes",
	.setup = setup,
	.threads = { { "fork", fork_it }, { "exit", exit_child } },
	.check = check)
