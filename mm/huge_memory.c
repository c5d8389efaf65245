/* SPDX-License-Identifier: MIT */
/*
 * Transparent huge pages: making, splitting, changing and dropping PMD leaves.
 *
 * Invariants:
 * 1. Beside each leaf a PTE table is deposited; splitting cannot fail.
 * 2. The head page's AnonExclusive speaks for all 512 pages of a leaf; a split
 *    copies it to each of them, and nothing else sets it.
 * 3. A leaf holds one reference and one mapping of its folio; after a split,
 *    512 entries hold 512.
 *
 * Locks: the lock of the PMD's table.
 * Source: mm/huge_memory.c
 */
#include "mm/huge_memory.h"

#include "mm/gfp.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <string.h>

/* Orders that the area may have at all, wherever there is room. */
static unsigned long thp_vma_orders(struct vm_area_struct *vma)
{
	struct machine *machine = vma->vm_mm->machine;
	unsigned long orders = READ_ONCE(machine->thp_always);

	if (vma->vm_flags & VM_HUGEPAGE)
		orders |= READ_ONCE(machine->thp_madvise);
	if ((vma->vm_flags & (VM_NOHUGEPAGE | VM_SPECIAL)) ||
	    !vma_is_anonymous(vma))
		return 0;
	return orders;
}

bool thp_vma_suitable_order(struct vm_area_struct *vma, pf_addr_t address,
			    unsigned int order)
{
	pf_addr_t size = PAGE_SIZE << order;
	pf_addr_t start = ALIGN_DOWN(address, size);

	return start >= vma->vm_start && start + size <= vma->vm_end;
}

unsigned long thp_orders(struct vm_area_struct *vma, pf_addr_t address)
{
	unsigned long orders = thp_vma_orders(vma);

	for (unsigned int order = 1; order <= HPAGE_PMD_ORDER; order++)
		if (!thp_vma_suitable_order(vma, address, order))
			orders &= ~BIT(order);
	return orders;
}

bool thp_vma_allowable_order(struct vm_area_struct *vma, bool enforce,
			     unsigned int order)
{
	const vm_flags_t never = VM_NOHUGEPAGE | VM_SPECIAL | VM_HUGETLB;
	pf_addr_t size = PAGE_SIZE << order;

	if ((vma->vm_flags & never) || !vma_is_anonymous(vma))
		return false;
	if (enforce && !(thp_vma_orders(vma) & BIT(order)))
		return false;
	return vma->vm_end >= size &&
	       thp_vma_suitable_order(vma, vma->vm_end - size, order);
}

void touch_pmd(struct vm_area_struct *vma, pf_addr_t addr, pmd_t *pmd,
	       bool write)
{
	pmd_t entry = pmd_mkyoung(pmdp_get(pmd));

	if (write)
		entry = pmd_mkdirty(entry);
	set_pmd_at(vma->vm_mm, addr, pmd, entry);
}

/* The machine's one huge zero folio; it is never given back while it runs. */
static struct folio *get_huge_zero_folio(void)
{
	struct machine *machine = current->machine;
	struct folio *zero = smp_load_acquire(&machine->huge_zero_folio), *old;

	if (zero)
		return zero;
	/* It never goes: it must not lie where memory has to be movable. */
	zero = folio_alloc(GFP_TRANSHUGE_LIGHT & ~__GFP_MOVABLE,
			   HPAGE_PMD_ORDER);
	if (!zero)
		return NULL;
	if (!machine->metadata_only)
		memset(page_address(&zero->page), 0, HPAGE_PMD_SIZE);
	old = NULL;
	if (try_cmpxchg(&machine->huge_zero_folio, &old, zero))
		return zero;
	folio_put(zero);
	return old;
}

/* Each leaf of the huge zero folio holds a reference and no mapping. */
static vm_fault_t map_huge_zero(struct vm_fault *vmf, struct page *table)
{
	struct vm_area_struct *vma = vmf->vma;
	struct folio *zero = get_huge_zero_folio();
	spinlock_t *ptl;

	if (!zero) {
		pte_free(vma->vm_mm, table);
		return VM_FAULT_FALLBACK;
	}
	ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	if (pmd_none(pmdp_get(vmf->pmd))) {
		pgtable_trans_huge_deposit(vma->vm_mm, vmf->pmd, table);
		folio_get(zero);
		set_pmd_at(vma->vm_mm, vmf->address, vmf->pmd,
			   pmd_mkhuge(mk_pmd(&zero->page, vma->vm_page_prot)));
		table = NULL;
	}
	spin_unlock(ptl);
	if (table)
		pte_free(vma->vm_mm, table);
	return 0;
}

static vm_fault_t map_anon_thp(struct vm_fault *vmf, struct page *table)
{
	struct vm_area_struct *vma = vmf->vma;
	gfp_t gfp = GFP_TRANSHUGE_LIGHT;
	struct folio *folio;
	spinlock_t *ptl;
	pmd_t entry;

	if (!current->machine->metadata_only)
		gfp |= __GFP_ZERO;
	folio = folio_alloc(gfp, HPAGE_PMD_ORDER);
	if (!folio) {
		pte_free(vma->vm_mm, table);
		return VM_FAULT_FALLBACK;
	}
	__folio_set_uptodate(folio);
	entry = pmd_mkyoung(pmd_mkhuge(mk_pmd(&folio->page, vma->vm_page_prot)));
	entry = maybe_pmd_mkwrite(pmd_mkdirty(entry), vma);

	ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	if (pmd_none(pmdp_get(vmf->pmd))) {
		folio_add_new_anon_rmap(folio, vma, vmf->address & PMD_MASK,
					true);
		folio_add_lru(folio);
		pgtable_trans_huge_deposit(vma->vm_mm, vmf->pmd, table);
		set_pmd_at(vma->vm_mm, vmf->address, vmf->pmd, entry);
		table = NULL;
	}
	spin_unlock(ptl);
	if (table) {
		pte_free(vma->vm_mm, table);
		folio_put(folio);
	}
	return 0;
}

vm_fault_t do_huge_pmd_anonymous_page(struct vm_fault *vmf)
{
	const bool zero = !(vmf->flags & FAULT_FLAG_WRITE) &&
			  current->machine->use_huge_zero;
	struct page *table;

	anon_vma_prepare(vmf->vma);
	table = pte_alloc_one(vmf->vma->vm_mm);
	if (!table)
		return VM_FAULT_OOM;
	return zero ? map_huge_zero(vmf, table) : map_anon_thp(vmf, table);
}

void huge_pmd_set_accessed(struct vm_fault *vmf)
{
	spinlock_t *ptl = pmd_lock(vmf->vma->vm_mm, vmf->pmd);

	if (pmd_val(pmdp_get(vmf->pmd)) == pmd_val(vmf->orig_pmd))
		touch_pmd(vmf->vma, vmf->address, vmf->pmd,
			  vmf->flags & FAULT_FLAG_WRITE);
	spin_unlock(ptl);
}

/* The pmd lock is held.  Is the leaf ours alone, or does it become so? */
static bool huge_pmd_can_reuse(struct folio *folio)
{
	bool reuse;

	if (PageAnonExclusive(&folio->page))
		return true;
	if (!folio_trylock(folio))
		return false;
	reuse = folio_is_sole_reference(folio);
	folio_unlock(folio);
	if (reuse)
		SetPageAnonExclusive(&folio->page);
	return reuse;
}

/*
 * [cow-reuse] see that nobody else has a reference, then let the user store;
 * paired with folio_put_refs()
 */
vm_fault_t do_huge_pmd_wp_page(struct vm_fault *vmf)
{
	const bool unshare = vmf->flags & FAULT_FLAG_UNSHARE;
	struct vm_area_struct *vma = vmf->vma;
	spinlock_t *ptl;
	pmd_t entry;

	if (!unshare && userfaultfd_huge_pmd_wp(vma, vmf->orig_pmd)) {
		if (!userfaultfd_wp_async(vma))
			return handle_userfault(vmf);
		/* The page written loses its protection, alone. */
		goto fallback;
	}
	if (is_huge_zero_pmd(vmf->orig_pmd))
		goto fallback;
	ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	entry = pmdp_get(vmf->pmd);
	if (pmd_val(entry) != pmd_val(vmf->orig_pmd)) {
		spin_unlock(ptl);
		return 0;
	}
	if (!huge_pmd_can_reuse(page_folio(pmd_page(entry)))) {
		spin_unlock(ptl);
		goto fallback;
	}
	if (!unshare) {
		entry = maybe_pmd_mkwrite(pmd_mkdirty(pmd_mkyoung(entry)), vma);
		set_pmd_at(vma->vm_mm, vmf->address, vmf->pmd, entry);
	}
	spin_unlock(ptl);
	return 0;

fallback:
	split_huge_pmd(vma, vmf->pmd, vmf->address);
	return VM_FAULT_FALLBACK;
}

pmd_t pmd_upgrade_write(struct vm_area_struct *vma, pmd_t leaf)
{
	if (!(vma->vm_flags & VM_WRITE) || pmd_protnone(leaf) ||
	    is_huge_zero_pmd(leaf) || !PageAnonExclusive(pmd_page(leaf)) ||
	    pmd_needs_soft_dirty_wp(vma, leaf) ||
	    userfaultfd_huge_pmd_wp(vma, leaf))
		return leaf;
	return pmd_mkwrite_novma(leaf);
}

vm_fault_t do_huge_pmd_numa_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	spinlock_t *ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	pmd_t entry = pmdp_get(vmf->pmd);

	if (pmd_val(entry) == pmd_val(vmf->orig_pmd)) {
		entry = pmd_mkyoung(pmd_modify(entry, vma->vm_page_prot));
		set_pmd_at(vma->vm_mm, vmf->address, vmf->pmd,
			   pmd_upgrade_write(vma, entry));
	}
	spin_unlock(ptl);
	return 0;
}

/* All that a PMD leaf says about its pages, said again by one PTE. */
static pte_t pte_of_leaf(pmd_t leaf)
{
	/* PS is the PTE's PAT bit, and means nothing there. */
	return __pte(pmd_val(leaf) & ~_PAGE_PSE);
}

static void split_huge_zero_pmd(struct vm_area_struct *vma, pmd_t leaf,
				pte_t *table)
{
	struct page *zero = vma->vm_mm->machine->zero_page;
	pte_t entry = pte_mkspecial(mk_pte(zero, vma->vm_page_prot));

	if (pmd_uffd_wp(leaf))
		entry = pte_mkuffd_wp(entry);
	for (unsigned int i = 0; i < PTRS_PER_PTE; i++)
		set_pte_at(vma->vm_mm, 0, table + i, entry);
}

static void split_anon_pmd(struct vm_area_struct *vma, struct folio *folio,
			   pmd_t leaf, pte_t *table)
{
	pte_t entry = pte_of_leaf(leaf);
	const bool exclusive = PageAnonExclusive(&folio->page);

	folio_ref_add(folio, HPAGE_PMD_NR - 1);
	atomic_add(HPAGE_PMD_NR - 1, &folio->_mapcount);
	for (unsigned int i = 0; i < PTRS_PER_PTE; i++) {
		if (exclusive)
			SetPageAnonExclusive(folio_page(folio, i));
		set_pte_at(vma->vm_mm, 0, table + i,
			   __pte(pte_val(entry) + i * PAGE_SIZE));
	}
}

void split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd, pf_addr_t address)
{
	struct mm_struct *mm = vma->vm_mm;
	struct folio *zero = NULL;
	spinlock_t *ptl = pmd_lock(mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	struct page *table;

	if (!pmd_trans_huge(leaf)) {
		spin_unlock(ptl);
		return;
	}
	table = pgtable_trans_huge_withdraw(mm, pmd);
	if (is_huge_zero_pmd(leaf)) {
		zero = page_folio(pmd_page(leaf));
		split_huge_zero_pmd(vma, leaf, page_address(table));
	} else {
		/* Not present for lockless walkers while the counts change. */
		set_pmd_at(mm, address, pmd,
			   __pmd(pmd_val(leaf) & ~_PAGE_PRESENT));
		split_anon_pmd(vma, page_folio(pmd_page(leaf)), leaf,
			       page_address(table));
	}
	pmd_populate(mm, pmd, table);
	spin_unlock(ptl);
	if (zero)
		folio_put(zero);
}

void split_huge_pmd_at(struct vm_area_struct *vma, pf_addr_t address)
{
	pmd_t *pmd;

	/* A hugetlb area is cut between its pages only. */
	if (IS_ALIGNED(address, HPAGE_PMD_SIZE) || is_vm_hugetlb_page(vma))
		return;
	pmd = mm_find_pmd(vma->vm_mm, address);
	if (pmd && pmd_trans_huge(pmdp_get(pmd)))
		split_huge_pmd(vma, pmd, address);
}

/*
 * Return: 0; -ENOMEM; -EAGAIN if the leaf had to be split: PTEs are to be copied.
 *
 * Limit: a leaf that is not present is not copied; the engine makes none, but
 * for the moment of a split.
 */
int copy_huge_pmd(pmd_t *dst_pmd, pmd_t *src_pmd, pf_addr_t addr,
		  struct vm_area_struct *dst_vma,
		  struct vm_area_struct *src_vma)
{
	struct mm_struct *dst_mm = dst_vma->vm_mm, *src_mm = src_vma->vm_mm;
	struct page *table;
	struct folio *folio;
	spinlock_t *dst_ptl, *src_ptl;
	pmd_t leaf;

	/* A file's pages are faulted in again. */
	if (!vma_is_anonymous(dst_vma))
		return 0;
	table = pte_alloc_one(dst_mm);
	if (!table)
		return -ENOMEM;
	dst_ptl = pmd_lock(dst_mm, dst_pmd);
	src_ptl = pmd_lockptr(src_mm, src_pmd);
	spin_lock_nested(src_ptl, SUBCLASS_NESTED);
	leaf = pmdp_get(src_pmd);
	folio = page_folio(pmd_page(leaf));
	folio_get(folio);
	if (!is_huge_zero_pmd(leaf)) {
		if (folio_try_dup_anon_rmap_pmd(folio, pmd_page(leaf), src_vma))
			goto out_split;
		atomic64_add(HPAGE_PMD_NR, &dst_mm->rss_pages);
	}
	pgtable_trans_huge_deposit(dst_mm, dst_pmd, table);
	leaf = pmd_wrprotect(leaf);
	set_pmd_at(src_mm, addr, src_pmd, leaf);
	if (!userfaultfd_wp(dst_vma))
		leaf = pmd_clear_uffd_wp(leaf);
	set_pmd_at(dst_mm, addr, dst_pmd, pmd_mkold(leaf));
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	return 0;

out_split:
	/* Pinned: page by page, and the child gets copies. */
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	folio_put(folio);
	pte_free(dst_mm, table);
	split_huge_pmd(src_vma, src_pmd, addr);
	return -EAGAIN;
}

bool zap_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd)
{
	struct mm_struct *mm = vma->vm_mm;
	spinlock_t *ptl = pmd_lock(mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	struct folio *folio;

	if (!pmd_trans_huge(leaf)) {
		spin_unlock(ptl);
		return false;
	}
	(void)pmdp_huge_get_and_clear(mm, 0, pmd);
	pte_free(mm, pgtable_trans_huge_withdraw(mm, pmd));
	folio = page_folio(pmd_page(leaf));
	if (!is_huge_zero_pmd(leaf))
		folio_remove_rmap(folio, vma, 1, HPAGE_PMD_NR);
	spin_unlock(ptl);
	folio_put(folio);
	return true;
}

bool change_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd, pgprot_t prot)
{
	spinlock_t *ptl = pmd_lock(vma->vm_mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	const bool huge = pmd_trans_huge(leaf);

	if (huge)
		set_pmd_at(vma->vm_mm, 0, pmd,
			   pmd_upgrade_write(vma, pmd_modify(leaf, prot)));
	spin_unlock(ptl);
	return huge;
}
