/* SPDX-License-Identifier: MIT */
/*
 * Names of places, from the program's own debug information (addr2line), and
 * names of memory, from what the engine keeps there.
 */
#include "lab/explore/source.h"

#include "host/compiler.h"
#include "lab/explore/heap.h"
#include "lab/explore/object.h"
#include "mm/mm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK	256

extern const char __executable_start[];

u32 source_offset(uintptr_t pc)
{
	return pc - (uintptr_t)__executable_start;
}

uintptr_t source_pc(u32 offset)
{
	return (uintptr_t)__executable_start + offset;
}

const char *source_short(const char *file)
{
	static const char *const roots[] = {
		"/mm/", "/host/", "/lab/", "/api/", "/arch/", "/lib/",
		"/tests/", "/kernel/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		const char *at = strstr(file, roots[i]);
		const char *next = at;

		while (next) {
			at = next;
			next = strstr(at + 1, roots[i]);
		}
		if (at)
			return at + 1;
	}
	return file;
}

/* Files whose lines say less than those of their callers. */
static bool is_primitive(const char *file)
{
	size_t length = strlen(file);

	return !strncmp(file, "host/", 5) || !strncmp(file, "lab/explore/", 12) ||
	       (length > 2 && !strcmp(file + length - 2, ".h"));
}

/* "file:line (discriminator 3)" */
static void take_place(struct source_line *line, char *text)
{
	char *colon = strrchr(text, ':');

	text[strcspn(text, " \n")] = '\0';
	if (colon) {
		*colon = '\0';
		line->line = atoi(colon + 1);
	}
	snprintf(line->file, sizeof(line->file), "%.95s", source_short(text));
}

/*
 * addr2line answers for each address with a line "0x..." and then two lines for
 * each function, the innermost first.
 */
static void read_answer(FILE *in, size_t n, struct source_line *lines)
{
	struct source_line now = { .line = 0 };
	char text[512];
	size_t i = (size_t)-1;
	bool found = false;

	while (fgets(text, sizeof(text), in)) {
		if (!strncmp(text, "0x", 2)) {
			if (++i == n)
				return;
			found = false;
			continue;
		}
		if (i == (size_t)-1)
			return;
		text[strcspn(text, "\n")] = '\0';
		snprintf(now.function, sizeof(now.function), "%.63s", text);
		if (!fgets(text, sizeof(text), in))
			return;
		take_place(&now, text);
		if (!found)
			lines[i] = now;
		found = found || !is_primitive(now.file);
	}
}

static void lines_of_chunk(const char *program, const uintptr_t *pcs, size_t n,
			   struct source_line *lines)
{
	char command[512 + CHUNK * 20];
	size_t used;
	FILE *in;

	used = snprintf(command, sizeof(command),
			"addr2line -a -f -i -e '%s'", program);
	for (size_t i = 0; i < n; i++) {
		/* The call, not where it returns to. */
		used += snprintf(command + used, sizeof(command) - used,
				 " %#x", source_offset(pcs[i]) - 1);
		snprintf(lines[i].function, sizeof(lines[i].function), "%#x",
			 source_offset(pcs[i]));
		snprintf(lines[i].file, sizeof(lines[i].file), "?");
		lines[i].line = 0;
	}
	snprintf(command + used, sizeof(command) - used, " 2>/dev/null");
	in = popen(command, "r");
	if (!in)
		return;
	read_answer(in, n, lines);
	pclose(in);
}

void source_lines(const uintptr_t *pcs, size_t n, struct source_line *lines)
{
	char program[400];
	ssize_t used = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (used < 0)
		used = 0;
	program[used] = '\0';
	for (size_t i = 0; i < n; i += CHUNK)
		lines_of_chunk(program, pcs + i, min_t(size_t, n - i, CHUNK), lines + i);
}
