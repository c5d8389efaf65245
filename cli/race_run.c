/* SPDX-License-Identifier: MIT */
/*
 * `pinfold race`, in the explorer's build.
 */
#ifdef PINFOLD_SCHED
#include "cli/race.h"

#include "lab/explore/mutant.h"
#include "lab/explore/search.h"
#include "lab/explore/source.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WANTED	512
#define SEED_ROOM	(64u << 10)
#define REPLAYS		10

enum {
	OPT_LIST = 256, OPT_STRATEGY, OPT_BOUND, OPT_SECONDS, OPT_SCHEDULES,
	OPT_SEED, OPT_REPLAY, OPT_MUTANT, OPT_MUTANTS, OPT_JSON, OPT_HELP,
};

struct call {
	const struct scenario *wanted[MAX_WANTED];
	unsigned int nr_wanted;
	enum strategy strategy;
	u64 bound, seconds, schedules, seed;
	bool bound_given, seconds_given, list, mutants;
	const char *replay, *json;
	unsigned int mutant;		/* number; 0: none */
	FILE *out;			/* tables */
	FILE *json_out;			/* lines, or NULL */
};

static const struct option long_options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "strategy", required_argument, NULL, OPT_STRATEGY },
	{ "bound", required_argument, NULL, OPT_BOUND },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "schedules", required_argument, NULL, OPT_SCHEDULES },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "replay", required_argument, NULL, OPT_REPLAY },
	{ "mutant", required_argument, NULL, OPT_MUTANT },
	{ "mutants", no_argument, NULL, OPT_MUTANTS },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* ---- the call -------------------------------------------------------------- */

static int set_strategy(struct call *call, const char *name)
{
	for (unsigned int i = 0; i < NR_STRATEGIES; i++)
		if (!strcmp(name, strategy_names[i])) {
			call->strategy = i;
			return 0;
		}
	return usage_error("race", "no strategy '%s', see pinfold race --help",
			   name);
}

static int set_number(const char *option, const char *value, u64 hi, u64 *out)
{
	if (parse_u64(value, 0, hi, out))
		return 0;
	return usage_error("race", "%s takes a number from 0 to %" PRIu64
			   ", not '%s'", option, hi, value);
}

static unsigned int mutant_number(const char *name)
{
	for (const struct mutant *m = mutants; m->name; m++)
		if (!strcmp(m->name, name))
			return m->number;
	return 0;
}

static int set_mutant(struct call *call, const char *name)
{
	call->mutant = mutant_number(name);
	if (!call->mutant)
		return usage_error("race", "no mutant '%s'", name);
	lab_mutant = call->mutant;
	if (!mutant_on()->fits)
		return usage_error("race", "mutant '%s' no longer fits the "
				   "source", name);
	return 0;
}

static int take_option(struct call *call, int c, const char *value)
{
	switch (c) {
	case OPT_LIST:
		call->list = true;
		return 0;
	case OPT_STRATEGY:
		return set_strategy(call, value);
	case OPT_BOUND:
		call->bound_given = true;
		return set_number("--bound", value, 16, &call->bound);
	case OPT_SECONDS:
		call->seconds_given = true;
		return set_number("--seconds", value, 1000000, &call->seconds);
	case OPT_SCHEDULES:
		return set_number("--schedules", value, UINT64_MAX,
				  &call->schedules);
	case OPT_SEED:
		return set_number("--seed", value, UINT64_MAX, &call->seed);
	case OPT_REPLAY:
		call->replay = value;
		return 0;
	case OPT_MUTANT:
		return set_mutant(call, value);
	case OPT_MUTANTS:
		call->mutants = true;
		return 0;
	default:
		call->json = value;
		return 0;
	}
}

static int add_scenario(struct call *call, const char *name)
{
	const struct scenario *s = scenario_find(name);

	if (!s)
		return usage_error("race", "no scenario '%s', see pinfold race "
				   "--list", name);
	if (call->nr_wanted == MAX_WANTED)
		return usage_error("race", "more than %d scenarios",
				   MAX_WANTED);
	call->wanted[call->nr_wanted++] = s;
	return 0;
}

/* Return: EXIT_OK to go on, an exit code, or -1 after --help. */
static int parse(struct call *call, int argc, char **argv)
{
	int c, err = 0;

	opterr = 0;
	while (!err && (c = getopt_long(argc, argv, ":h", long_options,
					NULL)) != -1) {
		if (c == 'h' || c == OPT_HELP) {
			race_help();
			return -1;
		}
		err = c == ':' || c == '?' ? bad_option("race", c, argv) :
					     take_option(call, c, optarg);
	}
	for (; !err && optind < argc; optind++)
		err = add_scenario(call, argv[optind]);
	if (err)
		return err;
	if (call->replay && (call->nr_wanted || call->mutants || call->mutant))
		return usage_error("race", "--replay names its scenario and "
				   "mutant itself");
	if (call->mutants && call->mutant)
		return usage_error("race", "--mutants and --mutant exclude each "
				   "other");
	if (!call->nr_wanted)
		while (call->nr_wanted < MAX_WANTED &&
		       scenario_at(call->nr_wanted)) {
			call->wanted[call->nr_wanted] =
				scenario_at(call->nr_wanted);
			call->nr_wanted++;
		}
	if (!call->bound_given)
		call->bound = call->strategy == STRATEGY_PCT ? 3 : 2;
	if (!call->seconds_given)
		call->seconds = call->mutants ? 60 : 10;
	return EXIT_OK;
}

static int list(struct call *call)
{
	for (unsigned int i = 0; i < call->nr_wanted; i++) {
		const struct scenario *s = call->wanted[i];

		fprintf(call->out, "%-24s %s\n", s->name, s->claim);
		if (s->reference)
			fprintf(call->out, "%-24s   %s\n", "", s->reference);
	}
	if (!mutants[0].name)
		return EXIT_OK;
	fprintf(call->out, "\nmutants\n");
	for (const struct mutant *m = mutants; m->name; m++) {
		fprintf(call->out, "%-24s %s\n", m->name, m->text);
		fprintf(call->out, "%-24s   found by %s%s%s\n", "", m->found_by,
			m->reference ? "; " : "",
			m->reference ? m->reference : "");
	}
	return EXIT_OK;
}

/* ---- what was found ---------------------------------------------------------- */

static void seed_text(const struct scenario *s, const struct schedule *schedule,
		      char *text, size_t room)
{
	int used = snprintf(text, room, "%s%s%s:", s->name,
			    lab_mutant ? "+" : "",
			    lab_mutant ? mutant_on()->name : "");

	schedule_text(schedule, text + used, room - used);
}

static void print_place(FILE *out, const char *what, uintptr_t pc)
{
	struct source_line line;

	if (!pc)
		return;
	source_lines(&pc, 1, &line);
	fprintf(out, "  %s %s() %s:%d\n", what, line.function, line.file,
		line.line);
}

static void print_failure(FILE *out, const struct scenario *s,
			  const struct failure *f,
			  const struct schedule *schedule)
{
	static char seed[SEED_ROOM];

	seed_text(s, schedule, seed, sizeof(seed));
	fprintf(out, "\n%s: %s: %s\n", s->name, failure_names[f->kind],
		f->text);
	fprintf(out, "  claim: %s\n", s->claim);
	if (f->task < NR_TASKS)
		print_place(out, "at", f->pc);
	if (f->kind == FAIL_RACE)
		print_place(out, "against", f->other_pc);
	fprintf(out, "  pinfold race --replay '%s'\n\n", seed);
}

static void print_trace(FILE *out)
{
	source_trace_print(out);
	fputc('\n', out);
}

static void put_json(struct call *call, const struct scenario *s,
		     const struct search *r, bool replayed)
{
	static char seed[SEED_ROOM];
	json_t *j;

	if (!call->json_out)
		return;
	j = json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:f, s:b, s:b}",
		      "schema", 1, "scenario", s->name,
		      "strategy", strategy_names[r->strategy],
		      "bound", (json_int_t)r->bound,
		      "seed", (json_int_t)r->seed,
		      "schedules", (json_int_t)r->schedules,
		      "seconds", r->used_seconds,
		      "exhausted", r->exhausted, "found", r->found);
	if (lab_mutant)
		json_object_set_new(j, "mutant",
				    json_string(mutant_on()->name));
	if (r->found) {
		seed_text(s, &r->schedule, seed, sizeof(seed));
		json_object_set_new(j, "failure", json_string(
					failure_names[r->failure.kind]));
		json_object_set_new(j, "text", json_string(r->failure.text));
		json_object_set_new(j, "replay", json_string(seed));
		json_object_set_new(j, "replayed", json_boolean(replayed));
	}
	json_dumpf(j, call->json_out, JSON_COMPACT);
	fputc('\n', call->json_out);
	fflush(call->json_out);
	json_decref(j);
}

/* ---- searching ------------------------------------------------------------------ */

static void show_progress(const struct search *s, void *arg)
{
	const struct scenario *scenario = arg;

	progress("%s: %s, %" PRIu64 " schedules", scenario->name,
		 strategy_names[s->strategy], s->schedules);
}

static struct search make_search(const struct call *call,
				 const struct scenario *s)
{
	return (struct search){
		.strategy = call->strategy, .bound = call->bound,
		.seconds = call->seconds, .max_schedules = call->schedules,
		.seed = call->seed, .progress = show_progress,
		.progress_arg = (void *)s,
	};
}

/* The failure of @r again, @times of @times? */
static bool replays(const struct search *r, unsigned int times)
{
	while (times--)
		if (search_replay(&r->schedule, false) != RUN_FAILED ||
		    run.failure.kind != r->failure.kind)
			return false;
	return true;
}

static int begin(const struct scenario *s)
{
	int err = run_begin(s);

	if (err == -EIO)
		return failed("race", "%s: its setup() fails: %s", s->name,
			      run.failure.text);
	return err ? failed("race", "%s: no memory", s->name) : EXIT_OK;
}

static const char *verdict(const struct search *r, char *text, size_t room)
{
	if (r->found)
		snprintf(text, room, "%s", failure_names[r->failure.kind]);
	else if (r->strategy == STRATEGY_PCT && r->guarantee > 0)
		snprintf(text, room, "nothing; a run finds with p >= %.1e",
			 r->guarantee);
	else if (r->exhausted)
		snprintf(text, room, "nothing: all of bound %u", r->bound_done);
	else
		snprintf(text, room, "nothing in the time");
	return text;
}

static int search_one(struct call *call, const struct scenario *s)
{
	struct search r = make_search(call, s);
	char text[128];
	int err = begin(s);

	if (err)
		return err;
	search_run(&r);
	progress_done();
	fprintf(call->out, "%-24s %-10s %9" PRIu64 " %8.0f %7.1f %6u  %s\n",
		s->name, strategy_names[r.strategy], r.schedules,
		r.schedules / max(r.used_seconds, 1e-9), r.used_seconds,
		r.max_points, verdict(&r, text, sizeof(text)));
	fflush(call->out);
	put_json(call, s, &r, r.found && replays(&r, 1));
	if (r.found) {
		print_failure(call->out, s, &r.failure, &r.schedule);
		search_replay(&r.schedule, true);
		print_trace(call->out);
	}
	run_end();
	return r.found ? EXIT_FAILED : EXIT_OK;
}

static int search_all(struct call *call)
{
	int worst = EXIT_OK;

	lab_mutant = call->mutant;
	fprintf(call->out, "%-24s %-10s %9s %8s %7s %6s  %s\n", "scenario",
		"strategy", "schedules", "a second", "seconds", "points",
		"found");
	for (unsigned int i = 0; i < call->nr_wanted; i++)
		worst = max(worst, search_one(call, call->wanted[i]));
	return worst;
}

/* ---- mutants ----------------------------------------------------------------- */

/* What part of the time each strategy gets, in turn. */
static const struct {
	enum strategy strategy;
	unsigned int bound;
	double share;
} turns[] = {
	{ STRATEGY_EXHAUSTIVE, 1, 0.2 },
	{ STRATEGY_EXHAUSTIVE, 2, 0.2 },
	{ STRATEGY_WEAK, 1, 0.3 },
	{ STRATEGY_PCT, 3, 0.1 },
	{ STRATEGY_RANDOM, 2, 0.2 },
};

/* Search scenario @s with the mutant that is on; true if it was found. */
static bool find_mutant(struct call *call, const struct scenario *s,
			double seconds, struct search *total)
{
	u64 schedules = 0;
	double used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(turns) && !total->found; i++) {
		*total = make_search(call, s);
		total->strategy = turns[i].strategy;
		total->bound = turns[i].bound;
		total->seconds = turns[i].share * seconds;
		search_run(total);
		schedules += total->schedules;
		used += total->used_seconds;
	}
	total->schedules = schedules;
	total->used_seconds = used;
	return total->found;
}

static bool is_wanted(const struct call *call, const char *name, size_t length)
{
	for (unsigned int i = 0; i < call->nr_wanted; i++)
		if (strlen(call->wanted[i]->name) == length &&
		    !strncmp(call->wanted[i]->name, name, length))
			return true;
	return false;
}

static int report_mutant(struct call *call, const struct scenario *s,
			 struct search *r, double seconds)
{
	bool ok = r->found && replays(r, REPLAYS);
	static char seed[SEED_ROOM];

	put_json(call, s, r, ok);
	seed_text(s, &r->schedule, seed, sizeof(seed));
	progress_done();
	fprintf(call->out, "%-28s %-22s %-18s %9" PRIu64 " %7.1f  %s\n",
		mutant_on()->name, s->name,
		!r->found ? "NOT FOUND" : failure_names[r->failure.kind],
		r->schedules, seconds,
		!r->found ? "" : ok ? seed : "does not replay");
	fflush(call->out);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* One mutant, by the scenarios that should find it. */
static int search_mutant(struct call *call, const struct mutant *m)
{
	const struct scenario *s = NULL;
	struct search r = { .found = false };
	double used = 0;
	int err = EXIT_OK;

	if (!m->fits) {
		fprintf(call->out, "%-28s no longer fits the source\n",
			m->name);
		return EXIT_FAILED;
	}
	for (const char *at = m->found_by; *at && !r.found;) {
		size_t length = strcspn(at, " ");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", min_t(int, length, 63), at);
		at += length + strspn(at + length, " ");
		if (!is_wanted(call, name, strlen(name)))
			continue;
		if (s)
			run_end();
		s = scenario_find(name);
		err = begin(s);
		if (err)
			return err;
		find_mutant(call, s, call->seconds - used, &r);
		used += r.used_seconds;
		if (call->seconds && used >= call->seconds)
			break;
	}
	if (!s)
		return EXIT_OK;
	err = report_mutant(call, s, &r, used);
	run_end();
	return err;
}

static bool is_looked_for(const struct call *call, const struct mutant *m)
{
	const char *at = m->found_by;

	while (*at) {
		size_t length = strcspn(at, " ");

		if (is_wanted(call, at, length))
			return true;
		at += length + strspn(at + length, " ");
	}
	return false;
}

static int search_mutants(struct call *call)
{
	int worst = EXIT_OK;
	bool any = false;

	for (const struct mutant *m = mutants; m->name; m++)
		any = any || is_looked_for(call, m);
	if (!any)
		return usage_error("race", "no mutant is looked for with these "
				   "scenarios");
	fprintf(call->out, "%-28s %-22s %-18s %9s %7s  %s\n", "mutant",
		"scenario", "found as", "schedules", "seconds", "replay");
	for (const struct mutant *m = mutants; m->name; m++) {
		lab_mutant = m->number;
		worst = max(worst, search_mutant(call, m));
	}
	lab_mutant = 0;
	return worst;
}

/* ---- replay ------------------------------------------------------------------- */

static int replay(struct call *call)
{
	static struct schedule schedule;
	const char *colon = strchr(call->replay, ':');
	char name[128], *plus;
	const struct scenario *s;
	bool broke;
	int err;

	snprintf(name, sizeof(name), "%.*s",
		 colon ? min_t(int, colon - call->replay, 127) : 0,
		 call->replay);
	plus = strchr(name, '+');
	if (plus)
		*plus++ = '\0';
	s = scenario_find(name);
	if (!colon || !s || !schedule_parse(colon + 1, &schedule))
		return usage_error("race", "'%s' is no seed of this build",
				   call->replay);
	if (plus) {
		err = set_mutant(call, plus);
		if (err)
			return err;
	}
	lab_mutant = call->mutant;
	err = begin(s);
	if (err)
		return err;
	if (search_replay(&schedule, true) == RUN_FAILED)
		print_failure(call->out, s, &run.failure, &run.schedule);
	else
		fprintf(call->out, "%s: nothing broke\n\n", s->name);
	broke = run.failure.kind != FAIL_NONE;
	print_trace(call->out);
	run_end();
	if (!broke && search_replay_missed())
		return failed("race", "'%s': %u of its %u turns never came: is "
			      "it of another build?", call->replay,
			      search_replay_missed(), schedule.nr);
	return broke ? EXIT_FAILED : EXIT_OK;
}

static int open_json(struct call *call)
{
	call->out = stdout;
	if (!call->json)
		return 0;
	if (!strcmp(call->json, "-")) {
		call->json_out = stdout;
		call->out = stderr;
		return 0;
	}
	call->json_out = fopen(call->json, "we");
	return call->json_out ? 0 : failed("race", "%s: %s", call->json,
					   strerror(errno));
}

int race_command(int argc, char **argv)
{
	struct call call = { .seed = 1 };
	int err = parse(&call, argc, argv);

	if (err)
		return err < 0 ? EXIT_OK : err;
	err = open_json(&call);
	if (err)
		return err;
	if (call.list)
		err = list(&call);
	else if (call.replay)
		err = replay(&call);
	else
		err = call.mutants ? search_mutants(&call) : search_all(&call);
	if (call.json_out && call.json_out != stdout && fclose(call.json_out))
		err = failed("race", "%s: %s", call.json, strerror(errno));
	return err;
}

#endif
