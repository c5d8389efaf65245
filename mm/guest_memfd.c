/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: the object, its frames, and what takes them away.
 *
 * Locks: as in mm/guest_memfd.h
 * Source: virt/kvm/guest_memfd.c
 * Differs: there are no memory slots to bind a range to yet.
 */
#include "mm/guest_memfd.h"

#include "host/errtext.h"
#include "mm/filemap_grab.h"
#include "mm/folio_split.h"
#include "mm/guest_memfd_internal.h"
#include "mm/truncate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int guest_memfd_create(u64 size, unsigned int max_order,
		       struct guest_memfd **out)
{
	struct guest_memfd *gmem;

	if (!size || size > INT64_MAX || !IS_ALIGNED(size, PAGE_SIZE))
		return fail(-EINVAL, "guest memory of %" PRIu64 " bytes", size,
			    0, 0);
	if (max_order > MAX_PAGECACHE_ORDER)
		return fail(-EINVAL, "folios of order %" PRIu64 ", above %"
			    PRIu64, max_order, MAX_PAGECACHE_ORDER, 0);
	gmem = kzalloc(sizeof(*gmem));
	if (!gmem)
		return fail(-ENOMEM, "no memory for guest memory", 0, 0, 0);
	mapping_init(&gmem->mapping, current->machine);
	mapping_set_inaccessible(&gmem->mapping);
	mapping_set_folio_order_range(&gmem->mapping, 0, max_order);
	gmem->mapping.gfp_mask = GFP_USER;	/* it does not move */
	gmem->size = size;
	seqcount_init(&gmem->invalidate);
	*out = gmem;
	return 0;
}

void guest_memfd_destroy(struct guest_memfd *gmem)
{
	truncate_inode_pages_final(&gmem->mapping);
	mapping_destroy(&gmem->mapping);
	kfree(gmem);
}

/* ---- ranges ---------------------------------------------------------- */

/* As fallocate() looks at its arguments.  Source: fs/open.c:vfs_fallocate() */
static int check_range(u64 offset, u64 len)
{
	if (offset > INT64_MAX || !len || len > INT64_MAX)
		return fail(-EINVAL, "a range of %" PRIu64 " bytes at %" PRIu64,
			    len, offset, 0);
	if (len > INT64_MAX - offset)
		return fail(-EFBIG, "a range of %" PRIu64 " bytes at %" PRIu64,
			    len, offset, 0);
	if (!IS_ALIGNED(offset | len, PAGE_SIZE))
		return fail(-EINVAL, "%" PRIu64 " bytes at %" PRIu64 " are no "
			    "whole pages", len, offset, 0);
	return 0;
}

static int check_inside(const struct guest_memfd *gmem, u64 offset, u64 len)
{
	if (offset > gmem->size || len > gmem->size - offset)
		return fail(-EINVAL, "%" PRIu64 " bytes at %" PRIu64 " reach "
			    "out of guest memory of %" PRIu64, len, offset,
			    gmem->size);
	return 0;
}

int gmem_check_bytes(const struct guest_memfd *gmem, u64 offset, u64 len,
		     u64 align)
{
	if (gmem->mapping.machine->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	if (!IS_ALIGNED(offset | len, align))
		return fail(-EINVAL, "%" PRIu64 " bytes at %" PRIu64 " are no "
			    "whole pages", len, offset, 0);
	return check_inside(gmem, offset, len);
}

int guest_memfd_allocate(struct guest_memfd *gmem, u64 offset, u64 len)
{
	struct address_space *mapping = &gmem->mapping;
	pgoff_t index = offset >> PAGE_SHIFT, end = (offset + len) >> PAGE_SHIFT;
	struct folio_grab grab;
	int err = check_range(offset, len);

	if (!err)
		err = check_inside(gmem, offset, len);
	if (err)
		return err;
	filemap_grab_init(&grab);
	down_read(&mapping->invalidate_lock);
	while (index < end) {
		if (signal_pending(current)) {
			err = fail(-EINTR, "a signal at page %" PRIu64, index,
				   0, 0);
			break;
		}
		err = filemap_grab_folios(mapping, index, end - index,
					  FGP_CREAT | FGP_FOR_MMAP,
					  mapping->gfp_mask,
					  MAX_PAGECACHE_ORDER, &grab);
		if (err < 0)
			break;
		for (unsigned int i = 0; i < grab.nr; i++)
			folio_put(grab.folios[i]);
		index = grab.next;
		cond_resched();
	}
	up_read(&mapping->invalidate_lock);
	filemap_grab_end(&grab);
	return err < 0 ? err : 0;
}

/* ---- taking away ----------------------------------------------------- */

unsigned int guest_memfd_invalidate_seq(const struct guest_memfd *gmem)
{
	/*
	 * [gmem-invalidate] the sequence, then the frame that is in the index;
	 * paired with invalidate_end()
	 */
	return raw_read_seqcount(&gmem->invalidate);
}

bool guest_memfd_invalidate_retry(const struct guest_memfd *gmem,
				  unsigned int seq)
{
	return seq & 1 || read_seqcount_retry(&gmem->invalidate, seq);
}

static void invalidate_begin(struct guest_memfd *gmem)
{
	down_write(&gmem->mapping.invalidate_lock);
	raw_write_seqcount_begin(&gmem->invalidate);
}

/*
 * [gmem-invalidate] the frames leave the index, then the sequence is even
 * again; paired with guest_memfd_invalidate_seq()
 */
static void invalidate_end(struct guest_memfd *gmem)
{
	raw_write_seqcount_end(&gmem->invalidate);
	up_write(&gmem->mapping.invalidate_lock);
}

bool gmem_lock_prepared(struct guest_memfd *gmem, struct folio *folio)
{
	folio_lock(folio);
	if (folio->mapping == &gmem->mapping && folio_test_uptodate(folio))
		return true;
	folio_unlock(folio);
	return false;
}

static void *folio_bytes(struct folio *folio, pgoff_t index)
{
	return page_address(folio_page(folio, index - folio->index));
}

static void zero_pages(struct folio *folio, pgoff_t start, pgoff_t end)
{
	if (!page_machine(&folio->page)->metadata_only)
		memset(folio_bytes(folio, start), 0,
		       (end - start) << PAGE_SHIFT);
}

/*
 * A large folio that sticks out of [*start, *end) is split, or zeroed in the
 * range and left out of it.
 */
static void punch_edge(struct guest_memfd *gmem, pgoff_t index, pgoff_t *start,
		       pgoff_t *end)
{
	struct folio *folio = filemap_lock_folio(&gmem->mapping, index);
	pgoff_t first, next;

	if (IS_ERR(folio))
		return;
	first = folio->index;
	next = folio_next_index(folio);
	if ((first < *start || next > *end) && split_folio_to_order(folio, 0)) {
		if (folio_test_uptodate(folio))
			zero_pages(folio, max(first, *start), min(next, *end));
		if (first < *start)
			*start = min(next, *end);
		else
			*end = first;
	}
	folio_unlock(folio);
	folio_put(folio);
}

int guest_memfd_punch(struct guest_memfd *gmem, u64 offset, u64 len)
{
	pgoff_t start = offset >> PAGE_SHIFT, end = (offset + len) >> PAGE_SHIFT;
	int err = check_range(offset, len);

	if (err)
		return err;
	invalidate_begin(gmem);
	punch_edge(gmem, start, &start, &end);
	if (start < end)
		punch_edge(gmem, end - 1, &start, &end);
	if (start < end)
		truncate_inode_pages_range(&gmem->mapping,
					   (u64)start << PAGE_SHIFT,
					   ((u64)end << PAGE_SHIFT) - 1);
	invalidate_end(gmem);
	return 0;
}

int guest_memfd_memory_error(struct guest_memfd *gmem, pgoff_t index)
{
	struct folio *folio;

	invalidate_begin(gmem);
	folio = filemap_lock_folio(&gmem->mapping, index);
	if (!IS_ERR(folio)) {
		SetPageHWPoison(folio_page(folio, index - folio->index));
		folio_unlock(folio);
		folio_put(folio);
	}
	invalidate_end(gmem);
	return IS_ERR(folio) ? fail(-ENOENT, "no folio at page %" PRIu64, index,
				    0, 0) : 0;
}

/* ---- frames and bytes ------------------------------------------------ */

bool gmem_poisoned(struct folio *folio, pgoff_t start, pgoff_t end)
{
	for (; start < end; start++)
		if (PageHWPoison(folio_page(folio, start - folio->index)))
			return true;
	return false;
}

int guest_memfd_get_pfn(struct guest_memfd *gmem, pgoff_t index,
			struct page **page)
{
	struct folio *folio;

	if (index >= gmem->size >> PAGE_SHIFT)
		return fail(-EINVAL, "page %" PRIu64 " is beyond guest memory "
			    "of %" PRIu64 " bytes", index, gmem->size, 0);
	folio = filemap_grab_folio(&gmem->mapping, index);
	if (IS_ERR(folio))
		return fail((int)PTR_ERR(folio), "no memory for page %" PRIu64,
			    index, 0, 0);
	if (gmem_poisoned(folio, index, index + 1)) {
		folio_unlock(folio);
		folio_put(folio);
		return fail(-EHWPOISON, "page %" PRIu64 " is poisoned", index,
			    0, 0);
	}
	if (!folio_test_uptodate(folio)) {
		zero_pages(folio, folio->index, folio_next_index(folio));
		folio_mark_uptodate(folio);
	}
	*page = folio_page(folio, index - folio->index);
	folio_unlock(folio);
	return 0;
}

/*
 * The bytes of one page, or up to @bytes of them.  They are copied without the
 * folio lock: @to may be memory whose faults somebody has to serve.
 */
static int read_page_part(struct guest_memfd *gmem, u64 offset, char *to,
			  size_t bytes)
{
	const pgoff_t index = offset >> PAGE_SHIFT;
	struct folio *folio = filemap_get_folio(&gmem->mapping, index);
	bool poisoned = false;

	if (IS_ERR(folio)) {
		memset(to, 0, bytes);
		return 0;
	}
	if (gmem_lock_prepared(gmem, folio)) {
		poisoned = gmem_poisoned(folio, index, index + 1);
		folio_unlock(folio);
		if (!poisoned)
			memcpy(to, (char *)folio_bytes(folio, index) +
				   (offset & ~PAGE_MASK), bytes);
	} else {
		memset(to, 0, bytes);
	}
	folio_put(folio);
	return poisoned ? fail(-EHWPOISON, "page %" PRIu64 " is poisoned",
			       index, 0, 0) : 0;
}

int64_t guest_memfd_read(struct guest_memfd *gmem, u64 offset, void *to,
			 u64 len)
{
	int err = gmem_check_bytes(gmem, offset, len, 1);
	u64 done = 0;

	if (err)
		return err;
	while (done < len) {
		u64 part = min(len - done, PAGE_SIZE -
			       ((offset + done) & ~PAGE_MASK));

		err = read_page_part(gmem, offset + done, (char *)to + done,
				     part);
		if (err)
			break;
		done += part;
	}
	return done ? (int64_t)done : err;
}
