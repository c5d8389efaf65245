/* SPDX-License-Identifier: MIT */
/*
 * The page-table format of this build.  One format a build; the engine sees
 * only the names that every format defines.
 */
#ifndef ARCH_PGTABLE_TYPES_H
#define ARCH_PGTABLE_TYPES_H

#include "arch/x86_64/pgtable_types.h"
#include "arch/x86_64/cacheflush.h"

#endif
