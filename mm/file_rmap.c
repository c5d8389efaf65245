/* SPDX-License-Identifier: MIT */
/*
 * From a file's folio to its entries: making them clean, making them old, taking
 * them away.
 *
 * Locks: folio lock, i_mmap_rwsem for read, page-table locks.
 * Source: mm/rmap.c
 */
#include "mm/fs.h"
#include "mm/rmap.h"
#include "mm/swap.h"

/*
 * Whoever stores after this faults first, and the owner hears of it.  Who has
 * pinned the page does not: it makes the folio dirty when it is unpinned.
 */
static bool mkclean_one(struct folio *folio, struct vm_area_struct *vma,
			pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	int *cleaned = arg;

	if (!(READ_ONCE(vma->vm_flags) & VM_SHARED))
		return true;
	while (page_vma_mapped_walk(&pvmw)) {
		pte_t entry;

		VM_BUG_ON_FOLIO(!pvmw.pte, folio);
		entry = ptep_get(pvmw.pte);
		if (!pte_dirty(entry) && !pte_write(entry))
			continue;
		entry = ptep_get_and_clear(vma->vm_mm, pvmw.address, pvmw.pte);
		set_pte_at(vma->vm_mm, pvmw.address, pvmw.pte,
			   pte_mkclean(pte_wrprotect(entry)));
		++*cleaned;
	}
	return true;
}

int folio_mkclean(struct folio *folio)
{
	int cleaned = 0;
	struct rmap_walk_control rwc = {
		.arg = &cleaned,
		.rmap_one = mkclean_one,
	};

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	if (folio_mapped(folio))
		rmap_walk(folio, &rwc);
	return cleaned;
}

/* Each entry had a reference, and this thread has one more. */
static bool unmap_one(struct folio *folio, struct vm_area_struct *vma,
		      pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	const enum ttu_flags *flags = arg;

	if (!(*flags & TTU_IGNORE_MLOCK) &&
	    (READ_ONCE(vma->vm_flags) & VM_LOCKED))
		return false;
	while (page_vma_mapped_walk(&pvmw)) {
		pte_t entry;

		VM_BUG_ON_FOLIO(!pvmw.pte, folio);
		entry = ptep_get_and_clear(vma->vm_mm, pvmw.address, pvmw.pte);
		if (pte_dirty(entry))
			(void)folio_mark_dirty(folio);
		folio_remove_rmap(folio, vma, 1, 1);
		folio_put(folio);
	}
	return true;
}

bool try_to_unmap(struct folio *folio, enum ttu_flags flags)
{
	struct rmap_walk_control rwc = {
		.arg = &flags,
		.try_lock = flags & TTU_TRYLOCK,
		.rmap_one = unmap_one,
	};

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	if (folio_mapped(folio))
		rmap_walk(folio, &rwc);
	return !folio_mapped(folio);
}

struct referenced {
	bool walked;
	int young;
};

static bool referenced_one(struct folio *folio, struct vm_area_struct *vma,
			   pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	struct referenced *r = arg;

	r->walked = true;
	while (page_vma_mapped_walk(&pvmw)) {
		pte_t entry = ptep_get(pvmw.pte);

		if (!pte_young(entry))
			continue;
		entry = ptep_get_and_clear(vma->vm_mm, pvmw.address, pvmw.pte);
		set_pte_at(vma->vm_mm, pvmw.address, pvmw.pte,
			   pte_mkold(entry));
		r->young++;
	}
	return true;
}

int folio_referenced(struct folio *folio)
{
	struct referenced r = { false, 0 };
	struct rmap_walk_control rwc = {
		.arg = &r,
		.try_lock = true,
		.rmap_one = referenced_one,
	};

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	if (!folio_mapped(folio))
		return 0;
	rmap_walk(folio, &rwc);
	return r.walked ? r.young : -1;
}
