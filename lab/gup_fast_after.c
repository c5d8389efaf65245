/* SPDX-License-Identifier: MIT */
/*
 * The first cure: a second pass, over what was pinned.
 *
 *   pinned   n n n n c n n n       c: in CMA
 *   kept     n n n n |             three good pages are put back too
 */
#include "lab/gup_fast_algos.h"

#include "mm/gfp.h"

long after_gup_fast(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int flags,
		    struct page **pages)
{
	long got = none_gup_fast(mm, start, nr_pages, flags, pages), good;

	if (!(flags & FOLL_LONGTERM))
		return got;
	for (good = 0; good < got; good++)
		if (!folio_is_longterm_pinnable(page_folio(pages[good])))
			break;
	if (good < got)
		unpin_user_pages(pages + good, got - good);
	return good;
}
