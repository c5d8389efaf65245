/* SPDX-License-Identifier: MIT */
/*
 * The reason of the calling thread's last failure, with the values involved.
 *
 * Cheap to record (a pointer and three numbers), turned into words only when
 * somebody asks.
 */
#ifndef HOST_ERRTEXT_H
#define HOST_ERRTEXT_H

#include "host/compiler.h"
#include "host/types.h"

struct error_note {
	int err;
	const char *format;	/* at most three % conversions, each PRI*64 */
	u64 values[3];
};

extern __thread struct error_note error_note;

/*
 * fail() - record why, and yield the errno to return
 * @err: negative errno
 * @format: string literal; up to three conversions of 64-bit values
 */
static inline int fail(int err, const char *format, u64 a, u64 b, u64 c)
{
	error_note = (struct error_note){ err, format, { a, b, c } };
	return err;
}

/* error_text() - the words, in a buffer of the calling thread */
const char *error_text(void);

#endif
