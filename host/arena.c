/* SPDX-License-Identifier: MIT */
#include "host/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

void *host_reserve(size_t bytes, size_t align)
{
	size_t span = bytes + align;
	uintptr_t raw, start;
	void *p;

	if (span < bytes)
		return NULL;
	p = mmap(NULL, span, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* [raw, start) and [start + bytes, raw + span) go back */
	raw = (uintptr_t)p;
	start = ALIGN(raw, align);
	if (start > raw)
		munmap(p, start - raw);
	if (raw + span > start + bytes)
		munmap((void *)(start + bytes), raw + span - start - bytes);
	return (void *)start;
}

int host_commit(void *addr, size_t bytes, bool huge, bool dontfork)
{
	if (mprotect(addr, bytes, PROT_READ | PROT_WRITE))
		return -errno;
	/* Advice only: a host without huge pages is slower, not wrong. */
	if (huge)
		(void)madvise(addr, bytes, MADV_HUGEPAGE);
	if (dontfork && madvise(addr, bytes, MADV_DONTFORK))
		return -errno;
	return 0;
}

void host_touch(void *addr, size_t bytes)
{
	volatile char *p = addr;

	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 0;
}

void host_release(void *addr, size_t bytes)
{
	if (addr)
		munmap(addr, bytes);
}

u64 host_available_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[256];
	u64 kib = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	fclose(f);
	return kib << 10;
}

u64 host_huge_bytes(const void *addr, size_t bytes)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t lo = (uintptr_t)addr, hi = lo + bytes;
	uint64_t start, end, kib, total = 0;
	bool inside = false;
	char line[512];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
			inside = start >= lo && end <= hi;
		else if (inside &&
			 sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1)
			total += kib << 10;
	}
	fclose(f);
	return total;
}
