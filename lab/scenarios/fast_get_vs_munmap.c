/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void get(struct race *r, struct race_hold *mine)
{
	race_get_fast(r, mine, 0, 2, 0);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
	race_map(r, 0, 2, RACE_RW);
}

/* The area may be there again when the slow path comes. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr > 0 || h->nr == -EFAULT);
	for (long i = 0; i < h->nr; i++)
		race_check(race_peek(h, i) == (u64)(100 + i) ||
			   race_peek(h, i) == 0);
	race_check(race_load(r, 0) == 0);
}

SCENARIO(fast_get_vs_munmap,
	.claim = "a fast get gives the old page or the new one",
	.setup = race_setup_pages,
	.threads = { { "get", get }, { "munmap", unmap } },
	.check = check)
