/* SPDX-License-Identifier: MIT */
/*
 * From addresses to words: program counters as file, line and function, memory
 * as what it is to the engine; and the trace of one run made of them.
 */
#ifndef LAB_EXPLORE_SOURCE_H
#define LAB_EXPLORE_SOURCE_H

#include "lab/explore/memory.h"

#include <stdio.h>

/* Program counters as 32 bits. */
u32 source_offset(uintptr_t pc);
uintptr_t source_pc(u32 offset);

/* source_short() - a file's name from the root of the tree on */
const char *source_short(const char *file);

struct source_line {
	char file[96];
	char function[64];
	int line;
};

/*
 * source_lines() - where each of @n program counters is
 *
 * Inlined primitives (host/, lists) are skipped: the line is their user's.
 */
void source_lines(const uintptr_t *pcs, size_t n, struct source_line *lines);


/* ---- the trace ------------------------------------------------------------ */

void source_trace_begin(void);
void source_trace_switch(unsigned int to);
void source_trace_plain(const void *addr, unsigned int bytes, enum access kind,
			uintptr_t pc);
void source_trace_load(const void *addr, unsigned int size, u64 value,
		       bool stale, uintptr_t pc);
void source_trace_store(const void *addr, unsigned int size, u64 old, u64 new,
			bool rmw, uintptr_t pc);
void source_trace_lock(const u32 *word, const char *what, uintptr_t pc);
/* source_trace_print() - in columns, a thread each */
void source_trace_print(FILE *out);

#endif
