/* SPDX-License-Identifier: MIT */
/*
 * Files: what a mapping belongs to, and what areas map.
 *
 * An inode is the file: its size, its pages.  A struct file is one way to it,
 * with a mode.  Open handles and areas hold files; files hold the inode; with
 * the last of them the pages go.
 *
 * The memory of an inode stays for a grace period: who finds a folio's mapping
 * without a lock may look at its flags.
 *
 * Source: include/linux/fs.h
 */
#ifndef MM_FS_H
#define MM_FS_H

#include "mm/filemap.h"

struct vm_operations_struct;

/* What may not be done to a file any more; values of Linux's F_SEAL_*. */
#define F_SEAL_SEAL		0x0001u
#define F_SEAL_SHRINK		0x0002u
#define F_SEAL_GROW		0x0004u
#define F_SEAL_WRITE		0x0008u
#define F_SEAL_FUTURE_WRITE	0x0010u

struct inode_operations {
	const struct vm_operations_struct *vm_ops;
	/*
	 * Have a folio in the cache at @index, which is below the size; more may
	 * come along.  Return: 0, also if somebody else was faster; -ENODATA: holes
	 * are read as zeroes, and stay; or another errno.
	 */
	int (*add_folios)(struct inode *inode, pgoff_t index);
	/* NULL: the size is only a number.  i_rwsem */
	int (*setsize)(struct inode *inode, u64 size);
	/*
	 * i_size is set: what lies above goes from areas and cache.  NULL:
	 * truncate_pagecache().  i_rwsem, invalidate_lock, or nobody uses it.
	 */
	void (*truncate)(struct inode *inode, u64 size);
	/* @mode: FALLOC_*; NULL: cannot be.  i_rwsem */
	int (*fallocate)(struct inode *inode, int mode, u64 offset, u64 len);
	/* The pages are gone.  NULL: nothing else to do */
	void (*evict)(struct inode *inode);
	bool write_grows;	/* a write may end above the size */
	bool no_write;		/* only areas are written to */
};

#define FALLOC_FL_KEEP_SIZE	0x01
#define FALLOC_FL_PUNCH_HOLE	0x02

/*
 * Key: (C) constant after init, (A) atomic, (I) i_rwsem to write, none to read
 */
struct inode {
	struct machine *machine;		/* (C) */
	const struct inode_operations *i_op;	/* (C) */
	struct rw_semaphore i_rwsem;
	u64 i_size;				/* (I) bytes */
	struct address_space i_data;
	unsigned int seals;			/* (I) F_SEAL_* */
	atomic_t i_count;			/* files */
	struct rcu_head i_rcu;
};

#define FMODE_READ	1u
#define FMODE_WRITE	2u

struct file {
	struct inode *f_inode;			/* (C) */
	struct address_space *f_mapping;	/* (C) the inode's */
	unsigned int f_mode;			/* (C) */
	atomic_t f_count;			/* handles and areas */
};

static inline struct inode *file_inode(const struct file *file)
{
	return file->f_inode;
}

static inline u64 i_size_read(const struct inode *inode)
{
	return READ_ONCE(inode->i_size);
}

/* i_size_write() - Context: i_rwsem for write */
static inline void i_size_write(struct inode *inode, u64 size)
{
	VM_BUG_ON(!rwsem_is_write_locked(&inode->i_rwsem));
	WRITE_ONCE(inode->i_size, size);
}

/* i_size_pages() - the first index that lies wholly above the size */
static inline pgoff_t i_size_pages(const struct inode *inode)
{
	return (i_size_read(inode) + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

/*
 * inode_init() - an empty file of @size bytes
 *
 * Owner: the files that are made of it; the last one frees @inode, which is the
 * beginning of what kzalloc() gave.
 */
void inode_init(struct inode *inode, struct machine *machine,
		const struct inode_operations *i_op, u64 size);

/* inode_discard() - one that no file was made of */
void inode_discard(struct inode *inode);

/*
 * alloc_file() - a way to @inode
 *
 * Return: NULL without memory.  Owner: the caller, who calls fput().
 */
struct file *alloc_file(struct inode *inode, unsigned int mode);

static inline struct file *get_file(struct file *file)
{
	atomic_inc(&file->f_count);
	return file;
}

/* fput() - the last one closes it; the last file takes the pages along */
void fput(struct file *file);

/*
 * vfs_truncate() - set the size
 *
 * What lies above it is not mapped, and not in the cache, on return.
 * Return: 0; -EBADF, not open for writing; -EPERM, a seal; or the host's errno.
 * Context: takes i_rwsem, invalidate_lock.
 * Source: fs/open.c:vfs_truncate(), mm/shmem.c:shmem_setattr()
 */
int __must_check vfs_truncate(struct file *file, u64 size);

/*
 * vfs_fallocate() - have pages for a range, or none
 *
 * Return: 0; -EINVAL, -EOPNOTSUPP, -EBADF, -EFBIG, -EPERM (a seal), -ENOMEM,
 * -EINTR; -ENOSPC, no huge page.  On failure no page has come, but to files of
 * huge pages, and of a hole the cache may have lost its part.
 * Source: fs/open.c:vfs_fallocate()
 */
int __must_check vfs_fallocate(struct file *file, int mode, int64_t offset,
			       int64_t len);

/*
 * vfs_read(), vfs_write() - bytes, through the cache
 *
 * Return: how many, short at the end of the file or at an error behind the first
 * byte; or -EBADF, -EPERM (a seal), -EIO, -ENOMEM, -EINTR; -EOPNOTSUPP on a
 * metadata-only machine, -EINVAL for a position below 0.
 * Source: mm/filemap.c:filemap_read(), generic_perform_write()
 */
int64_t vfs_read(struct file *file, void *to, u64 bytes, int64_t pos);
int64_t vfs_write(struct file *file, const void *from, u64 bytes, int64_t pos);

/*
 * file_add_seals() - forbid something for good
 *
 * Return: 0; -EPERM, sealed or not open for writing; -EINVAL, unknown seals, or a
 * file that has none; -EBUSY, F_SEAL_WRITE and an area may write to it, or a page
 * is got or pinned.
 * Source: mm/memfd.c:memfd_add_seals()
 */
int __must_check file_add_seals(struct file *file, unsigned int seals);

/*
 * file_map_writable() - may an area come that shares its stores?
 *
 * Return: 0, and file_unmap_writable() undoes it; -EPERM, sealed.
 * Source: include/linux/fs.h:mapping_map_writable()
 */
int __must_check file_map_writable(struct file *file);
static inline void file_unmap_writable(struct file *file)
{
	atomic_dec(&file->f_mapping->i_mmap_writable);
}

/*
 * inode_get_folio() - the folio of @index: locked, uptodate, with a reference
 *
 * Return: 0; -ERANGE, at or above the size; -EIO and other errnos of the host,
 * what the file could not be read for; -ENOMEM, -EINTR.
 * Context: takes invalidate_lock for read; sleeps.
 */
int __must_check inode_get_folio(struct inode *inode, pgoff_t index,
				 struct folio **folio);

/* filemap_fault() - a page of the cache, read in first if need be
 *
 * Where the fault may drop mmap_lock, it does so to read.
 * Source: mm/filemap.c:filemap_fault()
 */
vm_fault_t filemap_fault(struct vm_fault *vmf);
/* filemap_page_mkwrite() - make it dirty.  Source: mm/filemap.c */
vm_fault_t filemap_page_mkwrite(struct vm_fault *vmf);

/*
 * unmap_mapping_pages() - no entry maps these pages of a file any more
 * @even_cows: private copies go as well
 *
 * Context: takes i_mmap_rwsem for read.  A fault may map them again at once, if
 * they are in the cache still.
 * Source: mm/memory.c:unmap_mapping_pages()
 */
void unmap_mapping_pages(struct address_space *mapping, pgoff_t start,
			 pgoff_t nr, bool even_cows);
/* unmap_mapping_folio() - of one folio.  Context: the folio lock */
void unmap_mapping_folio(struct folio *folio);

/*
 * truncate_pagecache() - what lies above @newsize goes from areas and cache
 *
 * Context: i_size is set, invalidate_lock for write.
 * Source: mm/truncate.c:truncate_pagecache()
 */
void truncate_pagecache(struct inode *inode, u64 newsize);
/* truncate_pagecache_range() - bytes [@lstart, @lend]; the same for a hole */
void truncate_pagecache_range(struct inode *inode, u64 lstart, u64 lend);

/*
 * host_file_create() - a file over the host's @fd, which is duplicated
 * @writable: shared areas may be written; stores stay in the cache, dirty
 *
 * Return: 0; -EBADF, -ENODEV, not a regular file; -EACCES, @fd is not open for
 * reading, or for writing if @writable; -EOPNOTSUPP, a metadata-only machine;
 * -ENOMEM.
 * Owner: the caller, who calls fput().
 */
int __must_check host_file_create(struct machine *machine, int fd,
				  bool writable, struct file **file);

/* folio_mkclean() - write-protect what maps it shared; was any entry dirty? */
int folio_mkclean(struct folio *folio);

enum ttu_flags {
	TTU_IGNORE_MLOCK = 1 << 0,	/* locked areas lose it as well */
	TTU_TRYLOCK = 1 << 1,		/* i_mmap_rwsem is not waited for */
};

/*
 * try_to_unmap() - no entry maps a file's @folio any more
 *
 * Dirty entries make it dirty.
 * Context: the folio lock.
 * Return: nothing maps it now.
 * Source: mm/rmap.c:try_to_unmap()
 * Differs: says whether it did; TTU_TRYLOCK.
 */
bool __must_check try_to_unmap(struct folio *folio, enum ttu_flags flags);

/*
 * folio_referenced() - how many entries were used since this was asked last?
 *
 * Of a file's folio; -1: somebody holds i_mmap_rwsem.  Entries become old.
 * Context: the folio lock.  Source: mm/rmap.c:folio_referenced()
 */
int folio_referenced(struct folio *folio);

#endif
