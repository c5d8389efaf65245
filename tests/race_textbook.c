/* SPDX-License-Identifier: MIT */
/*
 * Claim: the explorer finds the textbook's races, and proves their repaired
 * forms free of them, as the memory model says: with strong memory what only a
 * weak one allows is absent, with weak memory it is found.
 *
 * Source: tools/memory-model/litmus-tests (names); lab/explore/atomic.c
 */
#include "tests/race_expect.h"

#include "host/rcu.h"
#include "mm/gfp.h"

/* ---- lost update -------------------------------------------------------- */

THREAD(add_plain)	{ X(r)++; }
THREAD(add_once)	{ WRITE_ONCE(X(r), READ_ONCE(X(r)) + 1); }
THREAD(add_atomic)	{ word_add((u32 *)&X(r), 1); }

static void check_two(struct race *r)
{
	race_check(X(r) == 2);
}

SCENARIO(update_plain, .claim = "X++ by two is 2", .setup = nothing,
	 .threads = { { "a", add_plain }, { "b", add_plain } },
	 .check = check_two)
SCENARIO(update_once, .claim = "X++ by two is 2", .setup = nothing,
	 .threads = { { "a", add_once }, { "b", add_once } },
	 .check = check_two)
SCENARIO(update_atomic, .claim = "X++ by two is 2", .setup = nothing,
	 .threads = { { "a", add_atomic }, { "b", add_atomic } },
	 .check = check_two)

/* ---- store buffering ------------------------------------------------------ */

THREAD(sb_x)	{ WRITE_ONCE(X(r), 1); SEEN(r, 0) = READ_ONCE(Y(r)); }
THREAD(sb_y)	{ WRITE_ONCE(Y(r), 1); SEEN(r, 1) = READ_ONCE(X(r)); }

THREAD(sb_acquire_x)
{
	smp_store_release(&X(r), 1);
	SEEN(r, 0) = smp_load_acquire(&Y(r));
}

THREAD(sb_acquire_y)
{
	smp_store_release(&Y(r), 1);
	SEEN(r, 1) = smp_load_acquire(&X(r));
}

THREAD(sb_mb_x)
{
	WRITE_ONCE(X(r), 1);
	smp_mb();
	SEEN(r, 0) = READ_ONCE(Y(r));
}

THREAD(sb_mb_y)
{
	WRITE_ONCE(Y(r), 1);
	smp_mb();
	SEEN(r, 1) = READ_ONCE(X(r));
}

/* A fully ordered read-modify-write is a barrier, as in Linux. */
THREAD(sb_xchg_x)	{ xchg(&X(r), 1); SEEN(r, 0) = READ_ONCE(Y(r)); }
THREAD(sb_xchg_y)	{ xchg(&Y(r), 1); SEEN(r, 1) = READ_ONCE(X(r)); }

static void check_sb(struct race *r)
{
	race_check(SEEN(r, 0) || SEEN(r, 1));
}

SCENARIO(sb, .claim = "one sees the other", .setup = nothing,
	 .threads = { { "x", sb_x }, { "y", sb_y } }, .check = check_sb)
SCENARIO(sb_acquire, .claim = "one sees the other", .setup = nothing,
	 .threads = { { "x", sb_acquire_x }, { "y", sb_acquire_y } },
	 .check = check_sb)
SCENARIO(sb_mb, .claim = "one sees the other", .setup = nothing,
	 .threads = { { "x", sb_mb_x }, { "y", sb_mb_y } }, .check = check_sb)
SCENARIO(sb_half, .claim = "one sees the other", .setup = nothing,
	 .threads = { { "x", sb_mb_x }, { "y", sb_y } }, .check = check_sb)
SCENARIO(sb_xchg, .claim = "one sees the other", .setup = nothing,
	 .threads = { { "x", sb_xchg_x }, { "y", sb_xchg_y } },
	 .check = check_sb)

/* ---- message passing ------------------------------------------------------- */

THREAD(mp_send)		{ WRITE_ONCE(X(r), 7); WRITE_ONCE(Y(r), 1); }
THREAD(mp_release)	{ WRITE_ONCE(X(r), 7); smp_store_release(&Y(r), 1); }
THREAD(mp_plain)	{ X(r) = 7; WRITE_ONCE(Y(r), 1); }
THREAD(mp_plain_release){ X(r) = 7; smp_store_release(&Y(r), 1); }

THREAD(mp_receive)
{
	if (READ_ONCE(Y(r)))
		race_check(READ_ONCE(X(r)) == 7);
}

THREAD(mp_acquire)
{
	if (smp_load_acquire(&Y(r)))
		race_check(READ_ONCE(X(r)) == 7);
}

THREAD(mp_plain_receive)
{
	if (READ_ONCE(Y(r)))
		race_check(X(r) == 7);
}

THREAD(mp_plain_acquire)
{
	if (smp_load_acquire(&Y(r)))
		race_check(X(r) == 7);
}

SCENARIO(mp, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mp_send }, { "receive", mp_receive } })
SCENARIO(mp_half, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mp_release }, { "receive", mp_receive } })
SCENARIO(mp_pair, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mp_release }, { "receive", mp_acquire } })
SCENARIO(mp_data_race, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mp_plain }, { "receive", mp_plain_receive } })
SCENARIO(mp_data_pair, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", mp_plain_release },
		      { "receive", mp_plain_acquire } })

/* ---- independent reads of independent writes --------------------------------- */

THREAD(put_x)	{ WRITE_ONCE(X(r), 1); }
THREAD(put_y)	{ WRITE_ONCE(Y(r), 1); }

THREAD(read_xy)
{
	SEEN(r, 0) = smp_load_acquire(&X(r));
	SEEN(r, 1) = smp_load_acquire(&Y(r));
}

THREAD(read_yx)
{
	SEEN(r, 2) = smp_load_acquire(&Y(r));
	SEEN(r, 3) = smp_load_acquire(&X(r));
}

THREAD(read_xy_mb)
{
	SEEN(r, 0) = READ_ONCE(X(r));
	smp_mb();
	SEEN(r, 1) = READ_ONCE(Y(r));
}

THREAD(read_yx_mb)
{
	SEEN(r, 2) = READ_ONCE(Y(r));
	smp_mb();
	SEEN(r, 3) = READ_ONCE(X(r));
}

static void check_iriw(struct race *r)
{
	race_check(!(SEEN(r, 0) && !SEEN(r, 1) && SEEN(r, 2) && !SEEN(r, 3)));
}

SCENARIO(iriw, .claim = "two see two stores in one order", .setup = nothing,
	 .threads = { { "x", put_x }, { "y", put_y }, { "xy", read_xy },
		      { "yx", read_yx } }, .check = check_iriw)
SCENARIO(iriw_mb, .claim = "two see two stores in one order", .setup = nothing,
	 .threads = { { "x", put_x }, { "y", put_y }, { "xy", read_xy_mb },
		      { "yx", read_yx_mb } }, .check = check_iriw)

/* ---- coherence --------------------------------------------------------------- */

THREAD(put_one_two)	{ WRITE_ONCE(X(r), 1); WRITE_ONCE(X(r), 2); }

THREAD(read_twice)
{
	long first = READ_ONCE(X(r));

	race_check(READ_ONCE(X(r)) >= first);
}

SCENARIO(corr, .claim = "no load sees an older store than one before it",
	 .setup = nothing,
	 .threads = { { "put", put_one_two }, { "read", read_twice } })

/* ---- a stack without locks: ABA ------------------------------------------------ */

/*
 * X is the top, an element's number plus a count of changes times 16; element i
 * has its next one in note[4 + i].  At first 1 -> 2.
 */
#define NEXT(r, i)	((r)->note[4 + (i)])
#define COUNT		16

static void aba_setup(struct race *r)
{
	X(r) = 1;
	NEXT(r, 1) = 2;
}

static long pop(struct race *r, long step)
{
	for (;;) {
		/* Each time anew: a failed exchange orders nothing. */
		long top = smp_load_acquire(&X(r));

		if (!(top % COUNT))
			return 0;
		if (try_cmpxchg(&X(r), &top, READ_ONCE(NEXT(r, top % COUNT)) +
				step * (top / COUNT + 1) * COUNT))
			return top % COUNT;
	}
}

static void push(struct race *r, long element, long step)
{
	long top = READ_ONCE(X(r));

	do {
		WRITE_ONCE(NEXT(r, element), top % COUNT);
	} while (!try_cmpxchg(&X(r), &top, element +
			      step * (top / COUNT + 1) * COUNT));
}

THREAD(aba_pop)		{ Y(r) = pop(r, 0); }
THREAD(aba_counted_pop)	{ Y(r) = pop(r, 1); }

/* Takes 1 and 2, gives 1 back: 2 is its own. */
static void pop_two(struct race *r, long step)
{
	long first = pop(r, step), second = pop(r, step);

	if (first == 1 && second == 2) {
		push(r, 1, step);
		r->note[2] = 2;
	} else {
		r->note[2] = second ? second : first;
	}
}

THREAD(aba_two)		{ pop_two(r, 0); }
THREAD(aba_counted_two)	{ pop_two(r, 1); }

static void check_aba(struct race *r)
{
	/* who owns 2 is alone with it */
	if (r->note[2] == 2)
		race_check(X(r) % COUNT != 2 && Y(r) != 2);
}

SCENARIO(aba, .claim = "an element has one owner", .setup = aba_setup,
	 .threads = { { "one", aba_pop }, { "two", aba_two } },
	 .check = check_aba)
SCENARIO(aba_counted, .claim = "an element has one owner", .setup = aba_setup,
	 .threads = { { "one", aba_counted_pop }, { "two", aba_counted_two } },
	 .check = check_aba)

/* ---- publishing under RCU ------------------------------------------------------ */

struct thing {
	struct rcu_head rcu;
	long value;
};

#define SLOT(r)	(*(struct thing **)&(r)->note[3])

static void rcu_setup(struct race *r)
{
	struct thing *t = kzalloc(sizeof(*t));

	t->value = 1;
	SLOT(r) = t;
}

static struct thing *new_thing(void)
{
	struct thing *t = kzalloc(sizeof(*t));

	t->value = 2;
	return t;
}

static void free_thing(struct rcu_head *head)
{
	rcu_callback_begin();
	kfree(container_of(head, struct thing, rcu));
	rcu_callback_end();
}

THREAD(rcu_reader)
{
	struct thing *t;

	rcu_read_lock();
	t = smp_load_acquire(&SLOT(r));
	race_check(t->value == 1 || t->value == 2);
	rcu_read_unlock();
}

THREAD(rcu_replace)
{
	struct thing *old = SLOT(r);

	smp_store_release(&SLOT(r), new_thing());
	call_rcu(&old->rcu, free_thing);
}

THREAD(rcu_replace_wait)
{
	struct thing *old = SLOT(r);

	smp_store_release(&SLOT(r), new_thing());
	synchronize_rcu();
	kfree(old);
}

THREAD(rcu_replace_now)
{
	struct thing *old = SLOT(r);

	smp_store_release(&SLOT(r), new_thing());
	kfree(old);
}

THREAD(rcu_replace_once)
{
	struct thing *old = SLOT(r);

	WRITE_ONCE(SLOT(r), new_thing());
	call_rcu(&old->rcu, free_thing);
}

SCENARIO(rcu_publish, .claim = "a reader finds a whole object",
	 .setup = rcu_setup,
	 .threads = { { "read", rcu_reader }, { "replace", rcu_replace } })
SCENARIO(rcu_wait, .claim = "a reader finds a whole object",
	 .setup = rcu_setup,
	 .threads = { { "read", rcu_reader }, { "replace", rcu_replace_wait } })
SCENARIO(rcu_no_grace, .claim = "a reader finds a whole object",
	 .setup = rcu_setup,
	 .threads = { { "read", rcu_reader }, { "replace", rcu_replace_now } })
SCENARIO(rcu_no_release, .claim = "a reader finds a whole object",
	 .setup = rcu_setup,
	 .threads = { { "read", rcu_reader }, { "replace", rcu_replace_once } })

/* ---- double free --------------------------------------------------------------- */

THREAD(free_if_there)
{
	struct thing *t = READ_ONCE(SLOT(r));

	if (t) {
		WRITE_ONCE(SLOT(r), NULL);
		kfree(t);
	}
}

THREAD(free_exchanged)
{
	kfree(xchg(&SLOT(r), (struct thing *)NULL));
}

SCENARIO(free_twice, .claim = "one of two frees it", .setup = rcu_setup,
	 .threads = { { "a", free_if_there }, { "b", free_if_there } })
SCENARIO(free_once, .claim = "one of two frees it", .setup = rcu_setup,
	 .threads = { { "a", free_exchanged }, { "b", free_exchanged } })

/* ---- locks ----------------------------------------------------------------------- */

#define LOCK(r, i)	((spinlock_t *)&(r)->note[4 + (i)])

static void locks_setup(struct race *r)
{
	spin_lock_init(LOCK(r, 0), RANK_ZONE);
	spin_lock_init(LOCK(r, 1), RANK_ZONE);
}

THREAD(take_01)
{
	spin_lock(LOCK(r, 0));
	spin_lock_nested(LOCK(r, 1), SUBCLASS_NESTED);
	X(r)++;
	spin_unlock(LOCK(r, 1));
	spin_unlock(LOCK(r, 0));
}

THREAD(take_10)
{
	spin_lock(LOCK(r, 1));
	spin_lock_nested(LOCK(r, 0), SUBCLASS_NESTED);
	X(r)++;
	spin_unlock(LOCK(r, 0));
	spin_unlock(LOCK(r, 1));
}

THREAD(take_reversed)
{
	spin_lock_nested(LOCK(r, 1), SUBCLASS_NESTED);
	spin_lock(LOCK(r, 0));
	spin_unlock(LOCK(r, 0));
	spin_unlock(LOCK(r, 1));
}

THREAD(sleep_locked)
{
	spin_lock(LOCK(r, 0));
	synchronize_rcu();
	spin_unlock(LOCK(r, 0));
}

THREAD(spin_for_ever)
{
	while (!READ_ONCE(X(r)))
		cpu_relax();
}

SCENARIO(locks, .claim = "two locks in one order", .setup = locks_setup,
	 .threads = { { "a", take_01 }, { "b", take_01 } },
	 .check = check_two)
SCENARIO(locks_ab_ba, .claim = "two locks in one order", .setup = locks_setup,
	 .threads = { { "a", take_01 }, { "b", take_10 } })
SCENARIO(locks_reversed, .claim = "the ranks are kept", .setup = locks_setup,
	 .threads = { { "a", take_reversed } })
SCENARIO(lock_sleeper, .claim = "nobody sleeps under a spin lock",
	 .setup = locks_setup, .threads = { { "a", sleep_locked } })
SCENARIO(endless, .claim = "every call ends", .setup = nothing,
	 .threads = { { "a", spin_for_ever } })

/* ---- what is expected -------------------------------------------------------------- */

static void test_lost_update(void **state)
{
	(void)state;
	expect_both("update_plain", FAIL_RACE);
	expect_both("update_once", FAIL_CHECK);
	expect_both("update_atomic", FAIL_NONE);
}

static void test_store_buffering(void **state)
{
	(void)state;
	expect("sb", false, FAIL_NONE);
	expect("sb", true, FAIL_CHECK);
	expect("sb_acquire", false, FAIL_NONE);
	expect("sb_acquire", true, FAIL_CHECK);
	expect("sb_half", false, FAIL_NONE);
	expect("sb_half", true, FAIL_CHECK);
	expect_both("sb_mb", FAIL_NONE);
	expect_both("sb_xchg", FAIL_NONE);
}

static void test_message_passing(void **state)
{
	(void)state;
	expect("mp", false, FAIL_NONE);
	expect("mp", true, FAIL_CHECK);
	expect("mp_half", false, FAIL_NONE);
	expect("mp_half", true, FAIL_CHECK);
	expect_both("mp_pair", FAIL_NONE);
	expect_both("mp_data_race", FAIL_RACE);
	expect_both("mp_data_pair", FAIL_NONE);
}

static void test_iriw(void **state)
{
	(void)state;
	expect_in("iriw", false, 2, FAIL_NONE);
	expect_in("iriw", true, 2, FAIL_CHECK);
	/* four threads: what it takes to see both orders is a bound of 2 */
	expect_in("iriw_mb", false, 2, FAIL_NONE);
	expect_in("iriw_mb", true, 2, FAIL_NONE);
	expect_both("corr", FAIL_NONE);
}

static void test_aba(void **state)
{
	(void)state;
	expect_both("aba", FAIL_CHECK);
	expect_both("aba_counted", FAIL_NONE);
}

static void test_rcu(void **state)
{
	(void)state;
	expect_both("rcu_publish", FAIL_NONE);
	expect_both("rcu_wait", FAIL_NONE);
	expect_both("rcu_no_grace", FAIL_RACE);
	expect_both("rcu_no_release", FAIL_RACE);
}

static void test_double_free(void **state)
{
	(void)state;
	expect_both("free_twice", FAIL_FREED);
	expect_both("free_once", FAIL_NONE);
}

static void test_locks(void **state)
{
	(void)state;
	expect_both("locks", FAIL_NONE);
	expect_both("locks_ab_ba", FAIL_DEADLOCK);
	expect_both("locks_reversed", FAIL_ASSERTION);
	expect_both("lock_sleeper", FAIL_SLEEP);
	expect_both("endless", FAIL_LIVELOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_update),
		cmocka_unit_test(test_store_buffering),
		cmocka_unit_test(test_message_passing),
		cmocka_unit_test(test_iriw),
		cmocka_unit_test(test_aba),
		cmocka_unit_test(test_rcu),
		cmocka_unit_test(test_double_free),
		cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
