/* SPDX-License-Identifier: MIT */
/*
 * What a scenario must come to under every schedule, for tests/race_*.c.
 */
#ifndef TESTS_RACE_EXPECT_H
#define TESTS_RACE_EXPECT_H

#include "lab/explore/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Last: it has a fail() of its own. */
#include <cmocka.h>

#define UNUSED	struct race_hold *mine __maybe_unused
#define THREAD(name) \
	static void name(struct race *r __maybe_unused, UNUSED)

#define X(r)	((r)->note[0])
#define Y(r)	((r)->note[1])
#define SEEN(r, i) ((r)->note[4 + (i)])

static inline void nothing(struct race *r __maybe_unused)
{
}

/*
 * Every schedule with at most @bound preemptions (and stale loads, if @weak):
 * the first failure must be of that kind, and come again 10 times of 10; or
 * there is none, and all schedules have been run.
 */
static inline void expect_in(const char *name, bool weak, unsigned int bound,
			     enum failure_kind kind)
{
	struct search s = {
		.strategy = STRATEGY_EXHAUSTIVE, .bound = bound, .weak = weak,
		.seconds = 60,
	};

	assert_int_equal(run_begin(scenario_find(name)), 0);
	search_run(&s);
	if (s.failure.kind != kind)
		fprintf(stderr, "%s, %s: %s, not %s: %s\n", name,
			weak ? "weak" : "strong",
			s.found ? failure_names[s.failure.kind] : "nothing",
			kind ? failure_names[kind] : "nothing", s.failure.text);
	assert_int_equal(s.failure.kind, kind);
	if (kind == FAIL_NONE)
		assert_true(s.exhausted);
	for (int i = 0; kind != FAIL_NONE && i < 10; i++) {
		assert_int_equal(search_replay(&s.schedule, false), RUN_FAILED);
		assert_int_equal(run.failure.kind, kind);
	}
	run_end();
}

static inline void expect(const char *name, bool weak, enum failure_kind kind)
{
	expect_in(name, weak, 6, kind);
}

static inline void expect_both(const char *name, enum failure_kind kind)
{
	expect(name, false, kind);
	expect(name, true, kind);
}

#endif
