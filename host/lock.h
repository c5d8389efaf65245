/* SPDX-License-Identifier: MIT */
/*
 * Ranked locks: spin locks and reader-writer semaphores.
 *
 * Every lock is initialised with its rank (host/lockrank.h).  The rules of
 * Linux hold: no sleeping under a spin lock, read sides of a semaphore do not
 * nest, a lock is released by the thread that took it.
 *
 * Source: include/linux/spinlock.h, include/linux/rwsem.h
 */
#ifndef HOST_LOCK_H
#define HOST_LOCK_H

#include "host/atomic.h"
#include "host/backend.h"
#include "host/bug.h"
#include "host/event.h"
#include "host/lockrank.h"
#include "host/wait.h"

typedef struct spinlock {
	u32 word;
	u32 rank;		/* (C) enum lock_rank */
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock, enum lock_rank rank)
{
	lock->word = 0;
	lock->rank = rank;
}

#define spin_lock(lock) \
	spin_lock_at((lock), SUBCLASS_NORMAL, __FILE__, __LINE__)
#define spin_lock_nested(lock, subclass) \
	spin_lock_at((lock), (subclass), __FILE__, __LINE__)
#define spin_trylock(lock)	spin_trylock_at((lock), __FILE__, __LINE__)
#define spin_unlock(lock)	spin_unlock_at((lock), __FILE__, __LINE__)

static inline void spin_lock_at(spinlock_t *lock, int subclass,
				const char *file, int line)
{
	if (COUNTING_BUILD && lock->rank == RANK_PTL)
		count_event(EV_PTL);
	if (COUNTING_BUILD && lock->rank == RANK_XA)
		count_event(EV_XA_LOCK);
	lockrank_acquire(lock, lock->rank, subclass, false, file, line);
	backend_spin_lock(&lock->word);
}

static inline bool __must_check spin_trylock_at(spinlock_t *lock,
						const char *file, int line)
{
	if (!backend_spin_trylock(&lock->word))
		return false;
	lockrank_acquire(lock, lock->rank, 0, true, file, line);
	return true;
}

static inline void spin_unlock_at(spinlock_t *lock, const char *file, int line)
{
	lockrank_release(lock, lock->rank, file, line);
	backend_spin_unlock(&lock->word);
}

static inline void assert_spin_locked(spinlock_t *lock)
{
	VM_BUG_ON(!READ_ONCE(lock->word));
}

struct rw_semaphore {
	u32 state;		/* (A) RWSEM_WRITER or the number of readers */
	u32 writers_waiting;	/* (A) new readers give way to them */
	enum lock_rank rank;	/* (C) */
	struct wait_queue wait;
};

void init_rwsem(struct rw_semaphore *sem, enum lock_rank rank);

#define down_read(sem) \
	((void)down_read_at((sem), WAIT_UNINTERRUPTIBLE, __FILE__, __LINE__))
#define down_read_killable(sem) \
	down_read_at((sem), WAIT_KILLABLE, __FILE__, __LINE__)
#define down_read_trylock(sem)	down_read_trylock_at((sem), __FILE__, __LINE__)
#define up_read(sem)		up_read_at((sem), __FILE__, __LINE__)
#define down_write(sem) \
	((void)down_write_at((sem), WAIT_UNINTERRUPTIBLE, SUBCLASS_NORMAL, \
			     __FILE__, __LINE__))
#define down_write_nested(sem, subclass) \
	((void)down_write_at((sem), WAIT_UNINTERRUPTIBLE, (subclass), \
			     __FILE__, __LINE__))
#define down_write_killable(sem) \
	down_write_at((sem), WAIT_KILLABLE, SUBCLASS_NORMAL, __FILE__, __LINE__)
#define up_write(sem)		up_write_at((sem), __FILE__, __LINE__)
#define downgrade_write(sem)	downgrade_write_at((sem), __FILE__, __LINE__)

/* Return: 0, or -EINTR if @mode let a signal end the wait. */
int down_read_at(struct rw_semaphore *sem, enum wait_mode mode,
		 const char *file, int line);
int down_write_at(struct rw_semaphore *sem, enum wait_mode mode, int subclass,
		  const char *file, int line);
bool __must_check down_read_trylock_at(struct rw_semaphore *sem,
				       const char *file, int line);
void up_read_at(struct rw_semaphore *sem, const char *file, int line);
void up_write_at(struct rw_semaphore *sem, const char *file, int line);
/* downgrade_write_at() - writer becomes a reader; no writer gets in between */
void downgrade_write_at(struct rw_semaphore *sem, const char *file, int line);

static inline bool rwsem_is_locked(const struct rw_semaphore *sem)
{
	return READ_ONCE(sem->state) != 0;
}

static inline bool rwsem_is_write_locked(const struct rw_semaphore *sem)
{
	return READ_ONCE(sem->state) >> 31;
}

#endif
