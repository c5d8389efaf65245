/* SPDX-License-Identifier: MIT */
/*
 * What the files of the page cache share.
 */
#ifndef MM_FILEMAP_INTERNAL_H
#define MM_FILEMAP_INTERNAL_H

#include "mm/filemap.h"

/*
 * filemap_lock_found() - lock what filemap_get_entry() found at @index
 *
 * Return: 0; -EAGAIN, it is locked and @fgp says not to wait; -ESTALE, it is not
 * what is there any more.  On failure the reference has been dropped.
 */
int __must_check filemap_lock_found(struct address_space *mapping,
				    struct folio *folio, pgoff_t index,
				    fgf_t fgp);

/* filemap_touch_found() - ACCESSED, then STABLE */
void filemap_touch_found(struct folio *folio, fgf_t fgp);

/* filemap_account() - @nr pages came, or went.  Context: xa_lock */
void filemap_account(struct address_space *mapping, long nr);

/* filemap_queue_new() - an added folio goes to its LRU list */
void filemap_queue_new(struct address_space *mapping, struct folio *folio);

/* page_cache_delete() - the index only.  Context: folio lock, xa_lock */
void page_cache_delete(struct address_space *mapping, struct folio *folio,
		       void *shadow);

#endif
