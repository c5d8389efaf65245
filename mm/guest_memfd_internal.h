/* SPDX-License-Identifier: MIT */
/*
 * What the files of guest_memfd share.
 */
#ifndef MM_GUEST_MEMFD_INTERNAL_H
#define MM_GUEST_MEMFD_INTERNAL_H

#include "mm/filemap_publish.h"
#include "mm/guest_memfd.h"

/*
 * gmem_check_bytes() - is [@offset, + @len) in the object, and has it bytes?
 * @align: of both, a power of two
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP.
 */
int __must_check gmem_check_bytes(const struct guest_memfd *gmem, u64 offset,
				  u64 len, u64 align);

/*
 * gmem_lock_prepared() - lock a folio that was found, if it is prepared
 *
 * Return: false, and it is not locked, if it is not, or has been removed.
 */
bool __must_check gmem_lock_prepared(struct guest_memfd *gmem,
				     struct folio *folio);

/* gmem_poisoned() - is a page of the folio in [@start, @end) poisoned? */
bool gmem_poisoned(struct folio *folio, pgoff_t start, pgoff_t end);

/*
 * Filling pages; see mm/guest_memfd_populate.c.
 *
 * The window is memory of ours that has the bytes of some pages: those are copied
 * with locks held.
 */
struct gmem_fill {
	struct guest_memfd *gmem;
	const char *from;		/* the caller's bytes ... */
	pgoff_t from_index;		/* ... from this page on */
	char *window;			/* page aligned; NULL until it is used */
	void *window_memory;
	pgoff_t most;			/* pages that it may have to have */
	pgoff_t window_start, window_end;	/* the pages that it has */
	bool overwrite;			/* also what is prepared */
	pgoff_t pos, end;		/* what is left */
	unsigned int nr, nr_present;
	struct folio *folios[FILEMAP_PUBLISH_MAX];	/* taken, for pos ... */
	struct filemap_publish publish;
};

/* @most: pages that are filled in all, at most */
void gmem_fill_init(struct gmem_fill *fill, struct guest_memfd *gmem,
		    pgoff_t most);
void gmem_fill_end(struct gmem_fill *fill);

/*
 * gmem_fill_range() - fill pages [@start, @end)
 *
 * Return: 0; a negative errno, -EEXIST at what is prepared; all before
 * @fill->pos is done.
 */
int __must_check gmem_fill_range(struct gmem_fill *fill, pgoff_t start,
				 pgoff_t end);

/*
 * gmem_fill_window() - let the window be there, for pages from @index on
 *
 * Return: the page behind the last that it has room for: a large folio's, or a
 * leaf's; 0 if there is no memory for it.
 */
pgoff_t __must_check gmem_fill_window(struct gmem_fill *fill, pgoff_t index);

static inline bool gmem_in_window(const struct gmem_fill *fill, pgoff_t index)
{
	return index >= fill->window_start && index < fill->window_end;
}

/* gmem_window_at() - Context: gmem_in_window() */
static inline const char *gmem_window_at(const struct gmem_fill *fill,
					 pgoff_t index)
{
	return fill->window + ((index - fill->window_start) << PAGE_SHIFT);
}

/*
 * gmem_settle() - give the folio at @fill->pos its bytes, from the window
 *
 * Return: 0, pos is behind what was filled; -EAGAIN, look again; -EEXIST,
 * prepared; -EHWPOISON; -ENOMEM.
 */
int __must_check gmem_settle(struct gmem_fill *fill);

#endif
