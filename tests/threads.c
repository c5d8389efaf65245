/* SPDX-License-Identifier: MIT */
/*
 * Claim: any thread may call anything at any time: with threads mapping,
 * unmapping, protecting, moving, discarding, populating, writing and pinning in
 * one address space, a page that stays mapped shows its pin what was written;
 * each call gives one of its documented answers; and when all have let go, all
 * counts are exact and no frame is missing.  Waits for mmap_lock end at a fatal
 * signal, and only at one.
 *
 * Source: include/pinfold/pinfold.h, "Rules for callers"
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <errno.h>
#include <sched.h>

#define NR_THREADS	4
#define MILLISECONDS	1000000ull

/*
 * Pages move from the lower half of the window to the upper one, never back: so
 * a page that is twice found at one address was there all the time.
 */
#define NR		(6 * 512)
#define HALF		(NR / 2)
#define NR_KEPT		6
#define MOST		600

struct kept {
	long nr;
	bool pin;
	struct pf_page *pages[MOST];
};

struct worker {
	struct mm_test *t;
	struct pf_mm *mm;
	struct random random;
	unsigned int id;
	u64 until;		/* clock_ns() */
	u64 stamp;
	u64 checked;		/* writes that were compared with a pin */
	int wrong;		/* an answer that is not documented */
	struct kept kept[NR_KEPT];
	struct backend_thread *thread;
};

static u64 random_page(struct worker *w)
{
	static const u64 aligns[] = { 1, 1, 4, 16, 512 };

	return ALIGN_DOWN(random_below(&w->random, NR),
			  aligns[random_below(&w->random, 5)]);
}

static u64 random_pages(struct worker *w, u64 from, u64 end)
{
	u64 most = random_chance(&w->random, 20) ? 512 : 24;

	return min(1 + random_below(&w->random, most), end - from);
}

/* Among the answers of @call?  A list that ends with 0. */
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

static void op_mmap(struct worker *w)
{
	static const int prots[] = { RW, RW, RW, PINFOLD_PROT_READ };
	u64 page = random_page(w), nr = random_pages(w, page, NR);
	int flags = PINFOLD_MAP_FIXED;
	pf_addr_t place;

	if (random_chance(&w->random, 20))
		flags |= PINFOLD_MAP_POPULATE;
	EXPECT(w, pf_mmap(w->mm, BASE + PAGES(page), PAGES(nr),
			  prots[random_below(&w->random, 4)], flags, &place),
	       -ENOMEM);
}

static void op_munmap(struct worker *w)
{
	u64 page = random_page(w), nr = random_pages(w, page, NR);

	if (random_chance(&w->random, 30))
		EXPECT(w, pf_munmap(w->mm, BASE + PAGES(page), PAGES(nr)),
		       -ENOMEM);
}

static void op_mprotect(struct worker *w)
{
	static const int prots[] = { RW, RW, PINFOLD_PROT_READ, 0 };
	u64 page = random_page(w), nr = random_pages(w, page, NR);

	EXPECT(w, pf_mprotect(w->mm, BASE + PAGES(page), PAGES(nr),
			      prots[random_below(&w->random, 4)]), -ENOMEM);
}

static void op_mremap(struct worker *w)
{
	u64 from = random_page(w) % HALF, nr = random_pages(w, from, HALF);
	u64 to = HALF + random_page(w) % HALF;
	int flags = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED;
	pf_addr_t place;

	nr = min(nr, NR - to);
	if (random_chance(&w->random, 40))
		flags |= PINFOLD_MREMAP_DONTUNMAP;
	EXPECT(w, pf_mremap(w->mm, BASE + PAGES(from), PAGES(nr), PAGES(nr),
			    flags, BASE + PAGES(to), &place),
	       -ENOMEM, -EFAULT);
}

static void op_madvise(struct worker *w)
{
	static const int advices[] = {
		PINFOLD_MADV_DONTNEED, PINFOLD_MADV_DONTNEED,
		PINFOLD_MADV_POPULATE_READ, PINFOLD_MADV_POPULATE_WRITE,
		PINFOLD_MADV_POPULATE_WRITE, PINFOLD_MADV_HUGEPAGE,
		PINFOLD_MADV_NOHUGEPAGE,
	};
	u64 page = random_page(w), nr = random_pages(w, page, NR);

	EXPECT(w, pf_madvise(w->mm, BASE + PAGES(page), PAGES(nr),
			     advices[random_below(&w->random, 7)]),
	       -ENOMEM, -EINVAL);
}

static void op_read(struct worker *w)
{
	u64 page = random_page(w), word;

	EXPECT(w, pf_read(w->mm, BASE + PAGES(page) + 8 * w->id, &word, 8),
	       -EFAULT, -ENOMEM);
}

static void release(struct kept *k)
{
	if (k->nr && k->pin)
		pf_unpin_user_pages_dirty_lock(k->pages, k->nr, k->nr & 1);
	for (long i = 0; i < k->nr && !k->pin; i++)
		pf_put_page(k->pages[i]);
	k->nr = 0;
}

static void op_hold(struct worker *w)
{
	struct kept *k = &w->kept[random_below(&w->random, NR_KEPT)];
	u64 page = random_page(w), nr = random_pages(w, page, NR);
	unsigned int flags = 0;

	release(k);
	if (random_chance(&w->random, 50))
		flags |= PINFOLD_FOLL_WRITE;
	if (random_chance(&w->random, 10))
		flags |= PINFOLD_FOLL_SPLIT_PMD;
	k->pin = random_chance(&w->random, 80);
	if (k->pin && random_chance(&w->random, 50))
		flags |= PINFOLD_FOLL_LONGTERM;
	k->nr = k->pin ?
		pf_pin_user_pages_unlocked(w->mm, BASE + PAGES(page), nr,
					   k->pages, flags) :
		pf_get_user_pages_unlocked(w->mm, BASE + PAGES(page), nr,
					   k->pages, flags);
	EXPECT(w, k->nr, -EFAULT, -ENOMEM);
	k->nr = max(k->nr, 0);
}

static long pin_one(struct worker *w, pf_addr_t at, struct pf_page **page)
{
	long ret = pf_pin_user_pages_unlocked(w->mm, at, 1, page,
					      PINFOLD_FOLL_WRITE);

	EXPECT(w, ret, -EFAULT, -ENOMEM);
	return ret;
}

/* Each thread has a word of its own in each page. */
static void op_write(struct worker *w)
{
	pf_addr_t at = BASE + PAGES(random_page(w));
	struct pf_page *before, *after = NULL;
	u64 word = ++w->stamp;
	int64_t written;
	void *bytes;

	if (pin_one(w, at, &before) != 1)
		return;
	written = pf_write(w->mm, at + 8 * w->id, &word, sizeof(word));
	EXPECT(w, written, -EFAULT, -ENOMEM);
	if (pin_one(w, at, &after) == 1 && after == before &&
	    written == sizeof(word)) {
		w->checked++;
		if (pf_page_address(before, &bytes) ||
		    ((u64 *)bytes)[w->id] != word)
			w->wrong = 1;
	}
	pf_unpin_user_page(before);
	if (after)
		pf_unpin_user_page(after);
}

static void (*const operations[])(struct worker *) = {
	op_mmap, op_mmap, op_munmap, op_mprotect, op_mprotect, op_mremap,
	op_madvise, op_madvise, op_read, op_hold, op_hold, op_hold,
	op_write, op_write, op_write, op_write,
};

static void work(void *arg)
{
	struct worker *w = arg;

	while (!w->wrong && clock_ns() < w->until)
		for (int i = 0; i < 16; i++)
			operations[random_below(&w->random,
					ARRAY_SIZE(operations))](w);
	for (unsigned int i = 0; i < NR_KEPT; i++)
		release(&w->kept[i]);
}

static void run_workers(struct mm_test *t, struct worker *workers,
			unsigned int nr, u64 milliseconds)
{
	struct random seed;
	u64 checked = 0;

	random_init(&seed);
	for (unsigned int i = 0; i < nr; i++) {
		struct worker *w = &workers[i];

		w->t = t;
		w->random.state = random_next(&seed);
		w->id = i;
		w->until = clock_ns() + milliseconds * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w->thread, work, w), 0);
	}
	for (unsigned int i = 0; i < nr; i++) {
		backend_thread_join(workers[i].thread);
		assert_int_equal(workers[i].wrong, 0);
		checked += workers[i].checked;
	}
	assert_true(checked > 0);
	assert_valid(t);
	assert_int_equal(nr_foll_pin_acquired(machine_of(t->machine)),
			 nr_foll_pin_released(machine_of(t->machine)));
	assert_true(nr_foll_pin_acquired(machine_of(t->machine)) > 0);
}

static void test_one_mm(void **state)
{
	static struct worker workers[NR_THREADS];
	struct mm_test t;

	(void)state;
	memset(workers, 0, sizeof(workers));
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64),
		.thp_always = BIT(2) | BIT(4),
		.thp_madvise = BIT(HPAGE_PMD_ORDER),
	});
	map_at(&t, BASE, NR, RW);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		workers[i].mm = t.mm;
	run_workers(&t, workers, NR_THREADS, 1400);
	mm_test_end(&t);
}

/* An address space for each, and memory for half of what they want. */
static void test_short_of_memory(void **state)
{
	static struct worker workers[NR_THREADS];
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	memset(workers, 0, sizeof(workers));
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16),
		.nr_cpus = 2,
		.thp_always = BIT(3) | BIT(HPAGE_PMD_ORDER),
	});
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pf_mm_create(t.machine, &workers[i].mm), 0);
		assert_int_equal(pf_mmap(workers[i].mm, BASE, PAGES(NR), RW,
					 PINFOLD_MAP_FIXED, &place), 0);
	}
	run_workers(&t, workers, NR_THREADS, 500);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pf_mm_destroy(workers[i].mm);
	mm_test_end(&t);
}

/* ---- the first touch -------------------------------------------------- */

/*
 * Two threads meet at a place without tables, and each stores its own word: no
 * store may be lost with the page, huge page or table of who was slower.
 */
#define NR_ROUNDS	300
#define NR_RACERS	2

struct race {
	struct mm_test *t;
	atomic_t arrived;
	atomic_t wrong;
};

struct racer {
	struct race *race;
	unsigned int id;
	struct backend_thread *thread;
};

static pf_addr_t round_at(int round)
{
	return BASE + round * PUD_SIZE;
}

static void meet(struct race *race, int times)
{
	atomic_add_return(1, &race->arrived);
	for (unsigned int i = 0; atomic_read(&race->arrived) <
				 NR_RACERS * times; i++)
		if (i % 256 == 255)
			sched_yield();
}

static void check_round(struct race *race, int round)
{
	u64 words[NR_RACERS] = { 0 };
	struct pf_mm *mm = race->t->mm;

	if (pf_read(mm, round_at(round), words, sizeof(words)) !=
	    sizeof(words) ||
	    pf_madvise(mm, round_at(round), PMD_SIZE, PINFOLD_MADV_DONTNEED))
		atomic_inc(&race->wrong);
	for (u64 i = 0; i < NR_RACERS; i++)
		if (words[i] != i + 1)
			atomic_inc(&race->wrong);
}

static void run_race(void *arg)
{
	struct racer *r = arg;
	struct race *race = r->race;

	for (int round = 0; round < NR_ROUNDS; round++) {
		u64 word = r->id + 1;

		meet(race, 2 * round + 1);
		/* every third time a zero page is there first */
		if (round % 3 == 0 &&
		    pf_read(race->t->mm, round_at(round), &word, 8) != 8)
			atomic_inc(&race->wrong);
		word = r->id + 1;
		if (pf_write(race->t->mm, round_at(round) + 8 * r->id, &word,
			     8) != 8)
			atomic_inc(&race->wrong);
		meet(race, 2 * round + 2);
		if (!r->id)
			check_round(race, round);
	}
}

static void test_first_touch(void **state)
{
	struct racer racers[NR_RACERS];
	struct mm_test t;
	struct race race = { .t = &t };

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.thp_madvise = BIT(HPAGE_PMD_ORDER) });
	for (int i = 0; i < NR_ROUNDS; i++) {
		map_at(&t, round_at(i), HPAGE_PMD_NR, RW);
		if (i % 2)
			assert_int_equal(pf_madvise(t.mm, round_at(i), PMD_SIZE,
						    PINFOLD_MADV_HUGEPAGE), 0);
	}
	for (unsigned int i = 0; i < NR_RACERS; i++) {
		racers[i] = (struct racer){ .race = &race, .id = i };
		assert_int_equal(backend_thread_create(&racers[i].thread,
						       run_race, &racers[i]),
				 0);
	}
	for (unsigned int i = 0; i < NR_RACERS; i++)
		backend_thread_join(racers[i].thread);
	assert_int_equal(atomic_read(&race.wrong), 0);
	assert_valid(&t);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 0);
	mm_test_end(&t);
}

/* ---- killed while waiting for mmap_lock ------------------------------- */

enum wait_for {
	WAIT_PIN, WAIT_GET, WAIT_READ, WAIT_MMAP, WAIT_MUNMAP, WAIT_MPROTECT,
	WAIT_MREMAP, WAIT_MADVISE, WAIT_POPULATE, NR_WAITS
};

struct victim {
	struct mm_test *t;
	enum wait_for what;
	struct pf_task *task;	/* set before it waits */
	long ret;
	bool done;
	struct backend_thread *thread;
};

static long wait_in_call(struct victim *v)
{
	struct pf_page *pages[4];
	pf_addr_t place;
	u64 word;

	switch (v->what) {
	case WAIT_PIN:
		return pf_pin_user_pages_unlocked(v->t->mm, BASE, 4, pages, 0);
	case WAIT_GET:
		return pf_get_user_pages_unlocked(v->t->mm, BASE, 4, pages, 0);
	case WAIT_READ:
		return pf_read(v->t->mm, BASE, &word, sizeof(word));
	case WAIT_MMAP:
		return pf_mmap(v->t->mm, 0, PAGE_SIZE, RW, 0, &place);
	case WAIT_MUNMAP:
		return pf_munmap(v->t->mm, BASE, PAGE_SIZE);
	case WAIT_MPROTECT:
		return pf_mprotect(v->t->mm, BASE, PAGE_SIZE, 0);
	case WAIT_MREMAP:
		return pf_mremap(v->t->mm, BASE, PAGE_SIZE, PAGES(9),
				 PINFOLD_MREMAP_MAYMOVE, 0, &place);
	case WAIT_MADVISE:
		return pf_madvise(v->t->mm, BASE, PAGE_SIZE,
				  PINFOLD_MADV_HUGEPAGE);
	default:
		return pf_madvise(v->t->mm, BASE, PAGE_SIZE,
				  PINFOLD_MADV_POPULATE_READ);
	}
}

static void be_victim(void *arg)
{
	struct victim *v = arg;

	smp_store_release(&v->task, pf_task_self());
	v->ret = wait_in_call(v);
	BUG_ON(v->ret < 0 && error_note.err != v->ret);
	smp_store_release(&v->done, true);
	/* The task is valid until here: whoever signals has done so. */
}

static void linger(void)
{
	u64 until = clock_ns() + 5 * MILLISECONDS;

	while (clock_ns() < until)
		sched_yield();
}

static void test_killed(void **state)
{
	struct mm_test t;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	map_at(&t, BASE, 4, RW);
	for (int what = 0; what < NR_WAITS; what++) {
		struct victim v = { .t = &t, .what = what };
		struct mm_struct *mm = mm_of(t.mm);

		mmap_write_lock(mm);
		assert_int_equal(backend_thread_create(&v.thread, be_victim,
						       &v), 0);
		while (!smp_load_acquire(&v.task) ||
		       !READ_ONCE(mm->mmap_lock.wait.nr_waiters))
			sched_yield();
		pf_task_signal(v.task, false);
		linger();
		assert_false(smp_load_acquire(&v.done));
		pf_task_signal(v.task, true);
		backend_thread_join(v.thread);
		/* -EAGAIN, as in Linux, where the lock is taken at first */
		assert_int_equal(v.ret, what <= WAIT_READ ? -EAGAIN : -EINTR);
		mmap_write_unlock(mm);
		assert_int_equal(mm->map_count, 1);
	}
	/* who was killed is not in the way of others */
	write_word(&t, BASE, 1);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_mm),
		cmocka_unit_test(test_short_of_memory),
		cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
