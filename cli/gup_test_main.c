/* SPDX-License-Identifier: MIT */
/*
 * gup_test as a command of its own, for scripts that call it by that name.
 */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return run_command(cmd_gup_test.run, argc, argv);
}
