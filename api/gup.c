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
#define IN_MACHINE(mm, call)	IN_MACHINE_OF(mm_of(mm)->machine, call)

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

/* The fast forms name no mm: the thread's own is set for the call. */
#define AS_OWN_MM(handle, call) ({					\
	struct mm_struct *_own = current->mm;				\
	long _result;							\
	current->mm = mm_of(handle);					\
	_result = IN_MACHINE(handle, call);				\
	current->mm = _own;						\
	_result;							\
})

long pf_pin_user_pages_fast(struct pf_mm *mm, pf_addr_t start, int nr_pages,
			    unsigned int flags, struct pf_page **pages)
{
	return AS_OWN_MM(mm, pin_user_pages_fast(start, nr_pages, flags,
						 pages_of(pages)));
}

long pf_get_user_pages_fast(struct pf_mm *mm, pf_addr_t start, int nr_pages,
			    unsigned int flags, struct pf_page **pages)
{
	return AS_OWN_MM(mm, get_user_pages_fast(start, nr_pages, flags,
						 pages_of(pages)));
}

long pf_get_user_pages_fast_only(struct pf_mm *mm, pf_addr_t start,
				 int nr_pages, unsigned int flags,
				 struct pf_page **pages)
{
	return AS_OWN_MM(mm, get_user_pages_fast_only(start, nr_pages, flags,
						      pages_of(pages)));
}

int pf_get_dump_page(struct pf_mm *mm, pf_addr_t address,
		     struct pf_page **page)
{
	struct page *got = NULL;

	(void)AS_OWN_MM(mm, (got = get_dump_page(address)) != NULL);
	if (got)
		*page = (struct pf_page *)got;
	return got != NULL;
}

int64_t pf_access_remote(struct pf_mm *mm, pf_addr_t address, void *buffer,
			 uint64_t bytes, unsigned int flags)
{
	if (mm_of(mm)->machine->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	return IN_MACHINE(mm, access_remote_vm(mm_of(mm), address, buffer, bytes,
					       flags));
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
