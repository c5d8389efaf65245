/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_create(r->machine, &r->mms[0]));
	race_pin(r, &r->hold[0], 0, 4, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void destroy(struct race *r, struct race_hold *mine)
{
	struct pf_mm *mm = r->mm;

	r->mm = r->mms[0];
	r->mms[0] = NULL;
	pf_mm_destroy(mm);
	race_done(mine);
}

static void check(struct race *r)
{
	race_map(r, 0, 1, RACE_RW);
	race_check(race_load(r, 0) == 0);
}

SCENARIO(unpin_vs_destroy,
	.claim = "pages outlive their mm as long as they are pinned",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "destroy", destroy } },
	.check = check)
