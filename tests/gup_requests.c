/* SPDX-License-Identifier: MIT */
/*
 * Claim: requests 1 to 6 get or pin what they say, release all of it, and
 * report as their size how far the calls got, with the quirk at a short call.
 *
 * Source: lab/gup_test.h
 */
#include "tests/helper_gup_test.h"

#include "mm/gup.h"

static const u32 requests[] = {
	GUP_FAST_BENCHMARK, PIN_FAST_BENCHMARK, PIN_LONGTERM_BENCHMARK,
	GUP_BASIC_TEST, PIN_BASIC_TEST, DUMP_USER_PAGES_TEST,
};

static bool is_pin(u32 cmd)
{
	return cmd == PIN_FAST_BENCHMARK || cmd == PIN_LONGTERM_BENCHMARK ||
	       cmd == PIN_BASIC_TEST;
}

static struct gup_test record_of(const struct bed *bed, unsigned long nr_pages,
				 u32 per_call)
{
	return (struct gup_test){
		.addr = bed->buffer,
		.size = nr_pages * PAGE_SIZE,
		.nr_pages_per_call = per_call,
		.gup_flags = FOLL_WRITE,
	};
}

/* The size in pages that comes back. */
static u64 size_after(struct bed *bed, u32 cmd, struct gup_test record)
{
	assert_int_equal(gup_test_request(bed->mm, cmd, &record), 0);
	assert_true(IS_ALIGNED(record.size, PAGE_SIZE));
	return record.size / PAGE_SIZE;
}

static void test_gets_all(void **state)
{
	static const u32 per_call[] = { 1, 3, NR_PAGES, 4096 };
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(per_call); k++) {
			u64 pins = nr_foll_pin_acquired(bed.machine);

			assert_int_equal(size_after(&bed, requests[i],
				record_of(&bed, NR_PAGES, per_call[k])),
				NR_PAGES);
			pins = nr_foll_pin_acquired(bed.machine) - pins;
			assert_int_equal(pins, is_pin(requests[i]) ? NR_PAGES :
					 0);
		}
	}
	bed_end(&bed);
}

/*
 *   0        4        8 9       12       16
 *   |--------|--------|x|-------|--------|	page 8 is not there
 */
static void test_size_of_a_short_range(void **state)
{
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	bed_unmap(&bed, 8, 1);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		const u32 cmd = requests[i];

		/* Nothing of the third call, or of the ninth. */
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, NR_PAGES, 4)), 8);
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, NR_PAGES, 1)), 8);
		/* A part of it: all of the call counts. */
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, NR_PAGES, 5)), 10);
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, NR_PAGES, NR_PAGES)),
				 NR_PAGES);
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, 10, 6)), 10);
		assert_int_equal(size_after(&bed, cmd,
				 record_of(&bed, NR_PAGES, 0)), 0);
	}
	bed_end(&bed);
}

static void test_invalid_flags_get_nothing(void **state)
{
	struct gup_test record;
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		record = record_of(&bed, NR_PAGES, 4);
		record.gup_flags |= FOLL_TOUCH;
		assert_int_equal(size_after(&bed, requests[i], record), 0);
		record.gup_flags = FOLL_GET;
		assert_int_equal(size_after(&bed, requests[i], record),
				 is_pin(requests[i]) ? 0 : NR_PAGES);
		record.gup_flags = FOLL_LONGTERM;
		assert_int_equal(size_after(&bed, requests[i], record),
				 is_pin(requests[i]) ? NR_PAGES : 0);
	}
	bed_end(&bed);
}

static void test_dump(void **state)
{
	struct gup_test record;
	struct bed bed;
	u64 pins;

	(void)state;
	bed_begin_usual(&bed);
	record = record_of(&bed, NR_PAGES, 4);
	record.which_pages[0] = 1;
	record.which_pages[2] = NR_PAGES;
	record.which_pages[7] = NR_PAGES + 1;
	pins = nr_foll_pin_acquired(bed.machine);
	assert_int_equal(gup_test_request(bed.mm, DUMP_USER_PAGES_TEST,
					  &record), 0);
	assert_int_equal(nr_foll_pin_acquired(bed.machine), pins);
	assert_int_equal(record.which_pages[0], 1);
	assert_int_equal(record.which_pages[2], NR_PAGES);
	assert_int_equal(record.which_pages[7], 0);

	record.test_flags = GUP_TEST_FLAG_DUMP_PAGES_USE_PIN;
	assert_int_equal(gup_test_request(bed.mm, DUMP_USER_PAGES_TEST,
					  &record), 0);
	assert_int_equal(nr_foll_pin_acquired(bed.machine), pins + NR_PAGES);
	bed_end(&bed);
}

static void request_killed(void *arg)
{
	struct bed *bed = arg;

	pf_task_signal(pf_task_self(), true);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct gup_test record = record_of(bed, NR_PAGES, 4);
		const bool fast = requests[i] == GUP_FAST_BENCHMARK ||
				  requests[i] == PIN_FAST_BENCHMARK;
		int err = gup_test_request(bed->mm, requests[i], &record);

		/* The fast ones begin without the lock. */
		assert_int_equal(err, fast ? 0 : -EINTR);
		assert_int_equal(record.size, fast ? 0 : NR_PAGES * PAGE_SIZE);
	}
}

static void test_errors(void **state)
{
	struct gup_test record;
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	record = record_of(&bed, NR_PAGES, 4);
	assert_int_equal(gup_test_request(bed.mm, 0xc0506700, &record),
			 -EINVAL);
	assert_int_equal(gup_test_request(bed.mm, 0x40186707, &record),
			 -EINVAL);
	current->fail_nth = 1;
	assert_int_equal(gup_test_request(bed.mm, GUP_BASIC_TEST, &record),
			 -ENOMEM);
	bed_run_killed(&bed, request_killed, &bed);
	bed_end(&bed);
}

#define NR_THREADS	3

static void request_often(void *arg)
{
	struct bed *bed = arg;

	for (unsigned int i = 0; i < 300; i++)
		assert_int_equal(size_after(bed, requests[i % 5],
				 record_of(bed, NR_PAGES, 1 + i % 7)),
				 NR_PAGES);
}

/* On one buffer, which nobody has touched yet. */
static void test_threads(void **state)
{
	struct backend_thread *threads[NR_THREADS];
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	for (size_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(backend_thread_create(&threads[i],
						       request_often, &bed),
				 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		backend_thread_join(threads[i]);
	/* Three of the five pin. */
	assert_int_equal(nr_foll_pin_acquired(bed.machine),
			 NR_THREADS * 300 * 3 / 5 * NR_PAGES);
	bed_end(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gets_all),
		cmocka_unit_test(test_size_of_a_short_range),
		cmocka_unit_test(test_invalid_flags_get_nothing),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
