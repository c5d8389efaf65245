/* SPDX-License-Identifier: MIT */
/*
 * What the parts of hugetlb share: pools, places, leaves, pages of files.
 *
 * PMD and PUD leaves have the same bits, so one pair of names serves both.
 */
#ifndef MM_HUGETLB_INTERNAL_H
#define MM_HUGETLB_INTERNAL_H

#include "mm/hugetlb.h"

/* ---- pools (hugetlb_pool.c) ------------------------------------------- */

/*
 * dequeue_hugetlb_folio() - take a free page, with or without a right to it
 *
 * Return: NULL if all that are left are promised to others.
 */
struct folio *dequeue_hugetlb_folio(struct hstate *h, bool reserved);

/*
 * hugetlb_acct_memory() - promise @delta more pages of the pool, or so many less
 *
 * Return: 0; -ENOMEM if there are not as many that nobody has a right to.
 * Source: mm/hugetlb.c:hugetlb_acct_memory()
 */
int __must_check hugetlb_acct_memory(struct hstate *h, long delta);

/*
 * hugetlb_put_reserved() - drop a reference; the last one brings back the promise
 *
 * Return: false if somebody else keeps the page; then there is none.
 */
bool hugetlb_put_reserved(struct folio *folio);

/*
 * hugetlb_put_mapped() - drop the reference of a mapping that is gone
 *
 * If it was the last of the area's own page, that and its reservation come back
 * together: what the place was promised cannot be taken by others.
 */
void hugetlb_put_mapped(struct vm_area_struct *vma, pf_addr_t address,
			struct folio *folio);
/* hugetlb_put_own() - the same, of a page that was for the area alone */
void hugetlb_put_own(struct vm_area_struct *vma, pf_addr_t address,
		     struct folio *folio);

/*
 * alloc_hugetlb_folio() - a page for a place, by its reservation if it has one
 *
 * Return: NULL for an empty pool, or one whose pages are all promised.
 */
struct folio *alloc_hugetlb_folio(struct vm_area_struct *vma,
				  pf_addr_t address);

/* ---- places and leaves (hugetlb.c) ------------------------------------ */

/*
 * hugetlb_lock_place() - one fault at a time: two would want the place's page, of
 * which the pool may have just the one
 * @owner: what all who share the place have in common
 *
 * Return: what up_write() takes.
 * Source: mm/hugetlb.c:hugetlb_fault_mutex_hash()
 */
struct rw_semaphore *hugetlb_lock_place(struct hstate *h, const void *owner,
					pgoff_t index);

/* hugetlb_wait_for_faults() - those who come see what was written before */
void hugetlb_wait_for_faults(void);

/*
 * hugetlb_unmap_mapping() - no entry maps these pages of a file any more
 * @only: the one folio that is meant; NULL: whatever is there, copies too
 *
 * Context: takes i_mmap_rwsem for read.  @only: the place's lock, which keeps it
 * from being mapped again; NULL: the range lies above the file's size.
 */
void hugetlb_unmap_mapping(struct address_space *mapping, pgoff_t first,
			   pgoff_t last, struct folio *only);

/* hugetlb_alloc_leaf() - hugetlb_find_leaf(), making what is missing */
pmd_t *hugetlb_alloc_leaf(struct vm_area_struct *vma, pf_addr_t address);

static inline spinlock_t *hugetlb_leaf_lockptr(pmd_t *leaf)
{
	return &virt_to_page(leaf)->ptl;
}

static inline spinlock_t *hugetlb_leaf_lock(pmd_t *leaf)
{
	spinlock_t *ptl = hugetlb_leaf_lockptr(leaf);

	spin_lock(ptl);
	return ptl;
}

static inline pmd_t hugetlb_new_leaf(struct vm_area_struct *vma,
				     struct folio *folio, bool writable)
{
	pmd_t entry = pmd_mkyoung(mk_pmd(&folio->page, vma->vm_page_prot));

	if (writable)
		entry = maybe_pmd_mkwrite(pmd_mkdirty(entry), vma);
	return pmd_mkhuge(entry);
}

/* hugetlb_maps() - is this still what the leaf maps?  Context: its lock */
static inline bool hugetlb_maps(pmd_t *leaf, const struct folio *folio)
{
	pmd_t entry = pmdp_get(leaf);

	return pmd_leaf(entry) && pmd_pfn(entry) == folio_pfn(folio);
}

/*
 * hugetlb_wp() - write or unshare fault on a read-only leaf
 *
 * Context: the place's lock, which nobody else can make the leaf go under.
 */
vm_fault_t hugetlb_wp(struct vm_area_struct *vma, pmd_t *leaf,
		      pf_addr_t address, bool unshare);

/* ---- pages of files (hugetlbfs.c) ------------------------------------- */

/*
 * hugetlbfs_reserve() - the right to a page for each place of a new shared area
 *
 * The file has it, not the area.
 * Return: 0; -ENOMEM, and nothing has changed.
 * Context: mmap_lock; takes i_rwsem.
 * Source: mm/hugetlb.c:hugetlb_reserve_pages()
 */
int __must_check hugetlbfs_reserve(struct vm_area_struct *vma);
/*
 * hugetlbfs_grow() - the file is to be as large as a new area, which may write
 *
 * Context: mmap_lock; takes i_rwsem.
 * Source: fs/hugetlbfs/inode.c:hugetlbfs_file_mmap()
 */
void hugetlbfs_grow(struct vm_area_struct *vma);

/*
 * hugetlbfs_add_folio() - a page of zeroes for a place that has none
 * @folio: locked, with a reference
 *
 * Return: 0; -ERANGE, it lies above the size; -ENOSPC, the pool is empty, or all
 * is promised to others; -ENOMEM.
 * Context: the place's lock.
 */
int __must_check hugetlbfs_add_folio(struct inode *inode, pgoff_t index,
				     struct folio **folio);

/* hugetlbfs_above_size() - does the place lie above the size of its file? */
static inline bool hugetlbfs_above_size(const struct vm_area_struct *vma,
					pf_addr_t address)
{
	return vma->vm_file && linear_page_index(vma, address) >=
			       i_size_pages(file_inode(vma->vm_file));
}

#endif
