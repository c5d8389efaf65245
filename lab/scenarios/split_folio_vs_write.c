/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(4), 0);

	race_check(ret == 1 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 777);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 100);
	race_check(race_load(r, 1) == 777);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(split_folio_vs_write,
	.claim = "a store waits for a split, and is not lost",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "write", write }, { "split", split } },
	.check = check)
