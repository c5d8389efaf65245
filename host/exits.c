/* SPDX-License-Identifier: MIT */
#include "host/exits.h"

#ifdef PINFOLD_LAB
__thread u64 gup_exits[NR_GUP_EXITS];

const char *const gup_exit_names[NR_GUP_EXITS] = {
	[GUP_FAST_ABSENT] = "absent",
	[GUP_FAST_F1] = "F1 PROT_NONE",
	[GUP_FAST_F2] = "F2 not permitted",
	[GUP_FAST_F4] = "F4 special",
	[GUP_FAST_F5_FROZEN] = "F5 frozen",
	[GUP_FAST_F5_MOVED] = "F5 moved",
	[GUP_FAST_F5_LONGTERM] = "F5 not for long",
	[GUP_FAST_F6_ENTRY] = "F6 entry changed",
	[GUP_FAST_F6_TABLE] = "F6 table changed",
	[GUP_FAST_F7] = "F7 file memory",
	[GUP_FAST_F8] = "F8 not exclusive",
	[GUP_FAST_CLIPPED] = "clipped",
	[GUP_FAST_FORKING] = "forking",
	[GUP_FAST_FORKED] = "forked",
};
#endif
