/* SPDX-License-Identifier: MIT */
/*
 * Claim: spin locks exclude, semaphores admit readers together and writers
 * alone, a downgrade lets no writer in between, a killable wait ends at a fatal
 * signal and only at one, and no wake-up is lost.  On both back-ends.
 *
 * Source: host/lock.h, host/wait.h, host/backend.h
 */
#include "host/clock.h"
#include "host/lock.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NR_THREADS	4
#define NR_ROUNDS	2000

struct shared {
	spinlock_t spin;
	struct rw_semaphore sem;
	u64 plain;		/* guarded by @spin, or @sem for writing */
	atomic_t readers;	/* inside a read section now */
	atomic_t faults;	/* rules seen broken */
	atomic_t stage;
	struct waiter *waiter;	/* the sleeping thread's; set before stage 1 */
	int result;
};

static void shared_init(struct shared *s)
{
	*s = (struct shared){ 0 };
	spin_lock_init(&s->spin, RANK_PTL);
	init_rwsem(&s->sem, RANK_MMAP);
}

/* Waits for @v to become @value: a minute, then the test has failed. */
static void await(atomic_t *v, int value)
{
	u64 end = clock_ns() + 60ull * 1000000000;

	while (atomic_read(v) != value) {
		BUG_ON(clock_ns() > end);
		sched_yield();
	}
}

/* Gives a thread that must stay asleep the time to show that it does not. */
static void linger(void)
{
	u64 end = clock_ns() + 20ull * 1000000;

	while (clock_ns() < end)
		sched_yield();
}

static void run_threads(struct shared *s, void (*const fns[])(void *), int nr)
{
	struct backend_thread *threads[NR_THREADS];

	assert_true(nr <= NR_THREADS);
	for (int i = 0; i < nr; i++)
		assert_int_equal(backend_thread_create(&threads[i], fns[i], s),
				 0);
	for (int i = 0; i < nr; i++)
		backend_thread_join(threads[i]);
}

static void spin_adder(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		if (i % 4) {
			spin_lock(&s->spin);
		} else {
			while (!spin_trylock(&s->spin))
				sched_yield();
		}
		s->plain++;
		spin_unlock(&s->spin);
	}
}

static void test_spin_excludes(void **state)
{
	void (*const fns[])(void *) = {
		spin_adder, spin_adder, spin_adder, spin_adder
	};
	struct shared s;

	(void)state;
	shared_init(&s);
	run_threads(&s, fns, 4);
	assert_int_equal(s.plain, 4 * NR_ROUNDS);
}

static void test_spin_trylock(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	assert_true(spin_trylock(&s.spin));
	assert_spin_locked(&s.spin);
	assert_false(spin_trylock(&s.spin));
	spin_unlock(&s.spin);
	assert_true(spin_trylock(&s.spin));
	spin_unlock(&s.spin);
}

static void sem_writer(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		down_write(&s->sem);
		if (atomic_read(&s->readers))
			atomic_inc(&s->faults);
		s->plain++;
		if (i % 2) {
			u64 seen = s->plain;

			downgrade_write(&s->sem);
			if (s->plain != seen)
				atomic_inc(&s->faults);
			up_read(&s->sem);
		} else {
			up_write(&s->sem);
		}
	}
}

static void sem_reader(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		u64 seen;

		down_read(&s->sem);
		atomic_inc(&s->readers);
		seen = s->plain;
		if (i % 64 == 0)
			sched_yield();
		if (s->plain != seen)
			atomic_inc(&s->faults);
		/* down before the lock is, or a writer would see it */
		atomic_dec(&s->readers);
		up_read(&s->sem);
	}
}

static void test_rwsem_readers_and_writers(void **state)
{
	void (*const fns[])(void *) = {
		sem_writer, sem_reader, sem_writer, sem_reader
	};
	struct shared s;

	(void)state;
	shared_init(&s);
	run_threads(&s, fns, 4);
	assert_int_equal(atomic_read(&s.faults), 0);
	assert_int_equal(s.plain, 2 * NR_ROUNDS);
	assert_false(rwsem_is_locked(&s.sem));
}

static void meet_reader(void *arg)
{
	struct shared *s = arg;

	down_read(&s->sem);
	atomic_inc(&s->readers);
	await(&s->readers, 2);
	up_read(&s->sem);
}

static void test_rwsem_readers_together(void **state)
{
	void (*const fns[])(void *) = { meet_reader, meet_reader };
	struct shared s;

	(void)state;
	shared_init(&s);
	run_threads(&s, fns, 2);
	assert_false(rwsem_is_locked(&s.sem));
}

static void test_rwsem_trylock(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	assert_true(down_read_trylock(&s.sem));
	assert_true(rwsem_is_locked(&s.sem));
	assert_false(rwsem_is_write_locked(&s.sem));
	up_read(&s.sem);
	down_write(&s.sem);
	assert_true(rwsem_is_write_locked(&s.sem));
	assert_false(down_read_trylock(&s.sem));
	up_write(&s.sem);
	assert_false(rwsem_is_locked(&s.sem));
}

static void late_writer(void *arg)
{
	struct shared *s = arg;

	atomic_set(&s->stage, 1);
	down_write(&s->sem);
	atomic_set(&s->stage, 2);
	up_write(&s->sem);
}

/* The downgraded holder keeps writers out and lets readers in. */
static void test_rwsem_downgrade(void **state)
{
	struct backend_thread *thread;
	struct shared s;

	(void)state;
	shared_init(&s);
	down_write(&s.sem);
	downgrade_write(&s.sem);
	assert_true(rwsem_is_locked(&s.sem));
	assert_false(rwsem_is_write_locked(&s.sem));
	assert_int_equal(backend_thread_create(&thread, late_writer, &s), 0);
	await(&s.stage, 1);
	linger();
	assert_int_equal(atomic_read(&s.stage), 1);
	up_read(&s.sem);
	await(&s.stage, 2);
	backend_thread_join(thread);
	assert_false(rwsem_is_locked(&s.sem));
}

static void killable_reader(void *arg)
{
	struct shared *s = arg;

	s->waiter = &waiter_self;
	smp_store_release(&s->stage.counter, 1);
	s->result = down_read_killable(&s->sem);
	if (!s->result)
		up_read(&s->sem);
	atomic_set(&s->stage, 2);
	/* lives until the poster is done with its waiter */
	await(&s->stage, 3);
}

static void killable_writer(void *arg)
{
	struct shared *s = arg;

	s->waiter = &waiter_self;
	smp_store_release(&s->stage.counter, 1);
	s->result = down_write_killable(&s->sem);
	if (!s->result)
		up_write(&s->sem);
	atomic_set(&s->stage, 2);
	await(&s->stage, 3);
}

static void await_waiter(struct shared *s)
{
	while (smp_load_acquire(&s->stage.counter) != 1)
		sched_yield();
}

/* @fn waits for @s->sem, gets @signals and, if @freed, then the semaphore. */
static int killable_wait(struct shared *s, void (*fn)(void *), u32 signals,
			 bool freed)
{
	struct backend_thread *thread;

	assert_int_equal(backend_thread_create(&thread, fn, s), 0);
	await_waiter(s);
	linger();
	assert_int_equal(atomic_read(&s->stage), 1);
	waiter_post(s->waiter, signals);
	if (freed) {
		linger();
		assert_int_equal(atomic_read(&s->stage), 1);
		up_write(&s->sem);
	}
	await(&s->stage, 2);
	atomic_set(&s->stage, 3);
	backend_thread_join(thread);
	return s->result;
}

static void test_killable_read_ends(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	down_write(&s.sem);
	assert_int_equal(killable_wait(&s, killable_reader, SIGNAL_FATAL,
				       false), -EINTR);
	up_write(&s.sem);
	assert_false(rwsem_is_locked(&s.sem));
}

static void test_killable_write_ends(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	down_read(&s.sem);
	assert_int_equal(killable_wait(&s, killable_writer, SIGNAL_FATAL,
				       false), -EINTR);
	/* the writer that gave up no longer holds readers back */
	up_read(&s.sem);
	assert_true(down_read_trylock(&s.sem));
	up_read(&s.sem);
	assert_false(rwsem_is_locked(&s.sem));
}

static void test_ordinary_signal_does_not_kill(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	down_write(&s.sem);
	assert_int_equal(killable_wait(&s, killable_reader, SIGNAL_ORDINARY,
				       true), 0);
	assert_false(rwsem_is_locked(&s.sem));
}

static void test_signal_posted_before_the_wait(void **state)
{
	struct shared s;

	(void)state;
	shared_init(&s);
	waiter_post(&waiter_self, SIGNAL_FATAL);
	/* a free semaphore is taken all the same */
	assert_int_equal(down_read_killable(&s.sem), 0);
	up_read(&s.sem);
	waiter_clear();
	assert_int_equal(waiter_self.signals, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spin_excludes),
		cmocka_unit_test(test_spin_trylock),
		cmocka_unit_test(test_rwsem_readers_and_writers),
		cmocka_unit_test(test_rwsem_readers_together),
		cmocka_unit_test(test_rwsem_trylock),
		cmocka_unit_test(test_rwsem_downgrade),
		cmocka_unit_test(test_killable_read_ends),
		cmocka_unit_test(test_killable_write_ends),
		cmocka_unit_test(test_ordinary_signal_does_not_kill),
		cmocka_unit_test(test_signal_posted_before_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
