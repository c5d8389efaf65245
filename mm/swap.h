/* SPDX-License-Identifier: MIT */
/*
 * LRU lists and the per-CPU batches in front of them.
 *
 * A small folio that was just faulted in sits in its CPU's batch, which holds
 * one reference, until the batch is full or drained.  Large folios go to their
 * list at once.
 *
 * Source: mm/swap.c, include/linux/swap.h
 */
#ifndef MM_SWAP_H
#define MM_SWAP_H

#include "mm/folio.h"

static inline bool folio_may_be_lru_cached(const struct folio *folio)
{
	return !folio_test_large(folio);
}

/* folio_add_lru() - put a new folio on its LRU list, by way of the batch */
void folio_add_lru(struct folio *folio);
void lru_add_drain(void);			/* the calling thread's CPU */
void lru_add_drain_all(struct machine *machine);

/*
 * folio_mark_accessed() - age up: not referenced -> referenced -> active
 *
 * A referenced inactive folio becomes active and loses the mark; one that is
 * unevictable stays referenced.
 * Source: mm/swap.c:folio_mark_accessed()
 * Differs: activation takes the LRU lock at once; Linux batches it.
 */
void folio_mark_accessed(struct folio *folio);

/*
 * folio_isolate_lru() - take a folio off its list, with a reference
 *
 * Return: true if it was on one and is the caller's now, who ends with
 * folio_putback_lru().  False if it is in a batch, or isolated already.
 */
bool __must_check folio_isolate_lru(struct folio *folio);
void folio_putback_lru(struct folio *folio);

/*
 * lru_isolate() - the same, for who walks the list and has got his reference
 *
 * Context: zone->lru_lock; the folio is on a list of @zone's.
 */
void lru_isolate(struct zone *zone, struct folio *folio);

/*
 * lru_add_split() - a part of @folio becomes a folio of its own
 *
 * It takes its place beside @folio on the list, whose pages stay as many.
 * Context: zone->lru_lock; @folio is on a list, and frozen.
 * Source: mm/huge_memory.c:lru_add_page_tail()
 */
void lru_add_split(struct folio *folio, struct folio *part);

/* folio_del_lru() - take a dead folio off its list */
void folio_del_lru(struct folio *folio);

#endif
