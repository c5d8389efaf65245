/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and the signals that end it.
 *
 * A wait queue is a sequence word.  The waiter reads it, checks its condition,
 * and sleeps while the word is unchanged; the waker changes the condition, then
 * the word.  So no wake-up is lost, and several conditions may share a queue.
 *
 * Each thread has one struct waiter.  Another thread may post a signal to it:
 * a killable wait ends at a fatal one, an interruptible wait at any.
 */
#ifndef HOST_WAIT_H
#define HOST_WAIT_H

#include "host/backend.h"

struct wait_queue {
	u32 seq;		/* (A) changes at each wake-up */
	u32 nr_waiters;		/* (A) sleepers, so that waking may be skipped */
};

enum wait_mode { WAIT_UNINTERRUPTIBLE, WAIT_KILLABLE, WAIT_INTERRUPTIBLE };

enum {
	SIGNAL_ORDINARY = 1,
	SIGNAL_FATAL = 2,
};

struct waiter {
	u32 signals;		/* (A) SIGNAL_* pending */
	u32 lock;		/* guards @queue */
	struct wait_queue *queue;
};

#ifdef PINFOLD_SCHED
#define waiter_self	(*backend_waiter())
#else
extern __thread struct waiter waiter_self;
#endif

static inline void wait_queue_init(struct wait_queue *q)
{
	q->seq = 0;
	q->nr_waiters = 0;
}

/*
 * wait_begin() - announce a wait; to be called before checking the condition
 *
 * Return: a ticket for wait_sleep().  Each wait_begin() is followed by one
 * wait_end().
 */
u32 wait_begin(struct wait_queue *q);

/*
 * wait_sleep() - sleep until the queue is woken after @ticket was taken
 *
 * Return: 0 (check the condition again, with a new ticket from wait_again()),
 * or -EINTR when a signal that @mode lets through is pending.
 */
int __must_check wait_sleep(struct wait_queue *q, u32 ticket,
			    enum wait_mode mode);
u32 wait_again(struct wait_queue *q);
void wait_end(struct wait_queue *q);

/* wake_up_all() - the condition changed: let all sleepers look again */
void wake_up_all(struct wait_queue *q);

/*
 * waiter_post() - post @signals (SIGNAL_* bits) to a thread
 *
 * Context: the thread that @w belongs to has not exited.
 */
void waiter_post(struct waiter *w, u32 signals);
/* waiter_clear() - drop the calling thread's pending signals */
void waiter_clear(void);

#endif
