/* SPDX-License-Identifier: MIT */
/*
 * What the compiler offers, under the names that kernel code uses.
 */
#ifndef HOST_COMPILER_H
#define HOST_COMPILER_H

#include <stddef.h>

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((noinline))
#ifndef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#endif
#define __must_check		__attribute__((warn_unused_result))
#define __maybe_unused		__attribute__((unused))
#define __noreturn		__attribute__((noreturn))
#define __cold			__attribute__((cold))
#define __printf(a, b)		__attribute__((format(printf, a, b)))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)

#define min(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); \
	_a < _b ? _a : _b; })
#define max(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); \
	_a > _b ? _a : _b; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))

/* @to is a power of two */
#define ALIGN(x, to)		(((x) + ((to) - 1)) & ~((__typeof__(x))(to) - 1))
#define ALIGN_DOWN(x, to)	((x) & ~((__typeof__(x))(to) - 1))
#define IS_ALIGNED(x, to)	(((x) & ((__typeof__(x))(to) - 1)) == 0)
#define BIT(n)			(1UL << (n))

/* The explorer's callbacks (PINFOLD_SCHED) are not that sanitizer's runtime. */
#define TSAN_BUILD		0
#if defined(PINFOLD_SCHED)
#elif defined(__SANITIZE_THREAD__)
#undef TSAN_BUILD
#define TSAN_BUILD		1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef TSAN_BUILD
#define TSAN_BUILD		1
#endif
#endif

#endif
