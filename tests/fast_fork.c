/* SPDX-License-Identifier: MIT */
/*
 * Claim: a page that the parent pins without a lock, while a fork copies its
 * tables, is never shared with the child: as long as it is pinned it stays
 * exclusive, what the parent stores at the address shows through the pin, and
 * nothing that the child stores does (X6, inv_O5).
 *
 * Source: mm/gup.c:gup_fast(); mm/memory.c:copy_page_range(); [gup-fork] in
 *         docs/ordering.md
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"
#include "host/exits.h"
#include "host/race_point.h"

#include <errno.h>

#define MILLISECONDS	1000000ull
#define NR_PINNERS	2
#define NR_WORKERS	(NR_PINNERS + 1)
#define NR		1024ul
#define MOST		64

struct worker {
	struct pf_mm *mm;
	unsigned int id;
	struct random random;
	u64 until, done;
	u64 exits[NR_GUP_EXITS];
	const char *what;		/* is wrong */
	struct page *got[MOST];
	struct backend_thread *thread;
};

/* Each thread has a word of its own in each page; the child writes another. */
static pf_addr_t word_at(const struct worker *w, pf_addr_t page)
{
	return page + sizeof(u64) * (1 + w->id);
}

static void store_and_look(struct worker *w, pf_addr_t page, struct page *pin)
{
	u64 word = random_next(&w->random), *bytes = page_address(pin);

	if (pf_write(w->mm, word_at(w, page), &word, sizeof(word)) !=
	    sizeof(word))
		return;			/* no memory */
	if (READ_ONCE(bytes[1 + w->id]) != word)
		w->what = "a store went to another page than the pinned one";
}

static void look_at_pins(struct worker *w, pf_addr_t at, long nr)
{
	for (long i = 0; i < nr; i++) {
		struct folio *folio = page_folio(w->got[i]);

		if (is_zero_folio(folio))
			continue;
		if (!PageAnonExclusive(w->got[i]) &&
		    !PageAnonExclusive(&folio->page))
			w->what = "a pinned page is not exclusive";
		if (random_chance(&w->random, 30))
			store_and_look(w, at + PAGES(i), w->got[i]);
	}
}

static void pin_some(struct worker *w)
{
	const u64 page = random_below(&w->random, NR);
	const u64 nr = min(1 + random_below(&w->random, MOST), NR - page);
	const pf_addr_t at = BASE + PAGES(page);
	unsigned int flags = random_chance(&w->random, 60) ? FOLL_WRITE : 0;
	long got;

	if (random_chance(&w->random, 30))
		flags |= FOLL_LONGTERM;
	got = pf_pin_user_pages_fast(w->mm, at, nr, flags,
				     (struct pf_page **)w->got);
	if (got < 0 && got != -ENOMEM)
		w->what = "an undocumented error";
	for (int round = 0; round < 3; round++)
		look_at_pins(w, at, got);
	if (got > 0)
		pf_unpin_user_pages((struct pf_page **)w->got, got);
	w->done += max(got, 0L);
}

static void pinner(void *arg)
{
	struct worker *w = arg;

	memset(gup_exits, 0, sizeof(gup_exits));
	while (!w->what && clock_ns() < w->until)
		pin_some(w);
	memcpy(w->exits, gup_exits, sizeof(w->exits));
}

static void forker(void *arg)
{
	struct worker *w = arg;

	while (clock_ns() < w->until) {
		struct pf_mm *child;
		u64 word = 1;

		if (pf_mm_fork(w->mm, &child))
			continue;
		w->done++;
		for (int i = 0; i < 8; i++)
			(void)!pf_write(child, BASE +
					PAGES(random_below(&w->random, NR)) +
					8 * (1 + random_below(&w->random,
							      NR_PINNERS)),
					&word, sizeof(word));
		pf_mm_destroy(child);
	}
}

static void print_exits(struct worker *workers)
{
	for (int i = 0; i < NR_GUP_EXITS; i++) {
		u64 sum = 0;

		for (int k = 0; k < NR_PINNERS; k++)
			sum += workers[k].exits[i];
		if (sum)
			fprintf(stderr, "  %-20s %lu\n", gup_exit_names[i],
				(unsigned long)sum);
	}
}

static void run(unsigned long thp_always)
{
	static struct worker workers[NR_WORKERS];
	struct mm_test t;
	struct random seed;

	memset(workers, 0, sizeof(workers));
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64), .thp_always = thp_always,
	});
	map_at(&t, BASE, NR, RW);
	for (u64 i = 0; i < NR; i++)
		write_word(&t, BASE + PAGES(i), i);
	random_init(&seed);
	for (int i = 0; i < NR_WORKERS; i++) {
		struct worker *w = &workers[i];

		w->mm = t.mm;
		w->id = i;
		w->random.state = random_next(&seed);
		w->until = clock_ns() + 700 * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w->thread,
				i < NR_PINNERS ? pinner : forker, w), 0);
	}
	for (int i = 0; i < NR_WORKERS; i++)
		backend_thread_join(workers[i].thread);
	print_exits(workers);
	for (int i = 0; i < NR_WORKERS; i++) {
		if (workers[i].what)
			fail_msg("%s", workers[i].what);
		assert_true(workers[i].done > 0);
	}
	assert_valid(&t);
	mm_test_end(&t);
}

static void small_folios(void **state)
{
	(void)state;
	run(0);
}

static void folios_of_64k(void **state)
{
	(void)state;
	run(BIT(4));
}

static void huge_folios(void **state)
{
	(void)state;
	run(BIT(HPAGE_PMD_ORDER));
}

/* ---- a fork between two steps ---------------------------------------------- */

static struct {
	struct pf_mm *parent, *child;
	enum race_point at;
} forced;

static void fork_here(void *arg, enum race_point point)
{
	(void)arg;
	if (point != forced.at || forced.child)
		return;
	assert_int_equal(pf_mm_fork(forced.parent, &forced.child), 0);
}

static u64 word_of(struct pf_mm *mm, pf_addr_t at)
{
	u64 word = 0;

	assert_int_equal(pf_read(mm, at, &word, sizeof(word)), sizeof(word));
	return word;
}

/* Pinned by the call that a fork met at @at: the page is the parent's alone. */
static void fork_once(struct mm_test *t, pf_addr_t at, enum race_point point,
		      unsigned int flags)
{
	struct pf_page *page;
	u64 word = 77;
	void *bytes;

	forced.parent = t->mm;
	forced.child = NULL;
	forced.at = point;
	write_word(t, at, 5);
	race_hook = fork_here;
	assert_int_equal(pf_pin_user_pages_fast(t->mm, at, 1, flags, &page), 1);
	race_hook = NULL;
	assert_non_null(forced.child);
	assert_int_equal(pf_page_address(page, &bytes), 0);
	write_word(t, at, word);
	assert_int_equal(*(u64 *)bytes, word);
	assert_int_equal(word_of(forced.child, at), 5);
	word = 9;
	assert_int_equal(pf_write(forced.child, at, &word, 8), 8);
	assert_int_equal(*(u64 *)bytes, 77);
	assert_int_equal(read_word(t, at), 77);
	pf_unpin_user_page(page);
	pf_mm_destroy(forced.child);
}

static void a_fork_between_two_steps(void **state)
{
	static const enum race_point points[] = {
		RACE_FAST_READ, RACE_FAST_GUESSED, RACE_FAST_HELD,
		RACE_FAST_WALKED,
	};
	static const unsigned int orders[] = { 0, 4, HPAGE_PMD_ORDER };

	(void)state;
	for (unsigned int o = 0; o < ARRAY_SIZE(orders); o++) {
		struct mm_test t;

		mm_test_begin(&t, (struct pf_machine_options){
			.memory_bytes = MIB(32),
			.thp_always = orders[o] ? BIT(orders[o]) : 0,
		});
		map_at(&t, BASE, 1024, RW);
		for (unsigned int i = 0; i < 2 * ARRAY_SIZE(points); i++)
			fork_once(&t, BASE + PAGES(40 * i), points[i / 2],
				  i & 1 ? FOLL_WRITE : 0);
		mm_test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fork_between_two_steps),
		cmocka_unit_test(small_folios),
		cmocka_unit_test(folios_of_64k),
		cmocka_unit_test(huge_folios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
