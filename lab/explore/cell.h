/* SPDX-License-Identifier: MIT */
/*
 * What is known of eight bytes; between memory.c and atomic.c.
 */
#ifndef LAB_EXPLORE_CELL_H
#define LAB_EXPLORE_CELL_H

#include "lab/explore/memory.h"

#define RECORDS		4

/* One access: enough to tell whether a later one races with it. */
struct record {
	u32 clock;		/* of its task, then */
	u32 pc;			/* from the start of the program */
	u8 task;
	u8 mask;		/* bytes of the cell */
	u8 kind;		/* enum access */
};

struct cell {
	u64 key;		/* address / 8 */
	u8 atomic_read;		/* tasks, in any run of this scenario */
	u8 atomic_written;
	bool tried;		/* a lock that somebody only tries */
	/* of this run: */
	bool logged;
	u8 nr_records;
	u16 loc;		/* first location in it; 0: none */
	u32 run;
	struct record records[RECORDS];
};

/* Stores that loads may still see, the newest last. */
#define HISTORY		6

struct store {
	u64 value;
	u64 hash;		/* of its task when it stored */
	u32 clock;		/* 0: before the run */
	u8 task;
	bool releases;		/* @hands over something */
	struct knowledge hands;
	u32 read_at[NR_TASKS];	/* clock of a task that loaded it, or 0 */
};

/* A location that is used atomically: address and size. */
struct location {
	uintptr_t addr;
	u8 size;
	u8 nr;			/* stores known */
	u16 next;		/* in the same cell */
	u64 hash_readers;	/* of the newest store */
	struct store stores[HISTORY];
};

/* cell_of() - the cell, made ready for this run */
struct cell *cell_of(const void *addr);
/* cell_log() - to be called before the first change in this run */
void cell_log(struct cell *c);
/* cell_access() - look for a race with what was recorded, then record */
void cell_access(struct cell *c, u8 mask, enum access kind, uintptr_t pc,
		 const void *addr);
static inline bool cell_is_shared(const struct cell *c)
{
	u8 all = c->atomic_read | c->atomic_written;

	return c->atomic_written && (all & (all - 1));
}

static inline u8 cell_mask(const void *addr, unsigned int size)
{
	return ((1u << size) - 1) << ((uintptr_t)addr & 7);
}

void locations_run_begin(void);
/* A plain store of @bytes at @addr, in @c, made their history worthless. */
void locations_forget(struct cell *c, const void *addr, size_t bytes);
/* The same for many cells. */
void locations_forget_all(const void *addr, size_t bytes);
/* memory_check() - is it a freed frame or object? fails the run */
void memory_check(const void *addr, size_t bytes, uintptr_t pc);
/* memory_is_private() - the running task's own stack or thread-local block */
bool memory_is_private(const void *addr);

#endif
