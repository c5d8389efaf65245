/* SPDX-License-Identifier: MIT */
/*
 * Faults of the engine that can be switched on (tools/weave-mutants).
 */
#ifndef LAB_EXPLORE_MUTANT_H
#define LAB_EXPLORE_MUTANT_H

struct mutant {
	const char *name;
	const char *text;		/* what is wrong then */
	const char *found_by;		/* scenarios, with spaces between */
	const char *reference;		/* where such a bug was, or NULL */
};

/* Ends with one that has no name; number n is the n-th, from 1 on. */
extern const struct mutant mutants[];

/* 0: none is on */
extern unsigned int lab_mutant;

#endif
