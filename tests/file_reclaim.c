/* SPDX-License-Identifier: MIT */
/*
 * Claim: more of a file can be mapped than there is memory: what was not used
 * since the last look goes, is read again when it is touched, and what is dirty,
 * pinned or locked stays.
 *
 * Source: mm/vmscan.c:shrink_folio_list(), mm/rmap.c:try_to_unmap()
 */
#include "tests/file_test.h"

#include "mm/vmscan.h"

#define FILE_PAGES	4096	/* of 16 MiB */

static struct mm_test t;

static u64 word_of(u64 page)
{
	return page * 0x9e3779b97f4a7c15u + 1;
}

/* Mostly holes: the host's page cache need not have it. */
static struct pf_file *large_file(void)
{
	struct pf_file *file;
	int fd = host_file(0);

	assert_int_equal(ftruncate(fd, (off_t)PAGES(FILE_PAGES)), 0);
	for (u64 i = 0; i < FILE_PAGES; i++) {
		u64 word = word_of(i);

		assert_int_equal(pwrite(fd, &word, 8, (off_t)PAGES(i)), 8);
	}
	assert_int_equal(pf_file_open(t.machine, fd, true, &file), 0);
	close(fd);
	return file;
}

static void begin(void)
{
	mm_test_begin(&t, (struct pf_machine_options){ .memory_bytes = MIB(8) });
}

static void end(struct pf_file *file)
{
	assert_valid(&t);
	pf_file_close(file);
	mm_test_end(&t);
}

static void more_than_memory(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = large_file();
	map_file(&t, BASE, FILE_PAGES, PINFOLD_PROT_READ, SHARED, file, 0);
	for (int round = 0; round < 2; round++)
		for (u64 i = 0; i < FILE_PAGES; i++)
			assert_int_equal(read_word(&t, BASE + PAGES(i)),
					 word_of(i));
	assert_true(file_of(file)->f_mapping->nrpages < 2048);
	assert_valid(&t);
	end(file);
}

/* The copies are the area's own, and nothing can take them. */
static void private_copies_stay(void **state)
{
	struct pf_file *file;

	(void)state;
	begin();
	file = large_file();
	map_file(&t, BASE, FILE_PAGES, RW, PRIVATE, file, 0);
	for (u64 i = 0; i < FILE_PAGES; i++) {
		if (i % 8 == 0)
			write_word(&t, BASE + PAGES(i), i);
		else
			assert_int_equal(read_word(&t, BASE + PAGES(i)),
					 word_of(i));
	}
	for (u64 i = 0; i < FILE_PAGES; i += 8)
		assert_int_equal(read_word(&t, BASE + PAGES(i)), i);
	end(file);
}

static void what_is_dirty_or_held_stays(void **state)
{
	struct page *pinned;
	struct pf_file *file;

	(void)state;
	begin();
	file = large_file();
	map_file(&t, BASE, FILE_PAGES, RW, SHARED, file, 0);
	write_word(&t, BASE, 7);
	pinned = page_pinned_at(&t, BASE + PAGES(1), 0);
	for (u64 i = 2; i < FILE_PAGES; i++)
		assert_int_equal(read_word(&t, BASE + PAGES(i)), word_of(i));
	assert_int_equal(read_word(&t, BASE), 7);
	assert_true(folio_test_dirty(folio_at(file, 0)));
	assert_ptr_equal(page_folio(pinned), folio_at(file, 1));
	unpin_user_page(pinned);
	end(file);
}

/* A locked area keeps its pages; the rest makes room. */
static void locked_areas(void **state)
{
	struct pf_file *file;
	pf_addr_t place;

	(void)state;
	begin();
	file = large_file();
	assert_int_equal(pf_mmap_file(t.mm, BASE, PAGES(256), PINFOLD_PROT_READ,
				      SHARED | PINFOLD_MAP_FIXED |
				      PINFOLD_MAP_LOCKED, file, 0, &place), 0);
	map_file(&t, BASE + PAGES(256), FILE_PAGES - 256, PINFOLD_PROT_READ,
		 SHARED, file, 256);
	for (u64 i = 256; i < FILE_PAGES; i++)
		assert_int_equal(read_word(&t, BASE + PAGES(i)), word_of(i));
	for (u64 i = 0; i < 256; i++)
		assert_true(resident_at(&t, BASE + PAGES(i)));
	end(file);
}

/* Only what was used since the last look is kept for one look more. */
static void use_is_noticed(void **state)
{
	struct pf_file *file;
	struct folio *folio;

	(void)state;
	begin();
	file = large_file();
	map_file(&t, BASE, 1, PINFOLD_PROT_READ, SHARED, file, 0);
	assert_int_equal(read_word(&t, BASE), word_of(0));
	folio = folio_at(file, 0);
	folio_lock(folio);
	assert_int_equal(folio_referenced(folio), 1);
	assert_int_equal(folio_referenced(folio), 0);
	assert_true(try_to_unmap(folio, TTU_TRYLOCK));
	folio_unlock(folio);
	assert_false(resident_at(&t, BASE));
	assert_int_equal(read_word(&t, BASE), word_of(0));
	end(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_memory),
		cmocka_unit_test(private_copies_stay),
		cmocka_unit_test(what_is_dirty_or_held_stays),
		cmocka_unit_test(locked_areas),
		cmocka_unit_test(use_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
