/* SPDX-License-Identifier: MIT */
/*
 * 1. Only whole cache lines are streamed, each by consecutive stores: a line
 *    that is written in part costs the memory a read.
 * 2. Pages are copied four at a time, as the C library does for large copies:
 *    more reads are under way at once.  There is no prefetch: with hints of any
 *    kind and distance it took longer.
 * 3. Under a sanitizer of races, or a controller of schedules, all is memcpy(),
 *    which they see.
 */
#include "host/stream_copy.h"

#include "host/atomic.h"
#include "host/compiler.h"

#include <string.h>

/*
 * [stream-copy] the bytes, then whatever publishes them; paired with xa_entry()
 */
void stream_copy_fence(void)
{
	smp_stream_wmb();
}

#if defined(__x86_64__) && !TSAN_BUILD && !defined(PINFOLD_SCHED)

#include <immintrin.h>

#define LINE		64UL
#define SHORT		512UL	/* below this the caches serve better */
#define PAGE		4096UL	/* where the processor's own prefetch ends */
#define BESIDE		4UL	/* pages copied side by side */

/* For tests, where the processor has better. */
#ifdef PINFOLD_SSE2
#define HAS_AVX2()	false
#else
#define HAS_AVX2()	__builtin_cpu_supports("avx2")
#endif

struct copiers {
	/* @dst is aligned to a line, @len a multiple of one. */
	void (*lines)(char *dst, const char *src, size_t len);
	/* BESIDE pages, aligned to a line; one behind the other in @src. */
	void (*pages)(void *const *dst, const char *src);
};

__attribute__((target("avx2")))
static void lines_avx2(char *dst, const char *src, size_t len)
{
	for (size_t i = 0; i < len; i += LINE) {
		const __m256i *from = (const __m256i *)(src + i);
		__m256i *to = (__m256i *)(dst + i);
		__m256i a = _mm256_loadu_si256(from);
		__m256i b = _mm256_loadu_si256(from + 1);

		_mm256_stream_si256(to, a);
		_mm256_stream_si256(to + 1, b);
	}
}

/* A line of each page, then the next one. */
__attribute__((target("avx2")))
static void pages_avx2(void *const *dst, const char *src)
{
	for (size_t i = 0; i < PAGE; i += LINE) {
		__m256i line[BESIDE][2];

#pragma GCC unroll 4
		for (size_t p = 0; p < BESIDE; p++) {
			const char *from = src + p * PAGE + i;

			line[p][0] = _mm256_loadu_si256((const void *)from);
			line[p][1] = _mm256_loadu_si256((const void *)
							(from + LINE / 2));
		}
#pragma GCC unroll 4
		for (size_t p = 0; p < BESIDE; p++) {
			__m256i *to = (__m256i *)((char *)dst[p] + i);

			_mm256_stream_si256(to, line[p][0]);
			_mm256_stream_si256(to + 1, line[p][1]);
		}
	}
}

static void lines_sse2(char *dst, const char *src, size_t len)
{
	for (size_t i = 0; i < len; i += LINE) {
		const __m128i *from = (const __m128i *)(src + i);
		__m128i *to = (__m128i *)(dst + i);
		__m128i a = _mm_loadu_si128(from);
		__m128i b = _mm_loadu_si128(from + 1);
		__m128i c = _mm_loadu_si128(from + 2);
		__m128i d = _mm_loadu_si128(from + 3);

		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
}

static void pages_sse2(void *const *dst, const char *src)
{
	for (size_t i = 0; i < PAGE; i += LINE)
		for (size_t p = 0; p < BESIDE; p++)
			lines_sse2((char *)dst[p] + i, src + p * PAGE + i,
				   LINE);
}

static const struct copiers *copiers(void)
{
	static const struct copiers avx2 = { lines_avx2, pages_avx2 };
	static const struct copiers sse2 = { lines_sse2, pages_sse2 };

	return HAS_AVX2() ? &avx2 : &sse2;
}

void stream_copy_pages(void *const *pages, const void *src, unsigned int nr)
{
	const struct copiers *copy = copiers();
	const char *from = src;

	for (; nr >= BESIDE; nr -= BESIDE) {
		copy->pages(pages, from);
		pages += BESIDE;
		from += BESIDE * PAGE;
	}
	for (; nr; nr--) {
		copy->lines(*pages++, from, PAGE);
		from += PAGE;
	}
}

void stream_copy_unfenced(void *dst, const void *src, size_t len)
{
	const struct copiers *copy = copiers();
	size_t head = -(uintptr_t)dst & (LINE - 1), body;
	const char *from = src;
	char *to = dst;

	if (len < SHORT) {
		memcpy(dst, src, len);
		return;
	}
	memcpy(to, from, head);
	to += head;
	from += head;
	len -= head;
	for (; len >= BESIDE * PAGE; len -= BESIDE * PAGE) {
		void *const pages[] = { to, to + PAGE, to + 2 * PAGE,
					to + 3 * PAGE };

		copy->pages(pages, from);
		to += BESIDE * PAGE;
		from += BESIDE * PAGE;
	}
	body = ALIGN_DOWN(len, LINE);
	copy->lines(to, from, body);
	memcpy(to + body, from + body, len - body);
}

#else

void stream_copy_unfenced(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

void stream_copy_pages(void *const *pages, const void *src, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		memcpy(pages[i], (const char *)src + i * 4096UL, 4096);
}

#endif

void stream_copy(void *dst, const void *src, size_t len)
{
	stream_copy_unfenced(dst, src, len);
	stream_copy_fence();
}
