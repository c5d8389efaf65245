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
 * Return: 0; -EAGAIN, it is locked and @fgp says not to wait; -EINTR, if @fgp
 * lets a signal end that; -ESTALE, it is not what is there any more.  On failure
 * the reference has been dropped.
 */
int __must_check filemap_lock_found(struct address_space *mapping,
				    struct folio *folio, pgoff_t index,
				    fgf_t fgp);

/* filemap_touch_found() - ACCESSED, then STABLE */
void filemap_touch_found(struct folio *folio, fgf_t fgp);

/* filemap_account() - @nr pages came, or went.  Context: xa_lock */
void filemap_account(struct address_space *mapping, long nr);

/*
 * filemap_queue_new() - an added folio goes to its LRU list
 * @shadow: what was in its place, or NULL
 *
 * Context: the folio is locked.
 */
void filemap_queue_new(struct folio *folio, void *shadow, gfp_t gfp);

/* What is larger than it has to be is not worth much trouble. */
#define FILEMAP_GFP_LARGE	(__GFP_NORETRY | __GFP_NOWARN)

/* filemap_gfp() - how to get memory for what @fgp wants added */
static inline gfp_t filemap_gfp(const struct address_space *mapping, fgf_t fgp,
				gfp_t gfp)
{
	if ((fgp & FGP_WRITE) && mapping_can_writeback(mapping))
		gfp |= __GFP_WRITE;
	if (fgp & FGP_NOFS)
		gfp &= ~__GFP_FS;
	if (fgp & FGP_NOWAIT)
		gfp = (gfp & ~GFP_KERNEL) | GFP_NOWAIT | __GFP_NOWARN;
	return gfp;
}

/* filemap_new_flags() - of a folio that @fgp lets be added, but for its lock */
static inline unsigned long
filemap_new_flags(const struct address_space *mapping, fgf_t fgp)
{
	return (mapping_unevictable(mapping) ? BIT(PG_unevictable) : 0) |
	       (fgp & FGP_ACCESSED ? BIT(PG_referenced) : 0);
}

/*
 * filemap_set_mapping() - what a store makes visible, but for lock and count
 *
 * Context: nobody else sees the folio; filemap_clear_mapping() if it is not
 * stored after all, which leaves the index.
 */
static inline void filemap_set_mapping(struct address_space *mapping,
				       struct folio *folio, pgoff_t index)
{
	if (mapping_unevictable(mapping))
		__folio_set_unevictable(folio);
	WRITE_ONCE(folio->mapping, mapping);
	folio->index = index;
}

static inline void filemap_clear_mapping(struct folio *folio)
{
	WRITE_ONCE(folio->mapping, NULL);
	folio_clear_unevictable(folio);
}

/*
 * filemap_fill_leaf() - for a run that is a whole leaf: the leaf, outside the lock
 *
 * Return: NULL if it is not, or there is no spare node.
 */
static inline struct xa_node *filemap_fill_leaf(struct xa_state *xas,
						void *const *entries,
						unsigned int nr)
{
	return nr == XA_CHUNK_SIZE ? xas_fill_leaf(xas, entries) : NULL;
}

/* filemap_store_run() - *@leaf, if nothing is there; else as xas_store_run() */
static inline unsigned int filemap_store_run(struct xa_state *xas,
					     struct xa_node **leaf,
					     void *const *entries,
					     unsigned int nr)
{
	if (!*leaf || !xas_splice_leaf(xas, *leaf))
		return xas_store_run(xas, entries, nr);
	*leaf = NULL;
	return nr;
}

/* page_cache_delete() - the index only.  Context: folio lock, xa_lock */
void page_cache_delete(struct address_space *mapping, struct folio *folio,
		       void *shadow);

#endif
