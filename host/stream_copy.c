/* SPDX-License-Identifier: MIT */
/*
 * 1. Only whole cache lines are streamed, each by consecutive stores: a line
 *    that is written in part costs the memory a read.
 * 2. Under a sanitizer of races, or a controller of schedules, all is memcpy(),
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
/*
 * The processor's own prefetch ends at a page.  A page ahead the next one of a
 * source that goes on is there in time, also where others use the memory.
 */
#define AHEAD		4096

typedef void (*lines_fn)(char *dst, const char *src, size_t len);

/* @dst is aligned to a line, @len a multiple of two. */
__attribute__((target("avx2")))
static void lines_avx2(char *dst, const char *src, size_t len)
{
	for (size_t i = 0; i < len; i += 2 * LINE) {
		const __m256i *from = (const __m256i *)(src + i);
		__m256i *to = (__m256i *)(dst + i);
		__m256i a, b, c, d;

		_mm_prefetch(src + i + AHEAD, _MM_HINT_NTA);
		_mm_prefetch(src + i + AHEAD + LINE, _MM_HINT_NTA);
		a = _mm256_loadu_si256(from);
		b = _mm256_loadu_si256(from + 1);
		c = _mm256_loadu_si256(from + 2);
		d = _mm256_loadu_si256(from + 3);
		_mm256_stream_si256(to, a);
		_mm256_stream_si256(to + 1, b);
		_mm256_stream_si256(to + 2, c);
		_mm256_stream_si256(to + 3, d);
	}
}

static void lines_sse2(char *dst, const char *src, size_t len)
{
	for (size_t i = 0; i < len; i += LINE) {
		const __m128i *from = (const __m128i *)(src + i);
		__m128i *to = (__m128i *)(dst + i);
		__m128i a, b, c, d;

		_mm_prefetch(src + i + AHEAD, _MM_HINT_NTA);
		a = _mm_loadu_si128(from);
		b = _mm_loadu_si128(from + 1);
		c = _mm_loadu_si128(from + 2);
		d = _mm_loadu_si128(from + 3);
		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
}

void stream_copy_unfenced(void *dst, const void *src, size_t len)
{
	const lines_fn lines = __builtin_cpu_supports("avx2") ? lines_avx2 :
								lines_sse2;
	size_t head = -(uintptr_t)dst & (LINE - 1), body;

	if (len < SHORT) {
		memcpy(dst, src, len);
		return;
	}
	body = ALIGN_DOWN(len - head, 2 * LINE);
	memcpy(dst, src, head);
	lines((char *)dst + head, (const char *)src + head, body);
	head += body;
	memcpy((char *)dst + head, (const char *)src + head, len - head);
}

#else

void stream_copy_unfenced(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

#endif

void stream_copy(void *dst, const void *src, size_t len)
{
	stream_copy_unfenced(dst, src, len);
	stream_copy_fence();
}
