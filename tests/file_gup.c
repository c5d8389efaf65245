/* SPDX-License-Identifier: MIT */
/*
 * Claim: pages of files are got and pinned as Linux does: what would be written
 * for long without the owner hearing of it is refused, and so is what the file
 * forbids; what is private becomes the area's own first; a memfd is pinned by
 * its offsets, and sealed only if nobody can write to it any more.
 *
 * Source: mm/gup.c:check_vma_flags(), memfd_pin_folios(),
 *         mm/memfd.c:memfd_add_seals()
 */
#include "tests/file_test.h"

#define LONGTERM	PINFOLD_FOLL_LONGTERM
#define WRITE		PINFOLD_FOLL_WRITE
#define FORCE		PINFOLD_FOLL_FORCE

static struct mm_test t;
static struct page *pages[64];

static void begin(void)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .cma_bytes = MIB(4),
	});
}

static void end(struct pf_file *file)
{
	assert_valid(&t);
	pf_file_close(file);
	mm_test_end(&t);
}

static long pin(bool fast, pf_addr_t at, unsigned int flags)
{
	struct pf_page **out = (struct pf_page **)pages;

	return fast ? pf_pin_user_pages_fast(t.mm, at, 1, flags, out) :
		      pf_pin_user_pages_unlocked(t.mm, at, 1, out, flags);
}

static void unpin(void)
{
	unpin_user_page(pages[0]);
}

/* ---- longterm, by kind of file ------------------------------------------- */

struct kind {
	bool host;
	int prot, flags;
	unsigned int foll;
	long expected;
};

static const struct kind kinds[] = {
	{ false, RW, SHARED, LONGTERM | WRITE, 1 },
	{ true, RW, SHARED, LONGTERM | WRITE, -EFAULT },
	{ true, RW, SHARED, WRITE, 1 },
	{ false, PINFOLD_PROT_READ, SHARED, LONGTERM, 1 },
	{ true, PINFOLD_PROT_READ, SHARED, LONGTERM, 1 },
	{ false, PINFOLD_PROT_READ, SHARED, LONGTERM | WRITE, -EFAULT },
	{ false, PINFOLD_PROT_READ, SHARED, LONGTERM | WRITE | FORCE, -EFAULT },
	{ false, RW, PRIVATE, LONGTERM | WRITE, 1 },
	{ true, RW, PRIVATE, LONGTERM | WRITE, 1 },
	{ false, PINFOLD_PROT_READ, PRIVATE, LONGTERM, 1 },
	{ true, PINFOLD_PROT_READ, PRIVATE, LONGTERM, 1 },
};

static void pin_kind(const struct kind *k, bool fast, bool touched)
{
	struct pf_file *file;

	begin();
	file = k->host ? open_file(&t, PAGES(1), true) : memory_file(&t, 1, 0);
	map_file(&t, BASE, 1, RW, k->flags, file, 0);
	if (touched)
		write_byte(&t, BASE, 7);
	assert_int_equal(pf_mprotect(t.mm, BASE, PAGES(1), k->prot), 0);
	assert_int_equal(pin(fast, BASE, k->foll), k->expected);
	if (k->expected == 1) {
		assert_true(folio_maybe_dma_pinned(page_folio(pages[0])));
		if (k->flags == PRIVATE)
			assert_true(PageAnon(pages[0]));
		else
			assert_ptr_equal(page_folio(pages[0]),
					 folio_at(file, 0));
		unpin();
	}
	end(file);
}

/* Rows L1 to L8 of the kernel's test, fast and slow, mapped before or not. */
static void longterm_by_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (int how = 0; how < 4; how++)
			pin_kind(&kinds[i], how & 1, how & 2);
}

static void case_B4(void **state)
{
	static const struct kind rows[] = {
		{ true, RW, SHARED, LONGTERM | WRITE, -EFAULT },
		{ true, RW, SHARED, WRITE, 1 },
		{ false, RW, SHARED, LONGTERM | WRITE, 1 },
		{ true, RW, SHARED, LONGTERM, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int how = 0; how < 4; how++)
			pin_kind(&rows[i], how & 1, how & 2);
}

/* The fast walk alone refuses as well, so that the slow one gets its say. */
static void fast_walk_refuses(void **state)
{
	struct pf_file *file;
	int refs;

	(void)state;
	begin();
	file = open_file(&t, PAGES(1), true);
	map_file(&t, BASE, 1, RW, SHARED, file, 0);
	write_byte(&t, BASE, 1);
	refs = folio_ref_count(folio_at(file, 0));
	assert_int_equal(pf_get_user_pages_fast_only(t.mm, BASE, 1, WRITE,
						     (struct pf_page **)pages),
			 1);
	put_page(pages[0]);
	assert_int_equal(pin(true, BASE, LONGTERM | WRITE), -EFAULT);
	assert_int_equal(folio_ref_count(folio_at(file, 0)), refs);
	end(file);
}

/* ---- files whose pages are nobody else's business -------------------------- */

static void fault_in(pf_addr_t at)
{
	struct mm_struct *mm = mm_of(t.mm);

	mmap_read_lock(mm);
	assert_int_equal(handle_mm_fault(vma_lookup(mm, at), at,
					 FAULT_FLAG_WRITE, NULL), 0);
	mmap_read_unlock(mm);
}

static void case_B3(void **state)
{
	struct pf_file *file;
	struct folio *folio;

	(void)state;
	begin();
	assert_int_equal(pf_shmem_create(t.machine, PAGES(2), 0,
					 PINFOLD_SHMEM_NO_PIN, &file), 0);
	map_file(&t, BASE, 2, RW, SHARED, file, 0);
	fault_in(BASE);
	folio = folio_at(file, 0);
	for (int drained = 0; drained < 2; drained++) {
		const int refs = folio_ref_count(folio);

		for (int i = 0; i < 8; i++) {
			unsigned int flags = (i & 1 ? WRITE : 0) |
					     (i & 2 ? LONGTERM : 0);

			assert_int_equal(pin(i & 4, BASE, flags), -EFAULT);
			assert_int_equal(folio_ref_count(folio), refs);
		}
		assert_int_equal(pf_get_user_pages_fast_only(t.mm, BASE, 1, 0,
					(struct pf_page **)pages), 0);
		lru_add_drain_all(machine_of(t.machine));
	}
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(2),
				    PINFOLD_MADV_POPULATE_READ), -EINVAL);
	/* its owner has the bytes */
	assert_int_equal(pf_file_write(file, "s", 1, 0), 1);
	assert_int_equal(file_byte(file, 0), 's');
	end(file);
}

/* ---- private areas --------------------------------------------------------- */

/* case_A6, the half about files: a pin to read long gets the area's own page. */
static void case_A6_file(void **state)
{
	struct pf_file *file;

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		begin();
		file = open_file(&t, PAGES(1), false);
		map_file(&t, BASE, 1, RW, PRIVATE, file, 0);
		assert_int_equal(read_byte(&t, BASE), 1);
		assert_int_equal(pin(fast, BASE, LONGTERM), 1);
		write_byte(&t, BASE, 'X');
		assert_int_equal(*(char *)page_address(pages[0]), 'X');
		assert_int_equal(file_byte(file, 0), 1);
		unpin();
		end(file);
	}
}

/* Frames: N pages of the file and N copies; of a shared area, N. */
static void case_A6_accounting(void **state)
{
	unsigned long before;
	struct pf_file *file;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		begin();
		file = memory_file(&t, 16, 0);
		map_file(&t, BASE, 16, RW, shared ? SHARED : PRIVATE, file, 0);
		fault_in(BASE);
		before = frames_in_use(machine_of(t.machine)) -
			 (shared ? 1 : 2);
		assert_int_equal(pf_pin_user_pages_unlocked(t.mm, BASE, 16,
				(struct pf_page **)pages, LONGTERM | WRITE),
				 16);
		assert_int_equal(frames_in_use(machine_of(t.machine)) - before,
				 shared ? 16 : 32);
		unpin_user_pages(pages, 16);
		end(file);
	}
}

/*
 * Forced writes break copy-on-write; between that and the next look the copy may
 * go, and the file's page come back.  The file never changes.
 */
static int nr_faults;

static vm_fault_t drop_after_copy(void *arg, struct vm_area_struct *vma,
				  pf_addr_t address, unsigned int flags)
{
	(void)arg;
	/* Before the second and the third fault the copy is gone, or read back. */
	if (++nr_faults > 1 && nr_faults < 4 && (flags & FAULT_FLAG_WRITE)) {
		zap_page_range(vma, address, address + PAGE_SIZE);
		if (nr_faults == 3) {
			current->fault_hook = NULL;
			assert_int_equal(handle_mm_fault(vma, address, 0, NULL),
					 0);
			current->fault_hook = drop_after_copy;
		}
	}
	return 0;
}

static void case_B1(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = memory_file(&t, 1, 0);
	assert_int_equal(pf_file_write(file, "F", 1, 0), 1);
	map_file(&t, BASE, 1, PINFOLD_PROT_READ, PRIVATE, file, 0);
	assert_int_equal(read_byte(&t, BASE), 'F');
	nr_faults = 0;
	current->fault_hook = drop_after_copy;
	assert_int_equal(pin(false, BASE, WRITE | FORCE), 1);
	current->fault_hook = NULL;
	assert_true(PageAnon(pages[0]));
	*(char *)page_address(pages[0]) = 'v';
	assert_int_equal(file_byte(file, 0), 'F');
	assert_int_equal(read_byte(&t, BASE), 'v');
	unpin();
	/* a dirty entry says nothing about whose page it is */
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(1), PINFOLD_MADV_DONTNEED),
			 0);
	assert_int_equal(read_byte(&t, BASE), 'F');
	set_pte_at(mm_of(t.mm), BASE, pte_at(&t, BASE),
		   pte_mkdirty(entry_at(&t, BASE)));
	assert_int_equal(pin(false, BASE, WRITE | FORCE), 1);
	assert_ptr_not_equal(page_folio(pages[0]), folio_at(file, 0));
	*(char *)page_address(pages[0]) = 'w';
	assert_int_equal(file_byte(file, 0), 'F');
	unpin();
	end(file);
}

/* ---- memfd_pin_folios ------------------------------------------------------ */

static long pin_folios(struct pf_file *file, int64_t start, int64_t last,
		       unsigned int max, u64 *offset)
{
	return pf_memfd_pin_folios(file, start, last, (struct pf_page **)pages,
				   max, offset);
}

static void unpin_folios_got(long nr)
{
	pf_unpin_user_pages((struct pf_page **)pages, (unsigned long)nr);
}

/* V18 and case_H2: errors, and a large folio pinned once, with its offset. */
static void memfd_pin_arguments(void **state)
{
	struct pf_file *file, *host;
	u64 offset = 99;

	(void)state;
	begin();
	file = memory_file(&t, 1024, 9);
	host = open_file(&t, PAGES(1), true);
	assert_int_equal(pin_folios(file, 0, (int64_t)PAGES(1024), 8, &offset),
			 -EINVAL);
	assert_int_equal(pin_folios(file, 2, 1, 8, &offset), -EINVAL);
	assert_int_equal(pin_folios(file, -1, 1, 8, &offset), -EINVAL);
	assert_int_equal(pin_folios(file, 0, 1, 0, &offset), -EINVAL);
	assert_int_equal(pin_folios(host, 0, 1, 8, &offset), -EINVAL);
	assert_int_equal(offset, 99);
	pf_file_close(host);
	end(file);
}

static void case_H2(void **state)
{
	struct pf_file *file;
	u64 offset;

	(void)state;
	begin();
	file = memory_file(&t, 1024, 9);
	assert_int_equal(pf_file_write(file, "x", 1, 0), 1);
	assert_int_equal(folio_order(folio_at(file, 2)), 9);
	assert_int_equal(pin_folios(file, (int64_t)PAGES(2),
				    (int64_t)PAGES(4) - 1, 8, &offset), 1);
	assert_ptr_equal(page_folio(pages[0]), folio_at(file, 0));
	assert_int_equal(offset, PAGES(2));
	assert_int_equal(nr_foll_pin_acquired(machine_of(t.machine)) -
			 nr_foll_pin_released(machine_of(t.machine)), 1);
	unpin_folios_got(1);
	end(file);
}

/* What is missing is added, where it may stay; the array's end is the end. */
static void memfd_pin_adds(void **state)
{
	struct pf_file *file;
	u64 offset;

	(void)state;
	begin();
	file = memory_file(&t, 200, 0);
	assert_int_equal(pin_folios(file, (int64_t)PAGES(3) + 10,
				    (int64_t)PAGES(190), 50, &offset), 50);
	assert_int_equal(offset, 10);
	for (unsigned int i = 0; i < 50; i++) {
		struct folio *folio = page_folio(pages[i]);

		assert_int_equal(folio->index, 3 + i);
		assert_true(folio_test_uptodate(folio));
		assert_true(folio_is_longterm_pinnable(folio));
		assert_int_equal(*(char *)page_address(pages[i]), 0);
	}
	unpin_folios_got(50);
	/* no memory for all of it: nothing is held */
	current->fail_nth = 100;
	assert_int_equal(pin_folios(file, 0, (int64_t)PAGES(200) - 1, 60,
				    &offset), 60);
	current->fail_nth = 0;
	unpin_folios_got(60);
	end(file);
}

static void memfd_pin_fails(void **state)
{
	struct pf_file *file;
	u64 offset;
	long ret = 0;

	(void)state;
	for (long nth = 1; ret != 20; nth++) {
		begin();
		file = memory_file(&t, 64, 0);
		current->fail_nth = nth;
		ret = pin_folios(file, 0, (int64_t)PAGES(20) - 1, 64, &offset);
		current->fail_nth = 0;
		assert_true(ret == 20 || ret == -ENOMEM);
		if (ret == 20)
			unpin_folios_got(20);
		assert_int_equal(nr_foll_pin_acquired(machine_of(t.machine)),
				 nr_foll_pin_released(machine_of(t.machine)));
		end(file);
	}
}

/* ---- seals ----------------------------------------------------------------- */

static void seals(void **state)
{
	struct pf_file *file;
	pf_addr_t at;

	(void)state;
	begin();
	file = memory_file(&t, 4, 0);
	map_file(&t, BASE, 1, RW, SHARED, file, 0);
	write_byte(&t, BASE, 1);
	assert_int_equal(pf_file_add_seals(file, 64), -EINVAL);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE), -EBUSY);
	/* pins outlive the area, and can write */
	assert_int_equal(pin(true, BASE, WRITE | LONGTERM), 1);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(1)), 0);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE), -EBUSY);
	map_file(&t, BASE, 1, RW, SHARED, file, 0);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(1)), 0);
	unpin();
	/* a private area may stay, and a shared one that is never written */
	map_file(&t, BASE, 1, RW, PRIVATE, file, 0);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE |
					   PINFOLD_SEAL_SHRINK), 0);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(1), RW, SHARED, file, 0,
				      &at), -EPERM);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(1), PINFOLD_PROT_READ,
				      SHARED, file, 0, &at), 0);
	assert_int_equal(pf_mprotect(t.mm, at, PAGES(1), RW), -EACCES);
	assert_int_equal(pf_file_write(file, "x", 1, 0), -EPERM);
	assert_int_equal(pf_file_allocate(file, PINFOLD_FALLOC_KEEP_SIZE |
					  PINFOLD_FALLOC_PUNCH_HOLE, 0, 1),
			 -EPERM);
	assert_int_equal(pf_file_truncate(file, 0), -EPERM);
	assert_int_equal(pf_file_truncate(file, PAGES(5)), 0);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_GROW |
					   PINFOLD_SEAL_SEAL), 0);
	assert_int_equal(pf_file_truncate(file, PAGES(6)), -EPERM);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_SHRINK), -EPERM);
	write_byte(&t, BASE, 5);
	assert_int_equal(file_byte(file, 0), 1);
	end(file);
}

/* Areas that may write already go on; no other comes. */
static void future_writes(void **state)
{
	struct pf_file *file;
	pf_addr_t at;

	(void)state;
	begin();
	file = memory_file(&t, 4, 0);
	map_file(&t, BASE, 2, RW, SHARED, file, 0);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_FUTURE_WRITE), 0);
	write_byte(&t, BASE, 1);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(1), RW, SHARED, file, 0,
				      &at), -EPERM);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(1), PINFOLD_PROT_READ,
				      SHARED, file, 0, &at), 0);
	assert_int_equal(pf_mprotect(t.mm, at, PAGES(1), RW), -EACCES);
	/* parts of the old one are the old one */
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(1)), 0);
	write_byte(&t, BASE + PAGES(1), 2);
	assert_int_equal(pf_file_add_seals(file, PINFOLD_SEAL_WRITE), -EBUSY);
	end(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longterm_by_kind),
		cmocka_unit_test(case_B4),
		cmocka_unit_test(fast_walk_refuses),
		cmocka_unit_test(case_B3),
		cmocka_unit_test(case_A6_file),
		cmocka_unit_test(case_A6_accounting),
		cmocka_unit_test(case_B1),
		cmocka_unit_test(memfd_pin_arguments),
		cmocka_unit_test(case_H2),
		cmocka_unit_test(memfd_pin_adds),
		cmocka_unit_test(memfd_pin_fails),
		cmocka_unit_test(seals),
		cmocka_unit_test(future_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
