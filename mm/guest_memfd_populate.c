/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: filling pages.
 *
 * Copy, then publish.  In turns of up to a leaf of single pages, or a large
 * folio:
 *
 *   take     frames that are nobody else's, the largest that fit
 *   copy     into them, holding no lock
 *   publish  all that go into empty slots, in one hold of xa_lock
 *   settle   a slot that is not empty: an allocated folio is filled in place,
 *            under its lock; a prepared one ends the call, or is overwritten
 *
 * So a guest's fault, which takes the folio lock and not invalidate_lock, finds
 * all bytes of a page or prepares an empty one; whoever is first wins, and the
 * other one hears of it.
 *
 * Where a large frame meets something in its range the turn is taken again with
 * single pages.  An allocated large folio that is not filled as a whole is
 * split: it would be prepared as a whole.
 *
 * Locks: invalidate_lock for read, folio lock, xa_lock.
 * Source: the design is its own.
 */
#include "mm/guest_memfd.h"

#include "host/errtext.h"
#include "host/stream_copy.h"
#include "mm/filemap_internal.h"
#include "mm/folio_split.h"
#include "mm/guest_memfd_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void gmem_fill_init(struct gmem_fill *fill, struct guest_memfd *gmem)
{
	fill->gmem = gmem;
	fill->overwrite = false;
	fill->small_until = 0;
	fill->nr = 0;
	filemap_publish_init(&fill->publish, &gmem->mapping);
}

void gmem_fill_end(struct gmem_fill *fill)
{
	filemap_publish_end(&fill->publish);
}

/* ---- take and copy --------------------------------------------------- */

/* The largest order at @index that ends before @end. */
static unsigned int largest_order(const struct gmem_fill *fill, pgoff_t index,
				  pgoff_t end)
{
	unsigned int order = mapping_max_folio_order(&fill->gmem->mapping);

	if (index < fill->small_until)
		return 0;
	if (index)
		order = min_t(unsigned int, order,
			      (unsigned int)__builtin_ctzll(index));
	return min_t(unsigned int, order,
		     63 - (unsigned int)__builtin_clzll(end - index));
}

/* So many pages from @index on have to be single; at least one. */
static unsigned int single_pages(const struct gmem_fill *fill, pgoff_t index,
				 pgoff_t end)
{
	if (mapping_max_folio_order(&fill->gmem->mapping))
		end = min(end, max(fill->small_until, index + 1));
	return (unsigned int)min(end - index, (pgoff_t)FILEMAP_PUBLISH_MAX);
}

/*
 * The next frames, of at most @order: several if that is 0.  Short memory makes
 * smaller folios; halves keep what follows aligned.
 *
 * Return: how many were added to the fill's.
 */
static unsigned int take_frames(struct gmem_fill *fill, unsigned int order,
				unsigned int nr)
{
	const gfp_t gfp = fill->gmem->mapping.gfp_mask;
	struct folio **folios = fill->folios + fill->nr;

	for (; order; order--) {
		*folios = filemap_alloc_folio(gfp | FILEMAP_GFP_LARGE, order);
		if (*folios)
			return 1;
	}
	nr = folio_alloc_frozen(gfp, folios, nr);
	for (unsigned int i = 0; i < nr; i++)
		folio_ref_unfreeze(folios[i], 1);
	return nr;
}

/*
 * Frames for the next pages: to the end of a leaf, so that the next turn has
 * whole ones; or one large folio.
 *
 * Return: 0; -ENOMEM, no more than those.
 */
static int take(struct gmem_fill *fill)
{
	pgoff_t index = fill->pos, end;

	end = min(fill->end, ALIGN_DOWN(index, XA_CHUNK_SIZE) + XA_CHUNK_SIZE);
	end = max(end, index + (1UL << largest_order(fill, index, fill->end)));
	while (index < end && fill->nr < FILEMAP_PUBLISH_MAX) {
		unsigned int room = min_t(unsigned int, FILEMAP_PUBLISH_MAX -
					  fill->nr, single_pages(fill, index,
								 end));
		unsigned int got = take_frames(fill, largest_order(fill, index,
								   end), room);

		if (!got)
			return fail(-ENOMEM, "no memory for page %" PRIu64,
				    index, 0, 0);
		while (got--)
			index += (pgoff_t)folio_nr_pages(
					fill->folios[fill->nr++]);
	}
	return 0;
}

/*
 * Fill what was taken, and keep what is whole.
 *
 * Return: 0, or why that is not all; -EAGAIN, go on with single pages.
 */
static int copy(struct gmem_fill *fill)
{
	pgoff_t index = fill->pos;
	unsigned int whole;
	int err = 0;
	u64 bytes = fill->nr ? fill->copy(fill, &err) : 0;

	if (!err)
		return 0;
	for (whole = 0; whole < fill->nr; whole++) {
		pgoff_t nr = (pgoff_t)folio_nr_pages(fill->folios[whole]);

		if (bytes < nr << PAGE_SHIFT)
			break;
		bytes -= nr << PAGE_SHIFT;
		index += nr;
	}
	/* The first pages of a large folio can be had one by one. */
	if (folio_test_large(fill->folios[whole])) {
		fill->small_until = index + (pgoff_t)
				    folio_nr_pages(fill->folios[whole]);
		err = -EAGAIN;
	}
	while (fill->nr > whole)
		folio_put(fill->folios[--fill->nr]);
	return err;
}

/* ---- publish and settle ---------------------------------------------- */

static void fill_in_place(struct folio *present, const struct folio *mine,
			  pgoff_t index)
{
	memcpy(page_address(folio_page(present, index - present->index)),
	       page_address(&mine->page),
	       (size_t)folio_nr_pages(mine) << PAGE_SHIFT);
	folio_mark_uptodate(present);
}

/*
 * The slot of @mine has a folio, which is locked.
 *
 * Return: 0, it has the bytes of @mine now; -EAGAIN, look again.
 */
static int settle_locked(struct gmem_fill *fill, struct folio *present,
			 const struct folio *mine)
{
	const pgoff_t index = fill->pos;
	const pgoff_t next = index + (pgoff_t)folio_nr_pages(mine);
	const bool inside = next <= folio_next_index(present);

	if (folio_test_uptodate(present) && !fill->overwrite)
		return fail(-EEXIST, "page %" PRIu64 " is prepared already",
			    index, 0, 0);
	if (!inside || (folio_test_large(mine) &&
			gmem_poisoned(present, index, next))) {
		fill->small_until = next;
		return -EAGAIN;
	}
	if (gmem_poisoned(present, index, next))
		return fail(-EHWPOISON, "page %" PRIu64 " is poisoned", index,
			    0, 0);
	if (folio_test_uptodate(present) ||
	    folio_order(present) == folio_order(mine)) {
		fill_in_place(present, mine, index);
		return 0;
	}
	return split_folio_to_order(present, 0) == -ENOMEM ? -ENOMEM : -EAGAIN;
}

static int settle(struct gmem_fill *fill, const struct folio *mine)
{
	struct folio *present = filemap_lock_folio(&fill->gmem->mapping,
						   fill->pos);
	int err;

	if (IS_ERR(present)) {
		/* Further on there is one, or it has just gone. */
		if (folio_test_large(mine))
			fill->small_until = fill->pos +
					    (pgoff_t)folio_nr_pages(mine);
		return -EAGAIN;
	}
	err = settle_locked(fill, present, mine);
	/*
	 * In this order: whoever waits for the lock, to split it as well, must
	 * not find our reference.  Locked, it stays in the index and alive.
	 */
	if (err == -EAGAIN) {
		folio_put(present);
		folio_unlock(present);
		return err;
	}
	folio_unlock(present);
	folio_put(present);
	return err;
}

/* Single pages are called for where a larger frame is at hand. */
static bool too_large(const struct gmem_fill *fill, const struct folio *mine)
{
	return fill->pos < fill->small_until && folio_test_large(mine);
}

/* The folios that are filled go into the index, and are not the fill's then. */
static int publish_all(struct gmem_fill *fill)
{
	unsigned int done = 0;
	int err = 0;

	stream_copy_fence();
	down_read(&fill->gmem->mapping.invalidate_lock);
	while (done < fill->nr) {
		struct folio *const *folios = fill->folios + done;
		pgoff_t pages[FILEMAP_PUBLISH_MAX];
		int nr = (int)(fill->nr - done);

		/* The cache's once they are published: look before. */
		for (int i = 0; i < nr; i++)
			pages[i] = (pgoff_t)folio_nr_pages(folios[i]);
		nr = filemap_publish_folios(&fill->publish, fill->pos, folios,
					    fill->nr - done);
		for (int i = 0; i < nr; i++)
			fill->pos += pages[i];
		if (nr > 0) {
			done += (unsigned int)nr;
			continue;
		}
		err = nr == -EEXIST ? settle(fill, folios[0]) : nr;
		if (err == -EAGAIN && !too_large(fill, folios[0])) {
			/* Somebody has what is there for a moment. */
			cpu_relax();
			cond_resched();
			continue;
		}
		if (err)
			break;
		fill->pos += pages[0];
		folio_put(folios[0]);
		done++;
	}
	up_read(&fill->gmem->mapping.invalidate_lock);
	for (; done < fill->nr; done++)
		folio_put(fill->folios[done]);
	fill->nr = 0;
	return err;
}

int gmem_fill_range(struct gmem_fill *fill, pgoff_t start, pgoff_t end)
{
	fill->pos = start;
	fill->end = end;
	while (fill->pos < fill->end) {
		int err, short_of, stopped;

		if (signal_pending(current))
			return fail(-EINTR, "a signal at page %" PRIu64,
				    fill->pos, 0, 0);
		short_of = take(fill);
		stopped = copy(fill);
		err = publish_all(fill);
		if (!err)
			err = stopped ? stopped : short_of;
		if (err && err != -EAGAIN)
			return err;
		cond_resched();
	}
	return 0;
}

/* ---- from memory ----------------------------------------------------- */

struct memory_fill {
	struct gmem_fill fill;
	const char *from;
	u64 offset;			/* where its first byte goes */
};

static u64 copy_memory(struct gmem_fill *fill, int *err __maybe_unused)
{
	struct memory_fill *m = container_of(fill, struct memory_fill, fill);
	const char *from = m->from + (((u64)fill->pos << PAGE_SHIFT) -
				      m->offset);
	void *pages[FILEMAP_PUBLISH_MAX];
	unsigned int nr = 0;
	u64 bytes = 0;

	for (unsigned int i = 0; i < fill->nr; i++) {
		struct folio *folio = fill->folios[i];
		size_t part = (size_t)folio_nr_pages(folio) << PAGE_SHIFT;

		if (!folio_test_large(folio)) {
			pages[nr++] = page_address(&folio->page);
			continue;
		}
		stream_copy_pages(pages, from + bytes, nr);
		bytes += (u64)nr << PAGE_SHIFT;
		nr = 0;
		stream_copy_unfenced(page_address(&folio->page), from + bytes,
				     part);
		bytes += part;
	}
	stream_copy_pages(pages, from + bytes, nr);
	return bytes + ((u64)nr << PAGE_SHIFT);
}

int64_t guest_memfd_populate(struct guest_memfd *gmem, u64 offset,
			     const void *from, u64 len)
{
	struct memory_fill m = { .from = from, .offset = offset };
	int err = gmem_check_bytes(gmem, offset, len, PAGE_SIZE);
	u64 done;

	if (!err && !from)
		err = fail(-EINVAL, "no bytes to fill guest memory with", 0, 0,
			   0);
	if (err)
		return err;
	gmem_fill_init(&m.fill, gmem);
	m.fill.copy = copy_memory;
	err = gmem_fill_range(&m.fill, offset >> PAGE_SHIFT,
			      (offset + len) >> PAGE_SHIFT);
	gmem_fill_end(&m.fill);
	done = ((u64)m.fill.pos << PAGE_SHIFT) - offset;
	return done ? (int64_t)done : err;
}

int64_t guest_memfd_write(struct guest_memfd *gmem, u64 offset,
			  const void *from, u64 len)
{
	int64_t ret = guest_memfd_populate(gmem, offset, from, len);

	if (ret == -EEXIST)
		return fail(-ENOSPC, "page %" PRIu64 " is prepared already",
			    offset >> PAGE_SHIFT, 0, 0);
	return ret;
}
