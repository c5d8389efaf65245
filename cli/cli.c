/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/clock.h"

#define PROGRESS_NS	100000000

static bool progress_shown;

/* One line: what is not printable in a caller's text becomes '?'. */
static void message(const char *cmd, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	for (char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	progress_done();
	fprintf(stderr, "pinfold%s%s: %s\n", cmd ? " " : "", cmd ? cmd : "",
		text);
}

int usage_error(const char *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(cmd, fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

int failed(const char *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(cmd, fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

/*
 * For a long option optopt is its short value or 0 and argv[optind - 1] is the
 * word itself; a refused letter may sit in a word that is not done yet.
 */
int bad_option(const char *cmd, int c, char **argv)
{
	const char *word = argv[optind - 1];
	const bool is_long = !strncmp(word, "--", 2);
	char letter[3] = { '-', (char)optopt, '\0' };

	if (!is_long && isprint(optopt))
		word = letter;
	if (c == ':')
		return usage_error(cmd, "option '%s' needs a value", word);
	if (is_long && optopt)
		return usage_error(cmd, "option '%s' takes no value", word);
	return usage_error(cmd, "unknown or ambiguous option '%s', see --help",
			   word);
}

/* The digits at *@s as a number; *@s is moved behind them. */
static bool parse_digits(const char **s, u64 *out)
{
	const char *p = *s;
	u64 base = 10, value = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	}
	*s = p;
	for (; isxdigit((unsigned char)*p); p++) {
		int c = tolower((unsigned char)*p);
		u64 digit = (u64)(c <= '9' ? c - '0' : c - 'a' + 10);

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (p == *s)
		return false;
	*s = p;
	*out = value;
	return true;
}

bool parse_u64(const char *s, u64 lo, u64 hi, u64 *out)
{
	u64 value;

	if (!parse_digits(&s, &value) || *s || value < lo || value > hi)
		return false;
	*out = value;
	return true;
}

bool parse_size(const char *s, u64 lo, u64 hi, u64 *out)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned int shift = 0;
	u64 value;

	if (!parse_digits(&s, &value))
		return false;
	if (*s) {
		suffix = strchr(suffixes, toupper((unsigned char)*s));
		if (!suffix || s[1])
			return false;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return false;
	value <<= shift;
	if (value < lo || value > hi)
		return false;
	*out = value;
	return true;
}

void progress(const char *fmt, ...)
{
	static u64 last_ns;
	u64 now = clock_ns();
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	if (progress_shown && now - last_ns < PROGRESS_NS)
		return;
	last_ns = now;
	progress_shown = true;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}

void progress_done(void)
{
	if (!progress_shown)
		return;
	progress_shown = false;
	fputs("\r\033[K", stderr);
	fflush(stderr);
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

int run_command(int (*run)(int argc, char **argv), int argc, char **argv)
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
