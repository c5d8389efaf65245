/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_file(r, 1, 0);
	race_map_file(r, 0, 1, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 1, 100);
	pf_file_close(r->file);
	r->file = NULL;
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_WRITE |
		      PINFOLD_FOLL_LONGTERM);
}

/* The last area: the file goes, and its mapping, which the pin looks at. */
static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 1);
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == -EFAULT ||
		   (r->hold[0].nr == 1 && race_peek(&r->hold[0], 0) == 100));
}

SCENARIO(file_fast_pin_vs_close,
	.claim = "a lockless pin may look at the file of a page that is going",
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
