/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

/* Read-only, dirty, and shared with a child: only its bytes are the parent's. */
static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_check(!pf_mprotect(r->mm, race_at(0), race_bytes(4),
				PINFOLD_PROT_READ));
}

static void force(struct race *r, struct race_hold *mine)
{
	u64 word = 7;

	if (pf_access_remote(r->mm, race_at(0), &word, sizeof(word),
			     PINFOLD_FOLL_WRITE | PINFOLD_FOLL_FORCE) ==
	    sizeof(word))
		race_done(mine);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const u64 word = race_load(r, 0);
	u64 child = 0;

	race_check(pf_read(r->mms[0], race_at(0), &child, sizeof(child)) ==
		   sizeof(child));
	race_check(child == 100);
	race_check(word == 7 || word == 0);
}

SCENARIO(force_write_shared,
	.claim = "a forced store never reaches a page that others see",
	.reference = "CVE-2016-5195",
	.setup = setup,
	.threads = { { "force", force }, { "discard", discard } },
	.check = check)
