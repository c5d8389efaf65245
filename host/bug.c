/* SPDX-License-Identifier: MIT */
#include "host/bug.h"

#include "host/atomic.h"

#include <stdio.h>
#include <stdlib.h>

void bug_at(const char *file, int line, const char *what)
{
	fprintf(stderr, "pinfold: BUG at %s:%d: %s\n", file, line, what);
	abort();
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
