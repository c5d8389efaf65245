/* SPDX-License-Identifier: MIT */
/*
 * Claim: entries that map no page of the area's own - the zero pages, raw
 * frames, poison, none at all - are pinned, dumped or refused as what they are,
 * and leave no trace.
 *
 * v8, v21, case_B5: the scenarios of that name.
 * Source: mm/gup.c: follow_page_pte(), follow_pfn_pte(), no_page_table(),
 *         get_dump_page(), check_vma_flags()
 */
#include "tests/gup_flags_test.h"

#include "mm/swapops.h"

#include <errno.h>

/* ---- zero page, both kinds -------------------------------------------- */

static void v8_zero_page_ten_million_times(void **state)
{
	enum { NR = 500 };
	int refs;

	(void)state;
	begin(0);
	map_at(&t, P(0), NR, RW);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(NR),
				    PINFOLD_MADV_POPULATE_READ), 0);
	refs = folio_ref_count(page_folio(m->zero_page));
	pf_mm_read_lock(t.mm);
	for (unsigned int i = 0; i < 10000000 / NR; i++) {
		if (pf_pin_user_pages(t.mm, P(0), NR, 0, handles) != NR)
			assert_true(false);
		/* every second time forgotten: it makes no difference */
		if (i & 1)
			unpin_user_pages(pages, NR);
	}
	pf_mm_read_unlock(t.mm);
	assert_ptr_equal(pages[NR - 1], m->zero_page);
	assert_int_equal(folio_ref_count(page_folio(m->zero_page)), refs);
	assert_int_equal(nr_foll_pin_acquired(m), 0);
	assert_int_equal(nr_foll_pin_released(m), 0);
	unpin_user_page(m->zero_page);
	unpin_user_pages_dirty_lock(pages, NR, false);
	folio_add_pin(page_folio(m->zero_page));
	assert_int_equal(folio_ref_count(page_folio(m->zero_page)), refs);
	/* references do count */
	assert_int_equal(get_pages(P(0), 9, 0), 9);
	assert_int_equal(folio_ref_count(page_folio(m->zero_page)), refs + 9);
	put_pages(9);
	assert_valid(&t);
	end();
}

/* It is a large folio like any other. */
static void huge_zero_folio_counts(void **state)
{
	struct folio *zero;

	(void)state;
	begin(BIT(9));
	map_thp(0, 512);
	assert_int_equal(read_word(&t, P(0)), 0);
	zero = m->huge_zero_folio;
	assert_int_equal(pin_pages(P(10), 100, 0), 100);
	assert_ptr_equal(page_folio(pages[0]), zero);
	assert_int_equal(atomic_read(&zero->_pincount), 100);
	assert_int_equal(nr_foll_pin_acquired(m), 100);
	assert_held(100);
	unpin_user_pages(pages, 100);
	assert_valid(&t);
	end();
}

/* ---- DUMP ------------------------------------------------------------- */

static struct pf_page *dump(u64 n)
{
	struct pf_page *page = NULL;
	int ret = pf_get_dump_page(t.mm, P(n), &page);

	assert_int_equal(ret, page != NULL);
	return page;
}

static void v21_dump(void **state)
{
	unsigned long used;
	u64 tables;

	(void)state;
	begin(BIT(9));
	map_at(&t, P(0), 8, RW);
	map_thp(1024, 1024);
	/* an area without any table */
	tables = atomic64_read(&mm_of(t.mm)->pgtables);
	used = nr_used_pages(m);
	assert_null(dump(0));
	assert_null(dump(1024));
	assert_null(dump(5000));
	assert_int_equal(atomic64_read(&mm_of(t.mm)->pgtables), tables);
	assert_int_equal(nr_used_pages(m), used);

	write_pages(2, 1);
	assert_int_equal(read_word(&t, P(3)), 0);
	assert_int_equal(read_word(&t, P(1024)), 0);
	write_pages(1536, 1);
	folio_clear_referenced(folio_at(2));
	tables = atomic64_read(&mm_of(t.mm)->pgtables);
	used = nr_used_pages(m);
	assert_null(dump(0));			/* none, in a table */
	assert_ptr_equal(dump(2), page_mapped_at(&t, P(2)));
	assert_null(dump(3));			/* zero page */
	assert_null(dump(1024 + 5));		/* huge zero folio */
	assert_ptr_equal(dump(1536 + 5), page_mapped_at(&t, P(1536 + 5)));
	pf_put_page((struct pf_page *)page_mapped_at(&t, P(2)));
	pf_put_page((struct pf_page *)page_mapped_at(&t, P(1536 + 5)));
	assert_int_equal(atomic64_read(&mm_of(t.mm)->pgtables), tables);
	assert_int_equal(nr_used_pages(m), used);
	/* neither accessed nor dirty for having been dumped */
	assert_false(folio_test_referenced(folio_at(2)));

	/* protection is overridden */
	assert_int_equal(pf_mprotect(t.mm, P(0), PAGES(8), PINFOLD_PROT_NONE),
			 0);
	assert_ptr_equal(dump(2), page_mapped_at(&t, P(2)));
	pf_put_page((struct pf_page *)page_mapped_at(&t, P(2)));
	assert_null(dump(3));
	assert_null(dump(0));
	assert_valid(&t);
	end();
}

static unsigned int nr_faults;

static vm_fault_t no_fault_hook(void *arg __maybe_unused,
				struct vm_area_struct *vma __maybe_unused,
				pf_addr_t address __maybe_unused,
				unsigned int flags)
{
	nr_faults++;
	assert_int_equal(flags & FAULT_FLAG_ALLOW_RETRY, 0);
	return VM_FAULT_SIGBUS;
}

static vm_fault_t file_fault(struct vm_fault *vmf __maybe_unused)
{
	BUG();
}

/* What is not there may be in a file; only the handler knows. */
static void dump_asks_the_handler(void **state)
{
	static const struct vm_operations_struct none = { 0 };
	static const struct vm_operations_struct file = { .fault = file_fault };
	struct vm_area_struct *vma;

	(void)state;
	begin(0);
	map_at(&t, P(0), 4, RW);
	vma = vma_first(mm_of(t.mm));
	current->fault_hook = no_fault_hook;
	nr_faults = 0;
	assert_null(dump(0));
	vma->vm_ops = &none;
	assert_null(dump(0));
	assert_int_equal(nr_faults, 0);
	vma->vm_ops = &file;
	assert_null(dump(0));
	assert_int_equal(nr_faults, 1);
	vma->vm_ops = NULL;
	/* an entry that is not present is no hole */
	current->fault_hook = NULL;
	write_pages(1, 1);
	set_entry(2, swp_entry_to_pte(swp_entry(1, 5)));
	current->fault_hook = no_fault_hook;
	assert_null(dump(2));
	assert_int_equal(nr_faults, 2);
	current->fault_hook = NULL;
	end();
}

/* ---- entries without a page ------------------------------------------- */

static pte_t raw_entry(pf_pfn_t pfn)
{
	return pte_mkold(pte_mkspecial(pfn_pte(pfn,
					       vm_get_page_prot(VM_READ))));
}

/* An area of raw frames, beside one of ordinary pages. */
static void case_B5(void **state)
{
	static const unsigned int flags[] = {
		0, FOLL_WRITE, FOLL_FORCE, FOLL_WRITE | FOLL_FORCE,
		FOLL_NOFAULT, FOLL_LONGTERM, FOLL_LONGTERM | FOLL_WRITE,
	};
	static const vm_flags_t kinds[] = { VM_PFNMAP, VM_IO,
		VM_PFNMAP | VM_IO };

	(void)state;
	begin(0);
	map_at(&t, P(0), 4, RW);
	map_at(&t, P(4), 4, RW | PINFOLD_PROT_EXEC);
	write_pages(0, 4);
	for (unsigned int k = 0; k < ARRAY_SIZE(kinds); k++) {
		change_area(4, kinds[k], 0);
		set_entry(4, raw_entry(5));
		for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
			assert_int_equal(pin_pages(P(4), 4, flags[i]), -EFAULT);
			assert_int_equal(pin_pages(P(0), 8, flags[i]), 4);
			assert_ptr_equal(pages[3], page_mapped_at(&t, P(3)));
			unpin_user_pages(pages, 4);
			assert_int_equal(pf_pin_user_pages_fast(t.mm, P(4), 1,
								flags[i],
								handles),
					 -EFAULT);
		}
		assert_null(dump(4));
		assert_int_equal(pf_get_user_pages_unlocked(t.mm, P(0), 8, NULL,
							    0), 4);
		set_entry(4, __pte(0));
		change_area(4, 0, kinds[k]);
	}
	end();
}

/* A raw frame between ordinary pages: it has no descriptor to give. */
static void mixed_map(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	write_pages(0, 8);
	change_area(0, VM_MIXEDMAP, 0);
	assert_int_equal(pf_madvise(t.mm, P(3), PAGES(2),
				    PINFOLD_MADV_DONTNEED), 0);
	set_entry(3, raw_entry(5));
	set_entry(4, raw_entry(7));
	/* the form that touches nothing */
	pf_mm_read_lock(t.mm);
	assert_int_equal(pf_pin_user_pages(t.mm, P(3), 1, 0, handles), -EEXIST);
	pf_mm_read_unlock(t.mm);
	assert_false(pte_young(entry_at(&t, P(3))));
	assert_int_equal(pin_pages(P(0), 8, 0), 3);
	unpin_user_pages(pages, 3);
	assert_int_equal(pin_pages(P(3), 5, 0), -EEXIST);
	assert_int_equal(get_pages(P(4), 1, 0), -EEXIST);
	assert_true(pte_young(entry_at(&t, P(3))));
	assert_false(pte_dirty(entry_at(&t, P(3))));
	assert_int_equal(pin_pages(P(5), 3, 0), 3);
	unpin_user_pages(pages, 3);
	/* without an array it counts as a page */
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, P(0), 8, NULL, 0), 8);
	/* it cannot be written, and has no copy to be made */
	assert_int_equal(pin_pages(P(3), 1, FOLL_WRITE), -EFAULT);
	/* where it may be, it is seen as written */
	set_entry(4, pte_mkwrite_novma(raw_entry(7)));
	assert_int_equal(get_pages(P(4), 1, FOLL_WRITE), -EEXIST);
	assert_true(pte_young(entry_at(&t, P(4))));
	assert_true(pte_dirty(entry_at(&t, P(4))));
	assert_null(dump(3));
	set_entry(3, __pte(0));
	set_entry(4, __pte(0));
	change_area(0, 0, VM_MIXEDMAP);
	assert_valid(&t);
	end();
}

/* ---- poison ----------------------------------------------------------- */

static void hwpoison(void **state)
{
	const swp_entry_t kinds[] = {
		swp_entry(SWP_HWPOISON, 2000),
		swp_entry(SWP_PTE_MARKER, PTE_MARKER_POISONED),
	};

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	write_pages(0, 4);
	assert_int_equal(pf_madvise(t.mm, P(2), PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_entry(2, swp_entry_to_pte(kinds[i]));
		assert_int_equal(pin_pages(P(2), 1, 0), -EFAULT);
		assert_int_equal(pin_pages(P(2), 1, FOLL_HWPOISON),
				 -EHWPOISON);
		assert_int_equal(get_pages(P(2), 1, FOLL_HWPOISON | FOLL_WRITE),
				 -EHWPOISON);
		assert_int_equal(pin_pages(P(2), 1, FOLL_HWPOISON |
					   FOLL_NOFAULT), -EFAULT);
		/* a short count hides either */
		assert_int_equal(pin_pages(P(0), 4, 0), 2);
		unpin_user_pages(pages, 2);
		assert_int_equal(pin_pages(P(0), 4, FOLL_HWPOISON), 2);
		unpin_user_pages(pages, 2);
		assert_int_equal(pf_madvise(t.mm, P(0), PAGES(4),
					    PINFOLD_MADV_POPULATE_READ),
				 -EHWPOISON);
		assert_null(dump(2));
	}
	/* no other reason gives that errno */
	set_entry(2, swp_entry_to_pte(swp_entry(1, 5)));
	assert_int_equal(pin_pages(P(2), 1, FOLL_HWPOISON), -EFAULT);
	set_entry(2, __pte(0));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v8_zero_page_ten_million_times),
		cmocka_unit_test(huge_zero_folio_counts),
		cmocka_unit_test(v21_dump),
		cmocka_unit_test(dump_asks_the_handler),
		cmocka_unit_test(case_B5),
		cmocka_unit_test(mixed_map),
		cmocka_unit_test(hwpoison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
