/* SPDX-License-Identifier: MIT */
/*
 * The only file that names memory orders.
 *
 * Names and strengths are Linux's: READ_ONCE and WRITE_ONCE order nothing,
 * *_acquire and *_release order one way, a value-returning atomic_* is fully
 * ordered, a void one is not ordered at all, smp_mb() is a full barrier.
 *
 * atomic_t is a struct, so that every access names its strength.
 *
 * Source: Documentation/atomic_t.txt, Documentation/memory-barriers.txt
 * Differs: READ_ONCE() and WRITE_ONCE() are relaxed atomic accesses, not
 *          volatile ones, so that sanitizers see them for what they are.
 */
#ifndef HOST_ATOMIC_H
#define HOST_ATOMIC_H

#include "host/compiler.h"
#include "host/event.h"
#include "host/types.h"

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define xchg(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define xchg_acquire(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define xchg_relaxed(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_RELAXED)

#define barrier()		__asm__ __volatile__("" ::: "memory")

#ifdef PINFOLD_SCHED
void backend_relax(void);
#define cpu_relax()		backend_relax()
#elif defined(__x86_64__) || defined(__i386__)
#define cpu_relax()		__builtin_ia32_pause()
#else
#define cpu_relax()		barrier()
#endif

/*
 * A free-standing fence is opaque to ThreadSanitizer; pair it with accesses
 * that TSan sees as atomic, never with plain ones.
 */
static inline void smp_mb(void)
{
#if !TSAN_BUILD
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
	static u32 fence;

	__atomic_fetch_add(&fence, 0, __ATOMIC_SEQ_CST);
#endif
}

/*
 * On x86 each locked instruction is a full barrier and loads stay in order.  A
 * controller of schedules knows the memory model of C only.
 */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(PINFOLD_SCHED)
#define X86_ORDER		1
#else
#define X86_ORDER		0
#endif

/* smp_mb__after_atomic() - a full barrier directly behind an atomic_* */
static inline void smp_mb__after_atomic(void)
{
#if X86_ORDER
	barrier();
#else
	smp_mb();
#endif
}

/* smp_rmb() - loads before it are not later than loads behind it */
static inline void smp_rmb(void)
{
#if X86_ORDER
	barrier();
#else
	smp_mb();
#endif
}

/* smp_stream_wmb() - stores past the caches are not later than those behind it */
static inline void smp_stream_wmb(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
}

/*
 * try_cmpxchg() - true if *@p was *@old; else *@old is updated
 *
 * Fully ordered if it stores, not ordered if it does not.
 */
#define try_cmpxchg(p, old, new)					\
	__atomic_compare_exchange_n((p), (old), (new), false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
#define try_cmpxchg_acquire(p, old, new)				\
	__atomic_compare_exchange_n((p), (old), (new), false,		\
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)

/* u32 words that are no counters: sequence words, signal masks; full order */
static inline u32 word_add(u32 *word, u32 n)
{
	return __atomic_fetch_add(word, n, __ATOMIC_SEQ_CST);
}

static inline u32 word_or(u32 *word, u32 bits)
{
	return __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	int64_t counter;
} atomic64_t;

static inline int atomic_read(const atomic_t *v)
{
	return READ_ONCE(v->counter);
}

static inline void atomic_set(atomic_t *v, int i)
{
	WRITE_ONCE(v->counter, i);
}

static inline void atomic_add(int i, atomic_t *v)
{
	count_event(EV_ATOMICS);
	__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);
}

static inline void atomic_sub(int i, atomic_t *v)
{
	count_event(EV_ATOMICS);
	__atomic_fetch_sub(&v->counter, i, __ATOMIC_RELAXED);
}

static inline void atomic_inc(atomic_t *v)
{
	atomic_add(1, v);
}

static inline void atomic_dec(atomic_t *v)
{
	atomic_sub(1, v);
}

static inline int atomic_add_return(int i, atomic_t *v)
{
	count_event(EV_ATOMICS);
	return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);
}

static inline bool atomic_sub_and_test(int i, atomic_t *v)
{
	count_event(EV_ATOMICS);
	return __atomic_sub_fetch(&v->counter, i, __ATOMIC_SEQ_CST) == 0;
}

static inline bool atomic_dec_and_test(atomic_t *v)
{
	return atomic_sub_and_test(1, v);
}

/* atomic_add_unless() - adds @i unless the value is @u; true if it added */
static inline bool atomic_add_unless(atomic_t *v, int i, int u)
{
	int old = atomic_read(v);

	count_event(EV_ATOMICS);
	do {
		if (old == u)
			return false;
	} while (!try_cmpxchg(&v->counter, &old, old + i));
	return true;
}

/* atomic_add_if_positive() - adds @i if the value is; true if it added */
static inline bool atomic_add_if_positive(int i, atomic_t *v)
{
	int old = atomic_read(v);

	count_event(EV_ATOMICS);
	do {
		if (unlikely(old <= 0))
			return false;
	} while (!try_cmpxchg(&v->counter, &old,
			      (int)((unsigned int)old + (unsigned int)i)));
	return true;
}

static inline int atomic_cmpxchg(atomic_t *v, int old, int new)
{
	count_event(EV_ATOMICS);
	try_cmpxchg(&v->counter, &old, new);
	return old;
}

static inline int64_t atomic64_read(const atomic64_t *v)
{
	return READ_ONCE(v->counter);
}

static inline void atomic64_set(atomic64_t *v, int64_t i)
{
	WRITE_ONCE(v->counter, i);
}

static inline void atomic64_add(int64_t i, atomic64_t *v)
{
	count_event(EV_ATOMICS);
	__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);
}

/* Bit operations on one word.  The test_and_ forms are fully ordered. */
static inline bool test_bit(unsigned int nr, const unsigned long *word)
{
	return READ_ONCE(*word) >> nr & 1;
}

static inline bool test_bit_acquire(unsigned int nr, const unsigned long *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) >> nr & 1;
}

static inline void set_bit(unsigned int nr, unsigned long *word)
{
	__atomic_fetch_or(word, BIT(nr), __ATOMIC_RELAXED);
}

static inline void set_bit_release(unsigned int nr, unsigned long *word)
{
	__atomic_fetch_or(word, BIT(nr), __ATOMIC_RELEASE);
}

static inline void clear_bit(unsigned int nr, unsigned long *word)
{
	__atomic_fetch_and(word, ~BIT(nr), __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit(unsigned int nr, unsigned long *word)
{
	return __atomic_fetch_or(word, BIT(nr), __ATOMIC_SEQ_CST) >> nr & 1;
}

static inline bool test_and_clear_bit(unsigned int nr, unsigned long *word)
{
	return __atomic_fetch_and(word, ~BIT(nr), __ATOMIC_SEQ_CST) >> nr & 1;
}

static inline bool test_and_set_bit_lock(unsigned int nr, unsigned long *word)
{
	return __atomic_fetch_or(word, BIT(nr), __ATOMIC_ACQUIRE) >> nr & 1;
}

/* clear_bit_unlock_return() - release; yields the word before */
static inline unsigned long clear_bit_unlock_return(unsigned int nr,
						    unsigned long *word)
{
	return __atomic_fetch_and(word, ~BIT(nr), __ATOMIC_SEQ_CST);
}

#endif
