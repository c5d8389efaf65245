/* SPDX-License-Identifier: MIT */
/*
 * Claim: what the scenarios of lab/scenarios say holds with real threads, too,
 * round after round; and the rounds meet: each operation succeeds in some of
 * them, and between them they leave the walk by each of its exits.
 *
 * Threads stay and meet at the start of each round, then wait for a random few
 * loops each, so that now one is first and now the other.  All scenarios share
 * PINFOLD_STRESS_SECONDS (3); PINFOLD_STRESS_SCENARIO runs one alone.
 *
 * Source: include/pinfold/pinfold.h, "Rules for callers"
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"
#include "host/exits.h"
#include "lab/scenario.h"

#include <sched.h>
#include <time.h>

#define SECOND		1000000000ull
#define MOST_SCENARIOS	512
#define MOST_PASSES	10	/* on a busy host some things come late */
#define MOST_ROUNDS	256	/* until lost frames are looked for */
#define MOST_SPINS	2000	/* of a thread that waits for the next round */
#define MOST_SLEEP	20000000ull	/* ns: longer than a turn of the host's */
#define DELAYS		22	/* of up to 2^22 loops: longer than a collapse */

/*
 * Exits that no scenario has to reach, and why.  The last ones need a meeting so
 * close that real threads may miss it for a minute.
 */
static const char *const not_asked_for[NR_GUP_EXITS] = {
	[GUP_SLOW_PMD_HINT] = "no scenario asks to honour NUMA hints",
	[GUP_SLOW_PTE_HINT] = "no scenario asks to honour NUMA hints",
	[GUP_SLOW_PTE_NO_DESCRIPTOR] = "there are no raw frames",
	[GUP_SLOW_PUD_UNSHARE] = "no scenario shares gigantic pages",
	[GUP_SLOW_GRAB_FAILED] = "a mapped folio has a reference",
	[GUP_FAST_F7] = "no scenario has file memory",
	[GUP_FAST_FORKING] = "close: see mutators_stress",
	[GUP_FAST_FORKED] = "close: see mutators_stress",
	[GUP_FAST_F5_MOVED] = "close: a folio of other size since the look",
	[GUP_FAST_F5_FROZEN] = "close: freed since the look",
	[GUP_FAST_F6_ENTRY] = "close: changed since the look",
	[GUP_FAST_F6_TABLE] = "close: changed since the look",
	[GUP_SLOW_PTE_ABSENT] = "close: while a folio is being split",
	[GUP_SLOW_PTE_NO_TABLE] = "close: a leaf again since it was split",
	[GUP_SLOW_PMD_GONE] = "close: between the look and the lock",
	[GUP_SLOW_SIGNAL] = "close: between two walks",
	[GUP_SLOW_RETRY_KILLED] = "close: while waiting for mmap_lock again",
	[GUP_SLOW_KILLED_AT_LOCK] = "close: while waiting for mmap_lock",
};

struct lane {
	unsigned int thread;	/* of the scenario */
	struct random random;
	u32 start;		/* rounds begun; who sleeps, sleeps on it */
	u32 end;		/* rounds ended */
	bool quit;
	u64 exits[NR_GUP_EXITS];
	struct backend_thread *backend;
};

static struct {
	struct race race;
	atomic_t arrived;
	u32 expected;
	u32 waiting_for;	/* threads whose operation has not succeeded */
	struct lane lanes[RACE_THREADS];
	struct tally {
		u64 rounds;
		u64 succeeded[RACE_THREADS];	/* rounds, too */
	} tally[MOST_SCENARIOS];
} stress;

/* ---- threads ------------------------------------------------------------ */

static void spin(unsigned int i)
{
	cpu_relax();
	if (i % 64 == 63)
		sched_yield();
}

/*
 * Most delays are short: that is where calls of a microsecond meet.  Giving the
 * CPU away now and then lets the others be first on a single one.
 */
static void delay(struct random *random)
{
	u64 loops = random_below(random, 1ull << random_below(random, DELAYS));

	if (random_chance(random, 25))
		sched_yield();
	while (loops--)
		barrier();
}

static void sleep_ns(u64 ns)
{
	(void)!nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static void run_lane(struct lane *lane)
{
	race_enter(&stress.race, lane->thread);
	atomic_add_return(1, &stress.arrived);
	for (unsigned int i = 0; (u32)atomic_read(&stress.arrived) <
				 READ_ONCE(stress.expected); i++)
		spin(i);
	delay(&lane->random);
	/* Rounds are few on a busy host, and some threads are never first. */
	if (stress.waiting_for && !(stress.waiting_for >> lane->thread & 1) &&
	    random_chance(&lane->random, 50))
		sleep_ns(random_below(&lane->random, MOST_SLEEP));
	race_run(&stress.race, lane->thread);
	memcpy(lane->exits, gup_exits, sizeof(gup_exits));
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
			return;
		run_lane(lane);
		smp_store_release(&lane->end, round + 1);
	}
}

static void start_lane(struct lane *lane)
{
	smp_store_release(&lane->start, lane->start + 1);
	backend_wake_all(&lane->start);
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
	}
}

/* ---- rounds ------------------------------------------------------------- */

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

/* Rounds until freed tables have to be waited for: they are memory, too. */
static void run_rounds(const struct scenario *s, u64 until, struct tally *tally)
{
	const unsigned int nr = scenario_nr_threads(s);
	struct race *r = &stress.race;
	struct machine *m = machine_of(r->machine);
	unsigned long enough = nr_free_pages(m) * 3 / 4;
	unsigned int rounds = 0;

	while (!rounds || (rounds < MOST_ROUNDS && clock_ns() < until &&
			   nr_free_pages(m) > enough)) {
		assert_int_equal(race_round(r), 0);
		run_threads(nr);
		for (unsigned int t = 0; t < nr; t++)
			tally->succeeded[t] += r->hold[t].succeeded > 0;
		if (!rounds++)
			assert_int_equal(race_recount(r), 0);
		race_close(r);
	}
	race_settle(r);
	tally->rounds += rounds;
}

static void run_scenario(const struct scenario *s, u64 until,
			 struct tally *tally)
{
	assert_int_equal(race_begin(&stress.race, s), 0);
	do {
		run_rounds(s, until, tally);
	} while (clock_ns() < until);
	race_end(&stress.race);
}

static bool asked_for(const struct scenario *s)
{
	const char *only = getenv("PINFOLD_STRESS_SCENARIO");

	return !only || !strcmp(s->name, only);
}

/* ---- what was reached --------------------------------------------------- */

static u64 times_left(unsigned int exit)
{
	u64 times = 0;

	for (unsigned int t = 0; t < RACE_THREADS; t++)
		times += stress.lanes[t].exits[exit];
	return times;
}

static bool exit_missing(unsigned int exit)
{
	return !times_left(exit) && !not_asked_for[exit];
}

static unsigned int exits_missing(void)
{
	unsigned int missing = 0;

	for (unsigned int e = 0; e < NR_GUP_EXITS; e++)
		missing += exit_missing(e);
	return getenv("PINFOLD_STRESS_SCENARIO") ? 0 : missing;
}

/* Those of the @i-th scenario whose operation has never succeeded. */
static u32 missing_threads(unsigned int i)
{
	const struct scenario *s = scenario_at(i);
	u32 missing = 0;

	for (unsigned int t = 0; t < scenario_nr_threads(s); t++)
		if (asked_for(s) && !stress.tally[i].succeeded[t])
			missing |= 1u << t;
	return missing;
}

static unsigned int all_operations_missing(unsigned int nr)
{
	unsigned int missing = 0;

	for (unsigned int i = 0; i < nr; i++)
		missing += (unsigned int)__builtin_popcount(missing_threads(i));
	return missing;
}

/* All scenarios, or those where something is missing. */
static void run_pass(unsigned int nr, u64 share, bool all)
{
	u64 begin = clock_ns();

	for (unsigned int i = 0; i < nr; i++) {
		const struct scenario *s = scenario_at(i);
		u64 until = max(begin + (i + 1) * share,
				clock_ns() + share / 2);

		stress.waiting_for = missing_threads(i);
		if (asked_for(s) && (all || stress.waiting_for))
			run_scenario(s, until, &stress.tally[i]);
	}
}

static void print_operations(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct scenario *s = scenario_at(i);
		const struct tally *tally = &stress.tally[i];

		if (!asked_for(s))
			continue;
		fprintf(stderr, "%-27s %6llu rounds:", s->name,
			(unsigned long long)tally->rounds);
		for (unsigned int t = 0; t < scenario_nr_threads(s); t++)
			fprintf(stderr, "  %s %llu%s", s->threads[t].name,
				(unsigned long long)tally->succeeded[t],
				tally->succeeded[t] ? "" : " NEVER");
		fputc('\n', stderr);
	}
}

static void print_exits(void)
{
	for (unsigned int e = 0; e < NR_GUP_EXITS; e++) {
		const char *why = "";

		if (!times_left(e))
			why = not_asked_for[e] ? not_asked_for[e] : "NEVER";
		fprintf(stderr, "exit %-18s %10llu  %s\n", gup_exit_names[e],
			(unsigned long long)times_left(e), why);
	}
}

/* ---- tests --------------------------------------------------------------- */

static u64 stress_ns(void)
{
	const char *set = getenv("PINFOLD_STRESS_SECONDS");

	return (set ? strtod(set, NULL) : 3) * SECOND;
}

static void test_operations(void **state)
{
	unsigned int nr = 0;
	bool exits = true;

	(void)state;
	while (scenario_at(nr))
		nr++;
	assert_in_range(nr, 1, MOST_SCENARIOS);
	begin_lanes();
	for (unsigned int pass = 0; pass < MOST_PASSES; pass++) {
		u64 ns = pass ? min(stress_ns(), 3 * SECOND) : stress_ns();

		if (exits || all_operations_missing(nr))
			run_pass(nr, ns / nr, exits);
		exits = exits_missing();
	}
	end_lanes();
	print_operations(nr);
	assert_int_equal(all_operations_missing(nr), 0);
}

static void test_exits(void **state)
{
	(void)state;
	print_exits();
	assert_int_equal(exits_missing(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
