/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge_empty(r);
	race_map(r, 2 * RACE_HUGE, 8, RACE_RW);
	race_store(r, 2 * RACE_HUGE, 4, 0);
	race_drain(r);
}

/* No block of 2 MiB is left: all CPUs' lists are emptied, in vain. */
static void ask_huge(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void free_and_touch(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 2 * RACE_HUGE, 4);
	race_write(r, mine, 2 * RACE_HUGE + 4, 0, 8);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 7 && race_load(r, 1) == 0);
	race_check(race_load(r, 2 * RACE_HUGE + 4) == 8);
	race_check(race_load(r, 2 * RACE_HUGE) == (u64)-1);
}

SCENARIO(alloc_drains_all,
	.claim = "who runs out of large blocks takes all CPUs' lists from them",
	.machine = { .memory_bytes = 4 << 20, .nr_cpus = 2, RACE_THP },
	.setup = setup,
	.threads = { { "huge", ask_huge }, { "small", free_and_touch } },
	.check = check)
