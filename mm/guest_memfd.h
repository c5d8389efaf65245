/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: the memory of a guest, as a file that nobody maps.
 *
 * A page is absent; allocated, with arbitrary bytes; or prepared: zeroed or
 * written, and somebody's frame number.  A prepared page stays prepared, with
 * the same frame, until a hole is punched.  Folios are neither on an LRU list
 * nor moved.
 *
 *	absent -> allocate -> allocated -> get_pfn, zeroes    -> prepared
 *	absent ---------------> write, populate, restore ------^
 *
 * PG_uptodate says "prepared", of a folio as a whole; it is looked at under the
 * folio lock, and set before the folio can be found or under that lock.
 *
 * Rules for callers
 * - Who uses a frame keeps the reference that he got it with.  After a hole is
 *   punched, frames of the hole are nobody's memory any more: take them out of
 *   the guest's tables, and drop the references.
 * - guest_memfd_get_pfn() does not wait for holes being punched.  To enter a
 *   frame in tables: read guest_memfd_invalidate_seq(), get the frame, lock the
 *   tables, and enter it unless guest_memfd_invalidate_retry().  Whoever punches
 *   locks the tables afterwards, to take the hole out.
 *
 * Locks: invalidate_lock, for write to punch and to poison, for read to fill;
 * not for get_pfn, read and save.
 *
 * Source: virt/kvm/guest_memfd.c
 */
#ifndef MM_GUEST_MEMFD_H
#define MM_GUEST_MEMFD_H

#include "host/seqcount.h"
#include "mm/filemap.h"

/* Key: (C) constant after init */
struct guest_memfd {
	struct address_space mapping;
	u64 size;			/* (C) bytes, whole pages */
	seqcount_t invalidate;		/* invalidate_lock for write */
};

/*
 * guest_memfd_create() - an empty object on the current machine
 * @size: bytes; nothing is reserved
 * @max_order: of its folios, 0 to MAX_PAGECACHE_ORDER
 *
 * Return: 0; -EINVAL, @size is 0, above INT64_MAX or no whole pages, or
 * @max_order; -ENOMEM.
 * Owner: the caller, who ends with guest_memfd_destroy().
 * Source: virt/kvm/guest_memfd.c:__kvm_gmem_create()
 * Differs: an object of the machine's, of no virtual machine's; folios larger
 *          than a page if asked for.
 */
int __must_check guest_memfd_create(u64 size, unsigned int max_order,
				    struct guest_memfd **out);

/*
 * guest_memfd_destroy() - drop all folios; those that are got live on
 *
 * Context: no other call on it is running.
 */
void guest_memfd_destroy(struct guest_memfd *gmem);

/*
 * guest_memfd_allocate() - let each page of the range have a frame
 *
 * Bytes are not zeroed before somebody gets them; what is there stays.
 *
 * Return: 0; -EINVAL (not whole pages, empty, beyond the size), -EFBIG (the end
 * is above INT64_MAX), -EINTR, -ENOMEM: what was done by then stays.
 * Source: virt/kvm/guest_memfd.c:kvm_gmem_allocate(), fs/open.c:vfs_fallocate()
 * Differs: allocating and punching are two functions and not modes of one.
 */
int __must_check guest_memfd_allocate(struct guest_memfd *gmem, u64 offset,
				      u64 len);

/*
 * guest_memfd_punch() - drop the pages of the range; they read as zero then
 *
 * A larger folio that sticks out and that somebody has got cannot be split: its
 * pages of the range are zeroed in place, and stay prepared.
 *
 * Return: 0; -EINVAL (not whole pages, empty), -EFBIG.  Beyond the size there is
 * nothing to drop.
 * Source: virt/kvm/guest_memfd.c:kvm_gmem_punch_hole()
 */
int __must_check guest_memfd_punch(struct guest_memfd *gmem, u64 offset,
				   u64 len);

/*
 * guest_memfd_get_pfn() - the page at @index, prepared
 *
 * Return: 0 and *@page, with a reference, for put_page(); -EINVAL (beyond the
 * size), -ENOMEM, -EHWPOISON.
 * Source: virt/kvm/guest_memfd.c:kvm_gmem_get_pfn()
 * Differs: by index instead of slot and gfn; poison is looked at page by page.
 */
int __must_check guest_memfd_get_pfn(struct guest_memfd *gmem, pgoff_t index,
				     struct page **page);

/*
 * guest_memfd_invalidate_seq() - for guest_memfd_invalidate_retry()
 * guest_memfd_invalidate_retry() - has a page been taken away since?
 *
 * Also true while that is going on.
 * Source: include/linux/kvm_host.h:mmu_invalidate_retry()
 * Differs: of the whole object, not of a range.
 */
unsigned int guest_memfd_invalidate_seq(const struct guest_memfd *gmem);
bool guest_memfd_invalidate_retry(const struct guest_memfd *gmem,
				  unsigned int seq);

/*
 * guest_memfd_memory_error() - the frame at @index has gone bad
 *
 * It stays where it is, and whoever wants it from now on gets -EHWPOISON, until
 * a hole is punched.
 *
 * Return: 0; -ENOENT, no folio is there.
 * Source: virt/kvm/guest_memfd.c:kvm_gmem_error_folio()
 * Differs: takes invalidate_lock, for write, before the folio lock.  Limit: a
 *          bad frame that is dropped is used again.
 */
int __must_check guest_memfd_memory_error(struct guest_memfd *gmem,
					  pgoff_t index);

/*
 * guest_memfd_read() - copy bytes out
 * @offset, @len: bytes, in any alignment
 *
 * What is not prepared reads as zero, and is not allocated.
 *
 * Return: @len, or bytes up to the first poisoned page; -EHWPOISON if it is the
 * first; -EINVAL (beyond the size), -EOPNOTSUPP (a metadata-only machine).
 * Differs: Linux refuses; this is for who embeds the machine, not for the guest.
 */
int64_t __must_check guest_memfd_read(struct guest_memfd *gmem, u64 offset,
				  void *to, u64 len);

/*
 * guest_memfd_write() - fill pages that are not prepared, and prepare them
 * @from: bytes; the same pages may not be changed meanwhile
 *
 * Whole pages.  Each is found with all its bytes, or not prepared.
 *
 * Return: bytes done, up to the first page that was prepared before, or is
 * poisoned, or for which there is no memory, or to a signal.  If none: -ENOSPC,
 * -EHWPOISON, -ENOMEM, -EINTR; -EINVAL (not whole pages, beyond the size, NULL);
 * -EOPNOTSUPP (a metadata-only machine).
 * Context: holds no lock while it reads @from.
 * Differs: no release of Linux has it; a proposal copied without the folio lock,
 *          and lost what met a fault.
 */
int64_t __must_check guest_memfd_write(struct guest_memfd *gmem, u64 offset,
				   const void *from, u64 len);

/* guest_memfd_populate() - the same; -EEXIST for what is prepared already */
int64_t __must_check guest_memfd_populate(struct guest_memfd *gmem, u64 offset,
				      const void *from, u64 len);

/*
 * guest_memfd_restore() - let a range read as a file says
 * @fd: a regular file, to be read; its position is unspecified afterwards
 * @file_offset, @offset, @len: bytes, whole pages
 *
 * Pages that are prepared are overwritten in place.  Holes of the file take no
 * memory: where a page is prepared it is zeroed, others stay as they are.
 *
 * Return: bytes done, all before them restored and nothing behind changed: up to
 * the end of the file, to what cannot be read, a poisoned page, a signal, or for
 * want of memory.  If none: -ENODATA (the file has ended), -EIO and what else
 * reading gives, -EHWPOISON, -EINTR, -ENOMEM; -EINVAL, -EISDIR, -ESPIPE (no
 * regular file), -EOPNOTSUPP (a metadata-only machine).
 */
int64_t __must_check guest_memfd_restore(struct guest_memfd *gmem, int fd,
				     u64 file_offset, u64 offset, u64 len);

/*
 * guest_memfd_save() - the inverse
 *
 * What is not prepared becomes a hole of the file, or zeroes; nothing is
 * allocated.  The bytes are those of one moment only if nobody changes them.
 *
 * Return: bytes done; if none -EIO, -ENOSPC and what else writing gives,
 * -EHWPOISON, -EINTR, and as guest_memfd_restore().
 */
int64_t __must_check guest_memfd_save(struct guest_memfd *gmem, int fd,
				  u64 file_offset, u64 offset, u64 len);

#endif
