/* SPDX-License-Identifier: MIT */
/*
 * Exits: by which way the parts of GUP ended.
 *
 * Only the lab build (PINFOLD_LAB) counts, each thread for itself, so that a
 * test can demand that a way out was taken; elsewhere the calls vanish.
 */
#ifndef HOST_EXITS_H
#define HOST_EXITS_H

#include "host/types.h"

enum gup_exit {
	/* one look at the tables: nothing to take */
	GUP_SLOW_NO_TABLE,	/* a level above the PMD is missing */
	GUP_SLOW_PMD_NONE,
	GUP_SLOW_PMD_HINT,	/* a leaf's NUMA hint, honoured */
	GUP_SLOW_PMD_GONE,	/* a leaf that was gone under its lock */
	GUP_SLOW_PMD_READ_ONLY,	/* a leaf, and the walk wants to write */
	GUP_SLOW_PMD_DUMP,	/* a leaf of zeroes, not worth dumping */
	GUP_SLOW_PMD_UNSHARE,
	GUP_SLOW_PUD_ABSENT,	/* a leaf that is read-only, or not there */
	GUP_SLOW_PUD_UNSHARE,
	GUP_SLOW_PTE_NO_TABLE,	/* a table that was gone, or became a leaf */
	GUP_SLOW_PTE_NONE,
	GUP_SLOW_PTE_ABSENT,	/* something that is not present */
	GUP_SLOW_PTE_HINT,
	GUP_SLOW_PTE_READ_ONLY,
	GUP_SLOW_PTE_DUMP,
	GUP_SLOW_PTE_NO_DESCRIPTOR,
	GUP_SLOW_PTE_UNSHARE,
	GUP_SLOW_GRAB_FAILED,	/* no reference to be had */
	/* one look at the tables: something to take, or another way */
	GUP_SLOW_PMD_LEAF,
	GUP_SLOW_PMD_SPLIT,	/* FOLL_SPLIT_PMD, or a table by now */
	GUP_SLOW_PUD_LEAF,
	/* a fault on behalf of the walk */
	GUP_SLOW_FAULT_WALK_AGAIN,
	GUP_SLOW_FAULT_FORBIDDEN,	/* FOLL_NOFAULT */
	GUP_SLOW_FAULT_COMPLETED,	/* done, and mmap_lock dropped */
	GUP_SLOW_FAULT_RETRY,	/* not done, and mmap_lock dropped */
	GUP_SLOW_FAULT_NO_WAIT,	/* not done, and FOLL_NOWAIT */
	GUP_SLOW_FAULT_ERROR,
	/* one hold of mmap_lock */
	GUP_SLOW_WHOLE,		/* all that was asked for */
	GUP_SLOW_NO_AREA,
	GUP_SLOW_AREA_FORBIDS,
	GUP_SLOW_SIGNAL,	/* a fatal one */
	GUP_SLOW_PARTIAL,	/* some pages, then one of the others */
	GUP_SLOW_LOCK_DROPPED,
	/* the call */
	GUP_SLOW_KILLED_AT_LOCK,	/* the first wait for mmap_lock */
	GUP_SLOW_RETRIED,	/* the page that the lock was dropped at */
	GUP_SLOW_RETRY_SIGNAL,
	GUP_SLOW_RETRY_KILLED,	/* a later wait for mmap_lock */
	GUP_SLOW_RETRY_ENDED,	/* nothing more after the lock was dropped */
	GUP_SLOW_UNPINNABLE,	/* longterm pins where memory has to move */
	/* the lockless walk; F-numbers are those of its steps (mm/gup_fast.c) */
	GUP_FAST_ABSENT,	/* no table below an upper entry */
	GUP_FAST_F1,		/* PROT_NONE */
	GUP_FAST_F2,		/* not permitted by the entry, or none */
	GUP_FAST_F4,		/* special */
	GUP_FAST_F5_FROZEN,	/* the folio's count is not positive */
	GUP_FAST_F5_MOVED,	/* the page belongs to another folio by now */
	GUP_FAST_F5_LONGTERM,	/* may not be pinned for long */
	GUP_FAST_F6_ENTRY,	/* the entry has changed */
	GUP_FAST_F6_TABLE,	/* the entry that its table hangs on has */
	GUP_FAST_F7,		/* file memory that is not to be written so */
	GUP_FAST_F8,		/* not exclusive */
	GUP_FAST_CLIPPED,	/* a run was shorter than its folio said */
	GUP_FAST_FORKING,	/* a fork is write-protecting */
	GUP_FAST_FORKED,	/* a fork began meanwhile */
	NR_GUP_EXITS,
};

#ifdef PINFOLD_LAB
extern __thread u64 gup_exits[NR_GUP_EXITS];
extern const char *const gup_exit_names[NR_GUP_EXITS];
#define note_exit(name)		((void)gup_exits[name]++)
#else
#define note_exit(name)		((void)(name))
#endif

#endif
