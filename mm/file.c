/* SPDX-License-Identifier: MIT */
/*
 * A file of the host's: a cache over a descriptor.
 *
 * Folios are read many together.  What is stored stays in the
 * cache, and is known to be dirty; writing it back is the embedder's business.
 *
 * Locks: i_rwsem, invalidate_lock for read to add, folio lock.
 * Source: mm/filemap.c, mm/readahead.c
 */
#include "mm/fs.h"

#include "host/errtext.h"
#include "host/hostfd.h"
#include "mm/filemap_grab.h"
#include "mm/gfp.h"
#include "mm/mm.h"

#include <errno.h>
#include <inttypes.h>

struct host_inode {
	struct inode inode;		/* first: freed by its address */
	int fd;				/* (C) */
};

static struct host_inode *host_inode(const struct address_space *mapping)
{
	return container_of(mapping->host, struct host_inode, inode);
}

/* ---- reading ------------------------------------------------------------- */

static int read_run(struct address_space *mapping, struct folio **folios,
		    unsigned int nr)
{
	struct iovec iov[FILEMAP_GRAB_MAX];
	int err;

	for (unsigned int i = 0; i < nr; i++) {
		iov[i].iov_base = page_address(&folios[i]->page);
		iov[i].iov_len = (size_t)folio_nr_pages(folios[i]) <<
				 PAGE_SHIFT;
	}
	err = hostfd_read(host_inode(mapping)->fd, iov, nr,
			  folios[0]->index << PAGE_SHIFT);
	if (err)
		return fail(err, "page %" PRIu64 " of the file cannot be read",
			    folios[0]->index, 0, 0);
	for (unsigned int i = 0; i < nr; i++)
		folio_mark_uptodate(folios[i]);
	return 0;
}

/* One page that cannot be read is not to cost its neighbours. */
static int host_read_folios(struct address_space *mapping,
			    struct folio **folios, unsigned int nr)
{
	int err = read_run(mapping, folios, nr), each = 0;

	for (unsigned int i = 0; err && nr > 1 && i < nr; i++) {
		int one = read_run(mapping, folios + i, 1);

		each = each ? each : one;
	}
	return nr > 1 ? each : err;
}

static const struct address_space_operations host_aops = {
	.read_folios = host_read_folios,
};

/* ---- adding -------------------------------------------------------------- */

/* Fill the new folios of a batch, each run of them with one read. */
static void fill_batch(struct address_space *mapping, struct folio_grab *grab)
{
	unsigned int i = 0;

	while (i < grab->nr) {
		unsigned int first = i;

		while (i < grab->nr && !folio_test_uptodate(grab->folios[i]))
			i++;
		if (i > first)
			(void)!host_read_folios(mapping, grab->folios + first,
						i - first);
		else
			i++;
	}
}

/*
 * From @index to the end of its 64 pages, or of the file.  Only memory can be
 * short; a page that cannot be read stays, not uptodate, and whoever wants it
 * reads it again and learns why.
 */
static int host_add_folios(struct inode *inode, pgoff_t index)
{
	struct address_space *mapping = &inode->i_data;
	pgoff_t end = min((index | (FILEMAP_GRAB_MAX - 1)) + 1,
			  i_size_pages(inode));
	struct folio_grab grab;
	int nr;

	if (index >= end)
		return 0;
	filemap_grab_init(&grab);
	down_read(&mapping->invalidate_lock);
	nr = filemap_grab_folios(mapping, index, end - index,
				 FGP_LOCK | FGP_CREAT | FGP_ACCESSED,
				 mapping->gfp_mask,
				 mapping_max_folio_order(mapping), &grab);
	if (nr > 0)
		fill_batch(mapping, &grab);
	for (int i = 0; i < nr; i++) {
		folio_unlock(grab.folios[i]);
		folio_put(grab.folios[i]);
	}
	up_read(&mapping->invalidate_lock);
	filemap_grab_end(&grab);
	return nr < 0 ? nr : 0;
}

/* ---- changing the host's file -------------------------------------------- */

static int host_setsize(struct inode *inode, u64 size)
{
	int err = hostfd_truncate(host_inode(&inode->i_data)->fd, size);

	return err ? fail(err, "the host's file cannot have %" PRIu64 " bytes",
			  size, 0, 0) : 0;
}

/*
 * A hole in both: nothing may be read in between, or the cache would bring back
 * what was there (case_H11).
 */
static int host_fallocate(struct inode *inode, int mode, u64 offset, u64 len)
{
	int err;

	down_write(&inode->i_data.invalidate_lock);
	if (mode & FALLOC_FL_PUNCH_HOLE)
		truncate_pagecache_range(inode, offset, offset + len - 1);
	err = hostfd_fallocate(host_inode(&inode->i_data)->fd, mode, offset,
			       len);
	if (err)
		err = fail(err, "the host's file: %" PRIu64 " + %" PRIu64
			   " bytes", offset, len, 0);
	else if (!(mode & FALLOC_FL_KEEP_SIZE) && offset + len > inode->i_size)
		i_size_write(inode, offset + len);
	up_write(&inode->i_data.invalidate_lock);
	return err;
}

static void host_evict(struct inode *inode)
{
	hostfd_close(host_inode(&inode->i_data)->fd);
}

/* ---- the file ------------------------------------------------------------ */

static const struct vm_operations_struct host_vm_ops = {
	.fault = filemap_fault,
	.page_mkwrite = filemap_page_mkwrite,
};

static const struct inode_operations host_inode_ops = {
	.vm_ops = &host_vm_ops,
	.add_folios = host_add_folios,
	.setsize = host_setsize,
	.fallocate = host_fallocate,
	.evict = host_evict,
};

int host_file_create(struct machine *machine, int fd, bool writable,
		     struct file **out)
{
	struct host_inode *host;
	struct file *file;
	u64 size = 0;

	if (machine->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	host = kzalloc(sizeof(*host));
	if (!host)
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	host->fd = hostfd_open(fd, writable, &size);
	if (host->fd < 0) {
		int err = host->fd;

		kfree(host);
		return fail(err, "not a regular file open for what it is to be "
			    "used for", 0, 0, 0);
	}
	inode_init(&host->inode, machine, &host_inode_ops, size);
	host->inode.i_data.a_ops = &host_aops;
	file = alloc_file(&host->inode,
			  FMODE_READ | (writable ? FMODE_WRITE : 0));
	if (!file) {
		inode_discard(&host->inode);
		return fail(-ENOMEM, "no memory for a file", 0, 0, 0);
	}
	*out = file;
	return 0;
}
