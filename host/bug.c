/* SPDX-License-Identifier: MIT */
#include "host/bug.h"

#include "host/atomic.h"
#include "host/sched.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bug_text(const char *format, ...)
{
	char text[2304];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
#ifdef PINFOLD_SCHED
	if (sched_ops)
		sched_ops->bug(text);
#endif
	fprintf(stderr, "pinfold: %s\n", text);
	abort();
}

void bug_at(const char *file, int line, const char *what)
{
	bug_text("BUG at %s:%d: %s", file, line, what);
}

void warn_at(const char *file, int line, const char *what)
{
	fprintf(stderr, "pinfold: warning at %s:%d: %s\n", file, line, what);
}

/* warn_once() - true when @once was already set */
bool warn_once(bool *once)
{
	return xchg_relaxed(once, true);
}
