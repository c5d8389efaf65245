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

static void fork(struct race *r, struct race_hold *mine)
{
	if (!pf_mm_fork(r->mm, &r->mms[0]))
		race_done(mine);
}

static void check(struct race *r)
{
	u64 word;

	race_check(r->mms[0]);
	for (unsigned long i = 0; i < 4; i++) {
		race_check(race_load(r, i) == 100 + i);
		race_check(pf_read(r->mms[0], race_at(i), &word, 8) == 8);
		race_check(word == 100 + i);
	}
}

SCENARIO(split_folio_vs_fork,
	.claim = "a folio is split for parent and child, or for none",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "split", split }, { "fork", fork } },
	.check = check)
