/* SPDX-License-Identifier: MIT */
#include "host/errtext.h"

#include <stdio.h>
#include <string.h>

__thread struct error_note error_note;

const char *error_text(void)
{
	static __thread char text[256];
	const struct error_note *n = &error_note;
	int used;

	if (!n->err)
		return "no error";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	used = snprintf(text, sizeof(text), n->format, n->values[0],
			n->values[1], n->values[2]);
#pragma GCC diagnostic pop
	if (used >= 0 && (size_t)used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ": %s",
			 strerror(-n->err));
	return text;
}
