/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void get(struct race *r, struct race_hold *mine)
{
	race_get(r, mine, 0, 4, 0);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	for (long i = 0; i < h->nr; i++)
		race_check(!pf_page_maybe_dma_pinned(h->pages[i]));
}

SCENARIO(get_vs_munmap,
	.claim = "a page that was got keeps its bytes when its area goes",
	.setup = race_setup_pages,
	.threads = { { "get", get }, { "munmap", unmap } },
	.check = check)
