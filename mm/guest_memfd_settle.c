/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: filling a folio that is in the file already.
 *
 * One that is only allocated gets its bytes in place, under its lock: nobody has
 * seen what it had.  If not the whole of it is filled it is split: it would be
 * prepared as a whole.  A prepared one ends the call, or is overwritten.
 *
 * Locks: invalidate_lock is held for read; folio lock.
 * Source: the design is its own.
 */
#include "mm/guest_memfd_internal.h"

#include "host/errtext.h"
#include "host/stream_copy.h"
#include "mm/folio_split.h"

#include <errno.h>
#include <inttypes.h>

static int settle_locked(struct gmem_fill *fill, struct folio *folio)
{
	const pgoff_t index = fill->pos;
	pgoff_t next = min(folio_next_index(folio),
			   min(fill->end, fill->window_end));

	if (folio_test_uptodate(folio) && !fill->overwrite)
		return fail(-EEXIST, "page %" PRIu64 " is prepared already",
			    index, 0, 0);
	if (gmem_poisoned(folio, index, index + 1))
		return fail(-EHWPOISON, "page %" PRIu64 " is poisoned", index,
			    0, 0);
	if (gmem_poisoned(folio, index, next))
		next = index + 1;
	if (!folio_test_uptodate(folio) &&
	    (pgoff_t)folio_nr_pages(folio) != next - index)
		return split_folio_to_order(folio, 0) == -ENOMEM ? -ENOMEM :
								   -EAGAIN;
	stream_copy(page_address(folio_page(folio, index - folio->index)),
		    gmem_window_at(fill, index), (next - index) << PAGE_SHIFT);
	folio_mark_uptodate(folio);
	fill->pos = next;
	return 0;
}

int gmem_settle(struct gmem_fill *fill)
{
	struct folio *folio = filemap_lock_folio(&fill->gmem->mapping,
						 fill->pos);
	int err;

	if (IS_ERR(folio))
		return -EAGAIN;
	err = settle_locked(fill, folio);
	/*
	 * In this order: whoever waits for the lock, to split it as well, must
	 * not find our reference.  Locked, it stays in the index and alive.
	 */
	if (err == -EAGAIN) {
		folio_put(folio);
		folio_unlock(folio);
		return err;
	}
	folio_unlock(folio);
	folio_put(folio);
	return err;
}
