/* SPDX-License-Identifier: MIT */
/*
 * Repeatable random numbers: splitmix64.
 */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include "host/types.h"

struct random {
	u64 state;		/* any value is a good seed */
};

static inline u64 random_next(struct random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* random_below() - 0 ... @n - 1; @n is at least 1 */
static inline u64 random_below(struct random *r, u64 n)
{
	return random_next(r) % n;
}

static inline bool random_chance(struct random *r, unsigned int percent)
{
	return random_below(r, 100) < percent;
}

#endif
