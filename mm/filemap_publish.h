/* SPDX-License-Identifier: MIT */
/*
 * Putting folios that have their contents already into a page cache.
 *
 * Who fills a folio that is in the cache has to lock it, and may be left with a
 * half-filled one.  Who fills it before has neither, and nobody ever sees bytes
 * that are not there yet:
 *
 *	struct filemap_publish publish;
 *
 *	filemap_publish_init(&publish, mapping);
 *	... fill folios[0 ... nr - 1], stream_copy_fence() ...
 *	done = filemap_publish_folios(&publish, index, folios, nr);
 *	... -EEXIST: look at what is there; drop folios[done ... nr - 1] ...
 *	filemap_publish_end(&publish);
 *
 * Rules for callers: as for filemap_grab_folios().
 */
#ifndef MM_FILEMAP_PUBLISH_H
#define MM_FILEMAP_PUBLISH_H

#include "mm/filemap.h"

#define FILEMAP_PUBLISH_MAX	64	/* a leaf of the index */

/* Spare nodes of the index, from one call to the next. */
struct filemap_publish {
	struct address_space *mapping;
	struct xa_state xas;
	bool paid;		/* by filemap_publish_pay(): no reclaim any more */
};

void filemap_publish_init(struct filemap_publish *publish,
			  struct address_space *mapping);
/* filemap_publish_end() - free the spare nodes */
void filemap_publish_end(struct filemap_publish *publish);

/*
 * filemap_publish_pay() - get all memory that publishing takes: charge, nodes
 * @folios: NULL for what is in the cache already, a page each
 *
 * For who is going to publish with locks held.  From now on
 * filemap_publish_folios() charges nothing and does not reclaim.
 * Return: how many are paid for, NULLs in between included.
 * Owner: the charge is the folio's, and goes with it.
 */
unsigned int __must_check filemap_publish_pay(struct filemap_publish *publish,
					      pgoff_t index,
					      struct folio *const *folios,
					      unsigned int nr);

/*
 * filemap_publish_folios() - add folios, up to date and not locked
 * @index: of the first; the others follow without a gap, each at a multiple of
 *         its size
 * @nr: 1 to FILEMAP_PUBLISH_MAX
 *
 * As if they had been added and filled one by one, ascending; shadows give way
 * to them.  In a mapping whose folios can be evicted they are dirty, and marked
 * so, as soon as they are found.
 *
 * The current memory group pays, if filemap_publish_pay() has not.
 * Return: how many are in the cache now, short before one whose place is not
 * empty, or for want of a node or a charge.  If none: -EEXIST, -ENOMEM.
 * Owner: the cache has the caller's references of those; the others stay his.
 * Context: nobody else has the folios; takes xa_lock, once for each leaf of
 * single pages and for each large folio.  Nodes are allocated before, but over
 * shadows.
 */
int __must_check filemap_publish_folios(struct filemap_publish *publish,
					pgoff_t index,
					struct folio *const *folios,
					unsigned int nr);

#endif
