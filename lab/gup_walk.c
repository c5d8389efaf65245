/* SPDX-License-Identifier: MIT */
/*
 * `walk`: one walk and one lock for all PTEs of a table that the request
 * covers, one grab a page; a huge leaf in one grab.
 *
 * The middle of the series: what the walk alone is worth, without runs.
 */
#include "lab/gup_algos.h"

#include "mm/huge_memory.h"
#include "mm/swap.h"

#define NEED_FAULT	0L
#define NEED_UNSHARE	(-(long)EMLINK)

/* One PTE; the table's lock is held.  1 and the page grabbed, or why not. */
static long walk_one_pte(struct vm_area_struct *vma, pf_addr_t address,
			 pte_t *ptep, unsigned int flags, struct page **pagep)
{
	pte_t pte = ptep_get(ptep);
	struct folio *folio;
	struct page *page;
	int err;

	if (!pte_present(pte))
		return pte_none(pte) ? no_page_table(vma, flags, address) : NEED_FAULT;
	if (pte_protnone(pte) && !gup_can_follow_protnone(vma, flags))
		return NEED_FAULT;
	page = vm_normal_page(vma, address, pte);
	if ((flags & FOLL_WRITE) && !can_follow_write_pte(pte, page, vma, flags))
		return NEED_FAULT;
	if (!page && (flags & FOLL_DUMP))
		return -EFAULT;
	if (!page && !is_zero_pfn(pte_pfn(pte))) {
		if (flags & FOLL_TOUCH) {
			pte = pte_mkyoung(pte);
			if (flags & FOLL_WRITE)
				pte = pte_mkdirty(pte);
			set_pte_at(vma->vm_mm, address, ptep, pte);
		}
		return -EEXIST;
	}
	page = pte_page(pte);
	if (!pte_write(pte) && gup_must_unshare(vma, flags, page))
		return NEED_UNSHARE;
	folio = page_folio(page);
	err = folio_grab(folio, folio_test_large(folio), is_zero_folio(folio), 1,
			 flags);
	if (err)
		return err;
	if (flags & FOLL_TOUCH) {
		if ((flags & FOLL_WRITE) && !pte_dirty(pte) &&
		    !folio_test_dirty(folio))
			folio_mark_dirty(folio);
		folio_mark_accessed(folio);
	}
	*pagep = page;
	return 1;
}

static long walk_table(struct vm_area_struct *vma, pf_addr_t address,
		       pmd_t *pmd, long nr, unsigned int flags,
		       struct page **pages)
{
	struct mm_struct *mm = vma->vm_mm;
	spinlock_t *ptl;
	pte_t *ptep = pte_offset_map_lock(mm, pmd, address, &ptl);
	long done = 0, pins = 0, ret = 0;
	struct page *page = NULL;

	if (!ptep)
		return no_page_table(vma, flags, address);
	nr = min_t(long, nr, PTRS_PER_PTE - pte_index(address));
	for (; done < nr; done++) {
		ret = walk_one_pte(vma, address + done * PAGE_SIZE, ptep + done,
				   flags, &page);
		if (ret <= 0)
			break;
		if (pages)
			pages[done] = page;
		pins += !is_zero_page(page);
	}
	if ((flags & FOLL_PIN) && pins)
		count_pins_acquired(mm->machine, pins);
	pte_unmap_unlock(ptep, ptl);
	for (long i = 0; ARCH_FLUSHES_USER_PAGES && pages && i < done; i++) {
		flush_anon_page(vma, pages[i], address + i * PAGE_SIZE);
		flush_dcache_page(pages[i]);
	}
	return done ? done : ret;
}

static long walk_leaf(struct vm_area_struct *vma, pf_addr_t address,
		      pmd_t *pmd, long nr, unsigned int flags,
		      struct page **pagep)
{
	pmd_t leaf = pmdp_get(pmd);
	struct page *head = pmd_page(leaf);
	int err;

	if ((flags & FOLL_WRITE) && !can_follow_write_pmd(leaf, head, vma, flags))
		return NEED_FAULT;
	if ((flags & FOLL_DUMP) && is_huge_zero_pmd(leaf))
		return -EFAULT;
	if (pmd_protnone(leaf) && !gup_can_follow_protnone(vma, flags))
		return NEED_FAULT;
	if (!pmd_write(leaf) && gup_must_unshare(vma, flags, head))
		return NEED_UNSHARE;
	nr = min_t(long, nr, HPAGE_PMD_NR - pte_index(address));
	err = try_grab_folio(page_folio(head), nr, flags);
	if (err)
		return err;
	if (flags & FOLL_TOUCH)
		touch_pmd(vma, address, pmd, flags & FOLL_WRITE);
	*pagep = head + pte_index(address);
	return nr;
}

static long walk_pmd(struct vm_area_struct *vma, pf_addr_t address, pmd_t *pmd,
		     long nr, unsigned int flags, struct page **pages)
{
	struct mm_struct *mm = vma->vm_mm;
	pmd_t entry = pmdp_get_lockless(pmd);
	struct page *page = NULL;
	spinlock_t *ptl;

	if (pmd_none(entry) || !pmd_present(entry))
		return no_page_table(vma, flags, address);
	if (!pmd_leaf(entry))
		return walk_table(vma, address, pmd, nr, flags, pages);
	if (pmd_protnone(entry) && !gup_can_follow_protnone(vma, flags))
		return no_page_table(vma, flags, address);
	if (flags & FOLL_SPLIT_PMD) {
		split_huge_pmd(vma, pmd, address);
		if (pte_alloc(mm, pmd))
			return -ENOMEM;
		return walk_table(vma, address, pmd, nr, flags, pages);
	}
	ptl = pmd_lock(mm, pmd);
	if (!pmd_leaf(pmdp_get(pmd))) {
		spin_unlock(ptl);
		return walk_table(vma, address, pmd, nr, flags, pages);
	}
	nr = walk_leaf(vma, address, pmd, nr, flags, &page);
	spin_unlock(ptl);
	for (long i = 0; pages && i < nr; i++) {
		pages[i] = page + i;
		flush_anon_page(vma, pages[i], address + i * PAGE_SIZE);
		flush_dcache_page(pages[i]);
	}
	return nr;
}

static long walk_pud_leaf(struct vm_area_struct *vma, pf_addr_t address,
			  pud_t *pudp, long nr, unsigned int flags,
			  struct page **pages)
{
	long first = (address & ~PUD_MASK) >> PAGE_SHIFT, ret;
	spinlock_t *ptl = pud_lock(vma->vm_mm, pudp);
	pud_t leaf = pudp_get(pudp);
	struct page *page = pud_page(leaf) + first;

	nr = min(nr, HPAGE_PUD_NR - first);
	if (!pud_present(leaf) || ((flags & FOLL_WRITE) && !pud_write(leaf)))
		ret = no_page_table(vma, flags, address);
	else if (!pud_write(leaf) &&
		 gup_must_unshare(vma, flags, pud_page(leaf)))
		ret = NEED_UNSHARE;
	else
		ret = try_grab_folio(page_folio(page), nr, flags);
	spin_unlock(ptl);
	if (ret)
		return ret;
	for (long i = 0; pages && i < nr; i++) {
		pages[i] = page + i;
		flush_anon_page(vma, pages[i], address + i * PAGE_SIZE);
		flush_dcache_page(pages[i]);
	}
	return nr;
}

static long walk_top(struct vm_area_struct *vma, pf_addr_t address, long nr,
		     unsigned int flags, struct page **pages)
{
	p4d_t *p4dp = p4d_offset(pgd_offset(vma->vm_mm, address), address);
	p4d_t p4d = p4dp_get(p4dp);
	pud_t *pudp, pud;

	count_event(EV_WALKS);
	if (!p4d_present(p4d) || p4d_bad(p4d))
		return no_page_table(vma, flags, address);
	pudp = pud_offset(p4dp, address);
	pud = pudp_get(pudp);
	if (!pud_present(pud))
		return no_page_table(vma, flags, address);
	if (pud_leaf(pud))
		return walk_pud_leaf(vma, address, pudp, nr, flags, pages);
	if (pud_bad(pud))
		return no_page_table(vma, flags, address);
	return walk_pmd(vma, address, pmd_offset(pudp, address), nr, flags,
			pages);
}

static long one_step(struct vm_area_struct *vma, pf_addr_t address, long nr,
		     unsigned int flags, struct page **pages, int *locked)
{
	for (;;) {
		long ret;
		int err;

		if (fatal_signal_pending(current))
			return -EINTR;
		ret = walk_top(vma, address, nr, flags, pages);
		if (ret == -EEXIST && !pages)
			return 1;
		if (ret != NEED_FAULT && ret != NEED_UNSHARE)
			return ret;
		err = faultin_page(vma, address, flags, ret == NEED_UNSHARE,
				   locked);
		if (err)
			return err;
	}
}

long walk_get_user_pages(struct mm_struct *mm, pf_addr_t start,
			 unsigned long nr_pages, unsigned int gup_flags,
			 struct page **pages, int *locked)
{
	struct vm_area_struct *vma = NULL;
	unsigned long done = 0;

	while (done < nr_pages) {
		pf_addr_t address = start + done * PAGE_SIZE;
		long ret, nr;
		int err;

		if (!vma || address >= vma->vm_end) {
			vma = gup_vma_lookup(mm, address, gup_flags, &err);
			if (!vma)
				return done ? (long)done : err;
		}
		nr = (vma->vm_end - (address & PAGE_MASK)) >> PAGE_SHIFT;
		nr = min_t(long, nr, nr_pages - done);
		ret = one_step(vma, address, nr, gup_flags,
			       pages ? pages + done : NULL, locked);
		if (ret == -EBUSY || ret == -EAGAIN)
			return done;
		if (ret < 0)
			return done ? (long)done : ret;
		done += ret;
	}
	return done;
}
