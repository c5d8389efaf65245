/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 0, 0);
	race_add(r, 64, 0);
}

static void remove_it(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 64);
	race_grab_one(r, mine, 65);
}

static void walk(struct race *r, struct race_hold *mine)
{
	struct folio_batch batch;
	pgoff_t start = 0, next = 0;

	folio_batch_init(&batch);
	filemap_get_folios(r->cache, &start, 100, &batch);
	race_check(batch.nr >= 1 && !batch.folios[0]->index);
	for (unsigned int i = 0; i < batch.nr; i++) {
		race_check(batch.folios[i]->index >= next);
		next = folio_next_index(batch.folios[i]);
	}
	folio_batch_release(&batch);
	race_done(mine);
}

SCENARIO(cache_walk_vs_shrink,
	.claim = "a walk ascends while nodes go and come",
	.reference = "K19, R3, X54",
	.cache = true,
	.setup = setup,
	.threads = { { "remove", remove_it }, { "walk", walk } })
