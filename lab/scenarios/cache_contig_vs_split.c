/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 4, 2);
	race_add(r, 8, 0);
}

/* May end early, but has neither gap nor page twice. */
static void walk(struct race *r, struct race_hold *mine)
{
	struct folio_batch batch;
	pgoff_t start = 5, next = 5;

	folio_batch_init(&batch);
	filemap_get_folios_contig(r->cache, &start, 8, &batch);
	race_check(batch.nr >= 1 && folio_contains(batch.folios[0], 5));
	for (unsigned int i = 0; i < batch.nr; i++) {
		race_check(!i || batch.folios[i]->index == next);
		next = folio_next_index(batch.folios[i]);
	}
	race_check(start == next);
	folio_batch_release(&batch);
	race_done(mine);
}

static void split(struct race *r, struct race_hold *mine)
{
	race_split(r, mine, 4, 0);
}

SCENARIO(cache_contig_vs_split,
	.claim = "folios without a gap stay so under a split",
	.reference = "case_H2, K12, C14",
	.cache = true, .max_order = 2,
	.setup = setup,
	.threads = { { "walk", walk }, { "split", split } })
