/* SPDX-License-Identifier: MIT */
/*
 * Emptying a range of a page cache.
 *
 *   first    what can be locked without waiting, in batches
 *   edges    folios that stick out of the range: zero, split
 *   again    what is left, waiting for each, until a whole pass finds nothing
 *
 * Locks: invalidate_lock is the caller's; folio lock, one at a time where it
 * waits; xa_lock.
 *
 * Source: mm/truncate.c
 */
#include "mm/truncate.h"

#include "host/errtext.h"
#include "mm/filemap_internal.h"
#include "mm/folio_split.h"
#include "mm/fs.h"
#include "mm/vmscan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- one entry ------------------------------------------------------- */

/* Values go if they are still what was found. */
static void clear_values(struct address_space *mapping,
			 const struct folio_batch *fbatch,
			 const pgoff_t *indices)
{
	XA_STATE(xas, &mapping->i_pages, 0);

	xas_lock(&xas);
	for (unsigned int i = 0; i < fbatch->nr; i++) {
		if (!xa_is_value(fbatch->folios[i]))
			continue;
		xas_set(&xas, indices[i]);
		if (xas_load(&xas) == (void *)fbatch->folios[i])
			xas_store(&xas, NULL);
	}
	xas_unlock(&xas);
}

static bool has_values(const struct folio_batch *fbatch)
{
	for (unsigned int i = 0; i < fbatch->nr; i++)
		if (xa_is_value(fbatch->folios[i]))
			return true;
	return false;
}

static void drop_values(struct address_space *mapping,
			struct folio_batch *fbatch, const pgoff_t *indices)
{
	if (!has_values(fbatch))
		return;
	clear_values(mapping, fbatch, indices);
	folio_batch_remove_exceptionals(fbatch);
}

static void truncate_cleanup_folio(struct folio *folio)
{
	if (folio_mapped(folio))
		unmap_mapping_folio(folio);
	folio_cancel_dirty(folio);
}

static void truncate_inode_folio(struct address_space *mapping,
				 struct folio *folio)
{
	if (folio->mapping != mapping)
		return;
	truncate_cleanup_folio(folio);
	filemap_remove_folio(folio);
}

static void zero_bytes(struct folio *folio, size_t offset, size_t bytes)
{
	if (!page_machine(&folio->page)->metadata_only)
		memset((char *)page_address(&folio->page) + offset, 0, bytes);
}

static u64 folio_pos(const struct folio *folio)
{
	return (u64)folio->index << PAGE_SHIFT;
}

static size_t folio_size(const struct folio *folio)
{
	return (size_t)folio_nr_pages(folio) << PAGE_SHIFT;
}

/*
 * A folio that may stick out of [@start, @end].
 *
 * Return: false if it has to stay, dirty and whole.
 * Source: mm/truncate.c:truncate_inode_partial_folio()
 */
static bool truncate_inode_partial_folio(struct folio *folio, u64 start,
					 u64 end)
{
	struct address_space *mapping = folio->mapping;
	const u64 pos = folio_pos(folio);
	size_t offset = start > pos ? start - pos : 0;
	size_t last = min(end - pos, (u64)folio_size(folio) - 1);

	folio_wait_writeback(folio);
	if (last - offset + 1 == folio_size(folio)) {
		truncate_inode_folio(mapping, folio);
		return true;
	}
	if (!mapping_inaccessible(mapping))
		zero_bytes(folio, offset, last - offset + 1);
	if (!folio_test_large(folio))
		return true;
	if (!split_folio_to_order(folio, mapping_min_folio_order(mapping)))
		return true;
	if (folio_test_dirty(folio))
		return false;
	truncate_inode_folio(mapping, folio);
	return true;
}

/* ---- a range --------------------------------------------------------- */

/* What needs no waiting: one hold of xa_lock for each batch. */
static void truncate_ready(struct address_space *mapping, pgoff_t index,
			   pgoff_t end)
{
	pgoff_t indices[PAGEVEC_SIZE];
	struct folio_batch fbatch;

	folio_batch_init(&fbatch);
	while (index < end && find_lock_entries(mapping, &index, end - 1,
						&fbatch, indices)) {
		drop_values(mapping, &fbatch, indices);
		for (unsigned int i = 0; i < fbatch.nr; i++)
			truncate_cleanup_folio(fbatch.folios[i]);
		delete_from_page_cache_batch(mapping, &fbatch);
		for (unsigned int i = 0; i < fbatch.nr; i++)
			folio_unlock(fbatch.folios[i]);
		folio_batch_release(&fbatch);
		cond_resched();
	}
}

/* All of [start, end), waiting for each, until nothing is found. */
static void truncate_rest(struct address_space *mapping, pgoff_t start,
			  pgoff_t end)
{
	pgoff_t indices[PAGEVEC_SIZE], index = start;
	struct folio_batch fbatch;

	folio_batch_init(&fbatch);
	while (index < end) {
		cond_resched();
		if (!find_get_entries(mapping, &index, end - 1, &fbatch,
				      indices)) {
			if (index == start)
				return;
			index = start;
			continue;
		}
		drop_values(mapping, &fbatch, indices);
		for (unsigned int i = 0; i < fbatch.nr; i++) {
			struct folio *folio = fbatch.folios[i];

			folio_lock(folio);
			folio_wait_writeback(folio);
			truncate_inode_folio(mapping, folio);
			folio_unlock(folio);
		}
		folio_batch_release(&fbatch);
		if (index >= end)
			index = start;
	}
}

/* Both ends of the range; what has to stay is taken out of [*start, *end). */
static void truncate_edges(struct address_space *mapping, u64 lstart, u64 lend,
			   pgoff_t *start, pgoff_t *end)
{
	bool same = lstart >> PAGE_SHIFT == lend >> PAGE_SHIFT;
	struct folio *folio = filemap_lock_folio(mapping, lstart >> PAGE_SHIFT);

	if (!IS_ERR(folio)) {
		same = lend < folio_pos(folio) + folio_size(folio);
		if (!truncate_inode_partial_folio(folio, lstart, lend)) {
			*start = folio_next_index(folio);
			if (same)
				*end = folio->index;
		}
		folio_unlock(folio);
		folio_put(folio);
	}
	if (same)
		return;
	folio = filemap_lock_folio(mapping, lend >> PAGE_SHIFT);
	if (IS_ERR(folio))
		return;
	if (!truncate_inode_partial_folio(folio, lstart, lend))
		*end = folio->index;
	folio_unlock(folio);
	folio_put(folio);
}

void truncate_inode_pages_range(struct address_space *mapping, u64 lstart,
				u64 lend)
{
	pgoff_t start = (lstart >> PAGE_SHIFT) + !!(lstart & ~PAGE_MASK);
	pgoff_t end = lend == (u64)-1 ? (pgoff_t)-1 : (lend + 1) >> PAGE_SHIFT;

	if (xa_empty(&mapping->i_pages))
		return;
	truncate_ready(mapping, start, end);
	truncate_edges(mapping, lstart, lend, &start, &end);
	truncate_rest(mapping, start, end);
}

void truncate_inode_pages(struct address_space *mapping, u64 lstart)
{
	truncate_inode_pages_range(mapping, lstart, (u64)-1);
}

void truncate_inode_pages_final(struct address_space *mapping)
{
	set_bit(AS_EXITING, &mapping->flags);
	/* Who evicts looks at the bit under the lock: he is through, or sees it. */
	xa_lock(&mapping->i_pages);
	xa_unlock(&mapping->i_pages);
	truncate_inode_pages(mapping, 0);
}

/* ---- only what nobody needs ------------------------------------------ */

static long mapping_evict_folio(struct address_space *mapping,
				struct folio *folio)
{
	if (folio_test_dirty(folio) || folio_test_writeback(folio) ||
	    folio_mapped(folio))
		return 0;
	return remove_mapping(mapping, folio);
}

unsigned long invalidate_mapping_pages(struct address_space *mapping,
				       pgoff_t start, pgoff_t end)
{
	pgoff_t indices[PAGEVEC_SIZE], index = start;
	struct folio_batch fbatch;
	unsigned long count = 0;

	folio_batch_init(&fbatch);
	while (index <= end && find_lock_entries(mapping, &index, end, &fbatch,
						 indices)) {
		unsigned int found = fbatch.nr;

		drop_values(mapping, &fbatch, indices);
		count += found - fbatch.nr;
		for (unsigned int i = 0; i < fbatch.nr; i++) {
			count += (unsigned long)
				mapping_evict_folio(mapping, fbatch.folios[i]);
			folio_unlock(fbatch.folios[i]);
		}
		folio_batch_release(&fbatch);
		cond_resched();
		if (!index)
			break;
	}
	return count;
}

static int invalidate_folio2(struct address_space *mapping,
			     struct folio *folio)
{
	int err = 0;

	folio_lock(folio);
	if (folio->mapping == mapping) {
		folio_wait_writeback(folio);
		if (folio_mapped(folio))
			unmap_mapping_folio(folio);
		if (folio_test_dirty(folio))
			err = -EBUSY;
		else
			filemap_remove_folio(folio);
	}
	folio_unlock(folio);
	return err;
}

int invalidate_inode_pages2_range(struct address_space *mapping, pgoff_t start,
				  pgoff_t end)
{
	pgoff_t indices[PAGEVEC_SIZE], index = start;
	struct folio_batch fbatch;
	int err = 0;

	folio_batch_init(&fbatch);
	while (index <= end && find_get_entries(mapping, &index, end, &fbatch,
						indices)) {
		drop_values(mapping, &fbatch, indices);
		for (unsigned int i = 0; i < fbatch.nr; i++) {
			int ret = invalidate_folio2(mapping, fbatch.folios[i]);

			err = err ? err : ret;
		}
		folio_batch_release(&fbatch);
		cond_resched();
		if (!index)
			break;
	}
	return err ? fail(err, "dirty folios of pages %" PRIu64 "-%" PRIu64
			  " stay", start, end, 0) : 0;
}
