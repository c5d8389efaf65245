/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 4, 2);
}

/* From the second page on, each once. */
static void walk(struct race *r, struct race_hold *mine)
{
	struct folio_batch batch;
	pgoff_t start = 5, next = 5;

	folio_batch_init(&batch);
	filemap_get_folios(r->cache, &start, 20, &batch);
	for (unsigned int i = 0; i < batch.nr; i++) {
		struct folio *folio = batch.folios[i];

		race_check(folio->mapping == r->cache);
		race_check(i ? folio->index == next :
			   folio_contains(folio, next));
		next = folio_next_index(folio);
	}
	race_check(next == 8 && start == 21);
	folio_batch_release(&batch);
	race_done(mine);
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, 4, 0);
}

SCENARIO(cache_walk_vs_split,
	.claim = "a walk meets a split: it finds each page, once",
	.reference = "K12, C13",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "walk", walk }, { "split", split } })
