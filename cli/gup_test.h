/* SPDX-License-Identifier: MIT */
/*
 * gup_test: what its options say, and running it.
 */
#ifndef CLI_GUP_TEST_H
#define CLI_GUP_TEST_H

#include "cli/tap.h"
#include "lab/gup_test.h"

struct gup_test_command {
	char option;
	bool timed;		/* repeats, and prints times */
	u32 request;
	unsigned int gup_flags;	/* added to those of -F and -w */
	const char *name;
};

struct gup_test_call {
	const struct gup_test_command *command;
	struct gup_test record;	/* all but address and size */
	u64 mib, repeats, threads;
	int advice;		/* MADV_*; MADV_NORMAL: none */
	bool write;
	bool fault_first;	/* write each page before the test */
	bool hugetlb;
	u64 pool;		/* 2 MiB pages; UINT64_MAX: as many as needed */
	bool shared;
	const char *file;	/* -H: not looked at */
};

/* Return: an exit code; all output is printed. */
int gup_test_run(const struct gup_test_call *call, struct tap *tap);

#endif
