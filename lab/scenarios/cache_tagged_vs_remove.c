/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	for (pgoff_t i = 1; i <= 2; i++) {
		struct folio *folio;

		race_add(r, i, 0);
		folio = race_lock(r, i);
		folio_mark_dirty(folio);
		race_unlock(folio);
	}
}

static void remove_it(struct race *r, struct race_hold *mine)
{
	race_remove(r, mine, 1);
}

/* The one behind is marked all the time. */
static void walk(struct race *r, struct race_hold *mine)
{
	struct folio_batch batch;
	pgoff_t start = 0;

	folio_batch_init(&batch);
	filemap_get_folios_tag(r->cache, &start, 10, PAGECACHE_TAG_DIRTY,
			       &batch);
	race_check(batch.nr >= 1);
	race_check(batch.folios[batch.nr - 1]->index == 2);
	folio_batch_release(&batch);
	race_done(mine);
}

SCENARIO(cache_tagged_vs_remove,
	.claim = "a walk by marks goes on behind one that is just removed",
	.reference = "I5, X55",
	.cache = true,
	.setup = setup,
	.threads = { { "remove", remove_it }, { "walk", walk } })
