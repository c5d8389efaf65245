/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_store(r, 0, 2, 100);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

static void owner(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

/* The pool has no page for it: it shares the owner's, or has lost it. */
static void child(struct race *r, struct race_hold *mine)
{
	u64 word = 8;

	race_check(pf_write(r->mms[0], race_at(0), &word, sizeof(word)) < 0);
	r->note[0] = pf_get_user_pages_unlocked(r->mms[0], race_at(0), 1,
						mine->pages, 0);
	mine->nr = r->note[0] == 1;
	race_done(mine);
}

static void check(struct race *r)
{
	u64 word;

	race_check(race_load(r, 0) == 7);
	race_check(r->note[0] == 1 || r->note[0] == -EFAULT);
	race_check(pf_read(r->mms[0], race_at(0), &word, sizeof(word)) == -EFAULT);
}

SCENARIO(hugetlb_owner_vs_child,
	.claim = "who reserved a huge page can store, whoever shares it",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "owner", owner }, { "child", child } },
	.check = check)
