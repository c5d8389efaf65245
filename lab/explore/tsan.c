/* SPDX-License-Identifier: MIT */
/*
 * What -fsanitize=thread calls, in place of that sanitizer's runtime.
 *
 * Atomic accesses are made here; plain ones by the program after the call.
 */
#include "lab/explore/memory.h"
#include "lab/explore/redirect.h"

#include "host/compiler.h"

#define PC	((uintptr_t)__builtin_return_address(0))

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	struct task *t;

	if (run.phase != RUN_THREADS)
		return;
	t = run_task();
	if (t->depth < CALL_DEPTH)
		t->calls[t->depth] = (uintptr_t)caller;
	t->depth++;
}

void __tsan_func_exit(void *unused);
void __tsan_func_exit(void *unused __maybe_unused)
{
	if (run.phase == RUN_THREADS && run_task()->depth)
		run_task()->depth--;
}

#define PLAIN(name, bytes, kind)					\
	void __tsan_##name(void *addr);					\
	void __tsan_##name(void *addr)					\
	{								\
		if (run.phase > RUN_ALONE)				\
			memory_plain(addr, bytes, kind, PC);		\
	}

#define PLAIN_SIZE(n)							\
	PLAIN(read##n, n, ACCESS_READ)					\
	PLAIN(write##n, n, ACCESS_WRITE)				\
	PLAIN(unaligned_read##n, n, ACCESS_READ)			\
	PLAIN(unaligned_write##n, n, ACCESS_WRITE)

PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)

#define RANGE(name, kind)						\
	void __tsan_##name(void *addr, size_t bytes);			\
	void __tsan_##name(void *addr, size_t bytes)			\
	{								\
		if (run.phase > RUN_ALONE && bytes)			\
			memory_plain(addr, bytes, kind, PC);		\
	}

RANGE(read_range, ACCESS_READ)
RANGE(write_range, ACCESS_WRITE)

/*
 * A volatile access is a relaxed atomic one; but the program makes it itself,
 * after the call, so a load sees the newest store.
 */
#define VOLATILE(n)							\
	void __tsan_volatile_read##n(void *addr);			\
	void __tsan_volatile_read##n(void *addr)			\
	{								\
		memory_load_newest(addr, n, PC);			\
	}								\
	void __tsan_unaligned_volatile_read##n(void *addr);		\
	void __tsan_unaligned_volatile_read##n(void *addr)		\
	{								\
		memory_load_newest(addr, n, PC);			\
	}								\
	void __tsan_volatile_write##n(void *addr);			\
	void __tsan_volatile_write##n(void *addr)			\
	{								\
		memory_store_coming(addr, n, PC);			\
	}								\
	void __tsan_unaligned_volatile_write##n(void *addr);		\
	void __tsan_unaligned_volatile_write##n(void *addr)		\
	{								\
		memory_store_coming(addr, n, PC);			\
	}

VOLATILE(1)
VOLATILE(2)
VOLATILE(4)
VOLATILE(8)

#define ORDER(o)	((enum order)((o) & 7))

#define RMW(bits, size, name, op)					\
	u##bits __tsan_atomic##bits##_##name(volatile void *addr,	\
					     u##bits value, int order);	\
	u##bits __tsan_atomic##bits##_##name(volatile void *addr,	\
					     u##bits value, int order)	\
	{								\
		return memory_rmw((void *)addr, size, op, value,	\
				  ORDER(order), PC);			\
	}

#define CMPXCHG(bits, size, name)					\
	int __tsan_atomic##bits##_compare_exchange_##name(		\
		volatile void *addr, void *expected, u##bits value,	\
		int order, int failure);				\
	int __tsan_atomic##bits##_compare_exchange_##name(		\
		volatile void *addr, void *expected, u##bits value,	\
		int order, int failure)					\
	{								\
		u64 old = *(u##bits *)expected;				\
		bool done = memory_cmpxchg((void *)addr, size, &old,	\
					   value, ORDER(order),		\
					   ORDER(failure), PC);		\
									\
		if (!done)						\
			*(u##bits *)expected = old;			\
		return done;						\
	}

#define ATOMIC(bits, size)						\
	u##bits __tsan_atomic##bits##_load(const volatile void *addr,	\
					   int order);			\
	u##bits __tsan_atomic##bits##_load(const volatile void *addr,	\
					   int order)			\
	{								\
		return memory_load((const void *)addr, size,		\
				   ORDER(order), PC);			\
	}								\
	void __tsan_atomic##bits##_store(volatile void *addr,		\
					 u##bits value, int order);	\
	void __tsan_atomic##bits##_store(volatile void *addr,		\
					 u##bits value, int order)	\
	{								\
		memory_store((void *)addr, size, value, ORDER(order),	\
			     PC);					\
	}								\
	RMW(bits, size, exchange, RMW_XCHG)				\
	RMW(bits, size, fetch_add, RMW_ADD)				\
	RMW(bits, size, fetch_sub, RMW_SUB)				\
	RMW(bits, size, fetch_and, RMW_AND)				\
	RMW(bits, size, fetch_or, RMW_OR)				\
	RMW(bits, size, fetch_xor, RMW_XOR)				\
	RMW(bits, size, fetch_nand, RMW_NAND)				\
	CMPXCHG(bits, size, strong)					\
	CMPXCHG(bits, size, weak)

ATOMIC(8, 1)
ATOMIC(16, 2)
ATOMIC(32, 4)
ATOMIC(64, 8)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	memory_fence(ORDER(order), PC);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order __maybe_unused)
{
}

/* ---- what redirect.h puts in the C library's place ------------------------- */

#undef memset
#undef memcpy
#undef memmove

void *explore_memset(void *to, int byte, size_t bytes)
{
	if (run.phase > RUN_ALONE && bytes &&
	    !memory_fill(to, bytes, byte, PC))
		memory_plain(to, bytes, ACCESS_WRITE, PC);
	return memset(to, byte, bytes);
}

void *explore_memcpy(void *to, const void *from, size_t bytes)
{
	if (run.phase > RUN_ALONE && bytes &&
	    !memory_fill(to, bytes, true, PC)) {
		memory_plain(from, bytes, ACCESS_READ, PC);
		memory_plain(to, bytes, ACCESS_WRITE, PC);
	}
	return memmove(to, from, bytes);
}

void *explore_calloc(size_t n, size_t bytes)
{
	return run.phase == RUN_OFF ? calloc(n, bytes) :
				      memory_alloc(n * bytes);
}

/* Zeroed, too: what a schedule reads may not depend on the one before. */
void *explore_malloc(size_t bytes)
{
	return run.phase == RUN_OFF ? malloc(bytes) : memory_alloc(bytes);
}

void explore_free(void *object)
{
	if (run.phase == RUN_OFF)
		free(object);
	else
		memory_free(object, PC);
}
