/* SPDX-License-Identifier: MIT */
/*
 * Files of memory alone.
 *
 * What is in the cache is all there is: its folios are dirty from the
 * beginning, so that nothing drops them as clean.
 *
 * A hole is punched while a fault may bring back what was just taken out, again
 * and again.  So the range of the hole is announced, and a fault inside it
 * waits; others go on (case_H13).
 *
 * Locks: i_rwsem, invalidate_lock for read to add, folio lock.
 * Source: mm/shmem.c
 */
#include "mm/shmem.h"

#include "host/errtext.h"
#include "mm/filemap_grab.h"
#include "mm/gfp.h"
#include "mm/mm.h"
#include "mm/truncate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A hole that is being punched: faults in [start, end) wait. */
struct shmem_falloc {
	pgoff_t start, end;
	struct wait_queue waitq;
};

struct shmem_inode_info {
	struct inode vfs_inode;		/* first: freed by its address */
	spinlock_t lock;
	struct shmem_falloc hole;	/* lock; start == end: none */
};

static struct shmem_inode_info *SHMEM_I(struct inode *inode)
{
	return container_of(inode, struct shmem_inode_info, vfs_inode);
}

/* ---- folios -------------------------------------------------------------- */

static int shmem_read_folios(struct address_space *mapping,
			     struct folio **folios, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (!mapping->machine->metadata_only)
			memset(page_address(&folios[i]->page), 0,
			       (size_t)folio_nr_pages(folios[i]) << PAGE_SHIFT);
		folio_mark_uptodate(folios[i]);
		(void)folio_mark_dirty(folios[i]);
	}
	return 0;
}

const struct address_space_operations shmem_aops = {
	.read_folios = shmem_read_folios,
};

/* One of @order around @index; -EEXIST: something is there. */
static int add_order(struct address_space *mapping, pgoff_t index,
		     unsigned int order)
{
	const pgoff_t first = ALIGN_DOWN(index, 1UL << order);
	pgoff_t at = first;
	struct folio *folio;
	int err;

	if (order && xa_find(&mapping->i_pages, &at,
			     first + (1UL << order) - 1, XA_PRESENT))
		return -EEXIST;
	folio = filemap_alloc_folio(mapping->gfp_mask |
				    (order ? __GFP_NOWARN : 0), order);
	if (!folio)
		return -ENOMEM;
	err = filemap_add_folio(mapping, folio, first, mapping->gfp_mask);
	if (!err) {
		err = shmem_read_folios(mapping, &folio, 1);
		folio_unlock(folio);
	}
	folio_put(folio);
	return err;
}

/*
 * The largest that fits and can be had.
 *
 * Source: mm/shmem.c:shmem_alloc_and_add_folio()
 */
static int shmem_add_folios(struct inode *inode, pgoff_t index)
{
	struct address_space *mapping = &inode->i_data;
	unsigned int order = mapping_max_folio_order(mapping);
	void *entry = xa_load(&mapping->i_pages, index);
	int err;

	if (xa_is_value(entry))
		return fail(-EIO, "page %" PRIu64 " is in swap, and nothing "
			    "brings it back", index, 0, 0);
	down_read(&mapping->invalidate_lock);
	do {
		err = add_order(mapping, index, order);
	} while (err && order--);
	up_read(&mapping->invalidate_lock);
	return err == -EEXIST ? 0 : err;
}

/* ---- holes --------------------------------------------------------------- */

static bool in_hole(struct shmem_inode_info *info, pgoff_t index)
{
	bool inside;

	spin_lock(&info->lock);
	inside = index - info->hole.start < info->hole.end - info->hole.start;
	spin_unlock(&info->lock);
	return inside;
}

static void set_hole(struct shmem_inode_info *info, pgoff_t start, pgoff_t end)
{
	spin_lock(&info->lock);
	/* Faults look first, and then under the lock. */
	WRITE_ONCE(info->hole.start, start);
	WRITE_ONCE(info->hole.end, end);
	spin_unlock(&info->lock);
}

/* Sleep until the hole has been punched. */
static int wait_for_hole(struct shmem_inode_info *info, pgoff_t index,
			 enum wait_mode mode)
{
	u32 ticket = wait_begin(&info->hole.waitq);
	int err = 0;

	while (!err && in_hole(info, index)) {
		err = wait_sleep(&info->hole.waitq, ticket, mode);
		ticket = wait_again(&info->hole.waitq);
	}
	wait_end(&info->hole.waitq);
	return err;
}

/*
 * A fault that may drop mmap_lock does, and comes again; one that may not waits
 * with it: who punches does not need it.
 *
 * Source: mm/shmem.c:shmem_falloc_wait()
 */
static vm_fault_t fault_in_hole(struct vm_fault *vmf)
{
	struct file *file = vmf->vma->vm_file;
	struct shmem_inode_info *info = SHMEM_I(file_inode(file));
	const pgoff_t index = vmf->pgoff;

	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		(void)!wait_for_hole(info, index, WAIT_UNINTERRUPTIBLE);
		return 0;
	}
	get_file(file);
	mmap_read_unlock(vmf->vma->vm_mm);
	/* Who comes again looks for the signal. */
	(void)!wait_for_hole(info, index, WAIT_KILLABLE);
	fput(file);
	return VM_FAULT_RETRY;
}

static vm_fault_t shmem_fault(struct vm_fault *vmf)
{
	struct shmem_inode_info *info = SHMEM_I(file_inode(vmf->vma->vm_file));

	if (unlikely(READ_ONCE(info->hole.end) != READ_ONCE(info->hole.start) &&
		     in_hole(info, vmf->pgoff))) {
		vm_fault_t ret = fault_in_hole(vmf);

		if (ret)
			return ret;
	}
	return filemap_fault(vmf);
}

static int punch_hole(struct inode *inode, u64 offset, u64 len)
{
	struct shmem_inode_info *info = SHMEM_I(inode);
	const u64 end = offset + len;

	set_hole(info, (offset + PAGE_SIZE - 1) >> PAGE_SHIFT,
		 end >> PAGE_SHIFT);
	down_write(&inode->i_data.invalidate_lock);
	truncate_pagecache_range(inode, offset, end - 1);
	up_write(&inode->i_data.invalidate_lock);
	set_hole(info, 0, 0);
	wake_up_all(&info->hole.waitq);
	return 0;
}

/* ---- allocating ---------------------------------------------------------- */

/*
 * Folios that fallocate added are dirty, and not uptodate while it can fail: on
 * failure exactly those go again.
 */
static void remove_unfilled(struct address_space *mapping, pgoff_t start,
			    pgoff_t end)
{
	for (pgoff_t index = start; index < end; index++) {
		struct folio *folio = filemap_lock_folio(mapping, index);

		if (IS_ERR(folio))
			continue;
		index = folio_next_index(folio) - 1;
		if (!folio_test_uptodate(folio) && !folio_mapped(folio)) {
			folio_cancel_dirty(folio);
			filemap_remove_folio(folio);
		}
		folio_unlock(folio);
		folio_put(folio);
	}
}

/* Batches of what is missing.  Return: 0, or why it ended at *@index. */
static int add_range(struct address_space *mapping, pgoff_t *index, pgoff_t end)
{
	struct folio_grab grab;
	int err = 0;

	filemap_grab_init(&grab);
	while (*index < end) {
		int nr;

		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		nr = filemap_grab_folios(mapping, *index, end - *index,
					 FGP_LOCK | FGP_CREAT,
					 mapping->gfp_mask,
					 mapping_max_folio_order(mapping),
					 &grab);
		if (nr < 0) {
			err = nr;
			break;
		}
		for (int i = 0; i < nr; i++) {
			if (!folio_test_uptodate(grab.folios[i]))
				(void)folio_mark_dirty(grab.folios[i]);
			folio_unlock(grab.folios[i]);
			folio_put(grab.folios[i]);
		}
		*index = grab.next;
		cond_resched();
	}
	filemap_grab_end(&grab);
	return err;
}

static int allocate(struct inode *inode, bool keep_size, u64 offset, u64 len)
{
	struct address_space *mapping = &inode->i_data;
	const u64 end = offset + len;
	const pgoff_t start = offset >> PAGE_SHIFT;
	pgoff_t index = start;
	int err;

	down_read(&mapping->invalidate_lock);
	err = add_range(mapping, &index,
			(end + PAGE_SIZE - 1) >> PAGE_SHIFT);
	if (err)
		remove_unfilled(mapping, start, index);
	up_read(&mapping->invalidate_lock);
	if (err)
		return fail(err, "no memory, or a signal, at page %" PRIu64
			    " of the file", index, 0, 0);
	if (!keep_size && end > inode->i_size)
		i_size_write(inode, end);
	return 0;
}

static int shmem_fallocate(struct inode *inode, int mode, u64 offset, u64 len)
{
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return punch_hole(inode, offset, len);
	return allocate(inode, mode & FALLOC_FL_KEEP_SIZE, offset, len);
}

/* ---- the file ------------------------------------------------------------ */

static const struct vm_operations_struct shmem_vm_ops = {
	.fault = shmem_fault,
};

static const struct inode_operations shmem_inode_ops = {
	.vm_ops = &shmem_vm_ops,
	.add_folios = shmem_add_folios,
	.fallocate = shmem_fallocate,
	.write_grows = true,
};

int shmem_file_setup(struct machine *machine, u64 size, unsigned int max_order,
		     unsigned int flags, struct file **out)
{
	struct shmem_inode_info *info;
	struct inode *inode;
	struct file *file;

	if (size > INT64_MAX)
		return fail(-EINVAL, "a file cannot have %" PRIu64 " bytes",
			    size, 0, 0);
	info = kzalloc(sizeof(*info));
	if (!info)
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	inode = &info->vfs_inode;
	inode_init(inode, machine, &shmem_inode_ops, size);
	inode->i_data.a_ops = &shmem_aops;
	mapping_set_keep_values(&inode->i_data);
	mapping_set_folio_order_range(&inode->i_data, 0, max_order);
	spin_lock_init(&info->lock, RANK_SHMEM);
	wait_queue_init(&info->hole.waitq);
	if (flags & SHMEM_NO_PIN) {
		set_bit(AS_NO_PIN, &inode->i_data.flags);
		set_bit(AS_UNEVICTABLE, &inode->i_data.flags);
	}
	if (flags & SHMEM_NO_SEALS)
		inode->seals = F_SEAL_SEAL;
	file = alloc_file(inode, FMODE_READ | FMODE_WRITE);
	if (!file) {
		inode_discard(inode);
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	}
	*out = file;
	return 0;
}
