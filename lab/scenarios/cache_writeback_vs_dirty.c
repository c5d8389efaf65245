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

static void write_back(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_lock(r, 1);

	if (folio_clear_dirty_for_io(folio)) {
		folio_start_writeback(folio);
		folio_end_writeback(folio);
	}
	race_unlock(folio);
	race_done(mine);
}

static void dirty(struct race *r, struct race_hold *mine)
{
	struct folio *folio = race_look(r, mine, 1);

	r->note[0] = folio_mark_dirty(folio);
}

/* Recounting finds a dirty folio with its mark; there is no other. */
static void check(struct race *r)
{
	struct folio *folio = race_folio(&r->hold[1], 0);

	race_check(r->note[0] == folio_test_dirty(folio));
	race_check(!folio_test_writeback(folio));
}

SCENARIO(cache_writeback_vs_dirty,
	.claim = "who makes a folio dirty while it is written is not overlooked",
	.reference = "I5",
	.cache = true,
	.setup = setup,
	.threads = { { "write", write_back }, { "dirty", dirty } },
	.check = check)
