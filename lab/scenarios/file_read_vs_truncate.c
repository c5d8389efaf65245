/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 2, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 1, PINFOLD_FOLL_WRITE);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 1);
}

/* The pin may have been first: then it has the page that was the file's. */
static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 1) && !race_file_folio(r, 1));
	race_check(r->hold[0].nr == -EFAULT ||
		   (r->hold[0].nr == 1 && race_peek(&r->hold[0], 0) == 101));
	race_check(race_load(r, 0) == 100);
}

SCENARIO(file_read_vs_truncate,
	.claim = "what is truncated is not mapped, whoever faults it in",
	.reference = "case_H14",
	.setup = setup,
	.threads = { { "pin", pin }, { "truncate", shorten } },
	.check = check)
