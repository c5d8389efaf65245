/* SPDX-License-Identifier: MIT */
/*
 * Finding or adding many folios of a range together.
 *
 *	struct folio_grab grab;
 *
 *	filemap_grab_init(&grab);
 *	while (index < end) {
 *		err = filemap_grab_folios(mapping, index, end - index,
 *					  FGP_LOCK | FGP_CREAT, gfp, order,
 *					  &grab);
 *		if (err < 0)
 *			break;
 *		... use, unlock and put grab.folios[0 ... err - 1] ...
 *		index = grab.next;
 *	}
 *	filemap_grab_end(&grab);
 *
 * Rules for callers
 * - Hold invalidate_lock if the folios must not outlive a hole that is punched
 *   meanwhile, and look at the file's size.
 * - No folio of the mapping at or above the start is locked; lower ones may be.
 */
#ifndef MM_FILEMAP_GRAB_H
#define MM_FILEMAP_GRAB_H

#include "mm/filemap.h"

#define FILEMAP_GRAB_MAX	64	/* a leaf of the index */

struct folio_grab {
	pgoff_t next;			/* first index that is not covered */
	unsigned int nr;
	unsigned int nr_spares;
	u64 created;			/* bit i: folios[i] is new */
	struct folio *folios[FILEMAP_GRAB_MAX];
	/* Allocated and not used: the next call's, in no order. */
	struct folio *spares[FILEMAP_GRAB_MAX];
	struct xa_node *nodes;
	unsigned int nr_nodes;
};

void filemap_grab_init(struct folio_grab *grab);
/* filemap_grab_end() - free the spare folios and nodes */
void filemap_grab_end(struct folio_grab *grab);

/*
 * filemap_grab_folios() - find or add the folios of [@start, @start + @nr)
 * @fgp: as for __filemap_get_folio(); FGP_CREAT implies FGP_LOCK or FGP_FOR_MMAP
 * @max_order: of what is added
 *
 * @grab->folios ascend without a gap from @start.  What is there already may
 * begin earlier or end later, what is added ends in the range, unless the
 * mapping's smallest order says otherwise.  Each has a reference, and is locked
 * with FGP_LOCK, but for new ones with FGP_FOR_MMAP.
 *
 * Return: how many folios, which may cover less than @nr pages.  If none:
 * -ENOMEM, also for want of a charge, or -EAGAIN with FGP_NOWAIT; -EAGAIN, the first one is locked;
 * -ENOENT, nothing is there, without FGP_CREAT; -EINTR, a signal is pending,
 * with FGP_INTERRUPTIBLE; -EINVAL, @nr is 0, the range
 * wraps, or a value is there that the mapping keeps.
 * Owner: nothing is held beyond @grab->next but spare folios, until
 * filemap_grab_end().
 * Context: may sleep for folio locks, in ascending order; takes xa_lock, once
 * for each leaf of new single pages.  Frames are allocated while nothing that it
 * has locked is in the cache; so are nodes, but for large folios, over large
 * shadows, and after a race, and then nothing is reclaimed for them.
 */
int __must_check filemap_grab_folios(struct address_space *mapping,
				     pgoff_t start, pgoff_t nr, fgf_t fgp,
				     gfp_t gfp, unsigned int max_order,
				     struct folio_grab *grab);

#endif
