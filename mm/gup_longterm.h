/* SPDX-License-Identifier: MIT */
/*
 * Longterm pins: the check of what was pinned, for pages and for folios.
 *
 * Source: mm/gup.c
 */
#ifndef MM_GUP_LONGTERM_H
#define MM_GUP_LONGTERM_H

#include "mm/gup_internal.h"

/* inv_O8: so often folios are looked through, at most */
#define LONGTERM_MAX_PASSES	10

struct pages_or_folios {
	union {
		struct page **pages;
		struct folio **folios;
		void **entries;		/* either; NULL: none */
	};
	bool has_folios;
	long nr_entries;
};

/*
 * collect_longterm_unpinnable_folios() - isolate what may not be pinned for long
 * @list: gets them, each with a reference, if they could be isolated
 *
 * Return: how many were found, isolated or not.
 */
unsigned long
collect_longterm_unpinnable_folios(struct list_head *list,
				   const struct pages_or_folios *pofs);

/*
 * What collecting is made of, for other ways to go through the pages:
 *
 * longterm_isolate() - put one unpinnable folio on @list, if it can be had
 * @drained: 0 before the first; which LRU batches were drained already
 */
void longterm_isolate(struct folio *folio, struct list_head *list,
		      int *drained);
/*
 * migrate_longterm_unpinnable_folios() - everything is unpinned, the good ones
 * too; the isolated go back
 *
 * Return: as check_and_migrate_movable_pages_or_folios(), but never 0.
 */
int __must_check
migrate_longterm_unpinnable_folios(struct list_head *list,
				   const struct pages_or_folios *pofs);

/*
 * check_and_migrate_movable_pages_or_folios() - are all of them pinnable?
 *
 * Return: 0; -EAGAIN: nothing is pinned any more, pin again; -ENOMEM: nothing is
 * pinned any more.
 */
int __must_check
check_and_migrate_movable_pages_or_folios(const struct pages_or_folios *pofs);
int __must_check check_and_migrate_movable_folios(unsigned long nr_folios,
						  struct folio **folios);

/* pofs_unpin() - release every pin; NULL entries are skipped */
void pofs_unpin(const struct pages_or_folios *pofs);

/* The loop around any check of that form; @gup_flags has FOLL_LONGTERM. */
typedef int (*gup_pin_check_fn)(unsigned long nr_pages, struct page **pages);
long gup_longterm_loop(gup_pin_check_fn check, struct mm_struct *mm,
		       pf_addr_t start, unsigned long nr_pages,
		       struct page **pages, int *locked, unsigned int gup_flags);

#endif
