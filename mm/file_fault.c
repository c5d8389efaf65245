/* SPDX-License-Identifier: MIT */
/*
 * Faults in areas of files.
 *
 *   read             the file's page, read-only if the owner wants to hear of
 *                    stores or if the area is private
 *   write, private   a copy of it, at once
 *   write, shared    the file's page, and the owner is told
 *
 * vm_ops->fault() finds the page and returns it locked: while it is, it is in the
 * file, so what is mapped here, truncation finds (case_H14).
 *
 * Invariants:
 * 1. An entry that maps a page of a file was made with the folio locked and in
 *    the cache, below the size.
 * 2. A dirty or writable entry of an area whose owner wants to hear of stores
 *    maps a dirty folio.
 *
 * Locks: mmap_lock, folio lock, page-table lock.
 * Source: mm/memory.c
 */
#include "mm/fs.h"
#include "mm/gfp.h"
#include "mm/interval_tree.h"
#include "mm/mm.h"
#include "mm/rmap.h"
#include "mm/swap.h"

/* The page, with a reference and locked, in vmf->page. */
static vm_fault_t __do_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = vmf->vma->vm_ops->fault(vmf);

	if (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE | VM_FAULT_RETRY))
		return ret;
	if (unlikely(PageHWPoison(vmf->page))) {
		if (ret & VM_FAULT_LOCKED)
			folio_unlock(page_folio(vmf->page));
		put_page(vmf->page);
		return VM_FAULT_HWPOISON;
	}
	if (!(ret & VM_FAULT_LOCKED))
		folio_lock(page_folio(vmf->page));
	return ret | VM_FAULT_LOCKED;
}

static void put_fault_page(struct vm_fault *vmf)
{
	folio_unlock(page_folio(vmf->page));
	put_page(vmf->page);
}

/* Of a large folio, what the area and the table have room for, if it is free. */
struct fault_run {
	struct page *page;
	pf_addr_t address;
	unsigned int nr;
};

static void around_page(const struct vm_fault *vmf, struct fault_run *run)
{
	const struct vm_area_struct *vma = vmf->vma;
	struct folio *folio = page_folio(vmf->page);
	unsigned long nr = folio_nr_pages(folio);
	unsigned long idx = folio_page_idx(folio, vmf->page);
	pf_addr_t first = max(vma->vm_start, vmf->address & PMD_MASK);
	pf_addr_t last = min(vma->vm_end, (vmf->address & PMD_MASK) + PMD_SIZE);
	unsigned long before = min(idx, (vmf->address - first) >> PAGE_SHIFT);
	unsigned long after = min(nr - idx, (last - vmf->address) >> PAGE_SHIFT);

	run->page = vmf->page - before;
	run->address = vmf->address - before * PAGE_SIZE;
	run->nr = (unsigned int)(before + after);
}

static void only_page(const struct vm_fault *vmf, struct fault_run *run)
{
	*run = (struct fault_run){ vmf->page, vmf->address, 1 };
}

/* Map a run of the file's pages.  Context: the table's lock, folio lock. */
static void set_pte_range(struct vm_fault *vmf, const struct fault_run *run,
			  pte_t *pte)
{
	struct vm_area_struct *vma = vmf->vma;
	struct folio *folio = page_folio(run->page);

	folio_ref_add(folio, (int)run->nr);
	folio_add_file_rmap_ptes(folio, run->nr);
	for (unsigned int i = 0; i < run->nr; i++) {
		pf_addr_t address = run->address + i * PAGE_SIZE;
		pte_t entry = mk_pte(run->page + i, vma->vm_page_prot);

		if (address == vmf->address) {
			entry = pte_mkyoung(entry);
			if (vmf->flags & FAULT_FLAG_WRITE)
				entry = maybe_mkwrite(pte_mkdirty(entry), vma);
		}
		set_pte_at(vma->vm_mm, address, pte + i, entry);
	}
}

/*
 * Map vmf->page, which is locked; nothing happens if somebody was faster.
 *
 * Context: in an area whose owner hears of stores, only the page itself becomes
 * writable.
 * Source: mm/memory.c:finish_fault()
 */
static vm_fault_t finish_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct fault_run run;
	pte_t *pte;

	around_page(vmf, &run);
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (!vmf->pte)
		return VM_FAULT_NOPAGE;
	pte = vmf->pte - (vmf->address - run.address) / PAGE_SIZE;
	if (!pte_range_none(pte, run.nr)) {
		only_page(vmf, &run);
		pte = vmf->pte;
	}
	if (pte_range_none(pte, run.nr))
		set_pte_range(vmf, &run, pte);
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	return 0;
}

static vm_fault_t do_read_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = __do_fault(vmf);

	if (!(ret & VM_FAULT_LOCKED))
		return ret;
	ret = finish_fault(vmf);
	put_fault_page(vmf);
	return ret;
}

/* Map the copy, if nothing is there. */
static vm_fault_t finish_cow(struct vm_fault *vmf, struct folio *copy)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry = pte_mkyoung(mk_pte(&copy->page, vma->vm_page_prot));

	entry = maybe_mkwrite(pte_mkdirty(entry), vma);
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (vmf->pte && pte_none(ptep_get(vmf->pte))) {
		folio_add_new_anon_rmap(copy, vma, vmf->address, false);
		folio_add_lru(copy);
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte, entry);
		folio_get(copy);	/* the mapping's */
	}
	if (vmf->pte)
		pte_unmap_unlock(vmf->pte, vmf->ptl);
	return 0;
}

static vm_fault_t do_cow_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = VM_FAULT_OOM;
	struct folio *copy;

	anon_vma_prepare(vmf->vma);
	copy = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	if (!copy)
		return ret;
	ret = __do_fault(vmf);
	if (!(ret & VM_FAULT_LOCKED))
		goto out_put_copy;
	ret = VM_FAULT_HWPOISON;
	if (!copy_mc_user_highpage(&copy->page, vmf->page)) {
		__folio_set_uptodate(copy);
		/* The file may have no such page any more; the copy is ours. */
		ret = finish_cow(vmf, copy);
	}
	put_fault_page(vmf);
out_put_copy:
	folio_put(copy);
	return ret;
}

/*
 * Tell the owner that the page is going to be written.
 *
 * vmf->page is not locked before, and locked after success.
 * Return: LOCKED, or an error; NOPAGE: it is not of the file any more.
 */
static vm_fault_t do_page_mkwrite(struct vm_fault *vmf)
{
	const unsigned int old_flags = vmf->flags;
	vm_fault_t ret;

	vmf->flags = FAULT_FLAG_WRITE | FAULT_FLAG_MKWRITE;
	ret = vmf->vma->vm_ops->page_mkwrite(vmf);
	vmf->flags = old_flags;
	return ret;
}

static vm_fault_t do_shared_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = __do_fault(vmf);

	if (!(ret & VM_FAULT_LOCKED))
		return ret;
	if (vmf->vma->vm_ops->page_mkwrite) {
		folio_unlock(page_folio(vmf->page));
		ret = do_page_mkwrite(vmf);
		if (!(ret & VM_FAULT_LOCKED)) {
			put_page(vmf->page);
			return ret;
		}
	}
	ret = finish_fault(vmf);
	if (!ret)
		(void)folio_mark_dirty(page_folio(vmf->page));
	put_fault_page(vmf);
	return ret;
}

vm_fault_t do_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;

	if (!vma->vm_ops->fault)
		return VM_FAULT_SIGBUS;
	if (pte_alloc(vma->vm_mm, vmf->pmd))
		return VM_FAULT_OOM;
	if (!(vmf->flags & FAULT_FLAG_WRITE))
		return do_read_fault(vmf);
	if (!(vma->vm_flags & VM_SHARED))
		return do_cow_fault(vmf);
	return do_shared_fault(vmf);
}

/* The owner has been told: let the user store, if the entry is the same. */
static void finish_mkwrite_fault(struct vm_fault *vmf)
{
	vmf->pte = pte_offset_map_lock(vmf->vma->vm_mm, vmf->pmd, vmf->address,
				       &vmf->ptl);
	if (!vmf->pte)
		return;
	if (pte_same(ptep_get(vmf->pte), vmf->orig_pte))
		wp_page_reuse(vmf);
	else
		pte_unmap_unlock(vmf->pte, vmf->ptl);
}

vm_fault_t wp_page_shared(struct vm_fault *vmf, struct folio *folio)
{
	vm_fault_t ret = 0;

	folio_get(folio);
	vmf->page = pte_page(vmf->orig_pte);
	if (vmf->vma->vm_ops->page_mkwrite) {
		pte_unmap_unlock(vmf->pte, vmf->ptl);
		ret = do_page_mkwrite(vmf);
		if (!(ret & VM_FAULT_LOCKED))
			goto out_put;
		finish_mkwrite_fault(vmf);
	} else {
		wp_page_reuse(vmf);
		folio_lock(folio);
	}
	(void)folio_mark_dirty(folio);
	folio_unlock(folio);
	ret = 0;
out_put:
	folio_put(folio);
	return ret;
}

/* ---- unmapping a file's pages -------------------------------------------- */

struct unmap_range {
	pgoff_t first, last;
	bool even_cows;
};

static bool unmap_in_vma(void *arg, struct vm_area_struct *vma)
{
	const struct unmap_range *u = arg;
	pgoff_t first = max(u->first, vma->vm_pgoff);
	pgoff_t last = min(u->last, vma->vm_pgoff + vma_pages(vma) - 1);

	zap_page_range_single(vma, vma->vm_start +
				   ((first - vma->vm_pgoff) << PAGE_SHIFT),
			      vma->vm_start +
			      ((last - vma->vm_pgoff + 1) << PAGE_SHIFT),
			      u->even_cows);
	return true;
}

void unmap_mapping_pages(struct address_space *mapping, pgoff_t start,
			 pgoff_t nr, bool even_cows)
{
	struct unmap_range u = { start, start + nr - 1, even_cows };

	if (!nr)
		return;
	if (u.last < start)
		u.last = (pgoff_t)-1;
	i_mmap_lock_read(mapping);
	interval_tree_walk(&mapping->i_mmap, u.first, u.last, unmap_in_vma,
			   &u);
	i_mmap_unlock_read(mapping);
}

void unmap_mapping_folio(struct folio *folio)
{
	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	unmap_mapping_pages(folio->mapping, folio->index,
			    (pgoff_t)folio_nr_pages(folio), false);
}
