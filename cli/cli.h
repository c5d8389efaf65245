/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of `pinfold` share.
 *
 * Rules for subcommands
 * - argv[0] is the subcommand's name; getopt_long() starts afresh, with
 *   opterr = 0 and an option string that begins with ':'.
 * - run() returns an exit code; nothing calls exit().
 * - Results go to stdout; main() checks that they got there.  Messages, one
 *   line each, and progress go to stderr.
 * gup_test alone does as Linux's tool of that name does.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "host/compiler.h"
#include "host/types.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct subcommand {
	const char *name;
	const char *summary;	/* one line for `pinfold --help` */
	int (*run)(int argc, char **argv);
};

extern const struct subcommand cmd_bench;
extern const struct subcommand cmd_capture;
extern const struct subcommand cmd_gup_test;
extern const struct subcommand cmd_race;
extern const struct subcommand cmd_restore;
extern const struct subcommand cmd_vtop;

/*
 * run_command() - a whole main(): @run, with the standard descriptors in order,
 * and what was written to stdout checked
 *
 * Return: the exit code.
 */
int run_command(int (*run)(int argc, char **argv), int argc, char **argv);

/*
 * usage_error() - say on one line of stderr what is wrong with the call
 * @cmd: subcommand, or NULL for pinfold itself
 *
 * Return: EXIT_USAGE.
 */
int usage_error(const char *cmd, const char *fmt, ...) __printf(2, 3);

/*
 * failed() - say on one line of stderr what went wrong
 * @cmd: subcommand, or NULL for pinfold itself
 *
 * Return: EXIT_FAILED.
 */
int failed(const char *cmd, const char *fmt, ...) __printf(2, 3);

/*
 * bad_option() - usage_error() for what getopt_long() refused
 * @c: what it returned, ':' or '?'
 *
 * Return: EXIT_USAGE.
 */
int bad_option(const char *cmd, int c, char **argv);

/*
 * parse_u64() - all of @s as a number, decimal or 0x and hexadecimal
 * @lo: smallest value taken
 * @hi: largest value taken
 * @out: untouched unless the answer is true
 *
 * No sign, no space, nothing behind the digits.
 */
bool __must_check parse_u64(const char *s, u64 lo, u64 hi, u64 *out);

/* parse_size() - the same, with an optional suffix K, M or G (times 1024^n) */
bool __must_check parse_size(const char *s, u64 lo, u64 hi, u64 *out);

/*
 * progress() - replace the progress line, if stderr is a terminal
 *
 * Called as often as convenient; it writes at most ten times a second.
 */
void progress(const char *fmt, ...) __printf(1, 2);

/* progress_done() - remove the progress line; messages do it by themselves */
void progress_done(void);

#endif
