/* SPDX-License-Identifier: MIT */
#include "lab/explore/run.h"

#include "api/handle.h"
#include "host/arena.h"
#include "host/bug.h"
#include "host/fibre.h"
#include "lab/explore/catch.h"
#include "lab/explore/grace.h"
#include "lab/explore/heap.h"
#include "lab/explore/memory.h"
#include "lab/explore/object.h"
#include "lab/explore/sched.h"
#include "lab/explore/source.h"

#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A run that is longer than this goes round in circles. */
#define MAX_STEPS	3000000u

const char *const failure_names[NR_FAILURES] = {
	[FAIL_CHECK] = "check failed",
	[FAIL_INVARIANT] = "invariant broken",
	[FAIL_ASSERTION] = "assertion failed",
	[FAIL_DEADLOCK] = "deadlock",
	[FAIL_LIVELOCK] = "livelock",
	[FAIL_SLEEP] = "sleeps where it may not",
	[FAIL_FREED] = "use after free",
	[FAIL_RACE] = "data race",
	[FAIL_SIGNAL] = "crash",
	[FAIL_LIMIT] = "too big for the explorer",
};

struct run run;

static struct race race;
static struct fibre *controller;
static u64 checked[1 << 16];	/* final states that were found good */

/* ---- failures ---------------------------------------------------------- */

static void __noreturn leave(void)
{
	if (run.phase == RUN_THREADS) {
		run.phase = RUN_OFF;
		fibre_switch(run_task()->fibre, controller);
	}
	run.phase = RUN_OFF;
	catch_throw();
}

void run_fail(enum failure_kind kind, const char *format, ...)
{
	struct failure *f = &run.failure;
	va_list args;

	if (f->kind != FAIL_NONE)
		leave();
	f->kind = kind;
	f->task = run.phase == RUN_THREADS ? run.running : NR_TASKS;
	f->pc = run_task()->pc;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	leave();
}

static void failed_check(const char *file, int line, const char *what)
{
	run_fail(FAIL_CHECK, "%s:%d: not so: %s", source_short(file), line,
		 what);
}

static void failed_assertion(const char *what)
{
	run_fail(FAIL_ASSERTION, "%s", what);
}

static void failed_signal(const char *what)
{
	run_fail(FAIL_SIGNAL, "%s", what);
}

void run_step(uintptr_t pc)
{
	run_task()->pc = pc;
	if (run.phase == RUN_THREADS && ++run.steps > MAX_STEPS)
		run_fail(FAIL_LIVELOCK, "%u accesses and no end", MAX_STEPS);
}

/* ---- who goes on --------------------------------------------------------- */

static bool can_run(struct task *t)
{
	switch (t->state) {
	case TASK_READY:
		return true;
	case TASK_LOCK:
		return !*t->word;
	case TASK_GRACE:
		return grace_is_over(t);
	case TASK_IDLE:
		return grace_callback_is_due();
	default:
		return false;
	}
}

/*
 * A task that spins gives way, but two of them could give way to each other for
 * ever.  So who gives way again lets those act first that have not in between.
 *
 * Source: Musuvathi, Qadeer: Fair stateless model checking (PLDI 2008)
 */
static void give_way(struct task *t, unsigned int can)
{
	t->after |= can & ~t->acted;
	t->acted = 0;
}

static void note_choice(unsigned int next)
{
	for (unsigned int i = 0; i < NR_TASKS; i++) {
		run.tasks[i].acted |= BIT(next);
		run.tasks[i].after &= ~BIT(next);
	}
}

static unsigned int fair(unsigned int can, unsigned int running)
{
	unsigned int mask = can;

	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (i != running && (run.tasks[i].after & can))
			mask &= ~BIT(i);
	return mask ? mask : can;
}

static unsigned int runnable(void)
{
	unsigned int mask = 0, spinning = 0;

	for (unsigned int i = 0; i < NR_TASKS; i++) {
		if (can_run(&run.tasks[i]))
			mask |= BIT(i);
		if (run.tasks[i].state == TASK_YIELDED)
			spinning |= BIT(i);
	}
	/* Nobody else can act: let who spins look again, MAX_STEPS long. */
	return mask ? mask : spinning;
}

static void deviate(unsigned int task, u32 op, unsigned int to)
{
	struct schedule *s = &run.schedule;

	if (s->nr == MAX_DEVIATIONS)
		run_fail(FAIL_LIVELOCK, "more than %d turns", MAX_DEVIATIONS);
	s->dev[s->nr++] = (struct deviation){ task, to, op };
}

static unsigned int lowest(unsigned int mask)
{
	return __builtin_ctz(mask);
}

/*
 * Let the chooser say who goes on.  @running: the running task, or NOBODY.
 * By default that is the running task, then the first of the others.
 */
static unsigned int choose(unsigned int can, unsigned int running)
{
	unsigned int normal, next;

	can = fair(can, running);
	normal = next = running != NOBODY ? running : lowest(can);
	run.points++;
	if (can & (can - 1))
		next = run.chooser->pick(run.chooser, can, running);
	if (next == PICK_STOP) {
		run.phase = RUN_OFF;
		if (run.running == NOBODY)
			return PICK_STOP;
		fibre_switch(run_task()->fibre, controller);
	}
	note_choice(next);
	if (next != normal)
		deviate(run.running, run.running == NOBODY ? 0 :
			run_task()->ops, next);
	return next;
}

static void go_to(unsigned int next)
{
	struct task *from = run_task();

	if (next == run.running)
		return;
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (run.tasks[i].state == TASK_YIELDED)
			run.tasks[i].state = TASK_READY;
	if (run.tracing)
		source_trace_switch(next);
	run.running = next;
	fibre_switch(from->fibre, run.tasks[next].fibre);
}

void run_point(bool shared)
{
	struct task *t = run_task();
	unsigned int next;

	if (run.phase != RUN_THREADS)
		return;
	t->ops++;
	if (!shared && !run.all_points)
		return;
	next = choose(runnable(), run.running);
	if (next != run.running)
		run.preemptions++;
	go_to(next);
}

unsigned int run_choose_store(unsigned int n)
{
	struct task *t = run_task();
	unsigned int age = n > 1 ? run.chooser->age(run.chooser, n) : 0;

	if (age)
		deviate(run.running, t->ops, STALE | age);
	return age;
}

static const char *const waits_for[] = {
	[TASK_LOCK] = "a lock", [TASK_WAIT] = "a wake-up",
	[TASK_GRACE] = "a grace period",
};

static void __noreturn fail_deadlock(void)
{
	char text[512];
	size_t used = 0;

	for (unsigned int i = 0; i < run.nr_threads; i++) {
		struct task *t = &run.tasks[i];

		if (t->state == TASK_DONE)
			continue;
		used += snprintf(text + used, sizeof(text) - used,
				 "%s%s waits for %s", used ? ", " : "",
				 t->name, waits_for[t->state]);
		used = min(used, sizeof(text) - 1);
	}
	run_fail(FAIL_DEADLOCK, "%s", text);
}

static bool all_done(void)
{
	for (unsigned int i = 0; i < run.nr_threads; i++)
		if (run.tasks[i].state != TASK_DONE)
			return false;
	return true;
}

/* The running task cannot go on: somebody else. */
static void run_others(void)
{
	unsigned int can = runnable();

	if (run_task()->state == TASK_YIELDED)
		give_way(run_task(), can);
	if (can) {
		go_to(choose(can, NOBODY));
		return;
	}
	if (!all_done())
		fail_deadlock();
	run.phase = RUN_OFF;
	fibre_switch(run_task()->fibre, controller);
}

void run_block(enum task_state state, const u32 *word)
{
	struct task *t = run_task();

	t->state = state;
	t->word = word;
	t->ops++;
	run_others();
	t->state = TASK_READY;
}

u64 run_hash(void)
{
	u64 sum = 0;

	for (unsigned int i = 0; i < NR_TASKS; i++) {
		u64 h = run.tasks[i].hash * 0x94d049bb133111eb;

		sum += (h ^ h >> 31) * 0xbf58476d1ce4e5b9;
	}
	return sum;
}

/* ---- the tasks ------------------------------------------------------------- */

static void thread_main(void *arg)
{
	struct task *t = arg;
	unsigned int i = t - run.tasks;

	race_run(&race, i);
	t->state = TASK_DONE;
	t->ops++;
	run_others();
	BUG();
}

static void rcu_main(void *arg)
{
	struct task *t = arg;

	for (;;) {
		while (grace_callback_is_due()) {
			t->state = TASK_READY;
			grace_run_callback();
		}
		t->state = TASK_IDLE;
		run_others();
	}
}

static void make_fibres(void)
{
	controller = fibre_create(NULL, NULL);
	for (unsigned int i = 0; i < NR_TASKS; i++)
		run.tasks[i].fibre = fibre_create(i == TASK_RCU ? rcu_main :
						  thread_main, &run.tasks[i]);
}

static void reset_task(unsigned int i)
{
	struct task *t = &run.tasks[i];
	struct fibre *fibre = t->fibre;

	memset(t, 0, offsetof(struct task, calls));
	memset(&t->waiter, 0, sizeof(t->waiter));
	t->fibre = fibre;
	t->name = i == TASK_RCU ? "rcu" : race.scenario->threads[i].name;
	t->know.hb.at[i] = 1;
	t->acted = -1;
	/* Two that do the same are not the same. */
	t->hash = (i + 1) * 0x9e3779b97f4a7c15;
	t->state = i == TASK_RCU ? TASK_IDLE :
		   i < run.nr_threads ? TASK_READY : TASK_DONE;
	fibre_reset(fibre);
}

static void run_threads(void)
{
	unsigned int first;

	for (unsigned int i = 0; i < NR_TASKS; i++)
		reset_task(i);
	grace_run_begin();
	run.running = NOBODY;
	run.phase = RUN_THREADS;
	first = choose(runnable(), NOBODY);
	if (first != PICK_STOP) {
		if (run.tracing)
			source_trace_switch(first);
		run.running = first;
		fibre_switch(controller, run_task()->fibre);
	}
	run.phase = RUN_OFF;
}

/* The end of a run, unless this very state was checked before. */
static void check_state(void)
{
	u64 hash = memory_hash() | 1;
	u64 *slot = &checked[hash % ARRAY_SIZE(checked)];
	int broken;

	if (*slot == hash && !run.tracing)
		return;
	fibre_save(controller);
	if (!catch_begin()) {
		run.running = 0;
		run.phase = RUN_CHECK;
		broken = race_finish(&race);
		if (broken)
			run_fail(FAIL_INVARIANT, "%s", catch_text());
		run.phase = RUN_OFF;
		*slot = hash;
	}
	fibre_restore(controller);
	catch_end();
}

enum run_outcome run_once(struct chooser *chooser)
{
	run.id++;
	run.chooser = chooser;
	run.schedule.nr = 0;
	run.schedule.weak = run.weak;
	run.steps = 0;
	run.points = 0;
	run.preemptions = 0;
	memset(&run.failure, 0, offsetof(struct failure, text));
	memset(&run.fenced, 0, sizeof(run.fenced));
	memory_run_begin(__builtin_frame_address(0));
	run_threads();
	if (run.failure.kind == FAIL_NONE && all_done())
		check_state();
	grace_run_end();
	memory_undo();
	if (run.failure.kind != FAIL_NONE)
		return RUN_FAILED;
	return all_done() ? RUN_OK : RUN_STOPPED;
}

/* The machine and what setup() puts there. */
static int make_start(const struct scenario *s)
{
	struct machine *m;
	int err = race_begin(&race, s);

	if (err)
		return err;
	m = machine_of(race.machine);
	memory_watch(m->arena + m->arena_bytes);
	object_watch(m);
	object_race(&race);
	err = race_round(&race);
	grace_run_all();
	return err;
}

int run_begin(const struct scenario *s)
{
	static int err;

	if (!controller)
		make_fibres();
	catch_install(failed_signal);
	race_failed_hook = failed_check;
	sched_ops_install(failed_assertion);
	memset(checked, 0, sizeof(checked));
	memset(&run.failure, 0, sizeof(run.failure));
	run.nr_threads = scenario_nr_threads(s);
	run.grown = 0;
	run.id = 1;
	memory_begin();
	err = 0;
	run.running = 0;
	fibre_save(controller);
	if (!catch_begin()) {
		run.phase = RUN_ALONE;
		err = make_start(s);
		run.phase = RUN_OFF;
	}
	fibre_restore(controller);
	catch_end();
	memory_setup_done();
	return run.failure.kind != FAIL_NONE ? -EIO : err;
}

void run_end(void)
{
	struct machine *m;

	run.phase = RUN_OFF;
	sched_ops = NULL;
	race_failed_hook = NULL;
	if (!race.machine)
		return;
	/* Its objects are the explorer's; only the frames are the host's. */
	m = machine_of(race.machine);
	host_release(m->arena, m->arena_bytes);
	host_release(m, m->memmap_bytes);
	race.machine = NULL;
	object_watch(NULL);
}
