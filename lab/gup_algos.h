/* SPDX-License-Identifier: MIT */
/*
 * The slow walk as it was and as it is: baselines for benchmarks, oracles for
 * tests.
 *
 *  single  a walk, a lock and a grab for every page; at a huge leaf a grab for
 *          the first page and one for the rest
 *  walk    one walk and one lock for a whole table, a grab for every page
 *  batch   and one grab for a run of pages of one folio: the engine itself
 */
#ifndef LAB_GUP_ALGOS_H
#define LAB_GUP_ALGOS_H

#include "mm/gup_internal.h"

struct gup_algo {
	const char *name;
	const char *summary;
	gup_walk_fn walk;
};

enum { GUP_SINGLE, GUP_WALK, GUP_BATCH, NR_GUP_ALGOS };

extern const struct gup_algo gup_algos[NR_GUP_ALGOS];

/* gup_algo_find() - by name; NULL if there is none */
const struct gup_algo *gup_algo_find(const char *name);

/*
 * gup_algo_call() - any get or pin with the given walk
 * @flags: caller's and internal FOLL_* flags together, already valid
 * @locked: as in __get_user_pages_locked(): 1 held, 0 take it
 */
long gup_algo_call(const struct gup_algo *algo, struct mm_struct *mm,
		   pf_addr_t start, unsigned long nr_pages, unsigned int flags,
		   struct page **pages, int *locked);

long single_get_user_pages(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, unsigned int gup_flags,
			   struct page **pages, int *locked);
long walk_get_user_pages(struct mm_struct *mm, pf_addr_t start,
			 unsigned long nr_pages, unsigned int gup_flags,
			 struct page **pages, int *locked);

#endif
