/* SPDX-License-Identifier: MIT */
/*
 * Claim: an area of a file shows the file's bytes, by whatever way they came; a
 * store to a shared area is everybody's, to a private one nobody else's; what is
 * truncated is neither mapped nor read any more.
 *
 * Source: mm/memory.c:do_fault(), mm/filemap.c:filemap_fault()
 */
#include "tests/file_test.h"

static struct mm_test t;

static void begin(void)
{
	mm_test_begin(&t, (struct pf_machine_options){ .memory_bytes = MIB(16) });
}

static void end(struct pf_file *file)
{
	assert_valid(&t);
	pf_file_close(file);
	mm_test_end(&t);
}

/* ---- what is read -------------------------------------------------------- */

/* Read when it is touched, many pages together; above the end it is zero. */
static void reads_the_host_file(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = open_file(&t, PAGES(2) + 100, false);
	map_file(&t, BASE, 4, PINFOLD_PROT_READ, SHARED, file, 0);
	assert_null(folio_at(file, 0));
	assert_int_equal(read_byte(&t, BASE), 1);
	assert_non_null(folio_at(file, 2));
	assert_int_equal(read_byte(&t, BASE + PAGES(1) + 5), 2);
	assert_int_equal(read_byte(&t, BASE + PAGES(2) + 99), 3);
	assert_int_equal(read_byte(&t, BASE + PAGES(2) + 100), 0);
	assert_int_equal(read_byte(&t, BASE + PAGES(3) - 1), 0);
	assert_sigbus(&t, BASE + PAGES(3));
	assert_int_equal(pf_file_size(file), PAGES(2) + 100);
	assert_int_equal(file_of(file)->f_mapping->nrpages, 3);
	end(file);
}

/* The area goes on when the handle is closed, and the file with the area. */
static void area_keeps_the_file(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = open_file(&t, PAGES(3), false);
	map_file(&t, BASE, 3, PINFOLD_PROT_READ, PRIVATE, file, 0);
	pf_file_close(file);
	assert_int_equal(read_byte(&t, BASE + PAGES(2)), 3);
	assert_int_equal(pf_munmap(t.mm, BASE + PAGES(1), PAGES(1)), 0);
	assert_int_equal(read_byte(&t, BASE), 1);
	assert_int_equal(read_byte(&t, BASE + PAGES(2)), 3);
	assert_valid(&t);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(3)), 0);
	assert_int_equal(frames_in_use(machine_of(t.machine)), 1);
	mm_test_end(&t);
}

/* ---- what is written ----------------------------------------------------- */

static void shared_stores_are_the_files(void **state)
{
	struct mm_test child, other = { 0 };
	struct pf_file *file;

	(void)state;
	begin();
	file = memory_file(&t, 4, 0);
	map_file(&t, BASE, 4, RW, SHARED, file, 0);
	write_byte(&t, BASE + 1, 'a');
	assert_int_equal(file_byte(file, 1), 'a');
	assert_int_equal(pf_mm_create(t.machine, &other.mm), 0);
	map_file(&other, BASE + PAGES(100), 3, RW, SHARED, file, 1);
	write_byte(&other, BASE + PAGES(100), 'b');
	assert_int_equal(read_byte(&t, BASE + PAGES(1)), 'b');
	child = fork_of(&t);
	write_byte(&child, BASE, 'c');
	assert_int_equal(read_byte(&t, BASE), 'c');
	assert_ptr_equal(page_mapped_at(&child, BASE), page_mapped_at(&t, BASE));
	assert_valid(&t);
	exit_of(&child);
	pf_mm_destroy(other.mm);
	end(file);
}

static void private_stores_are_not(void **state)
{
	struct mm_test child;
	struct pf_file *file;
	struct page *page;

	(void)state;
	begin();
	file = open_file(&t, PAGES(4), false);
	map_file(&t, BASE, 4, RW, PRIVATE, file, 0);
	/* read first, then written; and written at once */
	assert_int_equal(read_byte(&t, BASE), 1);
	page = page_mapped_at(&t, BASE);
	assert_false(PageAnon(page));
	write_byte(&t, BASE, 'x');
	assert_ptr_not_equal(page_mapped_at(&t, BASE), page);
	assert_true(PageAnon(page_mapped_at(&t, BASE)));
	write_byte(&t, BASE + PAGES(1), 'y');
	assert_int_equal(file_byte(file, 0), 1);
	assert_int_equal(file_byte(file, PAGES(1)), 2);
	assert_int_equal(read_byte(&t, BASE + 1), 1);
	assert_int_equal(read_byte(&t, BASE + PAGES(1) + 1), 2);
	/* a child has the copies, and makes its own */
	child = fork_of(&t);
	assert_int_equal(read_byte(&child, BASE), 'x');
	write_byte(&child, BASE, 'z');
	write_byte(&child, BASE + PAGES(2), 'w');
	assert_int_equal(read_byte(&t, BASE), 'x');
	assert_int_equal(read_byte(&t, BASE + PAGES(2)), 3);
	assert_valid(&t);
	exit_of(&child);
	end(file);
}

/* The owner hears of the first store, and again after it has been told. */
static void stores_are_tracked(void **state)
{
	struct pf_file *file;
	struct folio *folio;

	(void)state;
	begin();
	file = open_file(&t, PAGES(2), true);
	map_file(&t, BASE, 2, RW, SHARED, file, 0);
	assert_int_equal(read_byte(&t, BASE), 1);
	folio = folio_at(file, 0);
	assert_false(folio_test_dirty(folio));
	assert_false(pte_write(entry_at(&t, BASE)));
	write_byte(&t, BASE, 9);
	assert_true(folio_test_dirty(folio));
	assert_true(pte_write(entry_at(&t, BASE)));
	assert_false(pte_write(entry_at(&t, BASE + PAGES(1))));
	assert_int_equal(file_byte(file, 0), 9);
	folio_lock(folio);
	assert_true(folio_clear_dirty_for_io(folio));
	folio_unlock(folio);
	assert_false(pte_write(entry_at(&t, BASE)));
	assert_false(pte_dirty(entry_at(&t, BASE)));
	assert_valid(&t);
	write_byte(&t, BASE + 1, 8);
	assert_true(folio_test_dirty(folio));
	/* a store to a page that was not there */
	write_byte(&t, BASE + PAGES(1), 7);
	assert_true(folio_test_dirty(folio_at(file, 1)));
	end(file);
}

/* Protection changes do not make an entry writable behind the owner's back. */
static void mprotect_keeps_tracking(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = open_file(&t, PAGES(2), true);
	map_file(&t, BASE, 2, PINFOLD_PROT_READ, SHARED, file, 0);
	assert_int_equal(read_byte(&t, BASE), 1);
	assert_int_equal(pf_mprotect(t.mm, BASE, PAGES(1), RW), 0);
	assert_false(pte_write(entry_at(&t, BASE)));
	write_byte(&t, BASE, 5);
	assert_true(folio_test_dirty(folio_at(file, 0)));
	assert_int_equal(pf_mprotect(t.mm, BASE, PAGES(1), PINFOLD_PROT_READ),
			 0);
	assert_int_equal(read_byte(&t, BASE), 5);
	assert_valid(&t);
	end(file);
}

/* A dirty entry that goes leaves its dirt on the folio. */
static void unmapping_keeps_dirt(void **state)
{
	struct pf_file *file;
	struct folio *folio;

	(void)state;
	begin();
	file = memory_file(&t, 1, 0);
	map_file(&t, BASE, 1, RW, SHARED, file, 0);
	write_byte(&t, BASE, 1);
	folio = folio_at(file, 0);
	folio_lock(folio);
	assert_true(folio_clear_dirty_for_io(folio));
	folio_unlock(folio);
	write_byte(&t, BASE, 2);
	assert_true(pte_dirty(entry_at(&t, BASE)));
	/* Nobody but the entry knows. */
	folio_lock(folio);
	folio_cancel_dirty(folio);
	folio_unlock(folio);
	assert_int_equal(pf_munmap(t.mm, BASE, PAGES(1)), 0);
	assert_true(folio_test_dirty(folio));
	end(file);
}

/* ---- what goes ----------------------------------------------------------- */

static void truncate_unmaps(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = memory_file(&t, 4, 0);
	map_file(&t, BASE, 4, RW, SHARED, file, 0);
	map_file(&t, BASE + PAGES(16), 4, RW, PRIVATE, file, 0);
	for (unsigned int i = 0; i < 4; i++) {
		write_byte(&t, BASE + PAGES(i) + 10, (u8)(i + 1));
		write_byte(&t, BASE + PAGES(16 + i), 'p');
	}
	assert_int_equal(pf_file_truncate(file, PAGES(1) + 10), 0);
	assert_int_equal(read_byte(&t, BASE + 10), 1);
	assert_int_equal(read_byte(&t, BASE + PAGES(1) + 10), 0);
	assert_sigbus(&t, BASE + PAGES(2));
	/* private copies above the size are gone as well */
	assert_int_equal(read_byte(&t, BASE + PAGES(17)), 'p');
	assert_sigbus(&t, BASE + PAGES(18));
	assert_false(resident_at(&t, BASE + PAGES(3)));
	assert_valid(&t);
	/* grown again, it is zero */
	assert_int_equal(pf_file_truncate(file, PAGES(4)), 0);
	assert_int_equal(read_byte(&t, BASE + PAGES(2) + 10), 0);
	end(file);
}

static void holes_keep_private_copies(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = memory_file(&t, 4, 0);
	map_file(&t, BASE, 4, RW, SHARED, file, 0);
	map_file(&t, BASE + PAGES(16), 4, RW, PRIVATE, file, 0);
	write_byte(&t, BASE + PAGES(1), 1);
	write_byte(&t, BASE + PAGES(2), 2);
	write_byte(&t, BASE + PAGES(17), 'p');
	assert_int_equal(read_byte(&t, BASE + PAGES(18)), 2);
	punch(file, 1, 2);
	assert_false(resident_at(&t, BASE + PAGES(1)));
	assert_false(resident_at(&t, BASE + PAGES(18)));
	assert_int_equal(read_byte(&t, BASE + PAGES(17)), 'p');
	assert_int_equal(read_byte(&t, BASE + PAGES(1)), 0);
	assert_int_equal(read_byte(&t, BASE + PAGES(18)), 0);
	end(file);
}

/* What is pinned outlives the truncation, and is of no file. */
static void pins_outlive_truncation(void **state)
{
	struct pf_file *file;
	struct page *page;

	(void)state;
	begin();
	file = memory_file(&t, 1, 0);
	map_file(&t, BASE, 1, RW, SHARED, file, 0);
	write_byte(&t, BASE, 'd');
	page = page_pinned_at(&t, BASE, PINFOLD_FOLL_WRITE);
	assert_int_equal(pf_file_truncate(file, 0), 0);
	assert_null(page_folio(page)->mapping);
	assert_int_equal(*(char *)page_address(page), 'd');
	assert_int_equal(pf_file_truncate(file, PAGES(1)), 0);
	pf_unpin_user_pages_dirty_lock((struct pf_page **)&page, 1, true);
	assert_int_equal(read_byte(&t, BASE), 0);
	end(file);
}

/* ---- areas --------------------------------------------------------------- */

/* Cut, moved, grown and joined: each page stays the file's at its offset. */
static void areas_are_cut_and_moved(void **state)
{
	pf_addr_t moved;
	struct pf_file *file;

	(void)state;
	begin();
	file = open_file(&t, PAGES(8), true);
	map_file(&t, BASE, 8, RW, SHARED, file, 0);
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(8),
				    PINFOLD_MADV_POPULATE_READ), 0);
	assert_int_equal(pf_munmap(t.mm, BASE + PAGES(3), PAGES(2)), 0);
	assert_int_equal(mm_of(t.mm)->map_count, 2);
	assert_valid(&t);
	assert_int_equal(pf_mremap(t.mm, BASE + PAGES(5), PAGES(3), PAGES(3),
				   PINFOLD_MREMAP_MAYMOVE |
				   PINFOLD_MREMAP_FIXED, BASE + PAGES(600),
				   &moved), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(read_byte(&t, moved + PAGES(i)), 6 + i);
	assert_valid(&t);
	map_file(&t, BASE + PAGES(3), 2, RW, SHARED, file, 3);
	assert_int_equal(mm_of(t.mm)->map_count, 2);
	assert_int_equal(read_byte(&t, BASE + PAGES(4)), 5);
	assert_int_equal(pf_file_truncate(file, PAGES(6)), 0);
	assert_int_equal(read_byte(&t, moved), 6);
	assert_sigbus(&t, moved + PAGES(1));
	end(file);
}

/* Shared memory without a file is seen by children, and by nobody else. */
static void shared_anonymous(void **state)
{
	struct mm_test child;
	pf_addr_t at;

	(void)state;
	begin();
	assert_int_equal(pf_mmap(t.mm, 0, PAGES(3), RW, PINFOLD_MAP_SHARED, &at),
			 0);
	assert_int_equal(read_byte(&t, at), 0);
	write_byte(&t, at + PAGES(2), 'p');
	child = fork_of(&t);
	assert_int_equal(read_byte(&child, at + PAGES(2)), 'p');
	write_byte(&child, at, 'c');
	assert_int_equal(read_byte(&t, at), 'c');
	assert_valid(&t);
	exit_of(&child);
	mm_test_end(&t);
}

/* Large folios are mapped by many entries at once, where there is room. */
static void large_folios(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = memory_file(&t, 1024, 9);
	map_file(&t, BASE, 600, RW, SHARED, file, 100);
	write_byte(&t, BASE + PAGES(450), 'l');
	assert_int_equal(folio_order(folio_at(file, 550)), 9);
	assert_int_equal(folio_at(file, 550)->index, 512);
	assert_int_equal(file_byte(file, PAGES(550)), 'l');
	assert_true(folio_mapcount(folio_at(file, 550)) > 50);
	assert_valid(&t);
	punch(file, 540, 20);
	assert_false(resident_at(&t, BASE + PAGES(450)));
	assert_null(folio_at(file, 550));
	assert_non_null(folio_at(file, 539));
	assert_int_equal(read_byte(&t, BASE + PAGES(450)), 0);
	assert_valid(&t);
	assert_int_equal(pf_file_truncate(file, PAGES(3)), 0);
	end(file);
}

/* ---- what is refused ----------------------------------------------------- */

static void modes(void **state)
{
	struct pf_file *file, *none = NULL;
	pf_addr_t at;
	int fds[2];

	(void)state;
	begin();
	file = open_file(&t, PAGES(2), false);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, SHARED, file, 0,
				      &at), -EACCES);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, 0, file, 0, &at),
			 -EINVAL);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, SHARED | PRIVATE,
				      file, 0, &at), -EINVAL);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, PRIVATE, file, 1,
				      &at), -EINVAL);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, PRIVATE, file,
				      ~(u64)PAGE_SIZE + 1, &at), -EOVERFLOW);
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), RW, PRIVATE, NULL, 0,
				      &at), -EINVAL);
	/* shared, read-only: never to be written */
	assert_int_equal(pf_mmap_file(t.mm, 0, PAGES(2), PINFOLD_PROT_READ,
				      SHARED, file, 0, &at), 0);
	assert_int_equal(pf_mprotect(t.mm, at, PAGES(1), RW), -EACCES);
	assert_int_equal(pf_file_truncate(file, 0), -EBADF);
	assert_int_equal(pf_file_write(file, "x", 1, 0), -EBADF);
	assert_int_equal(pf_file_read(file, &at, 1, -1), -EINVAL);
	assert_int_equal(pf_machine_destroy(t.machine), -EBUSY);
	assert_int_equal(pf_file_open(t.machine, -1, false, &none), -EBADF);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pf_file_open(t.machine, fds[0], false, &none),
			 -ENODEV);
	close(fds[0]);
	close(fds[1]);
	fds[0] = host_file(1);
	assert_int_equal(pf_shmem_create(t.machine, (u64)1 << 63, 0, 0, &none),
			 -EINVAL);
	assert_int_equal(pf_shmem_create(t.machine, 1, 10, 0, &none), -EINVAL);
	assert_int_equal(pf_shmem_create(t.machine, 1, 0, 8, &none), -EINVAL);
	close(fds[0]);
	assert_null(none);
	end(file);
}

/* A page that cannot be read is a bus error, and can be read later. */
static void read_errors(void **state)
{
	struct pf_file *file;
	char buffer[8];
	int fd;

	(void)state;
	begin();
	/* the host's file becomes shorter: what is missing is zero */
	fd = host_file(PAGES(4));
	assert_int_equal(pf_file_open(t.machine, fd, true, &file), 0);
	assert_int_equal(ftruncate(fd, PAGES(1)), 0);
	assert_int_equal(file_byte(file, PAGES(2)), 0);
	assert_int_equal(file_byte(file, 5), 1);
	assert_int_equal(pf_file_read(file, buffer, 8, (int64_t)PAGES(4) - 2),
			 2);
	assert_int_equal(pf_file_read(file, buffer, 8, (int64_t)PAGES(4)), 0);
	close(fd);
	end(file);
}

/* Bytes through the cache; a write grows a file of memory, and no other. */
static void bytes(void **state)
{
	static u8 from[70 * 4096], to[70 * 4096];
	struct pf_file *file;

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (u8)(i * 7 + i / 4096);
	file = memory_file(&t, 0, 2);
	assert_int_equal(pf_file_write(file, from, sizeof(from), 1000),
			 sizeof(from));
	assert_int_equal(pf_file_size(file), 1000 + sizeof(from));
	assert_int_equal(pf_file_read(file, to, sizeof(to), 1000), sizeof(to));
	assert_memory_equal(from, to, sizeof(to));
	assert_int_equal(file_byte(file, 999), 0);
	pf_file_close(file);
	file = open_file(&t, PAGES(2), true);
	assert_int_equal(pf_file_write(file, from, PAGES(3), 100),
			 PAGES(2) - 100);
	assert_int_equal(pf_file_write(file, from, 1, (int64_t)PAGES(2)),
			 -EFBIG);
	assert_int_equal(file_byte(file, 99), 1);
	assert_int_equal(file_byte(file, 100 + 4097), from[4097]);
	assert_true(folio_test_dirty(folio_at(file, 1)));
	end(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_host_file),
		cmocka_unit_test(area_keeps_the_file),
		cmocka_unit_test(shared_stores_are_the_files),
		cmocka_unit_test(private_stores_are_not),
		cmocka_unit_test(stores_are_tracked),
		cmocka_unit_test(mprotect_keeps_tracking),
		cmocka_unit_test(unmapping_keeps_dirt),
		cmocka_unit_test(truncate_unmaps),
		cmocka_unit_test(holes_keep_private_copies),
		cmocka_unit_test(pins_outlive_truncation),
		cmocka_unit_test(areas_are_cut_and_moved),
		cmocka_unit_test(shared_anonymous),
		cmocka_unit_test(large_folios),
		cmocka_unit_test(modes),
		cmocka_unit_test(read_errors),
		cmocka_unit_test(bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
