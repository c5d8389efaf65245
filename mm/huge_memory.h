/* SPDX-License-Identifier: MIT */
/*
 * Transparent huge pages mapped by a PMD leaf.
 *
 * Source: mm/huge_memory.c
 */
#ifndef MM_HUGE_MEMORY_H
#define MM_HUGE_MEMORY_H

#include "mm/mm.h"

/*
 * thp_orders() - folio orders that a fault at @address may use
 *
 * The enabled orders of the area, less those whose naturally aligned range
 * around @address does not lie inside it.  Bit k stands for order k.
 * Source: include/linux/huge_mm.h:thp_vma_suitable_orders()
 */
unsigned long thp_orders(struct vm_area_struct *vma, pf_addr_t address);

/* thp_vma_suitable_order() - is the range around @address inside the area? */
bool thp_vma_suitable_order(struct vm_area_struct *vma, pf_addr_t address,
			    unsigned int order);

/*
 * thp_vma_allowable_order() - may the area have folios of @order by collapse?
 * @enforce: also ask what the machine has enabled
 *
 * Source: mm/huge_memory.c:__thp_vma_allowable_orders()
 */
bool thp_vma_allowable_order(struct vm_area_struct *vma, bool enforce,
			     unsigned int order);

/* VM_FAULT_FALLBACK: go on with small pages. */
vm_fault_t do_huge_pmd_anonymous_page(struct vm_fault *vmf);
vm_fault_t do_huge_pmd_wp_page(struct vm_fault *vmf);
vm_fault_t do_huge_pmd_numa_page(struct vm_fault *vmf);
void huge_pmd_set_accessed(struct vm_fault *vmf);

/*
 * split_huge_pmd() - replace a PMD leaf by a table that maps the same pages
 *
 * Exclusivity, dirty, young and write-protection carry over; the folio stays
 * whole.  Cannot fail: the table was deposited when the leaf was made.
 * Source: mm/huge_memory.c:__split_huge_pmd()
 */
void split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd, pf_addr_t address);
/* split_huge_pmd_at() - the leaf that @address lies inside of, if any */
void split_huge_pmd_at(struct vm_area_struct *vma, pf_addr_t address);

/* copy_huge_pmd() - fork's part of one leaf.  Source: mm/huge_memory.c */
int __must_check copy_huge_pmd(pmd_t *dst_pmd, pmd_t *src_pmd, pf_addr_t addr,
			       struct vm_area_struct *dst_vma,
			       struct vm_area_struct *src_vma);

/* zap_huge_pmd(), change_huge_pmd() - false if it is no leaf any more */
bool zap_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd);
bool change_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd, pgprot_t prot);

/*
 * pmd_upgrade_write() - the leaf, writable if a write fault would do no more
 *
 * Context: the pmd lock.
 * Source: mm/huge_memory.c:can_change_pmd_writable()
 */
pmd_t pmd_upgrade_write(struct vm_area_struct *vma, pmd_t leaf);

/* touch_pmd() - set young, and dirty for a write.  Context: the pmd lock. */
void touch_pmd(struct vm_area_struct *vma, pf_addr_t addr, pmd_t *pmd,
	       bool write);

static inline bool is_huge_zero_pmd(pmd_t pmd)
{
	struct folio *zero = READ_ONCE(current->machine->huge_zero_folio);

	return zero && pmd_leaf(pmd) && pmd_pfn(pmd) == folio_pfn(zero);
}

#endif
