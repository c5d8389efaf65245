/* SPDX-License-Identifier: MIT */
/*
 * Files come and go; their size; their holes; their seals.
 *
 * Locks: i_rwsem, then invalidate_lock, for write where pages go.
 * Source: fs/file_table.c, fs/inode.c, fs/open.c, mm/memfd.c, mm/truncate.c
 */
#include "mm/fs.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/shmem.h"
#include "mm/swap.h"
#include "mm/truncate.h"

#include <errno.h>
#include <inttypes.h>

/* ---- life ---------------------------------------------------------------- */

void inode_init(struct inode *inode, struct machine *machine,
		const struct inode_operations *i_op, u64 size)
{
	inode->machine = machine;
	inode->i_op = i_op;
	init_rwsem(&inode->i_rwsem, RANK_I_RWSEM);
	inode->i_size = size;
	mapping_init(&inode->i_data, machine);
	inode->i_data.host = inode;
	atomic_set(&inode->i_count, 0);
}

static void free_inode(struct rcu_head *head)
{
	rcu_callback_begin();
	kfree(container_of(head, struct inode, i_rcu));
	rcu_callback_end();
}

void inode_discard(struct inode *inode)
{
	if (inode->i_op->truncate)
		inode->i_op->truncate(inode, 0);
	else
		truncate_inode_pages_final(&inode->i_data);
	if (inode->i_op->evict)
		inode->i_op->evict(inode);
	mapping_destroy(&inode->i_data);
	call_rcu(&inode->i_rcu, free_inode);
}

struct file *alloc_file(struct inode *inode, unsigned int mode)
{
	struct file *file = kzalloc(sizeof(*file));

	if (!file)
		return NULL;
	atomic_inc(&inode->i_count);
	file->f_inode = inode;
	file->f_mapping = &inode->i_data;
	file->f_mode = mode;
	atomic_set(&file->f_count, 1);
	return file;
}

void fput(struct file *file)
{
	struct inode *inode = file->f_inode;

	if (!atomic_dec_and_test(&file->f_count))
		return;
	kfree(file);
	if (atomic_dec_and_test(&inode->i_count))
		inode_discard(inode);
}

/* ---- size and holes ------------------------------------------------------ */

void truncate_pagecache(struct inode *inode, u64 newsize)
{
	struct address_space *mapping = &inode->i_data;
	const pgoff_t first = (newsize + PAGE_SIZE - 1) >> PAGE_SHIFT;

	/*
	 * Twice: the first time most go without their folios being locked one by
	 * one; a fault that found its folio before the size was set may map it
	 * again, and a private copy of it would stay.
	 */
	unmap_mapping_pages(mapping, first, (pgoff_t)-1 - first, true);
	truncate_inode_pages(mapping, newsize);
	unmap_mapping_pages(mapping, first, (pgoff_t)-1 - first, true);
}

void truncate_pagecache_range(struct inode *inode, u64 lstart, u64 lend)
{
	struct address_space *mapping = &inode->i_data;
	const pgoff_t first = (lstart + PAGE_SIZE - 1) >> PAGE_SHIFT;
	const pgoff_t end = (lend + 1) >> PAGE_SHIFT;

	/* Private copies stay: they are not of the file. */
	if (end > first)
		unmap_mapping_pages(mapping, first, end - first, false);
	truncate_inode_pages_range(mapping, lstart, lend);
}

static int check_seals(const struct inode *inode, unsigned int seals,
		       const char *what)
{
	return inode->seals & seals ? fail(-EPERM, what, 0, 0, 0) : 0;
}

static int set_size(struct inode *inode, u64 size)
{
	const u64 old = inode->i_size;
	int err = 0;

	if (size > INT64_MAX)
		return fail(-EFBIG, "a file cannot have %" PRIu64 " bytes", size,
			    0, 0);
	if (size < old)
		err = check_seals(inode, F_SEAL_SHRINK,
				  "the file is sealed against shrinking");
	else if (size > old)
		err = check_seals(inode, F_SEAL_GROW,
				  "the file is sealed against growing");
	if (err || size == old)
		return err;
	down_write(&inode->i_data.invalidate_lock);
	if (inode->i_op->setsize)
		err = inode->i_op->setsize(inode, size);
	if (!err) {
		i_size_write(inode, size);
		if (size < old && inode->i_op->truncate)
			inode->i_op->truncate(inode, size);
		else if (size < old)
			truncate_pagecache(inode, size);
	}
	up_write(&inode->i_data.invalidate_lock);
	return err;
}

int vfs_truncate(struct file *file, u64 size)
{
	struct inode *inode = file_inode(file);
	int err;

	if (!(file->f_mode & FMODE_WRITE))
		return fail(-EBADF, "the file is not open for writing", 0, 0, 0);
	down_write(&inode->i_rwsem);
	err = set_size(inode, size);
	up_write(&inode->i_rwsem);
	return err;
}

static int check_fallocate(const struct file *file, int mode, int64_t offset,
			   int64_t len)
{
	const int known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE;

	if (offset < 0 || len <= 0)
		return fail(-EINVAL, "offset %" PRId64 ", length %" PRId64,
			    offset, len, 0);
	if (mode & ~known)
		return fail(-EOPNOTSUPP, "fallocate mode %#" PRIx64, mode, 0, 0);
	if ((mode & FALLOC_FL_PUNCH_HOLE) && !(mode & FALLOC_FL_KEEP_SIZE))
		return fail(-EOPNOTSUPP, "a hole does not change the size: "
			    "fallocate mode %#" PRIx64, mode, 0, 0);
	if (!(file->f_mode & FMODE_WRITE))
		return fail(-EBADF, "the file is not open for writing", 0, 0, 0);
	if (offset > INT64_MAX - len)
		return fail(-EFBIG, "%" PRId64 " + %" PRId64
			    " is above the largest size", offset, len, 0);
	if (!file_inode(file)->i_op->fallocate)
		return fail(-EOPNOTSUPP, "not for this kind of file", 0, 0, 0);
	return 0;
}

int vfs_fallocate(struct file *file, int mode, int64_t offset, int64_t len)
{
	struct inode *inode = file_inode(file);
	int err = check_fallocate(file, mode, offset, len);

	if (err)
		return err;
	down_write(&inode->i_rwsem);
	if (mode & FALLOC_FL_PUNCH_HOLE)
		err = check_seals(inode, F_SEAL_WRITE | F_SEAL_FUTURE_WRITE,
				  "the file is sealed against writing");
	else if (!(mode & FALLOC_FL_KEEP_SIZE) &&
		 (u64)(offset + len) > inode->i_size)
		err = check_seals(inode, F_SEAL_GROW,
				  "the file is sealed against growing");
	if (!err)
		err = inode->i_op->fallocate(inode, mode, (u64)offset,
					     (u64)len);
	up_write(&inode->i_rwsem);
	return err;
}

/* ---- seals --------------------------------------------------------------- */

int file_map_writable(struct file *file)
{
	if (atomic_add_unless(&file->f_mapping->i_mmap_writable, 1, -1))
		return 0;
	return fail(-EPERM, "the file is sealed against writing", 0, 0, 0);
}

static bool has_extra_refs(const struct folio *folio)
{
	return folio_ref_count(folio) - folio_mapcount(folio) !=
	       folio_nr_pages(folio) + 1;	/* the look-up's */
}

/*
 * May a page be written by who has got or pinned it?
 *
 * Source: mm/memfd.c:memfd_wait_for_pins()
 * Differs: does not wait for it to be put; who seals may try again.
 */
static int check_pins(struct address_space *mapping)
{
	struct folio_batch fbatch;
	pgoff_t index = 0;
	int err = 0;

	lru_add_drain_all(mapping->machine);
	folio_batch_init(&fbatch);
	while (!err && filemap_get_folios(mapping, &index, (pgoff_t)-1,
					  &fbatch)) {
		for (unsigned int i = 0; i < fbatch.nr && !err; i++)
			if (has_extra_refs(fbatch.folios[i]))
				err = fail(-EBUSY, "the page of index %" PRIu64
					   " is got or pinned",
					   fbatch.folios[i]->index, 0, 0);
		folio_batch_release(&fbatch);
		cond_resched();
	}
	return err;
}

static int seal_writes(struct address_space *mapping)
{
	int err;

	if (atomic_cmpxchg(&mapping->i_mmap_writable, 0, -1) != 0)
		return fail(-EBUSY, "an area may write to the file", 0, 0, 0);
	err = check_pins(mapping);
	if (err)
		atomic_inc(&mapping->i_mmap_writable);
	return err;
}

static int add_seals(struct inode *inode, unsigned int seals)
{
	int err = check_seals(inode, F_SEAL_SEAL, "the file's seals are sealed");

	if (err)
		return err;
	if ((seals & F_SEAL_WRITE) && !(inode->seals & F_SEAL_WRITE)) {
		err = seal_writes(&inode->i_data);
		if (err)
			return err;
	}
	/* Who maps it looks without the lock. */
	WRITE_ONCE(inode->seals, inode->seals | seals);
	return 0;
}

int file_add_seals(struct file *file, unsigned int seals)
{
	const unsigned int known = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
				   F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
	struct inode *inode = file_inode(file);
	int err;

	if (!(file->f_mode & FMODE_WRITE))
		return fail(-EPERM, "the file is not open for writing", 0, 0, 0);
	if (seals & ~known)
		return fail(-EINVAL, "seals %#" PRIx64, seals, 0, 0);
	if (!shmem_mapping(file->f_mapping) &&
	    !mapping_hugetlb(file->f_mapping))
		return fail(-EINVAL, "only files of memory have seals", 0, 0, 0);
	down_write(&inode->i_rwsem);
	err = add_seals(inode, seals);
	up_write(&inode->i_rwsem);
	return err;
}
