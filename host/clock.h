/* SPDX-License-Identifier: MIT */
#ifndef HOST_CLOCK_H
#define HOST_CLOCK_H

#include "host/types.h"

/* clock_ns() - monotonic time in nanoseconds */
u64 clock_ns(void);

#endif
