/* SPDX-License-Identifier: MIT */
/*
 * Page tables: walking down, locking, making, freeing.
 *
 * Tables are frames of the machine in the hardware's format.  Entries above the
 * PTE level are published with release and read with acquire, so that whoever
 * sees a table sees it zeroed [pgtable-publish].
 *
 * Rules for callers: an entry changes only under its page-table lock (the lock
 * in the descriptor of the table it is in; mm->page_table_lock for tables that
 * PUD and PGD entries point to).
 * A table stays while mmap_lock is held or, inside pte_offset_map() ..
 * pte_unmap(), until the read section ends.
 *
 * Source: include/linux/pgtable.h, mm/pgtable-generic.c, mm/memory.c
 */
#ifndef MM_PGTABLE_H
#define MM_PGTABLE_H

#include "mm/folio.h"

/* table_of() - the host's view of a table of the current machine */
static inline void *table_of(pf_pfn_t pfn)
{
	return current->machine->arena + (pfn << PAGE_SHIFT);
}

/* [pgtable-publish] read the entry, then the table; paired with pmd_populate() */
static inline p4d_t p4dp_get(p4d_t *p4dp)
{
	return __p4d(smp_load_acquire(&p4dp->pgd.pgd));
}

static inline pud_t pudp_get(pud_t *pudp)
{
	return __pud(smp_load_acquire(&pudp->pud));
}

static inline pmd_t pmdp_get(pmd_t *pmdp)
{
	return __pmd(smp_load_acquire(&pmdp->pmd));
}

static inline pmd_t pmdp_get_lockless(pmd_t *pmdp)
{
	return pmdp_get(pmdp);
}

static inline pte_t ptep_get(pte_t *ptep)
{
	return __pte(READ_ONCE(ptep->pte));
}

/*
 * [pte-publish] the entry, then what its page holds and how it is marked; paired
 * with set_pte_at()
 */
static inline pte_t ptep_get_acquire(pte_t *ptep)
{
	return __pte(smp_load_acquire(&ptep->pte));
}

static inline pgd_t *pgd_offset(struct mm_struct *mm, pf_addr_t address)
{
	return mm->pgd + pgd_index(address);
}

static inline p4d_t *p4d_offset(pgd_t *pgd, pf_addr_t address __maybe_unused)
{
	return (p4d_t *)pgd;
}

static inline pud_t *pud_offset(p4d_t *p4d, pf_addr_t address)
{
	return (pud_t *)table_of(pgd_pfn(p4dp_get(p4d).pgd)) +
	       pud_index(address);
}

static inline pmd_t *pmd_offset(pud_t *pud, pf_addr_t address)
{
	return (pmd_t *)table_of(pud_pfn(pudp_get(pud))) + pmd_index(address);
}

/* x_offset_lockless() - below the entry that was read, whatever it is by now */
static inline pud_t *pud_offset_lockless(p4d_t *p4dp __maybe_unused, p4d_t p4d,
					 pf_addr_t address)
{
	return (pud_t *)table_of(pgd_pfn(p4d.pgd)) + pud_index(address);
}

static inline pmd_t *pmd_offset_lockless(pud_t *pudp __maybe_unused, pud_t pud,
					 pf_addr_t address)
{
	return (pmd_t *)table_of(pud_pfn(pud)) + pmd_index(address);
}

static inline struct page *pmd_page(pmd_t pmd)
{
	return pfn_to_page(pmd_pfn(pmd));
}

static inline struct page *pud_page(pud_t pud)
{
	return pfn_to_page(pud_pfn(pud));
}

static inline struct page *pte_page(pte_t pte)
{
	return pfn_to_page(pte_pfn(pte));
}

/* The lock of the table that a PMD entry is in. */
static inline spinlock_t *pmd_lockptr(struct mm_struct *mm __maybe_unused,
				      pmd_t *pmd)
{
	return &virt_to_page(pmd)->ptl;
}

static inline spinlock_t *pmd_lock(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *ptl = pmd_lockptr(mm, pmd);

	spin_lock(ptl);
	return ptl;
}

/* The lock of the PTE table that a PMD entry points to. */
static inline spinlock_t *pte_lockptr(struct mm_struct *mm __maybe_unused,
				      pmd_t pmd)
{
	return &pmd_page(pmd)->ptl;
}

static inline spinlock_t *pud_lock(struct mm_struct *mm __maybe_unused,
				   pud_t *pud)
{
	spinlock_t *ptl = &virt_to_page(pud)->ptl;

	spin_lock(ptl);
	return ptl;
}

/* Two tables, which may be one: the lower address first. */
static inline void spin_lock_two(spinlock_t *a, spinlock_t *b)
{
	if (a == b) {
		spin_lock(a);
		return;
	}
	spin_lock(a < b ? a : b);
	spin_lock_nested(a < b ? b : a, SUBCLASS_NESTED);
}

static inline void spin_unlock_two(spinlock_t *a, spinlock_t *b)
{
	spin_unlock(a);
	if (a != b)
		spin_unlock(b);
}

/* pmd_is_table() - does the entry point to a PTE table? */
static inline bool pmd_is_table(pmd_t pmd)
{
	return !pmd_none(pmd) && !pmd_leaf(pmd) && !pmd_bad(pmd);
}

/*
 * pte_offset_map() - the entry of @address, inside a read section
 *
 * Return: NULL if there is no PTE table (any more).  Otherwise the caller ends
 * with pte_unmap().
 */
static inline pte_t *pte_offset_map(pmd_t *pmd, pf_addr_t address)
{
	pmd_t entry;

	rcu_read_lock();
	entry = pmdp_get_lockless(pmd);
	if (unlikely(!pmd_is_table(entry))) {
		rcu_read_unlock();
		return NULL;
	}
	return (pte_t *)table_of(pmd_pfn(entry)) + pte_index(address);
}

static inline void pte_unmap(pte_t *pte __maybe_unused)
{
	rcu_read_unlock();
}

/*
 * pte_offset_map_lock() - the entry of @address, its table locked
 *
 * Return: NULL if there is no PTE table.  Otherwise the caller ends with
 * pte_unmap_unlock().
 */
static inline pte_t *pte_offset_map_lock(struct mm_struct *mm, pmd_t *pmd,
					 pf_addr_t address, spinlock_t **ptlp)
{
	for (;;) {
		pmd_t entry = pmdp_get_lockless(pmd);
		pte_t *pte = pte_offset_map(pmd, address);
		spinlock_t *ptl;

		if (unlikely(!pte))
			return NULL;
		ptl = &virt_to_page(pte)->ptl;
		spin_lock(ptl);
		if (likely(pmd_val(entry) == pmd_val(pmdp_get_lockless(pmd)))) {
			*ptlp = ptl;
			return pte;
		}
		spin_unlock(ptl);
		pte_unmap(pte);
		(void)mm;
	}
}

static inline void pte_unmap_unlock(pte_t *pte, spinlock_t *ptl)
{
	spin_unlock(ptl);
	pte_unmap(pte);
}

/*
 * [pte-publish] the page's bytes and marks, then its entry; paired with
 * ptep_get_acquire()
 */
static inline void set_pte_at(struct mm_struct *mm __maybe_unused,
			      pf_addr_t address __maybe_unused, pte_t *ptep,
			      pte_t pte)
{
	smp_store_release(&ptep->pte, pte_val(pte));
}

static inline void pte_clear(struct mm_struct *mm, pf_addr_t address,
			     pte_t *ptep)
{
	set_pte_at(mm, address, ptep, __pte(0));
}

/*
 * ptep_get_and_clear() - take an entry away
 *
 * [gup-recheck] clear the entry, then read the folio's counts; paired with
 * gup_fast_confirm() and gup_fast_leaf()
 */
static inline pte_t ptep_get_and_clear(struct mm_struct *mm __maybe_unused,
				       pf_addr_t address __maybe_unused,
				       pte_t *ptep)
{
	return __pte(xchg(&ptep->pte, 0));
}

static inline void set_pmd_at(struct mm_struct *mm __maybe_unused,
			      pf_addr_t address __maybe_unused, pmd_t *pmdp,
			      pmd_t pmd)
{
	smp_store_release(&pmdp->pmd, pmd_val(pmd));
}

static inline void pmd_clear(pmd_t *pmdp)
{
	smp_store_release(&pmdp->pmd, 0);
}

/* pmdp_huge_get_and_clear() - take a leaf away, as ptep_get_and_clear() does */
static inline pmd_t pmdp_huge_get_and_clear(struct mm_struct *mm __maybe_unused,
					    pf_addr_t address __maybe_unused,
					    pmd_t *pmdp)
{
	return __pmd(xchg(&pmdp->pmd, 0));
}

/* update_mmu_cache() - nothing: no translation is cached */
#define update_mmu_cache(vma, address, ptep)	((void)0)

/*
 * pmd_populate() - publish a PTE table
 *
 * [pgtable-publish] fill the table, then write the entry; paired with
 * pmdp_get().
 * Context: the lock of the PMD's table, or nobody else sees it.
 */
void pmd_populate(struct mm_struct *mm, pmd_t *pmd, struct page *table);

/*
 * p4d_alloc() ... pte_alloc() - make the table below an entry, if there is none
 *
 * Return: the entry of the next level, or NULL without memory; pte_alloc()
 * is a predicate: true means out of memory, as in Linux.
 * Context: mmap_lock held, either way.
 */
p4d_t *p4d_alloc(struct mm_struct *mm, pgd_t *pgd, pf_addr_t address);
pud_t *pud_alloc(struct mm_struct *mm, p4d_t *p4d, pf_addr_t address);
pmd_t *pmd_alloc(struct mm_struct *mm, pud_t *pud, pf_addr_t address);
bool __must_check pte_alloc(struct mm_struct *mm, pmd_t *pmd);

/*
 * mm_find_pud() - the PUD entry of @address, or NULL if a level is missing;
 * mm_alloc_pud() makes what is missing, and yields NULL without memory
 */
pud_t *mm_find_pud(struct mm_struct *mm, pf_addr_t address);
pud_t *mm_alloc_pud(struct mm_struct *mm, pf_addr_t address);

/* mm_find_pmd() - the PMD entry of @address, or NULL if a level is missing */
pmd_t *mm_find_pmd(struct mm_struct *mm, pf_addr_t address);
/* mm_alloc_pmd() - the same, making what is missing; NULL without memory */
pmd_t *mm_alloc_pmd(struct mm_struct *mm, pf_addr_t address);

/* pte_alloc_one() - a table that nobody sees yet; NULL without memory */
struct page *pte_alloc_one(struct mm_struct *mm);
void pte_free(struct mm_struct *mm, struct page *table);

/* A spare PTE table beside each PMD leaf, so that splitting cannot fail. */
void pgtable_trans_huge_deposit(struct mm_struct *mm, pmd_t *pmdp,
				struct page *table);
struct page *pgtable_trans_huge_withdraw(struct mm_struct *mm, pmd_t *pmdp);

/*
 * free_pgtables() - free the tables that serve nothing but [start, end)
 * @floor: end of the area below, 0 if none
 * @ceiling: start of the area above, TASK_SIZE_MAX if none
 *
 * A table is freed if the addresses it covers lie inside [floor, ceiling).
 * The frames are reused after a grace period.
 * Context: mmap_lock held for write; no leaf is left in the range.
 */
void free_pgtables(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
		   pf_addr_t floor, pf_addr_t ceiling);

int __must_check pgd_alloc(struct mm_struct *mm);
void pgd_free(struct mm_struct *mm);

#endif
