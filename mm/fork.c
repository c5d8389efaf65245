/* SPDX-License-Identifier: MIT */
/*
 * fork: the copy of an address space.
 *
 * Areas are copied, and the entries of those that have pages of their own.
 * What both sides then map is read-only in both and exclusive in neither, so
 * that the next store makes a copy.  Two kinds of page never become shared:
 *
 *   exclusive, and may be pinned   the child gets a copy now; the parent's
 *                                  entry stays as it is, writable too
 *   not mapped by an entry yet     each side faults in its own
 *
 * Invariants:
 * 1. inv_O5: a pinned exclusive page stays the page of the parent.
 * 2. While entries of a copy-on-write area are copied, write_protect_seq is
 *    odd: a pin that was taken without a lock meanwhile is given back.
 * 3. A child that cannot be completed is taken apart like any other; what the
 *    parent had shared with it then belongs to the parent alone.
 *
 * Locks: mmap_lock of the parent, then of the child, both for write; the
 * locks of what the area maps for write, so that a walk from a folio meets either
 * no entry of the child's area or all; page-table locks, the child's first.
 * Source: kernel/fork.c:dup_mmap(), mm/memory.c:copy_page_range()
 * Differs: a child of an mm that lost a huge page to the owner of its reservation
 *          has lost it too; Linux gives it an empty one.
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

/* ---- PTEs ---------------------------------------------------------------- */

/* Entries [addr, end), which one PTE table covers on each side. */
struct pte_copy {
	struct vm_area_struct *dst_vma, *src_vma;
	pmd_t *dst_pmd, *src_pmd;
	pf_addr_t addr, end;
	pte_t *dst, *src;		/* of addr, while locked */
	struct folio *prealloc;		/* for the next copy */
};

/* What a child's entry is like, whatever it maps. */
static pte_t child_pte(const struct pte_copy *c, pte_t pte)
{
	if (c->src_vma->vm_flags & VM_SHARED)
		pte = pte_mkclean(pte);
	if (!userfaultfd_wp(c->dst_vma))
		pte = pte_clear_uffd_wp(pte);
	return pte_mkold(pte);
}

/* The same pages on both sides; none of them writable if copied on write. */
static void copy_entries(struct pte_copy *c, unsigned int nr)
{
	const bool cow = is_cow_mapping(c->src_vma->vm_flags);

	for (unsigned int i = 0; i < nr; i++) {
		pf_addr_t at = c->addr + i * PAGE_SIZE;
		pte_t pte = ptep_get(c->src + i);

		if (cow && pte_write(pte)) {
			pte = pte_wrprotect(pte);
			set_pte_at(c->src_vma->vm_mm, at, c->src + i, pte);
		}
		set_pte_at(c->dst_vma->vm_mm, at, c->dst + i,
			   child_pte(c, pte));
	}
}

/* The entry is not present: what it stands for stays the same in the child. */
static void copy_nonpresent_pte(struct pte_copy *c, pte_t pte)
{
	swp_entry_t entry = pte_to_swp_entry(pte);
	const bool keep_wp = userfaultfd_wp(c->dst_vma);

	if (is_pte_marker_entry(entry)) {
		u64 marker = swp_offset(entry) & PTE_MARKER_POISONED;

		if (keep_wp)
			marker |= swp_offset(entry) & PTE_MARKER_UFFD_WP;
		if (!marker)
			return;
		pte = swp_entry_to_pte(swp_entry(SWP_PTE_MARKER, marker));
		set_pte_at(c->dst_vma->vm_mm, c->addr, c->dst, pte);
		return;
	}
	/* The page it comes back as is shared, and not writable. */
	if (is_cow_mapping(c->src_vma->vm_flags)) {
		pte = pte_swp_mkshared(pte);
		set_pte_at(c->src_vma->vm_mm, c->addr, c->src, pte);
	}
	if (!keep_wp)
		pte = pte_swp_clear_uffd_wp(pte);
	set_pte_at(c->dst_vma->vm_mm, c->addr, c->dst, pte);
}

/*
 * How many entries from here on map one page of @folio after the other?
 * @pinned: exclusive pages have to be copied, so these are runs of their own
 */
static unsigned int folio_pte_batch(const struct pte_copy *c,
				    struct folio *folio, struct page *page,
				    bool pinned)
{
	const unsigned long room = (c->end - c->addr) >> PAGE_SHIFT;
	unsigned int max_nr, nr = 1;

	if (!folio_test_large(folio) || (pinned && PageAnonExclusive(page)))
		return 1;
	max_nr = min(folio_nr_pages(folio) - folio_page_idx(folio, page), room);
	for (; nr < max_nr; nr++) {
		pte_t pte = ptep_get(c->src + nr);

		if (!pte_present(pte) || pte_special(pte) ||
		    pte_pfn(pte) != page_to_pfn(page) + nr ||
		    (pinned && PageAnonExclusive(page + nr)))
			break;
	}
	return nr;
}

/* The child's own page for one that has to stay the parent's. */
static int copy_present_page(struct pte_copy *c, struct page *page)
{
	struct vm_area_struct *dst_vma = c->dst_vma;
	struct folio *new = c->prealloc;
	pte_t pte;

	if (!new)
		return -EAGAIN;
	if (copy_mc_user_highpage(&new->page, page))
		return -EHWPOISON;
	c->prealloc = NULL;
	__folio_set_uptodate(new);
	folio_add_new_anon_rmap(new, dst_vma, c->addr, false);
	folio_add_lru(new);
	pte = maybe_mkwrite(pte_mkdirty(mk_pte(&new->page,
					       dst_vma->vm_page_prot)),
			    dst_vma);
	if (userfaultfd_pte_wp(dst_vma, ptep_get(c->src)))
		pte = pte_mkuffd_wp(pte_wrprotect(pte));
	set_pte_at(dst_vma->vm_mm, c->addr, c->dst, pte);
	return 0;
}

/*
 * One run of present entries.
 *
 * Return: how many were copied; -EAGAIN if a page is needed first; -EHWPOISON.
 */
static int copy_present_ptes(struct pte_copy *c, pte_t pte)
{
	struct page *page = vm_normal_page(c->src_vma, c->addr, pte);
	struct folio *folio;
	bool pinned;
	int nr, err;

	if (!page) {
		copy_entries(c, 1);
		return 1;
	}
	folio = page_folio(page);
	pinned = folio_test_anon(folio) &&
		 folio_needs_cow_for_dma(c->src_vma, folio);
	/* With a page at hand this is about one that has to be copied. */
	nr = c->prealloc ? 1 : folio_pte_batch(c, folio, page, pinned);
	folio_ref_add(folio, nr);
	if (!folio_test_anon(folio)) {
		folio_dup_file_rmap_ptes(folio, page, nr);
	} else if (folio_try_dup_anon_rmap_ptes(folio, page, nr, c->src_vma)) {
		folio_put_refs(folio, nr);
		err = copy_present_page(c, page);
		return err ? err : 1;
	} else {
		atomic64_add(nr, &c->dst_vma->vm_mm->rss_pages);
	}
	copy_entries(c, nr);
	return nr;
}

/* Context: both tables are locked.  Return: 0, or why it ended early. */
static int copy_locked_ptes(struct pte_copy *c)
{
	while (c->addr < c->end) {
		pte_t pte = ptep_get(c->src);
		int nr = 1;

		if (pte_present(pte))
			nr = copy_present_ptes(c, pte);
		else if (!pte_none(pte))
			copy_nonpresent_pte(c, pte);
		if (nr < 0)
			return nr;
		c->addr += nr * PAGE_SIZE;
		c->src += nr;
		c->dst += nr;
	}
	return 0;
}

/* Both are tables, and stay so: nobody else has mmap_lock. */
static int copy_some_ptes(struct pte_copy *c)
{
	pte_t *dst = pte_offset_map(c->dst_pmd, c->addr);
	pte_t *src = pte_offset_map(c->src_pmd, c->addr);
	spinlock_t *dst_ptl = &virt_to_page(dst)->ptl;
	spinlock_t *src_ptl = &virt_to_page(src)->ptl;
	int err;

	c->dst = dst;
	c->src = src;
	spin_lock(dst_ptl);
	spin_lock_nested(src_ptl, SUBCLASS_NESTED);
	err = copy_locked_ptes(c);
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	pte_unmap(src);
	pte_unmap(dst);
	return err;
}

static int copy_pte_range(struct pte_copy *c)
{
	int err;

	if (pte_alloc(c->dst_vma->vm_mm, c->dst_pmd))
		return -ENOMEM;
	/* Memory is not allocated with the tables locked. */
	while ((err = copy_some_ptes(c)) == -EAGAIN) {
		c->prealloc = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
		if (!c->prealloc)
			return -ENOMEM;
	}
	if (c->prealloc)
		folio_put(c->prealloc);
	return err;
}

/* ---- areas --------------------------------------------------------------- */

/* The part of the area that one PMD entry covers. */
static int copy_pmd_part(struct vm_area_struct *dst_vma,
			 struct vm_area_struct *src_vma, pmd_t *src_pmd,
			 pf_addr_t addr, pf_addr_t end)
{
	struct pte_copy c = {
		.dst_vma = dst_vma, .src_vma = src_vma, .src_pmd = src_pmd,
		.addr = addr, .end = end,
	};
	int err;

	if (pmd_none(pmdp_get(src_pmd)))
		return 0;
	c.dst_pmd = mm_alloc_pmd(dst_vma->vm_mm, addr);
	if (!c.dst_pmd)
		return -ENOMEM;
	if (pmd_trans_huge(pmdp_get(src_pmd))) {
		err = copy_huge_pmd(c.dst_pmd, src_pmd, addr, dst_vma, src_vma);
		if (err != -EAGAIN)
			return err;
	}
	return pmd_is_table(pmdp_get(src_pmd)) ? copy_pte_range(&c) : 0;
}

static int copy_tables(struct vm_area_struct *dst_vma,
		       struct vm_area_struct *src_vma)
{
	pf_addr_t addr = src_vma->vm_start, end = src_vma->vm_end, next;
	int err = 0;

	if (is_vm_hugetlb_page(src_vma))
		return copy_hugetlb_page_range(dst_vma, src_vma);
	for (; addr < end && !err; addr = next) {
		pmd_t *src_pmd = mm_find_pmd(src_vma->vm_mm, addr);

		if (!src_pmd) {
			next = pud_addr_end(addr, end);
			continue;
		}
		next = pmd_addr_end(addr, end);
		err = copy_pmd_part(dst_vma, src_vma, src_pmd, addr, next);
	}
	return err;
}

/*
 * Where there are no pages of the area's own, nothing is lost if the child
 * faults them in again.
 */
static bool vma_needs_copy(struct vm_area_struct *dst_vma,
			   struct vm_area_struct *src_vma)
{
	return userfaultfd_wp(dst_vma) ||
	       (src_vma->vm_flags & (VM_PFNMAP | VM_MIXEDMAP)) ||
	       READ_ONCE(src_vma->anon_vma);
}

static int copy_page_range(struct vm_area_struct *dst_vma,
			   struct vm_area_struct *src_vma)
{
	struct mm_struct *src_mm = src_vma->vm_mm;
	const bool cow = is_cow_mapping(src_vma->vm_flags);
	int err;

	if (!vma_needs_copy(dst_vma, src_vma))
		return 0;
	if (cow)
		raw_write_seqcount_begin(&src_mm->write_protect_seq);
	err = copy_tables(dst_vma, src_vma);
	if (cow)
		raw_write_seqcount_end(&src_mm->write_protect_seq);
	return err ? -ENOMEM : 0;
}

/* The child's area.  Nobody serves its userfaults, and it locks nothing. */
static struct vm_area_struct *vm_area_dup(struct mm_struct *mm,
					  struct vm_area_struct *src)
{
	const vm_flags_t flags = src->vm_flags & ~(VM_LOCKED_MASK |
						   VM_UFFD_MISSING |
						   VM_UFFD_WP);
	struct vm_area_struct *vma = vm_area_alloc(mm, src->vm_start,
						   src->vm_end, flags);

	if (!vma)
		return NULL;
	vma->vm_pgoff = src->vm_pgoff;
	vma->vm_ops = src->vm_ops;
	vma_set_file(vma, src->vm_file);
	vma->hstate = src->hstate;
	/* What is reserved is the parent's; what it lost, both lost. */
	vma->resv_unmapped = READ_ONCE(src->resv_unmapped);
	vma_link(mm, vma);
	return vma;
}

static int dup_vma(struct mm_struct *mm, struct vm_area_struct *src)
{
	struct vm_area_struct *vma = vm_area_dup(mm, src);
	int err;

	if (!vma)
		return -ENOMEM;
	if (src->vm_flags & VM_WIPEONFORK)
		return 0;
	vma_rmap_lock(vma);
	anon_vma_clone(vma, src);
	__link_file_vma(vma);
	err = copy_page_range(vma, src);
	vma_rmap_unlock(vma);
	return err;
}

static int dup_mmap(struct mm_struct *mm, struct mm_struct *oldmm)
{
	struct vm_area_struct *vma;
	int err = 0;

	if (mmap_write_lock_killable(oldmm))
		return -EINTR;
	/* Nobody knows the child yet: its lock is held for what checks it. */
	down_write_nested(&mm->mmap_lock, SUBCLASS_NESTED);
	for (vma = vma_first(oldmm); vma && !err; vma = vma_next(vma)) {
		if (vma->vm_flags & VM_DONTCOPY)
			continue;
		err = fatal_signal_pending(current) ? -EINTR : dup_vma(mm, vma);
	}
	mmap_write_unlock(mm);
	mmap_write_unlock(oldmm);
	return err;
}

int dup_mm(struct mm_struct *oldmm, struct mm_struct **out)
{
	struct mm_struct *mm = mm_alloc(oldmm->machine, oldmm->anon_vma);
	int err;

	if (!mm)
		return fail(-ENOMEM, "no memory for an address space", 0, 0, 0);
	mm->mmap_base = oldmm->mmap_base;
	err = dup_mmap(mm, oldmm);
	if (err) {
		mm_destroy(mm);
		return fail(err, err == -EINTR ?
			    "killed while copying an address space" :
			    "no memory to copy an address space", 0, 0, 0);
	}
	*out = mm;
	return 0;
}
