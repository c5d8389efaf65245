/* SPDX-License-Identifier: MIT */
/*
 * `longterm`: the whole longterm get, with the pass that looks for memory which
 * may not be pinned for long done page by page, and folio by folio.
 *
 * As gup_test -L: pin_user_pages(FOLL_WRITE | FOLL_LONGTERM).  Both rows walk
 * alike; what differs is the look at the result.
 */
#include "bench/turns.h"

#include "lab/longterm_per_page.h"
#include "mm/gup_longterm.h"

static long pin_per_page(const void *arg __maybe_unused, struct mm_struct *mm,
			 pf_addr_t start, unsigned long nr, unsigned int flags,
			 struct page **pages)
{
	int locked = 1;

	return gup_longterm_loop(per_page_check, mm, start, nr, pages, &locked,
				 FOLL_PIN | FOLL_LONGTERM | flags);
}

static long pin_per_folio(const void *arg __maybe_unused, struct mm_struct *mm,
			  pf_addr_t start, unsigned long nr, unsigned int flags,
			  struct page **pages)
{
	return pin_user_pages(mm, start, nr, FOLL_LONGTERM | flags, pages);
}

static long per_page_get(const struct contestant *c, struct share *s)
{
	return share_pin(s, pin_per_page, c->arg);
}

static long per_folio_get(const struct contestant *c, struct share *s)
{
	return share_pin(s, pin_per_folio, c->arg);
}

static void longterm_put(const struct contestant *c __maybe_unused,
			 struct share *s)
{
	unpin_user_pages(s->pages, s->got);
}

/* The limit of the walk, and one classification of each folio. */
static long longterm_limit_get(const struct contestant *c __maybe_unused,
			       struct share *s)
{
	return limit_get_longterm(&s->limit, s->pages);
}

static void longterm_limit_put(const struct contestant *c __maybe_unused,
			       struct share *s)
{
	limit_put(&s->limit, s->pages);
}

static const struct contestant contestants[] = {
	{ "per-page", NULL, per_page_get, longterm_put, false },
	{ "per-folio", NULL, per_folio_get, longterm_put, false },
};

static const struct contestant limit = {
	"limit", NULL, longterm_limit_get, longterm_limit_put, false,
};

static const struct bench_gain gains[] = {
	{ "4K", "per-page", "per-folio", "0.99x" },
	{ "64K", "per-page", "per-folio", "" },
	{ "2M", "per-page", "per-folio", "2.96x" },
	{ "1G", "per-page", "per-folio", "" },
};

static int run_longterm(const struct bench_options *o,
			struct bench_result *result)
{
	return bench_run_shapes(&bench_longterm, o, result);
}

const struct bench_suite bench_longterm = {
	.name = "longterm",
	.summary = "longterm pins: looking for movable memory by page or folio",
	.call = "pin_user_pages(PIN|WRITE|LONGTERM)",
	.pages_per_call = 512,
	.contestants = contestants,
	.nr_contestants = ARRAY_SIZE(contestants),
	.limit = &limit,
	.gains = gains,
	.nr_gains = ARRAY_SIZE(gains),
	.run = run_longterm,
};
