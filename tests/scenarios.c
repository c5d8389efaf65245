/* SPDX-License-Identifier: MIT */
/*
 * Claim: every scenario of lab/scenarios holds when its threads run one after
 * the other, in each order; and what runs scenarios sees a check that fails, a
 * count that is off and a frame that is lost.
 *
 * Source: lab/scenario.h
 */
#include "tests/mm_test.h"

#include "lab/scenario.h"

#include <setjmp.h>

static struct race race;

/* ---- in turn ------------------------------------------------------------ */

/* The @nth order of @nr threads. */
static void order_of(unsigned int nth, unsigned int nr, unsigned int *order)
{
	unsigned int left[RACE_THREADS];

	for (unsigned int i = 0; i < nr; i++)
		left[i] = i;
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int k = nth % (nr - i);

		nth /= nr - i;
		order[i] = left[k];
		memmove(left + k, left + k + 1,
			(nr - i - k - 1) * sizeof(left[0]));
	}
}

static void run_orders(const struct scenario *s)
{
	const unsigned int nr = scenario_nr_threads(s);
	unsigned int orders = 1, order[RACE_THREADS];

	if (s->waits)
		return;		/* not one after the other, then */
	for (unsigned int i = 2; i <= nr; i++)
		orders *= i;
	assert_in_range(nr, 2, RACE_THREADS);
	assert_int_equal(race_begin(&race, s), 0);
	for (unsigned int nth = 0; nth < orders; nth++) {
		order_of(nth, nr, order);
		assert_int_equal(race_round(&race), 0);
		for (unsigned int i = 0; i < nr; i++)
			race_run(&race, order[i]);
		assert_int_equal(race_recount(&race), 0);
		race_close(&race);
	}
	race_settle(&race);
	race_end(&race);
}

static void test_in_turn(void **state)
{
	const struct scenario *s;
	unsigned int nr = 0;

	(void)state;
	for (; (s = scenario_at(nr)); nr++) {
		assert_ptr_equal(scenario_find(s->name), s);
		assert_non_null(s->claim);
		assert_true(!nr || strcmp(scenario_at(nr - 1)->name,
					  s->name) < 0);
		run_orders(s);
	}
	assert_in_range(nr, 50, 1000);
	assert_null(scenario_find("no such scenario"));
}

/* ---- faults are seen ------------------------------------------------------ */

static jmp_buf failed;

static void jump_out(const char *file, int line, const char *what)
{
	(void)file;
	(void)line;
	(void)what;
	longjmp(failed, 1);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check_fails(struct race *r)
{
	race_check(race_load(r, 0) == 101);
}

/* An own scenario: it is not in the list. */
static const struct scenario own = {
	.name = "own", .claim = "", .setup = race_setup_pages,
	.threads = { { "pin", pin }, { "pin", pin } }, .check = check_fails,
};

static void begin_own(void)
{
	assert_int_equal(race_begin(&race, &own), 0);
	assert_int_equal(race_round(&race), 0);
	race_run(&race, 0);
	race_run(&race, 1);
	assert_int_equal(race.hold[0].succeeded, 1);
}

/* As race_close() and race_settle(), but for check(). */
static bool ends_well(void (*end)(struct race *r))
{
	race_failed_hook = jump_out;
	if (setjmp(failed)) {
		race_failed_hook = NULL;
		return false;
	}
	end(&race);
	race_failed_hook = NULL;
	return true;
}

static void release(struct race *r)
{
	race_put(&r->hold[0]);
	race_put(&r->hold[1]);
	pf_mm_destroy(r->mm);
}

static void test_check_that_fails(void **state)
{
	(void)state;
	begin_own();
	assert_false(ends_well(race_close));
	release(&race);
	assert_true(ends_well(race_settle));
	race_end(&race);
}

static void test_count_that_is_off(void **state)
{
	(void)state;
	begin_own();
	assert_int_equal(race_recount(&race), 0);
	race.hold[1].nr = 1;
	assert_int_not_equal(race_recount(&race), 0);
	race.hold[1].nr = 2;
	release(&race);
	assert_true(ends_well(race_settle));
	race_end(&race);
}

static void test_frame_that_is_lost(void **state)
{
	struct pf_page *kept;

	(void)state;
	begin_own();
	kept = race.hold[1].pages[1];
	race.hold[1].nr = 1;
	release(&race);
	assert_false(ends_well(race_settle));
	pf_unpin_user_page(kept);
	assert_true(ends_well(race_settle));
	race_end(&race);
}

static void test_other_page(void **state)
{
	(void)state;
	begin_own();
	assert_true(race_all_same(&race, &race.hold[0], 0));
	assert_false(race_same(&race, &race.hold[0], 0, 1));
	assert_true(race_values(&race.hold[0], 100, 1));
	assert_false(race_values(&race.hold[0], 100, 0));
	race_discard(&race, &race.hold[1], 0, 2);
	assert_false(race_same(&race, &race.hold[0], 0, 0));
	assert_int_equal(race_load(&race, 0), 0);
	release(&race);
	race_settle(&race);
	race_end(&race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_check_that_fails),
		cmocka_unit_test(test_count_that_is_off),
		cmocka_unit_test(test_frame_that_is_lost),
		cmocka_unit_test(test_other_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
