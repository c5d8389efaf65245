/* SPDX-License-Identifier: MIT */
/*
 * Claim: filling a range together gives what filling it page by page gives, for
 * every mixture of what is there; what is prepared is never overwritten, what is
 * only allocated is filled in place, and a failure leaves a prefix.
 *
 * Source: semantics/filemap.md 3.4, 5.6, B17, G9; cases.md H1
 */
#include "tests/guest_memfd_test.h"
#include "tests/random.h"

#include "host/event.h"
#include "mm/memcontrol.h"

static char source[PAGES(1024)] __attribute__((aligned(4096)));

static void make_source(pgoff_t start, pgoff_t nr, u64 seed)
{
	for (pgoff_t i = 0; i < nr; i++)
		make_page(source + PAGES(i), start + i, seed);
}

static int64_t populate(pgoff_t start, pgoff_t nr)
{
	return guest_memfd_populate(gmem, PAGES(start), source, PAGES(nr));
}

/* Bytes, at odd places, in folios as large as they can be and no larger. */
static void test_round_trip(void **state)
{
	static const pgoff_t ranges[][2] = { { 0, 1 }, { 0, 1024 }, { 1, 1 },
					     { 63, 2 }, { 57, 463 },
					     { 511, 513 }, { 100, 900 } };

	(void)state;
	for (unsigned int order = 0; order <= 9; order += 3) {
		gmem_begin(1024, order);
		for (unsigned int r = 0; r < ARRAY_SIZE(ranges); r++) {
			const pgoff_t start = ranges[r][0], nr = ranges[r][1];
			pgoff_t next;

			make_source(start, nr, r);
			assert_int_equal(populate(start, nr), PAGES(nr));
			assert_int_equal(gmem->mapping.nrpages, nr);
			for (pgoff_t i = start; i < start + nr; i++)
				assert_page(i, r);
			for (pgoff_t i = start; i < start + nr; i = next) {
				unsigned int k = folio_order(folio_at(i));

				next = folio_next_index(folio_at(i));
				assert_int_equal(folio_at(i)->index, i);
				assert_true(k == order ||
					    (i >> k & 1) ||
					    next + (1UL << k) > start + nr);
				assert_int_equal(folio_ref_count(folio_at(i)),
						 1 << k);
			}
			assert_int_equal(guest_memfd_punch(gmem, 0,
							   PAGES(1024)), 0);
		}
		gmem_end();
	}
}

/*
 * All patterns of absent, allocated, prepared over eight pages: as page by
 * page, which is tried on a second object.
 */
static void test_case_H1(void **state)
{
	(void)state;
	gmem_begin(128, 0);
	make_source(0, 8, 1);
	for (unsigned int pattern = 0; pattern < 6561; pattern++) {
		const pgoff_t base = pattern & 1 ? 60 : 0;
		struct folio *was[8];
		unsigned int p = pattern, first = 8;
		int64_t one, done;

		for (pgoff_t i = 0; i < 8; i++, p /= 3) {
			if (p % 3)
				assert_int_equal(guest_memfd_allocate(gmem,
						 PAGES(base + i), PAGE_SIZE),
						 0);
			if (p % 3 == 2)
				put_page(gmem_page(base + i));
			if (p % 3 == 2 && first == 8)
				first = i;
			was[i] = folio_at(base + i);
		}
		done = guest_memfd_write(gmem, PAGES(base), source, PAGES(8));
		assert_int_equal(done, first ? (int64_t)PAGES(first) : -ENOSPC);
		p = pattern;
		for (unsigned int i = 0; i < 8; i++, p /= 3) {
			if (was[i]) {
				assert_ptr_equal(folio_at(base + i), was[i]);
				assert_int_equal(folio_ref_count(was[i]), 1);
				assert_false(folio_test_locked(was[i]));
			}
			if (i < first) {
				struct page *page = gmem_page(base + i);

				assert_true(page_is(page_address(page), i, 1));
				put_page(page);
				continue;
			}
			assert_int_equal(prepared(base + i), p % 3 == 2);
			assert_int_equal(!!folio_at(base + i), p % 3 != 0);
			assert_zero(base + i);
			/* What the loop of single pages does with it. */
			one = guest_memfd_write(gmem, PAGES(base + i), source,
						PAGE_SIZE);
			assert_int_equal(one, p % 3 == 2 ? -ENOSPC : 4096);
		}
		assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(128)), 0);
	}
	gmem_end();
}

static void test_fm_G9(void **state)
{
	static char bytes[PAGES(4)];

	(void)state;
	gmem_begin(4, 0);
	assert_int_equal(guest_memfd_write(gmem, 1, bytes, PAGE_SIZE), -EINVAL);
	assert_int_equal(guest_memfd_write(gmem, 0, bytes, 1), -EINVAL);
	assert_int_equal(guest_memfd_write(gmem, PAGES(3), bytes, PAGES(2)),
			 -EINVAL);
	assert_int_equal(guest_memfd_write(gmem, (u64)0 - PAGE_SIZE, bytes,
					   PAGES(2)), -EINVAL);
	assert_int_equal(guest_memfd_write(gmem, 0, NULL, PAGE_SIZE), -EINVAL);
	assert_int_equal(guest_memfd_write(gmem, PAGES(4), bytes, 0), 0);
	assert_int_equal(gmem->mapping.nrpages, 0);
	waiter_post(current->waiter, SIGNAL_ORDINARY);
	assert_int_equal(guest_memfd_write(gmem, 0, bytes, PAGE_SIZE), -EINTR);
	waiter_clear();
	assert_int_equal(gmem->mapping.nrpages, 0);
	/* prepared: first, later */
	put_page(gmem_page(2));
	make_page(bytes, 9, 9);
	assert_int_equal(guest_memfd_write(gmem, PAGES(2), bytes, PAGE_SIZE),
			 -ENOSPC);
	assert_int_equal(guest_memfd_populate(gmem, PAGES(2), bytes, PAGE_SIZE),
			 -EEXIST);
	assert_zero(2);
	assert_int_equal(guest_memfd_write(gmem, 0, bytes, PAGES(4)), PAGES(2));
	assert_null(folio_at(3));
	/* poisoned before it was prepared */
	assert_int_equal(guest_memfd_allocate(gmem, PAGES(3), PAGE_SIZE), 0);
	assert_int_equal(guest_memfd_memory_error(gmem, 3), 0);
	assert_int_equal(guest_memfd_write(gmem, PAGES(3), bytes, PAGE_SIZE),
			 -EHWPOISON);
	assert_false(prepared(3));
	gmem_end();
}

/*
 * Larger folios that are allocated, or prepared, in every place relative to the
 * range: in place where they fit, split where they are filled in part.
 */
static void test_fm_B17(void **state)
{
	static const struct {
		pgoff_t at;
		unsigned int order;
	} present[] = { { 0, 0 }, { 5, 0 }, { 0, 3 }, { 8, 3 }, { 8, 2 },
			{ 0, 6 }, { 64, 6 }, { 64, 5 }, { 96, 4 }, { 0, 7 } };

	(void)state;
	make_source(4, 100, 5);
	for (unsigned int order = 0; order <= 7; order++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(present) * 2; i++) {
			const pgoff_t at = present[i / 2].at;
			const pgoff_t nr = 1UL << present[i / 2].order;
			const bool ready = i & 1;
			pgoff_t end = 104;

			if (present[i / 2].order > order)
				continue;
			gmem_begin(128, order);
			assert_int_equal(guest_memfd_allocate(gmem, PAGES(at),
							      PAGES(nr)), 0);
			if (ready)
				put_page(gmem_page(at));
			if (ready && folio_next_index(folio_at(at)) > 4)
				end = max(at, 4UL);
			assert_int_equal(populate(4, 100), end > 4 ?
					 (int64_t)PAGES(end - 4) : -EEXIST);
			for (pgoff_t p = 0; p < 128; p++) {
				if (p >= 4 && p < end)
					assert_page(p, 5);
				else
					assert_zero(p);
				if (p < 4 && !ready)
					assert_false(prepared(p));
			}
			gmem_end();
		}
	}
}

/* Each allocation fails in turn. */
static void test_fail_each(void **state)
{
	bool whole = false;

	(void)state;
	make_source(60, 140, 2);
	for (unsigned int order = 0; order <= 6; order += 3) {
		whole = false;
		for (long n = 1; !whole; n++) {
			int64_t done;

			gmem_begin(1UL << 20, order);
			assert_int_equal(guest_memfd_allocate(gmem, PAGES(64),
							      PAGES(64)), 0);
			for (pgoff_t i = 130; i < 200; i += 3)
				assert_int_equal(guest_memfd_allocate(gmem,
						 PAGES(i), PAGE_SIZE), 0);
			current->fail_nth = n;
			done = populate(60, 140);
			whole = current->fail_nth > 0;
			current->fail_nth = 0;
			if (done < 0) {
				assert_int_equal(done, -ENOMEM);
				done = 0;
			}
			for (pgoff_t i = 60; i < 60 + done / PAGE_SIZE; i++)
				assert_page(i, 2);
			for (pgoff_t i = 60 + done / PAGE_SIZE; i < 200; i++)
				assert_false(prepared(i));
			if (whole)
				assert_int_equal(done, PAGES(140));
			gmem_end();
		}
	}
}

/*
 * A group that may have few pages: every third one is there already, and does
 * not count; a prefix is filled, and what lies behind it is not locked.
 */
static void test_short_charge(void **state)
{
	(void)state;
	make_source(0, 64, 8);
	for (unsigned long room = 0; room <= 44; room += 1 + room % 4) {
		pgoff_t done = 0, absent = 0;
		struct mem_cgroup *group;
		int64_t ret;

		gmem_begin(64, 0);
		for (pgoff_t i = 0; i < 64; i += 3)
			assert_int_equal(guest_memfd_allocate(gmem, PAGES(i),
							      PAGE_SIZE), 0);
		assert_int_equal(mem_cgroup_create(the_machine(), room, &group),
				 0);
		set_active_memcg(group);
		ret = populate(0, 64);
		set_active_memcg(NULL);
		while (done < 64 && (done % 3 == 0 || absent < room))
			absent += done++ % 3 != 0;
		assert_int_equal(ret, PAGES(done));
		for (pgoff_t i = 0; i < 64; i++) {
			if (i < done)
				assert_page(i, 8);
			else
				assert_false(prepared(i));
			assert_false(folio_at(i) &&
				     folio_test_locked(folio_at(i)));
		}
		assert_int_equal(guest_memfd_punch(gmem, 0, PAGES(64)), 0);
		mem_cgroup_destroy(group);
		gmem_end();
	}
}

/* Terabytes from the beginning the locks of a turn ascend as well. */
static void test_far_away(void **state)
{
	static const pgoff_t starts[] = { 0x7fffff80, 0x7fffffc0, 0x7ffffffd,
					  0x80000000, 0xffffffc0, 1UL << 40 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(starts); i++) {
		gmem_begin(1UL << 41, 0);
		make_source(starts[i], 100, 3);
		for (pgoff_t p = 1; p < 100; p += 1 + p % 3)
			assert_int_equal(guest_memfd_allocate(gmem,
					 PAGES(starts[i] + p), PAGE_SIZE), 0);
		assert_int_equal(populate(starts[i], 100), PAGES(100));
		for (pgoff_t p = starts[i]; p < starts[i] + 100; p++)
			assert_page(p, 3);
		gmem_end();
	}
}

/* Memory in pieces: smaller folios, and then a prefix. */
static void test_short_memory(void **state)
{
	struct guest_memfd *hog;

	(void)state;
	gmem_begin(1024, 9);
	make_source(0, 1024, 4);
	assert_int_equal(guest_memfd_create(PAGES(8192), 0, &hog), 0);
	assert_int_equal(guest_memfd_allocate(hog, 0, PAGES(8192)), -ENOMEM);
	assert_int_equal(populate(0, 1024), -ENOMEM);
	/* every other page free: 100 of them */
	for (pgoff_t i = 0; i < 200; i += 2)
		assert_int_equal(guest_memfd_punch(hog, PAGES(i), PAGE_SIZE),
				 0);
	assert_in_range(populate(0, 1024), PAGES(90), PAGES(100));
	for (pgoff_t i = 0; i < 90; i++)
		assert_page(i, 4);
	guest_memfd_destroy(hog);
	gmem_end();
}

/*
 * One hold of the lock for 64 pages, or for a large folio; those take one more
 * for a node that is missing.
 */
static void test_holds(void **state)
{
	u64 before;

	(void)state;
	make_source(0, 1024, 3);
	for (unsigned int order = 0; order <= 9; order += 3) {
		gmem_begin(2048, order);
		before = event_counts[EV_XA_LOCK];
		assert_int_equal(populate(1024, 1024), PAGES(1024));
		if (order)
			assert_in_range(event_counts[EV_XA_LOCK] - before,
					1024 >> order, (1024 >> order) +
					(order < 6 ? 1024 / 64 : 1));
		else
			assert_int_equal(event_counts[EV_XA_LOCK] - before,
					 1024 / 64);
		gmem_end();
	}
}

/* Random ranges of all three kinds against a plain array. */
static void test_model(void **state)
{
	enum { SPAN = 600 };
	static u8 model[SPAN];		/* 0: zero; else the seed */
	static bool ready[SPAN];
	struct random rnd;

	(void)state;
	random_init(&rnd);
	gmem_begin(SPAN, 9);
	for (unsigned int round = 1; round < 400; round++) {
		pgoff_t start = random_below(&rnd, SPAN);
		pgoff_t nr = 1 + random_below(&rnd, min(SPAN - start, 200UL));
		pgoff_t done = 0;
		u8 seed = (u8)(round % 255 + 1);
		struct page *page;

		switch (random_below(&rnd, 4)) {
		case 0:
			assert_int_equal(guest_memfd_punch(gmem, PAGES(start),
							   PAGES(nr)), 0);
			memset(model + start, 0, nr);
			memset(ready + start, 0, nr);
			break;
		case 1:
			assert_int_equal(guest_memfd_allocate(gmem,
					 PAGES(start), PAGES(nr)), 0);
			break;
		case 2:
			page = gmem_page(start);
			/* a whole folio may have become ready */
			for (pgoff_t i = 0; i < SPAN; i++)
				ready[i] = prepared(i);
			put_page(page);
			break;
		default:
			make_source(start, nr, seed);
			while (done < nr && !ready[start + done])
				model[start + done++] = seed;
			for (pgoff_t i = 0; i < done; i++)
				ready[start + i] = true;
			assert_int_equal(populate(start, nr), done ?
					 (int64_t)PAGES(done) : -EEXIST);
		}
		for (pgoff_t i = 0; i < SPAN; i++) {
			assert_int_equal(prepared(i), ready[i]);
			if (model[i])
				assert_page(i, model[i]);
			else
				assert_zero(i);
		}
	}
	gmem_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_case_H1),
		cmocka_unit_test(test_fm_G9),
		cmocka_unit_test(test_fm_B17),
		cmocka_unit_test(test_fail_each),
		cmocka_unit_test(test_short_charge),
		cmocka_unit_test(test_far_away),
		cmocka_unit_test(test_short_memory),
		cmocka_unit_test(test_holds),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
