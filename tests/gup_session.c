/* SPDX-License-Identifier: MIT */
/*
 * Claim: a longterm session of gup_test pins all of a range or nothing, keeps
 * the pages whatever becomes of the mapping, hands out their bytes, and says
 * with its errno what was wrong.
 *
 * Source: lab/gup_test.h
 */
#include "tests/helper_gup_test.h"

#include "mm/gup.h"

#include <stdlib.h>

#define BYTES	(NR_PAGES * PAGE_SIZE)

static const u32 all_flags[] = {
	0, PIN_LONGTERM_TEST_FLAG_USE_WRITE, PIN_LONGTERM_TEST_FLAG_USE_FAST,
	PIN_LONGTERM_TEST_FLAG_USE_WRITE | PIN_LONGTERM_TEST_FLAG_USE_FAST,
};

static struct pf_mm *handle(const struct bed *bed)
{
	return (struct pf_mm *)bed->mm;
}

static int start(struct gup_session *s, const struct bed *bed, u64 offset,
		 u64 bytes, u32 flags)
{
	return gup_session_start(s, bed->mm, &(struct pin_longterm_test){
		.addr = bed->buffer + offset,
		.size = bytes,
		.flags = flags,
	});
}

static unsigned long pinned(const struct bed *bed)
{
	return nr_foll_pin_acquired(bed->machine) -
	       nr_foll_pin_released(bed->machine);
}

static void fill(const struct bed *bed, pf_addr_t at, char seed)
{
	char *bytes = malloc(BYTES);

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (char)(seed + i / 512 + i);
	assert_int_equal(pf_write(handle(bed), at, bytes, BYTES), BYTES);
	free(bytes);
}

static void assert_same(const struct bed *bed, pf_addr_t a, pf_addr_t b)
{
	char *bytes_a = malloc(BYTES), *bytes_b = malloc(BYTES);

	assert_int_equal(pf_read(handle(bed), a, bytes_a, BYTES), BYTES);
	assert_int_equal(pf_read(handle(bed), b, bytes_b, BYTES), BYTES);
	assert_memory_equal(bytes_a, bytes_b, BYTES);
	free(bytes_a);
	free(bytes_b);
}

static pf_addr_t map_more(const struct bed *bed, u64 bytes)
{
	pf_addr_t at;

	assert_int_equal(pf_mmap(handle(bed), 0, bytes,
				 PINFOLD_PROT_READ | PINFOLD_PROT_WRITE, 0,
				 &at), 0);
	return at;
}

static void test_reads_what_is_pinned(void **state)
{
	struct gup_session s;
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	gup_session_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(all_flags); i++) {
		u64 out = map_more(&bed, BYTES), expected;

		fill(&bed, bed.buffer, (char)(3 * i));
		assert_int_equal(start(&s, &bed, 0, BYTES, all_flags[i]), 0);
		assert_int_equal(pinned(&bed), NR_PAGES);
		assert_int_equal(gup_session_read(&s, bed.mm, &out), 0);
		assert_same(&bed, bed.buffer, out);
		/* Pinned pages are the ones that the process goes on using. */
		fill(&bed, bed.buffer, (char)(3 * i + 1));
		assert_int_equal(gup_session_read(&s, bed.mm, &out), 0);
		assert_same(&bed, bed.buffer, out);
		/* And they stay when it has thrown them away. */
		expected = map_more(&bed, BYTES);
		fill(&bed, expected, (char)(3 * i + 1));
		assert_int_equal(pf_madvise(handle(&bed), bed.buffer, BYTES,
					    PINFOLD_MADV_DONTNEED), 0);
		assert_int_equal(gup_session_read(&s, bed.mm, &out), 0);
		assert_same(&bed, expected, out);
		assert_int_equal(gup_session_stop(&s), 0);
		assert_int_equal(pinned(&bed), 0);
	}
	assert_int_equal(gup_session_stop(&s), 0);
	bed_end(&bed);
}

static void test_refuses(void **state)
{
	u64 out = 0;
	struct gup_session s;
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	gup_session_init(&s);
	assert_int_equal(gup_session_read(&s, bed.mm, &out), -EINVAL);
	assert_int_equal(start(&s, &bed, 0, BYTES, 4), -EINVAL);
	assert_int_equal(start(&s, &bed, 0, BYTES, 1u << 31), -EINVAL);
	assert_int_equal(start(&s, &bed, 8, BYTES, 0), -EINVAL);
	assert_int_equal(start(&s, &bed, 0, BYTES + 8, 0), -EINVAL);
	assert_int_equal(start(&s, &bed, 0, 0, 0), -EINVAL);
	assert_int_equal(start(&s, &bed, 0, (u64)1 << 63, 0), -EINVAL);
	current->fail_nth = 1;
	assert_int_equal(start(&s, &bed, 0, BYTES, 0), -ENOMEM);
	assert_int_equal(pinned(&bed), 0);

	assert_int_equal(start(&s, &bed, 0, PAGE_SIZE, 0), 0);
	assert_int_equal(start(&s, &bed, 0, BYTES, 0), -EINVAL);
	assert_int_equal(pinned(&bed), 1);
	assert_int_equal(gup_session_stop(&s), 0);
	assert_int_equal(gup_session_read(&s, bed.mm, &out), -EINVAL);
	bed_end(&bed);
}

static void test_all_or_nothing(void **state)
{
	struct gup_session s;
	struct bed bed;

	(void)state;
	bed_begin_usual(&bed);
	bed_unmap(&bed, 11, 1);
	gup_session_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(all_flags); i++) {
		assert_int_equal(start(&s, &bed, 0, BYTES, all_flags[i]),
				 -EFAULT);
		assert_int_equal(pinned(&bed), 0);
		assert_int_equal(start(&s, &bed, 0, 11 * PAGE_SIZE,
				       all_flags[i]), 0);
		assert_int_equal(pinned(&bed), 11);
		assert_int_equal(gup_session_stop(&s), 0);
	}
	bed_end(&bed);
}

static void test_bad_buffer(void **state)
{
	struct gup_session s;
	struct bed bed;
	u64 out;

	(void)state;
	bed_begin_usual(&bed);
	gup_session_init(&s);
	assert_int_equal(start(&s, &bed, 0, BYTES, 0), 0);
	out = map_more(&bed, BYTES);
	assert_int_equal(pf_munmap(handle(&bed), out + 5 * PAGE_SIZE,
				   PAGE_SIZE), 0);
	assert_int_equal(gup_session_read(&s, bed.mm, &out), -EFAULT);
	out = 0;
	assert_int_equal(gup_session_read(&s, bed.mm, &out), -EFAULT);
	out = (u64)1 << 63;
	assert_int_equal(gup_session_read(&s, bed.mm, &out), -EFAULT);
	assert_int_equal(gup_session_stop(&s), 0);
	bed_end(&bed);
}

static void test_no_bytes(void **state)
{
	struct gup_session s;
	struct bed bed;

	(void)state;
	bed_begin(&bed, &(struct pf_machine_options){
		.size = sizeof(struct pf_machine_options),
		.memory_bytes = 16 * MIB,
		.metadata_only = true,
	});
	gup_session_init(&s);
	assert_int_equal(start(&s, &bed, 0, BYTES, 0), 0);
	assert_int_equal(gup_session_read(&s, bed.mm, &bed.buffer),
			 -EOPNOTSUPP);
	assert_int_equal(gup_session_stop(&s), 0);
	bed_end(&bed);
}

/* Movable memory is what a fault prefers; a longterm pin must not have it. */
static void test_is_longterm(void **state)
{
	struct gup_session s;
	struct bed bed;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all_flags); i++) {
		bed_begin(&bed, &(struct pf_machine_options){
			.size = sizeof(struct pf_machine_options),
			.memory_bytes = 32 * MIB,
			.movable_bytes = 16 * MIB,
		});
		gup_session_init(&s);
		assert_int_equal(start(&s, &bed, 0, BYTES, all_flags[i] |
				       PIN_LONGTERM_TEST_FLAG_USE_WRITE), 0);
		for (size_t k = 0; k < s.nr_pages; k++)
			assert_false(is_zone_movable_page(s.pages[k]));
		assert_int_equal(gup_session_stop(&s), 0);
		bed_end(&bed);
	}
}

struct killed {
	struct bed *bed;
	struct gup_session *session;
};

static void start_killed(void *arg)
{
	struct killed *k = arg;

	pf_task_signal(pf_task_self(), true);
	/* Without the fast form, waiting for mmap_lock ends. */
	assert_int_equal(start(k->session, k->bed, 0, BYTES, 0), -EINTR);
	assert_int_equal(start(k->session, k->bed, 0, BYTES,
			       PIN_LONGTERM_TEST_FLAG_USE_FAST), -EAGAIN);
}

static void use_killed(void *arg)
{
	struct killed *k = arg;
	u64 out = k->bed->buffer;

	pf_task_signal(pf_task_self(), true);
	assert_int_equal(start(k->session, k->bed, 0, BYTES, 0), -EINTR);
	assert_int_equal(gup_session_read(k->session, k->bed->mm, &out),
			 -EINTR);
}

static void test_killed(void **state)
{
	struct backend_thread *thread;
	struct gup_session s;
	struct bed bed;
	struct killed killed = { &bed, &s };

	(void)state;
	bed_begin_usual(&bed);
	gup_session_init(&s);
	bed_run_killed(&bed, start_killed, &killed);
	down_write(&s.lock);
	assert_int_equal(backend_thread_create(&thread, use_killed, &killed),
			 0);
	backend_thread_join(thread);
	up_write(&s.lock);
	assert_int_equal(pinned(&bed), 0);
	bed_end(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_is_pinned),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_bad_buffer),
		cmocka_unit_test(test_no_bytes),
		cmocka_unit_test(test_is_longterm),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
