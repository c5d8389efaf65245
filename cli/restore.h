/* SPDX-License-Identifier: MIT */
/*
 * `pinfold restore`: what its parts share.
 */
#ifndef CLI_RESTORE_H
#define CLI_RESTORE_H

#include "cli/cli.h"

#include "pinfold/pinfold.h"

#define RESTORE		"restore"
#define RESTORE_MAX_THREADS	16

/* A part of the file that is a part of guest memory; bytes, whole pages. */
struct slot {
	char name[64];
	u64 file_offset, guest_offset, size;
};

struct plan {
	struct slot *slots;	/* by guest_offset, apart from each other */
	unsigned int nr_slots;
	u64 bytes;		/* of all slots */
	u64 guest_bytes;	/* end of the last one */
	u64 data_bytes;		/* of bytes, those that are no holes */
};

struct restore {
	const char *path;
	const char *manifest;	/* or NULL: the file is one slot */
	const char *save;	/* or NULL */
	const char *json;	/* or NULL */
	unsigned int threads;
	unsigned int order;	/* of folios, at most */
	bool verify;
	int fd;
	u64 file_bytes;
	struct plan plan;
	/* results */
	u64 restore_ns, verify_ns, save_ns;
	double memcpy_gib;	/* GiB/s of one memcpy(), in this run */
};

/*
 * plan_make() - what goes where; says on stderr what is wrong
 *
 * Return: EXIT_OK; EXIT_FAILED.
 * Owner: the caller, who calls plan_free(), also on failure.
 */
int plan_make(struct restore *r);
void plan_free(struct plan *plan);

/* restore_run() - do it all, and print it.  Return: an exit code. */
int restore_run(struct restore *r);

#endif
