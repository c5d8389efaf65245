/* SPDX-License-Identifier: MIT */
/*
 * Claim: while four threads get, pin and store in one address space, the same
 * threads do everything to it that moves, copies, splits, joins, marks or drops
 * pages, and fork it.  No store is lost where pages stay mapped; a pinned page
 * stays the page that its address space sees (inv_O5); a child sees the bytes
 * of one moment; where pages come and go, what is held is a page of that
 * address.  When all have let go, all counts are exact.
 *
 * All goes on until each mutator has succeeded 1000 times and each exit of the
 * lockless walk that memory of this kind reaches was taken; both are printed.
 * Few walks linger where others may get in between, so that the rare exits come
 * in seconds; nothing is done in their place.  PINFOLD_STRESS_SECONDS is the
 * shortest time (2).
 *
 * Source: semantics/gup.md 10 (X1 ... X8, X14 ... X16, X20, "stress mix")
 */
#include "tests/stress_windows.h"

#include "host/clock.h"
#include "host/race_point.h"

#include <sched.h>

#ifndef __SANITIZE_THREAD__
#define ENOUGH		1000
#define ALL_EXITS	true
#else
/* It is slower by far, and is there for what it watches. */
#define ENOUGH		100
#define ALL_EXITS	false
#endif
#define SECOND		1000000000ull
#define LIMIT		(240 * SECOND)	/* beyond the shortest time */
#define NR_LOOKED	16		/* words that a child is asked for */

enum mutator {
	FORK_EXIT, CHILD_STORE, STORE_SHARED, PROTECT_READ, PROTECT_NONE,
	DISCARD, MOVE, UNMAP_MAP, COLLAPSE, SCAN, SPLIT_MAPPING, SPLIT_FOLIO,
	SOFT_DIRTY, HINT, WRITE_PROTECT, POPULATE, NR_MUTATORS,
	HANDLED = NR_MUTATORS,	/* not chosen: happens */
	NR_COUNTED,
};

static const char *const mutator_names[NR_COUNTED] = {
	"fork, child's exit", "child's store", "store to a shared page",
	"mprotect READ", "mprotect NONE", "DONTNEED", "mremap",
	"munmap and mmap", "MADV_COLLAPSE", "background collapse",
	"split of a mapping", "split of a folio", "soft-dirty clear",
	"NUMA hints", "write-protection", "populate", "handled write faults",
};

/* What no private anonymous memory reaches, and why. */
static const char *const out_of_reach[NR_GUP_EXITS] = {
	[GUP_FAST_F7] = "not here: only file memory is refused (fast_exits.c)",
};

static atomic64_t succeeded[NR_COUNTED];
static atomic64_t changes;	/* of all mutators, refused ones too */
static bool stop;
static u64 began, least;	/* clock_ns(); nanoseconds */

static void count(enum mutator what, int64_t times)
{
	if (times > 0)
		atomic64_add(times, &succeeded[what]);
}

/* ---- fork ------------------------------------------------------------- */

static u64 looked_at(unsigned int i)
{
	return i * (NR_KEPT / NR_LOOKED) + i;
}

static void look(struct worker *w, struct pf_mm *mm, u64 *words)
{
	for (unsigned int i = 0; i < NR_LOOKED; i++)
		EXPECT(w, pf_read(mm, BASE + PAGES(looked_at(i)),
				  words + NR_WORKERS * i, 8 * NR_WORKERS) ==
			  8 * NR_WORKERS);
}

/* What the child sees is its own, and what it does stays there. */
static void live_in(struct worker *w, struct pf_mm *child)
{
	u64 before[NR_LOOKED * NR_WORKERS], after[NR_LOOKED * NR_WORKERS];

	look(w, child, before);
	for (unsigned int i = 0; i < NR_LOOKED; i++) {
		EXPECT(w, before[i * NR_WORKERS + w->id] ==
			  w->words[looked_at(i)]);
		if (random_chance(&w->random, 50))
			store(w, looked_at(i));
	}
	for (unsigned int i = 0; i < 4; i++) {
		u64 k = random_below(&w->random, NR_LOOKED), word = -1ull;

		EXPECT(w, pf_write(child, word_at(w, looked_at(k)), &word,
				   8) == 8);
		before[k * NR_WORKERS + w->id] = word;
		count(CHILD_STORE, 1);
	}
	look(w, child, after);
	EXPECT(w, !memcmp(before, after, sizeof(before)));
}

static void fork_and_exit(struct worker *w)
{
	struct pf_mm *child;
	int ret = pf_mm_fork(t.mm, &child);

	EXPECT(w, !ret || ret == -ENOMEM);
	if (ret) {
		rcu_barrier();
		return;
	}
	/* Forked, maybe, while an area was protected. */
	EXPECT(w, !pf_mprotect(child, BASE, PAGES(NR_KEPT), RW));
	live_in(w, child);
	for (unsigned int i = 0; i < 8; i++)
		use(w);
	pf_mm_destroy(child);
	count(FORK_EXIT, 1);
}

/* Each page of a few, while a child has them, too. */
static void store_shared(struct worker *w)
{
	u64 page = random_below(&w->random, NR_KEPT - 4);
	struct pf_mm *child;

	if (pf_mm_fork(t.mm, &child)) {
		rcu_barrier();
		return;
	}
	for (u64 i = page; i < page + 4; i++) {
		u64 word = w->words[i], seen = 0;

		store(w, i);
		count(STORE_SHARED, w->words[i] != word);
		if (pf_read(child, word_at(w, i), &seen, 8) == 8)
			EXPECT(w, seen == word);
	}
	pf_mm_destroy(child);
}

/* ---- the other mutators ----------------------------------------------- */

static void on_fault(void *arg, pf_addr_t address)
{
	(void)arg;
	BUG_ON(pf_userfault_writeprotect(t.mm, address, PAGE_SIZE, false));
	count(HANDLED, 1);
}

static void protect(struct worker *w, pf_addr_t at, u64 nr, int prot,
		    enum mutator what)
{
	int ret = pf_mprotect(t.mm, at, PAGES(nr), prot);

	EXPECT(w, !ret || ret == -ENOMEM);
	count(what, !ret);
	/* Not split for long, so that collapse finds one area. */
	EXPECT(w, !pf_mprotect(t.mm, BASE, PAGES(NR_KEPT), RW));
	(void)!pf_mprotect(t.mm, LOOSE, PAGES(NR_LOOSE), RW);
}

/* Another thread may be in the other half, or in both. */
static void move(struct worker *w, u64 page, u64 nr)
{
	const int flags = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED |
			  (nr & 1 ? PINFOLD_MREMAP_DONTUNMAP : 0);
	pf_addr_t at = LOOSE + PAGES(page), place;
	int ret;

	nr = min(nr, 512 - page % 512);
	ret = pf_mremap(t.mm, at, PAGES(nr), PAGES(nr), flags, at ^ PMD_SIZE,
			&place);
	EXPECT(w, !ret || refused(ret) || ret == -EINVAL);
	count(MOVE, !ret);
	EXPECT(w, !pf_mmap(t.mm, at, PAGES(nr), RW, PINFOLD_MAP_FIXED, &place));
}

static void unmap_map(struct worker *w, pf_addr_t at, u64 nr)
{
	pf_addr_t place;

	EXPECT(w, !pf_munmap(t.mm, at, PAGES(nr)));
	for (u64 i = random_below(&w->random, 100); i; i--)
		cpu_relax();
	EXPECT(w, !pf_mmap(t.mm, at, PAGES(nr), RW, PINFOLD_MAP_FIXED, &place));
	count(UNMAP_MAP, 1);
}

/* Return: is @at mapped by a PTE now? */
static bool split_mapping(pf_addr_t at)
{
	u64 before = gup_exits[GUP_SLOW_PMD_SPLIT];
	struct pf_page *page;
	long ret = pf_get_user_pages_unlocked(t.mm, at, 1, &page,
					      FOLL_SPLIT_PMD);

	if (ret == 1)
		pf_put_page(page);
	count(SPLIT_MAPPING, gup_exits[GUP_SLOW_PMD_SPLIT] != before);
	return ret == 1;
}

static void split_folio(struct worker *w, pf_addr_t at, u64 nr)
{
	static const unsigned int orders[] = { 0, 0, 2, 4, 6 };
	int64_t ret = pf_split(t.mm, at, PAGES(nr),
			       orders[random_below(&w->random, 5)]);

	EXPECT(w, ret >= 0 || ret == -EAGAIN);
	count(SPLIT_FOLIO, ret);
}

/* Whole tables: what is huge already is no success. */
static void collapse(struct worker *w, pf_addr_t at, bool scan)
{
	int64_t ret;

	at = ALIGN_DOWN(at, PMD_SIZE);
	if (at < LOOSE)
		EXPECT(w, !pf_userfault_writeprotect(t.mm, BASE, PAGES(NR_KEPT),
						     false));
	if (!split_mapping(at))
		return;
	if (scan) {
		ret = pf_machine_collapse_scan(t.machine, NULL);
		EXPECT(w, ret >= 0);
		count(SCAN, ret);
		return;
	}
	ret = pf_madvise(t.mm, at, PMD_SIZE, PINFOLD_MADV_COLLAPSE);
	EXPECT(w, !ret || ret == -EAGAIN || ret == -EINVAL || ret == -ENOMEM ||
		  ret == -EBUSY);
	count(COLLAPSE, !ret);
}

static void populate(struct worker *w, pf_addr_t at, u64 nr)
{
	int ret = pf_madvise(t.mm, at, PAGES(nr),
			     random_chance(&w->random, 50) ?
			     PINFOLD_MADV_POPULATE_READ :
			     PINFOLD_MADV_POPULATE_WRITE);

	EXPECT(w, !ret || refused(ret) || ret == -EINVAL);
	count(POPULATE, !ret);
}

static void mark(struct worker *w, enum mutator what, pf_addr_t at, u64 nr)
{
	int64_t ret;

	if (what == SOFT_DIRTY) {
		ret = pf_clear_soft_dirty(t.mm);
		EXPECT(w, !ret);
		count(what, !ret);
	} else if (what == HINT) {
		ret = pf_numa_hint(t.mm, at, PAGES(nr));
		EXPECT(w, ret >= 0);
		count(what, ret > 0);
	} else {
		at = BASE + ((at - BASE) & (PAGES(NR_KEPT - 32) - 1));
		ret = pf_userfault_writeprotect(t.mm, at, PAGES(32), true);
		EXPECT(w, !ret);
		count(what, !ret);
	}
}

/* One that has not yet had its successes, most of the time. */
static enum mutator choose(struct worker *w)
{
	enum mutator what = random_below(&w->random, NR_MUTATORS);

	for (int i = 0; i < 40 && atomic64_read(&succeeded[what]) >= ENOUGH;
	     i++)
		what = random_below(&w->random, NR_MUTATORS);
	return what;
}

static void mutate(struct worker *w)
{
	const u64 page = random_below(&w->random, NR_LOOSE);
	const u64 nr = 1 + random_below(&w->random,
					min(NR_LOOSE - page, (u64)300));
	const pf_addr_t loose = LOOSE + PAGES(page);
	const pf_addr_t at = random_chance(&w->random, 50) ? loose :
							     BASE + PAGES(page);
	const enum mutator what = choose(w);

	switch (what) {
	case FORK_EXIT:
	case CHILD_STORE:
		fork_and_exit(w);
		break;
	case STORE_SHARED:
		store_shared(w);
		break;
	case PROTECT_READ:
		protect(w, at, nr, PINFOLD_PROT_READ, what);
		break;
	case PROTECT_NONE:
		protect(w, at, nr, 0, what);
		break;
	case DISCARD:
		count(what, !pf_madvise(t.mm, loose, PAGES(nr),
					PINFOLD_MADV_DONTNEED));
		break;
	case MOVE:
		move(w, page, nr);
		break;
	case UNMAP_MAP:
		unmap_map(w, loose, nr);
		break;
	case COLLAPSE:
	case SCAN:
		collapse(w, at, what == SCAN);
		break;
	case SPLIT_MAPPING:
		split_mapping(at);
		break;
	case SPLIT_FOLIO:
		split_folio(w, at, nr);
		break;
	case POPULATE:
		populate(w, at, nr);
		break;
	default:
		mark(w, what, at, nr);
		break;
	}
	atomic64_add(1, &changes);
}

/* ---- threads ---------------------------------------------------------- */

/*
 * Now and then a walk waits where somebody may get in between, until somebody
 * has, or for a while: some exits need a meeting of a few instructions.
 */
static void linger(void *arg, enum race_point point)
{
	struct worker *w = arg;
	u64 seen;

	/* Before it is held a folio may become another: that is the rarest. */
	if (!random_chance(&w->random, point == RACE_FAST_GUESSED ? 4 : 1))
		return;
	seen = atomic64_read(&changes);
	for (int i = 0; i < 20 && (u64)atomic64_read(&changes) == seen; i++)
		sched_yield();
}

static void publish_exits(struct worker *w)
{
	for (int i = 0; i < NR_GUP_EXITS; i++)
		WRITE_ONCE(w->exits[i], gup_exits[i]);
}

static u64 times_left(int exit)
{
	u64 times = 0;

	for (int i = 0; i < NR_WORKERS; i++)
		times += READ_ONCE(workers[i].exits[exit]);
	return times;
}

static bool missing(void)
{
	for (int i = 0; i < NR_COUNTED; i++)
		if (atomic64_read(&succeeded[i]) < ENOUGH)
			return true;
	for (int i = GUP_FAST_ABSENT; i < NR_GUP_EXITS; i++)
		if (ALL_EXITS && !times_left(i) && !out_of_reach[i])
			return true;
	return false;
}

static bool enough(void)
{
	u64 now = clock_ns() - began;

	return now > least + LIMIT || (now > least && !missing());
}

static void run_worker(void *arg)
{
	struct worker *w = arg;

	memset(gup_exits, 0, sizeof(gup_exits));
	race_hook_arg = w;
	race_hook = linger;
	while (!READ_ONCE(stop)) {
		for (int i = 0; i < 16; i++)
			random_chance(&w->random, w->id < 2 ? 20 : 70) ?
				mutate(w) : use(w);
		publish_exits(w);
		if (w->wrong || (!w->id && enough()))
			WRITE_ONCE(stop, true);
	}
	race_hook = NULL;
	publish_exits(w);
}

static void print_all(void)
{
	for (int i = 0; i < NR_COUNTED; i++)
		fprintf(stderr, "%-24s %8lld%s\n", mutator_names[i],
			(long long)atomic64_read(&succeeded[i]),
			atomic64_read(&succeeded[i]) < ENOUGH ? " TOO FEW" : "");
	for (int i = GUP_FAST_ABSENT; i < NR_GUP_EXITS; i++)
		fprintf(stderr, "exit %-22s %8llu %s\n", gup_exit_names[i],
			(unsigned long long)times_left(i),
			out_of_reach[i] ?: times_left(i) ? "" : "NEVER");
	fprintf(stderr, "exits F3, F9: device memory and secretmem are not here\n");
}

static void begin_windows(void)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64), .cma_bytes = MIB(8),
		.thp_always = BIT(2) | BIT(4) | BIT(HPAGE_PMD_ORDER) });
	map_at(&t, BASE, NR_KEPT, RW);
	assert_int_equal(pf_userfault_register(t.mm, BASE, PAGES(NR_KEPT),
					       on_fault, NULL), 0);
	map_at(&t, LOOSE, NR_LOOSE, RW);
	/* A word that nobody changes: a page of zeroes would not be kept. */
	for (u64 i = 0; i < NR_KEPT; i++)
		write_word(&t, BASE + PAGES(i) + 8 * NR_WORKERS, i + 1);
}

static void check_fixed_words(void)
{
	for (u64 i = 0; i < NR_KEPT; i++)
		assert_int_equal(read_word(&t, BASE + PAGES(i) +
					       8 * NR_WORKERS), i + 1);
}

static void test_all_at_once(void **state)
{
	const char *set = getenv("PINFOLD_STRESS_SECONDS");
	struct machine *m;
	struct random seed;

	(void)state;
	random_init(&seed);
	least = (set ? strtod(set, NULL) : 2) * SECOND;
	begin_windows();
	began = clock_ns();
	m = machine_of(t.machine);
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		struct worker *w = &workers[i];

		w->random.state = random_next(&seed);
		w->id = i;
		assert_int_equal(backend_thread_create(&w->thread, run_worker,
						       w), 0);
	}
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		backend_thread_join(workers[i].thread);
	fprintf(stderr, "%.1f s\n", (double)(clock_ns() - began) / SECOND);
	print_all();
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		assert_int_equal(workers[i].wrong, 0);
		assert_true(workers[i].checked > 0);
	}
	assert_false(missing());
	check_fixed_words();
	assert_valid(&t);
	assert_int_equal(nr_foll_pin_acquired(m), nr_foll_pin_released(m));
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
