/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: getting, pinning, releasing.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/gup.h"

#include <errno.h>

/*
 * Each call enters the machine of its mm.  An array is needed whenever pages are
 * asked for; the engine checks the rest.
 */
#define IN_MACHINE(mm, call) ({						\
	struct machine *_previous = machine_enter(mm_of(mm)->machine);	\
	long _ret = (call);						\
	machine_leave(_previous);					\
	_ret;								\
})

long pf_pin_user_pages(struct pf_mm *mm, pf_addr_t start,
		       unsigned long nr_pages, unsigned int flags,
		       struct pf_page **pages)
{
	return IN_MACHINE(mm, pin_user_pages(mm_of(mm), start, nr_pages, flags,
					     pages_of(pages)));
}

long pf_get_user_pages(struct pf_mm *mm, pf_addr_t start,
		       unsigned long nr_pages, unsigned int flags,
		       struct pf_page **pages)
{
	return IN_MACHINE(mm, get_user_pages(mm_of(mm), start, nr_pages, flags,
					     pages_of(pages)));
}

long pf_pin_user_pages_remote(struct pf_mm *mm, pf_addr_t start,
			      unsigned long nr_pages, unsigned int flags,
			      struct pf_page **pages, int *locked)
{
	return IN_MACHINE(mm, pin_user_pages_remote(mm_of(mm), start, nr_pages,
						    flags, pages_of(pages),
						    locked));
}

long pf_get_user_pages_remote(struct pf_mm *mm, pf_addr_t start,
			      unsigned long nr_pages, unsigned int flags,
			      struct pf_page **pages, int *locked)
{
	return IN_MACHINE(mm, get_user_pages_remote(mm_of(mm), start, nr_pages,
						    flags, pages_of(pages),
						    locked));
}

long pf_pin_user_pages_unlocked(struct pf_mm *mm, pf_addr_t start,
				unsigned long nr_pages, struct pf_page **pages,
				unsigned int flags)
{
	return IN_MACHINE(mm, pin_user_pages_unlocked(mm_of(mm), start,
						      nr_pages,
						      pages_of(pages), flags));
}

long pf_get_user_pages_unlocked(struct pf_mm *mm, pf_addr_t start,
				unsigned long nr_pages, struct pf_page **pages,
				unsigned int flags)
{
	return IN_MACHINE(mm, get_user_pages_unlocked(mm_of(mm), start,
						      nr_pages,
						      pages_of(pages), flags));
}

void pf_put_page(struct pf_page *page)
{
	put_page(page_of(page));
}

void pf_unpin_user_page(struct pf_page *page)
{
	unpin_user_page(page_of(page));
}

void pf_unpin_user_pages(struct pf_page **pages, unsigned long nr_pages)
{
	unpin_user_pages(pages_of(pages), nr_pages);
}

void pf_unpin_user_pages_dirty_lock(struct pf_page **pages,
				    unsigned long nr_pages, bool dirty)
{
	unpin_user_pages_dirty_lock(pages_of(pages), nr_pages, dirty);
}

void pf_unpin_user_page_range_dirty_lock(struct pf_page *page,
					 unsigned long nr_pages, bool dirty)
{
	unpin_user_page_range_dirty_lock(page_of(page), nr_pages, dirty);
}

int pf_page_address(const struct pf_page *page, void **address)
{
	if (page_machine(page_of(page))->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	*address = page_address(page_of(page));
	return 0;
}

pf_pfn_t pf_page_pfn(const struct pf_page *page)
{
	return page_to_pfn(page_of(page));
}

unsigned int pf_page_folio_order(const struct pf_page *page)
{
	return folio_order(page_folio(page_of(page)));
}

bool pf_page_maybe_dma_pinned(const struct pf_page *page)
{
	return folio_maybe_dma_pinned(page_folio(page_of(page)));
}
