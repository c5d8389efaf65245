/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
	race_add(r, 2, 0);
}

static void dirty(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look(r, mine, 1);

	if (!folio)
		return;
	filemap_dirty_folio(r->cache, folio);
	race_done(mine);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_truncate(r, mine, 1, 1);
}

/* No mark is left where nothing is. */
static void check(struct race *r)
{
	race_check(!race_entry(r, 1) && r->cache->nrpages == 1);
	race_check(!xa_marked(&r->cache->i_pages, PAGECACHE_TAG_DIRTY));
}

SCENARIO(cache_dirty_vs_truncate,
	.claim = "a folio made dirty after it was removed leaves no mark",
	.reference = "I5",
	.cache = true,
	.setup = setup,
	.threads = { { "dirty", dirty }, { "truncate", shorten } },
	.check = check)
