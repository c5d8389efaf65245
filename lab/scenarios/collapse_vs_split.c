/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

/* A folio of four in a table that a huge page could take the place of. */
static void setup(struct race *r)
{
	race_map(r, 0, RACE_HUGE, RACE_RW);
	race_store(r, 0, 4, 100);
}

static void collapse(struct race *r, struct race_hold *mine)
{
	int err = pf_madvise(r->mm, race_at(0), race_bytes(RACE_HUGE),
			     PINFOLD_MADV_COLLAPSE);

	race_check(!err || err == -EAGAIN || err == -EINVAL);
	if (!err)
		race_done(mine);
	r->note[0] = err;
}

static void split(struct race *r, struct race_hold *mine)
{
	int64_t ret = pf_split(r->mm, race_at(0), race_bytes(4), 0);

	race_check(ret == 1 || ret == 0 || ret == -EAGAIN);
	if (ret > 0)
		race_done(mine);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 100 + i);
}

SCENARIO(collapse_vs_split,
	.claim = "a folio is split, or copied into a huge page",
	.machine = { .thp_always = 1ul << 2 },
	.setup = setup,
	.threads = { { "split", split }, { "collapse", collapse } },
	.check = check)
