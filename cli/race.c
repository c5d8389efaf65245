/* SPDX-License-Identifier: MIT */
/*
 * `pinfold race`: runs in the explorer's build of the same sources
 * (libexec/lab), which this program becomes; there cli/race_run.c takes over.
 */
#include "cli/race.h"

#include "host/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELPER	"lab"

int race_help(void)
{
	puts("Usage: pinfold race [SCENARIO ...] [OPTION ...]\n"
	     "Run scenarios under every schedule, and show one that breaks "
	     "them.\n\n"
	     "  --list           scenarios and what they claim\n"
	     "  --strategy exhaustive|pct|random|weak\n"
	     "                   exhaustive (default): all schedules with at "
	     "most --bound\n"
	     "                   preemptions; pct: random priorities with "
	     "--bound - 1 changes;\n"
	     "                   random: a random walk; weak: exhaustive, and "
	     "loads may see\n"
	     "                   older stores, then random\n"
	     "  --bound N        0 ... 16, default 2 (pct: 3)\n"
	     "  --seconds N      at most, a scenario; default 10; 0: no limit\n"
	     "  --schedules N    at most, a scenario\n"
	     "  --seed S         of the random strategies\n"
	     "  --replay SEED    run the one schedule of a printed seed, traced\n"
	     "  --mutant NAME    with this fault in the engine\n"
	     "  --mutants        search for each fault with the scenarios that "
	     "should find it\n"
	     "                   (default 60 seconds each)\n"
	     "  --json FILE      results as JSON lines; -: to stdout\n"
	     "  --help\n\n"
	     "Exit codes: 0 nothing broke (--mutants: all were found), 1 "
	     "something did,\n2 wrong usage.");
	return EXIT_OK;
}

#ifndef PINFOLD_SCHED
static int run(int argc __maybe_unused, char **argv)
{
	char path[4096];

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return race_help();
	if (helper_path(HELPER, path, sizeof(path)))
		return failed("race", "the explorer, libexec/" HELPER
			      ", is not where this program is");
	/* argv[-1] is the program's own name; the helper has the same main. */
	execv(path, argv - 1);
	return failed("race", "%s: %s", path, strerror(errno));
}
#else
static int run(int argc, char **argv)
{
	return race_command(argc, argv);
}
#endif

const struct subcommand cmd_race = {
	.name = "race",
	.summary = "run scenarios under every schedule",
	.run = run,
};
