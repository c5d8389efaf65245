/* SPDX-License-Identifier: MIT */
/*
 * Memory as the explorer sees it: cells of eight bytes.
 *
 * For each cell that was touched: what it held before the run (to be put back),
 * the last accesses (to find races), who uses it atomically (to know whether it
 * is shared), and for atomic locations the stores that a load may still see.
 */
#ifndef LAB_EXPLORE_MEMORY_H
#define LAB_EXPLORE_MEMORY_H

#include "lab/explore/run.h"

enum access {
	ACCESS_READ = 0,
	ACCESS_WRITE = 1,
	ACCESS_ATOMIC = 2,
};

/* Memory orders, as the compiler passes them. */
enum order {
	ORDER_RELAXED, ORDER_CONSUME, ORDER_ACQUIRE, ORDER_RELEASE,
	ORDER_ACQ_REL, ORDER_SEQ_CST,
};

enum rmw { RMW_XCHG, RMW_ADD, RMW_SUB, RMW_AND, RMW_OR, RMW_XOR, RMW_NAND };

/* memory_begin() - forget all; after setup(): what is there now is the start */
void memory_begin(void);
/* @stack: the caller's frame; what lies below is its callees' own */
void memory_run_begin(const void *stack);
/* memory_undo() - put back what the run wrote */
void memory_undo(void);
/* memory_hash() - of all that the run has written, as it is now */
u64 memory_hash(void);
void memory_setup_done(void);

/* memory_watch() - the machine's frames end there */
void memory_watch(const void *end);
/* [@addr, @addr + @bytes), whole frames, may no longer or again be used */
void memory_poison(const void *addr, size_t bytes, bool poison);

/* A plain access, before it is made. */
void memory_plain(const void *addr, size_t bytes, enum access kind,
		  uintptr_t pc);

/*
 * memory_fill() - whole frames are about to be filled or (@copy) copied to
 *
 * Return: false if [@addr, @addr + @bytes) is no such thing: it is a plain
 * store then.
 * Limit: races with it are not looked for.
 */
bool memory_fill(const void *addr, size_t bytes, bool copy, uintptr_t pc);

u64 memory_load(const void *addr, unsigned int size, enum order order,
		uintptr_t pc);
void memory_store(void *addr, unsigned int size, u64 value, enum order order,
		  uintptr_t pc);
/* A load or store that the program makes itself, right after the call. */
void memory_load_newest(const void *addr, unsigned int size, uintptr_t pc);
void memory_store_coming(void *addr, unsigned int size, uintptr_t pc);
u64 memory_rmw(void *addr, unsigned int size, enum rmw op, u64 operand,
	       enum order order, uintptr_t pc);
/* Return: true if *@addr was *@old; otherwise *@old is what it was. */
bool memory_cmpxchg(void *addr, unsigned int size, u64 *old, u64 new,
		    enum order order, enum order failure, uintptr_t pc);
void memory_fence(enum order order, uintptr_t pc);

/* Locks.  First comes a choice of who goes on, then memory_lock(): false if the
 * lock is taken. */
void memory_approach(u32 *word, uintptr_t pc);
bool memory_lock(u32 *word, bool trying, uintptr_t pc);
void memory_unlock(u32 *word, uintptr_t pc);
/* A word that tasks meet at without storing there: RCU. */
void memory_meet(const u32 *word, bool write, uintptr_t pc);

/* Objects, in place of the host's heap. */
void *memory_alloc(size_t bytes);
void memory_free(void *object, uintptr_t pc);

#endif
