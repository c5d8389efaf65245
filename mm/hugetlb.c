/* SPDX-License-Identifier: MIT */
/*
 * Faults, and the leaves of hugetlb areas.
 *
 * 1. AnonExclusive of the head page speaks for the whole page.
 * 2. The entry of a place appears, goes, or changes its page under the place's
 *    lock, so that a reservation and what became of it change together.
 *    Relatives share the lock of a place, and so do all areas of a file: who maps
 *    a page changes under it too.  Three need it not:
 *    - fork works with the locks of the area's trees held,
 *    - so does who takes a page away from a relative,
 *    - truncation takes entries away above the size, where nothing comes again;
 *      so what was seen of an entry is looked at again under its table's lock.
 * 3. A place above the size of the file is empty once truncation has passed: the
 *    size is looked at with the place locked, and truncation waits for those
 *    who may have seen the old one.
 *
 * Locks: the place's lock (machine->hugetlb_fault), then what hugetlb_pool.c and
 * hugetlbfs.c take; the locks of the area's trees; page-table lock.
 * Source: mm/hugetlb.c
 */
#include "mm/hugetlb_internal.h"

#include "mm/fs.h"
#include "mm/huge_memory.h"
#include "mm/interval_tree.h"
#include "mm/rmap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <string.h>

/* ---- places ----------------------------------------------------------- */

struct rw_semaphore *hugetlb_lock_place(struct hstate *h, const void *owner,
					pgoff_t index)
{
	u64 nr = (index >> h->order) + (uintptr_t)owner / 64;
	struct rw_semaphore *lock =
		&current->machine->hugetlb_fault[nr % HUGETLB_FAULT_LOCKS];

	down_write(lock);
	return lock;
}

void hugetlb_wait_for_faults(void)
{
	for (unsigned int i = 0; i < HUGETLB_FAULT_LOCKS; i++) {
		down_write(&current->machine->hugetlb_fault[i]);
		up_write(&current->machine->hugetlb_fault[i]);
	}
}

/* What is private to a family, and what a file's areas share, meet here. */
static struct rw_semaphore *lock_place(struct vm_area_struct *vma,
				       pf_addr_t address)
{
	const void *owner = vma->vm_mm->anon_vma;

	if (vma->vm_file)
		owner = vma->vm_file->f_mapping;
	return hugetlb_lock_place(hstate_vma(vma), owner,
				  linear_page_index(vma, address));
}

/* ---- leaves ----------------------------------------------------------- */

pmd_t *hugetlb_find_leaf(struct vm_area_struct *vma, pf_addr_t address)
{
	if (hstate_vma(vma)->order == HPAGE_PUD_ORDER)
		return (pmd_t *)mm_find_pud(vma->vm_mm, address);
	return mm_find_pmd(vma->vm_mm, address);
}

pmd_t *hugetlb_alloc_leaf(struct vm_area_struct *vma, pf_addr_t address)
{
	if (hstate_vma(vma)->order == HPAGE_PUD_ORDER)
		return (pmd_t *)mm_alloc_pud(vma->vm_mm, address);
	return mm_alloc_pmd(vma->vm_mm, address);
}

/* A page of the area's own.  The leaf is empty while the place is locked. */
static vm_fault_t map_new_page(struct vm_area_struct *vma, pmd_t *leaf,
			       pf_addr_t address, bool write)
{
	struct folio *folio;
	spinlock_t *ptl;

	anon_vma_prepare(vma);
	folio = alloc_hugetlb_folio(vma, address);
	/* An empty pool is a bus error, not a lack of memory. */
	if (!folio)
		return VM_FAULT_SIGBUS;
	if (!page_machine(&folio->page)->metadata_only)
		memset(page_address(&folio->page), 0,
		       huge_page_size(hstate_vma(vma)));
	__folio_set_uptodate(folio);
	ptl = hugetlb_leaf_lock(leaf);
	hugetlb_add_new_anon_rmap(folio, vma, address);
	set_pmd_at(vma->vm_mm, address, leaf,
		   hugetlb_new_leaf(vma, folio, write));
	spin_unlock(ptl);
	return 0;
}

/*
 * The file's page, locked: while it is, and the place is, it stays in the file.
 * Where a private area may be written it is mapped read-only first.
 */
static vm_fault_t map_file_page(struct vm_area_struct *vma, pmd_t *leaf,
				pf_addr_t address, bool write,
				struct folio *folio)
{
	const bool shared = vma->vm_flags & VM_SHARED;
	spinlock_t *ptl;

	/* The head's bit stands for all of it, as in Linux. */
	if (unlikely(PageHWPoison(&folio->page))) {
		folio_unlock(folio);
		folio_put(folio);
		return VM_FAULT_HWPOISON;
	}
	ptl = hugetlb_leaf_lock(leaf);
	/* The reference is the mapping's from now on. */
	hugetlb_add_file_rmap(folio);
	set_pmd_at(vma->vm_mm, address, leaf,
		   hugetlb_new_leaf(vma, folio,
				    shared && (vma->vm_flags & VM_WRITE)));
	spin_unlock(ptl);
	folio_unlock(folio);
	return write && !shared ? hugetlb_wp(vma, leaf, address, false) : 0;
}

static vm_fault_t hugetlb_no_page(struct vm_area_struct *vma, pmd_t *leaf,
				  pf_addr_t address, bool write)
{
	struct folio *folio;
	struct inode *inode;
	int err = 0;

	/* A new page would look as if the bytes of the old one were lost. */
	if (READ_ONCE(vma->resv_unmapped) ||
	    hugetlbfs_above_size(vma, address))
		return VM_FAULT_SIGBUS;
	if (!vma->vm_file)
		return map_new_page(vma, leaf, address, write);
	inode = file_inode(vma->vm_file);
	folio = filemap_lock_folio(&inode->i_data,
				   linear_page_index(vma, address));
	if (IS_ERR(folio)) {
		if (!(vma->vm_flags & VM_MAYSHARE))
			return map_new_page(vma, leaf, address, write);
		err = hugetlbfs_add_folio(inode, linear_page_index(vma, address),
					  &folio);
	}
	if (err)
		return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	return map_file_page(vma, leaf, address, write, folio);
}

/* The leaf was there, and allowed what is wanted: it has been used. */
static void hugetlb_touch(struct vm_area_struct *vma, pmd_t *leaf,
			  pf_addr_t address, bool write)
{
	spinlock_t *ptl = hugetlb_leaf_lock(leaf);

	if (pmd_leaf(pmdp_get(leaf)))
		touch_pmd(vma, address, leaf, write);
	spin_unlock(ptl);
}

static bool wants_userfault(struct vm_area_struct *vma, pmd_t entry)
{
	return !pmd_write(entry) && userfaultfd_huge_pmd_wp(vma, entry) &&
	       !userfaultfd_wp_async(vma);
}

vm_fault_t hugetlb_fault(struct vm_area_struct *vma, pf_addr_t address,
			 unsigned int flags)
{
	const bool write = flags & FAULT_FLAG_WRITE;
	const bool unshare = flags & FAULT_FLAG_UNSHARE;
	struct rw_semaphore *place;
	bool userfault = false;
	vm_fault_t ret = 0;
	pmd_t *leaf, entry;

	address = ALIGN_DOWN(address, huge_page_size(hstate_vma(vma)));
	leaf = hugetlb_alloc_leaf(vma, address);
	if (!leaf)
		return VM_FAULT_OOM;
	place = lock_place(vma, address);
	entry = pmdp_get(leaf);
	if (pmd_none(entry))
		ret = hugetlb_no_page(vma, leaf, address, write);
	else if (write && wants_userfault(vma, entry))
		userfault = true;
	else if ((write || unshare) && !pmd_write(entry))
		ret = hugetlb_wp(vma, leaf, address, unshare);
	else
		hugetlb_touch(vma, leaf, address, write);
	up_write(place);
	/* Without the place's lock: it may wait for long. */
	return userfault ? handle_userfault(&(struct vm_fault){
		.vma = vma, .address = address, .flags = flags }) : ret;
}

/* hugetlb areas have a fault handler of their own; nobody calls this one. */
static vm_fault_t hugetlb_vm_op_fault(struct vm_fault *vmf __maybe_unused)
{
	BUG();
}

const struct vm_operations_struct hugetlb_vm_ops = {
	.fault = hugetlb_vm_op_fault,
};

/* @only: nothing happens if it maps another */
static void unmap_place(struct vm_area_struct *vma, pf_addr_t address,
			const struct folio *only)
{
	pmd_t *leaf = hugetlb_find_leaf(vma, address);
	struct folio *folio = NULL;
	spinlock_t *ptl;

	if (!leaf || pmd_none(pmdp_get(leaf)))
		return;
	ptl = hugetlb_leaf_lock(leaf);
	if (only ? hugetlb_maps(leaf, only) : pmd_leaf(pmdp_get(leaf))) {
		pmd_t entry = pmdp_huge_get_and_clear(vma->vm_mm, address,
						      leaf);

		folio = page_folio(pmd_page(entry));
		atomic_dec(&folio->_mapcount);
	}
	spin_unlock(ptl);
	if (folio)
		hugetlb_put_mapped(vma, address, folio);
}

void hugetlb_unmap(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (; start < end; start += size) {
		struct rw_semaphore *place = lock_place(vma, start);

		unmap_place(vma, start, NULL);
		up_write(place);
	}
}

struct unmap_range {
	pgoff_t first, last;
	const struct folio *only;
};

static bool unmap_in_vma(void *arg, struct vm_area_struct *vma)
{
	const pgoff_t step = (pgoff_t)1 << hstate_vma(vma)->order;
	const struct unmap_range *u = arg;
	pgoff_t at = max(u->first, vma->vm_pgoff);
	pgoff_t last = min(u->last, vma->vm_pgoff + vma_pages(vma) - 1);

	for (; at <= last; at += step)
		unmap_place(vma, vma->vm_start +
				 ((at - vma->vm_pgoff) << PAGE_SHIFT),
			    u->only);
	return true;
}

void hugetlb_unmap_mapping(struct address_space *mapping, pgoff_t first,
			   pgoff_t last, struct folio *only)
{
	struct unmap_range u = { first, last, only };

	i_mmap_lock_read(mapping);
	interval_tree_walk(&mapping->i_mmap, first, last, unmap_in_vma, &u);
	i_mmap_unlock_read(mapping);
}

void hugetlb_change_protection(struct vm_area_struct *vma, pf_addr_t start,
			       pf_addr_t end)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (pf_addr_t at = start; at < end; at += size) {
		pmd_t *leaf = hugetlb_find_leaf(vma, at), entry;
		spinlock_t *ptl;

		if (!leaf)
			continue;
		ptl = hugetlb_leaf_lock(leaf);
		entry = pmdp_get(leaf);
		if (pmd_leaf(entry))
			set_pmd_at(vma->vm_mm, at, leaf,
				   pmd_modify(entry, vma->vm_page_prot));
		spin_unlock(ptl);
	}
}

void hugetlb_wp_range(struct vm_area_struct *vma, pf_addr_t start,
		      pf_addr_t end, bool on)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (pf_addr_t at = start; at < end; at += size) {
		/* No copy of the page is under way meanwhile. */
		struct rw_semaphore *place = lock_place(vma, at);
		pmd_t *leaf = hugetlb_find_leaf(vma, at), entry;
		spinlock_t *ptl;

		if (leaf) {
			ptl = hugetlb_leaf_lock(leaf);
			entry = pmdp_get(leaf);
			if (pmd_leaf(entry))
				set_pmd_at(vma->vm_mm, at, leaf, on ?
					pmd_mkuffd_wp(pmd_wrprotect(entry)) :
					pmd_clear_uffd_wp(entry));
			spin_unlock(ptl);
		}
		up_write(place);
	}
}

static void move_leaf(struct mm_struct *mm, pmd_t *from, pmd_t *to,
		      pf_addr_t new)
{
	spinlock_t *a = hugetlb_leaf_lockptr(from);
	spinlock_t *b = hugetlb_leaf_lockptr(to);
	pmd_t entry;

	spin_lock_two(a, b);
	if (pmd_leaf(pmdp_get(from))) {
		entry = pmdp_huge_get_and_clear(mm, 0, from);
		set_pmd_at(mm, new, to, pmd_mksoft_dirty(entry));
	}
	spin_unlock_two(a, b);
}

int hugetlb_move(struct vm_area_struct *from, struct vm_area_struct *to,
		 pf_addr_t old, pf_addr_t new, u64 length)
{
	const u64 size = huge_page_size(hstate_vma(from));

	/* All tables first: then nothing can go wrong half-way. */
	for (u64 done = 0; done < length; done += size)
		if (hugetlb_find_leaf(from, old + done) &&
		    !hugetlb_alloc_leaf(to, new + done))
			return -ENOMEM;
	/* The entries move at once for a walk from a folio. */
	vma_rmap_lock(from);
	for (u64 done = 0; done < length; done += size) {
		pmd_t *leaf = hugetlb_find_leaf(from, old + done);

		if (leaf)
			move_leaf(from->vm_mm, leaf,
				  hugetlb_find_leaf(to, new + done),
				  new + done);
	}
	vma_rmap_unlock(from);
	return 0;
}
