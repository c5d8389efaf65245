/* SPDX-License-Identifier: MIT */
/*
 * Searching the schedules of a scenario for one that fails.
 */
#ifndef LAB_EXPLORE_SEARCH_H
#define LAB_EXPLORE_SEARCH_H

#include "lab/explore/run.h"

enum strategy {
	STRATEGY_EXHAUSTIVE,	/* all with at most @bound preemptions */
	STRATEGY_PCT,		/* random priorities, @bound - 1 changes */
	STRATEGY_RANDOM,	/* a random walk */
	STRATEGY_WEAK,		/* weak memory: all with @bound stale loads and
				 * preemptions for half the time, then random */
	NR_STRATEGIES,
};

extern const char *const strategy_names[NR_STRATEGIES];

struct search {
	/* in */
	enum strategy strategy;
	unsigned int bound;
	double seconds;			/* at most; 0: no limit */
	u64 max_schedules;		/* at most; 0: no limit */
	u64 seed;
	bool weak;			/* memory is weak; STRATEGY_WEAK sets it */
	void (*progress)(const struct search *s, void *arg);
	void *progress_arg;

	/* out */
	u64 schedules;			/* run, those cut short included */
	u64 pruned;			/* cut short: all that follows is known */
	double used_seconds;
	bool exhausted;			/* every schedule up to @bound was run */
	unsigned int bound_done;	/* EXHAUSTIVE, WEAK: the bound completed */
	u32 max_points;			/* choices in one run */
	double guarantee;		/* PCT: least chance a run finds a bug that
					 * needs @bound ordered events */
	bool found;
	struct failure failure;
	struct schedule schedule;	/* that fails, minimised */
	u64 found_after;		/* schedules */
};

/* search_run() - on the scenario of run_begin(); stops at the first failure */
void search_run(struct search *s);

/*
 * search_replay() - run @schedule once
 * @trace: keep what happened, for source_trace_print()
 */
enum run_outcome search_replay(const struct schedule *schedule, bool trace);

/* search_replay_missed() - turns of the last replay that it never came to */
unsigned int search_replay_missed(void);

/* search_minimise() - drop the turns that the failure in @s does not need */
void search_minimise(struct search *s);

/* schedule_text() - as in a seed: "a12b.b3a"; "-" for the default */
void schedule_text(const struct schedule *s, char *text, size_t room);
/* schedule_parse() - false if @text is none */
bool schedule_parse(const char *text, struct schedule *s);

#endif
