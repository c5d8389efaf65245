/* SPDX-License-Identifier: MIT */
/*
 * Claim: a search that cuts schedules short loses no failure, and the search
 * itself makes none: threads that touch nothing, locks that are tried, spinners
 * that meet, parts of one word, freed locks, frames that are filled again.
 *
 * Source: lab/explore/search.c, lab/explore/atomic.c, lab/explore/memory.c
 */
#include "tests/race_expect.h"

#include "host/rcu.h"
#include "mm/gfp.h"

/* ---- threads that leave no mark ------------------------------------------ */

THREAD(add_plain)	{ X(r)++; }
THREAD(add_once)	{ WRITE_ONCE(X(r), READ_ONCE(X(r)) + 1); }
THREAD(idle)		{ }

static void check_two(struct race *r)
{
	race_check(X(r) == 2);
}

SCENARIO(plain_three, .claim = "X++ by three", .setup = nothing,
	 .threads = { { "a", add_plain }, { "b", add_plain },
		      { "c", add_plain } })
SCENARIO(plain_idle, .claim = "X++ by two is 2", .setup = nothing,
	 .threads = { { "a", idle }, { "b", add_plain }, { "c", add_plain } },
	 .check = check_two)
SCENARIO(once_idle, .claim = "X++ by two is 2", .setup = nothing,
	 .threads = { { "a", idle }, { "b", add_once }, { "c", add_once },
		      { "d", idle } }, .check = check_two)

/* ---- locks that are tried -------------------------------------------------- */

#define LOCK(r, i)	((spinlock_t *)&(r)->note[4 + (i)])

static void locks_setup(struct race *r)
{
	for (int i = 0; i < 3; i++)
		spin_lock_init(LOCK(r, i), RANK_ZONE);
}

THREAD(lock_then_add)
{
	spin_lock(LOCK(r, 0));
	spin_unlock(LOCK(r, 0));
	WRITE_ONCE(X(r), READ_ONCE(X(r)) + 1);
}

THREAD(try_then_add)
{
	if (spin_trylock(LOCK(r, 0)))
		spin_unlock(LOCK(r, 0));
	WRITE_ONCE(X(r), READ_ONCE(X(r)) + 1);
}

/* A lock is found taken only between its two ends. */
THREAD(hold)
{
	spin_lock(LOCK(r, 0));
	WRITE_ONCE(Y(r), 1);
	spin_unlock(LOCK(r, 0));
}

THREAD(must_get)
{
	bool got = spin_trylock(LOCK(r, 0));

	race_check(got);
	spin_unlock(LOCK(r, 0));
}

SCENARIO(tried_then_add, .claim = "X++ by two is 2", .setup = locks_setup,
	 .threads = { { "lock", lock_then_add }, { "try", try_then_add } },
	 .check = check_two)
SCENARIO(tried_taken, .claim = "the lock is free", .setup = locks_setup,
	 .threads = { { "hold", hold }, { "try", must_get } })

/* ---- two locks, three threads ------------------------------------------------ */

/*
 * b gives one lock back and wants the next; that a can then go on while c still
 * holds the second must not be forgotten.
 */
THREAD(chain_a)
{
	spin_lock(LOCK(r, 0));
	WRITE_ONCE(X(r), 1);
	spin_unlock(LOCK(r, 0));
}

THREAD(chain_b)
{
	spin_lock(LOCK(r, 0));
	SEEN(r, 3) = READ_ONCE(Y(r));
	spin_unlock(LOCK(r, 0));
	spin_lock(LOCK(r, 1));
	spin_unlock(LOCK(r, 1));
}

THREAD(chain_c)
{
	spin_lock(LOCK(r, 1));
	r->note[2] = READ_ONCE(X(r));
	WRITE_ONCE(Y(r), 1);
	r->note[3] = READ_ONCE(X(r));
	spin_unlock(LOCK(r, 1));
}

static void check_chain(struct race *r)
{
	race_check(!(!SEEN(r, 3) && !r->note[2] && r->note[3]));
}

SCENARIO(chain, .claim = "never: X changes while c holds the second lock",
	 .setup = locks_setup,
	 .threads = { { "a", chain_a }, { "b", chain_b }, { "c", chain_c } },
	 .check = check_chain)

/* ---- spinners ----------------------------------------------------------------- */

THREAD(spin_for_x)
{
	while (!READ_ONCE(X(r)))
		cpu_relax();
}

THREAD(put_x)		{ WRITE_ONCE(X(r), 1); }

SCENARIO(spin_two, .claim = "every call ends", .setup = nothing,
	 .threads = { { "a", spin_for_x }, { "put", put_x } })
SCENARIO(spin_three, .claim = "every call ends", .setup = nothing,
	 .threads = { { "a", spin_for_x }, { "b", spin_for_x },
		      { "put", put_x } })

/* Gives up by itself; the other thread's two loads may see before and after. */
THREAD(spin_thrice_then_put)
{
	for (int i = 0; i < 3 && !READ_ONCE(Y(r)); i++)
		cpu_relax();
	WRITE_ONCE(X(r), 1);
}

THREAD(read_x_twice)
{
	long first = READ_ONCE(X(r));

	race_check(READ_ONCE(X(r)) == first);
}

SCENARIO(spin_gives_up, .claim = "X stays", .setup = nothing,
	 .threads = { { "spin", spin_thrice_then_put },
		      { "read", read_x_twice } })

/* ---- parts of one word ----------------------------------------------------------- */

struct parts {
	u32 flag, other;
};

#define PARTS(r)	((struct parts *)&(r)->note[2])

THREAD(send_then_other)
{
	X(r) = 7;
	smp_store_release(&PARTS(r)->flag, 1);
	PARTS(r)->other = 5;
}

THREAD(send_then_whole)
{
	X(r) = 7;
	smp_store_release(&PARTS(r)->flag, 1);
	(void)READ_ONCE(r->note[2]);
}

THREAD(receive_flag)
{
	if (smp_load_acquire(&PARTS(r)->flag))
		race_check(X(r) == 7);
}

SCENARIO(parts_plain, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", send_then_other },
		      { "receive", receive_flag } })
SCENARIO(parts_whole, .claim = "flag, then data", .setup = nothing,
	 .threads = { { "send", send_then_whole },
		      { "receive", receive_flag } })

/* ---- what is freed ------------------------------------------------------------------ */

struct thing {
	spinlock_t lock;
	long value;
};

#define SLOT(r)	(*(struct thing **)&(r)->note[3])

static void thing_setup(struct race *r)
{
	SLOT(r) = kzalloc(sizeof(struct thing));
	spin_lock_init(&SLOT(r)->lock, RANK_ZONE);
}

THREAD(lock_freed)
{
	struct thing *t = SLOT(r);

	kfree(t);
	spin_lock(&t->lock);
	spin_unlock(&t->lock);
}

THREAD(free_locked)
{
	struct thing *t = SLOT(r);

	spin_lock(&t->lock);
	kfree(t);
	spin_unlock(&t->lock);
}

THREAD(unlock_twice)
{
	spin_lock(LOCK(r, 0));
	spin_unlock(LOCK(r, 0));
	spin_unlock(LOCK(r, 0));
}

SCENARIO(freed_lock, .claim = "no lock of a freed object",
	 .setup = thing_setup, .threads = { { "a", lock_freed } })
SCENARIO(freed_locked, .claim = "no lock of a freed object",
	 .setup = thing_setup, .threads = { { "a", free_locked } })
SCENARIO(unlocked_twice, .claim = "who unlocks has locked",
	 .setup = locks_setup, .threads = { { "a", unlock_twice } })

/* ---- a frame that is filled anew -------------------------------------------------- */

static void frame_setup(struct race *r)
{
	race_map(r, 0, 1, RACE_RW);
	race_store(r, 0, 1, 100);
	race_get(r, &r->hold[0], 0, 1, PINFOLD_FOLL_WRITE);
}

THREAD(fill_frame)
{
	void *bytes;

	race_check(!pf_page_address(mine->pages[0], &bytes));
	race_poke(mine, 0, 7);
	memset(bytes, 0, PINFOLD_PAGE_SIZE);
	race_check(race_peek(mine, 0) == 0);
	race_poke(mine, 0, 8);
	race_check(race_peek(mine, 0) == 8);
}

SCENARIO(frame_filled, .claim = "a load sees what a frame was filled with",
	 .setup = frame_setup, .threads = { { "a", fill_frame } })

/* ---- what is expected --------------------------------------------------------------- */

static void test_no_mark(void **state)
{
	(void)state;
	expect_both("plain_three", FAIL_RACE);
	expect_both("plain_idle", FAIL_RACE);
	expect_both("once_idle", FAIL_CHECK);
}

static void test_tried(void **state)
{
	(void)state;
	/* one preemption does for each */
	expect_in("tried_then_add", false, 1, FAIL_CHECK);
	expect_in("tried_then_add", true, 1, FAIL_CHECK);
	expect_in("tried_taken", false, 1, FAIL_CHECK);
	expect_in("tried_taken", true, 1, FAIL_CHECK);
}

static void test_chain(void **state)
{
	(void)state;
	expect_both("chain", FAIL_CHECK);
}

static void test_spinners(void **state)
{
	(void)state;
	expect("spin_two", false, FAIL_NONE);
	expect_in("spin_three", false, 1, FAIL_NONE);
	expect("spin_gives_up", false, FAIL_CHECK);
}

static void test_parts(void **state)
{
	(void)state;
	expect_both("parts_plain", FAIL_NONE);
	expect_both("parts_whole", FAIL_NONE);
}

static void test_filled(void **state)
{
	(void)state;
	expect_both("frame_filled", FAIL_NONE);
}

static void test_freed(void **state)
{
	(void)state;
	expect_both("freed_lock", FAIL_FREED);
	expect_both("freed_locked", FAIL_FREED);
	expect_both("unlocked_twice", FAIL_ASSERTION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_mark),
		cmocka_unit_test(test_tried),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_spinners),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_filled),
		cmocka_unit_test(test_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
