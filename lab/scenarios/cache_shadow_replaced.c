/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_shadow(r, 64, 6, 7);
}

/* Prepares to split the shadow, and may find a folio then, or another. */
static void add(struct race *r, struct race_hold *mine)
{
	race_grab_one(r, mine, 70);
}

static void replace(struct race *r, struct race_hold *mine)
{
	struct folio *folio = filemap_alloc_folio(r->cache->gfp_mask, 6);

	race_check(folio);
	if (!filemap_add_folio(r->cache, folio, 64, 0)) {
		folio_unlock(folio);
		race_done(mine);
	}
	folio_put(folio);
	r->note[0] = race_reclaim(r, mine) > 0;
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	void *first = race_entry(r, 64);

	race_check(race_is_cached(r, h, 0, 70));
	if (first != race_folio(h, 0))
		race_check(xa_is_value(first) &&
			   (first == xa_mk_value(7)) == !r->note[0]);
	race_check(race_entry(r, 127) == first);
	race_check(r->cache->nrpages == (xa_is_value(first) ? 1 : 64));
}

SCENARIO(cache_shadow_replaced,
	.claim = "what was prepared for a shadow that is gone is not used",
	.reference = "K10, C6",
	.cache = true, .max_order = 6,
	.setup = setup,
	.threads = { { "add", add }, { "replace", replace } },
	.check = check)
