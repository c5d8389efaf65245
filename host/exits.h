/* SPDX-License-Identifier: MIT */
/*
 * Exits: by which way the parts of GUP ended.
 *
 * Only the lab build (PINFOLD_LAB) counts, each thread for itself, so that a
 * test can demand that a way out was taken; elsewhere the calls vanish.
 *
 * F-numbers are those of the lockless walk's steps (mm/gup_fast.c).
 */
#ifndef HOST_EXITS_H
#define HOST_EXITS_H

#include "host/types.h"

enum gup_exit {
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
