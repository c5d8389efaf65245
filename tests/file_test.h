/* SPDX-License-Identifier: MIT */
/*
 * What tests of files share: the files, and what is mapped of them.
 */
#ifndef TESTS_FILE_TEST_H
#define TESTS_FILE_TEST_H

#include "tests/fork_test.h"

#include "mm/fs.h"
#include "mm/shmem.h"

#include <stdlib.h>
#include <unistd.h>

/* host_file() - a descriptor of an unlinked file of @bytes; byte i is i / 4096 + 1 */
static inline int host_file(u64 bytes)
{
	char name[] = "/tmp/pinfold-file-XXXXXX", page[PAGE_SIZE];
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	for (u64 at = 0; at < bytes; at += PAGE_SIZE) {
		u64 part = min(bytes - at, PAGE_SIZE);

		memset(page, (int)(at / PAGE_SIZE + 1), sizeof(page));
		assert_int_equal(pwrite(fd, page, part, (off_t)at), part);
	}
	return fd;
}

static inline struct pf_file *open_file(struct mm_test *t, u64 bytes,
					bool writable)
{
	struct pf_file *file;
	int fd = host_file(bytes);

	assert_int_equal(pf_file_open(t->machine, fd, writable, &file), 0);
	close(fd);
	return file;
}

static inline struct pf_file *memory_file(struct mm_test *t, u64 pages,
					  unsigned int max_order)
{
	struct pf_file *file;

	assert_int_equal(pf_shmem_create(t->machine, PAGES(pages), max_order, 0,
					 &file), 0);
	return file;
}

/* map_file() - pages of @file from @first on at @at */
static inline void map_file(struct mm_test *t, pf_addr_t at, u64 pages,
			    int prot, int flags, struct pf_file *file,
			    u64 first)
{
	pf_addr_t place;

	assert_int_equal(pf_mmap_file(t->mm, at, PAGES(pages), prot,
				      flags | PINFOLD_MAP_FIXED, file,
				      PAGES(first), &place), 0);
}

#define SHARED	PINFOLD_MAP_SHARED
#define PRIVATE	PINFOLD_MAP_PRIVATE

static inline void write_byte(struct mm_test *t, pf_addr_t at, u8 byte)
{
	assert_int_equal(pf_write(t->mm, at, &byte, 1), 1);
}

static inline u8 read_byte(struct mm_test *t, pf_addr_t at)
{
	u8 byte = 0xee;

	assert_int_equal(pf_read(t->mm, at, &byte, 1), 1);
	return byte;
}

static inline u8 file_byte(struct pf_file *file, u64 at)
{
	u8 byte = 0xee;

	assert_int_equal(pf_file_read(file, &byte, 1, (int64_t)at), 1);
	return byte;
}

/* A user that touches it gets a bus error. */
static inline void assert_sigbus(struct mm_test *t, pf_addr_t at)
{
	u8 byte;

	assert_int_equal(pf_read(t->mm, at, &byte, 1), -EFAULT);
}

static inline void punch(struct pf_file *file, u64 first, u64 pages)
{
	assert_int_equal(pf_file_allocate(file, PINFOLD_FALLOC_KEEP_SIZE |
					  PINFOLD_FALLOC_PUNCH_HOLE,
					  (int64_t)PAGES(first),
					  (int64_t)PAGES(pages)), 0);
}

/* folio_at() - of the cache, or NULL; the file keeps it */
static inline struct folio *folio_at(struct pf_file *file, pgoff_t index)
{
	void *entry = xa_load(&file_of(file)->f_mapping->i_pages, index);

	return xa_is_value(entry) ? NULL : entry;
}

#endif
