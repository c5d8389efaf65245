/* SPDX-License-Identifier: MIT */
/*
 * Files of huge pages: hugetlbfs, memfd with MFD_HUGETLB, shared anonymous areas
 * of huge pages.
 *
 * The cache is indexed by small pages, as everybody's; a huge page is one entry of
 * order 9 or 18.  What the file has a right to, its reservation map says, place by
 * place:
 *
 *	no entry	a page is to be had, if the pool has one to spare
 *	an entry	and no page in the cache: the pool keeps one for it
 *			and a page: the promise has been kept
 *
 * Mapping a shared area makes entries, and so does adding a page.  Punching a hole
 * ends those of the pages that go, truncation and the end of the file all.
 *
 * Invariants:
 * 1. Each page in the cache has an entry in the map.
 * 2. The pool has promised this file as many pages as entries have none.
 * 3. A page enters or leaves the cache, and its entry goes, with the place locked;
 *    so while it is, no area can begin to map the page, and a hole stays empty
 *    until who punches is through with it (case_H12).
 * 4. Truncation leaves neither pages nor entries: with i_rwsem not held they are
 *    made below the size, with the place locked, and truncation waits for those
 *    who may have seen the old one.
 *
 * Locks: i_rwsem of its own rank (mapping an area takes it inside mmap_lock), the
 * place's lock, resv_sem, i_mmap_rwsem of its own rank, folio lock, xa_lock,
 * hstate->lock.
 * Source: fs/hugetlbfs/inode.c, mm/hugetlb.c
 * Differs: punching a hole leaves alone what private areas have copied; Linux
 *          drops that too.  There is no smallest number of pages that a file
 *          keeps in the pool.
 */
#include "mm/hugetlb_internal.h"

#include "host/errtext.h"
#include "mm/gfp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct hugetlbfs_inode_info {
	struct inode vfs_inode;		/* first: freed by its address */
	struct hstate *hstate;		/* (C) */
	/* For write: entries are made for an area.  For read: for one page. */
	struct rw_semaphore resv_sem;
	struct xarray resv;		/* by huge page: which area made it, or 0 */
	unsigned long nr_areas;		/* resv_sem: mapped so far */
};

static struct hugetlbfs_inode_info *HUGETLBFS_I(struct inode *inode)
{
	return container_of(inode, struct hugetlbfs_inode_info, vfs_inode);
}

static unsigned int place_shift(const struct hugetlbfs_inode_info *info)
{
	return huge_page_shift(info->hstate);
}

static struct rw_semaphore *lock_place(struct hugetlbfs_inode_info *info,
				       pgoff_t index)
{
	return hugetlb_lock_place(info->hstate, &info->vfs_inode.i_data, index);
}

/* ---- reservations ----------------------------------------------------- */

static unsigned long count_entries(struct hugetlbfs_inode_info *info,
				   unsigned long first, unsigned long last)
{
	unsigned long place, nr = 0;
	void *entry;

	xa_for_each_range(&info->resv, place, entry, first, last)
		nr++;
	return nr;
}

/* The entries of one area, which could not have all, go again. */
static void drop_entries(struct hugetlbfs_inode_info *info, unsigned long first,
			 unsigned long last, const void *made_by)
{
	unsigned long place;
	void *entry;

	xa_for_each_range(&info->resv, place, entry, first, last)
		if (entry == made_by)
			xa_erase(&info->resv, place);
}

static int make_entries(struct hugetlbfs_inode_info *info, unsigned long first,
			unsigned long last)
{
	void *made_by = xa_mk_value(++info->nr_areas);
	int err = 0;

	for (unsigned long place = first; !err && place <= last; place++) {
		err = xa_insert(&info->resv, place, made_by, GFP_KERNEL);
		if (err == -EBUSY)
			err = 0;
	}
	if (err)
		drop_entries(info, first, last, made_by);
	return err ? fail(-ENOMEM, "no memory for reservations", 0, 0, 0) : 0;
}

/* Context: resv_sem for write.  The places have an entry then. */
static int reserve_places(struct hugetlbfs_inode_info *info,
			  unsigned long first, unsigned long nr)
{
	const unsigned long last = first + nr - 1;
	const long missing = (long)(nr - count_entries(info, first, last));
	int err = hugetlb_acct_memory(info->hstate, missing);

	if (err)
		return err;
	err = make_entries(info, first, last);
	if (err)
		(void)!hugetlb_acct_memory(info->hstate, -missing);
	return err;
}

int hugetlbfs_reserve(struct vm_area_struct *vma)
{
	struct inode *inode = file_inode(vma->vm_file);
	struct hugetlbfs_inode_info *info = HUGETLBFS_I(inode);
	const unsigned int order = info->hstate->order;
	int err;

	/* Places do not lose their entries meanwhile. */
	down_write(&inode->i_rwsem);
	down_write(&info->resv_sem);
	err = reserve_places(info, vma->vm_pgoff >> order,
			     vma_pages(vma) >> order);
	up_write(&info->resv_sem);
	up_write(&inode->i_rwsem);
	return err;
}

void hugetlbfs_grow(struct vm_area_struct *vma)
{
	const u64 end = (vma->vm_pgoff + vma_pages(vma)) << PAGE_SHIFT;
	struct inode *inode = file_inode(vma->vm_file);

	down_write(&inode->i_rwsem);
	if (end > inode->i_size)
		i_size_write(inode, end);
	up_write(&inode->i_rwsem);
}

unsigned long hugetlbfs_reserved(struct inode *inode)
{
	struct hugetlbfs_inode_info *info = HUGETLBFS_I(inode);

	return count_entries(info, 0, ULONG_MAX) -
	       (inode->i_data.nrpages >> info->hstate->order);
}

/* ---- pages ------------------------------------------------------------ */

/*
 * @above: above the size, too
 *
 * Context: the place's lock, resv_sem for read.
 */
static int take_page(struct hugetlbfs_inode_info *info, unsigned long place,
		     bool above, struct folio **folio, bool *reserved)
{
	int err;

	if (!above &&
	    place << place_shift(info) >= i_size_read(&info->vfs_inode))
		return -ERANGE;
	*reserved = xa_load(&info->resv, place);
	if (!*reserved) {
		err = xa_insert(&info->resv, place, xa_mk_value(0), GFP_KERNEL);
		if (err)
			return err;
	}
	*folio = dequeue_hugetlb_folio(info->hstate, *reserved);
	if (*folio)
		return 0;
	if (!*reserved)
		xa_erase(&info->resv, place);
	return fail(-ENOSPC, "the pool of %" PRIu64 " KiB pages has none for "
		    "place %" PRIu64, huge_page_size(info->hstate) >> 10, place,
		    0);
}

/*
 * The folio comes locked, and dirty, so that nothing takes it for a clean one.
 *
 * Source: mm/hugetlb.c:hugetlb_add_to_page_cache()
 */
static int add_to_cache(struct address_space *mapping, struct folio *folio,
			pgoff_t index)
{
	int err;

	if (!mapping->machine->metadata_only)
		memset(page_address(&folio->page), 0,
		       (size_t)folio_nr_pages(folio) << PAGE_SHIFT);
	__folio_set_locked(folio);
	err = __filemap_add_folio(mapping, folio, index, mapping->gfp_mask,
				  NULL);
	if (err) {
		folio_unlock(folio);
		return err;
	}
	folio_mark_uptodate(folio);
	(void)folio_mark_dirty(folio);
	return 0;
}

static int add_folio(struct hugetlbfs_inode_info *info, pgoff_t index,
		     bool above, struct folio **out)
{
	const unsigned long place = index >> info->hstate->order;
	struct folio *folio;
	bool reserved;
	int err;

	down_read(&info->resv_sem);
	err = take_page(info, place, above, &folio, &reserved);
	up_read(&info->resv_sem);
	if (err)
		return err;
	err = add_to_cache(&info->vfs_inode.i_data, folio,
			   place << info->hstate->order);
	if (!err) {
		*out = folio;
		return 0;
	}
	/* As if nothing had been; if the page is not to be had, without it. */
	if (!reserved)
		folio_put(folio);
	if (!reserved || !hugetlb_put_reserved(folio))
		xa_erase(&info->resv, place);
	return err;
}

int hugetlbfs_add_folio(struct inode *inode, pgoff_t index,
			struct folio **folio)
{
	return add_folio(HUGETLBFS_I(inode), index, false, folio);
}

static int get_folio(struct hugetlbfs_inode_info *info, pgoff_t index,
		     bool above, struct folio **folio)
{
	struct rw_semaphore *place = lock_place(info, index);
	int err = 0;

	*folio = filemap_lock_folio(&info->vfs_inode.i_data, index);
	if (IS_ERR(*folio))
		err = add_folio(info, index, above, folio);
	up_write(place);
	return err;
}

int hugetlbfs_get_folio(struct inode *inode, pgoff_t index,
			struct folio **folio)
{
	return get_folio(HUGETLBFS_I(inode), index, false, folio);
}

bool hugetlbfs_pagecache_present(struct vm_area_struct *vma, pf_addr_t address)
{
	return vma->vm_file && xa_load(&vma->vm_file->f_mapping->i_pages,
				       linear_page_index(vma, address));
}

/* ---- holes and sizes -------------------------------------------------- */

/* Out of areas and cache.  Context: the place's lock. */
static void remove_folio(struct address_space *mapping, struct folio *folio)
{
	/* Its tree's lock comes before the folio's. */
	if (folio_mapped(folio))
		hugetlb_unmap_mapping(mapping, folio->index,
				      folio_next_index(folio) - 1, folio);
	folio_lock(folio);
	VM_BUG_ON_FOLIO(folio_mapped(folio), folio);
	folio_cancel_dirty(folio);
	filemap_remove_folio(folio);
	folio_unlock(folio);
}

/*
 * Empty one place.
 * @truncate: its reservation goes in any case; else with the page only
 */
static void empty_place(struct hugetlbfs_inode_info *info, unsigned long place,
			bool truncate)
{
	struct address_space *mapping = &info->vfs_inode.i_data;
	const pgoff_t index = place << info->hstate->order;
	struct rw_semaphore *lock = lock_place(info, index);
	struct folio *folio = filemap_get_folio(mapping, index);

	if (!IS_ERR(folio)) {
		remove_folio(mapping, folio);
		xa_erase(&info->resv, place);
		folio_put(folio);
	} else if (truncate && xa_erase(&info->resv, place)) {
		(void)!hugetlb_acct_memory(info->hstate, -1);
	}
	up_write(lock);
}

static void empty_places(struct hugetlbfs_inode_info *info, unsigned long first,
			 unsigned long last, bool truncate)
{
	unsigned long place;
	void *entry;

	xa_for_each_range(&info->resv, place, entry, first, last) {
		empty_place(info, place, truncate);
		cond_resched();
	}
}

static void hugetlbfs_truncate(struct inode *inode, u64 size)
{
	struct hugetlbfs_inode_info *info = HUGETLBFS_I(inode);

	/* Who saw the old size is through with it; who comes sees the new one. */
	hugetlb_wait_for_faults();
	hugetlb_unmap_mapping(&inode->i_data, size >> PAGE_SHIFT, (pgoff_t)-1,
			      NULL);
	empty_places(info, size >> place_shift(info), ULONG_MAX, true);
}

static int hugetlbfs_setsize(struct inode *inode, u64 size)
{
	const u64 huge = huge_page_size(HUGETLBFS_I(inode)->hstate);

	return IS_ALIGNED(size, huge) ? 0 :
	       fail(-EINVAL, "%" PRIu64 " bytes are not whole huge pages of %"
		    PRIu64, size, huge, 0);
}

/* Bytes of one huge page become zero, if there is one. */
static void zero_part(struct hugetlbfs_inode_info *info, u64 start, u64 end)
{
	const u64 inside = start & (huge_page_size(info->hstate) - 1);
	struct address_space *mapping = &info->vfs_inode.i_data;
	struct folio *folio = filemap_lock_folio(mapping, start >> PAGE_SHIFT);

	if (IS_ERR(folio))
		return;
	if (!mapping->machine->metadata_only)
		memset((char *)page_address(&folio->page) + inside, 0,
		       end - start);
	folio_unlock(folio);
	folio_put(folio);
}

/*
 *	offset |<------------- hole ------------->| end
 *	|  ....zero|  page goes  |  page goes  |zero....  |
 *	           hole_start                  hole_end
 */
static void punch_hole(struct hugetlbfs_inode_info *info, u64 offset, u64 end)
{
	const u64 size = huge_page_size(info->hstate);
	const u64 hole_start = ALIGN(offset, size);
	const u64 hole_end = ALIGN_DOWN(end, size);

	if (offset < hole_start)
		zero_part(info, offset, min(end, hole_start));
	if (end > hole_end && end > hole_start)
		zero_part(info, hole_end, end);
	if (hole_end > hole_start)
		empty_places(info, hole_start >> place_shift(info),
			     (hole_end >> place_shift(info)) - 1, false);
}

/* Pages that have come stay, whatever comes of the others. */
static int allocate(struct hugetlbfs_inode_info *info, bool keep_size,
		    u64 offset, u64 end)
{
	const unsigned int order = info->hstate->order;
	struct inode *inode = &info->vfs_inode;
	pgoff_t index = ALIGN_DOWN(offset >> PAGE_SHIFT, 1UL << order);

	for (; index << PAGE_SHIFT < end; index += 1UL << order) {
		struct folio *folio;
		int err;

		if (signal_pending(current))
			return fail(-EINTR, "a signal is pending", 0, 0, 0);
		err = get_folio(info, index, true, &folio);
		if (err)
			return err;
		folio_unlock(folio);
		folio_put(folio);
		cond_resched();
	}
	if (!keep_size && end > inode->i_size)
		i_size_write(inode, end);
	return 0;
}

static int hugetlbfs_fallocate(struct inode *inode, int mode, u64 offset,
			       u64 len)
{
	struct hugetlbfs_inode_info *info = HUGETLBFS_I(inode);

	if (mode & FALLOC_FL_PUNCH_HOLE) {
		punch_hole(info, offset, offset + len);
		return 0;
	}
	return allocate(info, mode & FALLOC_FL_KEEP_SIZE, offset, offset + len);
}

/* Holes are read without a page, which the pool may not have. */
static int hugetlbfs_add_folios(struct inode *inode __maybe_unused,
				pgoff_t index __maybe_unused)
{
	return -ENODATA;
}

/* ---- the file --------------------------------------------------------- */

static void hugetlbfs_evict(struct inode *inode)
{
	xa_destroy(&HUGETLBFS_I(inode)->resv);
}

static const struct inode_operations hugetlbfs_inode_ops = {
	.vm_ops = &hugetlb_vm_ops,
	.add_folios = hugetlbfs_add_folios,
	.setsize = hugetlbfs_setsize,
	.truncate = hugetlbfs_truncate,
	.fallocate = hugetlbfs_fallocate,
	.evict = hugetlbfs_evict,
	.no_write = true,
};

struct hstate *hugetlbfs_hstate(struct inode *inode)
{
	return HUGETLBFS_I(inode)->hstate;
}

int hugetlb_file_setup(struct hstate *h, u64 size, bool seals,
		       struct file **out)
{
	struct hugetlbfs_inode_info *info;
	struct inode *inode;
	struct file *file;

	if (size > INT64_MAX || !IS_ALIGNED(size, huge_page_size(h)))
		return fail(-EINVAL, "a file cannot have %" PRIu64 " bytes of "
			    "huge pages of %" PRIu64, size, huge_page_size(h),
			    0);
	info = kzalloc(sizeof(*info));
	if (!info)
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	inode = &info->vfs_inode;
	inode_init(inode, current->machine, &hugetlbfs_inode_ops, size);
	init_rwsem(&inode->i_rwsem, RANK_HUGETLB_I_RWSEM);
	init_rwsem(&inode->i_data.i_mmap_rwsem, RANK_HUGETLB_I_MMAP);
	set_bit(AS_HUGETLB, &inode->i_data.flags);
	/* On no LRU list: a pool's pages are not reclaimed. */
	set_bit(AS_UNEVICTABLE, &inode->i_data.flags);
	info->hstate = h;
	init_rwsem(&info->resv_sem, RANK_HUGETLB_RESV);
	xa_init(&info->resv);
	if (!seals)
		inode->seals = F_SEAL_SEAL;
	file = alloc_file(inode, FMODE_READ | FMODE_WRITE);
	if (!file) {
		inode_discard(inode);
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	}
	*out = file;
	return 0;
}
