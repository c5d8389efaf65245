/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	struct folio *folio;

	race_add(r, 1, 0);
	folio = race_lock(r, 1);
	folio_mark_dirty(folio);
	race_unlock(folio);
}

/* Who writes holds no reference: the cache's has to last. */
static void write_back(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_lock(r, 1);

	if (!folio)
		return;
	if (folio_clear_dirty_for_io(folio)) {
		folio_start_writeback(folio);
		race_unlock(folio);
		race_check(folio->mapping == r->cache);
		folio_end_writeback(folio);
		race_done(mine);
		return;
	}
	race_unlock(folio);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(!r->cache->nrpages);
}

SCENARIO(cache_writeback_vs_truncate,
	.claim = "a folio under writeback is not removed, and who waits is woken",
	.reference = "K17",
	.cache = true,
	.setup = setup,
	.threads = { { "write", write_back }, { "truncate", shorten } },
	.check = check)
