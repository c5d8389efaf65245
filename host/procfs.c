/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc/PID/smaps, /proc/PID/pagemap and /proc/kpageflags.
 *
 * smaps and not maps, because only smaps says which mappings are device memory
 * and how much of one is mapped by huge pages.
 */
#include "host/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE_BYTES	4096

/* The scan request of pagemap, as the kernel's interface has it. */
struct scan_request {
	u64 size;
	u64 flags;
	u64 start, end;
	u64 walk_end;		/* out */
	u64 vec, vec_len;
	u64 max_pages;
	u64 category_inverted, category_mask, category_anyof_mask;
	u64 return_mask;
};

struct scan_region {
	u64 start, end;
	u64 categories;
};

#define SCAN_REQUEST	_IOWR('f', 16, struct scan_request)
#define SCAN_PRESENT	((u64)1 << 3)
#define SCAN_ZERO	((u64)1 << 5)
#define SCAN_HUGE	((u64)1 << 6)
#define SCAN_BATCH	256

struct procfs {
	FILE *smaps;
	int pagemap;		/* file descriptor */
	int kpageflags;		/* file descriptor; -1: not for us */
	bool can_scan;
	bool have_line;		/* @line is the first of a mapping */
	char *line;
	size_t line_bytes;
	char *path;		/* of the mapping last returned */
	pf_addr_t probe;	/* address that procfs_alive() asks about */
	char command[32];
};

/* What an ENOENT or ESRCH at the opening of a process's file stands for. */
static int why_absent(pid_t pid)
{
	if (access("/proc/self/pagemap", F_OK))
		return -ENOSYS;
	if (!kill(pid, 0))
		return -ENODATA;
	return errno == EPERM ? -EPERM : -ESRCH;
}

/*
 * The files of a process without memory belong to root, whoever ran it; only
 * statm, which all may read, says so.
 */
static int why_refused(pid_t pid, int err)
{
	char path[64];
	bool none;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return err;
	none = getc(f) == '0';
	fclose(f);
	return none ? -ENODATA : err;
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ESRCH)
		return why_absent(pid);
	if (errno == EACCES || errno == EPERM)
		return why_refused(pid, -errno);
	return -errno;
}

static void read_command(struct procfs *p, pid_t pid)
{
	int fd = open_of(pid, "comm");
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, p->command, sizeof(p->command) - 1);
	p->command[n > 0 ? n : 0] = '\0';
	p->command[strcspn(p->command, "\n")] = '\0';
	close(fd);
}

/*
 * Frame numbers are zeroed for readers without the capability, and no file
 * mode says so; a page that is certainly present, our own stack's, does.
 */
static bool own_frame_shown(void)
{
	volatile char here = 0;
	off_t at = (off_t)((uintptr_t)&here / PAGE_BYTES * sizeof(u64));
	u64 entry = 0;
	ssize_t n;
	int fd;

	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, &entry, sizeof(entry), at);
	close(fd);
	return n == sizeof(entry) && PAGEMAP_PFN(entry);
}

int procfs_open(pid_t pid, struct procfs **out)
{
	struct procfs *p;
	int fd, ret;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->can_scan = true;
	p->kpageflags = -1;
	p->pagemap = open_of(pid, "pagemap");
	ret = p->pagemap;
	if (ret < 0)
		goto err_free;
	fd = open_of(pid, "smaps");
	ret = fd;
	if (ret < 0)
		goto err_close_pagemap;
	p->smaps = fdopen(fd, "r");
	ret = -ENOMEM;
	if (!p->smaps)
		goto err_close_smaps;
	setvbuf(p->smaps, NULL, _IOFBF, 1 << 16);
	if (own_frame_shown())
		p->kpageflags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	read_command(p, pid);
	*out = p;
	return 0;

err_close_smaps:
	close(fd);
err_close_pagemap:
	close(p->pagemap);
err_free:
	free(p);
	return ret;
}

void procfs_close(struct procfs *p)
{
	if (!p)
		return;
	if (p->kpageflags >= 0)
		close(p->kpageflags);
	close(p->pagemap);
	fclose(p->smaps);
	free(p->line);
	free(p->path);
	free(p);
}

const char *procfs_command(const struct procfs *p)
{
	return p->command;
}

bool procfs_frames_readable(const struct procfs *p)
{
	return p->kpageflags >= 0;
}

bool procfs_can_scan(const struct procfs *p)
{
	return p->can_scan;
}

/* 1: p->line is the next line; 0: there is none. */
static int next_line(struct procfs *p)
{
	ssize_t n;

	errno = 0;
	n = getline(&p->line, &p->line_bytes, p->smaps);
	if (n < 0)
		return errno ? -errno : 0;
	p->line[strcspn(p->line, "\n")] = '\0';
	return 1;
}

/*
 * "55d0c6a1c000-55d0c6a4b000 r--p 00000000 fe:00 1835   /usr/bin/bash"
 *
 * A field of a mapping ("Rss:  12 kB") does not parse as this: its name ends
 * in a colon where this has a dash.
 */
static bool parse_head(const char *line, struct procfs_vma *vma)
{
	uint64_t start, end, inode;
	char perms[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64
		   " %n", &start, &end, perms, &inode, &path_at) < 4)
		return false;
	*vma = (struct procfs_vma){
		.start = start,
		.end = end,
		.read = perms[0] == 'r',
		.write = perms[1] == 'w',
		.exec = perms[2] == 'x',
		.shared = perms[3] == 's',
		.file = inode != 0,
		.page_bytes = PAGE_BYTES,
		.path = path_at ? line + path_at : "",
	};
	return true;
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += n)
		if (at[-1] == ' ' && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static void parse_field(const char *line, struct procfs_vma *vma)
{
	char name[24];
	uint64_t kib;

	if (!strncmp(line, "VmFlags:", 8)) {
		vma->special = has_word(line, "io") || has_word(line, "pf");
		return;
	}
	if (sscanf(line, "%23[A-Za-z]: %" SCNu64 " kB", name, &kib) != 2)
		return;
	if (!strcmp(name, "Rss"))
		vma->rss_bytes = kib << 10;
	else if (!strcmp(name, "KernelPageSize"))
		vma->page_bytes = kib << 10;
	else if (!strcmp(name, "AnonHugePages") ||
		 !strcmp(name, "ShmemPmdMapped") ||
		 !strcmp(name, "FilePmdMapped"))
		vma->huge_bytes += kib << 10;
}

/* The mapping that p->line begins, with its fields up to the next one. */
static int read_vma(struct procfs *p, struct procfs_vma *vma)
{
	struct procfs_vma next;
	int ret;

	if (!parse_head(p->line, vma))
		return -EPROTO;
	free(p->path);
	p->path = strdup(vma->path);
	if (!p->path)
		return -ENOMEM;
	vma->path = p->path;
	p->have_line = false;
	while ((ret = next_line(p)) > 0) {
		if (parse_head(p->line, &next)) {
			p->have_line = true;
			break;
		}
		parse_field(p->line, vma);
	}
	return ret < 0 ? ret : 1;
}

int procfs_next_vma(struct procfs *p, struct procfs_vma *vma)
{
	int ret;

	do {
		if (!p->have_line) {
			ret = next_line(p);
			if (ret <= 0)
				return ret;
		}
		ret = read_vma(p, vma);
		if (ret < 0)
			return ret;
	} while (!strcmp(vma->path, "[vsyscall]"));
	p->probe = vma->start;
	return 1;
}

int procfs_scan(struct procfs *p, pf_addr_t start, pf_addr_t end,
		struct procfs_range *ranges, size_t nr, pf_addr_t *next)
{
	struct scan_region regions[SCAN_BATCH];
	struct scan_request rq = {
		.size = sizeof(rq),
		.start = start,
		.end = end,
		.vec = (uintptr_t)regions,
		.vec_len = min_t(size_t, nr, SCAN_BATCH),
		.category_anyof_mask = SCAN_PRESENT,
		.return_mask = SCAN_PRESENT | SCAN_ZERO | SCAN_HUGE,
	};
	int n = -1;

	if (p->can_scan)
		n = ioctl(p->pagemap, SCAN_REQUEST, &rq);
	if (n < 0 && p->can_scan && errno == ESRCH)
		return -ESRCH;
	if (n < 0) {
		p->can_scan = false;
		ranges[0] = (struct procfs_range){ .start = start, .end = end };
		*next = end;
		return 1;
	}
	for (int i = 0; i < n; i++)
		ranges[i] = (struct procfs_range){
			.start = regions[i].start,
			.end = regions[i].end,
			.huge = regions[i].categories & SCAN_HUGE,
			.zero = regions[i].categories & SCAN_ZERO,
		};
	*next = rq.walk_end > start ? rq.walk_end : end;
	return n;
}

int procfs_pagemap(struct procfs *p, pf_addr_t start, size_t nr, u64 *entries)
{
	char *at = (char *)entries;
	size_t left = nr * sizeof(u64);
	off_t pos = (off_t)(start / PAGE_BYTES * sizeof(u64));

	while (left) {
		ssize_t n = pread(p->pagemap, at, left, pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ESRCH;
		at += n;
		pos += n;
		left -= (size_t)n;
	}
	return 0;
}

int procfs_frame_flags(struct procfs *p, pf_pfn_t pfn, size_t nr, u64 *flags)
{
	char *at = (char *)flags;
	size_t left = nr * sizeof(u64);
	off_t pos = (off_t)(pfn * sizeof(u64));

	while (left) {
		ssize_t n = pread(p->kpageflags, at, left, pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += n;
		pos += n;
		left -= (size_t)n;
	}
	for (size_t i = nr - left / sizeof(u64); i < nr; i++)
		flags[i] = KPAGE_NOPAGE;
	return 0;
}

bool procfs_alive(struct procfs *p)
{
	u64 entry;

	return procfs_pagemap(p, p->probe, 1, &entry) == 0;
}
