/* SPDX-License-Identifier: MIT */
#include "host/clock.h"

#include <time.h>

u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}
