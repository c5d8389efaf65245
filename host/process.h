/* SPDX-License-Identifier: MIT */
/*
 * Running a helper program and reading what it prints.
 */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H

#include "host/compiler.h"

#include <stdio.h>

struct process;

/*
 * process_start() - run @path with @argv, its standard output to read here
 * @out: stream of the output; process_finish() closes it
 *
 * Return: 0, or a negative errno (-ENOENT: there is no such program).
 */
int __must_check process_start(const char *path, char *const argv[],
			       struct process **process, FILE **out);

/* process_finish() - wait for its end.  Return: exit code, or 128 + signal. */
int process_finish(struct process *process, FILE *out);

/*
 * helper_path() - where the helper program @name is
 *
 * Beside the running program (libexec/), or where both were installed
 * (../libexec/pinfold/).
 * Return: 0, or -ENOENT.
 */
int __must_check helper_path(const char *name, char *path, size_t room);

#endif
