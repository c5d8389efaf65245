/* SPDX-License-Identifier: MIT */
/*
 * Pages of a pool that several address spaces map: fork, and copy-on-write.
 *
 * 1. AnonExclusive of the head page speaks for the whole page; a page that is
 *    shared is exclusive nowhere, and writable nowhere.
 * 2. The last mapping reuses the page, whoever else has references.  A file's
 *    page is copied by a private area that writes to it, always.
 * 3. Who has reserved the place gets a page to write to even if the pool is
 *    empty: its relatives lose theirs, and get a bus error at the next touch.
 *
 * Locks: the place's lock for faults, the locks of the area's trees for fork, the
 * anon_vma's for taking pages away; page-table lock inside.  Truncation holds none
 * but the last two, so an entry is looked at again.
 * Source: mm/hugetlb.c
 */
#include "mm/hugetlb_internal.h"

#include "mm/rmap.h"

#include <errno.h>
#include <string.h>

/* ---- faults ------------------------------------------------------------ */

/* Return: false if a page of it is poisoned. */
static bool copy_huge(struct folio *to, struct folio *from)
{
	for (long i = 0; i < folio_nr_pages(from); i++)
		if (unlikely(PageHWPoison(folio_page(from, i))))
			return false;
	if (!page_machine(&to->page)->metadata_only)
		memcpy(page_address(&to->page), page_address(&from->page),
		       PAGE_SIZE << to->order);
	__folio_set_uptodate(to);
	return true;
}

static vm_fault_t hugetlb_reuse(struct vm_area_struct *vma, pmd_t *leaf,
				struct folio *folio, pf_addr_t address,
				bool unshare)
{
	spinlock_t *ptl = hugetlb_leaf_lock(leaf);
	pmd_t entry = pmdp_get(leaf);

	if (unlikely(!hugetlb_maps(leaf, folio)))
		goto out_unlock;
	if (folio_test_anon(folio))
		SetPageAnonExclusive(&folio->page);
	if (!unshare) {
		entry = pmd_mkdirty(pmd_mkyoung(pmd_clear_uffd_wp(entry)));
		set_pmd_at(vma->vm_mm, address, leaf,
			   maybe_pmd_mkwrite(entry, vma));
	}
out_unlock:
	spin_unlock(ptl);
	return 0;
}

/* A relative's area that maps the page without a right to it loses it. */
static bool unmap_ref(struct folio *folio, struct vm_area_struct *vma,
		      pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);

	if (vma == arg || vma->resv || !page_vma_mapped_walk(&pvmw))
		return true;
	pmd_clear(pvmw.pmd);
	atomic_dec(&folio->_mapcount);
	page_vma_mapped_walk_done(&pvmw);
	WRITE_ONCE(vma->resv_unmapped, true);
	/* Not the last: the owner's mapping has one, too. */
	folio_put(folio);
	return true;
}

/*
 * The pool is empty, and this address space, which was promised the page,
 * cannot copy it: its relatives lose theirs.
 *
 * The lock is taken for write, since fork copies entries without the place's.
 * Source: mm/hugetlb.c:unmap_ref_private()
 */
static void unmap_ref_private(struct vm_area_struct *vma, struct folio *folio)
{
	struct rmap_walk_control rwc = { .arg = vma, .rmap_one = unmap_ref };
	struct anon_vma *anon_vma = vma->vm_mm->anon_vma;

	anon_vma_lock_write(anon_vma);
	rmap_walk_locked(folio, &rwc);
	anon_vma_unlock_write(anon_vma);
}

/* The pool has no page for a copy: only the last mapping goes on. */
static vm_fault_t hugetlb_no_copy(struct vm_area_struct *vma, pmd_t *leaf,
				  struct folio *old, pf_addr_t address,
				  bool unshare)
{
	/* A page of the file's is nobody's to be taken away. */
	if (!folio_test_anon(old))
		return VM_FAULT_SIGBUS;
	if (vma->resv)
		unmap_ref_private(vma, old);
	return folio_mapcount(old) > 1 ? VM_FAULT_SIGBUS :
	       hugetlb_reuse(vma, leaf, old, address, unshare);
}

static vm_fault_t hugetlb_copy(struct vm_area_struct *vma, pmd_t *leaf,
			       struct folio *old, pf_addr_t address,
			       bool unshare)
{
	struct folio *new = alloc_hugetlb_folio(vma, address);
	spinlock_t *ptl;
	pmd_t entry;

	if (!new)
		return hugetlb_no_copy(vma, leaf, old, address, unshare);
	if (!copy_huge(new, old)) {
		folio_put(new);
		return VM_FAULT_HWPOISON;
	}
	anon_vma_prepare(vma);
	ptl = hugetlb_leaf_lock(leaf);
	if (unlikely(!hugetlb_maps(leaf, old))) {
		spin_unlock(ptl);
		hugetlb_put_own(vma, address, new);
		return 0;
	}
	hugetlb_add_new_anon_rmap(new, vma, address);
	entry = hugetlb_new_leaf(vma, new, !unshare);
	if (unshare && pmd_uffd_wp(pmdp_get(leaf)))
		entry = pmd_mkuffd_wp(entry);
	set_pmd_at(vma->vm_mm, address, leaf, entry);
	atomic_dec(&old->_mapcount);
	spin_unlock(ptl);
	folio_put(old);
	return 0;
}

/* Truncation may be faster: NULL. */
static struct folio *get_leaf_folio(pmd_t *leaf)
{
	spinlock_t *ptl = hugetlb_leaf_lock(leaf);
	pmd_t entry = pmdp_get(leaf);
	struct folio *folio = NULL;

	if (pmd_leaf(entry)) {
		folio = page_folio(pmd_page(entry));
		folio_get(folio);
	}
	spin_unlock(ptl);
	return folio;
}

static bool may_reuse(struct folio *folio)
{
	return folio_test_anon(folio) && (PageAnonExclusive(&folio->page) ||
					  folio_mapcount(folio) == 1);
}

/*
 * Write or unshare fault on a read-only leaf.  Who else has a reference is not
 * asked: the last mapping reuses the page.  Who maps it changes under the
 * place's lock, or, in fork, with this address space's mmap_lock held.
 */
vm_fault_t hugetlb_wp(struct vm_area_struct *vma, pmd_t *leaf,
		      pf_addr_t address, bool unshare)
{
	struct folio *folio = get_leaf_folio(leaf);
	vm_fault_t ret;

	if (!folio)
		return 0;
	if ((vma->vm_flags & VM_MAYSHARE) || may_reuse(folio))
		ret = hugetlb_reuse(vma, leaf, folio, address, unshare);
	else
		ret = hugetlb_copy(vma, leaf, folio, address, unshare);
	folio_put(folio);
	return ret;
}

/* ---- fork -------------------------------------------------------------- */

/* The child's own page for one that has to stay the parent's. */
static int copy_leaf_page(struct vm_area_struct *dst_vma, pmd_t *dst,
			  struct folio *old, pf_addr_t address)
{
	struct folio *new = alloc_hugetlb_folio(dst_vma, address);
	spinlock_t *ptl;

	if (!new)
		return -ENOMEM;
	if (!copy_huge(new, old)) {
		folio_put(new);
		return -ENOMEM;
	}
	ptl = hugetlb_leaf_lock(dst);
	hugetlb_add_new_anon_rmap(new, dst_vma, address);
	set_pmd_at(dst_vma->vm_mm, address, dst,
		   hugetlb_new_leaf(dst_vma, new, true));
	spin_unlock(ptl);
	return 0;
}

/* Return: false if the page may be pinned; nothing has changed then. */
static bool share_leaf(struct vm_area_struct *dst_vma, pmd_t *dst,
		       struct vm_area_struct *src_vma, pmd_t *src,
		       pf_addr_t address)
{
	spinlock_t *dst_ptl = hugetlb_leaf_lock(dst);
	spinlock_t *src_ptl = hugetlb_leaf_lockptr(src);
	struct folio *folio;
	bool shared;
	pmd_t entry;

	spin_lock_nested(src_ptl, SUBCLASS_NESTED);
	entry = pmdp_get(src);
	folio = page_folio(pmd_page(entry));
	shared = !folio_test_anon(folio) ||
		 !hugetlb_try_dup_anon_rmap(folio, src_vma);
	if (!folio_test_anon(folio))
		hugetlb_add_file_rmap(folio);
	if (shared) {
		folio_get(folio);
		if (is_cow_mapping(src_vma->vm_flags))
			entry = pmd_wrprotect(entry);
		set_pmd_at(src_vma->vm_mm, address, src, entry);
		if (!userfaultfd_wp(dst_vma))
			entry = pmd_clear_uffd_wp(entry);
		set_pmd_at(dst_vma->vm_mm, address, dst, entry);
	}
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	return shared;
}

int copy_hugetlb_page_range(struct vm_area_struct *dst_vma,
			    struct vm_area_struct *src_vma)
{
	const u64 size = huge_page_size(hstate_vma(src_vma));
	pf_addr_t at;
	int err = 0;

	for (at = src_vma->vm_start; !err && at < src_vma->vm_end; at += size) {
		pmd_t *src = hugetlb_find_leaf(src_vma, at), *dst;

		if (!src || !pmd_leaf(pmdp_get(src)))
			continue;
		dst = hugetlb_alloc_leaf(dst_vma, at);
		if (!dst)
			return -ENOMEM;
		/*
		 * Nobody else can change the entry between the two: faults of
		 * the parent wait for mmap_lock, relatives for the anon_vma's,
		 * truncation for the file's.
		 */
		if (!share_leaf(dst_vma, dst, src_vma, src, at))
			err = copy_leaf_page(dst_vma, dst,
					page_folio(pmd_page(pmdp_get(src))),
					at);
	}
	return err;
}
