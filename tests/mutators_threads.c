/* SPDX-License-Identifier: MIT */
/*
 * Claim: while threads collapse, split, clear soft-dirty, mark for NUMA hints,
 * write-protect and change protection in one address space, no store is lost: a
 * pin shows what was stored since it was taken, by mapping or by another pin,
 * and each thread finds in its words what it stored last, whoever copied the
 * page meanwhile.  When all have let go, all counts are exact.
 *
 * Source: semantics/gup.md 10 (X1, X5, X14, X15, X16, X20), inv_O5; cases.md D1
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <errno.h>
#include <sched.h>

#define NR		(3 * 512)	/* pages that all work on */
#define NR_USERS	2
#define NR_MUTATORS	2
#define NR_KEPT		8
#define MILLISECONDS	1000000ull

static struct mm_test t;

struct worker {
	struct random random;
	unsigned int id;
	u64 until;
	u64 done;
	long wrong;		/* an answer or a word that cannot be */
	bool discards;		/* pages may go: words are not compared */
	u64 words[NR];		/* what it stored last */
	struct pf_page *kept[NR_KEPT];
	u64 kept_page[NR_KEPT];
	struct backend_thread *thread;
};

/* What was done, not refused: on a busy host they go on until there is some. */
static atomic64_t collapsed, split;

static bool goes_on(const struct worker *w)
{
	u64 now = clock_ns();
	bool enough = atomic64_read(&collapsed) > 1 && atomic64_read(&split) > 1;

	return !w->wrong && now < w->until + (enough ? 0 : 5000) * MILLISECONDS;
}

static pf_addr_t place_of(struct worker *w, u64 page)
{
	return BASE + PAGES(page) + 8 * w->id;
}

/* Among the answers of the call?  A list that ends with 0. */
static void expect(struct worker *w, long ret, const int *answers)
{
	if (ret >= 0)
		return;
	for (; *answers; answers++)
		if (ret == *answers)
			return;
	w->wrong = ret;
}

#define EXPECT(w, ret, ...) \
	expect((w), (ret), (const int[]){ __VA_ARGS__, 0 })

/* ---- who uses the pages ---------------------------------------------- */

static u64 *pinned_word(struct worker *w, struct pf_page *page)
{
	void *bytes;

	if (pf_page_address(page, &bytes))
		w->wrong = 1;
	return (u64 *)bytes + w->id;
}

static void check_word(struct worker *w, u64 page, u64 word)
{
	w->done++;
	if (word != w->words[page] && !w->discards)
		w->wrong = 2;
}

static void use_store(struct worker *w, u64 page)
{
	u64 word = w->words[page] + 1;
	int64_t ret = pf_write(t.mm, place_of(w, page), &word, sizeof(word));

	EXPECT(w, ret, -EFAULT, -ENOMEM);
	if (ret == sizeof(word))
		w->words[page] = word;
}

static void use_load(struct worker *w, u64 page)
{
	u64 word;
	int64_t ret = pf_read(t.mm, place_of(w, page), &word, sizeof(word));

	EXPECT(w, ret, -EFAULT, -ENOMEM);
	if (ret == sizeof(word))
		check_word(w, page, word);
}

/* A device writes: the mapping shows it, as long as the pin is held. */
static void use_pin_store(struct worker *w, u64 page)
{
	struct pf_page *pin;
	long ret = random_chance(&w->random, 50) ?
		pf_pin_user_pages_fast(t.mm, BASE + PAGES(page), 1,
				       PINFOLD_FOLL_WRITE, &pin) :
		pf_pin_user_pages_unlocked(t.mm, BASE + PAGES(page), 1, &pin,
					   PINFOLD_FOLL_WRITE |
					   PINFOLD_FOLL_LONGTERM);

	EXPECT(w, ret, -EFAULT, -ENOMEM);
	if (ret != 1)
		return;
	check_word(w, page, *pinned_word(w, pin));
	*pinned_word(w, pin) = ++w->words[page];
	use_load(w, page);
	use_store(w, page);
	check_word(w, page, *pinned_word(w, pin));
	pf_unpin_user_pages_dirty_lock(&pin, 1, true);
}

/* Pins that are kept for a while, for reading: what is stored shows up. */
static void use_keep(struct worker *w, u64 page)
{
	unsigned int i = random_below(&w->random, NR_KEPT);
	long ret;

	/* In one table: the others are there to be collapsed. */
	page %= 512;

	if (w->kept[i]) {
		check_word(w, w->kept_page[i], *pinned_word(w, w->kept[i]));
		pf_unpin_user_page(w->kept[i]);
		w->kept[i] = NULL;
		return;
	}
	ret = pf_pin_user_pages_unlocked(t.mm, BASE + PAGES(page), 1,
					 &w->kept[i], random_chance(&w->random,
					 50) ? PINFOLD_FOLL_LONGTERM :
					 PINFOLD_FOLL_WRITE);
	EXPECT(w, ret, -EFAULT, -ENOMEM);
	if (ret != 1)
		w->kept[i] = NULL;
	w->kept_page[i] = page;
}

static void use_many(struct worker *w, u64 page)
{
	static __thread struct pf_page *pages[200];
	u64 nr = 1 + random_below(&w->random, min(NR - page, (u64)200));
	long ret = pf_get_user_pages_unlocked(t.mm, BASE + PAGES(page), nr,
					      pages,
					      random_chance(&w->random, 50));

	EXPECT(w, ret, -EFAULT, -ENOMEM);
	for (long i = 0; i < ret; i++)
		pf_put_page(pages[i]);
}

static void (*const uses[])(struct worker *, u64) = {
	use_store, use_store, use_load, use_pin_store, use_pin_store, use_keep,
	use_keep, use_many,
};

static void run_user(void *arg)
{
	struct worker *w = arg;

	while (goes_on(w))
		uses[random_below(&w->random, ARRAY_SIZE(uses))](w,
			random_below(&w->random, NR));
	for (unsigned int i = 0; i < NR_KEPT; i++)
		if (w->kept[i])
			pf_unpin_user_page(w->kept[i]);
}

/* ---- who changes the entries ----------------------------------------- */

static void on_fault(void *arg, pf_addr_t address)
{
	(void)arg;
	BUG_ON(pf_userfault_writeprotect(t.mm, address, PAGE_SIZE, false));
}

static void end_protection(struct worker *w)
{
	EXPECT(w, pf_userfault_writeprotect(t.mm, BASE, PAGES(NR), false),
	       w->discards ? -ENOENT : 0);
}

static void mutate(struct worker *w)
{
	static const unsigned int orders[] = { 0, 0, 2, 4, 6 };
	u64 page = random_below(&w->random, NR);
	u64 nr = 1 + random_below(&w->random, min(NR - page, (u64)600));
	pf_addr_t at = BASE + PAGES(page);
	int64_t ret;

	switch (random_below(&w->random, w->discards ? 10 : 9)) {
	case 0:
	case 1:
		at = ALIGN_DOWN(at, PMD_SIZE);
		end_protection(w);
		ret = page & 1 ? pf_madvise(t.mm, BASE, PAGES(NR),
					    PINFOLD_MADV_COLLAPSE) :
				 pf_madvise(t.mm, at, PMD_SIZE,
					    PINFOLD_MADV_COLLAPSE);
		EXPECT(w, ret, -EAGAIN, -EINVAL, -ENOMEM, -EBUSY);
		break;
	case 2:
		end_protection(w);
		/* A few times: it needs a moment without a reference. */
		for (int i = 0; i < 6; i++) {
			ret = pf_machine_collapse_scan(t.machine, NULL);
			EXPECT(w, ret, 0);
			atomic64_add(ret, &collapsed);
		}
		break;
	case 3:
	case 4:
		ret = pf_split(t.mm, at, PAGES(nr),
			       orders[random_below(&w->random, 5)]);
		EXPECT(w, ret, -EAGAIN);
		atomic64_add(max(ret, (int64_t)0), &split);
		break;
	case 5:
		EXPECT(w, pf_clear_soft_dirty(t.mm), 0);
		break;
	case 6:
		EXPECT(w, pf_numa_hint(t.mm, at, PAGES(nr)), 0);
		break;
	case 7:
		EXPECT(w, pf_mprotect(t.mm, at, PAGES(nr), PINFOLD_PROT_READ),
		       -ENOMEM);
		EXPECT(w, pf_mprotect(t.mm, BASE, PAGES(NR), RW), -ENOMEM);
		break;
	case 8:
		nr = min(nr, (u64)32);
		EXPECT(w, pf_userfault_writeprotect(t.mm, at, PAGES(nr), true),
		       w->discards ? -ENOENT : 0);
		break;
	default:
		EXPECT(w, pf_madvise(t.mm, at, PAGES(nr),
				     PINFOLD_MADV_DONTNEED), 0);
		break;
	}
	w->done++;
}

static void run_mutator(void *arg)
{
	struct worker *w = arg;

	while (goes_on(w))
		mutate(w);
}

static void run_all(unsigned long thp_always, bool discards, u64 milliseconds)
{
	static struct worker workers[NR_USERS + NR_MUTATORS];
	struct random seed;

	random_init(&seed);
	memset(workers, 0, sizeof(workers));
	atomic64_set(&collapsed, 0);
	atomic64_set(&split, 0);
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(48), .thp_always = thp_always });
	map_at(&t, BASE, NR, RW);
	/* Where a handler is armed, empty places are not collapsed. */
	if (!discards)
		assert_int_equal(pf_userfault_register(t.mm, BASE, PAGES(NR),
						       on_fault, NULL), 0);
	assert_int_equal(pf_madvise(t.mm, BASE, PAGES(NR),
				    PINFOLD_MADV_POPULATE_WRITE), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(workers); i++) {
		struct worker *w = &workers[i];

		w->random.state = random_next(&seed);
		w->id = i;
		w->discards = discards;
		w->until = clock_ns() + milliseconds * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w->thread,
				 i < NR_USERS ? run_user : run_mutator, w), 0);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(workers); i++) {
		backend_thread_join(workers[i].thread);
		assert_int_equal(workers[i].wrong, 0);
		assert_true(workers[i].done > 0);
	}
	assert_true(atomic64_read(&collapsed) > 1);
	assert_true(atomic64_read(&split) > 1);
	assert_valid(&t);
	assert_int_equal(nr_foll_pin_acquired(machine_of(t.machine)),
			 nr_foll_pin_released(machine_of(t.machine)));
	mm_test_end(&t);
}

static void test_nothing_lost(void **state)
{
	(void)state;
	run_all(BIT(HPAGE_PMD_ORDER), false, 900);
	run_all(BIT(4) | BIT(HPAGE_PMD_ORDER), false, 500);
}

static void test_with_discards(void **state)
{
	(void)state;
	run_all(BIT(4) | BIT(HPAGE_PMD_ORDER), true, 500);
}

/* ---- address spaces come and go under the scan ----------------------- */

static void come_and_go(void *arg)
{
	struct worker *w = arg;

	while (clock_ns() < w->until) {
		struct pf_mm *mm;
		pf_addr_t place;
		u64 word = 1;

		BUG_ON(pf_mm_create(t.machine, &mm));
		BUG_ON(pf_mmap(mm, BASE, PMD_SIZE, RW, PINFOLD_MAP_FIXED,
			       &place));
		for (u64 i = 0; i < 8; i++)
			BUG_ON(pf_write(mm, BASE + PAGES(60 * i), &word, 8) !=
			       8);
		/* Only now, so that there is something to collapse. */
		BUG_ON(pf_madvise(mm, BASE, PMD_SIZE, PINFOLD_MADV_HUGEPAGE));
		for (u64 i = random_below(&w->random, 60); i; i--)
			sched_yield();
		pf_mm_destroy(mm);
		w->done++;
	}
}

static void test_scan_and_destroy(void **state)
{
	struct worker w[2] = { { .id = 0 }, { .id = 1 } };
	int64_t made = 0;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(32),
		.thp_madvise = BIT(HPAGE_PMD_ORDER) });
	for (unsigned int i = 0; i < 2; i++) {
		w[i].until = clock_ns() + 300 * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w[i].thread,
						       come_and_go, &w[i]), 0);
	}
	while (clock_ns() < w[0].until) {
		int64_t ret = pf_machine_collapse_scan(t.machine, NULL);

		assert_true(ret >= 0);
		made += ret;
	}
	for (unsigned int i = 0; i < 2; i++) {
		backend_thread_join(w[i].thread);
		assert_true(w[i].done > 0);
	}
	assert_true(made > 0);
	assert_valid(&t);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_lost),
		cmocka_unit_test(test_with_discards),
		cmocka_unit_test(test_scan_and_destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
