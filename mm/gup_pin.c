/* SPDX-License-Identifier: MIT */
/*
 * Taking and releasing pins.
 *
 * A small folio's pin is GUP_PIN_COUNTING_BIAS references; a large folio's is
 * one reference and one in its pincount; the zero page's is nothing.
 *
 * Invariants:
 * 1. inv_O1: acquired - released = live pins, in pages.
 * 2. On release of a large pin the pincount goes first: a folio whose last
 *    reference goes is not pinned.
 *
 * Source: mm/gup.c:try_grab_folio(), gup_put_folio(), unpin_user_pages()
 */
#include "mm/gup_internal.h"

#define is_err_count(n)		((n) > (unsigned long)-4096)

void gup_put_folio(struct folio *folio, int refs, unsigned int flags)
{
	if (flags & FOLL_PIN) {
		if (is_zero_folio(folio))
			return;
		count_pins_released(page_machine(&folio->page), refs);
		folio_drop_pins(folio, refs);
	} else if (flags & FOLL_GET) {
		folio_put_refs(folio, refs);
	}
}

void unpin_user_page(struct page *page)
{
	sanity_check_pinned_pages(&page, 1);
	gup_put_folio(page_folio(page), 1, FOLL_PIN);
}

void unpin_user_folio(struct folio *folio, unsigned long nr_pages)
{
	gup_put_folio(folio, nr_pages, FOLL_PIN);
}

void unpin_folio(struct folio *folio)
{
	gup_put_folio(folio, 1, FOLL_PIN);
}

void unpin_folios(struct folio **folios, unsigned long nr_folios)
{
	unsigned long run;

	if (WARN_ON_ONCE(is_err_count(nr_folios)))
		return;
	for (unsigned long i = 0; i < nr_folios; i += run) {
		run = 1;
		if (!folios[i])
			continue;
		while (i + run < nr_folios && folios[i + run] == folios[i])
			run++;
		gup_put_folio(folios[i], run, FOLL_PIN);
	}
}

void folio_add_pin(struct folio *folio)
{
	if (is_zero_folio(folio))
		return;
	if (folio_has_pincount(folio)) {
		WARN_ON_ONCE(atomic_read(&folio->_pincount) < 1);
		folio_ref_inc(folio);
		atomic_inc(&folio->_pincount);
	} else {
		WARN_ON_ONCE(folio_ref_count(folio) < GUP_PIN_COUNTING_BIAS);
		folio_ref_add(folio, GUP_PIN_COUNTING_BIAS);
	}
}

/* One run: its folio and length; the zero page's run has no pins. */
static __always_inline struct folio *next_run(struct page **pages,
					      unsigned long nr,
					      unsigned long *run)
{
	struct folio *folio = page_folio(pages[0]);

	*run = folio_test_large(folio) ? pages_of_folio(folio, pages, nr) : 1;
	return folio;
}

static __always_inline void unpin_runs(struct page **pages,
				       unsigned long nr_pages)
{
	struct machine *machine = NULL;
	unsigned long run, released = 0;

	for (unsigned long i = 0; i < nr_pages; i += run) {
		struct folio *folio;

		run = 1;
		if (unlikely(!pages[i]))
			continue;
		folio = next_run(pages + i, nr_pages - i, &run);
		machine = page_machine(&folio->page);
		if (unlikely(is_zero_folio(folio)))
			continue;
		released += run;
		folio_drop_pins(folio, run);
	}
	if (released)
		count_pins_released(machine, released);
}

void unpin_user_pages(struct page **pages, unsigned long nr_pages)
{
	if (WARN_ON_ONCE(is_err_count(nr_pages)))
		return;
	sanity_check_pinned_pages(pages, nr_pages);
	unpin_runs(pages, nr_pages);
}

/* What raced with fork may not be exclusive any more: nothing is asserted. */
void gup_fast_unpin_user_pages(struct page **pages, unsigned long nr_pages)
{
	unpin_runs(pages, nr_pages);
}

/*
 * Looking before locking is racy on purpose: "dirty" that write-back is about
 * to clean is fine, since that write-back still covers the data; "clean" costs
 * at worst one write-back more.
 */
static void mark_run_dirty(struct folio *folio)
{
	if (folio_test_dirty(folio))
		return;
	folio_lock(folio);
	folio_mark_dirty(folio);
	folio_unlock(folio);
}

void unpin_user_pages_dirty_lock(struct page **pages, unsigned long nr_pages,
				 bool make_dirty)
{
	unsigned long run;

	if (!make_dirty) {
		unpin_user_pages(pages, nr_pages);
		return;
	}
	if (WARN_ON_ONCE(is_err_count(nr_pages)))
		return;
	sanity_check_pinned_pages(pages, nr_pages);
	for (unsigned long i = 0; i < nr_pages; i += run) {
		struct folio *folio;

		run = 1;
		if (!pages[i])
			continue;
		folio = next_run(pages + i, nr_pages - i, &run);
		mark_run_dirty(folio);
		gup_put_folio(folio, run, FOLL_PIN);
	}
}

void unpin_user_page_range_dirty_lock(struct page *page,
				      unsigned long nr_pages, bool make_dirty)
{
	unsigned long run;

	for (unsigned long i = 0; i < nr_pages; i += run) {
		struct folio *folio = page_folio(page + i);

		run = folio_nr_pages(folio) - folio_page_idx(folio, page + i);
		run = min(run, nr_pages - i);
		if (make_dirty)
			mark_run_dirty(folio);
		gup_put_folio(folio, run, FOLL_PIN);
	}
}
