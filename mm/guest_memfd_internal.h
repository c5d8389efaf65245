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
	/*
	 * Writes what belongs to pos ... into the nr folios, by stores that may
	 * need stream_copy_fence().
	 * Return: bytes written; if that are not all, *@err is why.
	 */
	u64 (*copy)(struct gmem_fill *fill, int *err);
	bool overwrite;			/* also what is prepared */
	pgoff_t pos, end;		/* what is left */
	pgoff_t small_until;		/* single pages up to there */
	unsigned int nr;
	struct folio *folios[FILEMAP_PUBLISH_MAX];	/* for pos ... */
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

#endif
