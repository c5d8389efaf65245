/* SPDX-License-Identifier: MIT */
/*
 * The windows of the stress with all mutators, and who uses them.
 *
 * In pages from BASE:
 *   0 ... 1023     kept: always mapped; each thread has a word in each page and
 *                  knows what it holds; a handler serves write protection
 *   1024 ... 2047  loose: dropped, unmapped, moved by 512 pages; each page
 *                  holds the stamp of its address, or nothing
 */
#ifndef TESTS_STRESS_WINDOWS_H
#define TESTS_STRESS_WINDOWS_H

#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/exits.h"

#include <errno.h>

#define NR_WORKERS	4
#define NR_KEPT		1024ul
#define NR_LOOSE	1024ul
#define LOOSE		(BASE + PAGES(NR_KEPT))
#define MOST		200		/* pages of a call */

struct worker {
	struct random random;
	unsigned int id;
	u64 checked;
	int wrong;		/* the line that found it */
	u64 words[NR_KEPT];	/* what it stored last */
	u64 exits[NR_GUP_EXITS];
	struct page *got[MOST];
	struct backend_thread *thread;
};

static struct mm_test t;
static struct worker workers[NR_WORKERS];

#define EXPECT(w, cond) do {						\
	if (!(cond) && !(w)->wrong)					\
		(w)->wrong = __LINE__;					\
} while (0)

/* Somebody has taken the permission away, or it is for long and in CMA. */
static inline bool refused(int64_t ret)
{
	return ret == -EFAULT || ret == -ENOMEM;
}

/* ---- the kept window: every word is known ----------------------------- */

static inline pf_addr_t word_at(struct worker *w, u64 page)
{
	return BASE + PAGES(page) + 8 * w->id;
}

static inline u64 *held_word(struct worker *w, struct page *page)
{
	return (u64 *)page_address(page) + w->id;
}

static inline void store(struct worker *w, u64 page)
{
	u64 word = w->words[page] + 1;
	int64_t ret = pf_write(t.mm, word_at(w, page), &word, 8);

	EXPECT(w, ret == 8 || refused(ret));
	if (ret == 8)
		w->words[page] = word;
}

static inline void load(struct worker *w, u64 page)
{
	u64 word;
	int64_t ret = pf_read(t.mm, word_at(w, page), &word, 8);

	EXPECT(w, ret == 8 || refused(ret));
	EXPECT(w, ret != 8 || word == w->words[page]);
	w->checked += ret == 8;
}

static inline long pin_one(struct worker *w, pf_addr_t at)
{
	static const unsigned int flags[] = {
		FOLL_WRITE, FOLL_WRITE | FOLL_LONGTERM, FOLL_LONGTERM, 0,
	};
	unsigned int i = random_below(&w->random, ARRAY_SIZE(flags));
	struct pf_page **pages = (struct pf_page **)w->got;

	return random_chance(&w->random, 60) ?
	       pf_pin_user_pages_fast(t.mm, at, 1, flags[i], pages) :
	       pf_pin_user_pages_unlocked(t.mm, at, 1, pages, flags[i]);
}

/* inv_O5, and each side sees the other's stores */
static inline void pin_and_store(struct worker *w, u64 page)
{
	const pf_addr_t at = BASE + PAGES(page);
	unsigned int rounds = 1 + random_below(&w->random, 3);
	long ret = pin_one(w, at);
	struct pf_page *again;
	u64 *word;

	EXPECT(w, ret == 1 || refused(ret));
	if (ret != 1)
		return;
	word = held_word(w, w->got[0]);
	while (rounds--) {
		EXPECT(w, READ_ONCE(*word) == w->words[page]);
		WRITE_ONCE(*word, ++w->words[page]);
		load(w, page);
		store(w, page);
		EXPECT(w, READ_ONCE(*word) == w->words[page]);
	}
	ret = pf_pin_user_pages_unlocked(t.mm, at, 1, &again, 0);
	EXPECT(w, ret == 1 || refused(ret));
	if (ret == 1) {
		EXPECT(w, again == (struct pf_page *)w->got[0]);
		pf_unpin_user_page(again);
	}
	pf_unpin_user_page((struct pf_page *)w->got[0]);
}

static inline long take(struct worker *w, pf_addr_t at, u64 nr, bool pins,
		 unsigned int flags)
{
	struct pf_page **pages = (struct pf_page **)w->got;

	if (pins && random_chance(&w->random, 30))
		return pf_pin_user_pages_unlocked(t.mm, at, nr, pages, flags);
	if (pins)
		return pf_pin_user_pages_fast(t.mm, at, nr, flags, pages);
	if (random_chance(&w->random, 30))
		return pf_get_user_pages_unlocked(t.mm, at, nr, pages, flags);
	if (random_chance(&w->random, 50))
		return pf_get_user_pages_fast_only(t.mm, at, nr, flags, pages);
	return pf_get_user_pages_fast(t.mm, at, nr, flags, pages);
}

static inline unsigned int take_flags(struct worker *w, bool pins)
{
	unsigned int flags = random_chance(&w->random, 40) ? FOLL_WRITE : 0;

	return flags | (pins && random_chance(&w->random, 30) ? FOLL_LONGTERM :
								0);
}

static inline void let_go(struct worker *w, long nr, bool pins)
{
	struct pf_page **pages = (struct pf_page **)w->got;

	if (pins)
		pf_unpin_user_pages(pages, max(nr, 0l));
	for (long i = 0; i < nr && !pins; i++)
		pf_put_page(pages[i]);
}

/* The own word of each page is what it was, whoever has copied it since. */
static inline void take_kept(struct worker *w, u64 page)
{
	u64 nr = 1 + random_below(&w->random, min(NR_KEPT - page, (u64)MOST));
	bool pins = random_chance(&w->random, 60);
	long ret = take(w, BASE + PAGES(page), nr, pins, take_flags(w, pins));

	EXPECT(w, (ret >= 0 && ret <= (long)nr) || refused(ret));
	for (long i = 0; i < ret; i++)
		EXPECT(w, READ_ONCE(*held_word(w, w->got[i])) ==
			  w->words[page + i]);
	let_go(w, ret, pins);
}

/* ---- the loose window: a stamp, or nothing ---------------------------- */

static inline u64 stamp_of(pf_addr_t at)
{
	return at ^ 0x5a5a000000000000ull;
}

/* Pages move by 512 pages, so the address may be another of these. */
static inline bool stamp_fits(u64 word, pf_addr_t at)
{
	return !word || ((word ^ stamp_of(at)) & (PMD_SIZE - 1)) == 0;
}

static inline void take_loose(struct worker *w, u64 page)
{
	u64 nr = 1 + random_below(&w->random, min(NR_LOOSE - page, (u64)MOST));
	bool pins = random_chance(&w->random, 60);
	unsigned int flags = take_flags(w, pins);
	const pf_addr_t at = LOOSE + PAGES(page);
	long ret = take(w, at, nr, pins, flags);

	EXPECT(w, (ret >= 0 && ret <= (long)nr) || refused(ret));
	for (long i = 0; i < ret; i++) {
		struct folio *folio = page_folio(w->got[i]);
		u64 *word = page_address(w->got[i]);

		EXPECT(w, folio_ref_count(folio) > 0);
		EXPECT(w, !pins || is_zero_folio(folio) ||
			  folio_maybe_dma_pinned(folio));
		EXPECT(w, !(flags & FOLL_LONGTERM) ||
			  folio_is_longterm_pinnable(folio));
		EXPECT(w, stamp_fits(READ_ONCE(*word), at + PAGES(i)));
		if (pins && (flags & FOLL_WRITE))
			WRITE_ONCE(*word, stamp_of(at + PAGES(i)));
	}
	let_go(w, ret, pins);
}

static inline void stamp_pages(struct worker *w, u64 page)
{
	for (u64 i = page; i < min(page + 16, (u64)NR_LOOSE); i++) {
		u64 word = stamp_of(LOOSE + PAGES(i));
		int64_t ret = pf_write(t.mm, LOOSE + PAGES(i), &word, 8);

		EXPECT(w, ret == 8 || refused(ret));
	}
}

static inline void use(struct worker *w)
{
	u64 page = random_below(&w->random, NR_KEPT);

	switch (random_below(&w->random, 8)) {
	case 0:
		store(w, page);
		break;
	case 1:
		load(w, page);
		break;
	case 2:
	case 3:
		pin_and_store(w, page);
		break;
	case 4:
		take_kept(w, page);
		break;
	case 5:
		stamp_pages(w, page % NR_LOOSE);
		break;
	default:
		take_loose(w, page % NR_LOOSE);
		break;
	}
}

#endif
