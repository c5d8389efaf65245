/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer semaphore on one word and a wait queue.
 *
 * 1. state is RWSEM_WRITER, or the number of readers.
 * 2. A reader enters only while no writer holds or waits, so writers are not
 *    starved.
 * 3. Whoever makes the semaphore free, or stops waiting as a writer, wakes all.
 */
#include "host/lock.h"

#define RWSEM_WRITER	BIT(31)

void init_rwsem(struct rw_semaphore *sem, enum lock_rank rank)
{
	sem->state = 0;
	sem->writers_waiting = 0;
	sem->rank = rank;
	wait_queue_init(&sem->wait);
}

static bool rwsem_try_read(struct rw_semaphore *sem)
{
	u32 old = READ_ONCE(sem->state);

	do {
		if ((old & RWSEM_WRITER) || READ_ONCE(sem->writers_waiting))
			return false;
	} while (!try_cmpxchg_acquire(&sem->state, &old, old + 1));
	return true;
}

static bool rwsem_try_write(struct rw_semaphore *sem)
{
	u32 old = 0;

	return try_cmpxchg_acquire(&sem->state, &old, (u32)RWSEM_WRITER);
}

static int rwsem_sleep(struct rw_semaphore *sem, enum wait_mode mode,
		       bool (*try)(struct rw_semaphore *))
{
	u32 ticket = wait_begin(&sem->wait);
	int err = 0;

	while (!try(sem)) {
		err = wait_sleep(&sem->wait, ticket, mode);
		if (err)
			break;
		ticket = wait_again(&sem->wait);
	}
	wait_end(&sem->wait);
	return err;
}

int down_read_at(struct rw_semaphore *sem, enum wait_mode mode,
		 const char *file, int line)
{
	int err = 0;

	lockrank_acquire(sem, sem->rank, SUBCLASS_NORMAL, false, file, line);
	if (unlikely(!rwsem_try_read(sem)))
		err = rwsem_sleep(sem, mode, rwsem_try_read);
	if (unlikely(err))
		lockrank_release(sem, sem->rank, file, line);
	return err;
}

bool down_read_trylock_at(struct rw_semaphore *sem, const char *file, int line)
{
	if (!rwsem_try_read(sem))
		return false;
	lockrank_acquire(sem, sem->rank, SUBCLASS_NORMAL, true, file, line);
	return true;
}

int down_write_at(struct rw_semaphore *sem, enum wait_mode mode, int subclass,
		  const char *file, int line)
{
	int err = 0;

	lockrank_acquire(sem, sem->rank, subclass, false, file, line);
	if (unlikely(!rwsem_try_write(sem))) {
		word_add(&sem->writers_waiting, 1);
		err = rwsem_sleep(sem, mode, rwsem_try_write);
		word_add(&sem->writers_waiting, -1u);
		if (err)
			wake_up_all(&sem->wait);
	}
	if (unlikely(err))
		lockrank_release(sem, sem->rank, file, line);
	return err;
}

void up_read_at(struct rw_semaphore *sem, const char *file, int line)
{
	lockrank_release(sem, sem->rank, file, line);
	BUG_ON(!READ_ONCE(sem->state) || rwsem_is_write_locked(sem));
	if (word_add(&sem->state, -1u) == 1)
		wake_up_all(&sem->wait);
}

void up_write_at(struct rw_semaphore *sem, const char *file, int line)
{
	lockrank_release(sem, sem->rank, file, line);
	BUG_ON(!rwsem_is_write_locked(sem));
	smp_store_release(&sem->state, 0);
	wake_up_all(&sem->wait);
}

void downgrade_write_at(struct rw_semaphore *sem, const char *file, int line)
{
	lockrank_release(sem, sem->rank, file, line);
	BUG_ON(!rwsem_is_write_locked(sem));
	lockrank_acquire(sem, sem->rank, SUBCLASS_NORMAL, true, file, line);
	smp_store_release(&sem->state, 1);
	wake_up_all(&sem->wait);
}
