/* SPDX-License-Identifier: MIT */
/*
 * Faults, and dropping pages.
 *
 * A fault looks at one entry: none (make a page), not present (wait or refuse),
 * PROT_NONE (give the permissions back), present but read-only (reuse or copy).
 * It takes the page-table lock last and re-checks the entry under it, so two
 * faults on one entry agree.
 *
 * Invariants:
 * 1. A writable entry that maps an anonymous page implies AnonExclusive.
 * 2. An UNSHARE fault leaves the entry read-only.
 *
 * Locks: mmap_lock (read or write), folio lock (trylock only), page-table lock.
 * Source: mm/memory.c
 */
#include "mm/mm.h"

#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"
#include "mm/userfaultfd.h"

#include <string.h>

static void set_new_ptes(struct vm_fault *vmf, pf_addr_t address, pte_t *ptep,
			 pte_t pte, unsigned int nr)
{
	struct mm_struct *mm = vmf->vma->vm_mm;

	for (unsigned int i = 0; i < nr; i++)
		set_pte_at(mm, address + i * PAGE_SIZE, ptep + i,
			   __pte(pte_val(pte) + i * PAGE_SIZE));
}

unsigned long copy_mc_user_highpage(struct page *to, struct page *from)
{
	if (unlikely(PageHWPoison(from)))
		return PAGE_SIZE;
	if (!page_machine(to)->metadata_only)
		memcpy(page_address(to), page_address(from), PAGE_SIZE);
	return 0;
}

static gfp_t gfp_zeroed(void)
{
	return GFP_HIGHUSER_MOVABLE |
	       (current->machine->metadata_only ? 0 : __GFP_ZERO);
}

bool pte_range_none(pte_t *ptep, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!pte_none(ptep_get(ptep + i)))
			return false;
	return true;
}

/* Of the enabled orders, those whose place in the table is empty. */
static unsigned long anon_folio_orders(struct vm_fault *vmf)
{
	unsigned long orders = thp_orders(vmf->vma, vmf->address) &
			       (BIT(HPAGE_PMD_ORDER) - 1);
	pte_t *table;

	if (!orders)
		return 0;
	table = pte_offset_map(vmf->pmd, vmf->address & PMD_MASK);
	if (!table)
		return 0;
	for (int order = HPAGE_PMD_ORDER - 1; order > 0; order--) {
		unsigned int nr = 1u << order;

		if ((orders & BIT(order)) &&
		    !pte_range_none(table + ALIGN_DOWN(pte_index(vmf->address),
						       nr), nr))
			orders &= ~BIT(order);
	}
	pte_unmap(table);
	return orders;
}

/* The largest folio that is enabled, has room, and can be had. */
static struct folio *alloc_anon_folio(struct vm_fault *vmf)
{
	unsigned long orders = anon_folio_orders(vmf);

	for (int order = HPAGE_PMD_ORDER - 1; order > 0; order--) {
		struct folio *folio;

		if (!(orders & BIT(order)))
			continue;
		folio = folio_alloc(gfp_zeroed() & ~GFP_KERNEL, order);
		if (folio)
			return folio;
	}
	return folio_alloc(gfp_zeroed(), 0);
}

static vm_fault_t map_zero_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *zero = current->machine->zero_page;
	pte_t entry = pte_mkspecial(mk_pte(zero, vma->vm_page_prot));

	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (!vmf->pte)
		return 0;
	if (pte_none(ptep_get(vmf->pte)))
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte, entry);
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	return 0;
}

static vm_fault_t do_anonymous_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct folio *folio;
	pf_addr_t address;
	unsigned int nr;
	pte_t entry;

	if (pte_alloc(vma->vm_mm, vmf->pmd))
		return VM_FAULT_OOM;
	if (!(vmf->flags & FAULT_FLAG_WRITE))
		return map_zero_page(vmf);

	anon_vma_prepare(vma);
	folio = alloc_anon_folio(vmf);
	if (!folio)
		return VM_FAULT_OOM;
	nr = folio_nr_pages(folio);
	address = ALIGN_DOWN(vmf->address, nr * PAGE_SIZE);
	entry = pte_mkyoung(mk_pte(&folio->page, vma->vm_page_prot));
	if (vma->vm_flags & VM_WRITE)
		entry = pte_mkwrite_novma(pte_mkdirty(entry));

	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, address, &vmf->ptl);
	if (!vmf->pte) {
		folio_put(folio);
		return 0;
	}
	if (pte_range_none(vmf->pte, nr)) {
		__folio_set_uptodate(folio);
		folio_ref_add(folio, nr - 1);
		folio_add_new_anon_rmap(folio, vma, address, false);
		folio_add_lru(folio);
		set_new_ptes(vmf, address, vmf->pte, entry, nr);
		folio = NULL;
	}
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	if (folio)
		folio_put(folio);	/* somebody was faster */
	return 0;
}

/* Wait until the folio that a migration entry names is unlocked. */
static void migration_entry_wait(struct vm_fault *vmf)
{
	vmf->pte = pte_offset_map_lock(vmf->vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (!vmf->pte)
		return;
	if (!pte_same(ptep_get(vmf->pte), vmf->orig_pte)) {
		pte_unmap_unlock(vmf->pte, vmf->ptl);
		return;
	}
	pte_unmap(vmf->pte);
	migration_entry_wait_on_locked(pte_to_swp_entry(vmf->orig_pte),
				       vmf->ptl);
}

/*
 * Limit: the engine itself swaps nothing out, so an entry that names a swap area
 * has nowhere to come from and the fault is a bus error.
 */
static vm_fault_t do_swap_page(struct vm_fault *vmf)
{
	swp_entry_t entry = pte_to_swp_entry(vmf->orig_pte);

	if (is_migration_entry(entry)) {
		migration_entry_wait(vmf);
		return 0;
	}
	if (is_hwpoison_entry(entry))
		return VM_FAULT_HWPOISON;
	if (is_pte_marker_entry(entry) &&
	    (swp_offset(entry) & PTE_MARKER_POISONED))
		return VM_FAULT_HWPOISON;
	return VM_FAULT_SIGBUS;
}

bool can_change_pte_writable(struct vm_area_struct *vma, pf_addr_t address,
			     pte_t pte)
{
	struct page *page;

	if (!(vma->vm_flags & VM_WRITE) || pte_protnone(pte))
		return false;
	if (pte_needs_soft_dirty_wp(vma, pte) || userfaultfd_pte_wp(vma, pte))
		return false;
	page = vm_normal_page(vma, address, pte);
	if (vma->vm_flags & VM_SHARED)
		return pte_dirty(pte);
	return page && PageAnon(page) && PageAnonExclusive(page);
}

/* A hinting fault: the page never was out of reach, so just say so again. */
static vm_fault_t do_numa_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t pte;

	spin_lock(vmf->ptl);
	pte = ptep_get(vmf->pte);
	if (pte_same(pte, vmf->orig_pte)) {
		pte = pte_mkyoung(pte_modify(pte, vma->vm_page_prot));
		if (can_change_pte_writable(vma, vmf->address, pte))
			pte = pte_mkwrite_novma(pte);
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte, pte);
	}
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	return 0;
}

/*
 * May a page that is mapped here and not exclusive become ours as it is?
 *
 * Only a small one with no reference beside this mapping's.  The LRU batch's
 * reference does not count, so it is drained before judging.
 *
 * [cow-reuse] see that nobody else has a reference, then let the user store;
 * paired with folio_put_refs()
 * Source: mm/memory.c:wp_can_reuse_anon_folio()
 */
static bool wp_can_reuse_anon_folio(struct folio *folio)
{
	bool reuse;

	if (folio_test_large(folio) || folio_ref_count(folio) > 3)
		return false;
	if (!folio_test_lru(folio))
		lru_add_drain();
	if (folio_ref_count(folio) > 1 || !folio_trylock(folio))
		return false;
	reuse = folio_is_sole_reference(folio);
	folio_unlock(folio);
	return reuse;
}

void wp_page_reuse(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry = pte_mkyoung(vmf->orig_pte);

	entry = maybe_mkwrite(pte_mkdirty(entry), vma);
	set_pte_at(vma->vm_mm, vmf->address, vmf->pte, entry);
	pte_unmap_unlock(vmf->pte, vmf->ptl);
}

static pte_t wp_copied_pte(struct vm_fault *vmf, struct folio *new)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry = pte_mkyoung(mk_pte(&new->page, vma->vm_page_prot));

	if (!(vmf->flags & FAULT_FLAG_UNSHARE))
		return maybe_mkwrite(pte_mkdirty(entry), vma);
	if (pte_soft_dirty(vmf->orig_pte))
		entry = pte_mksoft_dirty(entry);
	if (pte_uffd_wp(vmf->orig_pte))
		entry = pte_mkuffd_wp(entry);
	return entry;
}

/*
 * Replace what the entry maps by a private copy: one small page.
 *
 * @old: the page, with a reference that this consumes; NULL for the zero page.
 * No lock is held on entry or return.
 */
static vm_fault_t wp_page_copy(struct vm_fault *vmf, struct page *old)
{
	struct vm_area_struct *vma = vmf->vma;
	struct folio *new, *old_folio = old ? page_folio(old) : NULL;
	vm_fault_t ret = VM_FAULT_OOM;
	bool mapped = false;

	anon_vma_prepare(vma);
	new = folio_alloc(old ? GFP_HIGHUSER_MOVABLE : gfp_zeroed(), 0);
	if (!new)
		goto out_put_old;
	ret = VM_FAULT_HWPOISON;
	if (old && copy_mc_user_highpage(&new->page, old))
		goto out_put_new;
	ret = 0;
	__folio_set_uptodate(new);

	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (vmf->pte && pte_same(ptep_get(vmf->pte), vmf->orig_pte)) {
		folio_add_new_anon_rmap(new, vma, vmf->address, false);
		folio_add_lru(new);
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte,
			   wp_copied_pte(vmf, new));
		if (old)
			folio_remove_rmap(old_folio, vma, 1, 1);
		mapped = true;
	}
	if (vmf->pte)
		pte_unmap_unlock(vmf->pte, vmf->ptl);
	if (mapped && old)
		folio_put(old_folio);	/* the mapping's */
out_put_new:
	if (!mapped)
		folio_put(new);
out_put_old:
	if (old)
		folio_put(old_folio);
	return ret;
}

/*
 * Write or unshare fault on a present, read-only entry.
 *
 * Entry lock held on entry, dropped on return.
 * Source: mm/memory.c:do_wp_page()
 */
static vm_fault_t do_wp_page(struct vm_fault *vmf)
{
	const bool unshare = vmf->flags & FAULT_FLAG_UNSHARE;
	struct vm_area_struct *vma = vmf->vma;
	struct page *page;

	if (!unshare && userfaultfd_pte_wp(vma, vmf->orig_pte)) {
		if (!userfaultfd_wp_async(vma)) {
			pte_unmap_unlock(vmf->pte, vmf->ptl);
			return handle_userfault(vmf);
		}
		vmf->orig_pte = pte_clear_uffd_wp(vmf->orig_pte);
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte, vmf->orig_pte);
	}
	page = vm_normal_page(vma, vmf->address, vmf->orig_pte);
	if (!page && !is_zero_pfn(pte_pfn(vmf->orig_pte))) {
		pte_unmap_unlock(vmf->pte, vmf->ptl);
		return VM_FAULT_SIGBUS;
	}
	if ((vma->vm_flags & VM_SHARED) && page && !PageAnon(page))
		return wp_page_shared(vmf, page_folio(page));
	if (page && PageAnon(page) &&
	    (PageAnonExclusive(page) ||
	     wp_can_reuse_anon_folio(page_folio(page)))) {
		if (!PageAnonExclusive(page))
			SetPageAnonExclusive(page);
		if (unshare)
			pte_unmap_unlock(vmf->pte, vmf->ptl);
		else
			wp_page_reuse(vmf);
		return 0;
	}
	if (page)
		folio_get(page_folio(page));
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	return wp_page_copy(vmf, page);
}

static vm_fault_t handle_present_pte(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	const bool wants_own = vmf->flags & (FAULT_FLAG_WRITE |
					     FAULT_FLAG_UNSHARE);
	pte_t entry;

	spin_lock(vmf->ptl);
	entry = ptep_get(vmf->pte);
	if (!pte_same(entry, vmf->orig_pte))
		goto out_unlock;
	if (wants_own) {
		if (!pte_write(entry) &&
		    (is_cow_mapping(vma->vm_flags) ||
		     (vmf->flags & FAULT_FLAG_WRITE)))
			return do_wp_page(vmf);
		if (vmf->flags & FAULT_FLAG_WRITE)
			entry = pte_mkdirty(entry);
	}
	set_pte_at(vma->vm_mm, vmf->address, vmf->pte, pte_mkyoung(entry));
out_unlock:
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	return 0;
}

static vm_fault_t handle_pte_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;

	vmf->pte = pte_offset_map(vmf->pmd, vmf->address);
	vmf->orig_pte = vmf->pte ? ptep_get(vmf->pte) : __pte(0);
	if (pte_none(vmf->orig_pte)) {
		if (vmf->pte)
			pte_unmap(vmf->pte);
		return vma_is_anonymous(vma) ? do_anonymous_page(vmf) :
					       do_fault(vmf);
	}
	if (!pte_present(vmf->orig_pte)) {
		pte_unmap(vmf->pte);
		return do_swap_page(vmf);
	}
	vmf->ptl = &virt_to_page(vmf->pte)->ptl;
	if (pte_protnone(vmf->orig_pte) && vma_is_accessible(vma))
		return do_numa_page(vmf);
	return handle_present_pte(vmf);
}

/* VM_FAULT_FALLBACK: there is no leaf here, go on with PTEs. */
static vm_fault_t handle_pmd_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;

	vmf->orig_pmd = pmdp_get_lockless(vmf->pmd);
	if (pmd_none(vmf->orig_pmd)) {
		if (!vma_is_anonymous(vma) ||
		    !(thp_orders(vma, vmf->address) & BIT(HPAGE_PMD_ORDER)))
			return VM_FAULT_FALLBACK;
		return do_huge_pmd_anonymous_page(vmf);
	}
	if (!pmd_trans_huge(vmf->orig_pmd))
		return VM_FAULT_FALLBACK;
	if (pmd_protnone(vmf->orig_pmd) && vma_is_accessible(vma))
		return do_huge_pmd_numa_page(vmf);
	if ((vmf->flags & (FAULT_FLAG_WRITE | FAULT_FLAG_UNSHARE)) &&
	    !pmd_write(vmf->orig_pmd))
		return do_huge_pmd_wp_page(vmf);
	huge_pmd_set_accessed(vmf);
	return 0;
}

static vm_fault_t run_fault_hook(struct vm_area_struct *vma, pf_addr_t address,
				 unsigned int flags)
{
	struct mm_struct *mm = vma->vm_mm;
	vm_fault_t ret = current->fault_hook(current->fault_hook_arg, vma,
					     address, flags);
	const bool drops = (ret & VM_FAULT_COMPLETED) ||
		((ret & VM_FAULT_RETRY) && !(flags & FAULT_FLAG_RETRY_NOWAIT));

	if (drops) {
		BUG_ON(!(flags & FAULT_FLAG_ALLOW_RETRY));
		mmap_read_unlock(mm);
	}
	return ret;
}

vm_fault_t handle_mm_fault(struct vm_area_struct *vma, pf_addr_t address,
			   unsigned int flags, void *regs __maybe_unused)
{
	struct vm_fault vmf = {
		.vma = vma,
		.address = address & PAGE_MASK,
		.flags = flags,
		.pgoff = linear_page_index(vma, address & PAGE_MASK),
	};
	vm_fault_t ret;

	mmap_assert_locked(vma->vm_mm);
	/* Unsharing means nothing where nothing is shared copy-on-write. */
	if (!is_cow_mapping(vma->vm_flags))
		vmf.flags &= ~FAULT_FLAG_UNSHARE;
	if (unlikely(current->fault_hook)) {
		ret = run_fault_hook(vma, address, flags);
		if (ret)
			return ret;
	}
	if (unlikely(is_vm_hugetlb_page(vma)))
		return hugetlb_fault(vma, vmf.address, vmf.flags);
	vmf.pmd = mm_alloc_pmd(vma->vm_mm, vmf.address);
	if (!vmf.pmd)
		return VM_FAULT_OOM;
	ret = handle_pmd_fault(&vmf);
	return ret & VM_FAULT_FALLBACK ? handle_pte_fault(&vmf) : ret;
}

/* ---- dropping pages ------------------------------------------------------ */

/* What the entry knew about a page of a file is noted on the folio. */
static void zap_file_entry(struct vm_area_struct *vma, struct folio *folio,
			   pte_t entry)
{
	if (pte_dirty(entry) && (READ_ONCE(vma->vm_flags) & VM_SHARED))
		(void)folio_mark_dirty(folio);
	if (pte_young(entry))
		folio_mark_accessed(folio);
}

/*
 * The pages of [addr, end), which one PTE table covers.
 * @even_cows: also what the area has of its own
 */
static void zap_pte_range(struct vm_area_struct *vma, pmd_t *pmd,
			  pf_addr_t addr, pf_addr_t end, bool even_cows)
{
	struct mm_struct *mm = vma->vm_mm;
	spinlock_t *ptl;
	pte_t *first = pte_offset_map_lock(mm, pmd, addr, &ptl), *pte = first;

	if (!first)
		return;
	for (; addr < end; addr += PAGE_SIZE, pte++) {
		pte_t entry = ptep_get(pte);
		struct page *page = NULL;

		if (pte_none(entry))
			continue;
		if (pte_present(entry))
			page = vm_normal_page(vma, addr, entry);
		if (!even_cows && (!page || PageAnon(page)))
			continue;
		entry = ptep_get_and_clear(mm, addr, pte);
		if (!page)
			continue;
		if (!PageAnon(page))
			zap_file_entry(vma, page_folio(page), entry);
		folio_remove_rmap(page_folio(page), vma, 1, 1);
		put_page(page);
	}
	pte_unmap_unlock(first, ptl);
}

static void zap_pmd(struct vm_area_struct *vma, pmd_t *pmd, pf_addr_t addr,
		    pf_addr_t end, bool even_cows)
{
	if (pmd_trans_huge(pmdp_get(pmd))) {
		if (end - addr == PMD_SIZE && zap_huge_pmd(vma, pmd))
			return;
		split_huge_pmd(vma, pmd, addr);
	}
	if (pmd_is_table(pmdp_get(pmd)))
		zap_pte_range(vma, pmd, addr, end, even_cows);
}

void zap_page_range_single(struct vm_area_struct *vma, pf_addr_t start,
			   pf_addr_t end, bool even_cows)
{
	pf_addr_t addr, next;

	if (is_vm_hugetlb_page(vma)) {
		hugetlb_unmap(vma, start, end);
		return;
	}
	for (addr = start; addr < end; addr = next) {
		pmd_t *pmd = mm_find_pmd(vma->vm_mm, addr);

		if (!pmd) {
			/* A whole PMD table, at least, is missing. */
			next = pud_addr_end(addr, end);
			continue;
		}
		next = pmd_addr_end(addr, end);
		zap_pmd(vma, pmd, addr, next, even_cows);
	}
}

void zap_page_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end)
{
	mmap_assert_locked(vma->vm_mm);
	zap_page_range_single(vma, start, end, true);
}
