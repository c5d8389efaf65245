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

/* Filling pages; see mm/guest_memfd_populate.c. */
struct gmem_fill {
	struct guest_memfd *gmem;
	const char *memory;		/* the bytes of page memory_index ... */
	pgoff_t memory_index;
	bool overwrite;			/* also what is prepared */
	pgoff_t pos, end;		/* what is left */
	unsigned int nr;
	struct folio *folios[FILEMAP_PUBLISH_MAX];	/* taken, for pos ... */
	struct filemap_publish publish;
};

void gmem_fill_init(struct gmem_fill *fill, struct guest_memfd *gmem);
void gmem_fill_end(struct gmem_fill *fill);

/*
 * gmem_fill_range() - fill pages [@start, @end)
 *
 * Return: 0; a negative errno, -EEXIST at what is prepared; all before
 * @fill->pos is done.
 */
int __must_check gmem_fill_range(struct gmem_fill *fill, pgoff_t start,
				 pgoff_t end);

static inline const char *gmem_memory_at(const struct gmem_fill *fill,
					 pgoff_t index)
{
	return fill->memory + ((index - fill->memory_index) << PAGE_SHIFT);
}

/*
 * gmem_settle() - give the folio at @fill->pos its bytes
 *
 * Return: 0, pos is behind what was filled; -EAGAIN, look again; -EEXIST,
 * prepared; -EHWPOISON; -ENOMEM.
 */
int __must_check gmem_settle(struct gmem_fill *fill);

#endif
