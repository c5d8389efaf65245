/* SPDX-License-Identifier: MIT */
/*
 * The way into GUP: argument checks, area checks, faults, the retry loop.
 *
 * The loop lets mmap_lock go only with FOLL_UNLOCKABLE, and then reports it
 * dropped for good, even if it was retaken inside.
 *
 * Locks: mmap_lock, held by the caller or taken here.
 * Source: mm/gup.c
 */
#include "mm/gup_internal.h"

#include "host/errtext.h"
#include "mm/fs.h"
#include "mm/hugetlb.h"

#include <inttypes.h>

/* ---- what may be asked ------------------------------------------------- */

bool is_valid_gup_args(struct page **pages, int *locked,
		       unsigned int *gup_flags_p, unsigned int to_set)
{
	unsigned int gup_flags = *gup_flags_p;

	if (WARN_ON_ONCE(gup_flags & INTERNAL_GUP_FLAGS))
		return false;
	gup_flags |= to_set;
	if (locked) {
		if (WARN_ON_ONCE(*locked != 1))
			return false;
		gup_flags |= FOLL_UNLOCKABLE;
	}
	if (WARN_ON_ONCE((gup_flags & (FOLL_PIN | FOLL_GET)) ==
			 (FOLL_PIN | FOLL_GET)))
		return false;
	if (WARN_ON_ONCE(!(gup_flags & FOLL_PIN) && (gup_flags & FOLL_LONGTERM)))
		return false;
	if (WARN_ON_ONCE((gup_flags & (FOLL_GET | FOLL_PIN)) && !pages))
		return false;
	if (WARN_ON_ONCE((gup_flags & FOLL_LONGTERM) &&
			 (gup_flags & FOLL_PCI_P2PDMA)))
		return false;
	*gup_flags_p = gup_flags;
	return true;
}

static int check_vma_write(vm_flags_t vm_flags, unsigned int gup_flags)
{
	if ((vm_flags & VM_WRITE) && !(vm_flags & VM_SHADOW_STACK))
		return 0;
	if (!(gup_flags & FOLL_FORCE) || (vm_flags & VM_HUGETLB))
		return -EFAULT;
	/*
	 * Forcing a write breaks copy-on-write; where there is nothing to
	 * break, it would reach the object itself.
	 */
	return is_cow_mapping(vm_flags) ? 0 : -EFAULT;
}

/*
 * A store through a long pin comes when nobody is asked any more, so who tracks
 * dirty pages would not hear of it (case_B4).
 *
 * Source: mm/gup.c:writable_file_mapping_allowed(), mm/vma.c:vma_needs_dirty_tracking()
 */
static bool writable_file_mapping_allowed(struct vm_area_struct *vma,
					  unsigned int gup_flags)
{
	const unsigned int lasting = FOLL_PIN | FOLL_LONGTERM;

	if ((gup_flags & lasting) != lasting)
		return true;
	return !vma_wants_writenotify(vma);
}

int check_vma_flags(struct vm_area_struct *vma, unsigned int gup_flags)
{
	vm_flags_t vm_flags = vma->vm_flags;

	if (vm_flags & (VM_IO | VM_PFNMAP))
		return -EFAULT;
	if (vma->vm_file && mapping_no_pin(vma->vm_file->f_mapping))
		return -EFAULT;
	if ((gup_flags & FOLL_ANON) && !vma_is_anonymous(vma))
		return -EFAULT;
	if ((gup_flags & FOLL_SPLIT_PMD) && is_vm_hugetlb_page(vma))
		return -EOPNOTSUPP;
	if (gup_flags & FOLL_WRITE) {
		if (!vma_is_anonymous(vma) &&
		    !writable_file_mapping_allowed(vma, gup_flags))
			return -EFAULT;
		return check_vma_write(vm_flags, gup_flags);
	}
	if (!(vm_flags & VM_READ) &&
	    (!(gup_flags & FOLL_FORCE) || !(vm_flags & VM_MAYREAD)))
		return -EFAULT;
	return 0;
}

struct vm_area_struct *gup_vma_lookup(struct mm_struct *mm, pf_addr_t address,
				      unsigned int gup_flags, int *err)
{
	struct vm_area_struct *vma = vma_lookup(mm, address);

	if (!vma) {
		note_exit(GUP_SLOW_NO_AREA);
		*err = gup_flags & FOLL_MADV_POPULATE ? -ENOMEM : -EFAULT;
		fail(*err, "nothing is mapped at %#" PRIx64, address, 0, 0);
		return NULL;
	}
	*err = check_vma_flags(vma, gup_flags);
	if (!*err)
		return vma;
	note_exit(GUP_SLOW_AREA_FORBIDS);
	if (gup_flags & FOLL_MADV_POPULATE)
		*err = -EINVAL;
	fail(*err, "the area at %#" PRIx64 " (flags %#" PRIx64 ") does not "
	     "permit FOLL flags %#" PRIx64, vma->vm_start, vma->vm_flags,
	     gup_flags);
	return NULL;
}

/* Would a fault only find zeroes, or nothing? */
static bool holds_nothing(struct vm_area_struct *vma, pf_addr_t address)
{
	if (is_vm_hugetlb_page(vma))
		return !hugetlbfs_pagecache_present(vma, address);
	return vma_is_anonymous(vma) || !vma->vm_ops->fault;
}

long no_page_table(struct vm_area_struct *vma, unsigned int flags,
		   pf_addr_t address)
{
	/* A dump leaves them out, instead of faulting them in. */
	return (flags & FOLL_DUMP) && holds_nothing(vma, address) ? -EFAULT : 0;
}

/* What a forced write asks of area and page, whatever the level. */
static bool can_follow_write_common(struct page *page,
				    struct vm_area_struct *vma,
				    unsigned int flags)
{
	if (!(flags & FOLL_FORCE))
		return false;
	if (vma->vm_flags & (VM_MAYSHARE | VM_SHARED))
		return false;
	if (!(vma->vm_flags & VM_MAYWRITE))
		return false;
	/* A writable area takes a real write fault. */
	if (vma->vm_flags & VM_WRITE)
		return false;
	/*
	 * Exclusive says that copy-on-write is done.  A dirty bit would not:
	 * that was Dirty COW.
	 */
	return page && PageAnon(page) && PageAnonExclusive(page);
}

bool can_follow_write_pte(pte_t pte, struct page *page,
			  struct vm_area_struct *vma, unsigned int flags)
{
	if (pte_write(pte))
		return true;
	return can_follow_write_common(page, vma, flags) &&
	       !pte_needs_soft_dirty_wp(vma, pte) &&
	       !userfaultfd_pte_wp(vma, pte);
}

bool can_follow_write_pmd(pmd_t pmd, struct page *page,
			  struct vm_area_struct *vma, unsigned int flags)
{
	if (pmd_write(pmd))
		return true;
	return can_follow_write_common(page, vma, flags) &&
	       !pmd_needs_soft_dirty_wp(vma, pmd) &&
	       !userfaultfd_huge_pmd_wp(vma, pmd);
}

/* ---- faults -------------------------------------------------------------- */

static unsigned int gup_fault_flags(unsigned int flags, bool unshare)
{
	unsigned int fault_flags = 0;

	if (flags & FOLL_WRITE)
		fault_flags |= FAULT_FLAG_WRITE;
	if (flags & FOLL_REMOTE)
		fault_flags |= FAULT_FLAG_REMOTE;
	if (flags & FOLL_UNLOCKABLE) {
		fault_flags |= FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE;
		if (flags & FOLL_INTERRUPTIBLE)
			fault_flags |= FAULT_FLAG_INTERRUPTIBLE;
	}
	if (flags & FOLL_NOWAIT)
		fault_flags |= FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT;
	if (flags & FOLL_TRIED)
		fault_flags |= FAULT_FLAG_TRIED;
	if (unshare) {
		VM_BUG_ON(flags & FOLL_WRITE);
		fault_flags |= FAULT_FLAG_UNSHARE;
	}
	return fault_flags;
}

static int vm_fault_to_errno(vm_fault_t fault, unsigned int foll_flags)
{
	if (fault & VM_FAULT_OOM)
		return -ENOMEM;
	if (fault & VM_FAULT_HWPOISON)
		return foll_flags & FOLL_HWPOISON ? -EHWPOISON : -EFAULT;
	if (fault & (VM_FAULT_SIGBUS | VM_FAULT_SIGSEGV))
		return -EFAULT;
	return 0;
}

int faultin_page(struct vm_area_struct *vma, pf_addr_t address,
		 unsigned int flags, bool unshare, int *locked)
{
	vm_fault_t ret;
	int err;

	if (flags & FOLL_NOFAULT) {
		note_exit(GUP_SLOW_FAULT_FORBIDDEN);
		return fail(-EFAULT, "%#" PRIx64 " would need a fault", address,
			    0, 0);
	}
	ret = handle_mm_fault(vma, address, gup_fault_flags(flags, unshare),
			      NULL);
	if (ret & VM_FAULT_COMPLETED) {
		note_exit(GUP_SLOW_FAULT_COMPLETED);
		*locked = 0;
		return -EAGAIN;
	}
	if (ret & VM_FAULT_ERROR) {
		note_exit(GUP_SLOW_FAULT_ERROR);
		err = vm_fault_to_errno(ret, flags);
		BUG_ON(!err);
		return fail(err, "the fault at %#" PRIx64 " ended with %#"
			    PRIx64, address, ret, 0);
	}
	if (ret & VM_FAULT_RETRY) {
		note_exit(flags & FOLL_NOWAIT ? GUP_SLOW_FAULT_NO_WAIT :
						GUP_SLOW_FAULT_RETRY);
		if (!(flags & FOLL_NOWAIT))
			*locked = 0;
		return -EBUSY;
	}
	note_exit(GUP_SLOW_FAULT_WALK_AGAIN);
	return 0;
}

/* ---- the retry loop ------------------------------------------------------ */

static bool gup_signal_pending(unsigned int flags)
{
	if (fatal_signal_pending(current))
		return true;
	return (flags & FOLL_INTERRUPTIBLE) && signal_pending(current);
}

/*
 * The lock was dropped at the page after @done.  Take it again and do that one
 * page, as often as it is dropped.
 *
 * Return: 1 (page done, lock held), or what to end the loop with: 0 or an errno.
 */
static long gup_retry_one(gup_walk_fn walk, struct mm_struct *mm,
			  pf_addr_t address, struct page **pages, int *locked,
			  unsigned int flags)
{
	long ret;

	for (;;) {
		if (gup_signal_pending(flags)) {
			note_exit(GUP_SLOW_RETRY_SIGNAL);
			return fail(-EINTR, "a signal ended the wait for %#"
				    PRIx64, address, 0, 0);
		}
		if (mmap_read_lock_killable(mm)) {
			note_exit(GUP_SLOW_RETRY_KILLED);
			return fail(-EINTR, "killed while waiting for mmap_lock",
				    0, 0, 0);
		}
		*locked = 1;
		ret = walk(mm, address, 1, flags | FOLL_TRIED, pages, locked);
		if (*locked)
			return ret;
		/* Nothing can have been done without the lock. */
		BUG_ON(ret > 0);
	}
}

long gup_locked_loop(gup_walk_fn walk, struct mm_struct *mm, pf_addr_t start,
		     unsigned long nr_pages, struct page **pages, int *locked,
		     unsigned int flags)
{
	bool must_unlock = false;
	long done = 0, ret;

	if (!nr_pages)
		return 0;
	if (!*locked) {
		if (mmap_read_lock_killable(mm)) {
			note_exit(GUP_SLOW_KILLED_AT_LOCK);
			return fail(-EAGAIN, "killed while waiting for "
				    "mmap_lock", 0, 0, 0);
		}
		must_unlock = true;
		*locked = 1;
	} else {
		mmap_assert_locked(mm);
	}
	if ((flags & FOLL_PIN) && !test_bit(MMF_HAS_PINNED, &mm->flags))
		set_bit(MMF_HAS_PINNED, &mm->flags);
	if (pages && !(flags & FOLL_PIN))
		flags |= FOLL_GET;

	for (;;) {
		ret = walk(mm, start + done * PAGE_SIZE, nr_pages - done, flags,
			   pages ? pages + done : NULL, locked);
		/* Without FOLL_UNLOCKABLE, or with the lock still held: final. */
		if (ret > 0)
			done += ret;
		if (*locked || !(flags & FOLL_UNLOCKABLE) ||
		    (unsigned long)done == nr_pages)
			break;
		must_unlock = true;
		note_exit(GUP_SLOW_LOCK_DROPPED);
		ret = gup_retry_one(walk, mm, start + done * PAGE_SIZE,
				    pages ? pages + done : NULL, locked, flags);
		note_exit(ret > 0 ? GUP_SLOW_RETRIED : GUP_SLOW_RETRY_ENDED);
		if (ret <= 0)
			break;
		done += ret;
		if ((unsigned long)done == nr_pages)
			break;
	}
	if (must_unlock && *locked) {
		mmap_read_unlock(mm);
		*locked = 0;
	}
	if (!done && !ret && !(flags & FOLL_NOWAIT)) {
		WARN_ON_ONCE(true);
		return -EFAULT;
	}
	return done ? done : ret;
}

long __get_user_pages_locked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     int *locked, unsigned int flags)
{
	return gup_locked_loop(__get_user_pages, mm, start, nr_pages, pages,
			       locked, flags);
}

/* ---- entry points ---------------------------------------------------------- */

static int gup_invalid(unsigned int gup_flags, int result)
{
	fail(-EINVAL, "FOLL flags %#" PRIx64 " are not allowed here", gup_flags,
	     0, 0);
	return result;
}

long get_user_pages_remote(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked)
{
	int local_locked = 1;

	if (!is_valid_gup_args(pages, locked, &gup_flags,
			       FOLL_TOUCH | FOLL_REMOTE))
		return gup_invalid(gup_flags, -EINVAL);
	return __get_user_pages_locked(mm, start, nr_pages, pages,
				       locked ? locked : &local_locked,
				       gup_flags);
}

long get_user_pages(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int gup_flags,
		    struct page **pages)
{
	int locked = 1;

	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_TOUCH))
		return gup_invalid(gup_flags, -EINVAL);
	return __get_user_pages_locked(mm, start, nr_pages, pages, &locked,
				       gup_flags);
}

long get_user_pages_unlocked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     unsigned int gup_flags)
{
	int locked = 0;

	if (!is_valid_gup_args(pages, NULL, &gup_flags,
			       FOLL_TOUCH | FOLL_UNLOCKABLE))
		return gup_invalid(gup_flags, -EINVAL);
	return __get_user_pages_locked(mm, start, nr_pages, pages, &locked,
				       gup_flags);
}

long pin_user_pages_remote(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked)
{
	int local_locked = 1;

	if (!is_valid_gup_args(pages, locked, &gup_flags,
			       FOLL_PIN | FOLL_TOUCH | FOLL_REMOTE))
		return gup_invalid(gup_flags, 0);
	return __gup_longterm_locked(mm, start, nr_pages, pages,
				     locked ? locked : &local_locked,
				     gup_flags);
}

/* The only slow form without FOLL_TOUCH. */
long pin_user_pages(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int gup_flags,
		    struct page **pages)
{
	int locked = 1;

	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_PIN))
		return gup_invalid(gup_flags, 0);
	return __gup_longterm_locked(mm, start, nr_pages, pages, &locked,
				     gup_flags);
}

long pin_user_pages_unlocked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     unsigned int gup_flags)
{
	int locked = 0;

	if (!is_valid_gup_args(pages, NULL, &gup_flags,
			       FOLL_PIN | FOLL_TOUCH | FOLL_UNLOCKABLE))
		return gup_invalid(gup_flags, 0);
	return __gup_longterm_locked(mm, start, nr_pages, pages, &locked,
				     gup_flags);
}
