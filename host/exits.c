/* SPDX-License-Identifier: MIT */
#include "host/exits.h"

#ifdef PINFOLD_LAB
__thread u64 gup_exits[NR_GUP_EXITS];

const char *const gup_exit_names[NR_GUP_EXITS] = {
	[GUP_SLOW_NO_TABLE] = "no table",
	[GUP_SLOW_PMD_NONE] = "pmd none",
	[GUP_SLOW_PMD_HINT] = "pmd hint",
	[GUP_SLOW_PMD_GONE] = "pmd gone",
	[GUP_SLOW_PMD_READ_ONLY] = "pmd read only",
	[GUP_SLOW_PMD_DUMP] = "pmd dump",
	[GUP_SLOW_PMD_UNSHARE] = "pmd unshare",
	[GUP_SLOW_PUD_ABSENT] = "pud absent",
	[GUP_SLOW_PUD_UNSHARE] = "pud unshare",
	[GUP_SLOW_PTE_NO_TABLE] = "pte no table",
	[GUP_SLOW_PTE_NONE] = "pte none",
	[GUP_SLOW_PTE_ABSENT] = "pte absent",
	[GUP_SLOW_PTE_HINT] = "pte hint",
	[GUP_SLOW_PTE_READ_ONLY] = "pte read only",
	[GUP_SLOW_PTE_DUMP] = "pte dump",
	[GUP_SLOW_PTE_NO_DESCRIPTOR] = "pte no descriptor",
	[GUP_SLOW_PTE_UNSHARE] = "pte unshare",
	[GUP_SLOW_GRAB_FAILED] = "grab failed",
	[GUP_SLOW_PMD_LEAF] = "pmd leaf",
	[GUP_SLOW_PMD_SPLIT] = "pmd split",
	[GUP_SLOW_PUD_LEAF] = "pud leaf",
	[GUP_SLOW_FAULT_WALK_AGAIN] = "fault walk again",
	[GUP_SLOW_FAULT_FORBIDDEN] = "fault forbidden",
	[GUP_SLOW_FAULT_COMPLETED] = "fault completed",
	[GUP_SLOW_FAULT_RETRY] = "fault retry",
	[GUP_SLOW_FAULT_NO_WAIT] = "fault no wait",
	[GUP_SLOW_FAULT_ERROR] = "fault error",
	[GUP_SLOW_WHOLE] = "whole",
	[GUP_SLOW_NO_AREA] = "no area",
	[GUP_SLOW_AREA_FORBIDS] = "area forbids",
	[GUP_SLOW_SIGNAL] = "signal",
	[GUP_SLOW_PARTIAL] = "partial",
	[GUP_SLOW_LOCK_DROPPED] = "lock dropped",
	[GUP_SLOW_KILLED_AT_LOCK] = "killed at lock",
	[GUP_SLOW_RETRIED] = "retried",
	[GUP_SLOW_RETRY_SIGNAL] = "retry signal",
	[GUP_SLOW_RETRY_KILLED] = "retry killed",
	[GUP_SLOW_RETRY_ENDED] = "retry ended",
	[GUP_SLOW_UNPINNABLE] = "unpinnable",
};
#endif
