/* SPDX-License-Identifier: MIT */
/*
 * The check of longterm pins as it was: a look at the folio of every page.
 *
 * Baseline of benchmarks, oracle of tests: for every array it isolates the same
 * folios as the engine's, and ends in the same way.
 */
#ifndef LAB_LONGTERM_PER_PAGE_H
#define LAB_LONGTERM_PER_PAGE_H

#include "mm/gup_longterm.h"

/*
 * per_page_collect() - collect_longterm_unpinnable_folios() of pages
 *
 * Return: how many were found.  A small folio that stands at several entries in
 * a row counts once here, and once an entry in the engine.
 */
unsigned long per_page_collect(struct list_head *list, unsigned long nr_pages,
			       struct page **pages);

/*
 * per_page_check() - a check for gup_longterm_loop()
 *
 * Return: 0; -EAGAIN or -ENOMEM, and nothing is pinned any more.
 */
int __must_check per_page_check(unsigned long nr_pages, struct page **pages);

#endif
