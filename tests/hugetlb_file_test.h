/* SPDX-License-Identifier: MIT */
/*
 * What tests of hugetlb files share: files of whole huge pages, and areas of them.
 */
#ifndef TESTS_HUGETLB_FILE_TEST_H
#define TESTS_HUGETLB_FILE_TEST_H

#include "tests/hugetlb_test.h"

#include "mm/fs.h"

#include <errno.h>

#define SHARED	PINFOLD_MAP_SHARED
#define PRIVATE	PINFOLD_MAP_PRIVATE

/* begin() and huge_file(): test_done() takes both back */
static inline struct pf_file *huge_file(u64 places)
{
	struct pf_file *file;

	assert_int_equal(pf_hugetlb_create(t.machine, HUGE, places * HUGE,
					   &file), 0);
	return file;
}

static inline int map_places(pf_addr_t at, struct pf_file *file, u64 first,
			     u64 nr, int prot, int flags)
{
	pf_addr_t place;

	return pf_mmap_file(t.mm, at, nr * HUGE, prot,
			    flags | PINFOLD_MAP_FIXED, file, first * HUGE,
			    &place);
}

static inline void map_file(pf_addr_t at, struct pf_file *file, u64 first,
			    u64 nr, int prot, int flags)
{
	assert_int_equal(map_places(at, file, first, nr, prot, flags), 0);
}

static inline int punch_bytes(struct pf_file *file, u64 offset, u64 bytes)
{
	return pf_file_allocate(file, PINFOLD_FALLOC_KEEP_SIZE |
				PINFOLD_FALLOC_PUNCH_HOLE, (int64_t)offset,
				(int64_t)bytes);
}

static inline void punch(struct pf_file *file, u64 first, u64 nr)
{
	assert_int_equal(punch_bytes(file, first * HUGE, nr * HUGE), 0);
}

/* cached() - the file's page of the place, or NULL */
static inline struct folio *cached(struct pf_file *file, u64 place)
{
	return xa_load(&file_of(file)->f_mapping->i_pages,
		       place << HPAGE_PMD_ORDER);
}

static inline u64 file_word(struct pf_file *file, u64 at)
{
	u64 word = 0xdead;

	assert_int_equal(pf_file_read(file, &word, sizeof(word), (int64_t)at),
			 sizeof(word));
	return word;
}

static inline void assert_bus_error(pf_addr_t at)
{
	u64 word = 1;

	assert_int_equal(pf_read(t.mm, at, &word, sizeof(word)), -EFAULT);
	assert_int_equal(pf_write(t.mm, at, &word, sizeof(word)), -EFAULT);
}

/* test_done() - all that the pool gave is back once file and areas are gone */
static inline void test_done(struct pf_file *file)
{
	assert_valid(&t);
	pf_file_close(file);
	end();
}

#endif
