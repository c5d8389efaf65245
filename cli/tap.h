/* SPDX-License-Identifier: MIT */
/*
 * Output in TAP version 13, in the form of Linux's kernel selftests.
 *
 * Any thread may print.  What must stand together is printed between tap_lock()
 * and tap_unlock(), which nest.
 */
#ifndef CLI_TAP_H
#define CLI_TAP_H

#include "host/compiler.h"
#include "host/types.h"

struct tap {
	unsigned int planned;
	unsigned int passed, failed;	/* tap_lock() */
};

void tap_lock(void);
void tap_unlock(void);

/* tap_begin() - version line, unless KSFT_TAP_LEVEL is set, and plan line */
void tap_begin(struct tap *tap, unsigned int planned);

/* tap_print() - "# " and the text; a line ends only where the text says so */
void tap_print(const char *fmt, ...) __printf(1, 2);

/* tap_result() - the next result line */
void tap_result(struct tap *tap, bool ok, const char *fmt, ...)
	__printf(3, 4);

/*
 * tap_bail_out() - one line why it cannot go on, and the totals
 *
 * Return: EXIT_FAILED.
 */
int tap_bail_out(const struct tap *tap, const char *fmt, ...)
	__printf(2, 3);

/* tap_totals() - the last line, and one before it if results are missing */
void tap_totals(const struct tap *tap);

#endif
