/* SPDX-License-Identifier: MIT */
/*
 * Claim: files of huge pages are mapped, shared, copied, cut and pinned as Linux
 * does, and the pool's counts say at each step what is in use and promised.
 *
 * case_H6, case_H12 (one after the other; at once: the scenarios
 * hugetlb_fault_vs_punch and hugetlb_cow_vs_truncate), case_I4.
 * Source: fs/hugetlbfs/inode.c, mm/hugetlb.c, mm/gup.c:memfd_pin_folios()
 */
#include "tests/hugetlb_file_test.h"

#include "mm/gup_internal.h"

#define WRITE		PINFOLD_FOLL_WRITE
#define LONGTERM	PINFOLD_FOLL_LONGTERM

static struct mm_test fork_here(void)
{
	struct mm_test child = t;

	assert_int_equal(pf_mm_fork(t.mm, &child.mm), 0);
	return child;
}

static long pin_folios(struct pf_file *file, u64 first, u64 bytes, u64 *offset)
{
	return pf_memfd_pin_folios(file, (int64_t)first,
				   (int64_t)(first + bytes - 1), handles, 8,
				   offset);
}

/* ---- faults --------------------------------------------------------------- */

static void shared_areas_see_one_page(void **state)
{
	struct pf_file *file;
	struct mm_test child;
	struct folio *folio;

	(void)state;
	begin(4);
	file = huge_file(4);
	assert_pool(4, 0);
	map_file(H(0), file, 1, 3, RW, SHARED);
	assert_pool(4, 3);
	/* A hole is read without a page. */
	assert_int_equal(file_word(file, 2 * HUGE + 8), 0);
	assert_pool(4, 3);
	assert_int_equal(read_word(&t, H(1) + 8), 0);
	assert_pool(3, 2);
	folio = cached(file, 2);
	assert_ptr_equal(folio_at(H(1)), folio);
	assert_int_equal(folio->index, 2 * HPAGE_PMD_NR);
	assert_int_equal(folio_ref_count(folio), HPAGE_PMD_NR + 1);
	assert_true(pmd_write(leaf_at(&t, H(1))));
	write_word(&t, H(1) + 8, 7);
	assert_int_equal(file_word(file, 2 * HUGE + 8), 7);

	child = fork_here();
	assert_null(page_mapped_at(&child, H(1)));
	write_word(&child, H(1) + 16, 8);
	assert_ptr_equal(page_folio(page_mapped_at(&child, H(1))), folio);
	assert_int_equal(folio_mapcount(folio), 2);
	assert_int_equal(read_word(&t, H(1) + 16), 8);
	/* Who comes first takes what is promised to the place. */
	write_word(&child, H(0), 9);
	assert_pool(2, 1);
	assert_int_equal(read_word(&t, H(0)), 9);
	assert_valid(&t);
	pf_mm_destroy(child.mm);
	assert_int_equal(folio_mapcount(folio), 1);
	assert_int_equal(pf_munmap(t.mm, H(0), 3 * HUGE), 0);
	assert_int_equal(folio_ref_count(folio), HPAGE_PMD_NR);
	assert_int_equal(file_word(file, 2 * HUGE + 16), 8);
	assert_pool(2, 1);
	test_done(file);
}

static void private_areas_copy(void **state)
{
	struct pf_file *file;

	(void)state;
	begin(6);
	file = huge_file(2);
	map_file(H(8), file, 0, 1, RW, SHARED);
	write_word(&t, H(8), 1);
	assert_pool(5, 0);
	map_file(H(0), file, 0, 2, RW, PRIVATE);
	assert_pool(5, 2);
	/* To read: the file's own page; the promise is for a copy. */
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_ptr_equal(folio_at(H(0)), cached(file, 0));
	assert_false(pmd_write(leaf_at(&t, H(0))));
	assert_pool(5, 2);
	write_word(&t, H(0), 2);
	assert_pool(4, 1);
	assert_true(folio_test_anon(folio_at(H(0))));
	assert_int_equal(file_word(file, 0), 1);
	/* Dropped, the file's page is there again, and the promise. */
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	assert_pool(5, 2);
	assert_int_equal(read_word(&t, H(0)), 1);
	/* A write at once copies at once. */
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	write_word(&t, H(0) + 8, 3);
	assert_int_equal(read_word(&t, H(0)), 1);
	/* Of a hole, the area's own page even to read. */
	assert_int_equal(read_word(&t, H(1)), 0);
	assert_true(folio_test_anon(folio_at(H(1))));
	assert_null(cached(file, 1));
	assert_pool(3, 0);
	/* A hole in the file takes no copies away (Differs). */
	punch(file, 0, 2);
	assert_int_equal(read_word(&t, H(0) + 8), 3);
	assert_int_equal(file_word(file, 0), 0);
	test_done(file);
}

static void a_copy_needs_a_page(void **state)
{
	struct pf_file *file;
	u64 word = 5;

	(void)state;
	begin(2);
	file = huge_file(1);
	map_file(H(0), file, 0, 1, RW, SHARED);
	write_word(&t, H(0), 1);
	map_file(H(1), file, 0, 1, RW, PRIVATE | PINFOLD_MAP_NORESERVE);
	assert_int_equal(read_word(&t, H(1)), 1);
	/* The other page is promised to somebody. */
	map_huge(H(2), 1, RW);
	assert_pool(1, 1);
	assert_int_equal(pf_write(t.mm, H(1), &word, sizeof(word)), -EFAULT);
	assert_int_equal(read_word(&t, H(1)), 1);
	assert_int_equal(file_word(file, 0), 1);
	assert_int_equal(pf_munmap(t.mm, H(2), HUGE), 0);
	write_word(&t, H(1), word);
	assert_int_equal(file_word(file, 0), 1);
	assert_pool(0, 0);
	test_done(file);
}

static void shared_anonymous_memory(void **state)
{
	struct mm_test child;
	pf_addr_t at, none;

	(void)state;
	begin(3);
	assert_int_equal(pf_mmap(t.mm, 0, 2 * HUGE, RW, HUGETLB | SHARED, &at),
			 0);
	assert_pool(3, 2);
	assert_int_equal(pf_mmap(t.mm, 0, 2 * HUGE, RW, HUGETLB | SHARED,
				 &none), -ENOMEM);
	child = fork_here();
	write_word(&child, at, 4);
	assert_int_equal(read_word(&t, at), 4);
	write_word(&t, at + HUGE, 5);
	assert_int_equal(read_word(&child, at + HUGE), 5);
	assert_pool(1, 0);
	assert_valid(&t);
	assert_int_equal(pf_munmap(t.mm, at, 2 * HUGE), 0);
	assert_int_equal(read_word(&child, at), 4);
	assert_pool(1, 0);
	pf_mm_destroy(child.mm);
	assert_pool(3, 0);
	end();
}

static void fork_keeps_private_pages_apart(void **state)
{
	struct pf_file *file;
	struct mm_test child;

	(void)state;
	begin(7);
	file = huge_file(3);
	map_file(H(8), file, 0, 3, RW, SHARED);
	write_word(&t, H(8), 1);
	write_word(&t, H(9), 2);
	write_word(&t, H(10), 3);
	map_file(H(0), file, 0, 3, RW, PRIVATE);
	write_word(&t, H(0), 11);
	assert_int_equal(read_word(&t, H(1)), 2);
	assert_int_equal(pin_pages(H(2), 1, WRITE), 1);
	assert_pool(2, 1);
	child = fork_here();
	/* one copy for the pinned page; one is shared; one is the file's */
	assert_pool(1, 1);
	assert_held(1);
	assert_int_equal(read_word(&child, H(0)), 11);
	assert_int_equal(read_word(&child, H(1)), 2);
	assert_int_equal(read_word(&child, H(2)), 3);
	assert_ptr_equal(page_folio(page_mapped_at(&child, H(1))),
			 cached(file, 1));
	assert_ptr_not_equal(page_mapped_at(&child, H(2)),
			     page_mapped_at(&t, H(2)));
	assert_held(1);
	unpin_user_pages(pages, 1);
	pf_mm_destroy(child.mm);
	test_done(file);
}

static void areas_are_cut_moved_protected(void **state)
{
	struct pf_file *file;
	pf_addr_t at;
	u64 word = 1;

	(void)state;
	begin(4);
	file = huge_file(4);
	map_file(H(0), file, 0, 4, RW, SHARED);
	for (u64 i = 0; i < 4; i++)
		write_word(&t, H(i), i);
	assert_int_equal(pf_mremap(t.mm, H(1), 2 * HUGE, 2 * HUGE, TO, FAR,
				   &at), 0);
	assert_int_equal(read_word(&t, FAR + HUGE), 2);
	assert_null(folio_at(H(1)));
	assert_ptr_equal(folio_at(FAR), cached(file, 1));
	assert_valid(&t);
	assert_int_equal(pf_mprotect(t.mm, FAR, HUGE, PINFOLD_PROT_READ), 0);
	assert_int_equal(pf_write(t.mm, FAR, &word, sizeof(word)), -EFAULT);
	assert_int_equal(pf_mprotect(t.mm, FAR, HUGE, RW), 0);
	write_word(&t, FAR, 10);
	assert_int_equal(file_word(file, HUGE), 10);
	assert_int_equal(pf_munmap(t.mm, H(0), HUGE), 0);
	assert_int_equal(pf_munmap(t.mm, FAR + HUGE, HUGE), 0);
	assert_int_equal(pf_munmap(t.mm, FAR, HUGE - PAGE_SIZE), -EINVAL);
	assert_int_equal(read_word(&t, H(3)), 3);
	/* the file moved nowhere */
	punch(file, 1, 1);
	assert_null(folio_at(FAR));
	assert_int_equal(read_word(&t, FAR), 0);
	test_done(file);
}

/* ---- reservations --------------------------------------------------------- */

static void the_file_has_the_reservations(void **state)
{
	struct pf_file *file;

	(void)state;
	begin(5);
	file = huge_file(8);
	map_file(H(0), file, 0, 3, RW, SHARED);
	assert_pool(5, 3);
	/* only what is missing: place 3 */
	map_file(H(8), file, 2, 2, RW, SHARED);
	assert_pool(5, 4);
	map_file(H(16), file, 4, 4, RW, SHARED | PINFOLD_MAP_NORESERVE);
	assert_pool(5, 4);
	assert_int_equal(map_places(H(24), file, 3, 3, RW, SHARED), -ENOMEM);
	assert_pool(5, 4);
	assert_valid(&t);
	/* what nobody was promised can be had, as long as there is any */
	write_word(&t, H(17), 1);
	assert_pool(4, 4);
	assert_bus_error(H(18));
	write_word(&t, H(1), 1);
	assert_pool(3, 3);
	/* the area is gone, the promise is not */
	assert_int_equal(pf_munmap(t.mm, H(0), 3 * HUGE), 0);
	assert_int_equal(pf_munmap(t.mm, H(8), 2 * HUGE), 0);
	assert_pool(3, 3);
	/* a hole takes the promise of a page along, and no other */
	punch(file, 0, 3);
	assert_pool(4, 3);
	assert_valid(&t);
	assert_int_equal(pf_file_truncate(file, 2 * HUGE), 0);
	assert_pool(5, 1);
	assert_bus_error(H(17));
	assert_int_equal(pf_file_truncate(file, 0), 0);
	assert_pool(5, 0);
	test_done(file);
}

/* An area that may write makes the file as large as it reaches. */
static void mapping_grows_the_file(void **state)
{
	struct pf_file *file;

	(void)state;
	begin(4);
	file = huge_file(0);
	map_file(H(0), file, 0, 2, PINFOLD_PROT_READ, SHARED);
	assert_int_equal(pf_file_size(file), 0);
	assert_bus_error(H(0));
	map_file(H(0), file, 1, 2, RW, SHARED);
	assert_int_equal(pf_file_size(file), 3 * HUGE);
	write_word(&t, H(1), 1);
	map_file(H(4), file, 3, 1, RW, PRIVATE);
	assert_int_equal(pf_file_size(file), 4 * HUGE);
	assert_int_equal(read_word(&t, H(4)), 0);
	test_done(file);
}

static void allocating(void **state)
{
	struct pf_file *file;

	(void)state;
	begin(4);
	file = huge_file(1);
	map_file(H(0), file, 0, 1, RW, SHARED);
	assert_pool(4, 1);
	/* bytes of two places: the first one's promise is kept */
	assert_int_equal(pf_file_allocate(file, 0, (int64_t)HUGE - 1, 2), 0);
	assert_pool(2, 0);
	assert_int_equal(pf_file_size(file), HUGE + 1);
	assert_int_equal(pf_file_allocate(file, PINFOLD_FALLOC_KEEP_SIZE,
					  (int64_t)HUGE, (int64_t)HUGE), 0);
	assert_pool(2, 0);
	/* what the pool has, comes */
	assert_int_equal(pf_file_allocate(file, 0, 0, 6 * (int64_t)HUGE),
			 -ENOSPC);
	assert_non_null(strstr(pf_error_text(), "2048 KiB"));
	assert_pool(0, 0);
	assert_int_equal(pf_file_size(file), HUGE + 1);
	assert_valid(&t);
	assert_int_equal(pf_file_truncate(file, 0), 0);
	assert_pool(4, 0);
	test_done(file);
}

/* ---- holes and sizes ------------------------------------------------------ */

static void case_H12(void **state)
{
	struct pf_file *file;
	struct mm_test child;

	(void)state;
	begin(3);
	file = huge_file(3);
	map_file(H(0), file, 0, 3, RW, SHARED);
	for (u64 i = 0; i < 3; i++)
		write_word(&t, H(i), i + 1);
	child = fork_here();
	assert_int_equal(read_word(&child, H(1)), 2);
	assert_pool(0, 0);
	punch(file, 1, 1);
	assert_null(folio_at(H(1)));
	assert_null(page_mapped_at(&child, H(1)));
	assert_null(cached(file, 1));
	assert_pool(1, 0);
	assert_valid(&t);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_int_equal(read_word(&t, H(2)), 3);
	assert_int_equal(read_word(&child, H(1)), 0);
	assert_pool(0, 0);
	/* pinned, the page goes all the same, and comes back when it is put */
	assert_int_equal(pin_pages(H(2), 2, WRITE | LONGTERM), 2);
	punch(file, 2, 1);
	assert_pool(0, 0);
	assert_int_equal(*(u64 *)page_address(pages[0]), 3);
	assert_bus_error(H(2));
	assert_held(2);
	unpin_user_pages(pages, 2);
	assert_pool(1, 0);
	assert_int_equal(read_word(&t, H(2)), 0);
	pf_mm_destroy(child.mm);
	test_done(file);
}

static void fill(pf_addr_t at, u64 bytes)
{
	for (u64 i = 0; i < bytes; i += 4096)
		write_word(&t, at + i, ~(u64)0);
}

static void case_I4(void **state)
{
	struct pf_file *file;
	struct folio *folio;

	(void)state;
	begin(3);
	file = huge_file(3);
	map_file(H(0), file, 0, 3, RW, SHARED);
	fill(H(0), 3 * HUGE);
	folio = cached(file, 0);
	assert_int_equal(punch_bytes(file, 5 * PAGE_SIZE, PAGE_SIZE), 0);
	assert_ptr_equal(cached(file, 0), folio);
	assert_ptr_equal(folio_at(H(0)), folio);
	assert_int_equal(read_word(&t, H(0) + 4 * PAGE_SIZE), ~(u64)0);
	assert_int_equal(read_word(&t, H(0) + 5 * PAGE_SIZE), 0);
	assert_int_equal(read_word(&t, H(0) + 6 * PAGE_SIZE), ~(u64)0);
	assert_pool(0, 0);
	/* from inside one, over a whole one, into a third */
	folio = cached(file, 2);
	assert_int_equal(punch_bytes(file, HUGE - PAGE_SIZE,
				     HUGE + 2 * PAGE_SIZE), 0);
	assert_int_equal(read_word(&t, H(1) - 2 * PAGE_SIZE), ~(u64)0);
	assert_int_equal(read_word(&t, H(1) - PAGE_SIZE), 0);
	assert_null(cached(file, 1));
	assert_ptr_equal(cached(file, 2), folio);
	assert_int_equal(read_word(&t, H(2)), 0);
	assert_int_equal(read_word(&t, H(2) + PAGE_SIZE), ~(u64)0);
	assert_pool(1, 0);
	/* what is no multiple of anything, and where nothing is */
	assert_int_equal(punch_bytes(file, 2 * HUGE + PAGE_SIZE + 1, 6), 0);
	assert_int_equal(read_word(&t, H(2) + PAGE_SIZE), ~(u64)0 << 56 | 0xff);
	assert_int_equal(punch_bytes(file, HUGE + 1, 5), 0);
	assert_null(cached(file, 1));
	test_done(file);
}

static void truncation_takes_all_above(void **state)
{
	struct pf_file *file;

	(void)state;
	begin(6);
	file = huge_file(3);
	map_file(H(0), file, 0, 3, RW, SHARED);
	map_file(H(8), file, 0, 3, RW, PRIVATE);
	for (u64 i = 0; i < 3; i++) {
		write_word(&t, H(i), i + 1);
		write_word(&t, H(8 + i), i + 11);
	}
	assert_pool(0, 0);
	assert_int_equal(pf_file_truncate(file, HUGE + PAGE_SIZE), -EINVAL);
	assert_int_equal(pf_file_truncate(file, HUGE), 0);
	/* copies as well; what they were promised, the area has again */
	assert_pool(4, 2);
	assert_null(folio_at(H(1)));
	assert_null(folio_at(H(9)));
	assert_valid(&t);
	for (u64 i = 1; i < 3; i++) {
		assert_bus_error(H(i));
		assert_bus_error(H(8 + i));
	}
	assert_int_equal(read_word(&t, H(8)), 11);
	assert_pool(4, 2);
	assert_int_equal(pf_file_truncate(file, 3 * HUGE), 0);
	assert_int_equal(read_word(&t, H(1)), 0);
	assert_int_equal(read_word(&t, H(9)), 0);
	assert_pool(3, 2);
	write_word(&t, H(9), 1);
	assert_pool(2, 1);
	test_done(file);
}

/* ---- pins ----------------------------------------------------------------- */

static void pins_of_areas(void **state)
{
	struct pf_file *file;

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		begin(3);
		file = huge_file(1);
		map_file(H(0), file, 0, 1, RW, SHARED);
		assert_int_equal(fast ?
				 pf_pin_user_pages_fast(t.mm, H(0), 600,
							WRITE | LONGTERM,
							handles) :
				 pin_pages(H(0), 512, WRITE | LONGTERM),
				 512);
		assert_ptr_equal(page_folio(pages[0]), cached(file, 0));
		assert_held(512);
		unpin_user_pages(pages, 512);
		/* to read for long in a private area: a page of its own */
		map_file(H(4), file, 0, 1, RW, PRIVATE);
		assert_int_equal(read_word(&t, H(4)), 0);
		assert_int_equal(fast ?
				 pf_pin_user_pages_fast(t.mm, H(4), 1, LONGTERM,
							handles) :
				 pin_pages(H(4), 1, LONGTERM), 1);
		assert_true(PageAnon(pages[0]));
		write_word(&t, H(4), 6);
		assert_int_equal(*(u64 *)page_address(pages[0]), 6);
		assert_held(1);
		unpin_user_pages(pages, 1);
		test_done(file);
	}
}

static long pin_one(bool fast, pf_addr_t at, unsigned int flags)
{
	return fast ? pf_pin_user_pages_fast(t.mm, at, 1, flags, handles) :
		      pin_pages(at, 1, flags);
}

/* Rows L1 to L8 of the kernel's test, for a memfd of huge pages: all work. */
static void gup_L_hugetlb(void **state)
{
	struct pf_file *file;

	(void)state;
	for (int row = 0; row < 8; row++) {
		const bool fast = row & 1, only_read = row & 2;

		begin(2);
		file = huge_file(1);
		assert_int_equal(pf_file_allocate(file, 0, 0, (int64_t)HUGE), 0);
		map_file(H(0), file, 0, 1, RW, row & 4 ? PRIVATE : SHARED);
		fill(H(0), HUGE);
		if (only_read)
			assert_int_equal(pf_mprotect(t.mm, H(0), HUGE,
						     PINFOLD_PROT_READ), 0);
		assert_int_equal(pin_one(fast, H(0), LONGTERM |
					 (only_read ? 0 : WRITE)), 1);
		assert_held(1);
		unpin_user_pages(pages, 1);
		test_done(file);
	}
}

/*
 * Rows N1 to N3: a private area next to a shared one; N2 and N3 hold a pin for
 * reading from before the store.
 */
static void gup_N_hugetlb(void **state)
{
	struct pf_file *file;

	(void)state;
	for (int row = 0; row < 3; row++) {
		begin(2);
		file = huge_file(1);
		map_file(H(4), file, 0, 1, RW, SHARED);
		fill(H(4), HUGE);
		map_file(H(4), file, 0, 1, PINFOLD_PROT_READ, SHARED);
		map_file(H(0), file, 0, 1, RW, PRIVATE);
		assert_int_equal(read_word(&t, H(0)), ~(u64)0);
		if (row)
			assert_int_equal(pin_one(row == 2, H(0), LONGTERM), 1);
		write_word(&t, H(0), 5);
		assert_int_equal(read_word(&t, H(4)), ~(u64)0);
		if (row)
			assert_int_equal(*(u64 *)page_address(pages[0]), 5);
		assert_held(row ? 1 : 0);
		unpin_user_pages(pages, row ? 1 : 0);
		test_done(file);
	}
}

/* A dump leaves out what neither area nor file has. */
static void dumps_skip_holes(void **state)
{
	struct mm_struct *mm;
	struct pf_file *file;
	int locked = 1;

	(void)state;
	begin(3);
	file = huge_file(2);
	map_file(H(4), file, 0, 1, RW, SHARED);
	write_word(&t, H(4), 1);
	map_file(H(0), file, 0, 2, RW, SHARED);
	mm = mm_of(t.mm);
	mmap_read_lock(mm);
	assert_int_equal(__get_user_pages(mm, H(1), 1, FOLL_DUMP | FOLL_GET,
					  pages, &locked), -EFAULT);
	assert_int_equal(__get_user_pages(mm, H(0), 1, FOLL_DUMP | FOLL_GET,
					  pages, &locked), 1);
	mmap_read_unlock(mm);
	put_page(pages[0]);
	assert_null(cached(file, 1));
	test_done(file);
}

static void case_H6(void **state)
{
	struct pf_file *file;
	u64 offset = 99;

	(void)state;
	begin(4);
	file = huge_file(3);
	for (int reserved = 0; reserved < 2; reserved++) {
		if (reserved)
			map_file(H(0), file, 0, 3, RW, SHARED);
		assert_pool(4, reserved ? 3 : 0);
		/* none of them is there; two of three are asked for */
		assert_int_equal(pin_folios(file, HUGE - 100, HUGE, &offset), 2);
		assert_int_equal(offset, HUGE - 100);
		assert_ptr_equal(page_folio(pages[0]), cached(file, 0));
		assert_ptr_equal(page_folio(pages[1]), cached(file, 1));
		assert_null(cached(file, 2));
		assert_int_equal(folio_ref_count(cached(file, 0)),
				 HPAGE_PMD_NR + 1);
		assert_int_equal(*(u64 *)page_address(pages[0]), 0);
		assert_pool(2, reserved ? 1 : 0);
		assert_held(2);
		pf_unpin_user_pages(handles, 2);
		assert_int_equal(folio_ref_count(cached(file, 0)), HPAGE_PMD_NR);
		/* those that are there are pinned as they are */
		assert_int_equal(pin_folios(file, 0, 1, &offset), 1);
		assert_pool(2, reserved ? 1 : 0);
		/* a pin outlives the page's place in the file */
		punch(file, 0, 2);
		assert_pool(3, reserved ? 1 : 0);
		pf_unpin_user_pages(handles, 1);
		assert_pool(4, reserved ? 1 : 0);
		assert_valid(&t);
	}
	assert_int_equal(pf_munmap(t.mm, H(0), 3 * HUGE), 0);
	assert_int_equal(pf_file_truncate(file, 0), 0);
	assert_pool(4, 0);
	test_done(file);
}

static void pinning_fails(void **state)
{
	struct pf_file *file;
	u64 offset = 99;

	(void)state;
	begin(2);
	file = huge_file(3);
	assert_int_equal(pin_folios(file, 0, 3 * HUGE + 1, &offset), -EINVAL);
	assert_int_equal(pin_folios(file, 1, 0, &offset), -EINVAL);
	/* two come, and stay in the file; nothing is pinned */
	assert_int_equal(pin_folios(file, 0, 3 * HUGE, &offset), -ENOMEM);
	assert_int_equal(offset, 99);
	assert_pool(0, 0);
	assert_held(0);
	punch(file, 0, 3);
	/* what others were promised is not taken */
	map_huge(H(0), 2, RW);
	assert_int_equal(pin_folios(file, 0, 1, &offset), -ENOMEM);
	assert_pool(2, 2);
	test_done(file);
}

/* ---- what is refused ------------------------------------------------------ */

static void wrong_calls(void **state)
{
	struct pf_file *file, *none = NULL;
	pf_addr_t at;

	(void)state;
	begin(2);
	assert_int_equal(pf_hugetlb_create(t.machine, HUGE, HUGE + 1, &none),
			 -EINVAL);
	assert_int_equal(pf_hugetlb_create(t.machine, PAGE_SIZE, HUGE, &none),
			 -EINVAL);
	assert_int_equal(pf_hugetlb_create(t.machine, HUGE, (u64)1 << 63,
					   &none), -EINVAL);
	assert_int_equal(pf_hugetlb_create(NULL, HUGE, HUGE, &none), -EINVAL);
	assert_null(none);
	file = huge_file(2);
	assert_int_equal(pf_mmap_file(t.mm, 0, HUGE, RW, SHARED, file,
				      PAGE_SIZE, &at), -EINVAL);
	assert_int_equal(pf_mmap_file(t.mm, H(0) + PAGE_SIZE, HUGE, RW,
				      SHARED | PINFOLD_MAP_FIXED, file, 0, &at),
			 -EINVAL);
	assert_int_equal(pf_file_write(file, "x", 1, 0), -EINVAL);
	/* a length is rounded up */
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGE_SIZE, RW, SHARED, file,
				      HUGE, &at), 0);
	assert_true(IS_ALIGNED(at, HUGE));
	write_word(&t, at + HUGE - 8, 1);
	assert_int_equal(file_word(file, 2 * HUGE - 8), 1);
	assert_int_equal(pf_file_read(file, pages, 16, 2 * (int64_t)HUGE - 8),
			 8);
	test_done(file);
}

static void seals(void **state)
{
	struct pf_file *file;
	pf_addr_t at;

	(void)state;
	begin(2);
	file = huge_file(2);
	map_file(H(0), file, 0, 1, RW, SHARED);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE), -EBUSY);
	assert_int_equal(pin_pages(H(0), 1, WRITE), 1);
	assert_int_equal(pf_munmap(t.mm, H(0), HUGE), 0);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE), -EBUSY);
	unpin_user_pages(pages, 1);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE |
					   PINFOLD_SEAL_SHRINK |
					   PINFOLD_SEAL_GROW), 0);
	assert_int_equal(punch_bytes(file, 0, HUGE), -EPERM);
	assert_int_equal(pf_file_truncate(file, HUGE), -EPERM);
	assert_int_equal(pf_file_truncate(file, 3 * HUGE), -EPERM);
	assert_int_equal(pf_file_allocate(file, 0, 0, 3 * (int64_t)HUGE),
			 -EPERM);
	assert_int_equal(pf_mmap_file(t.mm, 0, HUGE, RW, SHARED, file, 0, &at),
			 -EPERM);
	assert_int_equal(pf_mmap_file(t.mm, 0, HUGE, PINFOLD_PROT_READ, SHARED,
				      file, 0, &at), 0);
	assert_int_equal(read_word(&t, at), 0);
	test_done(file);
}

/* Each allocation fails once; what came half-way is as it was, or is there. */
static int all_of_it(struct pf_file **file)
{
	pf_addr_t at, there;
	u64 offset, word = 3;
	long ret;

	ret = pf_hugetlb_create(t.machine, HUGE, 2 * HUGE, file);
	if (!ret)
		ret = pf_mmap_file(t.mm, 0, 2 * HUGE, RW, SHARED, *file, 0,
				   &at);
	if (!ret)
		ret = pf_write(t.mm, at, &word, sizeof(word)) == sizeof(word) ?
		      0 : -EFAULT;
	if (!ret)
		ret = pf_mmap_file(t.mm, 0, HUGE, RW, PRIVATE, *file, 0,
				   &there);
	if (!ret)
		ret = pf_write(t.mm, there, &word, sizeof(word)) ==
		      sizeof(word) ? 0 : -EFAULT;
	if (!ret)
		ret = pf_mmap(t.mm, 0, HUGE, RW, HUGETLB | SHARED, &there);
	if (!ret)
		ret = pf_file_allocate(*file, 0, 0, 3 * (int64_t)HUGE);
	if (!ret) {
		ret = pin_folios(*file, 0, 3 * HUGE, &offset);
		if (ret == 3)
			pf_unpin_user_pages(handles, 3);
		ret = ret == 3 ? 0 : ret;
	}
	return (int)ret;
}

static void each_allocation_fails(void **state)
{
	unsigned int failed = 0;
	int ret = -1;

	(void)state;
	for (long nth = 1; ret; nth++) {
		struct pf_file *file = NULL;

		begin(6);
		current->fail_nth = nth;
		ret = all_of_it(&file);
		current->fail_nth = 0;
		assert_true(ret == 0 || ret == -ENOMEM || ret == -EFAULT ||
			    ret == -ENOSPC);
		failed += ret != 0;
		test_done(file);
	}
	assert_true(failed > 10);
}

/* ---- 1 GiB ---------------------------------------------------------------- */

static void gigantic_files(void **state)
{
	const struct hstate *h;
	struct pf_file *file;
	u64 offset;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_1g_pages = 2,
		.metadata_only = true,
	});
	h = &machine_of(t.machine)->hstates[HSTATE_1G];
	assert_int_equal(pf_hugetlb_create(t.machine, GIGANTIC, 2 * GIGANTIC,
					   &file), 0);
	map_file(BASE, file, 0, 1024, RW, SHARED);
	assert_int_equal(h->resv_huge_pages, 2);
	assert_int_equal(pin_pages(BASE + GIGANTIC + PAGES(5), 3, WRITE), 3);
	assert_int_equal(h->free_huge_pages, 1);
	assert_int_equal(page_folio(pages[0])->index, HPAGE_PUD_NR);
	assert_int_equal(folio_ref_count(page_folio(pages[0])),
			 HPAGE_PUD_NR + 1 + 3);
	assert_held(3);
	unpin_user_pages(pages, 3);
	assert_int_equal(pin_folios(file, GIGANTIC - 1, 2, &offset), 2);
	assert_int_equal(h->free_huge_pages, 0);
	pf_unpin_user_pages(handles, 2);
	assert_int_equal(punch_bytes(file, 0, GIGANTIC + HUGE), 0);
	assert_int_equal(h->free_huge_pages, 1);
	assert_valid(&t);
	pf_file_close(file);
	assert_int_equal(pf_munmap(t.mm, BASE, 2 * GIGANTIC), 0);
	assert_int_equal(h->free_huge_pages, 2);
	assert_int_equal(h->resv_huge_pages, 0);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_areas_see_one_page),
		cmocka_unit_test(private_areas_copy),
		cmocka_unit_test(a_copy_needs_a_page),
		cmocka_unit_test(shared_anonymous_memory),
		cmocka_unit_test(fork_keeps_private_pages_apart),
		cmocka_unit_test(areas_are_cut_moved_protected),
		cmocka_unit_test(the_file_has_the_reservations),
		cmocka_unit_test(mapping_grows_the_file),
		cmocka_unit_test(allocating),
		cmocka_unit_test(case_H12),
		cmocka_unit_test(case_I4),
		cmocka_unit_test(truncation_takes_all_above),
		cmocka_unit_test(pins_of_areas),
		cmocka_unit_test(gup_L_hugetlb),
		cmocka_unit_test(gup_N_hugetlb),
		cmocka_unit_test(dumps_skip_holes),
		cmocka_unit_test(case_H6),
		cmocka_unit_test(pinning_fails),
		cmocka_unit_test(wrong_calls),
		cmocka_unit_test(seals),
		cmocka_unit_test(each_allocation_fails),
		cmocka_unit_test(gigantic_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
