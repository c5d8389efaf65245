/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: getting frames back from page caches.
 *
 *	new ones          shrink_active_list()
 *	   |           .---------------------.
 *	   v           v                     |
 *	[ head ... inactive ... tail ]   [ head ... active ... tail ]
 *	                          |  |       ^
 *	                 victims  v  '-------' accessed twice
 *
 * A victim goes if it is clean, not under writeback, not used through an entry
 * since the last look, and nobody but the cache has it.  It leaves a shadow.
 *
 * Source: include/linux/swap.h, mm/vmscan.c
 * Differs: nothing is written back, and there is no swap space, so only clean
 *          folios of files are reclaimed, and nothing happens in the background.
 *          Reclaim never waits for a folio's lock or for writeback.
 */
#ifndef MM_VMSCAN_H
#define MM_VMSCAN_H

#include "mm/filemap.h"

/*
 * try_to_free_pages() - reclaim for an allocation of 2^@order frames
 *
 * From the zones that @gfp allows, 32 pages or what is needed, if there are as
 * many to be had.
 * Context: no spin lock is held.  Locks of folios may be: those are left alone.
 * Return: how many pages were freed, if not to somebody who holds one.
 * Source: mm/vmscan.c:try_to_free_pages()
 */
unsigned long try_to_free_pages(struct machine *machine, unsigned int order,
				gfp_t gfp);

/*
 * try_to_free_mem_cgroup_pages() - reclaim what @memcg has paid for
 *
 * Limit: LRU lists are the machine's, so what others have is walked over.
 * Source: mm/vmscan.c:try_to_free_mem_cgroup_pages()
 */
unsigned long try_to_free_mem_cgroup_pages(struct mem_cgroup *memcg,
					   unsigned long nr_pages, gfp_t gfp);

/*
 * remove_mapping() - take a folio out of its cache if nobody else has it
 *
 * Context: the folio is locked; the caller has the only reference beside the
 * cache's, and keeps it.
 * Return: its pages; 0 if somebody has it, or it is dirty.
 * Source: mm/vmscan.c:remove_mapping()
 */
long remove_mapping(struct address_space *mapping, struct folio *folio);

#endif
