/* SPDX-License-Identifier: MIT */
/*
 * Claim: each FOLL flag does what it says and no more; entries without a page,
 * poisoned ones and full reference counts are refused and leave no trace; every
 * pin is released once, by whichever function.
 *
 * v1 ... v21, case_B5: the scenarios of that name.
 * Source: mm/gup.c: check_vma_flags(), follow_page_pte(), follow_pmd_mask(),
 *         is_valid_gup_args(), gup_fast_fallback(), unpin_user_pages()
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "mm/gup_internal.h"
#include "mm/swapops.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

#define P(n)		(BASE + PAGES(n))
#define MOST		2048
#define MOST_PINS	(1 << 21)	/* of a small folio */

static struct mm_test t;
static struct machine *m;
static struct page *pages[MOST];
#define handles		((struct pf_page **)pages)

static void begin(unsigned long thp_orders)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .thp_madvise = thp_orders,
	});
	m = machine_of(t.machine);
	current->mm = mm_of(t.mm);
	current->cpu = 1;
}

static void end(void)
{
	current->mm = NULL;
	mm_test_end(&t);
}

static long pin_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_pin_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static long get_pages(pf_addr_t at, unsigned long nr, unsigned int flags)
{
	return pf_get_user_pages_unlocked(t.mm, at, nr, handles, flags);
}

static void put_pages(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		put_page(pages[i]);
}

static void assert_held(unsigned long nr)
{
	struct mm_holds holds = { .pins = pages, .nr_pins = nr };

	assert_int_equal(mm_validate(m, &holds), 0);
}

static void write_pages(u64 first, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		write_word(&t, P(first + i), first + i + 1);
	lru_add_drain_all(m);
}

/* An area of @nr pages that may have folios of the enabled orders. */
static void map_thp(u64 first, u64 nr)
{
	map_at(&t, P(first), nr, RW);
	assert_int_equal(pf_madvise(t.mm, P(first), PAGES(nr),
				    PINFOLD_MADV_HUGEPAGE), 0);
}

static struct folio *folio_at(u64 n)
{
	return page_folio(page_mapped_at(&t, P(n)));
}

static void set_entry(u64 n, pte_t entry)
{
	set_pte_at(mm_of(t.mm), P(n), pte_at(&t, P(n)), entry);
}

static void change_area(u64 n, vm_flags_t set, vm_flags_t clear)
{
	struct vm_area_struct *vma;

	mmap_write_lock(mm_of(t.mm));
	vma = vma_lookup(mm_of(t.mm), P(n));
	vma->vm_flags = (vma->vm_flags & ~clear) | set;
	mmap_write_unlock(mm_of(t.mm));
}

/* As fork leaves a page: somebody else maps it too.  Undone by unshare(). */
static struct folio *share(u64 n)
{
	struct folio *folio = folio_at(n);

	ClearPageAnonExclusive(page_mapped_at(&t, P(n)));
	set_entry(n, pte_wrprotect(entry_at(&t, P(n))));
	folio_get(folio);
	return folio;
}

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

/* ---- counts ----------------------------------------------------------- */

static void v9_pin_and_get(void **state)
{
	struct folio *folio;

	(void)state;
	begin(0);
	map_at(&t, P(0), 1, RW);
	write_pages(0, 1);
	folio = folio_at(0);
	assert_int_equal(folio_ref_count(folio), 1);
	assert_false(folio_maybe_dma_pinned(folio));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pin_pages(P(0), 1, FOLL_WRITE), 1);
		assert_int_equal(folio_ref_count(folio), 1025);
		assert_true(folio_maybe_dma_pinned(folio));
		assert_int_equal(get_pages(P(0), 1, 0), 1);
		assert_int_equal(folio_ref_count(folio), 1026);
		if (i) {
			put_pages(1);
			assert_true(folio_maybe_dma_pinned(folio));
			unpin_user_page(pages[0]);
		} else {
			unpin_user_page(pages[0]);
			assert_false(folio_maybe_dma_pinned(folio));
			put_pages(1);
		}
		assert_int_equal(folio_ref_count(folio), 1);
	}
	end();
}

static void v10_pins_of_a_huge_page_one_by_one(void **state)
{
	struct folio *folio;
	struct random r;

	(void)state;
	random_init(&r);
	begin(BIT(9));
	map_thp(0, 512);
	write_pages(0, 1);
	folio = folio_at(0);
	assert_int_equal(pin_pages(P(0), 512, FOLL_WRITE), 512);
	assert_int_equal(folio_ref_count(folio), 513);
	assert_int_equal(atomic_read(&folio->_pincount), 512);
	for (unsigned long left = 512; left; left--) {
		unsigned long i = random_below(&r, left);

		assert_true(folio_maybe_dma_pinned(folio));
		unpin_user_page(pages[i]);
		pages[i] = pages[left - 1];
		if (left == 256) {
			/* the mapping is split, the pins stay */
			assert_int_equal(pf_mprotect(t.mm, P(3), PAGE_SIZE,
						     PINFOLD_PROT_READ), 0);
			assert_int_equal(folio_ref_count(folio), 512 + 255);
			assert_held(255);
		}
	}
	assert_int_equal(atomic_read(&folio->_pincount), 0);
	assert_int_equal(folio_ref_count(folio), 512);
	assert_false(folio_maybe_dma_pinned(folio));
	assert_valid(&t);
	end();
}

/* 1024 references look like a pin, on a small folio only. */
static void v13_many_references(void **state)
{
	struct folio *small, *large;

	(void)state;
	begin(BIT(9));
	map_at(&t, P(0), 1, RW);
	write_pages(0, 1);
	map_thp(512, 512);
	write_pages(512, 1);
	small = folio_at(0);
	large = folio_at(512);
	for (int i = 0; i < 1022; i++) {
		folio_get(small);
		folio_get(large);
	}
	assert_false(folio_maybe_dma_pinned(small));
	folio_get(small);
	assert_int_equal(folio_ref_count(small), 1024);
	assert_true(folio_maybe_dma_pinned(small));
	assert_false(folio_maybe_dma_pinned(large));
	folio_put_refs(small, 1023);
	folio_put_refs(large, 1022);
	assert_valid(&t);
	end();
}

/*
 * The 2^21st pin makes the count negative; from then on nothing more is given,
 * and it is known to be pinned all along.
 */
static void a_small_folio_s_limit(void **state)
{
	struct folio *folio;
	int full;

	(void)state;
	begin(0);
	map_at(&t, P(0), 3, RW);
	write_pages(0, 3);
	folio = folio_at(1);
	for (long i = 0; i < MOST_PINS - 3; i++)
		if (try_grab_folio(folio, 1, FOLL_PIN))
			assert_true(false);
	for (int i = 3; i > 0; i--) {
		assert_true(folio_ref_count(folio) > 0);
		assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), 1);
		assert_true(folio_maybe_dma_pinned(folio));
	}
	full = folio_ref_count(folio);
	assert_int_equal(full, INT_MIN + 1);
	assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), -ENOMEM);
	assert_int_equal(pin_pages(P(1), 1, FOLL_LONGTERM), -ENOMEM);
	assert_int_equal(get_pages(P(1), 1, 0), -ENOMEM);
	/* around it, up to it */
	assert_int_equal(pin_pages(P(0), 3, FOLL_WRITE), 1);
	unpin_user_page(pages[0]);
	assert_int_equal(folio_ref_count(folio), full);
	assert_true(folio_maybe_dma_pinned(folio));
	assert_int_equal(nr_foll_pin_acquired(m) - nr_foll_pin_released(m),
			 MOST_PINS);
	/* one back, one more */
	unpin_user_page(&folio->page);
	assert_int_equal(pin_pages(P(1), 1, FOLL_WRITE), 1);
	assert_int_equal(folio_ref_count(folio), full);
	/* all at once */
	unpin_user_folio(folio, MOST_PINS);
	assert_int_equal(folio_ref_count(folio), 1);
	assert_false(folio_maybe_dma_pinned(folio));
	assert_valid(&t);
	end();
}

/* A run that was allowed may pass the limit; the next is refused. */
static void a_large_folio_s_limit(void **state)
{
	struct folio *folio;
	int refs;

	(void)state;
	begin(BIT(9));
	map_thp(0, 512);
	write_pages(0, 1);
	folio = folio_at(0);
	folio_ref_add(folio, INT_MAX - 3);
	assert_int_equal(pin_pages(P(0), 100, FOLL_WRITE), 100);
	refs = folio_ref_count(folio);
	assert_true(refs < 0);
	assert_int_equal(pin_pages(P(0), 100, FOLL_WRITE), -ENOMEM);
	assert_int_equal(get_pages(P(0), 100, 0), -ENOMEM);
	assert_int_equal(get_pages(P(511), 3, 0), -ENOMEM);
	assert_int_equal(folio_ref_count(folio), refs);
	assert_int_equal(atomic_read(&folio->_pincount), 100);
	assert_true(folio_maybe_dma_pinned(folio));
	unpin_user_pages(pages, 100);
	assert_false(folio_maybe_dma_pinned(folio));
	folio_put_refs(folio, INT_MAX - 3);
	assert_valid(&t);
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
	return pte_mkspecial(pfn_pte(pfn, vm_get_page_prot(VM_READ)));
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

/* ---- releasing -------------------------------------------------------- */

static void empty_slots_are_skipped(void **state)
{
	struct page *array[12];

	(void)state;
	begin(BIT(2));
	map_thp(0, 8);
	write_pages(0, 8);
	for (int dirty = -1; dirty < 2; dirty++) {
		assert_int_equal(pin_pages(P(0), 8, FOLL_WRITE), 8);
		memset(array, 0, sizeof(array));
		array[1] = pages[0];
		array[3] = pages[1];		/* behind a page, and before */
		array[4] = pages[2];
		array[5] = pages[3];
		array[7] = pages[4];
		array[10] = pages[5];
		if (dirty < 0)
			unpin_user_pages(array, 12);
		else
			unpin_user_pages_dirty_lock(array, 12, dirty);
		unpin_user_pages(pages + 6, 2);
		assert_valid(&t);
	}
	end();
}

static void counts_that_are_errors(void **state)
{
	(void)state;
	begin(0);
	map_at(&t, P(0), 4, RW);
	assert_int_equal(pin_pages(P(0), 4, FOLL_WRITE), 4);
	unpin_user_pages(pages, -EFAULT);
	unpin_user_pages(NULL, (unsigned long)-1);
	unpin_user_pages(pages, 0);
	unpin_user_pages_dirty_lock(pages, -ENOMEM, false);
	unpin_user_pages_dirty_lock(pages, -EINTR, true);
	unpin_folios((struct folio **)pages, -EFAULT);
	assert_held(4);
	unpin_user_pages(pages, 4);
	end();
}

/* Dirty if told so, by whichever function, and clean otherwise. */
static void dirty_releases(void **state)
{
	(void)state;
	begin(BIT(4));
	map_thp(0, 32);
	write_pages(0, 32);
	for (int dirty = 0; dirty < 2; dirty++) {
		folio_clear_dirty(folio_at(0));
		folio_clear_dirty(folio_at(16));
		assert_int_equal(pin_pages(P(4), 20, 0), 20);
		unpin_user_pages_dirty_lock(pages, 20, dirty);
		assert_int_equal(folio_test_dirty(folio_at(0)), dirty);
		assert_int_equal(folio_test_dirty(folio_at(16)), dirty);
		assert_valid(&t);

		folio_clear_dirty(folio_at(0));
		folio_clear_dirty(folio_at(16));
		assert_int_equal(pin_pages(P(4), 20, 0), 20);
		/* across two folios, which are neighbours in memory */
		assert_int_equal(page_to_pfn(pages[19]),
				 page_to_pfn(pages[0]) + 19);
		unpin_user_page_range_dirty_lock(pages[0], 20, dirty);
		assert_int_equal(folio_test_dirty(folio_at(0)), dirty);
		assert_int_equal(folio_test_dirty(folio_at(16)), dirty);
		assert_valid(&t);
	}
	/* a folio that is dirty already is not locked */
	assert_int_equal(pin_pages(P(0), 16, 0), 16);
	assert_true(folio_trylock(folio_at(0)));
	unpin_user_pages_dirty_lock(pages, 16, true);
	folio_unlock(folio_at(0));
	assert_valid(&t);
	end();
}

static void folio_releases(void **state)
{
	struct folio *small, *large, *array[9];
	u64 released;

	(void)state;
	begin(BIT(4));
	map_thp(0, 16);
	write_pages(0, 16);
	map_at(&t, P(100), 1, RW);
	write_pages(100, 1);
	large = folio_at(0);
	small = folio_at(100);

	assert_int_equal(pin_pages(P(0), 16, 0), 16);
	unpin_user_folio(large, 15);
	assert_int_equal(atomic_read(&large->_pincount), 1);
	unpin_folio(large);
	assert_valid(&t);

	assert_int_equal(pin_pages(P(0), 4, 0), 4);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	memset(array, 0, sizeof(array));
	array[0] = large;
	array[2] = large;
	array[3] = large;
	array[4] = small;
	array[5] = small;
	array[7] = large;
	unpin_folios(array, 9);
	assert_valid(&t);

	/* One more on what is pinned already; only the release is counted. */
	assert_int_equal(pin_pages(P(0), 1, 0), 1);
	assert_int_equal(pin_pages(P(100), 1, 0), 1);
	released = nr_foll_pin_released(m);
	folio_add_pin(large);
	folio_add_pin(small);
	assert_int_equal(nr_foll_pin_acquired(m), released + 2);
	assert_int_equal(atomic_read(&large->_pincount), 2);
	assert_int_equal(folio_ref_count(large), 18);
	assert_int_equal(folio_ref_count(small), 1 + 2048);
	unpin_folio(large);
	unpin_folio(large);
	unpin_folio(small);
	unpin_folio(small);
	assert_int_equal(nr_foll_pin_released(m), released + 4);
	assert_int_equal(folio_ref_count(large), 16);
	assert_int_equal(folio_ref_count(small), 1);
	/* what the counter lacks, so that the books close */
	count_pins_acquired(m, 2);
	assert_valid(&t);
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
		cmocka_unit_test(v8_zero_page_ten_million_times),
		cmocka_unit_test(huge_zero_folio_counts),
		cmocka_unit_test(v9_pin_and_get),
		cmocka_unit_test(v10_pins_of_a_huge_page_one_by_one),
		cmocka_unit_test(v13_many_references),
		cmocka_unit_test(a_small_folio_s_limit),
		cmocka_unit_test(a_large_folio_s_limit),
		cmocka_unit_test(v19_no_access),
		cmocka_unit_test(v20_forced_write),
		cmocka_unit_test(anonymous_only),
		cmocka_unit_test(split_pmd),
		cmocka_unit_test(split_huge_zero),
		cmocka_unit_test(v21_dump),
		cmocka_unit_test(dump_asks_the_handler),
		cmocka_unit_test(case_B5),
		cmocka_unit_test(mixed_map),
		cmocka_unit_test(hwpoison),
		cmocka_unit_test(remote_and_retry_flags),
		cmocka_unit_test(empty_slots_are_skipped),
		cmocka_unit_test(counts_that_are_errors),
		cmocka_unit_test(dirty_releases),
		cmocka_unit_test(folio_releases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
