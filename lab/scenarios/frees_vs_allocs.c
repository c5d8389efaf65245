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

static void stat(struct race *r, struct race_hold *mine)
{
	struct pf_machine_stat s = { .size = sizeof(s) };

	race_check(!pf_machine_stat(r->machine, &s));
	race_check(s.free_pages < s.memory_bytes / PINFOLD_PAGE_SIZE);
	race_done(mine);
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
	.claim = "one CPU's free lists serve whoever comes, and can be counted",
	.setup = setup,
	.threads = { { "munmap", unmap }, { "touch", touch }, { "stat", stat } },
	.check = check)
