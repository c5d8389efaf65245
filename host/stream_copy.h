/* SPDX-License-Identifier: MIT */
/*
 * memcpy() for pages that nobody is going to read soon: the stores go past the
 * caches, so the destination is not read first and nothing useful is evicted.
 *
 * Rule for callers: the stores are weakly ordered, even on x86.  Before the
 * bytes are published, by a release store or a lock, comes the fence; one is
 * enough for many copies, and it is dear (the write buffers have to drain).
 *
 * Only x86-64 has such stores here; elsewhere this is memcpy().
 */
#ifndef HOST_STREAM_COPY_H
#define HOST_STREAM_COPY_H

#include "host/types.h"

/*
 * stream_copy() - copy @len bytes, and fence
 *
 * Any alignment and length; short copies are memcpy().  The ranges do not
 * overlap.
 */
void stream_copy(void *dst, const void *src, size_t len);

/* stream_copy_unfenced() - the copy alone; stream_copy_fence() follows */
void stream_copy_unfenced(void *dst, const void *src, size_t len);

/*
 * stream_copy_pages() - copy @nr pages of 4 KiB, one behind the other in @src
 * @pages: where they go, aligned to 64 bytes
 *
 * Faster than page by page.  stream_copy_fence() follows.
 */
void stream_copy_pages(void *const *pages, const void *src, unsigned int nr);

/* stream_copy_fence() - what was copied comes before what is stored now */
void stream_copy_fence(void);

#endif
