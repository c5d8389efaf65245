/* SPDX-License-Identifier: MIT */
/*
 * Claim: stream_copy() does what memcpy() does, for any alignment and length,
 * in one range or in pages, and touches no byte outside; what was copied is there once a flag that is set
 * behind it is seen.
 *
 * Source: host/stream_copy.h
 */
#include "host/atomic.h"
#include "host/backend.h"
#include "host/stream_copy.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM	24576
#define AROUND	256

static unsigned char from[ROOM] __attribute__((aligned(4096)));
static unsigned char to[ROOM] __attribute__((aligned(4096)));
static unsigned char right[ROOM];

typedef void (*copy_fn)(void *dst, const void *src, size_t len);

static void copy_in_two(void *dst, const void *src, size_t len)
{
	size_t half = len / 2;

	stream_copy_unfenced(dst, src, half);
	stream_copy_unfenced((char *)dst + half, (const char *)src + half,
			     len - half);
	stream_copy_fence();
}

static void fill(struct random *r, unsigned char *bytes)
{
	for (size_t i = 0; i < ROOM; i += 8) {
		u64 word = random_next(r);

		memcpy(bytes + i, &word, 8);
	}
}

static void check(copy_fn copy, size_t dst, size_t src, size_t len)
{
	memcpy(right, to, ROOM);
	memcpy(right + dst, from + src, len);
	copy(to + dst, from + src, len);
	if (memcmp(to, right, ROOM))
		fail_msg("to %zu from %zu, %zu bytes", dst, src, len);
}

/* Each place in a line, at both ends, around every length that decides. */
static void test_alignments(void **state)
{
	static const size_t lengths[] = {
		0, 1, 63, 64, 65, 127, 128, 129, 511, 512, 513, 575, 576, 640,
		1024, 2047, 2048, 4095, 4096, 4097, 8192, 16383, 16384, 16448,
	};
	struct random r;

	(void)state;
	random_init(&r);
	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		fill(&r, from);
		fill(&r, to);
		for (size_t at = 0; at <= 64; at++) {
			check(stream_copy, AROUND + at, AROUND, lengths[n]);
			check(stream_copy, AROUND, AROUND + at, lengths[n]);
			check(copy_in_two, AROUND + at, AROUND + 64 - at,
			      lengths[n]);
		}
	}
}

static void test_random(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 4000; i++) {
		size_t dst = random_next(&r) % (ROOM / 2);
		size_t src = random_next(&r) % (ROOM / 2);
		size_t len = random_next(&r) % (ROOM / 2);

		if (i % 64 == 0) {
			fill(&r, from);
			fill(&r, to);
		}
		check(stream_copy, dst, src, i % 2 ? len : len % 1024);
	}
}

/* Pages in any order, of any number, from any place. */
static void test_pages(void **state)
{
	static const unsigned int orders[][5] = { { 0, 1, 2, 3, 4 },
						   { 3, 0, 4, 2, 1 } };
	static unsigned char unwanted[4096];
	struct random r;

	(void)state;
	random_init(&r);
	for (unsigned int nr = 0; nr <= 5; nr++) {
		for (unsigned int i = 0; i < 128; i++) {
			const size_t src = i % 64 * 9;
			void *pages[6];

			fill(&r, from);
			fill(&r, to);
			memcpy(right, to, ROOM);
			for (unsigned int p = 0; p < nr; p++) {
				size_t at = orders[i / 64][p] * 4096UL + 64;

				pages[p] = to + at;
				memcpy(right + at, from + src + p * 4096UL, 4096);
			}
			pages[nr] = unwanted;
			stream_copy_pages(pages, from + src, nr);
			stream_copy_fence();
			assert_memory_equal(to, right, ROOM);
			assert_int_equal(unwanted[0] | unwanted[4095], 0);
		}
	}
}

/* The last bytes of an object: what is read ahead is nobody's. */
static void test_end_of_object(void **state)
{
	unsigned char *copy = malloc(4096), *again = malloc(4096);

	(void)state;
	memset(copy, 7, 4096);
	stream_copy(again, copy, 4096);
	assert_memory_equal(copy, again, 4096);
	free(copy);
	free(again);
}

struct mail {
	u64 *bytes;
	u32 flag;		/* round that is there */
	u32 seen;
	u32 wrong;
};

#define ROUNDS		3000
#define WORDS		512

static void read_mail(void *arg)
{
	struct mail *m = arg;

	for (u32 round = 1; round <= ROUNDS; round++) {
		while (smp_load_acquire(&m->flag) != round)
			cpu_relax();
		for (unsigned int i = 0; i < WORDS; i++)
			m->wrong += m->bytes[i] != round;
		smp_store_release(&m->seen, round);
	}
}

static void test_published(void **state)
{
	static u64 bytes[WORDS] __attribute__((aligned(64)));
	static u64 source[WORDS];
	struct mail m = { .bytes = bytes };
	struct backend_thread *thread;

	(void)state;
	assert_int_equal(backend_thread_create(&thread, read_mail, &m), 0);
	for (u32 round = 1; round <= ROUNDS; round++) {
		for (unsigned int i = 0; i < WORDS; i++)
			source[i] = round;
		stream_copy(bytes, source, sizeof(bytes));
		smp_store_release(&m.flag, round);
		while (smp_load_acquire(&m.seen) != round)
			cpu_relax();
	}
	backend_thread_join(thread);
	assert_int_equal(m.wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignments),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_end_of_object),
		cmocka_unit_test(test_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
