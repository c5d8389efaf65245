/* SPDX-License-Identifier: MIT */
/*
 * The fast entry points, of the calling thread's own mm.
 *
 * There is no lockless walk here, as on an architecture without one: every page
 * takes the slow path, and the fast-only form finds none.
 *
 * Source: mm/gup.c:gup_fast_fallback()
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

static long gup_fast_fallback(pf_addr_t start, int nr_pages,
			      unsigned int gup_flags, struct page **pages)
{
	struct mm_struct *mm = current->mm;
	pf_addr_t end;
	int locked = 0;

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
	if (gup_flags & FOLL_FAST_ONLY)
		return 0;
	return __gup_longterm_locked(mm, start, nr_pages, pages, &locked,
				     gup_flags | FOLL_TOUCH | FOLL_UNLOCKABLE);
}

long get_user_pages_fast_only(pf_addr_t start, int nr_pages,
			      unsigned int gup_flags, struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags,
			       FOLL_GET | FOLL_FAST_ONLY))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(start, nr_pages, gup_flags, pages);
}

long get_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_GET))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(start, nr_pages, gup_flags, pages);
}

long pin_user_pages_fast(pf_addr_t start, int nr_pages, unsigned int gup_flags,
			 struct page **pages)
{
	if (!is_valid_gup_args(pages, NULL, &gup_flags, FOLL_PIN))
		return gup_fast_invalid(gup_flags);
	return gup_fast_fallback(start, nr_pages, gup_flags, pages);
}
