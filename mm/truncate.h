/* SPDX-License-Identifier: MIT */
/*
 * Emptying a range of a page cache.
 *
 * Source: mm/truncate.c
 */
#ifndef MM_TRUNCATE_H
#define MM_TRUNCATE_H

#include "mm/filemap.h"

/*
 * truncate_inode_pages_range() - remove what [@lstart, @lend] covers, in bytes
 *
 * Folios that stick out are zeroed in the range and split, so that their pages
 * inside go; one that cannot be split stays if it is dirty, and otherwise goes
 * as a whole.  Shadows go as well.
 *
 * Context: invalidate_lock for write, for nothing to be there on return; may
 * sleep for folio locks and writeback, with nothing locked.
 * Source: mm/truncate.c:truncate_inode_pages_range()
 */
void truncate_inode_pages_range(struct address_space *mapping, u64 lstart,
				u64 lend);

/* truncate_inode_pages() - all from @lstart on */
void truncate_inode_pages(struct address_space *mapping, u64 lstart);

/*
 * truncate_inode_pages_final() - all, and no shadow appears any more
 *
 * Source: mm/truncate.c:truncate_inode_pages_final()
 */
void truncate_inode_pages_final(struct address_space *mapping);

/*
 * invalidate_mapping_pages() - drop what is clean and unused of [@start, @end]
 *
 * Return: pages dropped, and values.  Context: waits for nothing.
 * Source: mm/truncate.c:invalidate_mapping_pages()
 */
unsigned long invalidate_mapping_pages(struct address_space *mapping,
				       pgoff_t start, pgoff_t end);

/*
 * invalidate_inode_pages2_range() - drop all of [@start, @end] that is clean,
 * whoever uses it
 *
 * Return: 0; -EBUSY if something is dirty.
 * Source: mm/truncate.c:invalidate_inode_pages2_range()
 * Differs: nothing is laundered.
 */
int __must_check invalidate_inode_pages2_range(struct address_space *mapping,
					       pgoff_t start, pgoff_t end);

#endif
