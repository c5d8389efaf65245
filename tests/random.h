/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of a test that can be run again: the seed is printed, and
 * taken from PINFOLD_SEED if that is set.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lab/random.h"

static inline void random_init(struct random *r)
{
	const char *set = getenv("PINFOLD_SEED");

	r->state = set ? strtoull(set, NULL, 0) : (u64)time(NULL);
	fprintf(stderr, "PINFOLD_SEED=%llu\n", (unsigned long long)r->state);
}

#endif
