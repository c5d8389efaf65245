/* SPDX-License-Identifier: MIT */
/*
 * Every page's descriptor is read to find its folio; the one just seen is not
 * looked at again.
 *
 * Source: mm/gup.c:collect_longterm_unpinnable_folios(), before "Optimize
 *         longterm pin_user_pages() for large folio"
 */
#include "lab/longterm_per_page.h"

#include "mm/gfp.h"

unsigned long per_page_collect(struct list_head *list, unsigned long nr_pages,
			       struct page **pages)
{
	const struct folio *previous = NULL;
	unsigned long collected = 0;
	int drained = 0;

	for (unsigned long i = 0; i < nr_pages; i++) {
		struct folio *folio = pages[i] ? page_folio(pages[i]) : NULL;

		if (folio == previous)
			continue;
		previous = folio;
		if (!folio || folio_is_longterm_pinnable(folio))
			continue;
		collected++;
		longterm_isolate(folio, list, &drained);
	}
	return collected;
}

int per_page_check(unsigned long nr_pages, struct page **pages)
{
	const struct pages_or_folios pofs = {
		.pages = pages,
		.nr_entries = nr_pages,
	};
	LIST_HEAD(list);

	if (!per_page_collect(&list, nr_pages, pages))
		return 0;
	return migrate_longterm_unpinnable_folios(&list, &pofs);
}
