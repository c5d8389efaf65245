/* SPDX-License-Identifier: MIT */
/*
 * Dirty and writeback, of folios and as marks of the index.
 *
 * The flags are the truth about a folio.  The marks find it: who is dirty has
 * the dirty mark, who has that need not be dirty any more.
 *
 * Locks: folio lock, but to set dirty and to end writeback; xa_lock.
 *
 * Source: mm/page-writeback.c
 */
#include "mm/fs.h"

bool filemap_dirty_folio(struct address_space *mapping, struct folio *folio)
{
	XA_STATE(xas, &mapping->i_pages, 0);

	if (folio_test_and_set_dirty(folio))
		return false;
	xas_lock(&xas);
	/* It may have been truncated meanwhile. */
	if (folio->mapping == mapping) {
		xas_set(&xas, folio->index);
		xas_load(&xas);
		xas_set_mark(&xas, PAGECACHE_TAG_DIRTY);
	}
	xas_unlock(&xas);
	return true;
}

bool folio_clear_dirty_for_io(struct folio *folio)
{
	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	/*
	 * A dirty entry makes it dirty: the owner has to hear of the next store
	 * before the bit is cleared, or that store is lost.
	 */
	if (folio_mkclean(folio))
		(void)folio_mark_dirty(folio);
	/* The mark stays until folio_start_writeback(): nobody may miss it. */
	return test_and_clear_bit(PG_dirty, &folio->flags);
}

void folio_cancel_dirty(struct folio *folio)
{
	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	clear_bit(PG_dirty, &folio->flags);
}

void folio_start_writeback(struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	XA_STATE(xas, &mapping->i_pages, folio->index);

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	VM_BUG_ON_FOLIO(folio_test_writeback(folio), folio);
	xas_lock(&xas);
	xas_load(&xas);
	folio_set_writeback(folio);
	xas_set_mark(&xas, PAGECACHE_TAG_WRITEBACK);
	if (!folio_test_dirty(folio))
		xas_clear_mark(&xas, PAGECACHE_TAG_DIRTY);
	xas_clear_mark(&xas, PAGECACHE_TAG_TOWRITE);
	xas_unlock(&xas);
}

/* Whoever waits for the end may free the folio then; so it is held here. */
void folio_end_writeback(struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	struct wait_queue *q = folio_waitqueue(folio);
	XA_STATE(xas, &mapping->i_pages, folio->index);
	unsigned long before;

	folio_get(folio);
	xas_lock(&xas);
	xas_load(&xas);
	xas_clear_mark(&xas, PAGECACHE_TAG_WRITEBACK);
	before = clear_bit_unlock_return(PG_writeback, &folio->flags);
	xas_unlock(&xas);
	VM_BUG_ON_FOLIO(!(before & BIT(PG_writeback)), folio);
	if (before & BIT(PG_waiters))
		wake_up_all(q);
	folio_put(folio);
}

void folio_wait_writeback(struct folio *folio)
{
	struct wait_queue *q = folio_waitqueue(folio);
	u32 ticket;

	if (!folio_test_writeback(folio))
		return;
	ticket = wait_begin(q);
	for (;;) {
		set_bit(PG_waiters, &folio->flags);
		if (!folio_test_writeback(folio))
			break;
		(void)!wait_sleep(q, ticket, WAIT_UNINTERRUPTIBLE);
		ticket = wait_again(q);
	}
	wait_end(q);
}

void folio_wait_stable(struct folio *folio)
{
	struct address_space *mapping = folio_mapping(folio);

	if (mapping && mapping_stable_writes(mapping))
		folio_wait_writeback(folio);
}

#define TAG_BATCH	64	/* folios in one hold of xa_lock */

void tag_pages_for_writeback(struct address_space *mapping, pgoff_t start,
			     pgoff_t end)
{
	XA_STATE(xas, &mapping->i_pages, start);
	unsigned int tagged = 0;
	void *folio;

	xas_lock(&xas);
	xas_for_each_marked(&xas, folio, end, PAGECACHE_TAG_DIRTY) {
		xas_set_mark(&xas, PAGECACHE_TAG_TOWRITE);
		if (++tagged % TAG_BATCH)
			continue;
		xas_pause(&xas);
		xas_unlock(&xas);
		cond_resched();
		xas_lock(&xas);
	}
	xas_unlock(&xas);
}
