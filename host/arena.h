/* SPDX-License-Identifier: MIT */
/*
 * Host memory for a machine: the arena (its frames) and the memmap.
 */
#ifndef HOST_ARENA_H
#define HOST_ARENA_H

#include "host/compiler.h"
#include "host/types.h"

/*
 * The alignment of a memmap block; page -> machine is one mask.  Larger
 * alignments break sanitizers and valgrind.
 */
#if UINTPTR_MAX > UINT32_MAX
#define MEMMAP_ALIGN	((uintptr_t)1 << 32)
#else
#define MEMMAP_ALIGN	((uintptr_t)1 << 27)
#endif

/*
 * host_reserve() - reserve address space, no memory
 * @bytes: size, a multiple of the host's page size
 * @align: power of two
 *
 * Return: the address, or NULL.
 * Owner: the caller, who gives it to host_release().
 */
void *host_reserve(size_t bytes, size_t align);

/*
 * host_commit() - make a part of a reservation readable and writable
 * @huge: ask for transparent huge pages
 * @dontfork: a forked child does not get it
 *
 * Return: 0 or a negative errno.
 */
int __must_check host_commit(void *addr, size_t bytes, bool huge, bool dontfork);
/* host_touch() - take every page of the host now, not at the first use */
void host_touch(void *addr, size_t bytes);
void host_release(void *addr, size_t bytes);

/* host_available_bytes() - memory that can be had without swapping; 0: unknown */
u64 host_available_bytes(void);

/*
 * host_huge_bytes() - how much of a mapping huge pages back
 *
 * Return: bytes, from /proc/self/smaps; 0 also when that cannot be read.
 */
u64 host_huge_bytes(const void *addr, size_t bytes);

#endif
