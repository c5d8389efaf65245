/* SPDX-License-Identifier: MIT */
/*
 * `single`: the slow walk before batching, one page a time.
 *
 * Every page goes down from the top, takes its table's lock and is grabbed
 * alone.  A huge leaf yields its first page and, in page_mask, how far it
 * reaches; the outer loop then grabs the rest with a second operation.
 *
 * Written from the behaviour of Linux 6.12, independently of mm/gup.c: it is
 * the oracle that mm/gup.c is compared with.
 */
#include "lab/gup_algos.h"

#include "mm/huge_memory.h"
#include "mm/swap.h"

/* What a walk says besides "here is the page". */
enum answer {
	GOT_PAGE,
	NEED_FAULT,
	NEED_UNSHARE,
	NO_DESCRIPTOR,
	FAILED,
};

struct follow {
	struct page *page;
	unsigned long page_mask;
	int err;
};

static enum answer failed(struct follow *f, int err)
{
	f->err = err;
	return FAILED;
}

static enum answer no_table(struct vm_area_struct *vma, unsigned int flags,
			    pf_addr_t address, struct follow *f)
{
	long err = no_page_table(vma, flags, address);

	return err ? failed(f, err) : NEED_FAULT;
}

static void touch_folio(struct folio *folio, pte_t pte, unsigned int flags)
{
	if ((flags & FOLL_WRITE) && !pte_dirty(pte) && !folio_test_dirty(folio))
		folio_mark_dirty(folio);
	folio_mark_accessed(folio);
}

static enum answer no_normal_page(struct vm_area_struct *vma, pf_addr_t address,
				  pte_t *ptep, unsigned int flags)
{
	pte_t pte = ptep_get(ptep), touched;

	if (flags & FOLL_TOUCH) {
		touched = pte_mkyoung(pte);
		if (flags & FOLL_WRITE)
			touched = pte_mkdirty(touched);
		if (!pte_same(touched, pte))
			set_pte_at(vma->vm_mm, address, ptep, touched);
	}
	return NO_DESCRIPTOR;
}

/* The table's lock is held. */
static enum answer follow_locked_pte(struct vm_area_struct *vma,
				     pf_addr_t address, pte_t *ptep,
				     unsigned int flags, struct follow *f)
{
	pte_t pte = ptep_get(ptep);
	struct folio *folio;
	struct page *page;
	int err;

	if (pte_none(pte))
		return no_table(vma, flags, address, f);
	if (!pte_present(pte))
		return NEED_FAULT;
	if (pte_protnone(pte) && !gup_can_follow_protnone(vma, flags))
		return NEED_FAULT;
	page = vm_normal_page(vma, address, pte);
	if ((flags & FOLL_WRITE) && !pte_write(pte) &&
	    !can_follow_write_pte(pte, page, vma, flags))
		return NEED_FAULT;
	if (!page) {
		if (flags & FOLL_DUMP)
			return failed(f, -EFAULT);
		if (!is_zero_pfn(pte_pfn(pte)))
			return no_normal_page(vma, address, ptep, flags);
		page = pte_page(pte);
	}
	if (!pte_write(pte) && gup_must_unshare(vma, flags, page))
		return NEED_UNSHARE;
	folio = page_folio(page);
	err = try_grab_folio(folio, 1, flags);
	if (err)
		return failed(f, err);
	if (flags & FOLL_PIN) {
		err = arch_make_folio_accessible(folio);
		if (err) {
			gup_put_folio(folio, 1, flags);
			return failed(f, err);
		}
	}
	if (flags & FOLL_TOUCH)
		touch_folio(folio, pte, flags);
	f->page = page;
	f->page_mask = 0;
	return GOT_PAGE;
}

static __always_inline enum answer follow_pte(struct vm_area_struct *vma, pf_addr_t address,
			      pmd_t *pmd, unsigned int flags, struct follow *f)
{
	spinlock_t *ptl;
	pte_t *ptep = pte_offset_map_lock(vma->vm_mm, pmd, address, &ptl);
	enum answer answer;

	if (!ptep)
		return no_table(vma, flags, address, f);
	answer = follow_locked_pte(vma, address, ptep, flags, f);
	pte_unmap_unlock(ptep, ptl);
	return answer;
}

/* The leaf's lock is held. */
static enum answer follow_leaf(struct vm_area_struct *vma, pf_addr_t address,
			       pmd_t *pmd, unsigned int flags, struct follow *f)
{
	pmd_t leaf = pmdp_get(pmd);
	struct page *head = pmd_page(leaf);
	int err;

	if ((flags & FOLL_WRITE) && !can_follow_write_pmd(leaf, head, vma, flags))
		return NEED_FAULT;
	if ((flags & FOLL_DUMP) && is_huge_zero_pmd(leaf))
		return failed(f, -EFAULT);
	if (pmd_protnone(leaf) && !gup_can_follow_protnone(vma, flags))
		return NEED_FAULT;
	if (!pmd_write(leaf) && gup_must_unshare(vma, flags, head))
		return NEED_UNSHARE;
	err = try_grab_folio(page_folio(head), 1, flags);
	if (err)
		return failed(f, err);
	if (flags & FOLL_TOUCH)
		touch_pmd(vma, address, pmd, flags & FOLL_WRITE);
	f->page = head + pte_index(address);
	f->page_mask = HPAGE_PMD_NR - 1;
	return GOT_PAGE;
}

static enum answer follow_pmd(struct vm_area_struct *vma, pf_addr_t address,
			      pmd_t *pmd, unsigned int flags, struct follow *f)
{
	struct mm_struct *mm = vma->vm_mm;
	pmd_t entry = pmdp_get_lockless(pmd);
	enum answer answer;
	spinlock_t *ptl;

	if (pmd_none(entry) || !pmd_present(entry))
		return no_table(vma, flags, address, f);
	if (!pmd_leaf(entry))
		return follow_pte(vma, address, pmd, flags, f);
	if (pmd_protnone(entry) && !gup_can_follow_protnone(vma, flags))
		return no_table(vma, flags, address, f);
	ptl = pmd_lock(mm, pmd);
	entry = pmdp_get(pmd);
	if (!pmd_present(entry)) {
		spin_unlock(ptl);
		return no_table(vma, flags, address, f);
	}
	if (!pmd_leaf(entry)) {
		spin_unlock(ptl);
		return follow_pte(vma, address, pmd, flags, f);
	}
	if (flags & FOLL_SPLIT_PMD) {
		spin_unlock(ptl);
		split_huge_pmd(vma, pmd, address);
		if (pte_alloc(mm, pmd))
			return failed(f, -ENOMEM);
		return follow_pte(vma, address, pmd, flags, f);
	}
	answer = follow_leaf(vma, address, pmd, flags, f);
	spin_unlock(ptl);
	return answer;
}

static enum answer follow_locked_pud(struct vm_area_struct *vma,
				     pf_addr_t address, pud_t leaf,
				     unsigned int flags, struct follow *f)
{
	struct page *head = pud_page(leaf);
	int err;

	if (!pud_present(leaf) || ((flags & FOLL_WRITE) && !pud_write(leaf)))
		return no_table(vma, flags, address, f);
	if (!pud_write(leaf) && gup_must_unshare(vma, flags, head))
		return NEED_UNSHARE;
	err = try_grab_folio(page_folio(head), 1, flags);
	if (err)
		return failed(f, err);
	f->page_mask = HPAGE_PUD_NR - 1;
	f->page = head + ((address >> PAGE_SHIFT) & f->page_mask);
	return GOT_PAGE;
}

static enum answer follow_pud_leaf(struct vm_area_struct *vma,
				   pf_addr_t address, pud_t *pudp,
				   unsigned int flags, struct follow *f)
{
	spinlock_t *ptl = pud_lock(vma->vm_mm, pudp);
	enum answer answer = follow_locked_pud(vma, address, pudp_get(pudp),
					       flags, f);

	spin_unlock(ptl);
	return answer;
}

static enum answer follow_pud(struct vm_area_struct *vma, pf_addr_t address,
			      p4d_t *p4d, unsigned int flags, struct follow *f)
{
	pud_t *pudp = pud_offset(p4d, address), pud = pudp_get(pudp);

	if (!pud_present(pud))
		return no_table(vma, flags, address, f);
	if (pud_leaf(pud))
		return follow_pud_leaf(vma, address, pudp, flags, f);
	if (pud_bad(pud))
		return no_table(vma, flags, address, f);
	return follow_pmd(vma, address, pmd_offset(pudp, address), flags, f);
}

static enum answer follow_top(struct vm_area_struct *vma, pf_addr_t address,
			      unsigned int flags, struct follow *f)
{
	p4d_t *p4dp = p4d_offset(pgd_offset(vma->vm_mm, address), address);
	p4d_t p4d = p4dp_get(p4dp);

	count_event(EV_WALKS);
	if (!p4d_present(p4d) || p4d_bad(p4d))
		return no_table(vma, flags, address, f);
	return follow_pud(vma, address, p4dp, flags, f);
}

/* The first page is grabbed; grab and store the rest of its leaf. */
static long take_pages(struct vm_area_struct *vma, pf_addr_t address,
		       const struct follow *f, unsigned long left,
		       unsigned int flags, struct page **pages)
{
	unsigned long nr = 1 + (~(address >> PAGE_SHIFT) & f->page_mask);

	nr = min(nr, left);
	if (!pages)
		return nr;
	if (nr > 1 && try_grab_folio(page_folio(f->page), nr - 1, flags)) {
		gup_put_folio(page_folio(f->page), 1, flags);
		return -EFAULT;
	}
	for (unsigned long i = 0; i < nr; i++) {
		pages[i] = f->page + i;
		flush_anon_page(vma, pages[i], address + i * PAGE_SIZE);
		flush_dcache_page(pages[i]);
	}
	return nr;
}

static long one_page(struct vm_area_struct *vma, pf_addr_t address,
		     unsigned long left, unsigned int flags,
		     struct page **pages, int *locked)
{
	struct follow f = { 0 };
	enum answer answer;
	int err;

	for (;;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		answer = follow_top(vma, address, flags, &f);
		if (answer == GOT_PAGE)
			return take_pages(vma, address, &f, left, flags, pages);
		if (answer == NO_DESCRIPTOR)
			return pages ? -EEXIST : 1;
		if (answer == FAILED)
			return f.err;
		err = faultin_page(vma, address, flags, answer == NEED_UNSHARE,
				   locked);
		if (err)
			return err;
	}
}

long single_get_user_pages(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked)
{
	struct vm_area_struct *vma = NULL;
	unsigned long done = 0;

	while (done < nr_pages) {
		pf_addr_t address = start + done * PAGE_SIZE;
		long ret;
		int err;

		if (!vma || address >= vma->vm_end) {
			vma = gup_vma_lookup(mm, address, gup_flags, &err);
			if (!vma)
				return done ? (long)done : err;
		}
		ret = one_page(vma, address, nr_pages - done, gup_flags,
			       pages ? pages + done : NULL, locked);
		if (ret == -EBUSY || ret == -EAGAIN)
			return done;
		if (ret < 0)
			return done ? (long)done : ret;
		done += ret;
	}
	return done;
}
