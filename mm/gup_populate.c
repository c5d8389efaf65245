/* SPDX-License-Identifier: MIT */
/*
 * Faulting ranges in without keeping the pages.
 *
 * Source: mm/gup.c:populate_vma_page_range(), faultin_page_range(),
 *         __mm_populate()
 */
#include "mm/gup_internal.h"

#include "mm/swap.h"

/*
 * populate_vma_page_range() - make [start, end), inside @vma, resident
 *
 * A private writable area gets pages of its own now.
 * Return: pages, may be 0 if the lock was dropped; or a negative errno.
 */
long populate_vma_page_range(struct vm_area_struct *vma, pf_addr_t start,
			     pf_addr_t end, int *locked)
{
	struct mm_struct *mm = vma->vm_mm;
	unsigned long nr_pages = (end - start) / PAGE_SIZE;
	unsigned int gup_flags = FOLL_TOUCH;
	int local_locked = 1;
	long ret;

	VM_BUG_ON(!IS_ALIGNED(start | end, PAGE_SIZE));
	VM_BUG_ON(start < vma->vm_start || end > vma->vm_end);
	if (vma->vm_flags & VM_LOCKONFAULT)
		return nr_pages;
	if (!vma_is_accessible(vma))
		return -EFAULT;
	/* Reading by force reaches areas that can only be written or run. */
	if ((vma->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE)
		gup_flags |= FOLL_WRITE;
	else
		gup_flags |= FOLL_FORCE;
	if (locked)
		gup_flags |= FOLL_UNLOCKABLE;
	ret = __get_user_pages(mm, start, nr_pages, gup_flags, NULL,
			       locked ? locked : &local_locked);
	lru_add_drain();
	return ret;
}

/*
 * faultin_page_range() - MADV_POPULATE's step
 *
 * Return: pages, at least 1; -ENOMEM for a hole, -EINVAL where an area does not
 * permit it; *@locked tells whether mmap_lock is still held.
 */
long faultin_page_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			bool write, int *locked)
{
	unsigned int gup_flags = FOLL_TOUCH | FOLL_HWPOISON | FOLL_UNLOCKABLE |
				 FOLL_MADV_POPULATE;
	long ret;

	if (write)
		gup_flags |= FOLL_WRITE;
	ret = __get_user_pages_locked(mm, start, (end - start) / PAGE_SIZE,
				      NULL, locked, gup_flags);
	lru_add_drain();
	return ret;
}

int mm_populate(struct mm_struct *mm, pf_addr_t start, u64 length,
		bool ignore_errors)
{
	pf_addr_t end = start + length, at = start, next;
	struct vm_area_struct *vma;
	int locked = 0;
	long ret = 0;

	for (; at < end; at = next) {
		if (!locked) {
			if (mmap_read_lock_killable(mm))
				return -EINTR;
			locked = 1;
		}
		vma = find_vma_intersection(mm, at, end);
		if (!vma)
			break;
		next = min(end, vma->vm_end);
		if (vma->vm_flags & (VM_IO | VM_PFNMAP)) {
			ret = 0;
			continue;
		}
		at = max(at, vma->vm_start);
		ret = populate_vma_page_range(vma, at, next, &locked);
		if (ret < 0 && ignore_errors) {
			ret = 0;
			continue;
		}
		if (ret < 0)
			break;
		next = at + ret * PAGE_SIZE;
	}
	if (locked)
		mmap_read_unlock(mm);
	return ret < 0 ? ret : 0;
}
