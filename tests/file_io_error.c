/* SPDX-License-Identifier: MIT */
/*
 * Claim: a page that the host cannot read costs its neighbours nothing.  Reading
 * it is -EIO, touching it a bus error, pinning it -EFAULT; a copy of it is never
 * made up; and once it can be read, it is.
 *
 * Source: mm/filemap.c:filemap_read(), filemap_fault(), read_cache_folio()
 */
#include "tests/file_test.h"
#include "tests/host_io_error.h"

#include <string.h>

#define FILE_PAGES	80
#define BAD		37

static struct mm_test t;
static struct pf_file *file;
static char bytes[PAGES(FILE_PAGES)];

static void begin(bool bad)
{
	mm_test_begin(&t, (struct pf_machine_options){ .memory_bytes = MIB(8) });
	file = open_file(&t, PAGES(FILE_PAGES), true);
	bad_page = bad ? BAD : NO_BAD_PAGE;
	bad_reads = 0;
}

static void end(void)
{
	assert_valid(&t);
	pf_file_close(file);
	mm_test_end(&t);
	bad_page = NO_BAD_PAGE;
}

static void heal(void)
{
	assert_true(bad_reads > 0);
	bad_page = NO_BAD_PAGE;
}

static bool all_is(const char *at, int byte)
{
	for (u64 i = 0; i < PAGE_SIZE; i++)
		if (at[i] != (char)byte)
			return false;
	return true;
}

static void check_pages(u64 first, u64 end_page)
{
	for (u64 i = first; i < end_page; i++)
		assert_true(all_is(bytes + PAGES(i), (int)i + 1));
}

static void reading(void **state)
{
	const int64_t behind = (int64_t)PAGES(FILE_PAGES - BAD - 1);

	(void)state;
	begin(true);
	assert_int_equal(pf_file_read(file, bytes, PAGES(FILE_PAGES), 0),
			 PAGES(BAD));
	check_pages(0, BAD);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pf_file_read(file, bytes, 1,
					      (int64_t)PAGES(BAD) + i), -EIO);
	assert_int_equal(pf_file_read(file, bytes + PAGES(BAD + 1),
				      (u64)behind, (int64_t)PAGES(BAD + 1)),
			 behind);
	check_pages(BAD + 1, FILE_PAGES);
	heal();
	assert_int_equal(pf_file_read(file, bytes, PAGES(FILE_PAGES), 0),
			 PAGES(FILE_PAGES));
	check_pages(0, FILE_PAGES);
	end();
}

/* A part is stored: the rest of the page would have to be read. */
static void writing(void **state)
{
	(void)state;
	begin(true);
	assert_int_equal(pf_file_write(file, "x", 1, (int64_t)PAGES(BAD) + 5),
			 -EIO);
	assert_int_equal(pf_file_write(file, bytes, PAGE_SIZE,
				       (int64_t)PAGES(BAD - 1) + 5),
			 PAGE_SIZE - 5);
	assert_false(folio_at(file, BAD) &&
		     folio_test_uptodate(folio_at(file, BAD)));
	heal();
	assert_int_equal(file_byte(file, PAGES(BAD) + 5), BAD + 1);
	end();
	/* All of it is stored: nobody has to read it. */
	begin(true);
	memset(bytes, 9, PAGE_SIZE);
	assert_int_equal(pf_file_write(file, bytes, PAGE_SIZE,
				       (int64_t)PAGES(BAD)), PAGE_SIZE);
	assert_int_equal(file_byte(file, PAGES(BAD) + 5), 9);
	end();
}

static void touching(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		begin(true);
		map_file(&t, BASE, FILE_PAGES, RW, kind ? SHARED : PRIVATE,
			 file, 0);
		for (u64 i = 0; i < FILE_PAGES; i++) {
			if (i != BAD)
				assert_int_equal(read_byte(&t, BASE + PAGES(i)),
						 i + 1);
			else
				assert_sigbus(&t, BASE + PAGES(i));
		}
		assert_int_equal(pf_write(t.mm, BASE + PAGES(BAD), "x", 1),
				 -EFAULT);
		heal();
		write_byte(&t, BASE + PAGES(BAD), 9);
		assert_int_equal(read_byte(&t, BASE + PAGES(BAD) + 1), BAD + 1);
		assert_int_equal(file_byte(file, PAGES(BAD)), kind ? 9 : BAD + 1);
		end();
	}
}

static void pinning(void **state)
{
	static struct pf_page *pages[FILE_PAGES];
	long nr;

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		begin(true);
		map_file(&t, BASE, FILE_PAGES, RW, SHARED, file, 0);
		nr = fast ? pf_pin_user_pages_fast(t.mm, BASE, FILE_PAGES, 0,
						   pages) :
			    pf_pin_user_pages_unlocked(t.mm, BASE, FILE_PAGES,
						       pages, 0);
		assert_int_equal(nr, BAD);
		pf_unpin_user_pages(pages, (unsigned long)nr);
		nr = fast ? pf_pin_user_pages_fast(t.mm, BASE + PAGES(BAD), 2,
						   0, pages) :
			    pf_pin_user_pages_unlocked(t.mm, BASE + PAGES(BAD),
						       2, pages, 0);
		assert_int_equal(nr, -EFAULT);
		heal();
		nr = pf_pin_user_pages_unlocked(t.mm, BASE, FILE_PAGES, pages,
						0);
		assert_int_equal(nr, FILE_PAGES);
		pf_unpin_user_pages(pages, FILE_PAGES);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
		cmocka_unit_test(writing),
		cmocka_unit_test(touching),
		cmocka_unit_test(pinning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
