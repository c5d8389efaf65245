/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
}

/* As an unpin does: it has a reference until it is dirty. */
static void dirty(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look(r, mine, 1);

	if (!folio)
		return;
	folio_mark_dirty(folio);
	race_put(mine);
	r->note[0] = 1;
}

static void evict(struct race *r, struct race_hold *mine)
{
	race_reclaim(r, mine);
}

static void check(struct race *r)
{
	if (r->note[0])
		race_check(!xa_is_value(race_entry(r, 1)));
	else
		race_check(xa_is_value(race_entry(r, 1)));
}

SCENARIO(cache_dirty_vs_evict,
	.claim = "a folio that was made dirty is not evicted",
	.reference = "K8, C19",
	.cache = true,
	.setup = setup,
	.threads = { { "dirty", dirty }, { "evict", evict } },
	.check = check)
