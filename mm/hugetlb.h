/* SPDX-License-Identifier: MIT */
/*
 * hugetlb: pools of 2 MiB and 1 GiB pages, the areas that map them, and files of
 * them.
 *
 * A private area reserves, when it is made, one page of its pool for each place;
 * a fault takes the place's reservation.  A page that is dropped and comes back
 * to the pool at once brings it back; if pins keep the page, the place goes on
 * without.  What is left of the reservations returns with the area.
 *
 * What a shared area reserves is its file's, for whoever comes there first; what
 * is left of it returns when the place is truncated, or with the file.
 *
 * Leaves are PMDs (2 MiB) or PUDs (1 GiB), without a deposited table: they are
 * never split, and areas are cut at multiples of the page size only.
 *
 * Differs: reservations of a private area are a bitmap of it as it was mapped,
 *          shared by its pieces; pools do not grow (no surplus pages); private
 *          anonymous areas have no file.
 * Source: mm/hugetlb.c, include/linux/hugetlb.h
 */
#ifndef MM_HUGETLB_H
#define MM_HUGETLB_H

#include "mm/fs.h"
#include "mm/mm.h"

struct hugetlb_resv;

static inline unsigned int huge_page_order(const struct hstate *h)
{
	return h->order;
}

static inline unsigned int huge_page_shift(const struct hstate *h)
{
	return h->order + PAGE_SHIFT;
}

static inline u64 huge_page_size(const struct hstate *h)
{
	return PAGE_SIZE << h->order;
}

static inline struct hstate *hstate_vma(const struct vm_area_struct *vma)
{
	return vma->hstate;
}

/* hugetlb_init() - fill the pools of a new machine; -ENOMEM if they do not fit */
int __must_check hugetlb_init(struct machine *machine,
			      const struct machine_options *options,
			      pf_pfn_t gigantic_pfn);

/*
 * hugetlb_reserve() - the right to one page for each place of a new area
 *
 * With VM_NORESERVE it gets none.
 * Return: 0; -ENOMEM if the pool has not as many that nobody has a right to.
 * Owner: the area, whose hugetlb_close() gives them back; if it is shared, its
 * file.
 */
int __must_check hugetlb_reserve(struct vm_area_struct *vma, struct hstate *h);
/* hugetlb_reserved() - how many places of a private area still have the right */
unsigned long hugetlb_reserved(const struct vm_area_struct *vma);
/* hugetlb_share() - @upper was cut from @vma */
void hugetlb_share(struct vm_area_struct *upper, struct vm_area_struct *vma);
/* hugetlb_drop_share() - another area took over the reservations of @vma */
void hugetlb_drop_share(struct vm_area_struct *vma);
/*
 * hugetlb_close() - the area is going; its pages are unmapped already
 *
 * Context: nothing finds the area any more.
 */
void hugetlb_close(struct vm_area_struct *vma);

/* hugetlb_aligned() - may a huge page of the area begin at @address? */
static inline bool hugetlb_aligned(const struct vm_area_struct *vma,
				   pf_addr_t address)
{
	return IS_ALIGNED(address, huge_page_size(hstate_vma(vma)));
}

/*
 * hugetlb_find_leaf() - the entry of @address, or NULL without a table
 *
 * PMD and PUD leaves have the same bits, so one type serves both.
 */
pmd_t *hugetlb_find_leaf(struct vm_area_struct *vma, pf_addr_t address);

vm_fault_t hugetlb_fault(struct vm_area_struct *vma, pf_addr_t address,
			 unsigned int flags);
/* The following take ranges of whole huge pages. */
void hugetlb_unmap(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end);
void hugetlb_change_protection(struct vm_area_struct *vma, pf_addr_t start,
			       pf_addr_t end);
/* hugetlb_wp_range() - write-protect for userfaultfd, or end that */
void hugetlb_wp_range(struct vm_area_struct *vma, pf_addr_t start,
		      pf_addr_t end, bool on);
/* Return: 0, or -ENOMEM after moving nothing. */
int __must_check hugetlb_move(struct vm_area_struct *from,
			      struct vm_area_struct *to, pf_addr_t old,
			      pf_addr_t new, u64 length);

/*
 * copy_hugetlb_page_range() - fork's part of a whole area
 *
 * A page that may be pinned is copied, without a reservation.
 * Return: 0; -ENOMEM, also for an empty pool or a poisoned page.
 * Context: mmap_lock of both and the anon_vma's lock for write;
 * write_protect_seq of the source.
 * Source: mm/hugetlb.c:copy_hugetlb_page_range()
 */
int __must_check copy_hugetlb_page_range(struct vm_area_struct *dst_vma,
					 struct vm_area_struct *src_vma);

/* free_huge_folio() - the last reference is gone: back to the pool */
void free_huge_folio(struct folio *folio);

/*
 * isolate_hugetlb() - take a page in use off its pool's list, for migration
 *
 * Return: true, and a reference is held; false if somebody else has it.
 */
bool __must_check isolate_hugetlb(struct folio *folio, struct list_head *list);
void folio_putback_hugetlb(struct folio *folio);

extern const struct vm_operations_struct hugetlb_vm_ops;

/* ---- files (hugetlbfs.c) ---------------------------------------------- */

/*
 * hugetlb_file_setup() - a file of @size bytes of zeroes, no page yet
 * @seals: it may be sealed
 *
 * Return: 0; -EINVAL, @size is not whole huge pages, or above 2^63 - 1; -ENOMEM.
 * Owner: the caller, who calls fput().
 * Source: fs/hugetlbfs/inode.c:hugetlb_file_setup()
 */
int __must_check hugetlb_file_setup(struct hstate *h, u64 size, bool seals,
				    struct file **file);

/* hugetlbfs_hstate() - the pool of a hugetlb file's pages */
struct hstate *hugetlbfs_hstate(struct inode *inode);

/* hstate_file() - the same; NULL if it is of another kind */
static inline struct hstate *hstate_file(const struct file *file)
{
	return mapping_hugetlb(file->f_mapping) ?
	       hugetlbfs_hstate(file_inode(file)) : NULL;
}

/*
 * hugetlbfs_get_folio() - the page at @index, which is added if it is missing
 * @folio: locked, with a reference
 *
 * Return: 0; -ERANGE, it lies above the size; -ENOSPC, the pool is empty, or all
 * is promised to others; -ENOMEM.
 */
int __must_check hugetlbfs_get_folio(struct inode *inode, pgoff_t index,
				     struct folio **folio);

/*
 * hugetlbfs_pagecache_present() - has the file of the area a page for @address?
 *
 * Source: mm/hugetlb.c:hugetlbfs_pagecache_present()
 */
bool hugetlbfs_pagecache_present(struct vm_area_struct *vma, pf_addr_t address);

/* hugetlbfs_reserved() - pages that the pool keeps for the file; all is quiet */
unsigned long hugetlbfs_reserved(struct inode *inode);

#endif
