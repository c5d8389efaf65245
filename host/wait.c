/* SPDX-License-Identifier: MIT */
/*
 * Source: kernel/sched/wait.c, kernel/signal.c:signal_pending_state()
 */
#include "host/wait.h"

#include <errno.h>

#ifndef PINFOLD_SCHED
__thread struct waiter waiter_self;
#endif

/*
 * [wait-queue] raise nr_waiters, then read the condition; paired with
 * wake_up_all(), whose caller changes the condition before it reads nr_waiters.
 */
u32 wait_begin(struct wait_queue *q)
{
	word_add(&q->nr_waiters, 1);
	smp_mb();
	return wait_again(q);
}

u32 wait_again(struct wait_queue *q)
{
	return smp_load_acquire(&q->seq);
}

void wait_end(struct wait_queue *q)
{
	word_add(&q->nr_waiters, -1u);
}

static bool wait_interrupted(enum wait_mode mode)
{
	u32 signals = READ_ONCE(waiter_self.signals);

	if (mode == WAIT_UNINTERRUPTIBLE)
		return false;
	if (mode == WAIT_KILLABLE)
		return signals & SIGNAL_FATAL;
	return signals != 0;
}

static void waiter_set_queue(struct wait_queue *q)
{
	backend_spin_lock(&waiter_self.lock);
	waiter_self.queue = q;
	backend_spin_unlock(&waiter_self.lock);
}

int wait_sleep(struct wait_queue *q, u32 ticket, enum wait_mode mode)
{
	if (mode == WAIT_UNINTERRUPTIBLE) {
		backend_wait(&q->seq, ticket);
		return 0;
	}
	/*
	 * The signal is looked for after the queue is known to the sender, who
	 * posts first and then bumps that queue: one of the two sees the other.
	 */
	waiter_set_queue(q);
	if (!wait_interrupted(mode))
		backend_wait(&q->seq, ticket);
	waiter_set_queue(NULL);
	return wait_interrupted(mode) ? -EINTR : 0;
}

static void wait_queue_bump(struct wait_queue *q)
{
	word_add(&q->seq, 1);
	backend_wake_all(&q->seq);
}

/* [wait-queue] condition changed, then read nr_waiters; paired with wait_begin() */
void wake_up_all(struct wait_queue *q)
{
	smp_mb();
	if (READ_ONCE(q->nr_waiters))
		wait_queue_bump(q);
}

void waiter_post(struct waiter *w, u32 signals)
{
	backend_spin_lock(&w->lock);
	word_or(&w->signals, signals);
	if (w->queue)
		wait_queue_bump(w->queue);
	backend_spin_unlock(&w->lock);
}

void waiter_clear(void)
{
	WRITE_ONCE(waiter_self.signals, 0);
}
