/* SPDX-License-Identifier: MIT */
/*
 * Claim: after fork both sides see the bytes of before and their own stores;
 * what they share is read-only and exclusive in neither; what fork is told to
 * leave out or to wipe is absent or empty; areas arrive as they were, less what
 * is locked or served by somebody; and all of it is undone by whoever goes last.
 *
 * Source: kernel/fork.c:dup_mmap(), mm/memory.c:copy_page_range(),
 *         mm/madvise.c:madvise_vma_behavior()
 */
#include "tests/fork_test.h"

#define ELSEWHERE	(BASE + ((pf_addr_t)1 << 39))

static struct mm_test t;

static void begin_with(struct pf_machine_options options)
{
	mm_test_begin(&t, options);
}

static void begin(void)
{
	begin_with((struct pf_machine_options){ .memory_bytes = MIB(16) });
}

static void small_pages_are_shared(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin();
	map_at(&t, BASE, 4, RW);
	for (u64 i = 0; i < 4; i++)
		write_word(&t, BASE + PAGES(i), 10 + i);
	lru_add_drain();
	folio = page_folio(page_mapped_at(&t, BASE));
	child = fork_of(&t);
	for (u64 i = 0; i < 4; i++) {
		assert_ptr_equal(page_mapped_at(&t, BASE + PAGES(i)),
				 page_mapped_at(&child, BASE + PAGES(i)));
		assert_false(exclusive_at(&t, BASE + PAGES(i)));
		assert_false(writable_at(&t, BASE + PAGES(i)));
		assert_false(writable_at(&child, BASE + PAGES(i)));
		assert_false(pte_young(entry_at(&child, BASE + PAGES(i))));
		assert_int_equal(read_word(&child, BASE + PAGES(i)), 10 + i);
	}
	assert_int_equal(folio_ref_count(folio), 2);
	assert_int_equal(folio_mapcount(folio), 2);
	assert_valid(&t);

	/* the first writer gets a copy, the second reuses the page */
	write_word(&t, BASE, 100);
	assert_ptr_not_equal(page_mapped_at(&t, BASE), &folio->page);
	assert_true(exclusive_at(&t, BASE));
	assert_int_equal(read_word(&child, BASE), 10);
	write_word(&child, BASE, 200);
	assert_ptr_equal(page_mapped_at(&child, BASE), &folio->page);
	assert_true(exclusive_at(&child, BASE));
	assert_int_equal(read_word(&t, BASE), 100);
	assert_valid(&t);

	/* a child that is gone leaves all to the parent */
	exit_of(&child);
	folio = page_folio(page_mapped_at(&t, BASE + PAGES(1)));
	write_word(&t, BASE + PAGES(1), 101);
	assert_ptr_equal(page_mapped_at(&t, BASE + PAGES(1)), &folio->page);
	mm_test_end(&t);
}

static void the_parent_may_go_first(void **state)
{
	struct mm_test child, grandchild;

	(void)state;
	begin();
	map_at(&t, BASE, 2, RW);
	write_word(&t, BASE, 1);
	child = fork_of(&t);
	grandchild = fork_of(&child);
	pf_mm_destroy(t.mm);
	t.mm = grandchild.mm;
	write_word(&child, BASE, 2);
	assert_int_equal(read_word(&t, BASE), 1);
	write_word(&t, BASE, 3);
	assert_int_equal(read_word(&child, BASE), 2);
	assert_valid(&t);
	exit_of(&child);
	mm_test_end(&t);
}

/* Only a zero page: nothing of the area's own, so no table is made either. */
static void what_was_only_read_is_not_copied(void **state)
{
	struct mm_test child;

	(void)state;
	begin();
	map_at(&t, BASE, 4, RW);
	assert_int_equal(read_word(&t, BASE), 0);
	child = fork_of(&t);
	assert_null(mm_find_pmd(mm_of(child.mm), BASE));
	assert_int_equal(read_word(&child, BASE), 0);
	exit_of(&child);

	/* beside a page of its own the zero page is copied as it is */
	write_word(&t, BASE + PAGES(1), 1);
	child = fork_of(&t);
	assert_true(pte_special(entry_at(&child, BASE)));
	assert_true(pte_none(entry_at(&child, BASE + PAGES(2))));
	write_word(&child, BASE, 5);
	assert_int_equal(read_word(&t, BASE), 0);
	assert_valid(&t);
	exit_of(&child);
	mm_test_end(&t);
}

static void a_huge_page_is_shared(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin_with((struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_always = BIT(HPAGE_PMD_ORDER),
	});
	map_at(&t, BASE, 512, RW);
	for (u64 i = 0; i < 512; i++)
		write_word(&t, BASE + PAGES(i), i);
	folio = page_folio(page_mapped_at(&t, BASE));
	child = fork_of(&t);
	assert_int_equal(folio_ref_count(folio), 2);
	assert_int_equal(folio_mapcount(folio), 2);
	assert_false(exclusive_at(&t, BASE));
	assert_false(writable_at(&t, BASE));
	assert_false(pmd_none(leaf_at(&child, BASE)));
	assert_false(writable_at(&child, BASE));
	assert_valid(&t);

	/* a store splits the writer's leaf and copies one page */
	write_word(&t, BASE + PAGES(7), 1000);
	assert_true(pmd_none(leaf_at(&t, BASE)));
	assert_false(pmd_none(leaf_at(&child, BASE)));
	assert_ptr_equal(page_mapped_at(&t, BASE), &folio->page);
	assert_int_equal(read_word(&child, BASE + PAGES(7)), 7);
	assert_valid(&t);
	/* what is left of the folio is never reused, not even by the last */
	exit_of(&child);
	write_word(&t, BASE, 1000);
	assert_ptr_not_equal(page_mapped_at(&t, BASE), &folio->page);
	assert_valid(&t);

	/* a leaf whose sharers are gone is */
	map_at(&t, BASE, 512, RW);
	write_word(&t, BASE, 1);
	folio = page_folio(page_mapped_at(&t, BASE));
	child = fork_of(&t);
	exit_of(&child);
	write_word(&t, BASE, 2);
	assert_ptr_equal(page_mapped_at(&t, BASE), &folio->page);
	assert_false(pmd_none(leaf_at(&t, BASE)));
	assert_true(exclusive_at(&t, BASE));
	mm_test_end(&t);
}

static void the_huge_zero_page_is_shared(void **state)
{
	struct mm_test child;

	(void)state;
	begin_with((struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_always = BIT(HPAGE_PMD_ORDER),
	});
	map_at(&t, BASE, 512, RW);
	assert_int_equal(read_word(&t, BASE), 0);
	assert_true(is_huge_zero_pmd(leaf_at(&t, BASE)));
	child = fork_of(&t);
	assert_true(is_huge_zero_pmd(leaf_at(&child, BASE)));
	write_word(&child, BASE + PAGES(9), 1);
	assert_int_equal(read_word(&t, BASE + PAGES(9)), 0);
	assert_valid(&t);
	exit_of(&child);
	mm_test_end(&t);
}

static void a_large_folio_by_ptes(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin_with((struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_always = BIT(4),
	});
	map_at(&t, BASE, 32, RW);
	write_word(&t, BASE, 1);
	write_word(&t, BASE + PAGES(16), 2);
	folio = page_folio(page_mapped_at(&t, BASE));
	assert_int_equal(folio_order(folio), 4);
	child = fork_of(&t);
	assert_int_equal(folio_ref_count(folio), 32);
	assert_int_equal(folio_mapcount(folio), 32);
	write_word(&child, BASE + PAGES(3), 9);
	assert_int_equal(folio_ref_count(folio), 31);
	assert_int_equal(read_word(&t, BASE + PAGES(3)), 0);
	assert_valid(&t);
	exit_of(&child);
	assert_valid(&t);
	mm_test_end(&t);
}

static void advice_about_fork(void **state)
{
	struct mm_test child;
	struct vm_area_struct *vma;

	(void)state;
	begin();
	map_at(&t, BASE, 12, RW);
	for (u64 i = 0; i < 12; i++)
		write_word(&t, BASE + PAGES(i), 1 + i);
	advise(&t, BASE + PAGES(2), PAGES(2), PINFOLD_MADV_DONTFORK);
	advise(&t, BASE + PAGES(6), PAGES(2), PINFOLD_MADV_WIPEONFORK);
	assert_int_equal(mm_of(t.mm)->map_count, 5);
	child = fork_of(&t);
	assert_int_equal(mm_of(child.mm)->map_count, 4);
	mmap_read_lock(mm_of(child.mm));
	assert_null(vma_lookup(mm_of(child.mm), BASE + PAGES(2)));
	vma = vma_lookup(mm_of(child.mm), BASE + PAGES(6));
	assert_true(vma->vm_flags & VM_WIPEONFORK);
	assert_null(vma->anon_vma);
	mmap_read_unlock(mm_of(child.mm));
	assert_false(resident_at(&child, BASE + PAGES(6)));
	assert_int_equal(read_word(&child, BASE + PAGES(7)), 0);
	assert_int_equal(read_word(&child, BASE + PAGES(1)), 2);
	assert_int_equal(read_word(&t, BASE + PAGES(7)), 8);
	/* the parent's page is its own still */
	assert_true(exclusive_at(&t, BASE + PAGES(3)));
	assert_true(exclusive_at(&t, BASE + PAGES(6)));
	assert_valid(&t);
	exit_of(&child);

	advise(&t, BASE, PAGES(12), PINFOLD_MADV_DOFORK);
	advise(&t, BASE, PAGES(12), PINFOLD_MADV_KEEPONFORK);
	assert_int_equal(mm_of(t.mm)->map_count, 1);
	child = fork_of(&t);
	assert_int_equal(read_word(&child, BASE + PAGES(2)), 3);
	assert_int_equal(read_word(&child, BASE + PAGES(6)), 7);
	exit_of(&child);
	mm_test_end(&t);
}

static void wrong_advice(void **state)
{
	pf_addr_t place;

	(void)state;
	begin_with((struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_2m_pages = 2,
	});
	map_at(&t, BASE, 4, RW);
	/* a hole is told, after the rest is done */
	assert_int_equal(pf_madvise(t.mm, BASE + PAGES(2), PAGES(4),
				    PINFOLD_MADV_DONTFORK), -ENOMEM);
	assert_int_equal(mm_of(t.mm)->map_count, 2);
	assert_int_equal(pf_madvise(t.mm, BASE + 1, PAGES(1),
				    PINFOLD_MADV_DOFORK), -EINVAL);
	assert_int_equal(pf_madvise(t.mm, BASE, 0, PINFOLD_MADV_DONTFORK), 0);
	/* pages of a pool belong to a file, which is not wiped */
	assert_int_equal(pf_mmap(t.mm, ELSEWHERE, 2 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	assert_int_equal(pf_madvise(t.mm, ELSEWHERE, PMD_SIZE,
				    PINFOLD_MADV_WIPEONFORK), -EINVAL);
	assert_int_equal(pf_madvise(t.mm, ELSEWHERE, PMD_SIZE,
				    PINFOLD_MADV_KEEPONFORK), 0);
	assert_int_equal(pf_madvise(t.mm, ELSEWHERE, PMD_SIZE,
				    PINFOLD_MADV_DONTFORK), 0);
	/* and are not cut */
	assert_int_equal(pf_madvise(t.mm, ELSEWHERE, PAGES(1),
				    PINFOLD_MADV_DOFORK), -EINVAL);
	mmap_write_lock(mm_of(t.mm));
	vma_lookup(mm_of(t.mm), BASE)->vm_flags |= VM_IO;
	mmap_write_unlock(mm_of(t.mm));
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(1),
				    PINFOLD_MADV_DOFORK), -EINVAL);
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(1),
				    PINFOLD_MADV_DONTFORK), 0);
	mm_test_end(&t);
}

static void nothing_is_locked_or_pinned_in_a_child(void **state)
{
	struct mm_test child;
	struct page *page;
	pf_addr_t place;

	(void)state;
	begin();
	assert_int_equal(pf_mmap(t.mm, BASE, PAGES(4), RW,
				 PINFOLD_MAP_FIXED | PINFOLD_MAP_LOCKED,
				 &place), 0);
	page = page_pinned_at(&t, BASE, PINFOLD_FOLL_WRITE);
	assert_true(test_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags));
	child = fork_of(&t);
	assert_false(test_bit(MMF_HAS_PINNED, &mm_of(child.mm)->flags));
	mmap_read_lock(mm_of(child.mm));
	assert_false(vma_lookup(mm_of(child.mm), BASE)->vm_flags & VM_LOCKED);
	mmap_read_unlock(mm_of(child.mm));
	assert_pinned(&t, &page, 1);
	exit_of(&child);
	/* the flag stays when the pin goes */
	unpin_user_page(page);
	assert_true(test_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags));
	mm_test_end(&t);
}

static void userfault_protection_ends_at_fork(void **state)
{
	struct mm_test child;
	struct vm_area_struct *vma;
	pte_t *pte;

	(void)state;
	begin();
	map_at(&t, BASE, 2, RW);
	write_word(&t, BASE, 1);
	write_word(&t, BASE + PAGES(1), 2);
	mmap_write_lock(mm_of(t.mm));
	vma = vma_lookup(mm_of(t.mm), BASE);
	vma->vm_flags |= VM_UFFD_WP;
	pte = pte_at(&t, BASE);
	set_pte_at(mm_of(t.mm), BASE, pte,
		   pte_wrprotect(pte_mkuffd_wp(ptep_get(pte))));
	mmap_write_unlock(mm_of(t.mm));
	child = fork_of(&t);
	mmap_read_lock(mm_of(child.mm));
	vma = vma_lookup(mm_of(child.mm), BASE);
	assert_false(vma->vm_flags & VM_UFFD_WP);
	mmap_read_unlock(mm_of(child.mm));
	assert_true(pte_uffd_wp(entry_at(&t, BASE)));
	assert_false(pte_uffd_wp(entry_at(&child, BASE)));
	exit_of(&child);
	mm_test_end(&t);
}

static void a_killed_fork(void **state)
{
	struct pf_mm *child = NULL;

	(void)state;
	begin();
	map_at(&t, BASE, 2, RW);
	write_word(&t, BASE, 1);
	waiter_post(&waiter_self, SIGNAL_FATAL);
	assert_int_equal(pf_mm_fork(t.mm, &child), -EINTR);
	waiter_clear();
	assert_null(child);
	assert_valid(&t);
	assert_int_equal(pf_mm_fork(NULL, &child), -EINVAL);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_pages_are_shared),
		cmocka_unit_test(the_parent_may_go_first),
		cmocka_unit_test(what_was_only_read_is_not_copied),
		cmocka_unit_test(a_huge_page_is_shared),
		cmocka_unit_test(the_huge_zero_page_is_shared),
		cmocka_unit_test(a_large_folio_by_ptes),
		cmocka_unit_test(advice_about_fork),
		cmocka_unit_test(wrong_advice),
		cmocka_unit_test(nothing_is_locked_or_pinned_in_a_child),
		cmocka_unit_test(userfault_protection_ends_at_fork),
		cmocka_unit_test(a_killed_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
