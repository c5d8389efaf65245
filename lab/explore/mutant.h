/* SPDX-License-Identifier: MIT */
/*
 * Faults of the engine that can be switched on (tools/weave-mutants).
 */
#ifndef LAB_EXPLORE_MUTANT_H
#define LAB_EXPLORE_MUTANT_H

#include <stdbool.h>
#include <stddef.h>

struct mutant {
	unsigned int number;		/* of lab_mutant */
	const char *name;
	const char *text;		/* what is wrong then */
	const char *found_by;		/* scenarios, with spaces between */
	const char *reference;		/* where such a bug was, or NULL */
	bool fits;			/* the source, which may have changed */
};

/* Ends with one that has no name. */
extern const struct mutant mutants[];

/* The number of the one that is on, or 0. */
extern unsigned int lab_mutant;

static inline const struct mutant *mutant_on(void)
{
	const struct mutant *m = mutants;

	while (m->name && m->number != lab_mutant)
		m++;
	return m->name ? m : NULL;
}

#endif
