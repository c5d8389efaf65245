/* SPDX-License-Identifier: MIT */
/*
 * Pinning a memfd by its offsets: no address space is involved.
 *
 * One pin a folio, however many of its pages are asked for.  What is missing is
 * added, a batch at a time, where it may stay (memalloc_pin_save()).
 *
 *   bytes     |      start ....................... end       |
 *   folios    [ 0        8 ) [ 8 ) [ 9 ) [ 10          14 )      4 pins
 *             ^ *offset from here
 *
 * Locks: invalidate_lock for read, then the folios of a batch, ascending; for a
 * huge page, what hugetlbfs_get_folio() takes.
 * Source: mm/gup.c:memfd_pin_folios()
 */
#include "mm/gup_longterm.h"

#include "host/errtext.h"
#include "mm/filemap_grab.h"
#include "mm/gfp.h"
#include "mm/hugetlb.h"
#include "mm/shmem.h"

#include <inttypes.h>

struct memfd_pin {
	struct address_space *mapping;
	pgoff_t next, last;	/* still to be pinned */
	struct folio **folios;
	unsigned int nr, max;
};

/* One locked folio of a batch. */
static int pin_folio(struct memfd_pin *p, struct folio *folio)
{
	struct address_space *mapping = p->mapping;
	int err = 0;

	if (!folio_test_uptodate(folio))
		err = mapping->a_ops->read_folios(mapping, &folio, 1);
	if (!err && try_grab_folio(folio, 1, FOLL_PIN))
		err = fail(-EINVAL, "frame %" PRIu64 " cannot be held",
			   folio_pfn(folio), 0, 0);
	if (err)
		return err;
	p->folios[p->nr++] = folio;
	p->next = folio_next_index(folio);
	return 0;
}

static int pin_batch(struct memfd_pin *p, struct folio_grab *grab)
{
	struct address_space *mapping = p->mapping;
	int nr, err = 0;

	down_read(&mapping->invalidate_lock);
	nr = filemap_grab_folios(mapping, p->next, p->last - p->next + 1,
				 FGP_LOCK | FGP_CREAT | FGP_ACCESSED,
				 mapping->gfp_mask,
				 mapping_max_folio_order(mapping), grab);
	for (int i = 0; i < nr; i++) {
		if (!err && p->nr < p->max)
			err = pin_folio(p, grab->folios[i]);
		folio_unlock(grab->folios[i]);
		folio_put(grab->folios[i]);
	}
	up_read(&mapping->invalidate_lock);
	return nr < 0 ? nr : err;
}

/* A huge page is got by itself: its place in the file is locked meanwhile. */
static int pin_hugetlb(struct memfd_pin *p)
{
	struct folio *folio;
	int err = hugetlbfs_get_folio(p->mapping->host, p->next, &folio);

	if (err)
		return err == -ERANGE ? -EINVAL : -ENOMEM;
	err = pin_folio(p, folio);
	folio_unlock(folio);
	folio_put(folio);
	return err;
}

static int pin_some(struct memfd_pin *p, struct folio_grab *grab)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	return mapping_hugetlb(p->mapping) ? pin_hugetlb(p) :
					     pin_batch(p, grab);
}

/* Return: 0, or why nothing is pinned. */
static int pin_range(struct memfd_pin *p)
{
	struct folio_grab grab;
	int err = 0;

	filemap_grab_init(&grab);
	while (!err && p->next <= p->last && p->nr < p->max)
		err = pin_some(p, &grab);
	filemap_grab_end(&grab);
	if (!err)
		return 0;
	unpin_folios(p->folios, p->nr);
	return fail(err, "page %" PRIu64 " of the file cannot be pinned",
		    p->next, 0, 0);
}

static int check_memfd(const struct file *memfd, int64_t start, int64_t end,
		       unsigned int max_folios)
{
	if (start < 0 || start > end || !max_folios)
		return fail(-EINVAL, "bytes %" PRId64 " to %" PRId64
			    " in %" PRIu64 " folios", start, end, max_folios);
	if (!memfd)
		return fail(-EINVAL, "no file", 0, 0, 0);
	if (!shmem_mapping(memfd->f_mapping) &&
	    !mapping_hugetlb(memfd->f_mapping))
		return fail(-EINVAL, "not a file of memory", 0, 0, 0);
	if ((u64)end >= i_size_read(file_inode(memfd)))
		return fail(-EINVAL, "byte %" PRId64 " is above the file's %"
			    PRIu64, end, i_size_read(file_inode(memfd)), 0);
	return mapping_no_pin(memfd->f_mapping) ?
	       fail(-EINVAL, "the file's pages are not pinned", 0, 0, 0) : 0;
}

long memfd_pin_folios(struct file *memfd, int64_t start, int64_t end,
		      struct folio **folios, unsigned int max_folios,
		      pgoff_t *offset)
{
	int err = check_memfd(memfd, start, end, max_folios);
	struct memfd_pin p = { .folios = folios, .max = max_folios };
	unsigned int scope;

	if (err)
		return err;
	p.mapping = memfd->f_mapping;
	scope = memalloc_pin_save();
	err = -EAGAIN;
	for (int pass = 0; pass < LONGTERM_MAX_PASSES && err == -EAGAIN;
	     pass++) {
		p.next = (pgoff_t)start >> PAGE_SHIFT;
		p.last = (pgoff_t)end >> PAGE_SHIFT;
		p.nr = 0;
		err = pin_range(&p);
		if (!err)
			err = check_and_migrate_movable_folios(p.nr, folios);
	}
	memalloc_pin_restore(scope);
	if (err)
		return err == -EAGAIN ?
		       fail(-ENOMEM, "frames of the file were still movable "
			    "after %" PRIu64 " passes", LONGTERM_MAX_PASSES, 0,
			    0) : err;
	*offset = (pgoff_t)start - (folios[0]->index << PAGE_SHIFT);
	return p.nr;
}
