/* SPDX-License-Identifier: MIT */
/*
 * Advice about a range.
 *
 * Locks: mmap_lock for write where areas change, for read otherwise; collapsing
 * takes it for write by itself.
 * Source: mm/madvise.c
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/khugepaged.h"

#include <errno.h>
#include <inttypes.h>

static int advise_flags(struct vm_area_struct **vma, pf_addr_t start,
			pf_addr_t end, vm_flags_t set, vm_flags_t clear)
{
	vm_flags_t flags = ((*vma)->vm_flags & ~clear) | set;

	if ((*vma)->vm_flags & VM_SPECIAL)
		return fail(-EINVAL, "the area at %#" PRIx64
			    " cannot have huge pages", (*vma)->vm_start, 0, 0);
	if (flags == (*vma)->vm_flags)
		return 0;
	/* What would be -ENOMEM elsewhere; here that errno means a hole. */
	if (vma_modify_flags(vma, start, end, flags))
		return fail(-EAGAIN, "no memory, or too many areas, to cut the "
			    "area at %#" PRIx64, start, 0, 0);
	return 0;
}

/* What fork is to make of the area. */
static int advise_fork(struct vm_area_struct **vma, pf_addr_t start,
		       pf_addr_t end, int advice)
{
	vm_flags_t flags = (*vma)->vm_flags;
	int err;

	if ((advice == MADV_DOFORK && (flags & VM_IO)) ||
	    (advice == MADV_WIPEONFORK &&
	     ((flags & VM_SHARED) || !vma_is_anonymous(*vma))))
		return fail(-EINVAL, "the area at %#" PRIx64
			    " cannot be treated so at fork", (*vma)->vm_start,
			    0, 0);
	if (advice == MADV_DONTFORK)
		flags |= VM_DONTCOPY;
	else if (advice == MADV_DOFORK)
		flags &= ~VM_DONTCOPY;
	else if (advice == MADV_WIPEONFORK)
		flags |= VM_WIPEONFORK;
	else
		flags &= ~VM_WIPEONFORK;
	if (flags == (*vma)->vm_flags)
		return 0;
	err = vma_modify_flags(vma, start, end, flags);
	/* -ENOMEM means a hole here. */
	return err == -ENOMEM ?
	       fail(-EAGAIN, "no memory, or too many areas, to cut the area at %#"
		    PRIx64, start, 0, 0) : err;
}

static int advise_vma(struct vm_area_struct *vma, pf_addr_t start,
		      pf_addr_t end, int advice)
{
	switch (advice) {
	case MADV_DONTNEED:
		if ((vma->vm_flags & (VM_LOCKED | VM_PFNMAP)) ||
		    (is_vm_hugetlb_page(vma) && !hugetlb_aligned(vma, start)))
			return fail(-EINVAL, "the pages of the area at %#" PRIx64
				    " cannot be dropped", vma->vm_start, 0, 0);
		if (is_vm_hugetlb_page(vma))
			end = ALIGN_DOWN(end, huge_page_size(hstate_vma(vma)));
		zap_page_range(vma, start, end);
		return 0;
	case MADV_HUGEPAGE:
		return advise_flags(&vma, start, end, VM_HUGEPAGE,
				    VM_NOHUGEPAGE);
	case MADV_NOHUGEPAGE:
		return advise_flags(&vma, start, end, VM_NOHUGEPAGE,
				    VM_HUGEPAGE);
	case MADV_COLLAPSE:
		return madvise_collapse(vma, start, end);
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		return advise_fork(&vma, start, end, advice);
	default:
		return 0;
	}
}

/* Holes are stepped over and reported at the end. */
static int advise_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			int advice)
{
	int hole = 0;

	while (start < end) {
		struct vm_area_struct *vma = find_vma(mm, start);
		pf_addr_t next;
		int err;

		if (!hole && (!vma || vma->vm_start > start))
			hole = fail(-ENOMEM, "nothing is mapped at %#" PRIx64,
				    start, 0, 0);
		if (!vma || vma->vm_start >= end)
			break;
		start = max(start, vma->vm_start);
		next = min(end, vma->vm_end);
		err = advise_vma(vma, start, next, advice);
		if (err)
			return err;
		start = next;
	}
	return hole;
}

/*
 * Populate until done.  A hole is -ENOMEM, a failed check -EINVAL, and what was
 * populated before stays.
 * Source: mm/madvise.c:madvise_populate()
 */
static int advise_populate(struct mm_struct *mm, pf_addr_t start,
			   pf_addr_t end, bool write)
{
	int locked = 0;
	long pages;

	while (start < end) {
		if (!locked) {
			if (mmap_read_lock_killable(mm))
				return fail(-EINTR, "killed while waiting to "
					    "populate %#" PRIx64, start, 0, 0);
			locked = 1;
		}
		pages = faultin_page_range(mm, start, end, write, &locked);
		if (pages < 0)
			break;
		start += pages * PAGE_SIZE;
	}
	if (locked)
		mmap_read_unlock(mm);
	if (start >= end)
		return 0;
	switch (pages) {
	case -EINTR:
	case -EINVAL:
	case -EHWPOISON:
	case -EFAULT:
	case -ENOMEM:
		return fail(pages, "populating stopped at %#" PRIx64, start, 0, 0);
	default:
		WARN_ON_ONCE(true);
		return fail(-ENOMEM, "populating stopped at %#" PRIx64, start,
			    0, 0);
	}
}

static bool advice_known(int advice)
{
	return advice == MADV_NORMAL || advice == MADV_DONTNEED ||
	       advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE ||
	       advice == MADV_DONTFORK || advice == MADV_DOFORK ||
	       advice == MADV_WIPEONFORK || advice == MADV_KEEPONFORK ||
	       advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE ||
	       advice == MADV_COLLAPSE;
}

int do_madvise(struct mm_struct *mm, pf_addr_t start, u64 length, int advice)
{
	const bool changes_vmas = advice != MADV_DONTNEED &&
				  advice != MADV_COLLAPSE;
	u64 rounded = ALIGN(length, PAGE_SIZE);
	int err;

	if (!advice_known(advice))
		return fail(-EINVAL, "unknown advice %" PRId64, advice, 0, 0);
	if (!IS_ALIGNED(start, PAGE_SIZE))
		return fail(-EINVAL, "address %#" PRIx64
			    " is not a multiple of the page size", start, 0, 0);
	if ((length && !rounded) || start + rounded < start)
		return fail(-EINVAL, "%#" PRIx64 " + %" PRIu64 " wraps around",
			    start, length, 0);
	if (!rounded)
		return 0;
	if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		return advise_populate(mm, start, start + rounded,
				       advice == MADV_POPULATE_WRITE);
	if (changes_vmas ? mmap_write_lock_killable(mm) :
			   mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to advise about %#"
			    PRIx64, start, 0, 0);
	err = advise_range(mm, start, start + rounded, advice);
	if (changes_vmas)
		mmap_write_unlock(mm);
	else
		mmap_read_unlock(mm);
	return err;
}
