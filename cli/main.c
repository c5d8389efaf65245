/* SPDX-License-Identifier: MIT */
/*
 * The `pinfold` command: finds the subcommand.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#ifndef PINFOLD_VERSION
#define PINFOLD_VERSION "unknown"
#endif

static const struct subcommand *const subcommands[] = {
	&cmd_bench,
	&cmd_capture,
	&cmd_gup_test,
	&cmd_race,
	&cmd_restore,
	&cmd_vtop,
};

static int help(void)
{
	puts("Usage: pinfold SUBCOMMAND [ARGUMENT ...]\n"
	     "Linux's page pinning as an ordinary process.\n");
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		printf("  %-9s %s\n", subcommands[i]->name,
		       subcommands[i]->summary);
	puts("\n  --help     this text; also of each subcommand\n"
	     "  --version  version of pinfold\n\n"
	     "Exit codes: 0 ok, 1 failed, 2 wrong usage.");
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	if (argc < 2)
		return usage_error(NULL, "a subcommand is missing, "
				   "see pinfold --help");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help();
	if (!strcmp(argv[1], "--version")) {
		puts("pinfold " PINFOLD_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(argv[1], subcommands[i]->name))
			return subcommands[i]->run(argc - 1, argv + 1);
	return usage_error(NULL, "no %s '%s', see pinfold --help",
			   argv[1][0] == '-' ? "option" : "subcommand",
			   argv[1]);
}

int main(int argc, char **argv)
{
	return run_command(run, argc, argv);
}
