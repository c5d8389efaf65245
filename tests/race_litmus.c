/* SPDX-License-Identifier: MIT */
/*
 * Claim: with weak memory the explorer shows what the kernel's memory model
 * allows, never what it forbids, and leaves out what lab/explore/atomic.c says
 * it leaves out; with strong memory nothing weak happens.
 *
 * Source: tools/memory-model/litmus-tests (names), Documentation/explanation.txt
 */
#include "tests/race_expect.h"

#include "host/rcu.h"

#define Z(r)	((r)->note[2])

/* ---- three threads: what one was told, it passes on --------------------------- */

THREAD(put_x)		{ WRITE_ONCE(X(r), 1); }

THREAD(pass_release)
{
	if (READ_ONCE(X(r)))
		smp_store_release(&Y(r), 1);
}

THREAD(pass_relaxed)
{
	if (READ_ONCE(X(r)))
		WRITE_ONCE(Y(r), 1);
}

THREAD(see_x_after_y)
{
	if (smp_load_acquire(&Y(r)))
		race_check(READ_ONCE(X(r)));
}

SCENARIO(wrc, .claim = "who is told by one who saw, sees", .setup = nothing,
	 .threads = { { "put", put_x }, { "pass", pass_release },
		      { "see", see_x_after_y } })
SCENARIO(wrc_relaxed, .claim = "who is told by one who saw, sees",
	 .setup = nothing,
	 .threads = { { "put", put_x }, { "pass", pass_relaxed },
		      { "see", see_x_after_y } })

THREAD(put_x_then_y)
{
	WRITE_ONCE(X(r), 1);
	smp_store_release(&Y(r), 1);
}

THREAD(y_to_z)
{
	if (smp_load_acquire(&Y(r)))
		smp_store_release(&Z(r), 1);
}

THREAD(y_to_z_relaxed)
{
	if (READ_ONCE(Y(r)))
		smp_store_release(&Z(r), 1);
}

THREAD(see_x_after_z)
{
	if (smp_load_acquire(&Z(r)))
		race_check(READ_ONCE(X(r)));
}

SCENARIO(isa2, .claim = "a chain of releases and acquires orders",
	 .setup = nothing,
	 .threads = { { "put", put_x_then_y }, { "pass", y_to_z },
		      { "see", see_x_after_z } })
SCENARIO(isa2_relaxed, .claim = "a chain of releases and acquires orders",
	 .setup = nothing,
	 .threads = { { "put", put_x_then_y }, { "pass", y_to_z_relaxed },
		      { "see", see_x_after_z } })

/* ---- a store's order against another store's ------------------------------------ */

THREAD(r_put)		{ WRITE_ONCE(X(r), 1); WRITE_ONCE(Y(r), 1); }
THREAD(r_see)		{ WRITE_ONCE(Y(r), 2); SEEN(r, 0) = READ_ONCE(X(r)); }

THREAD(r_put_mb)
{
	WRITE_ONCE(X(r), 1);
	smp_mb();
	WRITE_ONCE(Y(r), 1);
}

THREAD(r_see_mb)
{
	WRITE_ONCE(Y(r), 2);
	smp_mb();
	SEEN(r, 0) = READ_ONCE(X(r));
}

static void check_r(struct race *r)
{
	race_check(!(Y(r) == 2 && !SEEN(r, 0)));
}

SCENARIO(litmus_r, .claim = "the later store to Y sees X", .setup = nothing,
	 .threads = { { "put", r_put }, { "see", r_see } }, .check = check_r)
SCENARIO(litmus_r_mb, .claim = "the later store to Y sees X",
	 .setup = nothing,
	 .threads = { { "put", r_put_mb }, { "see", r_see_mb } },
	 .check = check_r)

/* Not explored, though allowed: a store before an earlier access of its thread. */
THREAD(s_put)		{ WRITE_ONCE(X(r), 2); WRITE_ONCE(Y(r), 1); }

THREAD(s_see)
{
	SEEN(r, 0) = READ_ONCE(Y(r));
	WRITE_ONCE(X(r), 1);
}

static void check_s(struct race *r)
{
	race_check(!(SEEN(r, 0) && X(r) == 2));
}

THREAD(lb_x)	{ SEEN(r, 0) = READ_ONCE(X(r)); WRITE_ONCE(Y(r), 1); }
THREAD(lb_y)	{ SEEN(r, 1) = READ_ONCE(Y(r)); WRITE_ONCE(X(r), 1); }

static void check_lb(struct race *r)
{
	race_check(!(SEEN(r, 0) && SEEN(r, 1)));
}

THREAD(ww_xy)	{ WRITE_ONCE(X(r), 1); WRITE_ONCE(Y(r), 2); }
THREAD(ww_yx)	{ WRITE_ONCE(Y(r), 1); WRITE_ONCE(X(r), 2); }

static void check_ww(struct race *r)
{
	race_check(!(X(r) == 1 && Y(r) == 1));
}

SCENARIO(litmus_s, .claim = "limit: stores in order", .setup = nothing,
	 .threads = { { "put", s_put }, { "see", s_see } }, .check = check_s)
SCENARIO(lb, .claim = "limit: no load of a store to come", .setup = nothing,
	 .threads = { { "x", lb_x }, { "y", lb_y } }, .check = check_lb)
SCENARIO(two_plus_two, .claim = "limit: stores in order", .setup = nothing,
	 .threads = { { "xy", ww_xy }, { "yx", ww_yx } }, .check = check_ww)

/* ---- barriers around relaxed accesses --------------------------------------------- */

THREAD(mb_send)
{
	X(r) = 7;
	smp_mb();
	WRITE_ONCE(Y(r), 1);
}

THREAD(mb_receive)
{
	if (READ_ONCE(Y(r))) {
		smp_mb();
		race_check(X(r) == 7);
	}
}

THREAD(late_mb_send)
{
	X(r) = 7;
	WRITE_ONCE(Y(r), 1);
	smp_mb();
}

SCENARIO(mp_mb, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mb_send }, { "receive", mb_receive } })
SCENARIO(mp_mb_late, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", late_mb_send }, { "receive", mb_receive } })

/* ---- a release sequence -------------------------------------------------------------- */

THREAD(send_one)	{ X(r) = 7; smp_store_release(&Y(r), 1); }

/* A relaxed read-modify-write by a third thread carries the release on. */
THREAD(add_two)		{ atomic64_add(2, (atomic64_t *)&Y(r)); }

THREAD(receive_three)
{
	if (smp_load_acquire(&Y(r)) == 3)
		race_check(X(r) == 7);
}

/* A relaxed store by a third thread ends it. */
THREAD(store_three)
{
	if (READ_ONCE(Y(r)) == 1)
		WRITE_ONCE(Y(r), 3);
}

SCENARIO(sequence_add, .claim = "an addition passes a release on",
	 .setup = nothing,
	 .threads = { { "receive", receive_three }, { "add", add_two },
		      { "send", send_one } })
SCENARIO(sequence_store, .claim = "a store of another ends a release",
	 .setup = nothing,
	 .threads = { { "send", send_one }, { "store", store_three },
		      { "receive", receive_three } })

/* ---- locks hand over ------------------------------------------------------------------ */

#define LOCK(r)	((spinlock_t *)&(r)->note[4])

static void lock_setup(struct race *r)
{
	spin_lock_init(LOCK(r), RANK_ZONE);
}

THREAD(locked_put)
{
	spin_lock(LOCK(r));
	X(r)++;
	WRITE_ONCE(Y(r), 1);
	spin_unlock(LOCK(r));
}

THREAD(try_put)
{
	if (!spin_trylock(LOCK(r)))
		return;
	X(r)++;
	spin_unlock(LOCK(r));
}

THREAD(peek)
{
	if (READ_ONCE(Y(r)))
		race_check(X(r));
}

SCENARIO(lock_hands_over, .claim = "who has the lock sees all before",
	 .setup = lock_setup,
	 .threads = { { "a", locked_put }, { "b", locked_put },
		      { "try", try_put } })
SCENARIO(lock_not_taken, .claim = "who has no lock sees nothing",
	 .setup = lock_setup,
	 .threads = { { "a", locked_put }, { "peek", peek } })

/* ---- grace periods --------------------------------------------------------------------- */

/* Both loads of a section are before a grace period, or both after. */
THREAD(rcu_nested)
{
	long x, y;

	rcu_read_lock();
	rcu_read_lock();
	y = READ_ONCE(Y(r));
	rcu_read_unlock();
	x = READ_ONCE(X(r));
	rcu_read_unlock();
	race_check(!(y && !x));
}

THREAD(rcu_two_sections)
{
	long x, y;

	rcu_read_lock();
	x = READ_ONCE(X(r));
	rcu_read_unlock();
	rcu_read_lock();
	y = READ_ONCE(Y(r));
	rcu_read_unlock();
	race_check(!(y && !x));
}

THREAD(rcu_one_section)
{
	long x, y;

	rcu_read_lock();
	x = READ_ONCE(X(r));
	y = READ_ONCE(Y(r));
	rcu_read_unlock();
	race_check(!(y && !x));
}

THREAD(rcu_update)
{
	WRITE_ONCE(X(r), 1);
	synchronize_rcu();
	WRITE_ONCE(Y(r), 1);
}

SCENARIO(rcu_mp_nested, .claim = "a section sees one side",
	 .setup = nothing,
	 .threads = { { "read", rcu_nested }, { "update", rcu_update } })
SCENARIO(rcu_mp, .claim = "a section sees one side", .setup = nothing,
	 .threads = { { "read", rcu_one_section }, { "update", rcu_update } })
SCENARIO(rcu_mp_two, .claim = "two sections may see both",
	 .setup = nothing,
	 .threads = { { "read", rcu_two_sections },
		      { "update", rcu_update } })

/* ---- what is expected -------------------------------------------------------------------- */

static void test_three_threads(void **state)
{
	(void)state;
	expect_both("wrc", FAIL_NONE);
	expect("wrc_relaxed", false, FAIL_NONE);
	expect("wrc_relaxed", true, FAIL_CHECK);
	expect_both("isa2", FAIL_NONE);
	expect("isa2_relaxed", false, FAIL_NONE);
	expect("isa2_relaxed", true, FAIL_CHECK);
}

static void test_stores(void **state)
{
	(void)state;
	expect("litmus_r", false, FAIL_NONE);
	expect("litmus_r", true, FAIL_CHECK);
	expect_both("litmus_r_mb", FAIL_NONE);
}

/* The documented limits of weak memory: who lifts one changes docs/race.md. */
static void test_limits(void **state)
{
	(void)state;
	expect_both("litmus_s", FAIL_NONE);
	expect_both("lb", FAIL_NONE);
	expect_both("two_plus_two", FAIL_NONE);
}

static void test_barriers(void **state)
{
	(void)state;
	expect_both("mp_mb", FAIL_NONE);
	expect_both("mp_mb_late", FAIL_RACE);
}

static void test_release_sequence(void **state)
{
	(void)state;
	expect_both("sequence_add", FAIL_NONE);
	expect_both("sequence_store", FAIL_RACE);
}

static void test_locks(void **state)
{
	(void)state;
	expect_both("lock_hands_over", FAIL_NONE);
	expect_both("lock_not_taken", FAIL_RACE);
}

static void test_grace_periods(void **state)
{
	(void)state;
	expect_both("rcu_mp", FAIL_NONE);
	expect_both("rcu_mp_nested", FAIL_NONE);
	expect_both("rcu_mp_two", FAIL_CHECK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_threads),
		cmocka_unit_test(test_stores),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_release_sequence),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_grace_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
