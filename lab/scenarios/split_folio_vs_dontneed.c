/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(4), 0);

	race_check(ret == 1 || ret == 0 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 0);
}

SCENARIO(split_folio_vs_dontneed,
	.claim = "nothing is left of what is discarded while it is split",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "split", split }, { "dontneed", discard } },
	.check = check)
