/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 63, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 62, 3, 0);
}

static void walk(struct race *r, struct race_hold *mine)
{
	struct folio_batch batch;
	pgoff_t start = 0, last = 0;
	bool old = false;

	folio_batch_init(&batch);
	filemap_get_folios(r->cache, &start, 70, &batch);
	race_check(start == 71);
	for (unsigned int i = 0; i < batch.nr; i++) {
		struct folio *folio = batch.folios[i];

		race_check(folio->mapping == r->cache && folio->index > last);
		last = folio->index;
		old = old || last == 63;
	}
	race_check(old);
	folio_batch_release(&batch);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(r->cache->nrpages == 3);
}

SCENARIO(cache_walk_vs_grab,
	.claim = "a walk over a batch ascends, and misses nothing older",
	.reference = "K7, B13, C13",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "walk", walk } },
	.check = check)
