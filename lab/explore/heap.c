/* SPDX-License-Identifier: MIT */
/*
 * Objects and frames that may not be touched.
 *
 * Objects come from one arena, upwards, and are never reused in a run: what is
 * freed stays in quarantine.  A run's objects vanish with it.
 */
#include "lab/explore/cell.h"
#include "lab/explore/heap.h"

#include "host/bug.h"
#include "lab/explore/source.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN		16u
#define HEAP_BYTES	((size_t)4 << 20)
#define FRAME		4096u
#define MAX_FRAMES	(1u << 16)

static char *heap;
static size_t heap_used, heap_start;	/* now, and after setup() */
static u8 freed[HEAP_BYTES / GRAIN];	/* a byte a grain: freed in this run? */
static u8 freed_start[HEAP_BYTES / GRAIN];
static u32 sizes[HEAP_BYTES / GRAIN];	/* bytes of the object that starts */

static const char *frames;		/* watched */
static size_t nr_frames;
static u8 frame_freed[MAX_FRAMES], frame_freed_start[MAX_FRAMES];

void *memory_alloc(size_t bytes)
{
	size_t room = ALIGN(bytes + GRAIN, GRAIN);
	char *object = heap + heap_used;

	if (!heap)
		heap = aligned_alloc(FRAME, HEAP_BYTES);
	object = heap + heap_used;
	if (!heap || heap_used + room > HEAP_BYTES)
		run_fail(FAIL_LIMIT, "more than %zu bytes of objects",
			 HEAP_BYTES);
	sizes[heap_used / GRAIN] = bytes;
	heap_used += room;
	memset(object, 0, room);
	return object;
}

void memory_free(void *object, uintptr_t pc)
{
	size_t at = (char *)object - heap;

	if (!object)
		return;
	BUG_ON(!heap || at >= heap_used);
	if (freed[at / GRAIN])
		run_fail(FAIL_FREED, "an object of %u bytes is freed twice",
			 sizes[at / GRAIN]);
	/* Whoever still uses it races with this. */
	if (run.phase == RUN_THREADS)
		memory_plain(object, sizes[at / GRAIN], ACCESS_WRITE, pc);
	memset(&freed[at / GRAIN], 1,
	       ALIGN(sizes[at / GRAIN], GRAIN) / GRAIN);
}

void memory_watch(const void *end)
{
	if (frames)
		nr_frames = min_t(size_t, MAX_FRAMES,
				  ((const char *)end - frames) / FRAME);
}

void memory_poison(const void *addr, size_t bytes, bool poison)
{
	size_t at;

	/* A machine's first frames are free before it is known. */
	if (!frames && poison) {
		frames = addr;
		nr_frames = MAX_FRAMES;
	}
	at = (const char *)addr - frames;
	if (frames && at < nr_frames * FRAME)
		memset(&frame_freed[at / FRAME], poison,
		       min_t(size_t, bytes / FRAME, MAX_FRAMES - at / FRAME));
}

void memory_check(const void *addr, size_t bytes, uintptr_t pc __maybe_unused)
{
	size_t at = (const char *)addr - heap;

	if (heap && at < HEAP_BYTES) {
		for (size_t i = at / GRAIN; i <= (at + bytes - 1) / GRAIN; i++)
			if (freed[i]) {
				run.failure.addr = addr;
				run_fail(FAIL_FREED, "use of a freed object");
			}
		return;
	}
	at = (const char *)addr - frames;
	if (frames && at < nr_frames * FRAME && frame_freed[at / FRAME]) {
		run.failure.addr = addr;
		run_fail(FAIL_FREED, "use of a freed frame");
	}
}

void heap_begin(void)
{
	memset(sizes, 0, heap_used / GRAIN * sizeof(sizes[0]));
	heap_used = 0;
	frames = NULL;
	memset(freed, 0, sizeof(freed));
	memset(frame_freed, 0, sizeof(frame_freed));
}

void heap_setup_done(void)
{
	heap_start = heap_used;
	memcpy(freed_start, freed, heap_used / GRAIN);
	memcpy(frame_freed_start, frame_freed, nr_frames);
}

void heap_undo(void)
{
	memset(freed + heap_start / GRAIN, 0,
	       (heap_used - heap_start) / GRAIN);
	memset(sizes + heap_start / GRAIN, 0,
	       (heap_used - heap_start) / GRAIN * sizeof(sizes[0]));
	heap_used = heap_start;
	memcpy(freed, freed_start, heap_start / GRAIN);
	memcpy(frame_freed, frame_freed_start, nr_frames);
}

size_t heap_object(const void *addr, size_t *offset)
{
	size_t at = (const char *)addr - heap;

	if (!heap || at >= heap_used)
		return 0;
	for (size_t i = at / GRAIN;; i--) {
		if (sizes[i]) {
			*offset = at - i * GRAIN;
			return sizes[i];
		}
		if (!i)
			return 0;
	}
}

int heap_frame_was_free(const void *addr)
{
	size_t at = (const char *)addr - frames;

	if (!frames || at >= nr_frames * FRAME)
		return -1;
	return frame_freed_start[at / FRAME];
}
