/* SPDX-License-Identifier: MIT */
/*
 * One run: the threads of a scenario under one schedule.
 *
 * Threads are fibres of one thread, so one runs at a time and whoever runs is
 * chosen here.  The compiler's callbacks (tsan.c) tell of every access, the
 * scheduled back-end (host/sched.h) of every lock, wait and grace period.
 *
 *  - A point is where another thread may be chosen: before an atomic access or
 *    a lock, if what it touches is shared (two threads use it and one writes
 *    it, in any run so far).  Plain accesses are no points: they may not race,
 *    which is checked, so their order is that of the points around them.
 *  - After the run all memory that it wrote is put back (memory.h), so setup()
 *    runs once for any number of schedules.
 */
#ifndef LAB_EXPLORE_RUN_H
#define LAB_EXPLORE_RUN_H

#include "host/wait.h"
#include "lab/explore/clock.h"
#include "lab/scenario.h"

#define NOBODY		NR_TASKS	/* before the first choice */
#define CALL_DEPTH	64

enum run_phase {
	RUN_OFF,		/* nothing is looked at */
	RUN_ALONE,		/* setup() */
	RUN_THREADS,		/* the schedule */
	RUN_CHECK,		/* check() and the recount; will be undone too */
};

enum task_state {
	TASK_IDLE,		/* the RCU task without a callback */
	TASK_READY,
	TASK_LOCK,		/* wants a spin lock that is taken */
	TASK_WAIT,		/* sleeps until its word is woken */
	TASK_GRACE,		/* waits for a grace period */
	TASK_YIELDED,		/* spins: somebody else must act first */
	TASK_DONE,
};

struct task {
	const char *name;
	struct fibre *fibre;
	enum task_state state;
	const u32 *word;		/* TASK_LOCK, TASK_WAIT: which */
	u32 ops;			/* atomic accesses and locks so far */
	u64 hash;			/* of all that happened before, here */
	struct knowledge know;
	struct knowledge released;	/* at the last release fence */
	struct knowledge loaded;	/* by relaxed loads, for an acquire fence */
	u8 acted;			/* tasks chosen since it last gave way */
	u8 after;			/* tasks that must be chosen before it */
	unsigned int spins;		/* spin locks held */
	unsigned int rcu_depth;
	u32 rcu_section;		/* odd: inside */
	u32 grace[NR_TASKS];		/* TASK_GRACE: sections to be left */
	u64 grace_target;		/* or callbacks to be run, rcu_barrier() */
	uintptr_t pc;			/* of the last access */
	unsigned int depth;
	uintptr_t calls[CALL_DEPTH];	/* where the callers are */
	struct waiter waiter;
};

/* Where a schedule is not the default one. */
struct deviation {
	u8 task;		/* who was running; NOBODY: at the start */
	u8 to;			/* who goes on; or STALE | how many stores back */
	u32 op;			/* before that operation of @task */
};

#define STALE			0x80
#define MAX_DEVIATIONS		4096

struct schedule {
	bool weak;		/* memory was */
	unsigned int nr;
	struct deviation dev[MAX_DEVIATIONS];
};

enum failure_kind {
	FAIL_NONE,
	FAIL_CHECK,		/* race_check() of the scenario */
	FAIL_INVARIANT,		/* the recount; a frame missing */
	FAIL_ASSERTION,		/* BUG_ON(), VM_BUG_ON(), lock order */
	FAIL_DEADLOCK,
	FAIL_LIVELOCK,
	FAIL_SLEEP,		/* sleeping where it is forbidden */
	FAIL_FREED,		/* use of a freed frame or object */
	FAIL_RACE,		/* data race between plain accesses */
	FAIL_SIGNAL,		/* SIGSEGV and its like */
	FAIL_LIMIT,		/* the explorer's own; nothing is wrong */
	NR_FAILURES,
};

extern const char *const failure_names[NR_FAILURES];

struct failure {
	enum failure_kind kind;
	unsigned int task;		/* NR_TASKS: the check */
	uintptr_t pc, other_pc;		/* other: the earlier side of a race */
	unsigned int other_task;
	const void *addr;
	char text[2304];
};

/*
 * Who chooses.  pick() yields a task of the mask @can, or PICK_STOP to give up
 * this run; @running is NOBODY if the one that ran cannot go on.  age() says
 * how many stores back a load looks, below @n.
 */
#define PICK_STOP	(NR_TASKS + 1)
struct chooser {
	unsigned int (*pick)(struct chooser *c, unsigned int can,
			     unsigned int running);
	unsigned int (*age)(struct chooser *c, unsigned int n);
};

enum run_outcome { RUN_OK, RUN_FAILED, RUN_STOPPED };

struct run {
	enum run_phase phase;
	bool weak;			/* loads may see older stores */
	bool all_points;		/* points need not be shared */
	bool tracing;
	unsigned int running;		/* task */
	unsigned int nr_threads;
	struct task tasks[NR_TASKS];
	struct chooser *chooser;
	struct schedule schedule;	/* what came of it */
	struct failure failure;
	u32 id;				/* counts runs */
	u64 steps;			/* accesses so far */
	u32 points;			/* choices so far */
	u32 preemptions;
	u64 grown;			/* times that something became shared */
	struct vclock fenced;		/* known to whoever passes a full barrier */
};

extern struct run run;

static inline struct task *run_task(void)
{
	return &run.tasks[run.running];
}

/*
 * run_begin() - make the machine of @s and its setup(); to be run and rerun
 *
 * Return: 0; -ENOMEM; -EIO if setup() itself fails (run.failure says how).
 */
int __must_check run_begin(const struct scenario *s);
void run_end(void);

/* run_once() - one schedule by @chooser, then the check, then all is put back */
enum run_outcome run_once(struct chooser *chooser);

/* run_hash() - of the state: equal for schedules that differ only in the order
 * of operations that do not touch each other */
u64 run_hash(void);

/* ---- for the callbacks --------------------------------------------------- */

/* run_point() - the running task is about to touch what is @shared */
void run_point(bool shared);
/* run_choose_store() - how many stores back a load may look, of @n */
unsigned int run_choose_store(unsigned int n);
void run_fail(enum failure_kind kind, const char *format, ...)
	__noreturn __printf(2, 3);
void run_step(uintptr_t pc);

#endif
