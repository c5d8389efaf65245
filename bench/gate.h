/* SPDX-License-Identifier: MIT */
/*
 * Where the threads of a benchmark wait for each other.
 */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include "host/types.h"

/* Zero it, and set how many there are. */
struct gate {
	unsigned int nr_lanes;
	u32 word;		/* arrivals so far */
};

/* gate_wait() - all lanes leave together */
void gate_wait(struct gate *gate);

#endif
