/* SPDX-License-Identifier: MIT */
/*
 * Claim: after a restore a range reads as the file does, whatever was there
 * before; holes take no memory; what cannot be read ends it, with a prefix done
 * and nothing behind changed.  A save writes all of it, and allocates nothing.
 */
#include "tests/guest_memfd_test.h"
#include "tests/host_io_error.h"
#include "tests/random.h"

#include "mm/memcontrol.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPAN	1200ul		/* pages of the object */

static int make_file(void)
{
	char path[] = "/tmp/pinfold-image.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

/* The page at @index of the file is that of @seed, or a hole for 0. */
static void put_page_of(int fd, pgoff_t at, pgoff_t index, u64 seed)
{
	char bytes[PAGE_SIZE];

	if (!seed)
		return;
	make_page(bytes, index, seed);
	assert_int_equal(pwrite(fd, bytes, PAGE_SIZE, (off_t)PAGES(at)),
			 PAGE_SIZE);
}

static void check_file(int fd, pgoff_t at, pgoff_t index, u64 seed)
{
	char bytes[PAGE_SIZE] __attribute__((aligned(8)));

	assert_int_equal(pread(fd, bytes, PAGE_SIZE, (off_t)PAGES(at)),
			 PAGE_SIZE);
	if (seed)
		assert_true(page_is(bytes, index, seed));
	else
		assert_true(page_is_zero(bytes));
}

static void check(pgoff_t index, u64 seed)
{
	if (seed)
		assert_page(index, seed);
	else
		assert_zero(index);
}

/* Runs of data and holes, of 1 page to some hundred. */
static void make_runs(struct random *rnd, u8 *seeds, pgoff_t nr, u8 seed)
{
	bool data = random_below(rnd, 2);

	for (pgoff_t i = 0; i < nr; data = !data) {
		pgoff_t run = 1 + random_below(rnd, 1UL << random_below(rnd, 9));

		while (run-- && i < nr)
			seeds[i++] = data ? seed : 0;
	}
}

/*
 * Random images over what earlier ones have left, in part prepared, allocated,
 * punched; then saved over another file, and compared.
 */
static void test_model(void **state)
{
	static u8 model[SPAN], image[SPAN];
	struct random rnd;

	(void)state;
	random_init(&rnd);
	for (unsigned int order = 0; order <= 9; order += 9) {
		gmem_begin(SPAN, order);
		memset(model, 0, sizeof(model));
		for (unsigned int round = 1; round <= 25; round++) {
			const pgoff_t start = random_below(&rnd, SPAN);
			const pgoff_t nr = 1 + random_below(&rnd, SPAN - start);
			const pgoff_t shift = random_below(&rnd, 50);
			int fd = make_file(), saved = make_file();
			unsigned long pages;

			make_runs(&rnd, image, nr, (u8)round);
			for (pgoff_t i = 0; i < nr; i++)
				put_page_of(fd, shift + i, start + i, image[i]);
			assert_int_equal(ftruncate(fd, (off_t)PAGES(shift + nr)),
					 0);
			pages = gmem->mapping.nrpages;
			assert_int_equal(guest_memfd_restore(gmem, fd,
					 PAGES(shift), PAGES(start), PAGES(nr)),
					 PAGES(nr));
			memcpy(model + start, image, nr);
			for (pgoff_t i = 0; i < SPAN; i++)
				check(i, model[i]);
			for (pgoff_t i = 0; i < nr; i++)
				pages += image[i] != 0;
			assert_true(gmem->mapping.nrpages <= pages);
			/* Over garbage, inside and behind. */
			pages = gmem->mapping.nrpages;
			for (pgoff_t i = 0; i < SPAN; i += 3)
				put_page_of(saved, i, i, 99);
			assert_int_equal(guest_memfd_save(gmem, saved,
							  PAGES(7), 0,
							  PAGES(SPAN)),
					 PAGES(SPAN));
			for (pgoff_t i = 0; i < SPAN; i++)
				check_file(saved, i + 7, i, model[i]);
			check_file(saved, 6, 6, 99);
			assert_int_equal(gmem->mapping.nrpages, pages);
			close(fd);
			close(saved);
			/* For the next round. */
			pages = random_below(&rnd, SPAN - 8);
			if (round & 1)
				assert_int_equal(guest_memfd_punch(gmem,
						 PAGES(pages), PAGES(8)), 0);
			else
				assert_int_equal(guest_memfd_allocate(gmem,
						 PAGES(pages), PAGES(8)), 0);
			if (round & 1)
				memset(model + pages, 0, 8);
		}
		gmem_end();
	}
}

/* A page that the guest has stays that page. */
static void test_in_place(void **state)
{
	struct page *data, *hole;
	int fd = make_file();

	(void)state;
	gmem_begin(8, 3);
	data = gmem_page(1);
	hole = gmem_page(2);
	memset(page_address(hole), 5, PAGE_SIZE);
	put_page_of(fd, 1, 1, 4);
	assert_int_equal(ftruncate(fd, PAGES(8)), 0);
	assert_int_equal(guest_memfd_restore(gmem, fd, 0, 0, PAGES(8)),
			 PAGES(8));
	assert_true(page_is(page_address(data), 1, 4));
	assert_true(page_is_zero(page_address(hole)));
	put_page(data);
	put_page(hole);
	/* A hole leaves alone what is absent. */
	assert_null(folio_at(5));
	close(fd);
	gmem_end();
}

/* The file ends early: whole pages up to there, in any folios. */
static void test_short_file(void **state)
{
	static const off_t sizes[] = { 0, 1, PAGES(1) - 1, PAGES(1),
				       PAGES(1) + 1, PAGES(299) + 7,
				       PAGES(300) };

	(void)state;
	for (unsigned int order = 0; order <= 9; order += 9) {
		for (unsigned int s = 0; s < ARRAY_SIZE(sizes); s++) {
			const pgoff_t pages = (pgoff_t)sizes[s] / PAGE_SIZE;
			int fd = make_file();

			gmem_begin(512, order);
			put_page(gmem_page(400));
			for (pgoff_t i = 0; i < 300; i++)
				put_page_of(fd, i, i, 8);
			assert_int_equal(ftruncate(fd, sizes[s]), 0);
			assert_int_equal(guest_memfd_restore(gmem, fd, 0, 0,
							     PAGES(512)),
					 pages ? (int64_t)PAGES(pages) :
					 -ENODATA);
			for (pgoff_t i = 0; i < pages; i++)
				assert_page(i, 8);
			assert_int_equal(gmem->mapping.nrpages, pages + 1);
			close(fd);
			gmem_end();
		}
	}
}

static void test_bad_arguments(void **state)
{
	int fds[2], fd = make_file(), dir = open("/tmp", O_RDONLY);

	(void)state;
	gmem_begin(8, 0);
	assert_int_equal(ftruncate(fd, PAGES(8)), 0);
	assert_int_equal(pipe(fds), 0);
#define RESTORE(fd, at, to, len) guest_memfd_restore(gmem, fd, at, to, len)
	assert_int_equal(RESTORE(fds[0], 0, 0, PAGES(1)), -ESPIPE);
	assert_int_equal(RESTORE(dir, 0, 0, PAGES(1)), -EISDIR);
	assert_int_equal(RESTORE(-1, 0, 0, PAGES(1)), -EBADF);
	assert_int_equal(RESTORE(fd, 1, 0, PAGES(1)), -EINVAL);
	assert_int_equal(RESTORE(fd, 0, 1, PAGES(1)), -EINVAL);
	assert_int_equal(RESTORE(fd, 0, 0, PAGES(1) - 1), -EINVAL);
	assert_int_equal(RESTORE(fd, 0, PAGES(8), PAGES(1)), -EINVAL);
	assert_int_equal(RESTORE(fd, 0, 0, PAGES(9)), -EINVAL);
	assert_int_equal(RESTORE(fd, (u64)0 - PAGE_SIZE, 0, PAGES(1)), -EINVAL);
	assert_int_equal(RESTORE(fd, 0, PAGES(8), 0), 0);
	waiter_post(current->waiter, SIGNAL_ORDINARY);
	assert_int_equal(RESTORE(fd, 0, 0, PAGES(1)), -EINTR);
	waiter_clear();
	assert_int_equal(gmem->mapping.nrpages, 0);
	assert_int_equal(guest_memfd_save(gmem, fds[1], 0, 0, PAGES(1)),
			 -ESPIPE);
	assert_int_equal(guest_memfd_save(gmem, fd, 0, 0, PAGES(9)), -EINVAL);
	close(fds[0]);
	close(fds[1]);
	close(fd);
	close(dir);
	gmem_end();
}

/* Not open for that; poison half-way: a prefix. */
static void test_fails_half_way(void **state)
{
	char path[] = "/tmp/pinfold-image.XXXXXX";
	int fd = mkstemp(path), only;

	(void)state;
	gmem_begin(300, 3);
	for (pgoff_t i = 0; i < 300; i++)
		put_page_of(fd, i, i, 3);
	only = open(path, O_WRONLY);
	assert_int_equal(guest_memfd_restore(gmem, only, 0, 0, PAGES(300)),
			 -EBADF);
	assert_int_equal(gmem->mapping.nrpages, 0);
	close(only);
	assert_int_equal(guest_memfd_restore(gmem, fd, 0, 0, PAGES(300)),
			 PAGES(300));
	only = open(path, O_RDONLY);
	assert_int_equal(guest_memfd_save(gmem, only, 0, 0, PAGES(300)),
			 -EBADF);
	close(only);
	assert_int_equal(guest_memfd_memory_error(gmem, 203), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(guest_memfd_save(gmem, fd, 0, 0, PAGES(300)),
			 PAGES(200));
	assert_int_equal(guest_memfd_save(gmem, fd, 0, PAGES(203), PAGES(1)),
			 -EHWPOISON);
	for (pgoff_t i = 0; i < 300; i++)
		put_page_of(fd, i, i, 4);
	assert_int_equal(guest_memfd_restore(gmem, fd, 0, 0, PAGES(300)),
			 PAGES(203));
	assert_page(202, 4);
	assert_page(204, 3);
	unlink(path);
	close(fd);
	gmem_end();
}

/*
 * A group that may have few pages, and prepared pages here and there: behind the
 * prefix those have what they had.
 */
static void test_short_charge(void **state)
{
	static const pgoff_t prepared_pages[] = { 0, 1, 9, 10, 40, 63, 70 };
	int fd = make_file();

	(void)state;
	for (pgoff_t i = 0; i < 80; i++)
		put_page_of(fd, i, i, 3);
	for (unsigned long room = 0; room <= 74; room += 1 + room % 6) {
		struct mem_cgroup *group;
		pgoff_t absent = 0, done;
		int64_t ret;

		gmem_begin(128, 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(prepared_pages); i++)
			put_page(gmem_page(prepared_pages[i]));
		assert_int_equal(mem_cgroup_create(the_machine(), room, &group),
				 0);
		set_active_memcg(group);
		ret = guest_memfd_restore(gmem, fd, 0, 0, PAGES(80));
		set_active_memcg(NULL);
		assert_true(ret > 0 && ret % PAGE_SIZE == 0);
		done = (pgoff_t)ret / PAGE_SIZE;
		for (pgoff_t i = 0; i < 80; i++) {
			bool was_prepared = false;

			for (unsigned int k = 0; k < ARRAY_SIZE(prepared_pages);
			     k++)
				was_prepared |= prepared_pages[k] == i;
			absent += i < done && !was_prepared;
			check(i, i < done ? 3 : 0);
			assert_int_equal(prepared(i), i < done || was_prepared);
		}
		assert_int_equal(absent, min(room, 73UL));
		assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(128)), 0);
		mem_cgroup_destroy(group);
		gmem_end();
	}
	assert_int_equal(odd_reads, 0);
	close(fd);
}

/* A page cannot be read: what lies before it is there, nothing else is touched. */
static void test_read_error(void **state)
{
	static const pgoff_t bad[] = { 0, 1, 63, 100, 512, 1023 };
	int fd = make_file();

	(void)state;
	for (pgoff_t i = 0; i < 1024; i++)
		put_page_of(fd, i, i, 3);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad) * 3; i++) {
		const pgoff_t at = bad[i / 3];

		gmem_begin(1024, i % 3 * 4);
		put_page(gmem_page(99));
		put_page(gmem_page(1000));
		bad_page = (long)at;
		assert_int_equal(guest_memfd_restore(gmem, fd, 0, 0,
						     PAGES(1024)),
				 at ? (int64_t)PAGES(at) : -EIO);
		bad_page = NO_BAD_PAGE;
		for (pgoff_t p = 0; p < 1024; p++)
			check(p, p < at ? 3 : 0);
		assert_int_equal(guest_memfd_restore(gmem, fd, PAGES(at),
						     PAGES(at),
						     PAGES(1024 - at)),
				 PAGES(1024 - at));
		for (pgoff_t p = 0; p < 1024; p++)
			check(p, 3);
		gmem_end();
	}
	close(fd);
}

/* Each allocation fails in turn: a prefix, and what was there behind it. */
static void test_fail_each(void **state)
{
	bool whole = false;
	int fd = make_file();

	(void)state;
	for (pgoff_t i = 0; i < 200; i++)
		put_page_of(fd, i, i, i % 50 > 40 ? 0 : 6);
	assert_int_equal(ftruncate(fd, PAGES(200)), 0);
	for (long n = 1; !whole; n++) {
		pgoff_t done;
		int64_t ret;

		gmem_begin(1UL << 20, 0);
		put_page(gmem_page(45));
		put_page(gmem_page(150));
		current->fail_nth = n;
		ret = guest_memfd_restore(gmem, fd, 0, 0, PAGES(200));
		whole = current->fail_nth > 0;
		current->fail_nth = 0;
		assert_true(ret > 0 || ret == -ENOMEM);
		done = ret > 0 ? (pgoff_t)ret / PAGE_SIZE : 0;
		for (pgoff_t i = 0; i < 200; i++)
			check(i, i < done && i % 50 <= 40 ? 6 : 0);
		if (whole)
			assert_int_equal(done, 200);
		gmem_end();
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_short_file),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_fails_half_way),
		cmocka_unit_test(test_short_charge),
		cmocka_unit_test(test_read_error),
		cmocka_unit_test(test_fail_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
