/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void read(struct race *r, struct race_hold *mine)
{
	u64 word = 0;

	if (pf_access_remote(r->mm, race_at(1), &word, sizeof(word), 0))
		race_done(mine);
	r->note[0] = word;
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 101 || r->note[0] == 0);
	race_check((r->note[0] == 101) == (r->hold[0].succeeded > 0));
}

SCENARIO(remote_read_vs_munmap,
	.claim = "a debugger reads what was there, or nothing",
	.setup = race_setup_pages,
	.threads = { { "read", read }, { "munmap", unmap } },
	.check = check)
