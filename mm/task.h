/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's context.
 *
 * `current` needs no set-up: it is thread-local and zero.  Every public call
 * enters the machine it works on, which is what frame numbers and page-table
 * entries are relative to, and leaves it again, so one thread may work on
 * several machines in turn.
 *
 * Source: include/linux/sched.h, include/linux/sched/mm.h
 */
#ifndef MM_TASK_H
#define MM_TASK_H

#include "host/wait.h"
#include "mm/mm_types.h"

struct task_struct;

/*
 * A hook in front of every fault, for tests: it may answer in the handler's
 * place.  VM_FAULT_RETRY and _COMPLETED have dropped mmap_lock as the real ones
 * do (the caller of the hook sees to it).  0 lets the fault go on.
 */
typedef vm_fault_t (*fault_hook_fn)(void *arg, struct vm_area_struct *vma,
				    pf_addr_t address, unsigned int flags);

struct task_struct {
	struct machine *machine;	/* entered now; NULL outside calls */
	struct mm_struct *mm;		/* its own, for calls that name none */
	struct waiter *waiter;		/* where its signals arrive */
	unsigned int cpu;		/* simulated CPU, + 1; 0: none chosen yet */
	unsigned int flags;		/* PF_* */
	struct mem_cgroup *active_memcg; /* pays for what it adds; NULL: root */
	long fail_nth;			/* > 0: that allocation fails, once */
	/* nr_foll_pin_* of @machine, not yet added to the CPU's */
	long pins_acquired, pins_released;
	/* of debug builds, for tests: sees the mask of each frame allocation */
	void (*alloc_hook)(unsigned int gfp);
	fault_hook_fn fault_hook;
	void *fault_hook_arg;
};

/* Differs: Linux's PF_ names belong to <elf.h>; only memalloc scopes here. */
#define TASK_MEMALLOC_PIN	1u

#ifdef __PIC__
extern __thread struct task_struct task_self
	__attribute__((tls_model("initial-exec")));
#else
extern __thread struct task_struct task_self;
#endif

#define current (&task_self)

/* Add what this thread counted to the machine it is in. */
void task_flush_counters(void);

static inline void task_switch_machine(struct machine *machine)
{
	if (unlikely(current->pins_acquired | current->pins_released))
		task_flush_counters();
	current->machine = machine;
}

/* machine_enter() - work on @machine until machine_leave(@previous) */
static inline struct machine *machine_enter(struct machine *machine)
{
	struct machine *previous = current->machine;

	task_switch_machine(machine);
	current->waiter = &waiter_self;
	return previous;
}

static inline void machine_leave(struct machine *previous)
{
	task_switch_machine(previous);
}

static inline bool fatal_signal_pending(struct task_struct *task)
{
	return unlikely(READ_ONCE(task->waiter->signals) & SIGNAL_FATAL);
}

static inline bool signal_pending(struct task_struct *task)
{
	return unlikely(READ_ONCE(task->waiter->signals));
}

/* should_fail() - is this the allocation that a test wants to fail, or charge? */
static inline bool should_fail(void)
{
	return unlikely(current->fail_nth) && --current->fail_nth == 0;
}

/* Where a call may sleep: under a controller, it may not hold a spin lock. */
#ifdef PINFOLD_SCHED
#define might_sleep()	backend_might_sleep()
#else
#define might_sleep()	((void)0)
#endif
#define cond_resched()	might_sleep()

#endif
