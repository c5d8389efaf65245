/* SPDX-License-Identifier: MIT */
/*
 * Sequence counter: a reader learns that a writer was there meanwhile.
 *
 * Odd while a writer works.  Writers exclude each other by a lock of theirs.
 *
 * Source: include/linux/seqlock.h
 * Differs: raw_write_seqcount_begin() is a full barrier, so that a reader may
 *          raise a count that the writer looks at, with a full barrier behind
 *          it: one of the two sees the other.
 */
#ifndef HOST_SEQCOUNT_H
#define HOST_SEQCOUNT_H

#include "host/atomic.h"

typedef struct seqcount {
	u32 sequence;		/* (A) */
} seqcount_t;

static inline void seqcount_init(seqcount_t *s)
{
	s->sequence = 0;
}

/* raw_read_seqcount() - what read_seqcount_retry() wants; may be odd */
static inline unsigned int raw_read_seqcount(const seqcount_t *s)
{
	return smp_load_acquire(&s->sequence);
}

/* read_seqcount_retry() - was a writer there since @start was read? */
static inline bool read_seqcount_retry(const seqcount_t *s, unsigned int start)
{
	smp_rmb();
	return READ_ONCE(s->sequence) != start;
}

/*
 * [gup-fork] raise the sequence, then read the folios' counts; paired with
 * gup_fast()
 */
static inline void raw_write_seqcount_begin(seqcount_t *s)
{
	word_add(&s->sequence, 1);
	smp_mb();
}

static inline void raw_write_seqcount_end(seqcount_t *s)
{
	word_add(&s->sequence, 1);
}

#endif
