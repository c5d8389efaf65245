/* SPDX-License-Identifier: MIT */
/*
 * Schedules as text: "a12b.c3~1": before its 12th operation thread a gives way
 * to b; the load that is c's third operation sees the store before the newest.
 * "w." in front: memory is weak.
 */
#include "lab/explore/search.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] = "abcdr_";	/* r: RCU callbacks, _: nobody yet */

_Static_assert(sizeof(letters) == NR_TASKS + 2, "a letter for each task");

void schedule_text(const struct schedule *s, char *text, size_t room)
{
	size_t used = 0;

	if (s->weak)
		used = snprintf(text, room, "w%s", s->nr ? "." : "");
	else
		snprintf(text, room, "-");
	for (unsigned int i = 0; i < s->nr && used < room; i++) {
		const struct deviation *d = &s->dev[i];

		used += snprintf(text + used, room - used, "%s%c%u",
				 i ? "." : "", letters[d->task], d->op);
		if (used < room && (d->to & STALE))
			used += snprintf(text + used, room - used, "~%u",
					 d->to & ~STALE);
		else if (used < room)
			used += snprintf(text + used, room - used, "%c",
					 letters[d->to]);
	}
}

static int task_of(char letter)
{
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? at - letters : -1;
}

bool schedule_parse(const char *text, struct schedule *s)
{
	s->nr = 0;
	s->weak = *text == 'w';
	if (!strcmp(text, "-") || !strcmp(text, "w"))
		return true;
	if (s->weak && text[1] != '.')
		return false;
	if (s->weak)
		text += 2;
	for (;; text++) {
		struct deviation *d = &s->dev[s->nr];
		int task = task_of(*text), to;
		char *end;

		if (task < 0 || s->nr == MAX_DEVIATIONS ||
		    !isdigit((unsigned char)text[1]))
			return false;
		d->task = task;
		d->op = strtoul(text + 1, &end, 10);
		text = end + 1;
		if (*end == '~' && isdigit((unsigned char)*text)) {
			d->to = STALE | (strtoul(text, &end, 10) & 0x7f);
			text = end;
		} else {
			to = task_of(*end);
			if (to < 0 || to == NOBODY)
				return false;
			d->to = to;
		}
		s->nr++;
		if (!*text)
			return true;
		if (*text != '.')
			return false;
	}
}
