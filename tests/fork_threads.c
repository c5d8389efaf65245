/* SPDX-License-Identifier: MIT */
/*
 * Claim: while threads pin, store and protect in one address space, others fork
 * it.  A page that is pinned stays that page, and shows its pin what is stored;
 * a child sees the bytes of one moment, however often it looks, and its own
 * stores; and when all have let go, all counts are exact.
 *
 * Source: mm/memory.c:copy_page_range(); include/pinfold/pinfold.h
 */
#include "tests/fork_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <sched.h>

#define NR_PINNERS	2
#define NR_FORKERS	2
#define NR_WORKERS	(NR_PINNERS + NR_FORKERS)
#define MILLISECONDS	1000000ull

/* Small and 64 KiB folios, and one huge page. */
#define NR_SMALL	64
#define FIRST_THP	512
#define NR_PLACES	96	/* where words are: NR_SMALL, and 32 of the THP */

struct worker {
	struct mm_test *t;
	struct random random;
	unsigned int id;
	u64 until;		/* clock_ns() */
	u64 stamp;
	u64 checked;
	int wrong;		/* the line that found it */
	struct backend_thread *thread;
};

#define EXPECT(w, cond) do {						\
	if (!(cond) && !(w)->wrong)					\
		(w)->wrong = __LINE__;					\
} while (0)

static pf_addr_t place_at(u64 place)
{
	return BASE + PAGES(place < NR_SMALL ? place :
			    FIRST_THP + (place - NR_SMALL) * 16);
}

static long pin_one(struct worker *w, pf_addr_t at, struct pf_page **page)
{
	switch (random_below(&w->random, 3)) {
	case 0:
		return pf_pin_user_pages_unlocked(w->t->mm, at, 1, page,
						  PINFOLD_FOLL_WRITE);
	case 1:
		return pf_pin_user_pages_fast(w->t->mm, at, 1,
					      PINFOLD_FOLL_WRITE, page);
	default:
		return pf_pin_user_pages_unlocked(w->t->mm, at, 1, page,
						  PINFOLD_FOLL_LONGTERM);
	}
}

/* Each pinner has a word of its own in each page. */
static void pin_and_store(struct worker *w)
{
	pf_addr_t at = place_at(random_below(&w->random, NR_PLACES));
	unsigned int rounds = 1 + random_below(&w->random, 4);
	struct pf_page *page, *again;
	void *bytes;

	long ret = pin_one(w, at, &page);

	/* -EFAULT: somebody has taken the permission away for a moment */
	EXPECT(w, ret == 1 || ret == -EFAULT);
	if (ret != 1)
		return;
	EXPECT(w, !pf_page_address(page, &bytes));
	while (rounds--) {
		u64 word = ++w->stamp;

		ret = pf_write(w->t->mm, at + 8 * w->id, &word, 8);
		EXPECT(w, ret == 8 || ret == -EFAULT);
		if (ret == 8)
			EXPECT(w, ((u64 *)bytes)[w->id] == word);
		w->checked += ret == 8;
	}
	EXPECT(w, pf_pin_user_pages_unlocked(w->t->mm, at, 1, &again, 0) == 1);
	EXPECT(w, again == page);
	pf_unpin_user_page(page);
	pf_unpin_user_page(again);
}

/* The page is not pinned: fork shares it, and later stores are not for it. */
static void just_store(struct worker *w)
{
	pf_addr_t at = place_at(random_below(&w->random, NR_PLACES)) + 8 * w->id;
	u64 word = ++w->stamp, seen = 0;
	long ret = pf_write(w->t->mm, at, &word, 8);

	EXPECT(w, ret == 8 || ret == -EFAULT);
	if (ret != 8)
		return;
	EXPECT(w, pf_read(w->t->mm, at, &seen, 8) == 8);
	EXPECT(w, seen == word);
	w->checked++;
}

static void protect(struct worker *w)
{
	u64 nr = 1 + random_below(&w->random, 40);
	pf_addr_t at = place_at(random_below(&w->random, NR_PLACES));

	nr = min(nr, at < BASE + PAGES(FIRST_THP) ?
		 NR_SMALL - ((at - BASE) >> PAGE_SHIFT) :
		 FIRST_THP + 512 - ((at - BASE) >> PAGE_SHIFT));
	EXPECT(w, !pf_mprotect(w->t->mm, at, PAGES(nr), PINFOLD_PROT_READ));
	EXPECT(w, !pf_mprotect(w->t->mm, at, PAGES(nr), RW));
}

static void pinner(void *arg)
{
	struct worker *w = arg;

	while (!w->wrong && clock_ns() < w->until) {
		if (random_chance(&w->random, 5))
			protect(w);
		else if (random_chance(&w->random, 50))
			just_store(w);
		else
			pin_and_store(w);
	}
}

static void look(struct worker *w, struct pf_mm *mm, u64 *words)
{
	for (u64 i = 0; i < NR_PLACES; i++)
		EXPECT(w, pf_read(mm, place_at(i), words + i * NR_WORKERS,
				  8 * NR_WORKERS) == 8 * NR_WORKERS);
}

/* A word of a pinner, and, in the forker's place, one of the child's own. */
static void live_in(struct worker *w, struct pf_mm *child)
{
	static __thread u64 first[NR_PLACES * NR_WORKERS];
	static __thread u64 second[NR_PLACES * NR_WORKERS];

	look(w, child, first);
	for (int i = 0; i < 8; i++) {
		u64 place = random_below(&w->random, NR_PLACES);
		u64 word = ++w->stamp;

		EXPECT(w, pf_write(child, place_at(place) + 8 * w->id, &word,
				   8) == 8);
		first[place * NR_WORKERS + w->id] = word;
		sched_yield();
	}
	look(w, child, second);
	EXPECT(w, !memcmp(first, second, sizeof(first)));
	w->checked++;
}

static void forker(void *arg)
{
	struct worker *w = arg;

	for (unsigned int i = 1; !w->wrong && clock_ns() < w->until; i++) {
		struct pf_mm *child, *grandchild = NULL;

		/* Tables of the dead wait for a grace period. */
		if (i % 64 == 0)
			rcu_barrier();
		EXPECT(w, !pf_mm_fork(w->t->mm, &child));
		if (w->wrong)
			break;
		if (random_chance(&w->random, 30))
			EXPECT(w, !pf_mm_fork(child, &grandchild));
		/* A child may be made while an area was protected. */
		EXPECT(w, !pf_mprotect(child, BASE, PAGES(NR_SMALL), RW));
		EXPECT(w, !pf_mprotect(child, BASE + PAGES(FIRST_THP),
				       PAGES(512), RW));
		live_in(w, child);
		if (grandchild && random_chance(&w->random, 50)) {
			pf_mm_destroy(child);
			child = NULL;
		}
		if (grandchild) {
			EXPECT(w, !pf_mprotect(grandchild, BASE,
					       PAGES(NR_SMALL), RW));
			EXPECT(w, !pf_mprotect(grandchild,
					       BASE + PAGES(FIRST_THP),
					       PAGES(512), RW));
			live_in(w, grandchild);
		}
		pf_mm_destroy(grandchild);
		pf_mm_destroy(child);
	}
}

static void test_fork_and_pin(void **state)
{
	static struct worker workers[NR_WORKERS];
	struct mm_test t;
	struct random seed;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64),
		.thp_always = BIT(2) | BIT(4) | BIT(HPAGE_PMD_ORDER),
	});
	map_at(&t, BASE, NR_SMALL, RW);
	map_at(&t, BASE + PAGES(FIRST_THP), 512, RW);
	random_init(&seed);
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		struct worker *w = &workers[i];

		w->t = &t;
		w->random.state = random_next(&seed);
		w->id = i;
		w->until = clock_ns() + 1200 * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w->thread,
				 i < NR_PINNERS ? pinner : forker, w), 0);
	}
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		backend_thread_join(workers[i].thread);
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		assert_int_equal(workers[i].wrong, 0);
		assert_true(workers[i].checked > 0);
		print_message("worker %u: %llu\n", i,
			      (unsigned long long)workers[i].checked);
	}
	assert_valid(&t);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_and_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
