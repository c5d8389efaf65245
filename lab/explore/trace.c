/* SPDX-License-Identifier: MIT */
/*
 * The trace of one run: what the threads did to what they share, side by side.
 */
#include "lab/explore/source.h"

#include "lab/explore/object.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS	(1u << 18)
#define WIDTH		118
#define NEAR		3	/* events shown around a turn */
#define WORDS_BITS	20

struct trace_event {
	uintptr_t pc;
	uintptr_t addr;		/* 0: a turn */
	u32 op;
	u8 task;
	bool write, lock;
	bool shown;
	char what[88];
};

static struct trace_event *events;
static u32 nr_events;

void source_trace_begin(void)
{
	if (!events)
		events = malloc(MAX_EVENTS * sizeof(*events));
	nr_events = 0;
}

static struct trace_event *add_event(const void *addr, bool write, uintptr_t pc)
{
	static struct trace_event overflow;
	struct trace_event *e = &overflow;

	if (events && nr_events < MAX_EVENTS && !object_is_quiet(addr))
		e = &events[nr_events++];

	e->pc = pc;
	e->addr = (uintptr_t)addr;
	e->op = run.running < NR_TASKS ? run_task()->ops : 0;
	e->task = run.running;
	e->write = write;
	e->lock = false;
	e->shown = false;
	return e;
}

void source_trace_switch(unsigned int to)
{
	struct trace_event *e = add_event(NULL, false, 0);

	snprintf(e->what, sizeof(e->what), "%s", run.tasks[to].name);
	e->task = to;
}

static void put(struct trace_event *e, const void *addr, const char *format, ...)
	__printf(3, 4);
static void put(struct trace_event *e, const void *addr, const char *format, ...)
{
	char name[48], rest[64];
	va_list args;

	object_describe(addr, name, sizeof(name));
	va_start(args, format);
	vsnprintf(rest, sizeof(rest), format, args);
	va_end(args);
	snprintf(e->what, sizeof(e->what), "%.44s%.42s", name, rest);
}

void source_trace_plain(const void *addr, unsigned int bytes, enum access kind,
			uintptr_t pc)
{
	put(add_event(addr, kind & ACCESS_WRITE, pc), addr, ": plain %s, %u",
	    kind & ACCESS_WRITE ? "store" : "load", bytes);
}

void source_trace_load(const void *addr, unsigned int size __maybe_unused,
		       u64 value, bool stale, uintptr_t pc)
{
	char text[40];

	object_value(value, text, sizeof(text));
	put(add_event(addr, false, pc), addr, " is %s%s", text,
	    stale ? ", an OLDER store" : "");
}

void source_trace_store(const void *addr, unsigned int size __maybe_unused,
			u64 old, u64 new, bool rmw, uintptr_t pc)
{
	char before[24], after[24];

	object_value(old, before, sizeof(before));
	object_value(new, after, sizeof(after));
	put(add_event(addr, true, pc), addr, ": %s %s %s", before,
	    rmw ? "=>" : "->", after);
}

void source_trace_lock(const u32 *word, const char *what, uintptr_t pc)
{
	struct trace_event *e = add_event(word, true, pc);

	e->lock = true;
	put(e, word, ": %s", what);
}

/* ---- which of them matter --------------------------------------------------- */

struct use {
	uintptr_t addr;
	u8 tasks, writers;
	u32 last;		/* event, + 1 */
};

static struct use *use_of(struct use *uses, uintptr_t addr)
{
	u64 slot = addr * 0x9e3779b97f4a7c15 >> (64 - WORDS_BITS);

	while (uses[slot].addr && uses[slot].addr != addr)
		slot = (slot + 1) & ((1u << WORDS_BITS) - 1);
	uses[slot].addr = addr;
	return &uses[slot];
}

/* Where one thread meets what another did, both are shown; locks do so often. */
static void show_meetings(struct use *uses)
{
	for (u32 i = 0; i < nr_events; i++) {
		struct trace_event *e = &events[i], *before;
		struct use *u = use_of(uses, e->addr);

		if (e->addr && u->last && !e->lock) {
			before = &events[u->last - 1];
			if (before->task != e->task &&
			    (before->write || e->write))
				before->shown = e->shown = true;
		}
		u->last = i + 1;
	}
}

/* Keep turns, and what one thread writes and another uses. */
static void keep_shared(void)
{
	struct use *uses = calloc(1u << WORDS_BITS, sizeof(*uses));
	u32 kept = 0;

	if (!uses)
		return;
	for (u32 i = 0; i < nr_events; i++) {
		struct use *u = use_of(uses, events[i].addr);

		u->tasks |= BIT(events[i].task);
		if (events[i].write)
			u->writers |= BIT(events[i].task);
	}
	for (u32 i = 0; i < nr_events; i++) {
		struct use *u = use_of(uses, events[i].addr);

		if (!events[i].addr ||
		    (u->writers && (u->tasks & (u->tasks - 1))))
			events[kept++] = events[i];
	}
	nr_events = kept;
	show_meetings(uses);
	free(uses);
}

static bool is_shown(u32 i)
{
	u32 from = i > NEAR ? i - NEAR : 0;

	if (events[i].shown || !events[i].addr)
		return true;
	for (u32 k = from; k <= i + NEAR; k++)
		if (k >= nr_events || !events[k].addr)
			return true;
	return false;
}

/* ---- columns ------------------------------------------------------------------ */

static unsigned int columns[NR_TASKS], nr_columns;

static void find_columns(void)
{
	u8 seen = 0;

	nr_columns = 0;
	for (u32 i = 0; i < nr_events; i++)
		seen |= BIT(events[i].task);
	for (unsigned int t = 0; t < NR_TASKS; t++)
		if (seen & BIT(t))
			columns[t] = nr_columns++;
}

static void print_in_column(FILE *out, unsigned int task, const char *text)
{
	unsigned int width = WIDTH / nr_columns;

	for (unsigned int c = 0; c < nr_columns; c++) {
		const char *cell = c == columns[task] ? text : "";

		if (c + 1 < nr_columns)
			fprintf(out, "%-*.*s| ", width - 2, width - 2, cell);
		else
			fprintf(out, "%.*s\n", width - 2, cell);
	}
}

static void print_event(FILE *out, const struct trace_event *e,
			const struct source_line *line,
			const struct source_line *before)
{
	char text[256];

	if (!before || before->line != line->line ||
	    strcmp(before->function, line->function)) {
		snprintf(text, sizeof(text), "%s() %s:%d", line->function,
			 line->file, line->line);
		print_in_column(out, e->task, text);
	}
	/* as in seeds */
	snprintf(text, sizeof(text), "  %c%u %s",
		 e->task == TASK_RCU ? 'r' : 'a' + e->task, e->op, e->what);
	print_in_column(out, e->task, text);
}

static void print_events(FILE *out, const struct source_line *lines)
{
	const struct source_line *before[NR_TASKS] = { NULL };
	u32 left_out = 0;

	for (u32 i = 0; i < nr_events; i++) {
		const struct trace_event *e = &events[i];
		char text[128];

		if (!is_shown(i)) {
			left_out++;
			continue;
		}
		if (left_out) {
			snprintf(text, sizeof(text), "  ... %u more", left_out);
			print_in_column(out, events[i - 1].task, text);
			left_out = 0;
		}
		if (!e->addr) {
			snprintf(text, sizeof(text), "--- %s", e->what);
			print_in_column(out, e->task, text);
			before[e->task] = NULL;
			continue;
		}
		print_event(out, e, &lines[i], before[e->task]);
		before[e->task] = &lines[i];
	}
}

void source_trace_print(FILE *out)
{
	uintptr_t *pcs;
	struct source_line *lines;

	keep_shared();
	find_columns();
	pcs = calloc(nr_events + 1, sizeof(*pcs));
	lines = calloc(nr_events + 1, sizeof(*lines));
	if (pcs && lines && nr_columns) {
		u32 n = 0;

		/* Only those that are shown cost a look-up. */
		for (u32 i = 0; i < nr_events; i++)
			pcs[n++] = is_shown(i) ? events[i].pc : 0;
		source_lines(pcs, n, lines);
		print_events(out, lines);
	}
	free(pcs);
	free(lines);
}
