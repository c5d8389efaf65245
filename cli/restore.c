/* SPDX-License-Identifier: MIT */
/*
 * `pinfold restore`: a snapshot file into guest memory, timed.
 */
#include "cli/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int help(void)
{
	puts("Usage: pinfold restore SNAPSHOT [OPTION ...]\n"
	     "Restores a raw memory image into guest memory, and tells how long "
	     "that takes.\n\n"
	     "      --threads N      fill with N threads, 1 to 16 (one a "
	     "processor, up to 4)\n"
	     "      --folio SIZE     largest folios: 4K, 64K or 2M (2M)\n"
	     "      --manifest FILE  JSON: which parts of the file go where\n"
	     "      --verify         compare each page with the file\n"
	     "      --save FILE      write the memory to another file\n"
	     "      --json FILE|-    the figures as JSON; - is standard output\n"
	     "      --help           this text\n\n"
	     "Holes of the file take no memory. The ratio is to one memcpy() in "
	     "the same run.");
	return EXIT_OK;
}

static int parse_folio(const char *s, unsigned int *order)
{
	static const struct {
		const char *name;
		unsigned int order;
	} sizes[] = { { "4K", 0 }, { "64K", 4 }, { "2M", 9 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (strcmp(s, sizes[i].name))
			continue;
		*order = sizes[i].order;
		return EXIT_OK;
	}
	return usage_error(RESTORE, "--folio '%s' is not 4K, 64K or 2M", s);
}

static int parse_threads(const char *s, unsigned int *threads)
{
	u64 n;

	if (!parse_u64(s, 1, RESTORE_MAX_THREADS, &n))
		return usage_error(RESTORE, "--threads '%s' is not a number of "
				   "1 to %d", s, RESTORE_MAX_THREADS);
	*threads = (unsigned int)n;
	return EXIT_OK;
}

/* Return: EXIT_OK to go on, an exit code, or -1: help has been printed. */
static int parse(struct restore *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "folio", required_argument, NULL, 'f' },
		{ "manifest", required_argument, NULL, 'm' },
		{ "verify", no_argument, NULL, 'v' },
		{ "save", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int err = EXIT_OK, c;

	opterr = 0;
	while (!err && (c = getopt_long(argc, argv, ":h", options, NULL)) !=
	       -1) {
		switch (c) {
		case 't':
			err = parse_threads(optarg, &r->threads);
			break;
		case 'f':
			err = parse_folio(optarg, &r->order);
			break;
		case 'm':
			r->manifest = optarg;
			break;
		case 'v':
			r->verify = true;
			break;
		case 's':
			r->save = optarg;
			break;
		case 'j':
			r->json = optarg;
			break;
		case 'h':
			help();
			return -1;
		default:
			return bad_option(RESTORE, c, argv);
		}
	}
	if (err)
		return err;
	if (optind == argc)
		return usage_error(RESTORE, "a snapshot file is missing, see "
				   "--help");
	if (optind + 1 < argc)
		return usage_error(RESTORE, "'%s' is one argument too many",
				   argv[optind + 1]);
	r->path = argv[optind];
	return EXIT_OK;
}

/* Copies are bound by memory, which few threads use up. */
static unsigned int default_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned int)min(n, 4L);
}

static int run(int argc, char **argv)
{
	struct restore r = { .threads = default_threads(), .order = 9 };
	int err = parse(&r, argc, argv);

	if (err)
		return err < 0 ? EXIT_OK : err;
	/* Nobody need be at the other end of a pipe. */
	r.fd = open(r.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r.fd < 0)
		return failed(RESTORE, "%s: %s", r.path, strerror(errno));
	err = plan_make(&r);
	if (!err)
		err = restore_run(&r);
	plan_free(&r.plan);
	close(r.fd);
	return err;
}

const struct subcommand cmd_restore = {
	.name = RESTORE,
	.summary = "a snapshot file into guest memory, timed",
	.run = run,
};
