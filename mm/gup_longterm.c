/* SPDX-License-Identifier: MIT */
/*
 * Longterm pins: nothing that is pinned for long may lie where memory has to be
 * movable, in CMA areas or ZONE_MOVABLE.
 *
 * What the call itself faults in is born elsewhere (memalloc_pin_save()).  What
 * was there already is looked through afterwards: one look a folio, then on by
 * frame numbers until an entry lies outside of it.
 *
 *   pages    h h h h ... h | a | b b b |     one large folio, small ones, ...
 *   looks    1             | 1 | 1     |
 *
 * Until something can migrate them, folios found unpinnable end the call with
 * -ENOMEM and the frame's number in the error text; every pin is given back.
 *
 * Invariants: inv_O1 on every path; inv_O3: no pin of a longterm call that
 * succeeded lies in CMA or ZONE_MOVABLE; inv_O8: at most
 * LONGTERM_MAX_PASSES passes.
 *
 * Source: mm/gup.c:__gup_longterm_locked(),
 *         collect_longterm_unpinnable_folios(), migrate_longterm_unpinnable_folios()
 * Differs: bounded passes; Linux goes on for as long as it takes.
 */
#include "mm/gup_longterm.h"

#include "host/errtext.h"
#include "host/exits.h"
#include "mm/gfp.h"
#include "mm/hugetlb.h"
#include "mm/swap.h"

#include <inttypes.h>

static struct folio *pofs_folio(const struct pages_or_folios *pofs, long i)
{
	return pofs->has_folios ? pofs->folios[i] : page_folio(pofs->pages[i]);
}

void pofs_unpin(const struct pages_or_folios *pofs)
{
	if (pofs->has_folios)
		unpin_folios(pofs->folios, pofs->nr_entries);
	else
		unpin_user_pages(pofs->pages, pofs->nr_entries);
}

/* References of an unpinned, isolated folio, as Linux expects them. */
static int folio_expected_ref_count(const struct folio *folio)
{
	return folio_mapcount(folio) +
	       (folio_mapping(folio) ? (int)folio_nr_pages(folio) : 0);
}

/*
 * A small folio may sit in a CPU's LRU batch, where it cannot be isolated.  The
 * own CPU is drained first, all of them only if that was not enough; each once.
 */
static void drain_for(struct folio *folio, int *drained)
{
	const int unpinned = folio_expected_ref_count(folio) +
			     GUP_PIN_COUNTING_BIAS;

	if (!folio_may_be_lru_cached(folio))
		return;
	if (*drained == 0 && folio_ref_count(folio) != unpinned) {
		lru_add_drain();
		*drained = 1;
	}
	if (*drained == 1 && folio_ref_count(folio) != unpinned) {
		lru_add_drain_all(page_machine(&folio->page));
		*drained = 2;
	}
}

void longterm_isolate(struct folio *folio, struct list_head *list, int *drained)
{
	if (folio_test_hugetlb(folio)) {
		(void)!isolate_hugetlb(folio, list);
		return;
	}
	drain_for(folio, drained);
	if (folio_isolate_lru(folio))
		list_add_tail(&folio->lru, list);
}

/*
 * For pages and for folios, each compiled for its kind.
 *
 * CMA and ZONE_MOVABLE are whole pageblocks, so a folio of the block that was
 * found pinnable last needs no second look.
 */
static __always_inline unsigned long
collect(struct list_head *list, const struct pages_or_folios *pofs,
	const bool has_folios)
{
	void **const entries = pofs->entries;
	const long nr = pofs->nr_entries;
	unsigned long collected = 0;
	uintptr_t good = 0;
	int drained = 0;

	for (long i = 0, run; i < nr; i += run) {
		struct folio *folio = entries[i];

		run = 1;
		if (unlikely(!folio))
			continue;
		if (!has_folios)
			folio = page_folio(entries[i]);
		if (pageblock_id(folio) != good) {
			if (likely(folio_is_longterm_pinnable(folio))) {
				good = pageblock_id(folio);
			} else {
				collected++;
				longterm_isolate(folio, list, &drained);
			}
		}
		if (!has_folios && folio_test_large(folio))
			run = pages_of_folio(folio, pofs->pages + i, nr - i);
	}
	return collected;
}

/*
 * Only repeats that stand together are skipped; a folio that comes again later
 * is looked at again.  NULL entries, which error paths leave, are stepped over.
 */
unsigned long
collect_longterm_unpinnable_folios(struct list_head *list,
				   const struct pages_or_folios *pofs)
{
	return pofs->has_folios ? collect(list, pofs, true) :
				  collect(list, pofs, false);
}

static void putback_movable_pages(struct list_head *list)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, list, lru) {
		if (folio_test_hugetlb(folio)) {
			folio_putback_hugetlb(folio);
		} else {
			list_del(&folio->lru);
			folio_putback_lru(folio);
		}
	}
}

/* Which frame stood in the way, for whoever asks. */
static int name_the_frame(const struct pages_or_folios *pofs)
{
	for (long i = 0; i < pofs->nr_entries; i++) {
		struct folio *folio = pofs->entries[i] ? pofs_folio(pofs, i) :
							 NULL;

		if (!folio || folio_is_longterm_pinnable(folio))
			continue;
		if (folio_migratetype(folio) == MIGRATE_CMA)
			return fail(-ENOMEM, "frame %" PRIu64 " lies in a CMA "
				    "area and cannot be moved out", folio_pfn(folio),
				    0, 0);
		return fail(-ENOMEM, "frame %" PRIu64 " lies in ZONE_MOVABLE and "
			    "cannot be moved out", folio_pfn(folio), 0, 0);
	}
	return fail(-ENOMEM, "a frame could not be moved", 0, 0, 0);
}

int migrate_longterm_unpinnable_folios(struct list_head *list,
				       const struct pages_or_folios *pofs)
{
	int err = name_the_frame(pofs);

	note_exit(GUP_SLOW_UNPINNABLE);
	pofs_unpin(pofs);
	putback_movable_pages(list);
	return err;
}

int check_and_migrate_movable_pages_or_folios(const struct pages_or_folios *pofs)
{
	LIST_HEAD(list);

	if (!collect_longterm_unpinnable_folios(&list, pofs))
		return 0;
	return migrate_longterm_unpinnable_folios(&list, pofs);
}

static int check_and_migrate_movable_pages(unsigned long nr_pages,
					   struct page **pages)
{
	struct pages_or_folios pofs = {
		.pages = pages,
		.nr_entries = nr_pages,
	};

	return check_and_migrate_movable_pages_or_folios(&pofs);
}

int check_and_migrate_movable_folios(unsigned long nr_folios,
				     struct folio **folios)
{
	struct pages_or_folios pofs = {
		.folios = folios,
		.has_folios = true,
		.nr_entries = nr_folios,
	};

	return check_and_migrate_movable_pages_or_folios(&pofs);
}

long gup_longterm_loop(gup_pin_check_fn check, struct mm_struct *mm,
		       pf_addr_t start, unsigned long nr_pages,
		       struct page **pages, int *locked, unsigned int gup_flags)
{
	unsigned int scope = memalloc_pin_save();
	long ret = 0;
	int err = -EAGAIN;

	for (int pass = 0; pass < LONGTERM_MAX_PASSES && err == -EAGAIN;
	     pass++) {
		ret = __get_user_pages_locked(mm, start, nr_pages, pages,
					      locked, gup_flags);
		err = ret > 0 ? check(ret, pages) : 0;
	}
	memalloc_pin_restore(scope);
	if (err == -EAGAIN)
		err = fail(-ENOMEM, "frames at %#" PRIx64 " were still movable "
			   "after %" PRIu64 " passes", start,
			   LONGTERM_MAX_PASSES, 0);
	return err ? err : ret;
}

long __gup_longterm_locked(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, struct page **pages,
			   int *locked, unsigned int gup_flags)
{
	if (!(gup_flags & FOLL_LONGTERM))
		return __get_user_pages_locked(mm, start, nr_pages, pages,
					       locked, gup_flags);
	return gup_longterm_loop(check_and_migrate_movable_pages, mm, start,
				 nr_pages, pages, locked, gup_flags);
}
