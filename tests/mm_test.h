/* SPDX-License-Identifier: MIT */
/*
 * What tests of address spaces share: one machine with one address space, and
 * the check at the end that nothing is left over.
 */
#ifndef TESTS_MM_TEST_H
#define TESTS_MM_TEST_H

#include "api/handle.h"
#include "host/errtext.h"
#include "lab/validate.h"
#include "mm/gfp.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Last: it has a fail() of its own. */
#include <cmocka.h>

#define RW		(PINFOLD_PROT_READ | PINFOLD_PROT_WRITE)
#define MIB(n)		((u64)(n) << 20)
#define PAGES(n)	((u64)(n) * PAGE_SIZE)
/* A multiple of every size that matters, with nothing around it. */
#define BASE		((pf_addr_t)1 << 40)

struct mm_test {
	struct pf_machine *machine;
	struct pf_mm *mm;
	struct machine *previous;
};

static inline void mm_test_begin(struct mm_test *t,
				 struct pf_machine_options options)
{
	options.size = sizeof(options);
	if (!options.memory_bytes)
		options.memory_bytes = MIB(16);
	assert_int_equal(pf_machine_create(&options, &t->machine), 0);
	assert_int_equal(pf_mm_create(t->machine, &t->mm), 0);
	t->previous = machine_enter(machine_of(t->machine));
}

static inline void assert_valid(struct mm_test *t)
{
	assert_int_equal(mm_validate(machine_of(t->machine), NULL), 0);
}

/* Frames that neither are free nor belong to the machine itself. */
static inline unsigned long frames_in_use(struct machine *m)
{
	rcu_barrier();
	lru_add_drain_all(m);
	return nr_used_pages(m);
}

static inline void mm_test_end(struct mm_test *t)
{
	pf_mm_destroy(t->mm);
	assert_valid(t);
	assert_int_equal(frames_in_use(machine_of(t->machine)), 0);
	assert_valid(t);
	machine_leave(t->previous);
	assert_int_equal(pf_machine_destroy(t->machine), 0);
}

/* map_at() - [@at, + @pages) with @prot, whatever is there now */
static inline void map_at(struct mm_test *t, pf_addr_t at, u64 pages, int prot)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap(t->mm, at, PAGES(pages), prot,
				 PINFOLD_MAP_FIXED, &place), 0);
	assert_int_equal(place, at);
}

static inline void write_word(struct mm_test *t, pf_addr_t at, u64 word)
{
	assert_int_equal(pf_write(t->mm, at, &word, sizeof(word)),
			 sizeof(word));
}

static inline u64 read_word(struct mm_test *t, pf_addr_t at)
{
	u64 word = 0xdead;

	assert_int_equal(pf_read(t->mm, at, &word, sizeof(word)), sizeof(word));
	return word;
}

/* leaf_at() - the PMD leaf that maps @at; none if there is none */
static inline pmd_t leaf_at(struct mm_test *t, pf_addr_t at)
{
	pmd_t *pmd = mm_find_pmd(mm_of(t->mm), at);

	return pmd && pmd_leaf(pmdp_get(pmd)) ? pmdp_get(pmd) : __pmd(0);
}

/* pte_at() - the PTE of @at, or NULL; the address space is quiet */
static inline pte_t *pte_at(struct mm_test *t, pf_addr_t at)
{
	pmd_t *pmd = mm_find_pmd(mm_of(t->mm), at);
	pte_t *pte = pmd ? pte_offset_map(pmd, at) : NULL;

	if (pte)
		pte_unmap(pte);
	return pte;
}

static inline pte_t entry_at(struct mm_test *t, pf_addr_t at)
{
	pte_t *pte = pte_at(t, at);

	return pte ? ptep_get(pte) : __pte(0);
}

/* page_mapped_at() - the page that an entry of either level maps, or NULL */
static inline struct page *page_mapped_at(struct mm_test *t, pf_addr_t at)
{
	pmd_t leaf = leaf_at(t, at);
	pte_t pte = entry_at(t, at);

	if (!pmd_none(leaf))
		return pmd_page(leaf) + pte_index(at);
	return pte_present(pte) ? pte_page(pte) : NULL;
}

static inline bool resident_at(struct mm_test *t, pf_addr_t at)
{
	return page_mapped_at(t, at) != NULL;
}

#endif
