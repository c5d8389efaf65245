/* SPDX-License-Identifier: MIT */
#include "lab/explore/grace.h"

#include "host/rcu.h"
#include "lab/explore/memory.h"
#include "lab/explore/sched.h"

#include <string.h>

#define MAX_CALLBACKS	4096

struct callback {
	struct rcu_head *head;
	void (*func)(struct rcu_head *);
	u32 section[NR_TASKS];		/* open when it was queued; 0: none */
	struct knowledge before;	/* of who queued it */
};

static struct callback queue[MAX_CALLBACKS];
static u64 first, last;			/* [first, last) are waiting */
static u32 meeting;			/* where readers and updaters meet */
static struct knowledge sections;	/* of all sections that have ended */
static struct knowledge periods;	/* before all grace periods that ended */

void grace_run_begin(void)
{
	first = last = 0;
	memset(&sections, 0, sizeof(sections));
	memset(&periods, 0, sizeof(periods));
}

void grace_run_end(void)
{
	first = last = 0;
}

static void snapshot(u32 *section)
{
	for (unsigned int i = 0; i < NR_TASKS; i++)
		section[i] = run.tasks[i].rcu_depth ?
			     run.tasks[i].rcu_section : 0;
}

static bool sections_ended(const u32 *section)
{
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (section[i] && run.tasks[i].rcu_depth &&
		    run.tasks[i].rcu_section == section[i])
			return false;
	return true;
}

/*
 * With weak memory a section that begins while a grace period is waited for may
 * not see yet what was done before it; then the period waits for it, too.
 */
static void hold_up(unsigned int task, u32 section)
{
	for (u64 i = first; i != last; i++)
		queue[i % MAX_CALLBACKS].section[task] = section;
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (run.tasks[i].state == TASK_GRACE)
			run.tasks[i].grace[task] = section;
}

void grace_read_lock(uintptr_t pc)
{
	struct task *t = run_task();

	if (run.phase != RUN_THREADS)
		return;
	if (!t->rcu_depth) {
		memory_meet(&meeting, false, pc);
		t->rcu_section++;
		knowledge_join(&t->know, &periods);
		if (run.weak)
			hold_up(run.running, t->rcu_section);
	}
	t->rcu_depth++;
}

void grace_read_unlock(uintptr_t pc)
{
	struct task *t = run_task();

	run_step(pc);
	if (run.phase != RUN_THREADS)
		return;
	if (!t->rcu_depth)
		run_fail(FAIL_ASSERTION, "rcu_read_unlock() without a lock");
	if (!--t->rcu_depth) {
		knowledge_join(&sections, &t->know);
		t->know.hb.at[run.running]++;
	}
}

bool grace_is_over(const struct task *t)
{
	return sections_ended(t->grace) && first >= t->grace_target;
}

/* Sleeping is forbidden here for the same reasons as elsewhere. */
static void wait_for_grace(u64 target, uintptr_t pc)
{
	struct task *t = run_task();

	t->pc = pc;
	sched_ops->might_sleep((void *)pc);
	memory_meet(&meeting, true, pc);
	snapshot(t->grace);
	t->grace_target = target;
	knowledge_join(&periods, &t->know);
	t->know.hb.at[run.running]++;
	if (!grace_is_over(t))
		run_block(TASK_GRACE, NULL);
	knowledge_join(&t->know, &sections);
	memory_fence(ORDER_SEQ_CST, pc);
}

void grace_synchronize(uintptr_t pc)
{
	if (run.phase == RUN_THREADS)
		wait_for_grace(0, pc);
}

void grace_call(struct rcu_head *head, void (*func)(struct rcu_head *),
		uintptr_t pc)
{
	struct callback *c = &queue[last % MAX_CALLBACKS];
	struct task *t = run_task();

	if (last - first == MAX_CALLBACKS)
		run_fail(FAIL_LIVELOCK, "too many RCU callbacks");
	if (run.phase == RUN_THREADS)
		memory_meet(&meeting, true, pc);
	c = &queue[last++ % MAX_CALLBACKS];
	c->head = head;
	c->func = func;
	c->before = t->know;
	knowledge_join(&c->before, &sections);
	snapshot(c->section);
	t->know.hb.at[run.running]++;
}

bool grace_callback_is_due(void)
{
	return first != last &&
	       sections_ended(queue[first % MAX_CALLBACKS].section);
}

void grace_run_callback(void)
{
	struct callback c = queue[first % MAX_CALLBACKS];
	struct task *t = run_task();

	/* What began before the callback was queued has ended. */
	knowledge_join(&t->know, &c.before);
	knowledge_join(&t->know, &sections);
	knowledge_join(&periods, &c.before);
	c.func(c.head);
	first++;
	knowledge_join(&sections, &t->know);
	t->know.hb.at[run.running]++;
}

void grace_run_all(void)
{
	while (first != last) {
		struct callback c = queue[first++ % MAX_CALLBACKS];

		c.func(c.head);
	}
}

void grace_barrier(uintptr_t pc)
{
	if (run.phase == RUN_THREADS)
		wait_for_grace(last, pc);
	else
		grace_run_all();
}
