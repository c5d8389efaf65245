/* SPDX-License-Identifier: MIT */
/*
 * The lockless walk, of the calling thread's own mm.
 *
 * Nothing is locked: what was read may be old already.  So a page is taken on
 * suspicion, and then it is looked whether the suspicion was right:
 *
 *  1  an entry is read; it gives a page
 *  2  its folio and the folio's order are read: a guess, for nothing is held
 *  3  the folio's count is raised, unless it is 0: once for the whole run
 *  4  the folio is looked at again; held, it cannot change any more
 *  5  full barrier
 *  6  every entry of the run, and what their table hangs on, is read again
 *  7  the folio's kind and each page's exclusivity are looked at
 *
 *   request   |<---- 7 pages ---->|
 *   entries   a2 a3 | b0 | a4 xx a6 ...        a: folio of 8 pages
 *   guess     a: 6 pages: count + 6; 6 finds 2 of them: count - 4; and so on
 *
 * An entry that still maps the page after 5 did so while the page was held:
 * whoever takes the entry away from then on finds the count raised.  The walk
 * ends at the first page that it cannot have, and the slow path takes over.
 *
 * Steps F1 to F9 are those of the specification of the lockless path; F3
 * (device memory) and F9 (secure guests) have no case here.
 *
 * Locks: none.  A read section keeps the tables where they are.
 * Source: mm/gup.c:gup_fast(), gup_fast_pte_range(), try_grab_folio_fast();
 *         the check of longterm pins within the walk: "fix omission of check on
 *         FOLL_LONGTERM in get_user_pages_fast()"
 * Differs: a run of pages of one folio is one operation on its count; upper
 *          entries are read once a PMD entry, not once a table of theirs.
 */
#include "mm/gup_internal.h"

#include "host/exits.h"
#include "host/race_point.h"
#include "mm/gfp.h"
#include "mm/shmem.h"

/* The page has got another folio: the same entry is worth another look. */
#define FAST_AGAIN	(-1L)

struct fast_walk {
	struct machine *machine;
	unsigned int flags;
	uintptr_t pinnable;	/* FOLL_LONGTERM: the pageblock last found so */
	bool ended;		/* at a small page, for a reason already noted */
};

/* ---- one run ------------------------------------------------------------- */

static __always_inline int gup_fast_refs(bool large, long nr,
					 unsigned int flags)
{
	return !large && (flags & FOLL_PIN) ? GUP_PIN_COUNTING_BIAS : nr;
}

/*
 * CMA and ZONE_MOVABLE are whole pageblocks, so a folio of the block that was
 * found pinnable last needs no look.
 */
static __always_inline bool gup_fast_pinnable(const struct folio *folio,
					      unsigned int flags,
					      uintptr_t *pinnable)
{
	if (!(flags & FOLL_LONGTERM) || pageblock_id(folio) == *pinnable)
		return true;
	if (unlikely(!folio_is_longterm_pinnable(folio)))
		return false;
	*pinnable = pageblock_id(folio);
	return true;
}

/* The guess: how many pages @folio has from @page on, up to @nr. */
static __always_inline long gup_fast_guess(const struct folio *folio,
					   bool large, const struct page *page,
					   long nr)
{
	long rest = large ? folio_nr_pages(folio) - folio_page_idx(folio, page) :
			    1;

	return max(min(rest, nr), 1L);
}

/*
 * gup_fast_grab() - try_grab_folio() of a folio that nothing keeps from going
 * @folio, @large: what @page was seen to belong to
 *
 * The pin part of a small folio is added in the same operation.
 * Return: how many pages from @page on are held, at most @nr; 0; FAST_AGAIN.
 */
static __always_inline long gup_fast_grab(struct fast_walk *w,
					  struct folio *folio, const bool large,
					  struct page *page, long nr)
{
	const long guess = gup_fast_guess(folio, large, page, nr);
	const int refs = gup_fast_refs(large, guess, w->flags);
	long got = guess;

	race_point(RACE_FAST_GUESSED);
	if (unlikely(!atomic_add_if_positive(refs, &folio->_refcount))) {
		note_exit(GUP_FAST_F5_FROZEN);
		return 0;
	}
	if (unlikely(page_folio(page) != folio ||
		     folio_test_large(folio) != large)) {
		note_exit(GUP_FAST_F5_MOVED);
		folio_put_refs(folio, refs);
		return FAST_AGAIN;
	}
	if (unlikely(!gup_fast_pinnable(folio, w->flags, &w->pinnable))) {
		note_exit(GUP_FAST_F5_LONGTERM);
		folio_put_refs(folio, refs);
		return 0;
	}
	if (!large)
		return 1;
	/* The guess was made of several loads; the folio may have been another. */
	got = gup_fast_guess(folio, true, page, guess);
	if (unlikely(got < guess))
		folio_put_refs(folio, guess - got);
	if (w->flags & FOLL_PIN)
		atomic_add(got, &folio->_pincount);
	return got;
}

/*
 * gup_fast_drop() - give back what was held too much
 * @undone: pages that were pinned and are unpinned again, for the counters; what
 * only a wrong guess has held is not among them
 */
static noinline void gup_fast_drop(struct fast_walk *w, struct folio *folio,
				   long nr, long undone)
{
	if (!(w->flags & FOLL_PIN)) {
		folio_put_refs(folio, nr);
		return;
	}
	folio_drop_pins(folio, nr);
	count_pins_acquired(w->machine, undone);
	count_pins_released(w->machine, undone);
}

/* How many of the @nr entries from @ptep on map page after page, as @pte does? */
static __always_inline long gup_fast_run_len(pte_t *ptep, pte_t pte, long nr)
{
	u64 expected = pte_val(pte) | RUN_SOFT_BITS;
	long i = 0;

	for (; i + 8 <= nr; i += 8) {
		u64 differ = 0;

#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			differ |= (pte_val(ptep_get_acquire(ptep + i + k)) |
				   RUN_SOFT_BITS) ^ (expected + k * PAGE_SIZE);
		if (differ)
			break;
		expected += 8 * PAGE_SIZE;
	}
	for (; i < nr; i++, expected += PAGE_SIZE)
		if ((pte_val(ptep_get_acquire(ptep + i)) | RUN_SOFT_BITS) !=
		    expected)
			break;
	return i;
}

/*
 * gup_fast_confirm() - what do the entries say now that the folio is held?
 * @pmd, @pte: what *@pmdp and *@ptep were
 *
 * An entry that has changed in any bit ends the walk.  The others of the run are
 * read here for the first time.
 *
 * [gup-recheck] raise the folio's count, then read the entry; paired with
 * ptep_get_and_clear() and pmdp_huge_get_and_clear()
 * Return: how many entries map what is held.
 */
static __always_inline long gup_fast_confirm(pmd_t pmd, pmd_t *pmdp, pte_t pte,
					     pte_t *ptep, long nr)
{
	race_point(RACE_FAST_HELD);
	smp_mb__after_atomic();
	if (unlikely(!pte_same(ptep_get_acquire(ptep), pte))) {
		note_exit(GUP_FAST_F6_ENTRY);
		return 0;
	}
	if (nr > 1)
		nr = gup_fast_run_len(ptep, pte, nr);
	if (unlikely(pmd_val(pmdp_get_lockless(pmdp)) != pmd_val(pmd))) {
		note_exit(GUP_FAST_F6_TABLE);
		return 0;
	}
	return nr;
}

/*
 * A folio of a file, at least when this looks, and only once: truncation may come
 * at any time.  The mapping itself stays for a grace period.
 */
static noinline bool gup_fast_file_allowed(const struct folio *folio,
					   unsigned int flags)
{
	const unsigned int doubtful = FOLL_PIN | FOLL_LONGTERM | FOLL_WRITE;
	const bool asks = (flags & doubtful) == doubtful;
	const struct address_space *mapping;

	if (folio_test_hugetlb(folio) || (!asks && folio_test_large(folio)))
		return true;
	mapping = READ_ONCE(folio->mapping);
	/* It has none: it may have been a file's a moment ago. */
	if (!mapping)
		return false;
	if ((uintptr_t)mapping & PAGE_MAPPING_FLAGS)
		return (uintptr_t)mapping & PAGE_MAPPING_ANON;
	return !mapping_no_pin(mapping) && (!asks || shmem_mapping(mapping));
}

/*
 * gup_fast_folio_allowed() - the kind of folio that needs no look at its area
 *
 * A file may forbid it, or want to hear of what is stored through a long pin.
 * Source: mm/gup.c:gup_fast_folio_allowed()
 */
static __always_inline bool gup_fast_folio_allowed(const struct folio *folio,
						   unsigned int flags)
{
	return likely(folio_test_anon(folio)) ||
	       gup_fast_file_allowed(folio, flags);
}

/* Of @nr pages with read-only entries, how many may be pinned as they are? */
static noinline long gup_fast_exclusive_len(struct page *page, long nr,
					    unsigned int flags)
{
	long i;

	for (i = 0; i < nr; i++)
		if (gup_must_unshare(NULL, flags, page + i))
			break;
	if (!i)
		note_exit(GUP_FAST_F8);
	return i;
}

static __always_inline void gup_fast_accessed(struct folio *folio)
{
	if (unlikely(!folio_test_referenced(folio)))
		folio_set_referenced(folio);
}

/*
 * gup_fast_run() - take a run of pages of one folio
 * @pte: what *@ptep was, permitted; it maps @page
 * @nr: entries left in the request and the table
 *
 * Return: pages taken; 0: the walk ends here; FAST_AGAIN.
 */
static noinline long gup_fast_run(struct fast_walk *w, pmd_t pmd, pmd_t *pmdp,
				  pte_t pte, pte_t *ptep, struct page *page,
				  long nr, struct page **pages)
{
	struct folio *folio = page_folio(page);
	long held, kept;

	if (folio_test_large(folio))
		held = gup_fast_grab(w, folio, true, page, nr);
	else
		held = gup_fast_grab(w, folio, false, page, 1);
	if (unlikely(held <= 0))
		return held;
	kept = gup_fast_confirm(pmd, pmdp, pte, ptep, held);
	if (unlikely(kept && !gup_fast_folio_allowed(folio, w->flags))) {
		note_exit(GUP_FAST_F7);
		kept = 0;
	}
	if (kept && !pte_write(pte) && (w->flags & FOLL_PIN))
		kept = gup_fast_exclusive_len(page, kept, w->flags);
	if (unlikely(kept < held)) {
		gup_fast_drop(w, folio, held - kept, !kept);
		if (!kept)
			return 0;
		note_exit(GUP_FAST_CLIPPED);
	}
	gup_fast_accessed(folio);
	gup_store_pages(pages, page, kept);
	return kept;
}

/* ---- small pages ----------------------------------------------------------- */

/*
 * Let go of a page that was held as a small one, by the references it took: it
 * may be large by now.  If its entry has changed, the walk ends there; for all
 * other reasons gup_fast_run() has a look of its own.
 */
static noinline void gup_fast_refuse(struct fast_walk *w, struct page *page,
				     int refs, bool confirmed)
{
	struct folio *folio = (struct folio *)page;

	if (!confirmed) {
		w->ended = true;
		gup_fast_drop(w, folio, 1, 1);
		return;
	}
	if (!page_is_small_folio(page))
		note_exit(GUP_FAST_F5_MOVED);
	folio_put_refs(folio, refs);
}

/*
 * gup_fast_small_pages() - take small pages while they need no second thought
 *
 * What most tables of base pages are, in a loop that the registers hold: entries
 * whose permission leaves no question of exclusivity, folios whose kind leaves
 * none of the area.  All else is left to gup_fast_run().
 * Return: pages taken, maybe none.
 */
static noinline long gup_fast_small_pages(struct fast_walk *w, pmd_t pmd,
					  pmd_t *pmdp, pte_t *ptep, long nr,
					  struct page **pages)
{
	struct machine *const machine = w->machine;
	const unsigned int flags = w->flags;
	const bool writable = flags & (FOLL_PIN | FOLL_WRITE);
	const int refs = gup_fast_refs(false, 1, flags);
	uintptr_t pinnable = w->pinnable;
	long done;

	for (done = 0; done < nr; done++) {
		pte_t pte = ptep_get(ptep + done);
		struct page *page = machine_page(machine, pte_pfn(pte));
		struct folio *folio = (struct folio *)page;
		bool confirmed = true;

		if (unlikely(!pte_access_permitted(pte, writable) ||
			     pte_special(pte) || !page_is_small_folio(page)))
			break;
		race_point(RACE_FAST_GUESSED);
		if (unlikely(!atomic_add_if_positive(refs, &folio->_refcount)))
			break;
		if (unlikely(!page_is_small_folio(page) ||
			     !gup_fast_pinnable(folio, flags, &pinnable) ||
			     !(confirmed = gup_fast_confirm(pmd, pmdp, pte,
							    ptep + done, 1)) ||
			     /* Last: a frame that is a table has no mapping. */
			     !gup_fast_folio_allowed(folio, flags))) {
			gup_fast_refuse(w, page, refs, confirmed);
			break;
		}
		gup_fast_accessed(folio);
		pages[done] = page;
	}
	w->pinnable = pinnable;
	return done;
}

/* ---- the levels ------------------------------------------------------------ */

static __always_inline bool gup_fast_pte_usable(pte_t pte, unsigned int flags)
{
	if (likely(pte_access_permitted(pte, flags & FOLL_WRITE) &&
		   !pte_special(pte)))
		return true;
	if (pte_protnone(pte))
		note_exit(GUP_FAST_F1);
	else if (!pte_access_permitted(pte, flags & FOLL_WRITE))
		note_exit(GUP_FAST_F2);
	else
		note_exit(GUP_FAST_F4);
	return false;
}

static __always_inline bool gup_fast_leaf_usable(pmd_t leaf, unsigned int flags)
{
	return gup_fast_pte_usable(__pte(pmd_val(leaf)), flags);
}

/* Return: pages taken, here and below; fewer than there are end the walk. */
static long gup_fast_pte_range(struct fast_walk *w, pmd_t pmd, pmd_t *pmdp,
			       pf_addr_t addr, pf_addr_t end,
			       struct page **pages)
{
	pte_t *ptep = (pte_t *)table_of(pmd_pfn(pmd)) + pte_index(addr);
	const long nr = (end - addr) >> PAGE_SHIFT;
	long done = 0;

	do {
		pte_t pte = ptep_get(ptep + done);
		struct page *page;
		long got = 0;

		if (unlikely(!gup_fast_pte_usable(pte, w->flags)))
			break;
		race_point(RACE_FAST_READ);
		page = machine_page(w->machine, pte_pfn(pte));
		if (page_is_small_folio(page))
			got = gup_fast_small_pages(w, pmd, pmdp, ptep + done,
						   nr - done, pages + done);
		if (!got && !w->ended)
			got = gup_fast_run(w, pmd, pmdp, pte, ptep + done, page,
					   nr - done, pages + done);
		if (unlikely(got == FAST_AGAIN))
			continue;
		if (unlikely(!got))
			break;
		done += got;
	} while (done < nr);
	return done;
}

/*
 * gup_fast_leaf() - take pages of a PMD or PUD leaf; their bits are the same
 * @leaf: what *@leafp was
 * @page: the first page wanted
 *
 * [gup-recheck] raise the folio's count, then read the leaf; paired with
 * pmdp_huge_get_and_clear()
 * Return: @nr, or 0: the walk ends here.
 */
static long gup_fast_leaf(struct fast_walk *w, pmd_t leaf, pmd_t *leafp,
			  struct page *page, long nr, struct page **pages)
{
	struct folio *folio;
	long held;

	if (unlikely(!gup_fast_leaf_usable(leaf, w->flags)))
		return 0;
	race_point(RACE_FAST_READ);
	do {
		folio = page_folio(page);
		held = gup_fast_grab(w, folio, true, page, nr);
	} while (unlikely(held == FAST_AGAIN && folio_test_large(folio)));
	if (unlikely(held <= 0))
		return 0;
	race_point(RACE_FAST_HELD);
	smp_mb__after_atomic();
	if (unlikely(pmd_val(pmdp_get_lockless(leafp)) != pmd_val(leaf) ||
		     held < nr)) {
		note_exit(GUP_FAST_F6_ENTRY);
		goto drop;
	}
	if (unlikely(!gup_fast_folio_allowed(folio, w->flags))) {
		note_exit(GUP_FAST_F7);
		goto drop;
	}
	/* The head speaks for all. */
	if (!pmd_write(leaf) &&
	    !gup_fast_exclusive_len(&folio->page, 1, w->flags))
		goto drop;
	gup_fast_accessed(folio);
	gup_store_pages(pages, page, nr);
	return nr;

drop:
	gup_fast_drop(w, folio, held, held);
	return 0;
}

/*
 * gup_fast_entry() - the lowest entry above the PTEs that covers @addr
 * @entry: what it is; a PUD leaf's bits are a PMD leaf's
 * @size: the bytes that it covers
 *
 * The P4D is folded into the PGD.
 * Return: where it is; NULL: nothing is there, or nothing present.
 */
static __always_inline pmd_t *gup_fast_entry(struct mm_struct *mm,
					     pf_addr_t addr, pmd_t *entry,
					     pf_addr_t *size)
{
	p4d_t *p4dp = p4d_offset(pgd_offset(mm, addr), addr);
	p4d_t p4d = p4dp_get(p4dp);
	pud_t *pudp, pud;
	pmd_t *pmdp;

	count_event(EV_WALKS);
	if (unlikely(!p4d_present(p4d)))
		return NULL;
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = pudp_get(pudp);
	if (unlikely(!pud_present(pud)))
		return NULL;
	if (unlikely(pud_leaf(pud))) {
		*entry = __pmd(pud_val(pud));
		*size = PUD_SIZE;
		return (pmd_t *)pudp;
	}
	pmdp = pmd_offset_lockless(pudp, pud, addr);
	*entry = pmdp_get_lockless(pmdp);
	*size = PMD_SIZE;
	return likely(pmd_present(*entry)) ? pmdp : NULL;
}

/* From the top for each leaf and each table: three loads, and no state kept. */
static __always_inline long gup_fast_range(struct fast_walk *w,
					   struct mm_struct *mm, pf_addr_t addr,
					   pf_addr_t end, struct page **pages)
{
	long done = 0, nr, got;
	pf_addr_t next, size;

	do {
		pmd_t pmd, *pmdp = gup_fast_entry(mm, addr, &pmd, &size);

		if (unlikely(!pmdp)) {
			note_exit(GUP_FAST_ABSENT);
			break;
		}
		next = level_addr_end(addr, end, size);
		nr = (next - addr) >> PAGE_SHIFT;
		if (pmd_leaf(pmd))
			got = gup_fast_leaf(w, pmd, pmdp,
					    machine_page(w->machine,
							 pmd_pfn(pmd)) +
					    ((addr & (size - 1)) >> PAGE_SHIFT),
					    nr, pages + done);
		else
			got = gup_fast_pte_range(w, pmd, pmdp, addr, next,
						 pages + done);
		done += got;
	} while (got == nr && (addr = next) != end);
	return done;
}

/* ---- the walk -------------------------------------------------------------- */

/*
 * [gup-fork] raise the folios' counts, then read the sequence; paired with
 * raw_write_seqcount_begin().  A fork that did not see a count is seen here.
 */
long gup_fast(struct mm_struct *mm, pf_addr_t start, unsigned long nr_pages,
	      unsigned int flags, struct page **pages)
{
	struct fast_walk w = { .machine = mm->machine, .flags = flags };
	unsigned int seq = 0;
	long nr;

	if (flags & FOLL_PIN) {
		seq = raw_read_seqcount(&mm->write_protect_seq);
		if (seq & 1) {
			note_exit(GUP_FAST_FORKING);
			return 0;
		}
	}
	rcu_read_lock();
	nr = gup_fast_range(&w, mm, start, start + nr_pages * PAGE_SIZE,
			    pages);
	rcu_read_unlock();
	race_point(RACE_FAST_WALKED);
	if (!(flags & FOLL_PIN) || !nr)
		return nr;
	count_pins_acquired(w.machine, nr);
	if (unlikely(read_seqcount_retry(&mm->write_protect_seq, seq))) {
		note_exit(GUP_FAST_FORKED);
		gup_fast_unpin_user_pages(pages, nr);
		return 0;
	}
	return nr;
}
