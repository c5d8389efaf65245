/* SPDX-License-Identifier: MIT */
#include "cli/tap.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

void tap_lock(void)
{
	flockfile(stdout);
}

void tap_unlock(void)
{
	funlockfile(stdout);
}

void tap_begin(struct tap *tap, unsigned int planned)
{
	tap->planned = planned;
	if (!getenv("KSFT_TAP_LEVEL"))
		puts("TAP version 13");
	printf("1..%u\n", planned);
}

void tap_print(const char *fmt, ...)
{
	va_list ap;

	tap_lock();
	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	tap_unlock();
}

void tap_result(struct tap *tap, bool ok, const char *fmt, ...)
{
	va_list ap;

	tap_lock();
	if (ok)
		tap->passed++;
	else
		tap->failed++;
	printf("%sok %u ", ok ? "" : "not ", tap->passed + tap->failed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	tap_unlock();
}

int tap_bail_out(const struct tap *tap, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* One line, whatever a caller's text contains. */
	for (char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	printf("Bail out! %s\n", text);
	tap_totals(tap);
	return EXIT_FAILED;
}

void tap_totals(const struct tap *tap)
{
	const unsigned int run = tap->passed + tap->failed;

	if (run != tap->planned)
		tap_print("Planned tests != run tests (%u != %u)\n",
			  tap->planned, run);
	tap_print("Totals: pass:%u fail:%u xfail:0 xpass:0 skip:0 error:0\n",
		  tap->passed, tap->failed);
}
