/* SPDX-License-Identifier: MIT */
/*
 * Collapsing page tables into huge pages.
 *
 *   look        mmap_lock for read: is this table worth a huge page?
 *   allocate    without mmap_lock
 *   collapse    mmap_lock for write, all looked at again (khugepaged_pages.c)
 *
 * Locks: mm_list_sem, mmap_lock, page-table lock.
 * Source: mm/khugepaged.c
 * Differs: an area that was never touched is looked at like one whose table is
 *          empty.
 */
#include "mm/khugepaged_internal.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

/* ---- is it worth it? ------------------------------------------------- */

static bool exceeds(const struct collapse_control *cc, unsigned int nr,
		    unsigned int limit)
{
	return cc->is_khugepaged && nr > limit;
}

static enum scan_result
hugepage_vma_revalidate(struct mm_struct *mm, pf_addr_t address,
			struct vm_area_struct **vmap,
			const struct collapse_control *cc)
{
	struct vm_area_struct *vma = find_vma(mm, address);

	*vmap = vma;
	if (!vma)
		return SCAN_VMA_NULL;
	if (!thp_vma_suitable_order(vma, address, HPAGE_PMD_ORDER))
		return SCAN_ADDRESS_RANGE;
	if (!thp_vma_allowable_order(vma, cc->is_khugepaged, HPAGE_PMD_ORDER))
		return SCAN_VMA_CHECK;
	return SCAN_SUCCEED;
}

static enum scan_result find_pmd_or_thp_or_none(struct mm_struct *mm,
						pf_addr_t address, pmd_t **pmd)
{
	pmd_t entry;

	*pmd = mm_find_pmd(mm, address);
	if (!*pmd)
		return SCAN_PMD_NULL;
	entry = pmdp_get_lockless(*pmd);
	if (pmd_none(entry))
		return SCAN_PMD_NONE;
	if (!pmd_present(entry))
		return SCAN_PMD_NULL;
	if (pmd_trans_huge(entry))
		return SCAN_PMD_MAPPED;
	return pmd_is_table(entry) ? SCAN_SUCCEED : SCAN_PMD_NULL;
}

enum scan_result scan_none(struct scan *s)
{
	/* Whoever serves missing pages wants to hear of each of them. */
	if (userfaultfd_armed(s->vma) ||
	    exceeds(s->cc, ++s->none_or_zero, s->cc->limits.max_ptes_none))
		return SCAN_EXCEED_NONE_PTE;
	return SCAN_SUCCEED;
}

/* What one page adds, if nothing speaks against it. */
enum scan_result scan_page(struct scan *s, pte_t pte, struct folio *folio)
{
	VM_BUG_ON_FOLIO(!folio_test_anon(folio), folio);
	if (folio_likely_mapped_shared(folio) &&
	    exceeds(s->cc, ++s->shared, s->cc->limits.max_ptes_shared))
		return SCAN_EXCEED_SHARED_PTE;
	if (pte_write(pte))
		s->writable = true;
	if (pte_young(pte) || folio_test_referenced(folio))
		s->referenced++;
	return SCAN_SUCCEED;
}

enum scan_result scan_verdict(const struct scan *s)
{
	if (!s->writable)
		return SCAN_PAGE_RO;
	if (s->cc->is_khugepaged &&
	    (!s->referenced ||
	     (s->unmapped && s->referenced < HPAGE_PMD_NR / 2)))
		return SCAN_LACK_REFERENCED_PAGE;
	return SCAN_SUCCEED;
}

static enum scan_result scan_pte(struct scan *s, pf_addr_t address, pte_t pte)
{
	struct folio *folio;
	struct page *page;
	enum scan_result result;

	if (pte_none_or_zero(pte))
		return scan_none(s);
	if (!pte_present(pte)) {
		if (exceeds(s->cc, ++s->unmapped, s->cc->limits.max_ptes_swap))
			return SCAN_EXCEED_SWAP_PTE;
		return pte_swp_uffd_wp_any(pte) ? SCAN_PTE_UFFD_WP :
						  SCAN_SUCCEED;
	}
	if (pte_uffd_wp(pte))
		return SCAN_PTE_UFFD_WP;
	page = vm_normal_page(s->vma, address, pte);
	if (!page)
		return SCAN_PAGE_NULL;
	folio = page_folio(page);
	result = scan_page(s, pte, folio);
	if (result != SCAN_SUCCEED)
		return result;
	if (!folio_test_lru(folio))
		return SCAN_PAGE_LRU;
	if (folio_test_locked(folio))
		return SCAN_PAGE_LOCK;
	/*
	 * Most that are held elsewhere are found here, cheaply.  The count is
	 * taken again when it cannot rise any more.
	 */
	return is_refcount_suitable(folio) ? SCAN_SUCCEED : SCAN_PAGE_COUNT;
}

static enum scan_result scan_table(struct scan *s, pmd_t *pmd,
				   pf_addr_t address)
{
	enum scan_result result = SCAN_SUCCEED;
	pte_t *first, *pte;
	spinlock_t *ptl;

	first = pte_offset_map_lock(s->vma->vm_mm, pmd, address, &ptl);
	if (!first)
		return SCAN_PMD_NULL;
	for (pte = first; pte < first + HPAGE_PMD_NR &&
	     result == SCAN_SUCCEED; pte++, address += PAGE_SIZE)
		result = scan_pte(s, address, ptep_get(pte));
	pte_unmap_unlock(first, ptl);
	return result == SCAN_SUCCEED ? scan_verdict(s) : result;
}

/* ---- one table ------------------------------------------------------- */

/* Bring in what is not present; migrations are waited for. */
static enum scan_result collapse_swapin(struct vm_area_struct *vma, pmd_t *pmd,
					pf_addr_t address)
{
	pf_addr_t end = address + PMD_SIZE;

	for (; address < end; address += PAGE_SIZE) {
		pte_t *ptep = pte_offset_map(pmd, address), pte;

		if (!ptep)
			return SCAN_PMD_NULL;
		pte = ptep_get(ptep);
		pte_unmap(ptep);
		if (pte_none(pte) || pte_present(pte))
			continue;
		if (handle_mm_fault(vma, address, 0, NULL) & VM_FAULT_ERROR)
			return SCAN_FAIL;
	}
	/* New pages wait in a batch, which has a reference. */
	lru_add_drain();
	return SCAN_SUCCEED;
}

/* The area and the table of @address, or why there is none to collapse. */
static enum scan_result revalidate(struct mm_struct *mm, pf_addr_t address,
				   struct vm_area_struct **vma, pmd_t **pmd,
				   const struct collapse_control *cc)
{
	enum scan_result result = hugepage_vma_revalidate(mm, address, vma, cc);

	return result == SCAN_SUCCEED ?
	       find_pmd_or_thp_or_none(mm, address, pmd) : result;
}

/* mmap_lock is held for read on entry, and not held on return. */
static enum scan_result collapse_huge_page(struct mm_struct *mm,
					   pf_addr_t address, bool unmapped,
					   const struct collapse_control *cc)
{
	enum scan_result result;
	struct vm_area_struct *vma;
	struct folio *new;
	pmd_t *pmd;

	mmap_read_unlock(mm);
	new = folio_alloc(GFP_TRANSHUGE_LIGHT, HPAGE_PMD_ORDER);
	if (!new)
		return SCAN_ALLOC_HUGE_PAGE_FAIL;
	if (unmapped) {
		mmap_read_lock(mm);
		result = revalidate(mm, address, &vma, &pmd, cc);
		if (result == SCAN_SUCCEED)
			result = collapse_swapin(vma, pmd, address);
		mmap_read_unlock(mm);
		if (result != SCAN_SUCCEED)
			goto out_put;
	}
	mmap_write_lock(mm);
	result = revalidate(mm, address, &vma, &pmd, cc);
	if (result == SCAN_SUCCEED)
		result = collapse_pmd(vma, pmd, address, new, cc);
	mmap_write_unlock(mm);
out_put:
	if (result != SCAN_SUCCEED)
		folio_put(new);
	return result;
}

static enum scan_result
hpage_collapse_scan_pmd(struct vm_area_struct *vma, pf_addr_t address,
			bool *mmap_locked, const struct collapse_control *cc)
{
	struct scan s = { .cc = cc, .vma = vma };
	enum scan_result result;
	pmd_t *pmd;

	result = find_pmd_or_thp_or_none(vma->vm_mm, address, &pmd);
	if (result == SCAN_SUCCEED)
		result = scan_table(&s, pmd, address);
	if (result != SCAN_SUCCEED)
		return result;
	*mmap_locked = false;
	return collapse_huge_page(vma->vm_mm, address, s.unmapped, cc);
}

/* ---- who asks -------------------------------------------------------- */

static int madvise_collapse_errno(enum scan_result result, pf_addr_t address)
{
	switch (result) {
	case SCAN_ALLOC_HUGE_PAGE_FAIL:
		return fail(-ENOMEM, "no huge page for %#" PRIx64, address, 0,
			    0);
	case SCAN_EXCEED_NONE_PTE:
		return fail(-EBUSY, "the range at %#" PRIx64 " has empty "
			    "entries, and its area a fault handler", address, 0,
			    0);
	case SCAN_PAGE_COUNT:
	case SCAN_PAGE_LOCK:
	case SCAN_PAGE_LRU:
	case SCAN_DEL_PAGE_LRU:
		return fail(-EAGAIN, "a page of the range at %#" PRIx64 " is "
			    "got, pinned, locked or isolated", address, 0, 0);
	default:
		return fail(-EINVAL, "the range at %#" PRIx64 " cannot become a "
			    "huge page", address, 0, 0);
	}
}

/* Does the next range deserve a try after this result? */
static bool may_go_on(enum scan_result result)
{
	switch (result) {
	case SCAN_PMD_NULL:
	case SCAN_PTE_NON_PRESENT:
	case SCAN_PTE_UFFD_WP:
	case SCAN_PAGE_RO:
	case SCAN_LACK_REFERENCED_PAGE:
	case SCAN_PAGE_NULL:
	case SCAN_PAGE_COUNT:
	case SCAN_PAGE_LOCK:
	case SCAN_PAGE_LRU:
	case SCAN_DEL_PAGE_LRU:
		return true;
	default:
		return false;
	}
}

int madvise_collapse(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end)
{
	const struct collapse_control cc = { .is_khugepaged = false };
	struct mm_struct *mm = vma->vm_mm;
	const pf_addr_t first = ALIGN(start, PMD_SIZE);
	pf_addr_t address = first, failed = start;
	enum scan_result result = SCAN_SUCCEED, last_fail = SCAN_FAIL;
	bool locked = true;
	u64 thps = 0;

	mmap_assert_locked(mm);
	if (!thp_vma_allowable_order(vma, false, HPAGE_PMD_ORDER))
		return madvise_collapse_errno(SCAN_VMA_CHECK, start);
	lru_add_drain_all(mm->machine);
	end = ALIGN_DOWN(end, PMD_SIZE);
	for (; address < end; address += PMD_SIZE) {
		if (!locked) {
			mmap_read_lock(mm);
			locked = true;
			result = hugepage_vma_revalidate(mm, address, &vma,
							 &cc);
			if (result != SCAN_SUCCEED) {
				last_fail = result;
				break;
			}
			end = min(end, ALIGN_DOWN(vma->vm_end, PMD_SIZE));
		}
		result = hpage_collapse_scan_pmd(vma, address, &locked, &cc);
		if (result == SCAN_SUCCEED || result == SCAN_PMD_MAPPED) {
			thps++;
			continue;
		}
		last_fail = result;
		failed = address;
		if (!may_go_on(result))
			break;
	}
	if (!locked)
		mmap_read_lock(mm);
	/* A range without one whole huge page asks for what cannot be. */
	return thps == (end - first) >> PMD_SHIFT ? 0 :
	       madvise_collapse_errno(last_fail, failed);
}

/* What a pass over the machine carries along. */
struct scan_pass {
	struct collapse_control cc;
	unsigned long made;
	unsigned int alloc_failures;
};

/*
 * Look at huge pages' ranges from @address on, until one lets mmap_lock go.
 *
 * Return: where to go on; TASK_CEILING after the last.  mmap_lock is dropped.
 */
static pf_addr_t scan_from(struct scan_pass *pass, struct mm_struct *mm,
			   pf_addr_t address)
{
	struct vm_area_struct *vma = find_vma(mm, address);
	enum scan_result result;
	bool locked = true;

	for (; vma; vma = vma_next(vma)) {
		if (!thp_vma_allowable_order(vma, true, HPAGE_PMD_ORDER))
			continue;
		address = max(address, ALIGN(vma->vm_start, PMD_SIZE));
		for (; address + PMD_SIZE <= vma->vm_end; address += PMD_SIZE) {
			result = hpage_collapse_scan_pmd(vma, address, &locked,
							 &pass->cc);
			pass->made += result == SCAN_SUCCEED;
			pass->alloc_failures +=
				result == SCAN_ALLOC_HUGE_PAGE_FAIL;
			if (!locked)
				return address + PMD_SIZE;
		}
	}
	mmap_read_unlock(mm);
	return TASK_CEILING;
}

static void khugepaged_scan_mm(struct scan_pass *pass, struct mm_struct *mm)
{
	pf_addr_t address = 0;

	/* Without memory for one huge page there is none for the next. */
	while (address < TASK_CEILING && pass->alloc_failures < 2) {
		if (!mmap_read_trylock(mm))
			return;
		address = scan_from(pass, mm, address);
	}
}

static struct mm_struct *next_mm(struct machine *machine, struct mm_struct *mm)
{
	struct list_head *next;

	spin_lock(&machine->lock);
	next = mm ? mm->machine_list.next : machine->mm_list.next;
	spin_unlock(&machine->lock);
	return next == &machine->mm_list ? NULL :
	       list_entry(next, struct mm_struct, machine_list);
}

unsigned long khugepaged_do_scan(struct machine *machine,
				 const struct collapse_limits *limits)
{
	struct scan_pass pass = {
		.cc = { .is_khugepaged = true, .limits = *limits },
	};
	struct mm_struct *mm = NULL;

	lru_add_drain_all(machine);
	down_read(&machine->mm_list_sem);
	while ((mm = next_mm(machine, mm)))
		khugepaged_scan_mm(&pass, mm);
	up_read(&machine->mm_list_sem);
	return pass.made;
}
