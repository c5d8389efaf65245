/* SPDX-License-Identifier: MIT */
/*
 * Claim: huge pages of a pool are shared by fork and copied whole at the next
 * store; reservations stay with who mapped the area, who therefore gets a page
 * to write to even from an empty pool: its relatives lose the shared one, and
 * get a bus error where they would otherwise see other bytes.
 *
 * Source: mm/hugetlb.c:copy_hugetlb_page_range(), hugetlb_wp(),
 *         unmap_ref_private()
 */
#include "tests/hugetlb_test.h"

#include "tests/fork_test.h"

#include "host/backend.h"
#include "host/clock.h"

static long store(struct mm_test *mm, pf_addr_t at, u64 word)
{
	return pf_write(mm->mm, at, &word, sizeof(word));
}

static long load(struct mm_test *mm, pf_addr_t at)
{
	u64 word;

	return pf_read(mm->mm, at, &word, sizeof(word));
}

static void a_huge_page_is_shared(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin(3);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0) + PAGES(300), 5);
	folio = folio_at(H(0));
	child = fork_of(&t);
	assert_pool(2, 1);
	assert_int_equal(folio_ref_count(folio), 2);
	assert_int_equal(folio_mapcount(folio), 2);
	assert_false(exclusive_at(&t, H(0)));
	assert_false(writable_at(&t, H(0)));
	assert_false(writable_at(&child, H(0)));
	assert_valid(&t);
	write_word(&t, H(0), 6);
	assert_pool(1, 1);
	assert_ptr_not_equal(folio_at(H(0)), folio);
	assert_int_equal(read_word(&t, H(0) + PAGES(300)), 5);
	assert_int_equal(read_word(&child, H(0)), 0);
	/* the last one reuses it */
	write_word(&child, H(0), 7);
	assert_pool(1, 1);
	assert_ptr_equal(&folio->page, page_mapped_at(&child, H(0)));
	assert_int_equal(read_word(&t, H(0)), 6);
	assert_valid(&t);
	exit_of(&child);
	assert_pool(2, 1);
	assert_valid(&t);
	end();
}

/* The child has no right to the place that the parent has not touched. */
static void a_child_has_no_reservation(void **state)
{
	struct mm_test child;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	child = fork_of(&t);
	assert_int_equal(load(&child, H(0)), -EFAULT);
	assert_valid(&t);
	write_word(&t, H(0), 1);
	assert_pool(0, 0);
	exit_of(&child);
	assert_valid(&t);
	end();
}

static void a_child_cannot_copy(void **state)
{
	struct mm_test child, grandchild;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	child = fork_of(&t);
	grandchild = fork_of(&child);
	assert_int_equal(store(&child, H(0), 4), -EFAULT);
	assert_int_equal(pf_pin_user_pages_unlocked(child.mm, H(0), 1, handles,
						    0), -EFAULT);
	/* nothing is lost, by nobody */
	assert_int_equal(read_word(&child, H(0)), 3);
	assert_int_equal(read_word(&grandchild, H(0)), 3);
	exit_of(&grandchild);
	assert_ptr_equal(page_mapped_at(&t, H(0)), page_mapped_at(&child, H(0)));
	assert_valid(&t);
	exit_of(&child);
	write_word(&t, H(0), 4);
	assert_pool(0, 0);
	end();
}

static void the_owner_takes_the_page(void **state)
{
	struct mm_test child, grandchild;
	struct folio *folio;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 3);
	write_word(&t, H(1), 4);
	folio = folio_at(H(0));
	child = fork_of(&t);
	grandchild = fork_of(&child);
	assert_int_equal(folio_mapcount(folio), 3);
	write_word(&t, H(0), 5);
	assert_ptr_equal(folio_at(H(0)), folio);
	assert_int_equal(folio_mapcount(folio), 1);
	assert_true(exclusive_at(&t, H(0)));
	assert_valid(&t);
	/* they lost it, and do not get another in its place */
	assert_int_equal(load(&child, H(0)), -EFAULT);
	assert_int_equal(store(&grandchild, H(0), 1), -EFAULT);
	/* the other page is still there */
	assert_int_equal(read_word(&child, H(1)), 4);
	assert_int_equal(read_word(&grandchild, H(1)), 4);

	/* not even when there are pages again */
	assert_int_equal(pf_munmap(t.mm, H(0), 2 * HUGE), 0);
	assert_pool(1, 0);
	assert_int_equal(load(&child, H(0)), -EFAULT);
	/* nor for a piece that is cut off later */
	assert_int_equal(pf_mprotect(grandchild.mm, H(1), HUGE,
				     PINFOLD_PROT_READ), 0);
	advise(&grandchild, H(1), HUGE, PINFOLD_MADV_DONTNEED);
	assert_int_equal(load(&grandchild, H(1)), -EFAULT);
	assert_valid(&t);
	exit_of(&grandchild);
	exit_of(&child);
	end();
}

/* A pin for reading is a reason to take the page, too. */
static void the_owner_unshares(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	folio = folio_at(H(0));
	child = fork_of(&t);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	assert_ptr_equal(page_folio(pages[0]), folio);
	assert_false(writable_at(&t, H(0)));
	assert_held(1);
	assert_int_equal(load(&child, H(0)), -EFAULT);
	exit_of(&child);
	unpin_user_pages(pages, 1);
	end();
}

/* Nobody serves the child: it has no protection to be asked about. */
static void a_child_is_not_write_protected(void **state)
{
	struct mm_test child;
	pmd_t *pmd;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	pmd = mm_find_pmd(mm_of(t.mm), H(0));
	set_pmd_at(mm_of(t.mm), H(0), pmd,
		   pmd_mkuffd_wp(pmd_wrprotect(pmdp_get(pmd))));
	child = fork_of(&t);
	assert_true(pmd_uffd_wp(leaf_at(&t, H(0))));
	assert_false(pmd_uffd_wp(leaf_at(&child, H(0))));
	exit_of(&child);
	end();
}

static void a_pinned_page_is_copied(void **state)
{
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin(3);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 3);
	folio = folio_at(H(0));
	assert_int_equal(pin_pages(H(0) + PAGES(3), 1, 0), 1);
	child = fork_of(&t);
	/* one that nobody has a right to; the right to the other is kept */
	assert_pool(1, 1);
	assert_ptr_equal(folio_at(H(0)), folio);
	assert_true(writable_at(&t, H(0)));
	assert_ptr_not_equal(page_mapped_at(&child, H(0)), &folio->page);
	assert_true(exclusive_at(&child, H(0)));
	assert_true(writable_at(&child, H(0)));
	write_word(&t, H(0), 4);
	assert_int_equal(read_word(&child, H(0)), 3);
	assert_held(1);
	exit_of(&child);
	unpin_user_pages(pages, 1);
	end();
}

/* What comes back last brings a reservation to who has one. */
static void reservations_of_the_parent(void **state)
{
	struct mm_test child;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 1);
	child = fork_of(&t);
	exit_of(&child);
	assert_pool(1, 1);
	advise(&t, H(0), HUGE, PINFOLD_MADV_DONTNEED);
	assert_pool(2, 2);
	write_word(&t, H(0), 1);
	/* the child goes on with the page that the parent dropped */
	child = fork_of(&t);
	advise(&t, H(0), HUGE, PINFOLD_MADV_DONTNEED);
	assert_pool(1, 1);
	assert_int_equal(read_word(&child, H(0)), 1);
	exit_of(&child);
	assert_pool(2, 1);
	assert_valid(&t);
	/* the area of a child is cut, moved and changed like any other */
	write_word(&t, H(1), 9);
	child = fork_of(&t);
	assert_int_equal(pf_mprotect(child.mm, H(1), HUGE, PINFOLD_PROT_READ),
			 0);
	assert_int_equal(pf_munmap(child.mm, H(0), HUGE), 0);
	assert_int_equal(read_word(&child, H(1)), 9);
	assert_valid(&t);
	exit_of(&child);
	end();
}

/* The parent moves its area away; the place is the same for both. */
static void after_a_move(void **state)
{
	struct mm_test child;
	struct folio *folio;
	pf_addr_t place;

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	folio = folio_at(H(0));
	child = fork_of(&t);
	assert_int_equal(pf_mremap(t.mm, H(0), HUGE, HUGE, TO, FAR, &place), 0);
	assert_valid(&t);
	write_word(&t, FAR, 2);
	assert_ptr_equal(folio_at(FAR), folio);
	assert_int_equal(load(&child, H(0)), -EFAULT);
	assert_valid(&t);
	exit_of(&child);
	end();
}

/* Two sizes side by side are two areas, in the child as well. */
static void gigantic_pages(void **state)
{
	struct mm_test child;
	pf_addr_t place;
	pud_t *pud;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .metadata_only = true,
		.hugetlb_2m_pages = 2, .hugetlb_1g_pages = 3,
	});
	assert_int_equal(pf_mmap(t.mm, BASE, GIGANTIC, RW, HUGETLB |
				 PINFOLD_MAP_HUGE_1GB | PINFOLD_MAP_FIXED |
				 PINFOLD_MAP_POPULATE, &place), 0);
	assert_int_equal(pf_mmap(t.mm, BASE + GIGANTIC, HUGE, RW, HUGETLB |
				 PINFOLD_MAP_FIXED, &place), 0);
	child = fork_of(&t);
	assert_int_equal(mm_of(child.mm)->map_count, 2);
	pud = mm_find_pud(mm_of(child.mm), BASE);
	assert_true(pud_leaf(pudp_get(pud)));
	assert_false(pud_write(pudp_get(pud)));
	assert_int_equal(pud_pfn(pudp_get(pud)),
			 pud_pfn(pudp_get(mm_find_pud(mm_of(t.mm), BASE))));
	assert_valid(&t);
	/* the child's two areas do not merge when they change */
	assert_int_equal(pf_mprotect(child.mm, BASE, GIGANTIC + HUGE,
				     PINFOLD_PROT_READ), 0);
	assert_int_equal(mm_of(child.mm)->map_count, 2);
	exit_of(&child);

	assert_int_equal(pin_pages(BASE + PAGES(5), 1, 0), 1);
	child = fork_of(&t);
	pud = mm_find_pud(mm_of(child.mm), BASE);
	assert_true(pud_write(pudp_get(pud)));
	assert_int_not_equal(pud_pfn(pudp_get(pud)),
			     pud_pfn(pudp_get(mm_find_pud(mm_of(t.mm), BASE))));
	assert_held(1);
	exit_of(&child);
	unpin_user_pages(pages, 1);
	mm_test_end(&t);
}

static void a_poisoned_huge_page(void **state)
{
	struct pf_mm *child = NULL;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 3);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	set_bit(PG_hwpoison, &pages[0][9].flags);
	assert_int_equal(pf_mm_fork(t.mm, &child), -ENOMEM);
	assert_held(1);
	assert_pool(1, 0);
	clear_bit(PG_hwpoison, &pages[0][9].flags);
	unpin_user_pages(pages, 1);
	end();
}

/*
 * One page for the whole family, and a right to it for the parent only: it can
 * store at any time.  Children get the page, or they do not.
 */
struct family {
	u64 until;
	unsigned long stores;	/* of the parent; rounds of the others */
	unsigned long lost;
	int wrong;		/* the line that found it */
	struct backend_thread *thread;
};

static void be_parent(void *arg)
{
	struct family *f = arg;

	while (!f->wrong && clock_ns() < f->until) {
		if (store(&t, H(0), ++f->stores) != 8)
			f->wrong = __LINE__;
	}
}

/* Bytes are not looked at: a reference does not hold them. */
static void be_children(void *arg)
{
	struct family *f = arg;

	while (!f->wrong && clock_ns() < f->until) {
		struct pf_mm *child, *grandchild = NULL;
		struct pf_page *page;
		long ret;

		/* Tables of the dead wait for a grace period. */
		if (pf_mm_fork(t.mm, &child)) {
			rcu_barrier();
			continue;
		}
		ret = pf_get_user_pages_unlocked(child, H(0), 1, &page, 0);
		if (ret == 1)
			pf_put_page(page);
		else
			f->lost++;
		if (f->lost % 4 == 0)
			(void)!pf_mm_fork(child, &grandchild);
		f->stores++;
		pf_mm_destroy(child);
		if (grandchild && pf_pin_user_pages_unlocked(grandchild, H(0),
							     1, &page, 0) == 1)
			pf_unpin_user_page(page);
		pf_mm_destroy(grandchild);
	}
}

static void the_owner_always_stores(void **state)
{
	static void (*const parts[])(void *) = {
		be_parent, be_children, be_children,
	};
	struct family families[ARRAY_SIZE(parts)] = { 0 };

	(void)state;
	begin(1);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		families[i].until = clock_ns() + 400 * 1000000ull;
		assert_int_equal(backend_thread_create(&families[i].thread,
						       parts[i], &families[i]),
				 0);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
		backend_thread_join(families[i].thread);
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		assert_int_equal(families[i].wrong, 0);
		assert_true(families[i].stores > 0);
	}
	print_message("%lu stores, %lu and %lu lost pages\n",
		      families[0].stores, families[1].lost, families[2].lost);
	assert_valid(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_huge_page_is_shared),
		cmocka_unit_test(a_child_has_no_reservation),
		cmocka_unit_test(a_child_cannot_copy),
		cmocka_unit_test(the_owner_takes_the_page),
		cmocka_unit_test(the_owner_unshares),
		cmocka_unit_test(a_child_is_not_write_protected),
		cmocka_unit_test(a_pinned_page_is_copied),
		cmocka_unit_test(reservations_of_the_parent),
		cmocka_unit_test(after_a_move),
		cmocka_unit_test(gigantic_pages),
		cmocka_unit_test(a_poisoned_huge_page),
		cmocka_unit_test(the_owner_always_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
