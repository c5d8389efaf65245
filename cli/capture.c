/* SPDX-License-Identifier: MIT */
/*
 * `pinfold capture`: the memory shape of a running process, into a file.
 *
 * A regular file is replaced as a whole or not at all: the layout is written
 * next to it and renamed.  Anything else (a pipe, a device) is written to.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/layout.h"

#define NAME	"capture"

static int help(void)
{
	puts("Usage: pinfold capture PID -o FILE [--no-names]\n"
	     "Writes VMAs, residency and folio sizes of a running process, "
	     "no contents.\n\n"
	     "  -o, --output FILE  where to; - is standard output\n"
	     "      --no-names     leave out the names of process and files\n"
	     "      --help         this text\n\n"
	     "Folio sizes need root (frame numbers); otherwise they are "
	     "recorded as unknown\nand assumed to be 4K, except where a PMD "
	     "maps the pages.");
	return EXIT_OK;
}

/* Closes @out.  Return: 0 or a negative errno. */
static int write_and_close(const struct layout *l, FILE *out)
{
	int ret = layout_write(l, out);

	if (!ret && fflush(out))
		ret = -errno;
	if (fclose(out) && !ret)
		ret = -errno;
	return ret;
}

static int write_directly(const struct layout *l, const char *path)
{
	FILE *out = fopen(path, "we");

	return out ? write_and_close(l, out) : -errno;
}

/* mkstemp() makes files for the owner alone; ours are as the umask says. */
static void apply_umask(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
}

static int write_and_rename(const struct layout *l, const char *path)
{
	const size_t bytes = strlen(path) + sizeof(".tmp.XXXXXX");
	char *tmp = malloc(bytes);
	FILE *out;
	int fd, ret;

	if (!tmp)
		return -ENOMEM;
	snprintf(tmp, bytes, "%s.tmp.XXXXXX", path);
	fd = mkstemp(tmp);
	ret = -errno;
	if (fd < 0)
		goto out_free;
	apply_umask(fd);
	out = fdopen(fd, "w");
	if (out) {
		ret = write_and_close(l, out);
	} else {
		ret = -ENOMEM;
		close(fd);
	}
	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret)
		unlink(tmp);
out_free:
	free(tmp);
	return ret;
}

static int write_file(const struct layout *l, const char *path)
{
	struct stat st;
	char *real;
	int ret;

	if (stat(path, &st))
		return errno == ENOENT ? write_and_rename(l, path) : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return write_directly(l, path);
	/* through a symbolic link: replace what it points to */
	real = realpath(path, NULL);
	if (!real)
		return -errno;
	ret = access(real, W_OK) ? -errno : write_and_rename(l, real);
	free(real);
	return ret;
}

static void summary(const struct layout *l)
{
	const double resident = (double)layout_resident_pages(l) / 256;
	const double unknown = (double)layout_unknown_pages(l) / 256;

	fprintf(stderr, "%s: %zu VMAs, %.1f MiB resident, ", l->source,
		l->nr_vmas, resident);
	if (unknown > 0)
		fprintf(stderr, "folio sizes of %.1f MiB unknown "
			"(assumed 4K)\n", unknown);
	else
		fputs("folio sizes known\n", stderr);
}

static int capture(pid_t pid, const char *path, bool names)
{
	struct layout_error why;
	struct layout *l;
	int ret;

	progress("reading process %d", (int)pid);
	ret = layout_capture(pid, &l, &why);
	progress_done();
	if (ret)
		return failed(NAME, "%s", why.text);
	if (!names)
		layout_drop_names(l);
	if (!strcmp(path, "-")) {
		path = "standard output";
		ret = layout_write(l, stdout);
		if (!ret && fflush(stdout))
			ret = -errno;
	} else {
		ret = write_file(l, path);
	}
	if (!ret)
		summary(l);
	layout_free(l);
	if (ret)
		return failed(NAME, "%s: %s", path, strerror(-ret));
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "no-names", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	bool names = true;
	u64 pid;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			path = optarg;
			break;
		case 'n':
			names = false;
			break;
		case 'h':
			return help();
		default:
			return bad_option(NAME, c, argv);
		}
	}
	if (optind == argc)
		return usage_error(NAME, "a process id is missing, see --help");
	if (!parse_u64(argv[optind], 1, INT32_MAX, &pid))
		return usage_error(NAME, "'%s' is not a process id",
				   argv[optind]);
	if (optind + 1 < argc)
		return usage_error(NAME, "'%s' is one argument too many",
				   argv[optind + 1]);
	if (!path || !*path)
		return usage_error(NAME, "-o FILE is missing, see --help");
	return capture((pid_t)pid, path, names);
}

const struct subcommand cmd_capture = {
	.name = NAME,
	.summary = "VMAs, residency and folio sizes of a running process",
	.run = run,
};
