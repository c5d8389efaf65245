/* SPDX-License-Identifier: MIT */
/*
 * `pinfold race`, between the command and the explorer's build.
 */
#ifndef CLI_RACE_H
#define CLI_RACE_H

#include "cli/cli.h"

int race_help(void);

/* race_command() - the subcommand itself; only in the explorer's build */
int race_command(int argc, char **argv);

#endif
