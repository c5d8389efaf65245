/* SPDX-License-Identifier: MIT */
#include "host/race_point.h"

#ifdef PINFOLD_LAB
__thread race_hook_fn race_hook;
__thread void *race_hook_arg;
#endif
