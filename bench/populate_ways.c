/* SPDX-License-Identifier: MIT */
/*
 * Ways to fill a file: folio by folio, as before S4, and many at a time.  All
 * copy by streaming stores; several pages at a time, which is faster, can only who
 * has several.
 */
#include "bench/populate.h"

#include "host/stream_copy.h"
#include "mm/filemap_grab.h"

/* The bytes of one folio; the fence is the caller's. */
static void copy_folio(const struct populate *p, struct folio *folio)
{
	stream_copy_unfenced(page_address(&folio->page),
			     p->source + (folio->index << PAGE_SHIFT),
			     (size_t)folio_nr_pages(folio) << PAGE_SHIFT);
}

static void let_go(struct folio *folio)
{
	folio_unlock(folio);
	folio_put(folio);
}

void populate_one(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	const fgf_t fgp = FGP_LOCK | FGP_CREAT |
			  fgf_set_order(PAGE_SIZE << p->order);
	pgoff_t index = lane->start;

	while (index < lane->end) {
		struct folio *folio = __filemap_get_folio(&p->gmem->mapping, index,
						fgp, p->gmem->mapping.gfp_mask);

		if (IS_ERR(folio)) {
			lane->err = (int)PTR_ERR(folio);
			break;
		}
		if (p->copy) {
			copy_folio(p, folio);
			stream_copy_fence();
			folio_mark_uptodate(folio);
		}
		index = folio_next_index(folio);
		let_go(folio);
	}
	lane->done = index - lane->start;
}

void populate_batch(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	const pgoff_t step = (pgoff_t)p->way->batch << p->order;
	pgoff_t index = lane->start, end = index;
	struct folio_grab grab;
	int nr;

	filemap_grab_init(&grab);
	while (index < lane->end) {
		/* A call of more than a batch takes several. */
		if (index == end)
			end = min(index + step, lane->end);
		nr = filemap_grab_folios(&p->gmem->mapping, index, end - index,
					 FGP_LOCK | FGP_CREAT,
					 p->gmem->mapping.gfp_mask, p->order, &grab);
		if (nr < 0) {
			lane->err = nr;
			break;
		}
		for (unsigned int i = 0; i < grab.nr; i++)
			let_go(grab.folios[i]);
		index = grab.next;
	}
	filemap_grab_end(&grab);
	lane->done = index - lane->start;
}

/* Copied first, then added: nothing has to be locked. */
void populate_publish(struct populate_lane *lane)
{
	struct populate *p = lane->p;
	const u64 step = (u64)p->way->batch << p->order << PAGE_SHIFT;
	u64 at = lane->start << PAGE_SHIFT, end = lane->end << PAGE_SHIFT;
	int64_t done = 0;

	for (; at < end; at += (u64)done) {
		done = guest_memfd_populate(p->gmem, at, p->source + at,
					    min(step, end - at));
		if (done <= 0) {
			lane->err = (int)done;
			break;
		}
	}
	lane->done = (at >> PAGE_SHIFT) - lane->start;
}

void populate_query_one(struct populate_lane *lane)
{
	pgoff_t index = lane->start;

	while (index < lane->end) {
		struct folio *folio = filemap_get_folio(&lane->p->gmem->mapping,
							index);

		if (IS_ERR(folio)) {
			lane->err = (int)PTR_ERR(folio);
			break;
		}
		index = folio_next_index(folio);
		folio_put(folio);
	}
	lane->done = index - lane->start;
}

void populate_query_batch(struct populate_lane *lane)
{
	struct folio_batch fbatch;
	pgoff_t index = lane->start;

	folio_batch_init(&fbatch);
	while (index < lane->end &&
	       filemap_get_folios(&lane->p->gmem->mapping, &index, lane->end - 1,
				  &fbatch))
		folio_batch_release(&fbatch);
	lane->done = min(index, lane->end) - lane->start;
}
