/* SPDX-License-Identifier: MIT */
/*
 * Events: what a piece of work did, counted inside the primitives.
 *
 * Only the counting build (PINFOLD_COUNTING) counts; elsewhere the calls
 * vanish, so no timed figure ever includes them.  Counters are the calling
 * thread's own.
 */
#ifndef HOST_EVENT_H
#define HOST_EVENT_H

#include "host/types.h"

enum event {
	EV_WALKS,		/* page-table walks started at the top */
	EV_PTL,			/* page-table lock acquisitions */
	EV_ATOMICS,		/* read-modify-writes on atomic counters */
	EV_FOLIO_LOOKUPS,	/* page -> folio look-ups */
	EV_XA_LOCK,		/* index lock acquisitions */
	EV_XA_DESCENTS,		/* index descents from the root */
	NR_EVENTS,
};

#ifdef PINFOLD_COUNTING
#define COUNTING_BUILD 1
#else
#define COUNTING_BUILD 0
#endif

extern __thread u64 event_counts[NR_EVENTS];
extern const char *const event_names[NR_EVENTS];

static inline void count_event(enum event ev)
{
	if (COUNTING_BUILD)
		event_counts[ev]++;
}

#endif
