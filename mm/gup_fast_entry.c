/* SPDX-License-Identifier: MIT */
/*
 * The fast calls, of the calling thread's own mm: checks, the lockless walk, and
 * the slow path for what the walk has left.
 *
 * Locks: none for the walk; then mmap_lock, taken here.
 * Source: mm/gup.c:gup_fast_fallback(), get_user_pages_fast()
 * Differs: nr_pages <= 0 gives 0, as Linux's comment promises and its code does
 *          not keep.
 */
#include "mm/gup_internal.h"

#include "host/errtext.h"

#include <inttypes.h>

#define FAST_FLAGS	(FOLL_WRITE | FOLL_LONGTERM | FOLL_FORCE | FOLL_PIN | \
			 FOLL_GET | FOLL_FAST_ONLY | FOLL_NOFAULT | \
			 FOLL_PCI_P2PDMA | FOLL_HONOR_NUMA_FAULT)

static long gup_fast_invalid(unsigned int gup_flags)
{
	return fail(-EINVAL, "FOLL flags %#" PRIx64 " are not allowed here",
		    gup_flags, 0, 0);
}

long gup_fast_fallback(gup_fast_fn fast, pf_addr_t start, int nr_pages,
		       unsigned int gup_flags, struct page **pages)
{
	struct mm_struct *mm = current->mm;
	int locked = 0;
	pf_addr_t end;
	long done, ret;

	if (WARN_ON_ONCE(gup_flags & ~FAST_FLAGS))
		return gup_fast_invalid(gup_flags);
	if (nr_pages <= 0)
		return 0;
	if ((gup_flags & FOLL_PIN) && !test_bit(MMF_HAS_PINNED, &mm->flags))
		set_bit(MMF_HAS_PINNED, &mm->flags);
	start &= PAGE_MASK;
	if (__builtin_add_overflow(start, (u64)nr_pages << PAGE_SHIFT, &end))
		return fail(-EOVERFLOW, "%#" PRIx64 " + %" PRIu64 " pages wraps "
			    "around", start, nr_pages, 0);
	if (end > TASK_SIZE_MAX)
		return fail(-EFAULT, "%#" PRIx64 " + %" PRIu64 " pages is above "
			    "the user addresses", start, nr_pages, 0);
	done = fast(mm, start, nr_pages, gup_flags, pages);
	if (done == nr_pages || (gup_flags & FOLL_FAST_ONLY))
		return done;
	ret = __gup_longterm_locked(mm, start + done * PAGE_SIZE,
				    nr_pages - done, pages + done, &locked,
				    gup_flags | FOLL_TOUCH | FOLL_UNLOCKABLE);
	/* What the walk got is not lost with the error. */
	if (ret < 0)
		return done ? done : ret;
	return done + ret;
}

long get_user_pages_fast_only(pf_addr_t start, int nr_pages,
			      unsigned int gup_flags, struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags,
			       FOLL_GET | FOLL_FAST_ONLY))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(gup_fast, start, nr_pages, gup_flags,
				 pages);
}

long get_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_GET))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(gup_fast, start, nr_pages, gup_flags,
				 pages);
}

long pin_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_PIN))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(gup_fast, start, nr_pages, gup_flags,
				 pages);
}
