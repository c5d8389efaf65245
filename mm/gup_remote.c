/* SPDX-License-Identifier: MIT */
/*
 * Reaching into an address space page by page: for debuggers, dumps, futexes.
 *
 * Source: mm/gup.c:fixup_user_fault(), get_dump_page(), fault_in_*();
 *         mm/memory.c:__access_remote_vm()
 */
#include "mm/gup_internal.h"

#include "host/errtext.h"

#include <inttypes.h>
#include <string.h>

static bool vma_permits_access(struct vm_area_struct *vma, unsigned int flags)
{
	return vma->vm_flags & (flags & FAULT_FLAG_WRITE ? VM_WRITE : VM_READ);
}

/* One fault; 0, or the errno it ends with, or 1 to try again. */
static int fixup_once(struct mm_struct *mm, pf_addr_t address,
		      unsigned int fault_flags, bool *unlocked)
{
	struct vm_area_struct *vma = vma_lookup(mm, address);
	vm_fault_t ret;

	if (!vma || !vma_permits_access(vma, fault_flags))
		return fail(-EFAULT, "%#" PRIx64 " is not mapped, or not so",
			    address, 0, 0);
	if ((fault_flags & FAULT_FLAG_KILLABLE) && fatal_signal_pending(current))
		return -EINTR;
	ret = handle_mm_fault(vma, address, fault_flags, NULL);
	if (ret & (VM_FAULT_COMPLETED | VM_FAULT_RETRY)) {
		/* Whatever comes next, the lock is held on return. */
		mmap_read_lock(mm);
		*unlocked = true;
		return ret & VM_FAULT_COMPLETED ? 0 : 1;
	}
	if (ret & VM_FAULT_OOM)
		return -ENOMEM;
	return ret & VM_FAULT_ERROR ? -EFAULT : 0;
}

int fixup_user_fault(struct mm_struct *mm, pf_addr_t address,
		     unsigned int fault_flags, bool *unlocked)
{
	int ret;

	mmap_assert_locked(mm);
	if (unlocked)
		fault_flags |= FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE;
	do {
		ret = fixup_once(mm, address, fault_flags, unlocked);
		fault_flags |= FAULT_FLAG_TRIED;
	} while (ret > 0);
	return ret;
}

struct page *get_dump_page(pf_addr_t address)
{
	struct mm_struct *mm = current->mm;
	struct page *page = NULL;
	int locked = 0;
	long ret = __get_user_pages_locked(mm, address, 1, &page, &locked,
					   FOLL_FORCE | FOLL_DUMP | FOLL_GET);

	return ret == 1 ? page : NULL;
}

/* Part of one page; bytes, or an errno. */
static long access_page_part(struct mm_struct *mm, pf_addr_t address, char *buf,
			     u64 bytes, unsigned int gup_flags)
{
	u64 offset = address & ~PAGE_MASK;
	u64 part = min(bytes, PAGE_SIZE - offset);
	struct page *page;
	char *inside;
	long ret = get_user_pages_remote(mm, address, 1, gup_flags, &page,
					 NULL);

	if (ret <= 0)
		return ret ? ret : -EFAULT;
	inside = (char *)page_address(page) + offset;
	if (gup_flags & FOLL_WRITE) {
		memcpy(inside, buf, part);
		(void)set_page_dirty_lock(page);
	} else {
		memcpy(buf, inside, part);
	}
	put_page(page);
	return part;
}

int64_t access_remote_vm(struct mm_struct *mm, pf_addr_t address, void *buf,
			 u64 bytes, unsigned int gup_flags)
{
	u64 done = 0;

	if (mmap_read_lock_killable(mm))
		return 0;
	while (done < bytes) {
		long part = access_page_part(mm, address + done,
					     (char *)buf + done, bytes - done,
					     gup_flags);

		if (part <= 0)
			break;
		done += part;
	}
	mmap_read_unlock(mm);
	return done;
}

/*
 * The start of [address, + bytes) and of each page behind it, as a user's access
 * would reach them; bytes that were not.
 */
static u64 fault_in(pf_addr_t address, u64 bytes, bool write)
{
	pf_addr_t end = address + bytes, at = address;

	if (!bytes)
		return 0;
	if (end < address)
		return bytes;
	while (at < end) {
		struct page *page;
		long ret = get_user_pages_unlocked(current->mm, at, 1, &page,
						   write ? FOLL_WRITE : 0);

		if (ret != 1)
			break;
		if (write && !current->machine->metadata_only)
			((char *)page_address(page))[at & ~PAGE_MASK] = 0;
		put_page(page);
		at = (at & PAGE_MASK) + PAGE_SIZE;
	}
	return at < end ? end - at : 0;
}

u64 fault_in_readable(pf_addr_t address, u64 bytes)
{
	return fault_in(address, bytes, false);
}

u64 fault_in_writeable(pf_addr_t address, u64 bytes)
{
	return fault_in(address, bytes, true);
}

u64 fault_in_safe_writeable(pf_addr_t address, u64 bytes)
{
	struct mm_struct *mm = current->mm;
	pf_addr_t end = address + bytes, at = address;
	bool unlocked;

	if (!bytes)
		return 0;
	if (end < address)
		return bytes;
	mmap_read_lock(mm);
	while (at < end && !fixup_user_fault(mm, at, FAULT_FLAG_WRITE,
					     &unlocked))
		at = (at & PAGE_MASK) + PAGE_SIZE;
	mmap_read_unlock(mm);
	return at < end ? end - at : 0;
}
