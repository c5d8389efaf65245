/* SPDX-License-Identifier: MIT */
/*
 * The slow walk: address -> table entry -> folio -> pages.
 *
 * One call of follow_page_mask() goes down once and takes all that one table
 * offers: the rest of a huge leaf, or every PTE that the request covers.  Runs
 * of PTEs that map consecutive pages of one folio are grabbed together.
 *
 *   request   |<------------- nr ------------->|
 *   PTEs      a0 a1 a2 a3 | b0 | a4 a5 | none ...
 *   grabs     4 of a      | 1  | 2     | stop: 7 pages, then a fault
 *
 * Invariants (B-numbers of the specification of the batched walk):
 *  B1  a run is one count operation, of the run's length
 *  B2  every page is judged and grabbed in the same hold of the table's lock
 *  B3  slots may be stored under the lock; caches are flushed after it
 *  B5  "fault" and "unshare" are returned only if nothing was taken
 *  B9  a folio becomes dirty iff some PTE of the run was clean
 *
 * Shorter runs are always right, longer ones never: a run ends at the folio's
 * end even if the next frame is adjacent, and writability and exclusivity are
 * asked of each page.
 *
 * Locks: mmap_lock is held; page-table lock inside.
 * Source: mm/gup.c; the batched walk: "Batch lookups in follow_page_mask()"
 */
#include "mm/gup_internal.h"

#include "host/race_point.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"

/*
 * The result of looking at an entry, besides errnos: the walk sees no usable
 * page (fault), or one that must be made exclusive first (unshare).
 */
#define GUP_FAULT	0L
#define GUP_UNSHARE	(-(long)EMLINK)

/* gup_flush_pages() - cache maintenance for filled slots; no lock is held */
static void gup_flush_pages(struct vm_area_struct *vma, pf_addr_t address,
			    struct page **pages, long nr)
{
	if (!ARCH_FLUSHES_USER_PAGES)
		return;
	for (long i = 0; i < nr; i++) {
		flush_anon_page(vma, pages[i], address + i * PAGE_SIZE);
		flush_dcache_page(pages[i]);
	}
}

/* gup_fill_pages() - store @nr consecutive pages and flush them */
static void gup_fill_pages(struct vm_area_struct *vma, pf_addr_t address,
			   struct page **pages, struct page *page, long nr)
{
	gup_store_pages(pages, page, nr);
	gup_flush_pages(vma, address, pages, nr);
}

/*
 * gup_grab_folio_pages() - grab a run of one folio and store its pages
 * @large: folio_test_large(); a small folio's run is one page
 * @zero: the zero page
 *
 * Return: 0 or an errno, with no trace left.
 * Context: the table's lock; the caller flushes after dropping it, and accounts
 * for the pins.
 */
static __always_inline int gup_grab_folio_pages(struct folio *folio, bool large,
						bool zero, struct page *page,
						long nr, unsigned int flags,
						struct page **pages)
{
	int err = folio_grab(folio, large, zero, nr, flags);

	if (unlikely(err))
		return err;
	if (flags & FOLL_PIN) {
		err = arch_make_folio_accessible(folio);
		if (unlikely(err)) {
			gup_put_folio(folio, nr, flags);
			return err;
		}
	}
	if (pages)
		gup_store_pages(pages, page, nr);
	return 0;
}

/* An entry without a page descriptor: nothing to give, but it counts as seen. */
static long gup_no_descriptor(struct vm_area_struct *vma, pf_addr_t address,
			      pte_t *ptep, pte_t pte, unsigned int flags)
{
	if (flags & FOLL_TOUCH) {
		pte_t touched = pte_mkyoung(pte);

		if (flags & FOLL_WRITE)
			touched = pte_mkdirty(touched);
		if (!pte_same(touched, pte))
			set_pte_at(vma->vm_mm, address, ptep, touched);
	}
	note_exit(GUP_SLOW_PTE_NO_DESCRIPTOR);
	return -EEXIST;
}

/*
 * gup_lookup_pte() - which page does this PTE give under these flags?
 * @pte: what *@ptep holds
 * @pagep: set when the answer is 1
 *
 * Return: 1, GUP_FAULT, GUP_UNSHARE, -EEXIST (no descriptor), or -EFAULT.
 */
static __always_inline long gup_lookup_pte(struct vm_area_struct *vma,
					   pf_addr_t address, pte_t *ptep,
					   pte_t pte, unsigned int flags,
					   struct page **pagep)
{
	struct page *page;

	/* A writable entry of an ordinary page passes every test below. */
	if (likely(pte_is_plain_writable(pte))) {
		*pagep = pte_page(pte);
		return 1;
	}
	if (!pte_present(pte)) {
		note_exit(pte_none(pte) ? GUP_SLOW_PTE_NONE :
					  GUP_SLOW_PTE_ABSENT);
		return pte_none(pte) ? no_page_table(vma, flags, address) : GUP_FAULT;
	}
	if (pte_protnone(pte) && !gup_can_follow_protnone(vma, flags)) {
		note_exit(GUP_SLOW_PTE_HINT);
		return GUP_FAULT;
	}
	page = vm_normal_page(vma, address, pte);
	if ((flags & FOLL_WRITE) &&
	    !can_follow_write_pte(pte, page, vma, flags)) {
		note_exit(GUP_SLOW_PTE_READ_ONLY);
		return GUP_FAULT;
	}
	if (!page) {
		if (flags & FOLL_DUMP) {
			note_exit(GUP_SLOW_PTE_DUMP);
			return -EFAULT;
		}
		if (!is_zero_pfn(pte_pfn(pte)))
			return gup_no_descriptor(vma, address, ptep, pte, flags);
		page = pte_page(pte);
	}
	if (!pte_write(pte) && gup_must_unshare(vma, flags, page)) {
		note_exit(GUP_SLOW_PTE_UNSHARE);
		return GUP_UNSHARE;
	}
	*pagep = page;
	return 1;
}

/*
 * gup_plain_run() - eight PTEs at a time, while all are writable
 * @ptep: the first of the run, writable
 * @most: PTEs to look at
 * @clean: gets ~pte of those taken
 *
 * A writable entry passes every test (gup_lookup_pte()), so what is left to ask
 * is whether it maps the next page.  Entries do not change under the lock, so
 * two may be loaded at once.
 * Return: how many belong to the run, a multiple of 8.
 */
static __always_inline long gup_plain_run(const pte_t *ptep, long most,
					  u64 *clean)
{
	typedef u64 pair __attribute__((vector_size(16)));
	const pair soft = { RUN_SOFT_BITS, RUN_SOFT_BITS };
	u64 first = pte_val(*ptep) | RUN_SOFT_BITS;
	pair expected = { first, first + PAGE_SIZE }, all = ~(pair){ 0 };
	long nr = 0;

	for (; nr + 8 <= most; nr += 8) {
		pair differ = { 0 }, two, eight = all;

		for (int k = 0; k < 8; k += 2) {
			__builtin_memcpy(&two, ptep + nr + k, sizeof(two));
			differ |= (two | soft) ^ expected;
			eight &= two;
			expected += 2 * PAGE_SIZE;
		}
		if (differ[0] | differ[1])
			break;
		all = eight;
	}
	*clean |= nr ? ~(all[0] & all[1]) : 0;
	return nr;
}

/*
 * An entry that maps the expected page but differs from the first in more than
 * soft bits: does it go on with the run?  Only if one of the two was made
 * PROT_NONE for a NUMA hint, and that does not matter here.
 */
static bool gup_only_hint_differs(struct vm_area_struct *vma, pte_t pte,
				  u64 differ, unsigned int flags)
{
	const u64 hint = _PAGE_PRESENT | _PAGE_PROTNONE | _PAGE_USER | _PAGE_NX;

	return !(differ & ~hint) && pte_present(pte) &&
	       (!pte_protnone(pte) || gup_can_follow_protnone(vma, flags));
}

/*
 * gup_mixed_run() - the rest of a run, asking of each page what
 * gup_lookup_pte() asked of the first
 * @nr: PTEs that belong to the run already, at least 1
 * @end: where it ends at the latest
 *
 * Return: how many belong to it.
 */
static noinline long gup_mixed_run(struct vm_area_struct *vma,
				   struct page *page, pte_t *ptep, long nr,
				   long end, unsigned int flags, u64 *clean)
{
	const u64 may_differ = RUN_SOFT_BITS | _PAGE_RW;
	const u64 first = pte_val(ptep_get(ptep)) | may_differ;

	for (; nr < end; nr++) {
		pte_t pte = ptep_get(ptep + nr);
		u64 differ = (pte_val(pte) | may_differ) ^
			     (first + nr * PAGE_SIZE);

		if (unlikely(differ) &&
		    !gup_only_hint_differs(vma, pte, differ, flags))
			break;
		if (!pte_write(pte)) {
			if ((flags & FOLL_WRITE) &&
			    !can_follow_write_pte(pte, page + nr, vma, flags))
				break;
			if (gup_must_unshare(vma, flags, page + nr))
				break;
		}
		*clean |= ~pte_val(pte);
	}
	return nr;
}

/*
 * gup_pte_batch_len() - how many PTEs from @ptep on are one run?
 * @page: what the first one maps, judged by gup_lookup_pte()
 * @most: PTEs left in the request
 * @any_clean: set if some PTE of the run is not dirty
 *
 * Every further PTE maps the next page of the same folio.
 */
static __always_inline long gup_pte_batch_len(struct vm_area_struct *vma,
					      struct folio *folio,
					      struct page *page, pte_t *ptep,
					      long most, unsigned int flags,
					      bool *any_clean)
{
	u64 clean = ~pte_val(*ptep);
	long nr = 1, end;

	end = folio_nr_pages(folio) - folio_page_idx(folio, page);
	end = min(end, most);
	if (pte_write(*ptep))
		nr = max(gup_plain_run(ptep, end, &clean), 1L);
	if (nr < end)
		nr = gup_mixed_run(vma, page, ptep, nr, end, flags, &clean);
	*any_clean = clean & _PAGE_DIRTY;
	return nr;
}

/*
 * The hints of FOLL_TOUCH, once a run.  The PTEs' own bits stay as they are: a
 * dirty PTE already says what a dirty folio would.
 */
static void gup_touch_folio(struct folio *folio, unsigned int flags,
			    bool any_clean)
{
	if ((flags & FOLL_WRITE) && any_clean && !folio_test_dirty(folio))
		folio_mark_dirty(folio);
	folio_mark_accessed(folio);
}

/*
 * gup_grab_run() - find and grab the run that begins at @ptep
 *
 * Return: its length, or an errno.
 */
static __always_inline long gup_grab_run(struct vm_area_struct *vma,
				  struct folio *folio, struct page *page,
				  pte_t *ptep, long most, unsigned int flags,
				  struct page **pages, bool *any_clean)
{
	long run = gup_pte_batch_len(vma, folio, page, ptep, most, flags,
				     any_clean);
	int err = gup_grab_folio_pages(folio, true, false, page, run, flags,
				       pages);

	return err ? err : run;
}

/*
 * gup_small_pages() - take small pages while their entries are plain writable
 * @refs: references that one page takes
 *
 * What most tables of base pages are, without what only other tables need: such
 * an entry passes every test (gup_lookup_pte()), and no hint is asked for.
 * Return: pages taken, maybe none.
 */
static __always_inline long gup_small_pages(struct machine *machine,
					    pte_t *ptep, long most, int refs,
					    struct page **pages)
{
	long nr;

	for (nr = 0; nr < most; nr++) {
		pte_t pte = ptep_get(ptep + nr);
		struct folio *folio;

		if (unlikely(!pte_is_plain_writable(pte)))
			break;
		folio = page_folio(machine_page(machine, pte_pfn(pte)));
		if (folio_test_large(folio) || folio_ref_count(folio) <= 0)
			break;
		folio_ref_add(folio, refs);
		pages[nr] = &folio->page;
	}
	return nr;
}

/*
 * gup_grab_small() - take a small page, and those like it behind it
 *
 * Small pages keep company, so the short loop is tried where one was found.
 * Return: pages taken, or why the first was not.
 */
static __always_inline long gup_grab_small(struct machine *machine,
					   struct page *page, pte_t *ptep,
					   long most, unsigned int flags,
					   struct page **pages)
{
	const int refs = gup_plain_refs(flags);
	int err = gup_grab_folio_pages((struct folio *)page, false,
				       page == machine->zero_page, page, 1,
				       flags, pages);

	if (unlikely(err))
		return err;
	if (!refs || !pages)
		return 1;
	return 1 + gup_small_pages(machine, ptep + 1, most - 1, refs,
				   pages + 1);
}

/*
 * follow_page_pte() - take the pages of one PTE table
 * @nr: at least 1; the table covers all of them
 *
 * Return: pages taken; or, if none, why the first was not.
 */
static long follow_page_pte(struct vm_area_struct *vma, pf_addr_t address,
			    pmd_t *pmd, long nr, unsigned int flags,
			    struct page **pages)
{
	struct mm_struct *mm = vma->vm_mm;
	struct machine *machine = mm->machine;
	long done = 0, uncounted = 0, ret;
	spinlock_t *ptl;
	pte_t *ptep = pte_offset_map_lock(mm, pmd, address, &ptl);

	if (unlikely(!ptep)) {
		note_exit(GUP_SLOW_PTE_NO_TABLE);
		return no_page_table(vma, flags, address);
	}
	do {
		pte_t pte = ptep_get(ptep + done);
		struct page **slot = pages ? pages + done : NULL;
		bool any_clean = !pte_dirty(pte);
		struct page *page = NULL;
		struct folio *folio;

		ret = gup_lookup_pte(vma, address + done * PAGE_SIZE,
				     ptep + done, pte, flags, &page);
		if (unlikely(ret <= 0))
			break;
		folio = page_folio(page);
		if (folio_test_large(folio))
			ret = gup_grab_run(vma, folio, page, ptep + done,
					   nr - done, flags, slot, &any_clean);
		else
			ret = gup_grab_small(machine, page, ptep + done,
					     nr - done, flags, slot);
		if (unlikely(ret < 0)) {
			note_exit(GUP_SLOW_GRAB_FAILED);
			break;
		}
		if (flags & FOLL_TOUCH)
			gup_touch_folio(folio, flags, any_clean);
		uncounted += page == machine->zero_page;
		done += ret;
	} while (done < nr);
	if (flags & FOLL_PIN)
		count_pins_acquired(machine, done - uncounted);
	pte_unmap_unlock(ptep, ptl);

	if (unlikely(!done))
		return ret;
	if (pages)
		gup_flush_pages(vma, address, pages, done);
	return done;
}

/*
 * follow_huge_pmd() - take the pages of a PMD leaf, from @address on
 * @pagep: the first of them
 *
 * Return: pages taken, up to @nr; or why none was.
 * Context: the leaf's lock.
 */
static long follow_huge_pmd(struct vm_area_struct *vma, pf_addr_t address,
			    pmd_t *pmd, long nr, unsigned int flags,
			    struct page **pagep)
{
	pmd_t leaf = pmdp_get(pmd);
	struct page *head = pmd_page(leaf), *page;
	struct folio *folio = page_folio(head);
	long in_leaf = HPAGE_PMD_NR - pte_index(address);
	int err;

	if ((flags & FOLL_WRITE) &&
	    !can_follow_write_pmd(leaf, head, vma, flags)) {
		note_exit(GUP_SLOW_PMD_READ_ONLY);
		return GUP_FAULT;
	}
	if ((flags & FOLL_DUMP) && is_huge_zero_pmd(leaf)) {
		note_exit(GUP_SLOW_PMD_DUMP);
		return -EFAULT;
	}
	if (pmd_protnone(leaf) && !gup_can_follow_protnone(vma, flags)) {
		note_exit(GUP_SLOW_PMD_HINT);
		return GUP_FAULT;
	}
	if (!pmd_write(leaf) && gup_must_unshare(vma, flags, head)) {
		note_exit(GUP_SLOW_PMD_UNSHARE);
		return GUP_UNSHARE;
	}
	page = head + pte_index(address);
	nr = min(nr, in_leaf);
	err = try_grab_folio(folio, nr, flags);
	if (err)
		return err;
	if (flags & FOLL_TOUCH)
		touch_pmd(vma, address, pmd, flags & FOLL_WRITE);
	note_exit(GUP_SLOW_PMD_LEAF);
	*pagep = page;
	return nr;
}

static long follow_pmd_mask(struct vm_area_struct *vma, pf_addr_t address,
			    pud_t *pudp, long nr, unsigned int flags,
			    struct page **pages)
{
	struct mm_struct *mm = vma->vm_mm;
	pmd_t *pmd = pmd_offset(pudp, address), entry = pmdp_get_lockless(pmd);
	long in_table = PTRS_PER_PTE - pte_index(address);
	struct page *page = NULL;
	spinlock_t *ptl;

	if (pmd_none(entry) || !pmd_present(entry)) {
		note_exit(GUP_SLOW_PMD_NONE);
		return no_page_table(vma, flags, address);
	}
	if (likely(!pmd_leaf(entry)))
		return follow_page_pte(vma, address, pmd, min(nr, in_table),
				       flags, pages);
	if (pmd_protnone(entry) && !gup_can_follow_protnone(vma, flags)) {
		note_exit(GUP_SLOW_PMD_HINT);
		return no_page_table(vma, flags, address);
	}

	ptl = pmd_lock(mm, pmd);
	entry = pmdp_get(pmd);
	if (unlikely(!pmd_present(entry))) {
		spin_unlock(ptl);
		note_exit(GUP_SLOW_PMD_GONE);
		return no_page_table(vma, flags, address);
	}
	if (unlikely(!pmd_leaf(entry) || (flags & FOLL_SPLIT_PMD))) {
		spin_unlock(ptl);
		note_exit(GUP_SLOW_PMD_SPLIT);
		race_point(RACE_SLOW_SPLIT);
		split_huge_pmd(vma, pmd, address);
		if (pte_alloc(mm, pmd))
			return -ENOMEM;
		return follow_page_pte(vma, address, pmd, min(nr, in_table),
				       flags, pages);
	}
	nr = follow_huge_pmd(vma, address, pmd, nr, flags, &page);
	spin_unlock(ptl);
	if (nr > 0 && pages)
		gup_fill_pages(vma, address, pages, page, nr);
	return nr;
}

/*
 * follow_huge_pud() - the same of a PUD leaf
 *
 * Nothing is forced, touched or honoured here: such leaves are hugetlb's.
 */
static long follow_huge_pud(struct vm_area_struct *vma, pf_addr_t address,
			    pud_t *pudp, long nr, unsigned int flags,
			    struct page **pagep)
{
	pud_t leaf = pudp_get(pudp);
	long index = (address & ~PUD_MASK) >> PAGE_SHIFT;
	struct page *page;
	int err;

	if (((flags & FOLL_WRITE) && !pud_write(leaf)) || !pud_present(leaf)) {
		note_exit(GUP_SLOW_PUD_ABSENT);
		return GUP_FAULT;
	}
	page = pud_page(leaf) + index;
	if (!pud_write(leaf) && gup_must_unshare(vma, flags, pud_page(leaf))) {
		note_exit(GUP_SLOW_PUD_UNSHARE);
		return GUP_UNSHARE;
	}
	nr = min(nr, HPAGE_PUD_NR - index);
	err = try_grab_folio(page_folio(page), nr, flags);
	if (err)
		return err;
	note_exit(GUP_SLOW_PUD_LEAF);
	*pagep = page;
	return nr;
}

static long follow_pud_leaf(struct vm_area_struct *vma, pf_addr_t address,
			    pud_t *pudp, long nr, unsigned int flags,
			    struct page **pages)
{
	spinlock_t *ptl = pud_lock(vma->vm_mm, pudp);
	struct page *page = NULL;

	nr = follow_huge_pud(vma, address, pudp, nr, flags, &page);
	spin_unlock(ptl);
	if (nr > 0 && pages)
		gup_fill_pages(vma, address, pages, page, nr);
	return nr ? nr : no_page_table(vma, flags, address);
}

static long follow_pud_mask(struct vm_area_struct *vma, pf_addr_t address,
			    p4d_t *p4dp, long nr, unsigned int flags,
			    struct page **pages)
{
	pud_t *pudp = pud_offset(p4dp, address), pud = pudp_get(pudp);

	if (unlikely(!pud_present(pud))) {
		note_exit(GUP_SLOW_NO_TABLE);
		return no_page_table(vma, flags, address);
	}
	if (unlikely(pud_leaf(pud)))
		return follow_pud_leaf(vma, address, pudp, nr, flags, pages);
	if (unlikely(pud_bad(pud)))
		return no_page_table(vma, flags, address);
	return follow_pmd_mask(vma, address, pudp, nr, flags, pages);
}

static long follow_p4d_mask(struct vm_area_struct *vma, pf_addr_t address,
			    pgd_t *pgdp, long nr, unsigned int flags,
			    struct page **pages)
{
	p4d_t *p4dp = p4d_offset(pgdp, address), p4d = p4dp_get(p4dp);

	if (unlikely(!p4d_present(p4d) || p4d_bad(p4d))) {
		note_exit(GUP_SLOW_NO_TABLE);
		return no_page_table(vma, flags, address);
	}
	return follow_pud_mask(vma, address, p4dp, nr, flags, pages);
}

/*
 * follow_page_mask() - one walk from the top
 * @nr: pages wanted, at least 1, all inside @vma
 * @pages: where they go, or NULL
 *
 * Return: pages taken, at least 1; GUP_FAULT, GUP_UNSHARE, or an errno.
 */
static long follow_page_mask(struct vm_area_struct *vma, pf_addr_t address,
			     long nr, unsigned int flags, struct page **pages)
{
	pgd_t *pgd = pgd_offset(vma->vm_mm, address);

	count_event(EV_WALKS);
	return follow_p4d_mask(vma, address, pgd, nr, flags, pages);
}

/*
 * Take what can be had of one area from @address on, faulting in what is not
 * there yet.
 *
 * Return: pages taken, or an errno for the first one (faultin_page()'s own
 * among them).
 */
static long gup_one_step(struct vm_area_struct *vma, pf_addr_t address, long nr,
			 unsigned int gup_flags, struct page **pages,
			 int *locked)
{
	for (;;) {
		long ret;
		int err;

		if (fatal_signal_pending(current)) {
			note_exit(GUP_SLOW_SIGNAL);
			return -EINTR;
		}
		cond_resched();
		ret = follow_page_mask(vma, address, nr, gup_flags, pages);
		if (likely(ret > 0))
			return ret;
		if (ret == -EEXIST)	/* counts, unless a page is wanted */
			return pages ? -EEXIST : 1;
		if (ret != GUP_FAULT && ret != GUP_UNSHARE)
			return ret;
		err = faultin_page(vma, address, gup_flags, ret == GUP_UNSHARE,
				   locked);
		if (err)
			return err;
	}
}

/* How many pages were done before the walk ended or turned. */
static void note_end(unsigned long done, unsigned long nr_pages)
{
	if (done)
		note_exit(done < nr_pages ? GUP_SLOW_PARTIAL : GUP_SLOW_WHOLE);
}

long __get_user_pages(struct mm_struct *mm, pf_addr_t start,
		      unsigned long nr_pages, unsigned int gup_flags,
		      struct page **pages, int *locked)
{
	struct vm_area_struct *vma = NULL;
	unsigned long done = 0;

	mmap_assert_locked(mm);
	while (done < nr_pages) {
		pf_addr_t address = start + done * PAGE_SIZE;
		unsigned long nr;
		long ret;
		int err;

		if (!vma || address >= vma->vm_end) {
			vma = gup_vma_lookup(mm, address, gup_flags, &err);
			if (!vma) {
				note_end(done, nr_pages);
				return done ? (long)done : err;
			}
		}
		nr = (vma->vm_end - (address & PAGE_MASK)) >> PAGE_SHIFT;
		nr = min(nr, nr_pages - done);
		ret = gup_one_step(vma, address, nr, gup_flags,
				   pages ? pages + done : NULL, locked);
		if (ret < 0)
			note_end(done, nr_pages);
		/* The lock was dropped, or the caller will not wait. */
		if (ret == -EBUSY || ret == -EAGAIN)
			return done;
		if (ret < 0)
			return done ? (long)done : ret;
		done += ret;
	}
	note_end(done, nr_pages);
	return done;
}
