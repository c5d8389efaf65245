/* SPDX-License-Identifier: MIT */
#include "lab/scenario_cache.h"

static void setup(struct race *r)
{
	race_add(r, 1, 0);
}

static void grab(struct race *r, struct race_hold *mine)
{
	const fgf_t fgp = FGP_LOCK | FGP_CREAT | FGP_NOWAIT;
	int got = race_grab_once(r, mine, 0, 3, 0, fgp);

	race_check(got == 1 || got == 3);
}

static void lock(struct race *r, struct race_hold *mine)
{
	race_unlock(race_lock(r, 1));
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(r->cache->nrpages == (h->nr == 1 ? 2 : 3));
	for (int i = 0; i < h->nr; i++)
		race_check(race_is_cached(r, h, i, i));
}

SCENARIO(cache_grab_nowait_vs_lock,
	.claim = "a batch that may not wait ends before what is locked",
	.reference = "B7",
	.cache = true,
	.setup = setup,
	.threads = { { "grab", grab }, { "lock", lock } },
	.check = check)
