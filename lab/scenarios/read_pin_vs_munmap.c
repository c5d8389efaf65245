/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == -EFAULT);
	race_check(race_values(h, 0, 0));
	for (long i = 0; i < h->nr; i++)
		race_check(!pf_page_maybe_dma_pinned(h->pages[i]));
}

SCENARIO(read_pin_vs_munmap,
	.claim = "a first touch that reads gives the zero page, or nothing",
	.reference = "case_E1",
	.setup = race_setup_empty,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
