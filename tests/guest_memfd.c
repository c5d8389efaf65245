/* SPDX-License-Identifier: MIT */
/*
 * Claim: guest_memfd answers as Linux's does, argument by argument; a page is
 * zeroed once, when it is first wanted, and again after a hole was punched.
 *
 * Source: semantics/filemap.md 5, tables M and G of 5.7 and 8.4; cases.md I2, I4
 */
#include "tests/guest_memfd_test.h"

static void test_fm_M1(void **state)
{
	struct guest_memfd *none = NULL;

	(void)state;
	gmem_begin(1, 0);
	for (u64 size = 0; size < PAGE_SIZE; size++)
		assert_int_equal(guest_memfd_create(size, 0, &none), -EINVAL);
	assert_int_equal(guest_memfd_create((u64)1 << 63, 0, &none), -EINVAL);
	assert_int_equal(guest_memfd_create(PAGE_SIZE, 10, &none), -EINVAL);
	assert_null(none);
	assert_int_equal(guest_memfd_create((u64)1 << 62, 0, &none), 0);
	guest_memfd_destroy(none);
	gmem_end();
}

static void test_fm_M3(void **state)
{
	struct guest_memfd *two;

	(void)state;
	gmem_begin(1, 0);
	assert_int_equal(guest_memfd_create(PAGES(2), 0, &two), 0);
	assert_int_equal(gmem->size, PAGES(1));
	assert_int_equal(two->size, PAGES(2));
	assert_int_equal(guest_memfd_allocate(two, 0, PAGES(2)), 0);
	assert_int_equal(gmem->mapping.nrpages, 0);
	assert_int_equal(two->mapping.nrpages, 2);
	guest_memfd_destroy(two);
	gmem_end();
}

static void test_fm_M7_M12(void **state)
{
	(void)state;
	gmem_begin(4, 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(4)), 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(4)), 0);
	assert_int_equal(gmem->mapping.nrpages, 4);
	assert_int_equal(guest_memfd_punch(gmem, PAGE_SIZE - 1, PAGE_SIZE),
			 -EINVAL);
	assert_int_equal(guest_memfd_allocate(gmem, PAGES(4), PAGE_SIZE),
			 -EINVAL);
	assert_int_equal(guest_memfd_allocate(gmem, PAGES(5), PAGE_SIZE),
			 -EINVAL);
	assert_int_equal(guest_memfd_punch(gmem, PAGES(4), PAGE_SIZE), 0);
	assert_int_equal(guest_memfd_punch(gmem, PAGES(5), PAGE_SIZE), 0);
	assert_int_equal(guest_memfd_punch(gmem, PAGES(1), PAGE_SIZE - 1),
			 -EINVAL);
	assert_int_equal(gmem->mapping.nrpages, 4);
	assert_int_equal(guest_memfd_punch(gmem, PAGES(1), PAGE_SIZE), 0);
	assert_null(folio_at(1));
	assert_int_equal(guest_memfd_allocate(gmem, PAGES(1), PAGE_SIZE), 0);
	assert_non_null(folio_at(1));
	gmem_end();
}

static void test_fm_M13(void **state)
{
	static const u64 ranges[][2] = {
		{ 0, 1 }, { 0, PAGE_SIZE - 1 }, { 0, PAGE_SIZE + 1 },
		{ 1, 1 }, { 1, PAGE_SIZE - 1 }, { 1, PAGE_SIZE },
		{ 1, PAGE_SIZE + 1 }, { PAGE_SIZE, 1 },
		{ PAGE_SIZE, PAGE_SIZE - 1 }, { PAGE_SIZE, PAGE_SIZE + 1 },
	};

	(void)state;
	gmem_begin(4, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_int_equal(guest_memfd_punch(gmem, ranges[i][0],
						   ranges[i][1]), -EINVAL);
	gmem_end();
}

/* Signs, overflow, alignment, in the order of 5.3. */
static void test_fm_G11(void **state)
{
	const u64 top = (u64)INT64_MAX & ~(u64)(PAGE_SIZE - 1);
	static const struct {
		u64 offset, len;
		int allocate, punch;
	} cases[] = {
		{ (u64)-1, PAGE_SIZE, -EINVAL, -EINVAL },
		{ 0, (u64)-1, -EINVAL, -EINVAL },
		{ 0, 0, -EINVAL, -EINVAL },
		{ PAGE_SIZE, 0, -EINVAL, -EINVAL },
		{ 0, PAGE_SIZE, 0, 0 },
		{ 0, PAGES(4), 0, 0 },
		{ 0, PAGES(5), -EINVAL, 0 },
		{ PAGES(3), PAGES(2), -EINVAL, 0 },
		{ INT64_MAX, PAGE_SIZE, -EFBIG, -EFBIG },
		{ INT64_MAX, 1, -EFBIG, -EFBIG },
	};

	(void)state;
	gmem_begin(4, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(guest_memfd_allocate(gmem, cases[i].offset,
						      cases[i].len),
				 cases[i].allocate);
		assert_int_equal(guest_memfd_punch(gmem, cases[i].offset,
						   cases[i].len),
				 cases[i].punch);
	}
	assert_int_equal(guest_memfd_punch(gmem, top, PAGE_SIZE), -EFBIG);
	assert_int_equal(guest_memfd_punch(gmem, top - PAGE_SIZE, PAGE_SIZE),
			 0);
	gmem_end();
}

static void test_fm_G1(void **state)
{
	unsigned long nr;

	(void)state;
	gmem_begin(5000, 0);
	waiter_post(current->waiter, SIGNAL_ORDINARY);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(200)), -EINTR);
	assert_int_equal(gmem->mapping.nrpages, 0);
	waiter_clear();
	/* More than the machine has: what was done stays. */
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(5000)), -ENOMEM);
	nr = gmem->mapping.nrpages;
	assert_in_range(nr, 4000, 4096);
	for (pgoff_t i = 0; i < 5000; i++)
		assert_int_equal(!!folio_at(i), i < nr);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(nr)), 0);
	assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(5000)), 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(200)), 0);
	gmem_end();
}

/* Allocated frames are dirty; the first who wants one gets it zeroed. */
static void test_fm_G2(void **state)
{
	struct page *page;
	u64 *words;

	(void)state;
	gmem_begin(4, 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(4)), 0);
	for (pgoff_t i = 0; i < 4; i++) {
		assert_false(folio_test_uptodate(folio_at(i)));
		make_page(page_address(&folio_at(i)->page), i, 0);
	}
	assert_zero(2);
	assert_false(prepared(2));
	page = gmem_page(2);
	assert_ptr_equal(page, &folio_at(2)->page);
	assert_true(page_is_zero(page_address(page)));
	words = page_address(page);
	words[5] = 7;
	put_page(page);
	page = gmem_page(2);
	words = page_address(page);
	assert_int_equal(words[5], 7);
	put_page(page);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(4)), 0);
	assert_true(prepared(2));
	assert_false(prepared(1));
	assert_int_equal(guest_memfd_get_pfn(gmem, 4, &page), -EINVAL);
	gmem_end();
}

/* Without a frame, without a node: nothing has changed. */
static void test_get_pfn_fails(void **state)
{
	struct page *page = NULL;
	int err = -ENOMEM;

	(void)state;
	gmem_begin(1000, 0);
	for (long n = 1; err; n++) {
		current->fail_nth = n;
		err = guest_memfd_get_pfn(gmem, 900, &page);
		current->fail_nth = 0;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_null(page);
		assert_int_equal(gmem->mapping.nrpages, 0);
		assert_true(n < 10);
	}
	put_page(page);
	gmem_end();
}

static void test_fm_G3(void **state)
{
	unsigned int seq;
	struct page *old, *new;

	(void)state;
	gmem_begin(4, 0);
	old = gmem_page(1);
	make_page(page_address(old), 1, 3);
	seq = guest_memfd_invalidate_seq(gmem);
	assert_false(guest_memfd_invalidate_retry(gmem, seq));
	assert_int_equal(guest_memfd_punch(gmem, PAGES(1), PAGES(1)), 0);
	assert_true(guest_memfd_invalidate_retry(gmem, seq));
	assert_zero(1);
	assert_null(folio_at(1));
	new = gmem_page(1);
	assert_ptr_not_equal(old, new);
	assert_true(page_is_zero(page_address(new)));
	/* Whoever still has the old one may look at it. */
	assert_true(page_is(page_address(old), 1, 3));
	put_page(old);
	put_page(new);
	gmem_end();
}

static void test_fm_G4(void **state)
{
	static char bytes[3 * PAGE_SIZE];
	unsigned int seq;
	struct page *page;

	(void)state;
	gmem_begin(8, 3);
	assert_int_equal(guest_memfd_memory_error(gmem, 1), -ENOENT);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(8)), 0);
	assert_int_equal(folio_order(folio_at(0)), 3);
	seq = guest_memfd_invalidate_seq(gmem);
	assert_int_equal(guest_memfd_memory_error(gmem, 1), 0);
	assert_true(guest_memfd_invalidate_retry(gmem, seq));
	assert_int_equal(guest_memfd_get_pfn(gmem, 1, &page), -EHWPOISON);
	put_page(gmem_page(0));
	put_page(gmem_page(2));
	assert_int_equal(guest_memfd_read(gmem, 0, bytes, sizeof(bytes)),
			 PAGE_SIZE);
	assert_int_equal(guest_memfd_read(gmem, PAGES(1), bytes, 5),
			 -EHWPOISON);
	assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(8)), 0);
	put_page(gmem_page(1));
	gmem_end();
}

static void test_read_anywhere(void **state)
{
	char bytes[100];

	(void)state;
	gmem_begin(2, 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct page *page = gmem_page(i);

		memset(page_address(page), 'a' + (int)i, PAGE_SIZE);
		put_page(page);
	}
	assert_int_equal(guest_memfd_read(gmem, PAGE_SIZE - 40, bytes, 100),
			 100);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(bytes[i], i < 40 ? 'a' : 'b');
	assert_int_equal(guest_memfd_read(gmem, PAGES(2) - 1, bytes, 2),
			 -EINVAL);
	assert_int_equal(guest_memfd_read(gmem, (u64)-1, bytes, 2), -EINVAL);
	assert_int_equal(guest_memfd_read(gmem, PAGES(2), bytes, 0), 0);
	gmem_end();
}

/* Order 0 only, unless asked for: nothing makes a folio larger. */
static void test_case_I2(void **state)
{
	static char bytes[2 << 20];

	(void)state;
	gmem_begin(1024, 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(512)), 0);
	assert_int_equal(guest_memfd_write(gmem, PAGES(512), bytes, PAGES(512)),
			 PAGES(512));
	put_page(gmem_page(0));
	for (pgoff_t i = 0; i < 1024; i++)
		assert_int_equal(folio_order(folio_at(i)), 0);
	guest_memfd_destroy(gmem);
	/* Asked for: they are as large as can be. */
	assert_int_equal(guest_memfd_create(PAGES(1024), 9, &gmem), 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(512)), 0);
	assert_int_equal(guest_memfd_write(gmem, PAGES(512), bytes, PAGES(512)),
			 PAGES(512));
	assert_int_equal(folio_order(folio_at(0)), 9);
	assert_int_equal(folio_order(folio_at(512)), 9);
	gmem_end();
}

/* A hole in a large folio: split, its other pages as they were. */
static void test_punch_splits(void **state)
{
	static char bytes[2 << 20];

	(void)state;
	for (pgoff_t i = 0; i < 512; i++)
		make_page(bytes + PAGES(i), i, 9);
	gmem_begin(512, 9);
	assert_int_equal(guest_memfd_write(gmem, 0, bytes, sizeof(bytes)),
			 sizeof(bytes));
	assert_int_equal(folio_order(folio_at(0)), 9);
	assert_int_equal(guest_memfd_punch(gmem, PAGES(100), PAGES(3)), 0);
	assert_int_equal(gmem->mapping.nrpages, 509);
	assert_int_equal(folio_order(folio_at(0)), 0);
	for (pgoff_t i = 0; i < 512; i++) {
		if (i - 100 < 3)
			assert_zero(i);
		else
			assert_page(i, 9);
	}
	gmem_end();
}

/*
 * One that somebody has got is not split: success, the frame stays, the bytes
 * are zero, the neighbours whole.  At its edges, and inside.
 */
static void test_case_I4(void **state)
{
	static const pgoff_t holes[][2] = { { 100, 3 }, { 0, 5 }, { 510, 2 },
					    { 0, 511 }, { 1, 511 } };
	static char bytes[2 << 20];

	(void)state;
	for (pgoff_t i = 0; i < 512; i++)
		make_page(bytes + PAGES(i), i, 9);
	for (unsigned int h = 0; h < ARRAY_SIZE(holes); h++) {
		struct page *page;

		gmem_begin(512, 9);
		assert_int_equal(guest_memfd_write(gmem, 0, bytes,
						   sizeof(bytes)),
				 sizeof(bytes));
		page = gmem_page(7);
		assert_int_equal(guest_memfd_punch(gmem, PAGES(holes[h][0]),
						   PAGES(holes[h][1])), 0);
		assert_int_equal(gmem->mapping.nrpages, 512);
		for (pgoff_t i = 0; i < 512; i++) {
			if (i - holes[h][0] < holes[h][1])
				assert_zero(i);
			else
				assert_page(i, 9);
		}
		/* A hole that covers it whole takes it away all the same. */
		assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(512)), 0);
		assert_int_equal(gmem->mapping.nrpages, 0);
		put_page(page);
		gmem_end();
	}
}

static void test_metadata_only(void **state)
{
	struct page *page;
	char byte = 0;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .metadata_only = true });
	assert_int_equal(guest_memfd_create(PAGES(64), 0, &gmem), 0);
	assert_int_equal(guest_memfd_allocate(gmem, 0, PAGES(32)), 0);
	page = gmem_page(3);
	put_page(page);
	assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(8)), 0);
	assert_int_equal(guest_memfd_read(gmem, 0, &byte, 1), -EOPNOTSUPP);
	assert_int_equal(guest_memfd_write(gmem, 0, &byte, PAGE_SIZE),
			 -EOPNOTSUPP);
	gmem_end();
}

/* Each single flag, as Linux's test tries them; and what the public calls add. */
static void test_fm_M2(void **state)
{
	struct pf_guest_memfd *g = NULL;
	struct pf_page *page;

	(void)state;
	gmem_begin(1, 0);
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_int_equal(pf_guest_memfd_create(t.machine, PAGES(1),
						       (u64)1 << bit, &g),
				 -EINVAL);
	assert_int_equal(pf_guest_memfd_create(t.machine, PAGES(1),
			 PINFOLD_GUEST_MEMFD_FOLIOS(10), &g), -EINVAL);
	assert_int_equal(pf_guest_memfd_create(NULL, PAGES(1), 0, &g), -EINVAL);
	assert_null(g);
	assert_int_equal(pf_guest_memfd_create(t.machine, PAGES(8),
			 PINFOLD_GUEST_MEMFD_FOLIOS(3), &g), 0);
	assert_int_equal(pf_guest_memfd_size(g), PAGES(8));
	assert_int_equal(pf_guest_memfd_allocate(g, 0, PAGES(8)), 0);
	assert_int_equal(pf_guest_memfd_get_pfn(g, 5, &page), 0);
	assert_int_equal(pf_page_folio_order(page), 3);
	pf_put_page(page);
	pf_guest_memfd_destroy(g);
	pf_guest_memfd_destroy(NULL);
	gmem_end();
}

/* The machine outlives guest memory, and that the frames in nobody's hands. */
static void test_busy_machine(void **state)
{
	struct pf_machine_options options = {
		.size = sizeof(options), .memory_bytes = MIB(4),
	};
	struct pf_machine *machine;
	struct pf_guest_memfd *g;
	struct pf_page *page;

	(void)state;
	assert_int_equal(pf_machine_create(&options, &machine), 0);
	assert_int_equal(pf_guest_memfd_create(machine, PAGES(8), 0, &g), 0);
	assert_int_equal(pf_machine_destroy(machine), -EBUSY);
	assert_int_equal(pf_guest_memfd_get_pfn(g, 5, &page), 0);
	pf_guest_memfd_destroy(g);
	assert_int_equal(pf_machine_destroy(machine), -EBUSY);
	pf_put_page(page);
	assert_int_equal(pf_machine_destroy(machine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_M1),
		cmocka_unit_test(test_fm_M2),
		cmocka_unit_test(test_fm_M3),
		cmocka_unit_test(test_fm_M7_M12),
		cmocka_unit_test(test_fm_M13),
		cmocka_unit_test(test_fm_G1),
		cmocka_unit_test(test_fm_G2),
		cmocka_unit_test(test_fm_G3),
		cmocka_unit_test(test_fm_G4),
		cmocka_unit_test(test_fm_G11),
		cmocka_unit_test(test_get_pfn_fails),
		cmocka_unit_test(test_read_anywhere),
		cmocka_unit_test(test_case_I2),
		cmocka_unit_test(test_case_I4),
		cmocka_unit_test(test_punch_splits),
		cmocka_unit_test(test_metadata_only),
		cmocka_unit_test(test_busy_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
