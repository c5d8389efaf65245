/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_map(r, 8, 4, RACE_RW);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void touch(struct race *r, struct race_hold *mine)
{
	for (unsigned long i = 8; i < 12; i++)
		race_write(r, mine, i, 1, i);
}

static void check(struct race *r)
{
	u64 words[2];

	for (unsigned long i = 8; i < 12; i++) {
		race_check(pf_read(r->mm, race_at(i), words, 16) == 16);
		race_check(words[0] == 0 && words[1] == i);
	}
}

SCENARIO(frees_vs_allocs,
	.claim = "one CPU's free lists serve whoever comes",
	.setup = setup,
	.threads = { { "munmap", unmap }, { "touch", touch } },
	.check = check)
