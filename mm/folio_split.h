/* SPDX-License-Identifier: MIT */
/*
 * Splitting a folio into smaller ones.
 *
 * Source: mm/huge_memory.c:split_huge_page_to_list_to_order()
 */
#ifndef MM_FOLIO_SPLIT_H
#define MM_FOLIO_SPLIT_H

#include "mm/mm.h"

/*
 * split_folio_to_order() - make folios of @new_order out of a larger one
 *
 * Entries that mapped it by a leaf map its pages by PTEs afterwards, also after
 * a failure.  Pages that nothing maps are freed; of those split to order 0,
 * pages of zeroes give way to the zero page, except in locked areas.
 *
 * A folio of a page cache becomes several there, with its marks; it is not to be
 * mapped.
 *
 * Context: the caller has @folio locked and holds one reference, both of which
 * it keeps, on what then is the first part; takes the anon_vma's lock, or xa_lock.
 * Return: 0; -EAGAIN (somebody else has it got, pinned, mapped or isolated);
 * -EBUSY (the huge zero folio; an anonymous one that nothing maps; one of a page
 * cache that is mapped or under writeback); -EINVAL (not large, in no cache, or
 * an order that does not suit); -ENOMEM (a node of the index).
 * Source: mm/huge_memory.c:split_huge_page_to_list_to_order()
 */
int __must_check split_folio_to_order(struct folio *folio,
				      unsigned int new_order);

/*
 * split_huge_pages_in_range() - split what [start, end) maps
 *
 * Return: folios split; -EAGAIN if there are some, all of them in use; -EINTR.
 * Context: takes mmap_lock for read.
 * Source: mm/huge_memory.c:split_huge_pages_pid()
 * Differs: the result, which Linux only logs.
 */
long split_huge_pages_in_range(struct mm_struct *mm, pf_addr_t start,
			       pf_addr_t end, unsigned int new_order);

#endif
