/* SPDX-License-Identifier: MIT */
/*
 * Cells, what they held before the run, and races between accesses.
 *
 * Limit: of one cell the last RECORDS different accesses are remembered; a race
 * with an older one is found by another schedule or not at all.
 */
#include "lab/explore/cell.h"

#include "host/bug.h"
#include "host/fibre.h"
#include "lab/explore/heap.h"
#include "lab/explore/source.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_BITS	18
#define CHECK_STACK	((size_t)8 << 20)
#define FRAME		4096u
#define MAX_FILLED	8192u
/* A cell is kept once a run, a frame at each fill. */
#define MAX_UNDOS	(MAX_CELLS + MAX_FILLED)
#define MAX_CELLS	(1u << (INDEX_BITS - 1))

struct undo {
	u64 *word;		/* or the frame */
	u64 old;		/* or where its bytes are kept */
	bool frame;
};

static u32 *index_of_key;	/* 0: free; else cell number + 1 */
static struct cell *cells;
static u32 nr_cells;
static struct undo *undos;
static u32 nr_undos;
/* Frames that were filled, and what those in use held before. */
static const u64 *filled[MAX_FILLED];
static u32 nr_filled;
static char (*kept)[FRAME];
static u32 nr_kept;
static const char *tls;
static size_t tls_bytes;
static const char *check_stack;

static u32 hash_slot(u64 key)
{
	return (key * 0x9e3779b97f4a7c15) >> (64 - INDEX_BITS);
}

static struct cell *cell_find(u64 key)
{
	u32 slot = hash_slot(key);

	for (; index_of_key[slot]; slot = (slot + 1) & ((1u << INDEX_BITS) - 1))
		if (cells[index_of_key[slot] - 1].key == key)
			return &cells[index_of_key[slot] - 1];
	if (nr_cells == MAX_CELLS)
		run_fail(FAIL_LIMIT, "more than %u words are touched",
			 MAX_CELLS);
	cells[nr_cells].key = key;
	index_of_key[slot] = ++nr_cells;
	return &cells[nr_cells - 1];
}

struct cell *cell_of(const void *addr)
{
	struct cell *c = cell_find((uintptr_t)addr / 8);

	if (c->run != run.id) {
		c->run = run.id;
		c->logged = false;
		c->nr_records = 0;
		c->loc = 0;
	}
	return c;
}

void cell_log(struct cell *c)
{
	if (c->logged)
		return;
	c->logged = true;
	undos[nr_undos].word = (u64 *)(uintptr_t)(c->key * 8);
	undos[nr_undos].old = *undos[nr_undos].word;
	undos[nr_undos].frame = false;
	nr_undos++;
}

static bool ordered(const struct record *r)
{
	return r->clock <= run_task()->know.hb.at[r->task];
}

static void report_race(const struct record *r, enum access kind,
			const void *addr)
{
	static const char *const names[] = {
		"a plain load", "a plain store", "an atomic load",
		"an atomic store",
	};

	run.failure.other_pc = source_pc(r->pc);
	run.failure.other_task = r->task;
	run.failure.addr = addr;
	run_fail(FAIL_RACE, "%s by %s is not ordered against %s by %s",
		 names[kind], run_task()->name, names[r->kind],
		 run.tasks[r->task].name);
}

/* The record that a new access replaces: of the same task, and weaker. */
static struct record *record_to_replace(struct cell *c, u8 mask,
					enum access kind)
{
	for (unsigned int i = 0; i < c->nr_records; i++) {
		struct record *r = &c->records[i];

		if (r->task == run.running && !(r->mask & ~mask) &&
		    (r->kind & ACCESS_WRITE) <= (kind & ACCESS_WRITE) &&
		    (r->kind & ACCESS_ATOMIC) >= (kind & ACCESS_ATOMIC))
			return r;
	}
	if (c->nr_records < RECORDS)
		return &c->records[c->nr_records++];
	memmove(&c->records[0], &c->records[1],
		sizeof(c->records) - sizeof(c->records[0]));
	return &c->records[RECORDS - 1];
}

void cell_access(struct cell *c, u8 mask, enum access kind, uintptr_t pc,
		 const void *addr)
{
	const u32 clock = run_task()->know.hb.at[run.running];
	struct record *r;

	for (unsigned int i = 0; i < c->nr_records; i++) {
		r = &c->records[i];
		if (r->task != run.running && (r->mask & mask) &&
		    ((r->kind | kind) & ACCESS_WRITE) &&
		    !(r->kind & kind & ACCESS_ATOMIC) && !ordered(r))
			report_race(r, kind, addr);
	}
	r = record_to_replace(c, mask, kind);
	*r = (struct record){
		.clock = clock, .task = run.running, .mask = mask,
		.kind = kind, .pc = source_offset(pc),
	};
}

bool memory_is_private(const void *addr)
{
	if ((uintptr_t)addr - (uintptr_t)tls < tls_bytes)
		return true;
	if (run.phase == RUN_THREADS)
		return fibre_stack_offset(run_task()->fibre, addr) >= 0;
	return (uintptr_t)check_stack - (uintptr_t)addr < CHECK_STACK;
}

static void plain_part(const char *addr, unsigned int bytes, enum access kind,
		       uintptr_t pc)
{
	struct cell *c = cell_of(addr);

	if (kind & ACCESS_WRITE)
		cell_log(c);
	if (run.phase != RUN_THREADS)
		return;
	cell_access(c, cell_mask(addr, bytes), kind, pc, addr);
	if ((kind & ACCESS_WRITE) && c->loc)
		locations_forget(c, addr, bytes);
	if (run.tracing)
		source_trace_plain(addr, bytes, kind, pc);
}

void memory_plain(const void *addr, size_t bytes, enum access kind,
		  uintptr_t pc)
{
	const char *p = addr;

	if (run.phase <= RUN_ALONE || memory_is_private(addr))
		return;
	run_step(pc);
	memory_check(addr, bytes, pc);
	while (bytes) {
		unsigned int part = min(bytes, 8 - ((uintptr_t)p & 7));

		plain_part(p, part, kind, pc);
		p += part;
		bytes -= part;
	}
}

/*
 * What a free frame holds means nothing, so it need not be put back; but what
 * was copied there tells states apart.
 */
static void fill_frame(const char *frame, bool copy)
{
	bool was_free = heap_frame_was_free(frame);

	locations_forget_all(frame, FRAME);
	if (nr_filled == MAX_FILLED || nr_undos == MAX_UNDOS)
		run_fail(FAIL_LIMIT, "more than %u frames are filled",
			 MAX_FILLED);
	if (copy || !was_free)
		filled[nr_filled++] = (const u64 *)frame;
	if (was_free)
		return;
	/* Once for each fill, not for each run: the last undone is the first. */
	undos[nr_undos].word = (u64 *)frame;
	undos[nr_undos].old = nr_kept;
	undos[nr_undos].frame = true;
	memcpy(kept[nr_kept], frame, FRAME);
	nr_kept++;
	nr_undos++;
}

bool memory_fill(const void *addr, size_t bytes, bool copy, uintptr_t pc)
{
	if (bytes < FRAME || bytes % FRAME || (uintptr_t)addr % FRAME ||
	    heap_frame_was_free(addr) < 0)
		return false;
	run_step(pc);
	for (size_t i = 0; i < bytes; i += FRAME) {
		memory_check((const char *)addr + i, FRAME, pc);
		fill_frame((const char *)addr + i, copy);
	}
	return true;
}

void memory_begin(void)
{
	if (!cells) {
		index_of_key = malloc((sizeof(u32) << INDEX_BITS));
		cells = malloc(MAX_CELLS * sizeof(*cells));
		undos = malloc(MAX_UNDOS * sizeof(*undos));
		kept = malloc((size_t)MAX_FILLED * FRAME);
		BUG_ON(!index_of_key || !cells || !undos || !kept);
	}
	memset(index_of_key, 0, sizeof(u32) << INDEX_BITS);
	memset(cells, 0, nr_cells * sizeof(*cells));
	nr_cells = 0;
	nr_undos = 0;
	tls = fibre_tls(&tls_bytes);
	heap_begin();
}

void memory_setup_done(void)
{
	heap_setup_done();
}

void memory_run_begin(const void *stack)
{
	check_stack = stack;
	locations_run_begin();
}

void memory_undo(void)
{
	while (nr_undos) {
		nr_undos--;
		if (undos[nr_undos].frame)
			memcpy(undos[nr_undos].word,
			       kept[undos[nr_undos].old], FRAME);
		else
			*undos[nr_undos].word = undos[nr_undos].old;
	}
	nr_filled = nr_kept = 0;
	heap_undo();
}

static u64 hash_frame(const u64 *frame)
{
	u64 sum = 0;

	/* Nearly all words of nearly all frames are zero. */
	for (unsigned int i = 0; i < FRAME / 8; i++) {
		u64 h = ((uintptr_t)(frame + i) * 0x9e3779b97f4a7c15 ^
			 frame[i]) * 0xbf58476d1ce4e5b9;

		if (frame[i])
			sum += h ^ h >> 29;
	}
	return sum;
}

u64 memory_hash(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < nr_undos; i++) {
		u64 h = (uintptr_t)undos[i].word * 0x9e3779b97f4a7c15;

		/* what was put back to what it was does not count */
		if (undos[i].frame || *undos[i].word == undos[i].old)
			continue;
		h = (h ^ *undos[i].word) * 0xbf58476d1ce4e5b9;
		sum += h ^ h >> 29;
	}
	for (u32 i = 0; i < nr_filled; i++)
		sum += hash_frame(filled[i]);
	return sum;
}
