/* SPDX-License-Identifier: MIT */
#include "lab/explore/sched.h"

#include "lab/explore/grace.h"
#include "lab/explore/memory.h"

static void (*failed)(const char *what);

static bool sched_spin_trylock(u32 *word, void *pc)
{
	struct task *t = run_task();
	bool got;

	if (run.phase != RUN_THREADS) {
		got = !*word;
		memory_rmw(word, 4, RMW_OR, 1, ORDER_ACQUIRE, (uintptr_t)pc);
		return got;
	}
	memory_approach(word, (uintptr_t)pc);
	got = memory_lock(word, true, (uintptr_t)pc);
	t->spins += got;
	return got;
}

static void sched_spin_lock(u32 *word, void *pc)
{
	if (run.phase != RUN_THREADS) {
		if (*word)
			run_fail(FAIL_INVARIANT, "inv_O7: a lock is still held "
				 "after all threads have ended");
		memory_rmw(word, 4, RMW_XCHG, 1, ORDER_ACQUIRE, (uintptr_t)pc);
		return;
	}
	memory_approach(word, (uintptr_t)pc);
	while (!memory_lock(word, false, (uintptr_t)pc))
		run_block(TASK_LOCK, word);
	run_task()->spins++;
}

static void sched_spin_unlock(u32 *word, void *pc)
{
	if (run.phase != RUN_THREADS) {
		memory_rmw(word, 4, RMW_XCHG, 0, ORDER_RELEASE, (uintptr_t)pc);
		return;
	}
	memory_unlock(word, (uintptr_t)pc);
	run_task()->spins--;
}

static void might_sleep(void *pc)
{
	struct task *t = run_task();

	if (run.phase != RUN_THREADS)
		return;
	t->pc = (uintptr_t)pc;
	if (t->spins)
		run_fail(FAIL_SLEEP, "%s may sleep under a spin lock", t->name);
	if (t->rcu_depth)
		run_fail(FAIL_SLEEP, "%s may sleep in an RCU read section",
			 t->name);
}

static void sleep_on(u32 *word, u32 value, void *pc)
{
	if (run.phase != RUN_THREADS)
		run_fail(FAIL_DEADLOCK, "the check waits for ever");
	might_sleep(pc);
	if (memory_load(word, 4, ORDER_SEQ_CST, (uintptr_t)pc) == value)
		run_block(TASK_WAIT, word);
}

static void wake_all(u32 *word)
{
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (run.tasks[i].state == TASK_WAIT &&
		    run.tasks[i].word == word)
			run.tasks[i].state = TASK_READY;
}

static void relax(void *pc)
{
	if (run.phase == RUN_THREADS) {
		run_step((uintptr_t)pc);
		/* Who counts how often it spins is not where it was. */
		run_task()->hash = run_task()->hash * 0x9e3779b97f4a7c15 + 1;
		run_block(TASK_YIELDED, NULL);
	}
}

static struct waiter *waiter(void)
{
	return &run_task()->waiter;
}

static void rcu_lock(void *pc)
{
	grace_read_lock((uintptr_t)pc);
}

static void rcu_unlock(void *pc)
{
	grace_read_unlock((uintptr_t)pc);
}

static void synchronize(void *pc)
{
	grace_synchronize((uintptr_t)pc);
}

static void call(struct rcu_head *head, void (*func)(struct rcu_head *),
		 void *pc)
{
	grace_call(head, func, (uintptr_t)pc);
}

static void barrier_rcu(void *pc)
{
	grace_barrier((uintptr_t)pc);
}

static void poison(const void *addr, size_t bytes)
{
	memory_poison(addr, bytes, true);
}

static void unpoison(const void *addr, size_t bytes)
{
	memory_poison(addr, bytes, false);
}

static void bug(const char *what)
{
	failed(what);
}

static const struct sched_ops ops = {
	.spin_trylock = sched_spin_trylock,
	.spin_lock = sched_spin_lock,
	.spin_unlock = sched_spin_unlock,
	.wait = sleep_on,
	.wake_all = wake_all,
	.relax = relax,
	.might_sleep = might_sleep,
	.waiter = waiter,
	.rcu_read_lock = rcu_lock,
	.rcu_read_unlock = rcu_unlock,
	.synchronize_rcu = synchronize,
	.call_rcu = call,
	.rcu_barrier = barrier_rcu,
	.poison = poison,
	.unpoison = unpoison,
	.bug = bug,
};

void sched_ops_install(void (*bug_fn)(const char *what))
{
	failed = bug_fn;
	sched_ops = &ops;
}
