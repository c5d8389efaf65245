/* SPDX-License-Identifier: MIT */
/*
 * The cache as its users see it: a page of the file, by fault or by call.
 *
 *   look     a locked, uptodate folio at the index, below the size
 *   add      if there is none; how, the kind of file says
 *   fill     if it is not uptodate
 *
 * Locks: invalidate_lock for read around what adds; folio lock.
 * Source: mm/filemap.c
 */
#include "mm/fs.h"

#include "host/errtext.h"
#include "mm/filemap_grab.h"
#include "mm/mm.h"
#include "mm/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- one folio ----------------------------------------------------------- */

static void unlock_put(struct folio *folio)
{
	folio_unlock(folio);
	folio_put(folio);
}

static bool below_size(const struct inode *inode, pgoff_t index)
{
	return index < i_size_pages(inode);
}

static int above_size(const struct inode *inode, pgoff_t index)
{
	return fail(-ERANGE, "page %" PRIu64 " is above the file's %" PRIu64
		    " bytes", index, i_size_read(inode), 0);
}

/* The locked folio may have been truncated, or never been filled. */
static int make_uptodate(struct inode *inode, struct folio *folio)
{
	struct address_space *mapping = &inode->i_data;

	if (folio_test_uptodate(folio))
		return 0;
	return mapping->a_ops->read_folios(mapping, &folio, 1);
}

/* @grows: the size comes after the folio */
static int get_folio(struct inode *inode, pgoff_t index, bool grows,
		     struct folio **out)
{
	struct address_space *mapping = &inode->i_data;

	for (;; cond_resched()) {
		struct folio *folio;
		int err;

		if (!grows && !below_size(inode, index))
			return above_size(inode, index);
		folio = filemap_lock_folio(mapping, index);
		if (IS_ERR(folio)) {
			err = inode->i_op->add_folios(inode, index);
			if (err)
				return err;
			continue;
		}
		err = make_uptodate(inode, folio);
		/* The size goes first, then the folios above it. */
		if (!err && !grows && !below_size(inode, index))
			err = above_size(inode, index);
		if (!err) {
			*out = folio;
			return 0;
		}
		unlock_put(folio);
		return err;
	}
}

int inode_get_folio(struct inode *inode, pgoff_t index, struct folio **folio)
{
	return get_folio(inode, index, false, folio);
}

/* ---- faults -------------------------------------------------------------- */

/* What is at hand: uptodate, and to be locked without I/O. */
static struct folio *cached_folio(const struct vm_fault *vmf,
				  struct address_space *mapping)
{
	const bool nowait = vmf->flags & FAULT_FLAG_RETRY_NOWAIT;
	struct folio *folio;

	folio = __filemap_get_folio(mapping, vmf->pgoff,
				    FGP_LOCK | (nowait ? FGP_NOWAIT : 0), 0);
	if (IS_ERR(folio))
		return NULL;
	if (folio_test_uptodate(folio))
		return folio;
	unlock_put(folio);
	return NULL;
}

static vm_fault_t fault_error(int err)
{
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static vm_fault_t fault_above_size(const struct inode *inode, pgoff_t index)
{
	(void)fail(-EFAULT, "page %" PRIu64 " is above the file's %" PRIu64
		   " bytes", index, i_size_read(inode), 0);
	return VM_FAULT_SIGBUS;
}

/* Read with mmap_lock dropped; the fault is to be repeated. */
static vm_fault_t read_and_retry(struct vm_fault *vmf)
{
	struct file *file = get_file(vmf->vma->vm_file);
	struct folio *folio;
	int err;

	mmap_read_unlock(vmf->vma->vm_mm);
	err = inode_get_folio(file_inode(file), vmf->pgoff, &folio);
	if (!err)
		unlock_put(folio);
	/* What went wrong, the next try finds out again. */
	fput(file);
	return VM_FAULT_RETRY;
}

static bool may_drop_lock(const struct vm_fault *vmf)
{
	return (vmf->flags & (FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_TRIED)) ==
	       FAULT_FLAG_ALLOW_RETRY;
}

vm_fault_t filemap_fault(struct vm_fault *vmf)
{
	struct inode *inode = file_inode(vmf->vma->vm_file);
	struct folio *folio;
	int err;

	if (unlikely(!below_size(inode, vmf->pgoff)))
		return fault_above_size(inode, vmf->pgoff);
	folio = cached_folio(vmf, &inode->i_data);
	if (folio && unlikely(!below_size(inode, vmf->pgoff))) {
		unlock_put(folio);
		return fault_above_size(inode, vmf->pgoff);
	}
	if (!folio) {
		if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
			return VM_FAULT_RETRY;
		if (may_drop_lock(vmf))
			return read_and_retry(vmf);
		err = inode_get_folio(inode, vmf->pgoff, &folio);
		if (err)
			return fault_error(err);
	}
	vmf->page = folio_page(folio, vmf->pgoff - folio->index);
	return VM_FAULT_LOCKED;
}

vm_fault_t filemap_page_mkwrite(struct vm_fault *vmf)
{
	struct folio *folio = page_folio(vmf->page);
	struct inode *inode = file_inode(vmf->vma->vm_file);

	folio_lock(folio);
	if (folio->mapping != &inode->i_data ||
	    !below_size(inode, vmf->pgoff)) {
		folio_unlock(folio);
		return VM_FAULT_NOPAGE;
	}
	(void)folio_mark_dirty(folio);
	folio_wait_stable(folio);
	return VM_FAULT_LOCKED;
}

/* ---- bytes --------------------------------------------------------------- */

static int check_bytes(const struct file *file, unsigned int mode, int64_t pos)
{
	if (!(file->f_mode & mode))
		return fail(-EBADF, mode == FMODE_READ ?
			    "the file is not open for reading" :
			    "the file is not open for writing", 0, 0, 0);
	if (mode == FMODE_WRITE && file_inode(file)->i_op->no_write)
		return fail(-EINVAL, "this kind of file is written by areas only",
			    0, 0, 0);
	if (file_inode(file)->machine->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	if (pos < 0)
		return fail(-EINVAL, "position %" PRId64, pos, 0, 0);
	return 0;
}

/* What of [@pos, + @bytes) the folio has, and where. */
static char *folio_part(struct folio *folio, u64 pos, u64 bytes, u64 *part)
{
	u64 offset = pos - (folio->index << PAGE_SHIFT);

	*part = min(bytes, ((u64)folio_nr_pages(folio) << PAGE_SHIFT) - offset);
	return (char *)page_address(&folio->page) + offset;
}

/* Up to the end of the page or of the file. */
static u64 read_hole(const struct inode *inode, char *to, u64 pos, u64 bytes)
{
	u64 size = i_size_read(inode);
	u64 part = min(bytes, PAGE_SIZE - (pos & ~PAGE_MASK));

	part = pos < size ? min(part, size - pos) : 0;
	memset(to, 0, part);
	return part;
}

int64_t vfs_read(struct file *file, void *to, u64 bytes, int64_t pos)
{
	struct inode *inode = file_inode(file);
	u64 done = 0;
	int err = check_bytes(file, FMODE_READ, pos);

	while (!err && done < bytes) {
		u64 at = (u64)pos + done, size, part;
		struct folio *folio;
		const char *from;

		if (at >= i_size_read(inode))
			break;
		err = inode_get_folio(inode, at >> PAGE_SHIFT, &folio);
		if (err == -ERANGE)
			err = 0, bytes = done;
		if (err == -ENODATA) {
			err = 0;
			done += read_hole(inode, (char *)to + done, at,
					  bytes - done);
			continue;
		}
		if (err || done == bytes)
			break;
		/* Locked: what lies below the size now stays. */
		size = i_size_read(inode);
		from = folio_part(folio, at, bytes - done, &part);
		part = at < size ? min(part, size - at) : 0;
		memcpy((char *)to + done, from, part);
		folio_mark_accessed(folio);
		unlock_put(folio);
		done += part;
		if (!part)
			break;
	}
	return done ? (int64_t)done : err;
}

/* One folio of a batch: what is not written of it has to be there. */
static int write_folio(struct inode *inode, struct folio *folio, u64 pos,
		       const char *from, u64 bytes, u64 *part)
{
	char *to = folio_part(folio, pos, bytes, part);
	int err = 0;

	if (*part < (u64)folio_nr_pages(folio) << PAGE_SHIFT)
		err = make_uptodate(inode, folio);
	if (err)
		return err;
	memcpy(to, from, *part);
	folio_mark_uptodate(folio);
	(void)folio_mark_dirty(folio);
	return 0;
}

/*
 * One folio, as large as the kind of file makes them: it may begin before what is
 * written, and end after it.
 */
static int64_t write_large(struct inode *inode, u64 pos, const char *from,
			   u64 bytes)
{
	struct folio *folio;
	u64 part;
	int err = get_folio(inode, pos >> PAGE_SHIFT, true, &folio);

	if (err)
		return err;
	folio_wait_stable(folio);
	err = write_folio(inode, folio, pos, from, bytes, &part);
	folio_mark_accessed(folio);
	unlock_put(folio);
	return err ? err : (int64_t)part;
}

/*
 * As much as one batch covers, of small folios.
 *
 * Return: bytes, or an errno.
 */
static int64_t write_batch(struct inode *inode, struct folio_grab *grab,
			   u64 pos, const char *from, u64 bytes)
{
	struct address_space *mapping = &inode->i_data;
	pgoff_t first = pos >> PAGE_SHIFT;
	pgoff_t last = (pos + bytes - 1) >> PAGE_SHIFT;
	u64 done = 0;
	int nr, err = 0;

	down_read(&mapping->invalidate_lock);
	nr = filemap_grab_folios(mapping, first, last - first + 1,
				 FGP_WRITEBEGIN | FGP_ACCESSED,
				 mapping->gfp_mask, 0, grab);
	for (int i = 0; i < nr; i++) {
		struct folio *folio = grab->folios[i];
		u64 part;

		if (!err)
			err = write_folio(inode, folio, pos + done, from + done,
					  bytes - done, &part);
		if (!err)
			done += part;
		unlock_put(folio);
	}
	up_read(&mapping->invalidate_lock);
	if (nr < 0)
		err = nr;
	return done ? (int64_t)done : err;
}

/* Up to where may be written: the end, or why not. */
static int write_limit(struct inode *inode, u64 pos, u64 *bytes)
{
	const u64 size = inode->i_size;

	if (inode->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return fail(-EPERM, "the file is sealed against writing", 0, 0,
			    0);
	if (*bytes > (u64)INT64_MAX - pos)
		return fail(-EFBIG, "%" PRIu64 " + %" PRIu64
			    " is above the largest size", pos, *bytes, 0);
	if (pos + *bytes <= size)
		return 0;
	if (!inode->i_op->write_grows) {
		if (pos >= size)
			return fail(-EFBIG, "position %" PRIu64 " is above the "
				    "file's %" PRIu64 " bytes", pos, size, 0);
		*bytes = size - pos;
		return 0;
	}
	return inode->seals & F_SEAL_GROW ?
	       fail(-EPERM, "the file is sealed against growing", 0, 0, 0) : 0;
}

int64_t vfs_write(struct file *file, const void *from, u64 bytes, int64_t pos)
{
	struct inode *inode = file_inode(file);
	const bool large = mapping_max_folio_order(&inode->i_data);
	struct folio_grab grab;
	u64 done = 0;
	int64_t ret = check_bytes(file, FMODE_WRITE, pos);

	if (ret || !bytes)
		return ret;
	filemap_grab_init(&grab);
	down_write(&inode->i_rwsem);
	ret = write_limit(inode, (u64)pos, &bytes);
	while (!ret && done < bytes) {
		const char *rest = (const char *)from + done;
		const u64 at = (u64)pos + done, left = bytes - done;

		if (signal_pending(current)) {
			ret = fail(-EINTR, "a signal is pending", 0, 0, 0);
			break;
		}
		/* A fault or a read may see the pages before the size does. */
		ret = large ? write_large(inode, at, rest, left) :
			      write_batch(inode, &grab, at, rest, left);
		if (ret < 0)
			break;
		done += (u64)ret;
		ret = 0;
		if ((u64)pos + done > inode->i_size)
			i_size_write(inode, (u64)pos + done);
	}
	up_write(&inode->i_rwsem);
	filemap_grab_end(&grab);
	return done ? (int64_t)done : ret;
}
