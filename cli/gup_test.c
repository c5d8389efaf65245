/* SPDX-License-Identifier: MIT */
/*
 * `pinfold gup_test`, and gup_test by itself: Linux's tool of that
 * name, with its options and its output.
 *
 * As in the tool, and unlike other subcommands, what is wrong with the call is
 * said in TAP on stdout, the exit code then is 1, and getopt_long() names the
 * option on stderr.
 *
 * Source: tools/testing/selftests/mm/gup_test.c
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gup_test.h"
#include "mm/gup.h"

#define MAX_THREADS	1024

static const struct gup_test_command commands[] = {
	{ 'u', true, GUP_FAST_BENCHMARK, 0, "GUP_FAST_BENCHMARK" },
	{ 'a', true, PIN_FAST_BENCHMARK, 0, "PIN_FAST_BENCHMARK" },
	{ 'l', true, PIN_FAST_BENCHMARK, FOLL_LONGTERM,
	  "PIN_FAST_LONGTERM_BENCHMARK" },
	{ 'L', true, PIN_LONGTERM_BENCHMARK, 0, "PIN_LONGTERM_BENCHMARK" },
	{ 'U', false, GUP_BASIC_TEST, 0, "GUP_BASIC_TEST" },
	{ 'b', false, PIN_BASIC_TEST, 0, "PIN_BASIC_TEST" },
	{ 'c', false, DUMP_USER_PAGES_TEST, 0, "DUMP_USER_PAGES_TEST" },
};

static const char short_options[] = "m:r:n:F:f:abcj:tTlLUuwWSHpz";

enum { OPT_HELP = 256, OPT_POOL };

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "pool", required_argument, NULL, OPT_POOL },
	{ NULL, 0, NULL, 0 },
};

static int help(void)
{
	puts("Usage: gup_test [OPTION ...] [PAGE ...]\n"
	     "Get or pin a buffer, release it, and say how long it took.\n\n"
	     "Commands; the last one counts:\n"
	     "  -u  get_user_pages_fast (default)\n"
	     "  -a  pin_user_pages_fast\n"
	     "  -l  the same with FOLL_LONGTERM\n"
	     "  -L  pin_user_pages with FOLL_LONGTERM\n"
	     "  -U  get_user_pages, not timed\n"
	     "  -b  pin_user_pages, not timed\n"
	     "  -c  get the buffer and dump each PAGE (0) of it to stderr; up "
	     "to 8\n\n"
	     "  -p        -c pins instead\n"
	     "  -m MIB    size of the buffer (128)\n"
	     "  -n PAGES  pages a call (1)\n"
	     "  -r TIMES  repetitions of -u, -a, -l and -L (1)\n"
	     "  -j N      threads, each on the whole buffer (1)\n"
	     "  -F FLAGS  FOLL_ flags, before -w adds its own (0)\n"
	     "  -w, -W    with FOLL_WRITE (default), without\n"
	     "  -t, -T    the buffer may, may not have transparent huge pages\n"
	     "  -H        the buffer has hugetlb pages of 2 MiB\n"
	     "  --pool N  how many of them there are (as many as -H needs)\n"
	     "  -z        do not write the pages before the test\n"
	     "  -S        the buffer is shared memory\n"
	     "  -f FILE   the buffer maps FILE, a regular one, which is made "
	     "if it\n"
	     "            is not there (/dev/zero)\n"
	     "  --help");
	return EXIT_OK;
}

/* ---- numbers ------------------------------------------------------------- */

static int take_number(const struct tap *tap, const char *option,
		       const char *value, u64 lo, u64 hi, u64 *out)
{
	if (!parse_u64(value, lo, hi, out))
		return tap_bail_out(tap, "%s takes %" PRIu64 " to %" PRIu64
				    ", not '%s'", option, lo, hi, value);
	return 0;
}

/* As C writes them: decimal, 0x and hexadecimal, 0 and octal. */
static int take_c_number(const struct tap *tap, const char *what,
			 const char *value, u64 hi, u32 *out)
{
	unsigned long long n = 0;
	char *end = NULL;

	errno = 0;
	if (isdigit((unsigned char)value[0]))
		n = strtoull(value, &end, 0);
	if (!end || *end || errno || n > hi)
		return tap_bail_out(tap, "%s takes 0 to %" PRIu64 ", not '%s'",
				    what, hi, value);
	*out = (u32)n;
	return 0;
}

/* ---- options ------------------------------------------------------------- */

static const struct gup_test_command *find_command(int option)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].option == option)
			return &commands[i];
	return NULL;
}

static int take_value(struct gup_test_call *call, const struct tap *tap, int c,
		      const char *value)
{
	u64 n = 0;
	int err;

	switch (c) {
	case 'm':
		return take_number(tap, "-m", value, 0, INT32_MAX, &call->mib);
	case 'r':
		return take_number(tap, "-r", value, 0, INT32_MAX,
				   &call->repeats);
	case 'n':
		err = take_number(tap, "-n", value, 1, INT32_MAX, &n);
		call->record.nr_pages_per_call = n;
		return err;
	case 'j':
		return take_number(tap, "-j", value, 0, MAX_THREADS,
				   &call->threads);
	case 'F':
		return take_c_number(tap, "-F", value, UINT32_MAX,
				     &call->record.gup_flags);
	case OPT_POOL:
		return take_number(tap, "--pool", value, 0, INT32_MAX,
				   &call->pool);
	default:
		return tap_bail_out(tap, "Wrong argument");
	}
}

static int take_option(struct gup_test_call *call, const struct tap *tap, int c,
		       const char *value)
{
	const struct gup_test_command *command = find_command(c);

	if (command) {
		call->command = command;
		/* Page 0 is chosen, until the command line says otherwise. */
		if (c == 'c')
			call->record.which_pages[0] = 1;
		return 0;
	}
	switch (c) {
	case 'p':
		call->record.test_flags |= GUP_TEST_FLAG_DUMP_PAGES_USE_PIN;
		return 0;
	case 't':
	case 'T':
		call->advice = c == 't' ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
		return 0;
	case 'w':
	case 'W':
		call->write = c == 'w';
		return 0;
	case 'z':
		call->fault_first = false;
		return 0;
	case 'H':
		call->hugetlb = true;
		return 0;
	case 'S':
		call->shared = true;
		return 0;
	case 'f':
		call->file = value;
		return 0;
	default:
		return take_value(call, tap, c, value);
	}
}

/* Return: 0 to go on, an exit code, or -1 after --help. */
static int parse(struct gup_test_call *call, const struct tap *tap, int argc,
		 char **argv)
{
	int c, err = 0;

	opterr = 1;
	optind = 1;
	while (!err && (c = getopt_long(argc, argv, short_options,
					long_options, NULL)) != -1) {
		if (c == OPT_HELP) {
			help();
			return -1;
		}
		err = take_option(call, tap, c, optarg);
	}
	/* The device counts pages from 1. */
	for (int i = 0; !err && optind + i < argc &&
	     i < GUP_TEST_MAX_PAGES_TO_DUMP; i++) {
		u32 *page = &call->record.which_pages[i];

		err = take_c_number(tap, "a page", argv[optind + i],
				    UINT32_MAX - 1, page);
		*page += 1;
	}
	if (call->write)
		call->record.gup_flags |= FOLL_WRITE;
	call->record.gup_flags |= call->command->gup_flags;
	return err;
}

static int run(int argc, char **argv)
{
	struct gup_test_call call = {
		.command = &commands[0],
		.record = { .nr_pages_per_call = 1 },
		.file = "/dev/zero",
		.mib = 128,
		.repeats = 1,
		.threads = 1,
		.advice = MADV_NORMAL,
		.write = true,
		.fault_first = true,
		.pool = UINT64_MAX,
	};
	struct tap tap = { 0 };
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	err = parse(&call, &tap, argc, argv);
	if (err)
		return err < 0 ? EXIT_OK : err;
	return gup_test_run(&call, &tap);
}

const struct subcommand cmd_gup_test = {
	"gup_test", "Linux's gup_test, its options and output", run,
};
