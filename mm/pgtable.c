/* SPDX-License-Identifier: MIT */
/*
 * Making and freeing page tables.
 *
 * 1. A table's descriptor has PG_table, its lock, and refcount 1.
 * 2. A table is unlinked under the lock of its entry, with mmap_lock held for
 *    write, and freed after a grace period: lockless walkers may still be in it.
 *
 * Source: mm/memory.c:free_pgd_range(), __pte_alloc();
 *         mm/pgtable-generic.c:pgtable_trans_huge_deposit()
 */
#include "mm/pgtable.h"

#include "mm/gfp.h"

#include <errno.h>

static struct page *alloc_table(struct mm_struct *mm)
{
	struct page *table = alloc_pages(GFP_KERNEL | __GFP_ZERO, 0);

	if (!table)
		return NULL;
	WRITE_ONCE(table->flags, BIT(PG_table));
	table->pt_next = NULL;
	spin_lock_init(&table->ptl, RANK_PTL);
	atomic64_add(1, &mm->pgtables);
	return table;
}

static void free_table_frame(struct page *table)
{
	VM_BUG_ON(!test_bit(PG_table, &table->flags));
	__free_pages(table, 0);
}

struct page *pte_alloc_one(struct mm_struct *mm)
{
	return alloc_table(mm);
}

/* For a table that was never published. */
void pte_free(struct mm_struct *mm, struct page *table)
{
	atomic64_add(-1, &mm->pgtables);
	free_table_frame(table);
}

static u64 table_entry(struct page *table)
{
	return page_to_pfn(table) << PAGE_SHIFT | _PAGE_TABLE;
}

void pmd_populate(struct mm_struct *mm, pmd_t *pmd, struct page *table)
{
	set_pmd_at(mm, 0, pmd, __pmd(table_entry(table)));
}

/*
 * install_table() - put a new table below @entry unless somebody was faster
 *
 * Return: false without memory.
 */
static bool install_table(struct mm_struct *mm, u64 *entry, spinlock_t *lock)
{
	struct page *table = alloc_table(mm);

	if (!table)
		return false;
	spin_lock(lock);
	if (!READ_ONCE(*entry)) {
		smp_store_release(entry, table_entry(table));
		table = NULL;
	}
	spin_unlock(lock);
	if (table)
		pte_free(mm, table);
	return true;
}

p4d_t *p4d_alloc(struct mm_struct *mm __maybe_unused, pgd_t *pgd,
		 pf_addr_t address)
{
	return p4d_offset(pgd, address);
}

pud_t *pud_alloc(struct mm_struct *mm, p4d_t *p4d, pf_addr_t address)
{
	if (p4d_none(p4dp_get(p4d)) &&
	    !install_table(mm, &p4d->pgd.pgd, &mm->page_table_lock))
		return NULL;
	return pud_offset(p4d, address);
}

pmd_t *pmd_alloc(struct mm_struct *mm, pud_t *pud, pf_addr_t address)
{
	if (pud_none(pudp_get(pud)) &&
	    !install_table(mm, &pud->pud, &mm->page_table_lock))
		return NULL;
	return pmd_offset(pud, address);
}

bool pte_alloc(struct mm_struct *mm, pmd_t *pmd)
{
	return pmd_none(pmdp_get(pmd)) &&
	       !install_table(mm, &pmd->pmd, pmd_lockptr(mm, pmd));
}

pud_t *mm_find_pud(struct mm_struct *mm, pf_addr_t address)
{
	p4d_t *p4d = p4d_offset(pgd_offset(mm, address), address);

	return p4d_present(p4dp_get(p4d)) ? pud_offset(p4d, address) : NULL;
}

pud_t *mm_alloc_pud(struct mm_struct *mm, pf_addr_t address)
{
	p4d_t *p4d = p4d_alloc(mm, pgd_offset(mm, address), address);

	return p4d ? pud_alloc(mm, p4d, address) : NULL;
}

pmd_t *mm_find_pmd(struct mm_struct *mm, pf_addr_t address)
{
	pud_t *pud = mm_find_pud(mm, address);

	if (!pud || !pud_present(pudp_get(pud)) || pud_leaf(pudp_get(pud)))
		return NULL;
	return pmd_offset(pud, address);
}

pmd_t *mm_alloc_pmd(struct mm_struct *mm, pf_addr_t address)
{
	pud_t *pud = mm_alloc_pud(mm, address);

	return pud ? pmd_alloc(mm, pud, address) : NULL;
}

void pgtable_trans_huge_deposit(struct mm_struct *mm, pmd_t *pmdp,
				struct page *table)
{
	struct page *pmd_table = virt_to_page(pmdp);

	assert_spin_locked(pmd_lockptr(mm, pmdp));
	table->pt_next = pmd_table->pt_next;
	pmd_table->pt_next = table;
}

struct page *pgtable_trans_huge_withdraw(struct mm_struct *mm, pmd_t *pmdp)
{
	struct page *pmd_table = virt_to_page(pmdp);
	struct page *table = pmd_table->pt_next;

	assert_spin_locked(pmd_lockptr(mm, pmdp));
	BUG_ON(!table);
	pmd_table->pt_next = table->pt_next;
	table->pt_next = NULL;
	return table;
}

/* Unlinked tables, chained by pt_next, wait together for one grace period. */
struct table_gather {
	struct mm_struct *mm;
	struct page *first;
	pf_addr_t floor, ceiling;
};

static void free_gathered(struct rcu_head *head)
{
	struct page *table = container_of(head, struct page, pt_rcu);

	rcu_callback_begin();
	while (table) {
		struct page *next = table->pt_next;

		free_table_frame(table);
		table = next;
	}
	rcu_callback_end();
}

static bool covers_only(const struct table_gather *g, pf_addr_t address,
			pf_addr_t size)
{
	pf_addr_t first = address & ~(size - 1);

	return first >= g->floor && first + size - 1 < g->ceiling;
}

static void unlink_table(struct table_gather *g, u64 *entry, spinlock_t *lock,
			 struct page *table)
{
	spin_lock(lock);
	smp_store_release(entry, 0);
	spin_unlock(lock);
	table->pt_next = g->first;
	g->first = table;
	atomic64_add(-1, &g->mm->pgtables);
}

static void free_pmd_range(struct table_gather *g, pud_t *pud, pf_addr_t addr,
			   pf_addr_t end)
{
	pmd_t *pmd = pmd_offset(pud, addr);
	pf_addr_t start = addr, next;

	for (; addr < end; addr = next, pmd++) {
		next = pmd_addr_end(addr, end);
		if (pmd_is_table(pmdp_get(pmd)) &&
		    covers_only(g, addr, PMD_SIZE))
			unlink_table(g, &pmd->pmd, pmd_lockptr(g->mm, pmd),
				     pmd_page(pmdp_get(pmd)));
	}
	if (covers_only(g, start, PUD_SIZE))
		unlink_table(g, &pud->pud, &g->mm->page_table_lock,
			     pfn_to_page(pud_pfn(pudp_get(pud))));
}

static void free_pud_range(struct table_gather *g, p4d_t *p4d, pf_addr_t addr,
			   pf_addr_t end)
{
	pud_t *pud = pud_offset(p4d, addr);
	pf_addr_t start = addr, next;

	for (; addr < end; addr = next, pud++) {
		next = pud_addr_end(addr, end);
		if (pud_present(pudp_get(pud)))
			free_pmd_range(g, pud, addr, next);
	}
	if (covers_only(g, start, PGDIR_SIZE))
		unlink_table(g, &p4d->pgd.pgd, &g->mm->page_table_lock,
			     pfn_to_page(pgd_pfn(p4dp_get(p4d).pgd)));
}

void free_pgtables(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
		   pf_addr_t floor, pf_addr_t ceiling)
{
	struct table_gather g = { mm, NULL, floor, ceiling };
	pf_addr_t addr, next;

	for (addr = start; addr < end; addr = next) {
		p4d_t *p4d = p4d_offset(pgd_offset(mm, addr), addr);

		next = pgd_addr_end(addr, end);
		if (p4d_present(p4dp_get(p4d)))
			free_pud_range(&g, p4d, addr, next);
	}
	if (g.first)
		call_rcu(&g.first->pt_rcu, free_gathered);
}

int pgd_alloc(struct mm_struct *mm)
{
	struct page *table = alloc_table(mm);

	if (!table)
		return -ENOMEM;
	mm->pgd = page_address(table);
	return 0;
}

void pgd_free(struct mm_struct *mm)
{
	pte_free(mm, virt_to_page(mm->pgd));
}
