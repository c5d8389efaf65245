/* SPDX-License-Identifier: MIT */
/*
 * Catching what ends the check early: failed checks, crashes, and what is said
 * on stderr meanwhile.
 */
#ifndef LAB_EXPLORE_CATCH_H
#define LAB_EXPLORE_CATCH_H

#include <setjmp.h>

extern sigjmp_buf catch_env;

/* catch_begin() - 0 now, 1 when something was thrown */
#define catch_begin()	(catch_start(), sigsetjmp(catch_env, 0))
void catch_start(void);
void catch_throw(void) __attribute__((noreturn));
void catch_end(void);

/* catch_text() - what was written to stderr since catch_begin() */
const char *catch_text(void);

/* catch_install() - @crashed is told of SIGSEGV and its like */
void catch_install(void (*crashed)(const char *what));

#endif
