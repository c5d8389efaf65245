/* SPDX-License-Identifier: MIT */
/*
 * Claim: a debug build aborts at a lock order reversal, at taking a lock twice
 * and at releasing a lock that is not held, and prints both chains: what the
 * thread holds and what is allowed.  The legal orders pass.
 *
 * Source: host/lockrank.h
 */
#include "host/lock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static spinlock_t ptl, nested_ptl, zone_lock;
static struct rw_semaphore mmap_lock;

static int setup(void **state)
{
	(void)state;
	spin_lock_init(&ptl, RANK_PTL);
	spin_lock_init(&nested_ptl, RANK_PTL);
	spin_lock_init(&zone_lock, RANK_ZONE);
	init_rwsem(&mmap_lock, RANK_MMAP);
	return 0;
}

/* Runs @fn in a child; yields its wait status, and its stderr in @text. */
static int run_child(void (*fn)(void), char *text, size_t size)
{
	size_t used = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* @fn must abort, say @why, and print both chains. */
static void assert_dies(void (*fn)(void), const char *why, const char *held)
{
	char text[4096];
	int status = run_child(fn, text, sizeof(text));
	const char *chain, *allowed;

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, why));
	chain = strstr(text, "chain held:");
	allowed = strstr(text, "chain allowed:");
	assert_non_null(chain);
	assert_non_null(allowed);
	if (held) {
		const char *entry = strstr(chain, held);

		assert_non_null(entry);
		assert_true(entry < allowed);
	}
	assert_non_null(strstr(allowed, lock_rank_names[RANK_MMAP]));
	assert_non_null(strstr(allowed, lock_rank_names[RANK_PTL]));
}

static void take_reversed(void)
{
	spin_lock(&ptl);
	down_read(&mmap_lock);
}

static void take_reversed_for_writing(void)
{
	spin_lock(&ptl);
	down_write(&mmap_lock);
}

static void test_reversal(void **state)
{
	(void)state;
	assert_dies(take_reversed, "lock order reversal",
		    "held  page-table lock");
	assert_dies(take_reversed_for_writing, "lock order reversal",
		    "held  page-table lock");
}

static void take_peers(void)
{
	spin_lock(&ptl);
	spin_lock(&nested_ptl);
}

static void test_same_rank_without_subclass(void **state)
{
	(void)state;
	assert_dies(take_peers, "lock order reversal", "held  page-table lock");
}

static void take_twice(void)
{
	spin_lock(&ptl);
	spin_lock(&ptl);
}

static void read_twice(void)
{
	down_read(&mmap_lock);
	down_read(&mmap_lock);
}

static void test_taken_twice(void **state)
{
	(void)state;
	assert_dies(take_twice, "taken twice", "held  page-table lock");
	assert_dies(read_twice, "taken twice", "held  mmap_lock");
}

static void unlock_free(void)
{
	spin_unlock(&ptl);
}

static void unlock_after_unlock(void)
{
	down_read(&mmap_lock);
	up_read(&mmap_lock);
	up_read(&mmap_lock);
}

static void test_unlock_not_held(void **state)
{
	(void)state;
	assert_dies(unlock_free, "released that is not held", NULL);
	assert_dies(unlock_after_unlock, "released that is not held", NULL);
}

static void legal_orders(void)
{
	down_read(&mmap_lock);
	spin_lock(&ptl);
	spin_lock_nested(&nested_ptl, SUBCLASS_NESTED);
	spin_lock(&zone_lock);
	/* released out of order, which is legal */
	spin_unlock(&ptl);
	spin_unlock(&zone_lock);
	spin_unlock(&nested_ptl);
	up_read(&mmap_lock);
	BUG_ON(lockrank_held_any());
	/* a trylock cannot deadlock */
	spin_lock(&ptl);
	BUG_ON(!down_read_trylock(&mmap_lock));
	up_read(&mmap_lock);
	spin_unlock(&ptl);
}

static void test_legal_orders(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(run_child(legal_orders, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

static void test_held(void **state)
{
	(void)state;
	assert_false(lockrank_held_any());
	down_read(&mmap_lock);
	assert_true(lockrank_held(RANK_MMAP));
	assert_false(lockrank_held(RANK_PTL));
	assert_true(lockrank_held_any());
	up_read(&mmap_lock);
	assert_false(lockrank_held_any());
}

static void test_every_rank_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < NR_LOCK_RANKS; i++)
		assert_non_null(lock_rank_names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reversal, setup),
		cmocka_unit_test_setup(test_same_rank_without_subclass, setup),
		cmocka_unit_test_setup(test_taken_twice, setup),
		cmocka_unit_test_setup(test_unlock_not_held, setup),
		cmocka_unit_test_setup(test_legal_orders, setup),
		cmocka_unit_test_setup(test_held, setup),
		cmocka_unit_test(test_every_rank_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
