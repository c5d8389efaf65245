/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: filling pages.
 *
 * Copy, then publish.  In turns of up to a leaf of single pages, or a large
 * folio:
 *
 *   take     frames that are nobody else's, the largest that fit, and all other
 *            memory that the turn needs
 *   copy     into them, holding no lock
 *   publish  all that go into empty slots, in one hold of xa_lock
 *
 * So a guest's fault, which takes the folio lock and not invalidate_lock, finds
 * all bytes of a page or prepares an empty one; whoever is first wins, and the
 * other one hears of it.
 *
 * Single pages that have a folio, allocated and not prepared, take part in the
 * turn: locked, in ascending order, until those before them are published.
 * Others end it before them, and are filled alone: mm/guest_memfd_settle.c.
 * The bytes come from the window then: reading the caller's memory may need
 * somebody who waits for these locks.
 *
 * Locks: invalidate_lock for read, folio lock, xa_lock.
 * Source: the design is its own.
 */
#include "mm/guest_memfd.h"

#include "host/errtext.h"
#include "host/stream_copy.h"
#include "mm/filemap_internal.h"
#include "mm/guest_memfd_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void gmem_fill_init(struct gmem_fill *fill, struct guest_memfd *gmem,
		    pgoff_t most)
{
	fill->gmem = gmem;
	fill->from = NULL;
	fill->window = NULL;
	fill->window_memory = NULL;
	fill->most = most;
	fill->window_start = 0;
	fill->window_end = 0;
	fill->overwrite = false;
	fill->nr = 0;
	filemap_publish_init(&fill->publish, &gmem->mapping);
}

void gmem_fill_end(struct gmem_fill *fill)
{
	kfree(fill->window_memory);
	filemap_publish_end(&fill->publish);
}

/* ---- the window ------------------------------------------------------ */

pgoff_t gmem_fill_window(struct gmem_fill *fill, pgoff_t index)
{
	const pgoff_t pages = max((pgoff_t)FILEMAP_PUBLISH_MAX, (pgoff_t)1 <<
			mapping_max_folio_order(&fill->gmem->mapping));
	const u64 bytes = min(pages, fill->most) << PAGE_SHIFT;

	if (!fill->window) {
		fill->window_memory = kmalloc(bytes + PAGE_SIZE);
		if (!fill->window_memory) {
			(void)fail(-ENOMEM, "no memory for %" PRIu64 " bytes "
				   "on their way", bytes, 0, 0);
			return 0;
		}
		/* As a file that is read past the host's cache wants it. */
		fill->window = (char *)ALIGN((uintptr_t)fill->window_memory,
					     PAGE_SIZE);
	}
	return ALIGN_DOWN(index, pages) + pages;
}

static const char *from_at(const struct gmem_fill *fill, pgoff_t index)
{
	return fill->from + ((index - fill->from_index) << PAGE_SHIFT);
}

/* The bytes of pos ... are in the window: the caller's memory is read here. */
static int read_ahead(struct gmem_fill *fill)
{
	pgoff_t next = gmem_fill_window(fill, fill->pos);

	if (!next)
		return -ENOMEM;
	next = min(next, fill->end);
	memcpy(fill->window, from_at(fill, fill->pos),
	       (next - fill->pos) << PAGE_SHIFT);
	fill->window_start = fill->pos;
	fill->window_end = next;
	return 0;
}

/* ---- take and copy --------------------------------------------------- */

/*
 * The first page from @index on that has a folio; @end, if none before has.
 * Nothing is held: somebody may add or remove one at once.
 */
static pgoff_t next_present(const struct gmem_fill *fill, pgoff_t index,
			    pgoff_t end)
{
	XA_STATE(xas, &fill->gmem->mapping.i_pages, index);
	void *entry;

	rcu_read_lock();
	do
		entry = xas_find(&xas, end - 1);
	while (entry && (xas_retry(&xas, entry) || xa_is_value(entry)));
	rcu_read_unlock();
	return entry ? xas.xa_index : end;
}

/* The largest order at @index that ends before @end. */
static unsigned int largest_order(const struct gmem_fill *fill, pgoff_t index,
				  pgoff_t end)
{
	unsigned int order = mapping_max_folio_order(&fill->gmem->mapping);

	if (index)
		order = min_t(unsigned int, order,
			      (unsigned int)__builtin_ctzll(index));
	return min_t(unsigned int, order,
		     63 - (unsigned int)__builtin_clzll(end - index));
}

/*
 * Frames for pages from @index on, before @end: a large one, or several single
 * ones.  Short memory makes smaller folios; halves keep what follows aligned.
 *
 * Return: how many were added to the fill's.
 */
static unsigned int take_frames(struct gmem_fill *fill, pgoff_t index,
				pgoff_t end)
{
	const gfp_t gfp = fill->gmem->mapping.gfp_mask;
	struct folio **folios = fill->folios + fill->nr;
	unsigned int order = largest_order(fill, index, end), nr = 1;

	for (; order; order--) {
		*folios = filemap_alloc_folio(gfp | FILEMAP_GFP_LARGE, order);
		if (*folios)
			return 1;
	}
	if (!mapping_max_folio_order(&fill->gmem->mapping))
		nr = (unsigned int)min(end - index, (pgoff_t)FILEMAP_PUBLISH_MAX -
						    fill->nr);
	nr = folio_alloc_frozen(gfp, folios, nr);
	for (unsigned int i = 0; i < nr; i++)
		folio_ref_unfreeze(folios[i], 1);
	return nr;
}

/* Of this turn: a leaf's, so that the next one has whole ones; or a large folio's. */
static pgoff_t turn_end(const struct gmem_fill *fill)
{
	pgoff_t leaf = ALIGN_DOWN(fill->pos, XA_CHUNK_SIZE) + XA_CHUNK_SIZE;
	pgoff_t end = fill->end;

	if (gmem_in_window(fill, fill->pos))
		end = min(end, fill->window_end);
	return max(min(end, leaf),
		   fill->pos + (1UL << largest_order(fill, fill->pos, end)));
}

/*
 * Frames for the pages up to @end, paid for, and NULL for those that have a
 * folio; without the window only up to one.
 *
 * Return: 0; -ENOMEM, no more than those.
 */
static int take(struct gmem_fill *fill, pgoff_t end)
{
	const bool window = gmem_in_window(fill, fill->pos);
	pgoff_t index = fill->pos;
	unsigned int got = 1, paid;

	fill->nr_present = 0;
	while (index < end && fill->nr < FILEMAP_PUBLISH_MAX && got) {
		pgoff_t absent = next_present(fill, index, end);

		if (absent == index && !window)
			break;
		if (absent == index) {
			fill->folios[fill->nr++] = NULL;
			fill->nr_present++;
			index++;
			continue;
		}
		got = take_frames(fill, index, absent);
		for (unsigned int i = 0; i < got; i++)
			index += (pgoff_t)folio_nr_pages(
					fill->folios[fill->nr++]);
	}
	paid = filemap_publish_pay(&fill->publish, fill->pos, fill->folios,
				   fill->nr);
	if (got && paid == fill->nr)
		return 0;
	while (fill->nr > paid)
		if (fill->folios[--fill->nr])
			folio_put(fill->folios[fill->nr]);
	return fail(-ENOMEM, "no memory for pages behind page %" PRIu64,
		    fill->pos, 0, 0);
}

/* Of a taken folio: is it a frame of ours?  Else it is the file's, and locked. */
static bool is_ours(const struct folio *folio)
{
	return !folio->mapping;
}

static void give_back(struct folio *folio)
{
	if (!is_ours(folio))
		folio_unlock(folio);
	folio_put(folio);
}

/*
 * The folio of page @index, locked, if it is filled with others.
 * @behind_ours: a frame goes before it, and may not find its place
 */
static struct folio *lock_present(struct gmem_fill *fill, pgoff_t index,
				  bool behind_ours)
{
	struct address_space *mapping = &fill->gmem->mapping;
	struct folio *folio = filemap_get_folio(mapping, index);

	if (IS_ERR(folio))
		return NULL;
	/* A large one can be split by nobody who finds our reference. */
	if (folio_test_large(folio)) {
		folio_put(folio);
		return NULL;
	}
	if (filemap_lock_found(mapping, folio, index, 0))
		return NULL;
	if ((!folio_test_uptodate(folio) ||
	     (fill->overwrite && !behind_ours)) &&
	    !gmem_poisoned(folio, index, index + 1))
		return folio;
	folio_unlock(folio);
	folio_put(folio);
	return NULL;
}

/*
 * What is there already, up to the first that is not filled with others.
 *
 * Return: was that all that was taken?
 */
static bool lock_all_present(struct gmem_fill *fill)
{
	const unsigned int taken = fill->nr;
	pgoff_t index = fill->pos;
	bool ours = false;
	unsigned int nr;

	for (nr = 0; nr < fill->nr; nr++) {
		struct folio **folio = &fill->folios[nr];

		if (*folio)
			ours = true;
		else
			*folio = lock_present(fill, index, ours);
		if (!*folio)
			break;
		index += (pgoff_t)folio_nr_pages(*folio);
	}
	while (fill->nr > nr)
		if (fill->folios[--fill->nr])
			folio_put(fill->folios[fill->nr]);
	return nr == taken;
}

/* Unfenced. */
static void copy(struct gmem_fill *fill)
{
	const char *from = gmem_in_window(fill, fill->pos) ?
			   gmem_window_at(fill, fill->pos) :
			   from_at(fill, fill->pos);
	void *pages[FILEMAP_PUBLISH_MAX];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < fill->nr; i++) {
		struct folio *folio = fill->folios[i];
		size_t bytes = (size_t)folio_nr_pages(folio) << PAGE_SHIFT;

		if (!folio_test_large(folio)) {
			pages[nr++] = page_address(&folio->page);
			continue;
		}
		stream_copy_pages(pages, from, nr);
		from += nr * PAGE_SIZE;
		nr = 0;
		stream_copy_unfenced(page_address(&folio->page), from, bytes);
		from += bytes;
	}
	stream_copy_pages(pages, from, nr);
}

/* ---- publish --------------------------------------------------------- */

/*
 * Frames from @folios on, for pos ..., up to a slot that is not empty.
 *
 * Return: how many are in the index; if none: -EEXIST, -ENOMEM.
 */
static int publish_some(struct gmem_fill *fill, struct folio *const *folios,
			unsigned int nr)
{
	pgoff_t pages[FILEMAP_PUBLISH_MAX], end = fill->pos, present;
	int done;

	/* The cache's once they are published: look before. */
	for (unsigned int i = 0; i < nr && is_ours(folios[i]); i++) {
		pages[i] = (pgoff_t)folio_nr_pages(folios[i]);
		end += pages[i];
	}
	present = next_present(fill, fill->pos, end);
	for (end = fill->pos, done = 0; end < present; done++)
		end += pages[done];
	if (!done)
		return -EEXIST;
	done = filemap_publish_folios(&fill->publish, fill->pos, folios,
				      (unsigned int)done);
	for (int i = 0; i < done; i++)
		fill->pos += pages[i];
	return done;
}

/*
 * What is filled can be found, in ascending order.  Then no folio is the fill's
 * any more.
 *
 * Return: 0; -EAGAIN, the next slot is not empty any more; -ENOMEM.
 */
static int publish_all(struct gmem_fill *fill)
{
	unsigned int done = 0;
	int nr = 1;

	for (; done < fill->nr && nr > 0; done += (unsigned int)max(nr, 0)) {
		struct folio **folios = fill->folios + done;

		if (is_ours(*folios)) {
			nr = publish_some(fill, folios, fill->nr - done);
			continue;
		}
		folio_mark_uptodate(*folios);
		give_back(*folios);
		fill->pos++;
		nr = 1;
	}
	for (; done < fill->nr; done++)
		give_back(fill->folios[done]);
	fill->nr = 0;
	return nr > 0 ? 0 : nr == -EEXIST ? -EAGAIN : nr;
}

static int fill_turn(struct gmem_fill *fill)
{
	struct rw_semaphore *lock = &fill->gmem->mapping.invalidate_lock;
	const bool mixed = next_present(fill, fill->pos, turn_end(fill)) <
			   turn_end(fill);
	int short_of, err = 0;

	if (mixed && !gmem_in_window(fill, fill->pos))
		err = read_ahead(fill);
	if (err)
		return err;
	short_of = take(fill, turn_end(fill));
	/* invalidate_lock comes before the locks of folios. */
	if (fill->nr_present) {
		down_read(lock);
		/* Else nothing is short before the next turn says so. */
		if (!lock_all_present(fill))
			short_of = 0;
		copy(fill);
		stream_copy_fence();
	} else {
		copy(fill);
		stream_copy_fence();
		down_read(lock);
	}
	if (fill->nr || short_of)
		err = publish_all(fill);
	else
		err = fill->nr_present ? gmem_settle(fill) : -EAGAIN;
	up_read(lock);
	return err ? err : short_of;
}

int gmem_fill_range(struct gmem_fill *fill, pgoff_t start, pgoff_t end)
{
	fill->pos = start;
	fill->end = end;
	while (fill->pos < fill->end) {
		int err;

		if (signal_pending(current))
			return fail(-EINTR, "a signal at page %" PRIu64,
				    fill->pos, 0, 0);
		err = fill_turn(fill);
		if (err && err != -EAGAIN)
			return err;
		if (err)
			cpu_relax();
		cond_resched();
	}
	return 0;
}

int64_t guest_memfd_populate(struct guest_memfd *gmem, u64 offset,
			     const void *from, u64 len)
{
	int err = gmem_check_bytes(gmem, offset, len, PAGE_SIZE);
	struct gmem_fill fill;
	u64 done;

	if (!err && !from)
		err = fail(-EINVAL, "no bytes to fill guest memory with", 0, 0,
			   0);
	if (err)
		return err;
	gmem_fill_init(&fill, gmem, len >> PAGE_SHIFT);
	fill.from = from;
	fill.from_index = offset >> PAGE_SHIFT;
	err = gmem_fill_range(&fill, offset >> PAGE_SHIFT,
			      (offset + len) >> PAGE_SHIFT);
	gmem_fill_end(&fill);
	done = ((u64)fill.pos << PAGE_SHIFT) - offset;
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
