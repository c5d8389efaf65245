/* SPDX-License-Identifier: MIT */
/*
 * Claim: each FOLL flag does what it says and no more, wherever the range lies
 * and however long it is; what may not be asked leaves no trace.
 *
 * v1 ... v7, v19, v20: the scenarios of that name.
 * Source: mm/gup.c: check_vma_flags(), follow_pmd_mask(), faultin_page(),
 *         is_valid_gup_args(), gup_fast_fallback()
 */
#include "tests/gup_flags_test.h"

#include "mm/gup_internal.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

/* ---- ranges ----------------------------------------------------------- */

static void v1_hole_in_the_middle(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	assert_int_equal(pf_munmap(t.mm, P(5), PAGE_SIZE), 0);
	assert_int_equal(get_pages(P(0), 8, 0), 5);
	put_pages(5);
	assert_int_equal(get_pages(P(5), 3, 0), -EFAULT);
	assert_int_equal(pin_pages(P(0), 8, FOLL_WRITE), 5);
	assert_held(5);
	unpin_user_pages(pages, 5);
	assert_int_equal(pin_pages(P(5), 3, FOLL_WRITE), -EFAULT);
	end();
}

static void v2_nothing_at_the_start(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(1), 8, RW);
	assert_int_equal(get_pages(P(0), 8, 0), -EFAULT);
	assert_int_equal(pin_pages(P(0), 8, 0), -EFAULT);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 8, 0, handles),
			 -EFAULT);
	end();
}

static void v3_write_stops_at_read_only(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 3, RW);
	map_at(&t, P(3), 3, PINFOLD_PROT_READ);
	assert_int_equal(pin_pages(P(0), 6, FOLL_WRITE), 3);
	unpin_user_pages(pages, 3);
	assert_int_equal(pin_pages(P(3), 3, FOLL_WRITE), -EFAULT);
	assert_int_equal(pin_pages(P(0), 6, 0), 6);
	unpin_user_pages(pages, 6);
	end();
}

/* Whatever is asked for, what is mapped is what there is. */
static void requests_larger_than_memory(void **state)
{
	static const unsigned long requests[] = {
		101, 1ul << 28, (1ul << 28) + 1, 1ul << 29, 1ul << 31,
		1ul << 36, 1ul << 52, (unsigned long)LONG_MAX, ULONG_MAX,
	};
	const size_t bytes = sizeof(struct page *) << 29;
	struct pf_page **array;

	(void)state;
	begin(0);
	map_at(&t, P(0), 100, RW);
	array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(array, MAP_FAILED);
	for (unsigned int i = 0; i < ARRAY_SIZE(requests); i++) {
		unsigned long nr = requests[i];

		assert_int_equal(pf_pin_user_pages_unlocked(t.mm, P(0), nr,
							    array, FOLL_WRITE),
				 100);
		unpin_user_pages((struct page **)array, 100);
		assert_int_equal(pf_get_user_pages_unlocked(t.mm, P(0), nr,
							    NULL, 0), 100);
		if (nr > INT_MAX)
			continue;
		assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), nr, 0,
							array), 100);
		unpin_user_pages((struct page **)array, 100);
	}
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), INT_MAX, 0, array),
			 100);
	unpin_user_pages((struct page **)array, 100);
	assert_int_equal(munmap(array, bytes), 0);
	assert_valid(&t);
	end();
}

/* ---- what may be asked ------------------------------------------------ */

#define assert_slow(gets, pins, nr, flags) do {				\
	int _locked = 1;						\
	pf_mm_read_lock(t.mm);						\
	assert_int_equal(pf_get_user_pages(t.mm, P(0), (nr), (flags),	\
					   handles), (gets));		\
	assert_int_equal(pf_get_user_pages_remote(t.mm, P(0), (nr),	\
			 (flags), handles, &_locked), (gets));		\
	assert_int_equal(pf_pin_user_pages(t.mm, P(0), (nr), (flags),	\
					   handles), (pins));		\
	assert_int_equal(pf_pin_user_pages_remote(t.mm, P(0), (nr),	\
			 (flags), handles, &_locked), (pins));		\
	pf_mm_read_unlock(t.mm);					\
	assert_int_equal(get_pages(P(0), (nr), (flags)), (gets));	\
	assert_int_equal(pin_pages(P(0), (nr), (flags)), (pins));	\
} while (0)

static void assert_fast_refused(unsigned int flags, int nr)
{
	assert_int_equal(pf_get_user_pages_fast(t.mm, P(0), nr, flags, handles),
			 -EINVAL);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(0), nr, flags,
						     handles), -EINVAL);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), nr, flags, handles),
			 -EINVAL);
}

static void v4_flags_that_do_not_go_together(void **state)
{
	static const unsigned int internal[] = {
		FOLL_TOUCH, FOLL_TRIED, FOLL_REMOTE, FOLL_PIN, FOLL_FAST_ONLY,
		FOLL_UNLOCKABLE, FOLL_MADV_POPULATE,
	};

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	write_pages(0, 8);
	for (unsigned int i = 0; i < ARRAY_SIZE(internal); i++) {
		assert_slow(-EINVAL, 0, 2, internal[i]);
		assert_slow(-EINVAL, 0, 0, internal[i]);
		assert_fast_refused(internal[i], 2);
		assert_fast_refused(internal[i], 0);
	}
	assert_slow(-EINVAL, 0, 2, FOLL_LONGTERM | FOLL_PCI_P2PDMA);
	assert_slow(-EINVAL, 0, 2, FOLL_LONGTERM | FOLL_GET);
	assert_fast_refused(FOLL_LONGTERM | FOLL_PCI_P2PDMA, 2);
	assert_fast_refused(FOLL_LONGTERM | FOLL_GET, 2);
	assert_int_equal(get_pages(P(0), 2, FOLL_LONGTERM), -EINVAL);
	assert_int_equal(pin_pages(P(0), 2, FOLL_GET), 0);
	assert_int_equal(pf_get_user_pages_fast(t.mm, P(0), 2, FOLL_LONGTERM,
						handles), -EINVAL);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 2, FOLL_GET,
						handles), -EINVAL);
	assert_non_null(strstr(pf_error_text(), "FOLL flags"));
	assert_int_equal(nr_foll_pin_acquired(m), 0);
	assert_false(test_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags));
	assert_valid(&t);
	end();
}

static void v5_flags_that_are_not_fast(void **state)
{
	static const unsigned int slow[] = {
		FOLL_NOWAIT, FOLL_HWPOISON, FOLL_ANON, FOLL_SPLIT_PMD,
		FOLL_INTERRUPTIBLE, FOLL_DUMP, 0x2000, 0x4000, 0x8000,
		1u << 31,
	};
	static const unsigned int fast[] = {
		FOLL_WRITE, FOLL_FORCE, FOLL_NOFAULT, FOLL_PCI_P2PDMA,
		FOLL_HONOR_NUMA_FAULT,
	};

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	write_pages(0, 8);
	for (unsigned int i = 0; i < ARRAY_SIZE(slow); i++) {
		assert_fast_refused(slow[i], 2);
		assert_fast_refused(slow[i] | FOLL_WRITE, 0);
		assert_fast_refused(slow[i], -1);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(fast); i++) {
		assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 8, fast[i],
							handles), 8);
		assert_held(8);
		unpin_user_pages(pages, 8);
		assert_int_equal(pf_get_user_pages_fast(t.mm, P(0), 8, fast[i],
							handles), 8);
		put_pages(8);
		assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 0, fast[i],
							handles), 0);
		assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), INT_MIN,
							fast[i], handles), 0);
	}
	end();
}

static void fast_ranges(void **state)
{
	const pf_addr_t top = TASK_SIZE_MAX;

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	/* nothing is asked for, so nothing is marked */
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 0, 0, handles), 0);
	assert_false(test_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags));
	/* the last page is a user's, wherever in it the range begins */
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, top - PAGE_SIZE, 1,
						     0, handles), 0);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, top - PAGE_SIZE + 5,
						     1, 0, handles), 0);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, top, 1, 0, handles),
			 -EFAULT);
	/* set before the range was looked at */
	assert_true(test_bit(MMF_HAS_PINNED, &mm_of(t.mm)->flags));
	assert_int_equal(pf_pin_user_pages_fast(t.mm, top - PAGE_SIZE, 2, 0,
						handles), -EFAULT);
	assert_int_equal(pf_get_user_pages_fast(t.mm, ~0ull & PAGE_MASK, 1, 0,
						handles), -EOVERFLOW);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, ~0ull, 2, 0,
						     handles), -EOVERFLOW);
	/* the start is rounded down */
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(1) + 5, 8, FOLL_WRITE,
						handles), 7);
	assert_ptr_equal(pages[0], page_mapped_at(&t, P(1)));
	unpin_user_pages(pages, 7);
	end();
}

static void arrays_that_are_not_there(void **state)
{
	int locked = 1;

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	pf_mm_read_lock(t.mm);
	assert_int_equal(pf_pin_user_pages(t.mm, P(0), 8, 0, NULL), 0);
	assert_int_equal(pf_pin_user_pages_remote(t.mm, P(0), 8, 0, NULL,
						  &locked), 0);
	assert_int_equal(pf_get_user_pages(t.mm, P(0), 8, FOLL_GET, NULL),
			 -EINVAL);
	assert_int_equal(pf_get_user_pages(t.mm, P(0), 2, FOLL_WRITE, NULL), 2);
	assert_int_equal(pf_get_user_pages_remote(t.mm, P(2), 2, FOLL_WRITE,
						  NULL, &locked), 2);
	pf_mm_read_unlock(t.mm);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, P(0), 8, NULL, 0), 0);
	assert_int_equal(pf_get_user_pages_unlocked(t.mm, P(4), 2, NULL,
						    FOLL_WRITE), 2);
	assert_int_equal(pf_get_user_pages_fast(t.mm, P(0), 8, 0, NULL),
			 -EINVAL);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(0), 8, 0, NULL),
			 -EINVAL);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 8, 0, NULL),
			 -EINVAL);
	/* populated, and nothing is held */
	for (u64 i = 0; i < 8; i++)
		assert_int_equal(resident_at(&t, P(i)), i < 6);
	assert_valid(&t);
	end();
}

/* ---- without faults --------------------------------------------------- */

/* As fork leaves a page: somebody else maps it too.  Undone by unshare(). */
static struct folio *share(u64 n)
{
	struct folio *folio = folio_at(n);

	ClearPageAnonExclusive(page_mapped_at(&t, P(n)));
	set_entry(n, pte_wrprotect(entry_at(&t, P(n))));
	folio_get(folio);
	return folio;
}

static void v6_nofault(void **state)
{
	struct folio *folio;

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	assert_int_equal(pin_pages(P(0), 1, FOLL_NOFAULT), -EFAULT);
	assert_int_equal(get_pages(P(0), 1, FOLL_NOFAULT), -EFAULT);
	write_pages(0, 3);
	assert_int_equal(pin_pages(P(0), 8, FOLL_NOFAULT), 3);
	unpin_user_pages(pages, 3);
	/* shared: GET may have it, PIN would have to unshare it */
	folio = share(1);
	assert_int_equal(pin_pages(P(1), 1, FOLL_NOFAULT), -EFAULT);
	assert_int_equal(pin_pages(P(1), 1, FOLL_NOFAULT | FOLL_WRITE),
			 -EFAULT);
	assert_int_equal(pin_pages(P(0), 3, FOLL_NOFAULT), 1);
	unpin_user_pages(pages, 1);
	assert_int_equal(get_pages(P(0), 3, FOLL_NOFAULT), 3);
	put_pages(3);
	/* without the flag the pin gets a page of its own */
	assert_int_equal(pin_pages(P(1), 1, 0), 1);
	assert_ptr_not_equal(page_folio(pages[0]), folio);
	unpin_user_page(pages[0]);
	folio_put(folio);
	end();
}

static void v7_fast_only(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 2, RW);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(0), 2, 0, handles),
			 0);
	assert_int_equal(read_word(&t, P(0)), 0);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(0), 2, 0, handles),
			 0);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(0), 2, FOLL_WRITE,
						     handles), 0);
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, P(100), 2, 0,
						     handles), 0);
	end();
}

/* ---- protection ------------------------------------------------------- */

static void v19_no_access(void **state)
{
	(void)state;
	begin(BIT(9));
	map_at(&t, P(0), 4, RW);
	map_thp(512, 512);
	write_pages(0, 2);
	write_pages(512, 1);
	assert_int_equal(pf_mprotect(t.mm, P(0), PAGES(4), PINFOLD_PROT_NONE),
			 0);
	assert_int_equal(pf_mprotect(t.mm, P(512), PAGES(512),
				     PINFOLD_PROT_NONE), 0);
	for (u64 at = 0; at <= 512; at += 512) {
		assert_int_equal(pin_pages(P(at), 2, 0), -EFAULT);
		assert_int_equal(pin_pages(P(at), 2, FOLL_WRITE), -EFAULT);
		assert_int_equal(pin_pages(P(at), 2, FOLL_FORCE), 2);
		assert_ptr_equal(pages[0], page_mapped_at(&t, P(at)));
		assert_held(2);
		unpin_user_pages(pages, 2);
		assert_int_equal(get_pages(P(at), 2, FOLL_FORCE |
					   FOLL_HONOR_NUMA_FAULT), 2);
		put_pages(2);
	}
	/* not there yet: forced in */
	assert_int_equal(pin_pages(P(2), 2, FOLL_FORCE), 2);
	unpin_user_pages(pages, 2);
	/* and may not be read even so */
	change_area(0, 0, VM_MAYREAD);
	assert_int_equal(pin_pages(P(0), 2, FOLL_FORCE), -EFAULT);
	change_area(0, VM_MAYREAD, 0);
	end();
}

/* A private page of its own; the area's user still may not write. */
static void v20_forced_write(void **state)
{
	u64 word = 77;

	(void)state;
	begin(0);
	map_at(&t, P(0), 4, PINFOLD_PROT_READ);
	assert_int_equal(read_word(&t, P(0)), 0);
	assert_int_equal(pin_pages(P(0), 2, FOLL_WRITE), -EFAULT);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin_pages(P(0), 2, FOLL_WRITE | FOLL_FORCE),
				 2);
		assert_ptr_not_equal(pages[0], m->zero_page);
		assert_ptr_equal(pages[0], page_mapped_at(&t, P(0)));
		assert_false(pte_write(entry_at(&t, P(0))));
		assert_true(pte_dirty(entry_at(&t, P(0))));
		*(u64 *)page_address(pages[0]) = word;
		assert_held(2);
		unpin_user_pages_dirty_lock(pages, 2, true);
		assert_int_equal(read_word(&t, P(0)), word);
	}
	assert_int_equal(pf_write(t.mm, P(0), &word, sizeof(word)), -EFAULT);
	assert_int_equal(pf_access_remote(t.mm, P(1), &word, sizeof(word),
					  FOLL_WRITE), 0);
	assert_int_equal(pf_access_remote(t.mm, P(1), &word, sizeof(word),
					  FOLL_WRITE | FOLL_FORCE),
			 sizeof(word));
	assert_int_equal(read_word(&t, P(1)), word);
	/* shared memory would be changed for everybody */
	change_area(0, VM_MAYSHARE | VM_SHARED, 0);
	assert_int_equal(pin_pages(P(0), 2, FOLL_WRITE | FOLL_FORCE), -EFAULT);
	change_area(0, 0, VM_MAYSHARE | VM_SHARED);
	/* and what can never be written has no copy-on-write to break */
	change_area(0, 0, VM_MAYWRITE);
	assert_int_equal(pin_pages(P(0), 2, FOLL_WRITE | FOLL_FORCE), -EFAULT);
	change_area(0, VM_MAYWRITE, 0);
	end();
}

static void anonymous_only(void **state)
{
	static const struct vm_operations_struct ops = { 0 };
	struct vm_area_struct *vma;

	(void)state;
	begin(0);
	map_at(&t, P(0), 4, RW);
	write_pages(0, 4);
	assert_int_equal(pin_pages(P(0), 4, FOLL_ANON), 4);
	unpin_user_pages(pages, 4);
	vma = vma_first(mm_of(t.mm));
	vma->vm_ops = &ops;
	assert_int_equal(pin_pages(P(0), 4, FOLL_ANON), -EFAULT);
	assert_int_equal(pin_pages(P(0), 4, 0), 4);
	unpin_user_pages(pages, 4);
	vma->vm_ops = NULL;
	end();
}

/* ---- SPLIT_PMD -------------------------------------------------------- */

static void split_pmd(void **state)
{
	struct folio *folio;

	(void)state;
	begin(BIT(9));
	map_thp(0, 1024);
	write_pages(0, 1);
	write_pages(512, 1);
	folio = folio_at(0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin_pages(P(100), 300, FOLL_SPLIT_PMD), 300);
		assert_true(pmd_none(leaf_at(&t, P(0))));
		/* the folio is not split, the other leaf not touched */
		assert_int_equal(folio_order(folio), 9);
		assert_int_equal(folio_ref_count(folio), 512 + 300);
		assert_false(pmd_none(leaf_at(&t, P(512))));
		for (unsigned int k = 0; k < 300; k++)
			assert_ptr_equal(pages[k], folio_page(folio, 100 + k));
		assert_held(300);
		unpin_user_pages(pages, 300);
	}
	assert_int_equal(get_pages(P(500), 100, FOLL_SPLIT_PMD | FOLL_WRITE),
			 100);
	assert_true(pmd_none(leaf_at(&t, P(512))));
	put_pages(100);
	assert_valid(&t);
	end();
}

static void split_huge_zero(void **state)
{
	(void)state;
	begin(BIT(9));
	map_thp(0, 512);
	assert_int_equal(read_word(&t, P(0)), 0);
	assert_int_equal(pin_pages(P(1), 5, FOLL_SPLIT_PMD), 5);
	assert_ptr_equal(pages[4], m->zero_page);
	assert_int_equal(nr_foll_pin_acquired(m), 0);
	unpin_user_pages(pages, 5);
	assert_valid(&t);
	end();
}

/* ---- what the fault is told ------------------------------------------- */

static unsigned int fault_flags;

static vm_fault_t note_flags(void *arg __maybe_unused,
			     struct vm_area_struct *vma __maybe_unused,
			     pf_addr_t address __maybe_unused,
			     unsigned int flags)
{
	fault_flags = flags;
	return VM_FAULT_SIGBUS;
}

#define assert_told(call, flags) do {					\
	fault_flags = ~0u;						\
	assert_int_equal((call), -EFAULT);				\
	assert_int_equal(fault_flags, (flags));				\
} while (0)

static void remote_and_retry_flags(void **state)
{
	const unsigned int retry = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE;
	int locked = 1;

	(void)state;
	begin(0);
	map_at(&t, P(0), 8, RW);
	current->fault_hook = note_flags;
	pf_mm_read_lock(t.mm);
	assert_told(pf_pin_user_pages(t.mm, P(0), 1, 0, handles), 0);
	assert_told(pf_get_user_pages(t.mm, P(0), 1, FOLL_WRITE, handles),
		    FAULT_FLAG_WRITE);
	assert_told(pf_get_user_pages_remote(t.mm, P(0), 1, 0, handles, NULL),
		    FAULT_FLAG_REMOTE);
	assert_told(pf_pin_user_pages_remote(t.mm, P(0), 1, FOLL_WRITE, handles,
					     &locked),
		    FAULT_FLAG_REMOTE | FAULT_FLAG_WRITE | retry);
	pf_mm_read_unlock(t.mm);
	assert_told(pin_pages(P(0), 1, 0), retry);
	assert_told(pin_pages(P(0), 1, FOLL_INTERRUPTIBLE),
		    retry | FAULT_FLAG_INTERRUPTIBLE);
	assert_told(pf_pin_user_pages_fast(t.mm, P(0), 1, 0, handles), retry);
	assert_told(get_pages(P(0), 1, FOLL_NOWAIT), retry |
		    FAULT_FLAG_RETRY_NOWAIT);
	current->fault_hook = NULL;
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v1_hole_in_the_middle),
		cmocka_unit_test(v2_nothing_at_the_start),
		cmocka_unit_test(v3_write_stops_at_read_only),
		cmocka_unit_test(requests_larger_than_memory),
		cmocka_unit_test(v4_flags_that_do_not_go_together),
		cmocka_unit_test(v5_flags_that_are_not_fast),
		cmocka_unit_test(fast_ranges),
		cmocka_unit_test(arrays_that_are_not_there),
		cmocka_unit_test(v6_nofault),
		cmocka_unit_test(v7_fast_only),
		cmocka_unit_test(v19_no_access),
		cmocka_unit_test(v20_forced_write),
		cmocka_unit_test(anonymous_only),
		cmocka_unit_test(split_pmd),
		cmocka_unit_test(split_huge_zero),
		cmocka_unit_test(remote_and_retry_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
