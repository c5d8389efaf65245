/* SPDX-License-Identifier: MIT */
/*
 * Exits: at which of its ends and turns a GUP walk was.
 *
 * A test that never sees one of them has not tested it.  Only the lab's builds
 * (PINFOLD_LAB) count, each thread for itself; elsewhere the calls vanish.
 */
#ifndef HOST_EXITS_H
#define HOST_EXITS_H

#include "host/types.h"

enum walk_exit {
	/* one look at the tables: nothing to take */
	EXIT_NO_TABLE,		/* a level above the PMD is missing */
	EXIT_PMD_NONE,
	EXIT_PMD_HINT,		/* a leaf's NUMA hint, honoured */
	EXIT_PMD_GONE,		/* a leaf that was gone under its lock */
	EXIT_PMD_READ_ONLY,	/* a leaf, and the walk wants to write */
	EXIT_PMD_DUMP,		/* a leaf of zeroes, not worth dumping */
	EXIT_PMD_UNSHARE,
	EXIT_PUD_ABSENT,	/* a leaf that is read-only, or not there */
	EXIT_PUD_UNSHARE,
	EXIT_PTE_NO_TABLE,	/* a table that was gone, or became a leaf */
	EXIT_PTE_NONE,
	EXIT_PTE_ABSENT,	/* something that is not present */
	EXIT_PTE_HINT,
	EXIT_PTE_READ_ONLY,
	EXIT_PTE_DUMP,
	EXIT_PTE_NO_DESCRIPTOR,
	EXIT_PTE_UNSHARE,
	EXIT_GRAB_FAILED,	/* no reference to be had */
	/* one look at the tables: something to take, or another way */
	EXIT_PMD_LEAF,
	EXIT_PMD_SPLIT,		/* FOLL_SPLIT_PMD, or a table by now */
	EXIT_PUD_LEAF,
	/* a fault on behalf of the walk */
	EXIT_FAULT_WALK_AGAIN,
	EXIT_FAULT_FORBIDDEN,	/* FOLL_NOFAULT */
	EXIT_FAULT_COMPLETED,	/* done, and mmap_lock dropped */
	EXIT_FAULT_RETRY,	/* not done, and mmap_lock dropped */
	EXIT_FAULT_NO_WAIT,	/* not done, and FOLL_NOWAIT */
	EXIT_FAULT_ERROR,
	/* one hold of mmap_lock */
	EXIT_WHOLE,		/* all that was asked for */
	EXIT_NO_AREA,
	EXIT_AREA_FORBIDS,
	EXIT_SIGNAL,		/* a fatal one */
	EXIT_PARTIAL,		/* some pages, then one of the others */
	EXIT_LOCK_DROPPED,
	/* the call */
	EXIT_KILLED_AT_LOCK,	/* the first wait for mmap_lock */
	EXIT_RETRIED,		/* the page that the lock was dropped at */
	EXIT_RETRY_SIGNAL,
	EXIT_RETRY_KILLED,	/* a later wait for mmap_lock */
	EXIT_RETRY_ENDED,	/* nothing more after the lock was dropped */
	EXIT_UNPINNABLE,	/* longterm pins where memory has to move */
	NR_WALK_EXITS,
};

#ifdef PINFOLD_LAB
#define LAB_BUILD 1
#else
#define LAB_BUILD 0
#endif

extern __thread u64 walk_exits[NR_WALK_EXITS];
extern const char *const walk_exit_names[NR_WALK_EXITS];

static inline void note_exit(enum walk_exit exit)
{
	if (LAB_BUILD)
		walk_exits[exit]++;
}

#endif
