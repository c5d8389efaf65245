/* SPDX-License-Identifier: MIT */
/*
 * The lockless walk as it was: what is pinned for long is pinned like anything
 * else, CMA or not.
 */
#include "lab/gup_fast_algos.h"

long none_gup_fast(struct mm_struct *mm, pf_addr_t start,
		   unsigned long nr_pages, unsigned int flags,
		   struct page **pages)
{
	return gup_fast(mm, start, nr_pages, flags & ~FOLL_LONGTERM, pages);
}
