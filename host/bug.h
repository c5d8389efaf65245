/* SPDX-License-Identifier: MIT */
/*
 * Assertions in three tiers.
 *
 * BUG_ON()     always on, O(1), only where going on would corrupt memory
 * VM_BUG_ON()  debug builds (PINFOLD_DEBUG), O(1); parsed in all builds
 * WARN_ON_ONCE() yields its condition; says so on stderr in debug builds
 *
 * They are for pinfold's own bugs.  A caller's mistake is an errno.
 */
#ifndef HOST_BUG_H
#define HOST_BUG_H

#include "host/compiler.h"
#include "host/types.h"

#ifdef PINFOLD_DEBUG
#define DEBUG_BUILD 1
#else
#define DEBUG_BUILD 0
#endif

void bug_at(const char *file, int line, const char *what) __noreturn __cold;
/* bug_text() - say so on stderr and abort; under a controller, tell that */
void bug_text(const char *format, ...) __noreturn __cold __printf(1, 2);
void warn_at(const char *file, int line, const char *what) __cold;
bool warn_once(bool *once) __cold;

#define BUG_ON(cond) do {						\
	if (unlikely(cond))						\
		bug_at(__FILE__, __LINE__, #cond);			\
} while (0)
#define BUG()		bug_at(__FILE__, __LINE__, "reached")

#define VM_BUG_ON(cond) do {						\
	if (DEBUG_BUILD && unlikely(cond))				\
		bug_at(__FILE__, __LINE__, #cond);			\
} while (0)

#define WARN_ON_ONCE(cond) ({						\
	bool _warn = !!(cond);						\
	if (DEBUG_BUILD && unlikely(_warn)) {				\
		static bool _once;					\
		if (!warn_once(&_once))				\
			warn_at(__FILE__, __LINE__, #cond);		\
	}								\
	unlikely(_warn);						\
})

#endif
