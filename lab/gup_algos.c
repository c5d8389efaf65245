/* SPDX-License-Identifier: MIT */
#include "lab/gup_algos.h"

#include <string.h>

const struct gup_algo gup_algos[NR_GUP_ALGOS] = {
	[GUP_SINGLE] = { "single", "a walk, a lock and a grab a page",
			 single_get_user_pages },
	[GUP_WALK] = { "walk", "one walk and one lock a table",
		       walk_get_user_pages },
	[GUP_BATCH] = { "batch", "and one grab a run: the engine",
			__get_user_pages },
};

const struct gup_algo *gup_algo_find(const char *name)
{
	for (unsigned int i = 0; i < NR_GUP_ALGOS; i++)
		if (!strcmp(gup_algos[i].name, name))
			return &gup_algos[i];
	return NULL;
}

long gup_algo_call(const struct gup_algo *algo, struct mm_struct *mm,
		   pf_addr_t start, unsigned long nr_pages, unsigned int flags,
		   struct page **pages, int *locked)
{
	return gup_locked_loop(algo->walk, mm, start, nr_pages, pages, locked,
			       flags);
}
