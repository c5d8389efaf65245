/* SPDX-License-Identifier: MIT */
/*
 * Claim: each kind of entry means in the child what it meant in the parent: what
 * is private is writable in neither, whatever it maps; what waits to come back
 * comes back shared; marks that only the parent's handler served are dropped;
 * pages of files are mapped once more, or left to be faulted in.
 *
 * Source: mm/memory.c:copy_nonpresent_pte(), copy_pte_marker(),
 *         __copy_present_ptes(), vma_needs_copy()
 */
#include "tests/helper_gup.h"

#include "mm/gfp.h"
#include "mm/rmap.h"
#include "mm/swapops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct vm_area_struct *file_area(unsigned long page, unsigned long nr,
					vm_flags_t flags)
{
	return state_area(gs, page, nr, flags, &gs->file_ops);
}

static void fork_state(void)
{
	assert_true(state_fork(gs, 0));
}

/* The child's entry of a page of the window. */
static pte_t child_pte(unsigned long page)
{
	pf_addr_t at = state_address(gs, page);
	pmd_t *pmd = mm_find_pmd(gs->relatives[0], at);
	pte_t *ptep = pmd ? pte_offset_map(pmd, at) : NULL;
	pte_t pte;

	if (!ptep)
		return __pte(0);
	pte = ptep_get(ptep);
	pte_unmap(ptep);
	return pte;
}

static unsigned int type_of(pte_t pte)
{
	assert_false(pte_none(pte));
	assert_false(pte_present(pte));
	return swp_type(pte_to_swp_entry(pte));
}

static void what_waits_to_come_back(void **state)
{
	struct vm_area_struct *vma = area(0, 16, STATE_RW);

	(void)state;
	for (unsigned int i = 0; i < NR_ABSENT; i++)
		assert_true(state_map_absent(gs, vma, state_address(gs, i), i));
	fork_state();
	assert_int_equal(pte_val(state_pte(gs, ABSENT_SWAP)),
			 pte_val(child_pte(ABSENT_SWAP)));
	/* of either kind, it comes back read-only and shared, on both sides */
	for (unsigned int i = ABSENT_MIGRATION_READ;
	     i <= ABSENT_MIGRATION_WRITE; i++) {
		assert_int_equal(type_of(child_pte(i)), SWP_MIGRATION_READ);
		assert_int_equal(pte_val(child_pte(i)),
				 pte_val(state_pte(gs, i)));
	}
	assert_int_equal(type_of(child_pte(ABSENT_HWPOISON)), SWP_HWPOISON);
	assert_true(pte_none(child_pte(ABSENT_MARKER_UFFD_WP)));
	assert_false(pte_none(state_pte(gs, ABSENT_MARKER_UFFD_WP)));
	assert_int_equal(pte_val(child_pte(ABSENT_MARKER_POISON)),
			 pte_val(state_pte(gs, ABSENT_MARKER_POISON)));
}

/* The software bits of an entry that is not present. */
static void marks_of_what_waits(void **state)
{
	struct vm_area_struct *vma = area(0, 16, STATE_RW);
	const u64 marks = _PAGE_SWP_SOFT_DIRTY | _PAGE_SWP_UFFD_WP |
			  _PAGE_SWP_EXCLUSIVE;
	pf_addr_t at = state_address(gs, 0);
	pmd_t *pmd;
	pte_t *pte;

	(void)state;
	assert_true(state_map_absent(gs, vma, at, ABSENT_SWAP));
	pmd = mm_find_pmd(gs->mm, at);
	pte = pte_offset_map(pmd, at);
	set_pte_at(gs->mm, at, pte, __pte(pte_val(ptep_get(pte)) | marks));
	pte_unmap(pte);
	fork_state();
	assert_int_equal(pte_val(state_pte(gs, 0)) & marks,
			 _PAGE_SWP_SOFT_DIRTY | _PAGE_SWP_UFFD_WP);
	assert_int_equal(pte_val(child_pte(0)) & marks, _PAGE_SWP_SOFT_DIRTY);
}

static void bits_of_present_entries(void **state)
{
	struct folio *folio;

	(void)state;
	area(0, 8, STATE_RW);
	folio = mapped_folio(0, 0, STATE_OWN);
	mapped_folio(1, 0, STATE_YOUNG | STATE_UFFD_WP);
	mapped_folio(2, 0, STATE_PROTNONE | STATE_DIRTY);
	fork_state();
	assert_int_equal(pte_val(state_pte(gs, 0)) & _PAGE_RW, 0);
	assert_true(pte_young(state_pte(gs, 0)));
	assert_int_equal(pte_val(child_pte(0)),
			 pte_val(pte_mkold(state_pte(gs, 0))));
	assert_true(pte_dirty(child_pte(0)));
	assert_true(pte_soft_dirty(child_pte(0)));
	assert_false(pte_soft_dirty(child_pte(1)));
	assert_true(pte_uffd_wp(state_pte(gs, 1)));
	assert_false(pte_uffd_wp(child_pte(1)));
	assert_true(pte_protnone(child_pte(2)));
	/* mapped twice, with the reference of the LRU batch or without */
	assert_int_equal(folio_mapcount(folio), 2);
}

static void frames_without_a_page(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	vma = state_area(gs, 0, 8, STATE_RW | VM_MIXEDMAP, &gs->bare_ops);
	assert_true(state_map_pfn(gs, vma, state_address(gs, 0), 17,
				  STATE_OWN));
	vma = state_area(gs, 8, 8, STATE_RW | VM_PFNMAP | VM_SHARED |
			 VM_MAYSHARE, &gs->bare_ops);
	assert_true(state_map_pfn(gs, vma, state_address(gs, 8), 18,
				  STATE_OWN));
	fork_state();
	assert_int_equal(pte_pfn(child_pte(0)), 17);
	assert_true(pte_special(child_pte(0)));
	assert_false(pte_write(child_pte(0)));
	assert_false(pte_write(state_pte(gs, 0)));
	/* shared memory stays writable; the child has not written it yet */
	assert_int_equal(pte_pfn(child_pte(8)), 18);
	assert_true(pte_write(child_pte(8)));
	assert_true(pte_write(state_pte(gs, 8)));
	assert_true(pte_dirty(state_pte(gs, 8)));
	assert_false(pte_dirty(child_pte(8)));
}

static void pages_of_files(void **state)
{
	struct folio *cache = state_folio(gs, STATE_FILE, 2);
	struct vm_area_struct *shared;

	(void)state;
	file_area(0, 8, STATE_RW);
	state_map(gs, 0, cache, 0, 4, STATE_YOUNG);
	mapped_folio(4, 0, STATE_OWN);
	shared = file_area(8, 8, STATE_RW | VM_SHARED | VM_MAYSHARE);
	assert_null(shared->anon_vma);
	state_map(gs, 8, cache, 0, 4, STATE_YOUNG | STATE_WRITE);
	fork_state();
	/* beside a page of its own, the private area's others are mapped too */
	for (unsigned long i = 0; i < 4; i++)
		assert_ptr_equal(pte_page(child_pte(i)), folio_page(cache, i));
	assert_ptr_equal(pte_page(child_pte(4)), state_page(gs, 4));
	/* and the shared area's are faulted in again */
	assert_true(pte_none(child_pte(8)));
	assert_true(pte_write(state_pte(gs, 8)));
	assert_int_equal(folio_mapcount(cache), 3 * 4);
	assert_int_equal(folio_ref_count(cache), 3 * 4 + 1);
	assert_int_equal(atomic64_read(&gs->relatives[0]->rss_pages), 1);
}

/* A large folio's pages out of order: each run ends where the order does. */
static void pages_out_of_order(void **state)
{
	struct folio *folio = state_folio(gs, STATE_ANON, 3);
	static const unsigned int order[] = { 0, 1, 5, 6, 7, 2 };

	(void)state;
	area(0, 16, STATE_RW);
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		state_map(gs, i, folio, order[i], 1, STATE_OWN);
	state_drop(gs, folio);
	fork_state();
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
		assert_ptr_equal(pte_page(child_pte(i)),
				 folio_page(folio, order[i]));
		assert_false(PageAnonExclusive(folio_page(folio, order[i])));
	}
	assert_counts(folio, 12, 0, 12);
}

/* A leaf that is not present is not copied: nothing else makes one. */
static void a_leaf_that_waits(void **state)
{
	struct vm_area_struct *vma = area(0, 512, STATE_RW);

	(void)state;
	assert_true(state_map_absent_leaf(gs, vma, state_address(gs, 0)));
	fork_state();
	assert_true(pte_none(child_pte(0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(what_waits_to_come_back),
		gup_test(marks_of_what_waits),
		gup_test(bits_of_present_entries),
		gup_test(frames_without_a_page),
		gup_test(pages_of_files),
		gup_test(pages_out_of_order),
		gup_test(a_leaf_that_waits),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
