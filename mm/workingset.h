/* SPDX-License-Identifier: MIT */
/*
 * The working set: was a page that comes back worth keeping?
 *
 * A clock of each memory group counts the pages that leave its inactive list,
 * evicted or activated.  An evicted folio leaves the time in its slot, as a
 * shadow:
 *
 *	 63              18 17             2      1          0
 *	+------------------+----------------+------------+-----+
 *	| time             | group          | workingset |  1  |
 *	+------------------+----------------+------------+-----+
 *
 * If it is added again, the time that has passed is how many more pages the
 * inactive list would have needed to keep it.  If the active list has that many,
 * one of those could have gone instead: the folio begins as active.
 *
 * Shadows take memory: the nodes of an index that hold nothing else are on one
 * list of the machine's, and go when there are too many.
 *
 * Source: mm/workingset.c
 * Differs: one memory node, so a shadow names none, and the clock needs no
 *          buckets.
 */
#ifndef MM_WORKINGSET_H
#define MM_WORKINGSET_H

#include "lib/xarray.h"
#include "mm/memcontrol.h"

/*
 * workingset_eviction() - the shadow of a folio that is being evicted
 * @target: the group that memory is reclaimed of; NULL: of all
 *
 * Context: the folio is locked, frozen, and on no LRU list.
 */
void *workingset_eviction(struct folio *folio, struct mem_cgroup *target);

/* workingset_test_recent() - would a list as long as the active one have kept it? */
bool workingset_test_recent(struct machine *machine, void *shadow,
			    bool *workingset);

/*
 * workingset_refault() - a folio was added where @shadow was
 *
 * Context: the folio is locked, and not yet on its way to an LRU list.
 */
void workingset_refault(struct folio *folio, void *shadow);

/* workingset_activation() - the folio has moved to the active list */
void workingset_activation(struct folio *folio);

/* workingset_update_node() - xa_update_node_t of a mapping with shadows */
void workingset_update_node(struct xa_node *node);

/* count_shadow_nodes() - how many nodes with nothing but shadows are too many */
unsigned long count_shadow_nodes(struct machine *machine);

/*
 * shrink_shadow_nodes() - free up to @nr of them, those that are so longest first
 *
 * Return: how many; fewer if indices are locked.
 * Context: no spin lock is held; takes and releases xa_lock of any mapping.
 */
unsigned long shrink_shadow_nodes(struct machine *machine, unsigned long nr);

#endif
