/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r __maybe_unused)
{
}

static void grab(struct race *r, struct race_hold *mine)
{
	race_grab(r, mine, 62, 3, 0);
}

/* Any subset; what is seen is whole, and counted: here, there, by the batch. */
static void look(struct race *r, struct race_hold *mine)
{
	for (pgoff_t i = 64; i >= 63; i--) {
		struct folio *folio = race_look(r, mine, i);

		race_check(!folio || folio->mapping == r->cache);
		race_check(!folio || folio_ref_count(folio) >= 3);
	}
	race_look_locked(r, mine, 63);
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[1];

	for (int i = 0; i < h->nr; i++)
		race_check(race_is_cached(r, h, i, race_folio(h, i)->index));
	race_check(r->cache->nrpages == 3);
}

SCENARIO(cache_look_vs_grab,
	.claim = "a folio of a batch can be found only when it is whole",
	.reference = "K7, B13",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "look", look } },
	.check = check)
