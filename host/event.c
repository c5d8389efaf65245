/* SPDX-License-Identifier: MIT */
#include "host/event.h"

__thread u64 event_counts[NR_EVENTS];

const char *const event_names[NR_EVENTS] = {
	[EV_WALKS] = "walks",
	[EV_PTL] = "ptl",
	[EV_ATOMICS] = "atomics",
	[EV_FOLIO_LOOKUPS] = "folio_lookups",
	[EV_XA_LOCK] = "xa_lock",
	[EV_XA_DESCENTS] = "xa_descents",
};
