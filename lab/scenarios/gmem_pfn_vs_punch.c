/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 0);
	(void)race_gmem_frame(r, 1);
}

/* As a guest's fault: note[0] is the table, and task_lock its lock. */
static void fault(struct race *r, struct race_hold *mine)
{
	unsigned int seq = pf_guest_memfd_invalidate_seq(r->gmem);

	race_gmem_get(r, mine, 1);
	spin_lock(&r->task_lock);
	if (!pf_guest_memfd_invalidate_retry(r->gmem, seq))
		r->note[0] = (long)mine->pages[0];
	spin_unlock(&r->task_lock);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 1, 1);
	spin_lock(&r->task_lock);
	r->note[0] = 0;
	spin_unlock(&r->task_lock);
}

static void check(struct race *r)
{
	if (r->note[0])
		race_check((long)race_gmem_frame(r, 1) == r->note[0]);
}

SCENARIO(gmem_pfn_vs_punch,
	.claim = "a frame that was punched is not entered in the guest's tables",
	.reference = "K20, G8",
	.setup = setup,
	.threads = { { "fault", fault }, { "punch", punch } },
	.check = check)
