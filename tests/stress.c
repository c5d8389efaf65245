/* SPDX-License-Identifier: MIT */
/*
 * Claim: what the scenarios of lab/scenarios say holds with real threads, too,
 * round after round; and the rounds meet: each operation succeeds in some of
 * them, and between them they leave the walk by each of its exits.
 *
 * Threads stay and meet at the start of each round, then wait for a random few
 * loops each, so that now one is first and now the other.  All scenarios share
 * PINFOLD_STRESS_SECONDS (3).
 *
 * Source: issue "The schedule explorer", include/pinfold/pinfold.h
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"
#include "host/exits.h"
#include "lab/scenario.h"

#include <sched.h>

#define SECOND		1000000000ull
#define MOST_ROUNDS	256	/* until lost frames are looked for */
#define LONGEST_DELAY	600	/* loops */
#define MOST_SPINS	2000	/* of a thread that waits for the next round */

/*
 * Exits that need what no scenario can make happen yet, or a meeting so close
 * that real threads may miss it for a minute.
 */
static const char *const not_asked_for[NR_WALK_EXITS] = {
	[EXIT_NO_TABLE] = "",
};

struct lane {
	unsigned int thread;	/* of the scenario */
	struct random random;
	u32 start;		/* rounds begun; who sleeps, sleeps on it */
	u32 end;		/* rounds ended */
	bool quit;
	u64 exits[NR_WALK_EXITS];
	struct backend_thread *backend;
};

static struct {
	struct race race;
	atomic_t arrived;
	u32 expected;
	struct lane lanes[RACE_THREADS];
	u64 exits[NR_WALK_EXITS];
} stress;

static void spin(unsigned int i)
{
	cpu_relax();
	if (i % 64 == 63)
		sched_yield();
}

/* Meet the others, wait a little, go. */
static void run_lane(struct lane *lane)
{
	u64 delay = random_below(&lane->random, LONGEST_DELAY);

	atomic_add_return(1, &stress.arrived);
	for (unsigned int i = 0; (u32)atomic_read(&stress.arrived) <
				 READ_ONCE(stress.expected); i++)
		spin(i);
	/* Half of the rounds as close as it gets. */
	for (u64 i = 0; delay % 2 && i < delay; i++)
		barrier();
	race_run(&stress.race, lane->thread);
}

static void lane_main(void *arg)
{
	struct lane *lane = arg;

	for (u32 round = 0;; round++) {
		for (unsigned int i = 0;
		     smp_load_acquire(&lane->start) == round; i++) {
			spin(i);
			if (i > MOST_SPINS)
				backend_wait(&lane->start, round);
		}
		if (READ_ONCE(lane->quit))
			break;
		run_lane(lane);
		smp_store_release(&lane->end, round + 1);
	}
	memcpy(lane->exits, walk_exits, sizeof(walk_exits));
}

static void start_lane(struct lane *lane)
{
	smp_store_release(&lane->start, lane->start + 1);
	backend_wake_all(&lane->start);
}

/* All threads of the scenario once; this thread is the first of them. */
static void run_threads(unsigned int nr)
{
	atomic_set(&stress.arrived, 0);
	WRITE_ONCE(stress.expected, nr);
	for (unsigned int t = 1; t < nr; t++)
		start_lane(&stress.lanes[t]);
	run_lane(&stress.lanes[0]);
	for (unsigned int t = 1; t < nr; t++)
		for (unsigned int i = 0;
		     smp_load_acquire(&stress.lanes[t].end) !=
		     stress.lanes[t].start; i++)
			spin(i);
}

/* Rounds until the freed tables have to be waited for; how many. */
static u64 run_rounds(const struct scenario *s, u64 until, u64 *succeeded)
{
	const unsigned int nr = scenario_nr_threads(s);
	struct race *r = &stress.race;
	struct machine *m = machine_of(r->machine);
	unsigned long enough = nr_free_pages(m) * 3 / 4;
	u64 rounds = 0;

	while (!rounds || (rounds < MOST_ROUNDS && clock_ns() < until &&
			   nr_free_pages(m) > enough)) {
		assert_int_equal(race_round(r), 0);
		run_threads(nr);
		rounds++;
		for (unsigned int t = 0; t < nr; t++)
			succeeded[t] += r->hold[t].succeeded > 0;
		if (rounds == 1)
			assert_int_equal(race_recount(r), 0);
		race_close(r);
	}
	race_settle(r);
	return rounds;
}

static unsigned int run_scenario(const struct scenario *s, u64 until)
{
	u64 succeeded[RACE_THREADS] = { 0 }, rounds = 0;
	unsigned int never = 0;

	assert_int_equal(race_begin(&stress.race, s), 0);
	do {
		rounds += run_rounds(s, until, succeeded);
	} while (clock_ns() < until);
	race_end(&stress.race);
	fprintf(stderr, "%-28s %7llu rounds", s->name,
		(unsigned long long)rounds);
	for (unsigned int t = 0; t < scenario_nr_threads(s); t++) {
		fprintf(stderr, "  %s %llu", s->threads[t].name,
			(unsigned long long)succeeded[t]);
		never += !succeeded[t];
	}
	fprintf(stderr, "%s\n", never ? "  NEVER" : "");
	return never;
}

static u64 stress_ns(void)
{
	const char *set = getenv("PINFOLD_STRESS_SECONDS");

	return (set ? strtod(set, NULL) : 3) * SECOND;
}

static unsigned int nr_scenarios(void)
{
	unsigned int nr = 0;

	while (scenario_at(nr))
		nr++;
	return nr;
}

static void begin_lanes(void)
{
	struct random seed;

	random_init(&seed);
	for (unsigned int t = 0; t < RACE_THREADS; t++) {
		struct lane *lane = &stress.lanes[t];

		lane->thread = t;
		lane->random.state = random_next(&seed);
		if (t)
			assert_int_equal(backend_thread_create(&lane->backend,
							       lane_main, lane),
					 0);
	}
}

static void end_lanes(void)
{
	for (unsigned int t = 1; t < RACE_THREADS; t++) {
		struct lane *lane = &stress.lanes[t];

		WRITE_ONCE(lane->quit, true);
		start_lane(lane);
		backend_thread_join(lane->backend);
		for (unsigned int e = 0; e < NR_WALK_EXITS; e++)
			stress.exits[e] += lane->exits[e];
	}
	for (unsigned int e = 0; e < NR_WALK_EXITS; e++)
		stress.exits[e] += walk_exits[e];
}

static void test_operations(void **state)
{
	const unsigned int nr = nr_scenarios();
	const char *only = getenv("PINFOLD_STRESS_SCENARIO");
	u64 begin = clock_ns(), all = stress_ns();
	unsigned int never = 0;

	(void)state;
	assert_true(nr > 0);
	begin_lanes();
	for (unsigned int i = 0; i < nr; i++) {
		const struct scenario *s = scenario_at(i);

		if (!only)
			never += run_scenario(s, begin + all * (i + 1) / nr);
		else if (!strcmp(s->name, only))
			never += run_scenario(s, begin + all);
	}
	end_lanes();
	assert_int_equal(never, 0);
}

static void test_exits(void **state)
{
	unsigned int never = 0;

	(void)state;
	if (getenv("PINFOLD_STRESS_SCENARIO"))
		skip();
	for (unsigned int e = 0; e < NR_WALK_EXITS; e++) {
		const bool missing = !stress.exits[e] && !not_asked_for[e];

		fprintf(stderr, "exit %-18s %10llu%s\n", walk_exit_names[e],
			(unsigned long long)stress.exits[e],
			missing ? "  NEVER" : "");
		never += missing;
	}
	assert_int_equal(never, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
