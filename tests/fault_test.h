/* SPDX-License-Identifier: MIT */
/*
 * What tests of faults share: a fault on one address, entries that are read-
 * only or not exclusive, and short memory.
 */
#ifndef TESTS_FAULT_TEST_H
#define TESTS_FAULT_TEST_H

#include "tests/mm_test.h"

#define AT	BASE
#define WRITE	FAULT_FLAG_WRITE
#define UNSHARE	FAULT_FLAG_UNSHARE
#define HUGE_PAGES ((u64)HPAGE_PMD_NR)

static struct mm_test t;

#define BEGIN(...) \
	mm_test_begin(&t, (struct pf_machine_options){ __VA_ARGS__ })

static inline struct machine *the_machine(void)
{
	return machine_of(t.machine);
}

static inline void fault_with(pf_addr_t at, unsigned int flags,
			      vm_fault_t expected)
{
	struct mm_struct *mm = mm_of(t.mm);

	mmap_read_lock(mm);
	assert_int_equal(handle_mm_fault(vma_lookup(mm, at), at, flags, NULL),
			 expected);
	mmap_read_unlock(mm);
}

/* fault() - until there is nothing left to do, as GUP would */
static inline void fault(pf_addr_t at, unsigned int flags)
{
	fault_with(at, flags, 0);
	fault_with(at, flags, 0);
}

static inline void set_entry(pf_addr_t at, pte_t entry)
{
	set_pte_at(mm_of(t.mm), at, pte_at(&t, at), entry);
}

static inline void set_leaf(pf_addr_t at, pmd_t leaf)
{
	set_pmd_at(mm_of(t.mm), at, mm_find_pmd(mm_of(t.mm), at), leaf);
}

/* What clearing soft-dirty leaves: read-only, the page still exclusive. */
static inline void protect_entry(pf_addr_t at)
{
	const u64 bits = _PAGE_RW | _PAGE_DIRTY | _PAGE_ACCESSED;

	set_entry(at, __pte(pte_val(entry_at(&t, at)) & ~bits));
}

/* What is left when the other process of a fork is gone. */
static inline struct page *orphan_page(pf_addr_t at)
{
	protect_entry(at);
	ClearPageAnonExclusive(page_mapped_at(&t, at));
	return page_mapped_at(&t, at);
}

static inline void track_writes(void)
{
	mmap_write_lock(mm_of(t.mm));
	vma_lookup(mm_of(t.mm), AT)->vm_flags |= VM_UFFD_WP;
	mmap_write_unlock(mm_of(t.mm));
}

static inline void begin_small(int prot)
{
	BEGIN(.memory_bytes = MIB(4));
	map_at(&t, AT, 8, RW);
	write_word(&t, AT, 77);
	if (prot != RW)
		assert_int_equal(pf_mprotect(t.mm, AT, PAGES(8), prot), 0);
}

/* Every frame of the machine, by single pages. */
static inline unsigned long take_all(struct page **pages)
{
	unsigned long nr = 0;

	while ((pages[nr] = alloc_pages(GFP_USER, 0)))
		nr++;
	return nr;
}

#endif
