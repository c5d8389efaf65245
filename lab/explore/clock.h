/* SPDX-License-Identifier: MIT */
/*
 * Vector clocks: who has seen how much of whom.
 */
#ifndef LAB_EXPLORE_CLOCK_H
#define LAB_EXPLORE_CLOCK_H

#include "host/types.h"
#include "lab/scenario.h"

/* The threads of a scenario, and the one that runs RCU callbacks. */
#define TASK_RCU	RACE_THREADS
#define NR_TASKS	(RACE_THREADS + 1)

struct vclock {
	u32 at[NR_TASKS];
};

static inline void vclock_join(struct vclock *to, const struct vclock *from)
{
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
}

/*
 * What a task knows, or what a store hands over.
 *
 * @hb: happens-before: what orders plain accesses
 * @seen: what full barriers add to it: stores that may no longer be missed,
 *	without being ordered before plain accesses
 */
struct knowledge {
	struct vclock hb, seen;
};

static inline void knowledge_join(struct knowledge *to,
				  const struct knowledge *from)
{
	vclock_join(&to->hb, &from->hb);
	vclock_join(&to->seen, &from->seen);
}

#endif
