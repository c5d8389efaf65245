/* SPDX-License-Identifier: MIT */
/*
 * Where the fast calls look whether a page may be pinned for long:
 *
 *  none    nowhere: FOLL_LONGTERM was ignored without a lock
 *  after   pin all, then look through the array; from the first page that may
 *          not be pinned on, all is put back and left to the slow path
 *  inside  where the walk holds the folio: the engine itself
 *
 * Without FOLL_LONGTERM all three are the engine.
 *
 * Source: "fix omission of check on FOLL_LONGTERM in get_user_pages_fast()"
 */
#ifndef LAB_GUP_FAST_ALGOS_H
#define LAB_GUP_FAST_ALGOS_H

#include "mm/gup_internal.h"

struct gup_fast_algo {
	const char *name;
	const char *summary;
	gup_fast_fn walk;
};

enum { FAST_NONE, FAST_AFTER, FAST_INSIDE, NR_FAST_ALGOS };

extern const struct gup_fast_algo gup_fast_algos[NR_FAST_ALGOS];

/*
 * gup_fast_algo_call() - a fast call with the given walk
 * @flags: caller's and internal FOLL_* flags together, already valid
 *
 * Context: current->mm is set.
 */
long gup_fast_algo_call(const struct gup_fast_algo *algo, pf_addr_t start,
			int nr_pages, unsigned int flags, struct page **pages);

long none_gup_fast(struct mm_struct *mm, pf_addr_t start,
		   unsigned long nr_pages, unsigned int flags,
		   struct page **pages);
long after_gup_fast(struct mm_struct *mm, pf_addr_t start,
		    unsigned long nr_pages, unsigned int flags,
		    struct page **pages);

#endif
