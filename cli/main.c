/* SPDX-License-Identifier: MIT */
/*
 * The `pinfold` command: finds the subcommand, and sees to it that what was
 * written to standard output arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#ifndef PINFOLD_VERSION
#define PINFOLD_VERSION "unknown"
#endif

static const struct subcommand *const subcommands[] = {
	&cmd_bench,
	&cmd_capture,
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

/*
 * A file opened later must not become descriptor 0, 1 or 2 by chance.  The
 * stand-ins are opened the wrong way round, so that using one is an error.
 */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

int main(int argc, char **argv)
{
	int code, flushed;
	bool lost;

	occupy_standard_fds();
	code = run(argc, argv);
	progress_done();
	lost = ferror(stdout);
	errno = 0;
	flushed = fclose(stdout);
	if ((lost || flushed) && code == EXIT_OK)
		return failed(NULL, "standard output: %s",
			      errno ? strerror(errno) : "write error");
	return code;
}
