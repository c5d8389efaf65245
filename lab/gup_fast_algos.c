/* SPDX-License-Identifier: MIT */
#include "lab/gup_fast_algos.h"

const struct gup_fast_algo gup_fast_algos[NR_FAST_ALGOS] = {
	[FAST_NONE] = { "none", "no look at all", none_gup_fast },
	[FAST_AFTER] = { "after", "a look through the array", after_gup_fast },
	[FAST_INSIDE] = { "inside", "a look where the folio is held: the engine",
			  gup_fast },
};

long gup_fast_algo_call(const struct gup_fast_algo *algo, pf_addr_t start,
			int nr_pages, unsigned int flags, struct page **pages)
{
	return gup_fast_fallback(algo->walk, start, nr_pages, flags, pages);
}
