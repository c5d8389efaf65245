/* SPDX-License-Identifier: MIT */
/*
 * Claim: while other threads unmap, protect, discard, move, split, collapse,
 * track and populate,
 * what a lockless walk gives is a page that was mapped at its address at some
 * moment of the call and that nobody frees while it is held; nobody else's page
 * ever keeps a count of a walk that came too late; and when all have let go,
 * every count is exact.
 *
 * Bytes are the check: each page of the window holds its own number, whenever
 * somebody wrote it, and zero otherwise, so a page of another address, a page
 * table or a freed frame (poisoned) that a walk gave away shows.  A store
 * through a write pin shows at the address as long as the page is still there.
 *
 * Which exits were taken is printed; those that need no luck are demanded.
 *
 * Source: mm/gup.c:gup_fast_pte_range(); [gup-recheck] in docs/ordering.md
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"
#include "host/exits.h"
#include "mm/hugetlb.h"

#include <errno.h>
#include <sched.h>

#define MILLISECONDS	1000000ull
#define NR_WALKERS	2
#define NR_MUTATORS	2
#define NR		(4 * 512ul)	/* pages of the window */
#define MOST		600

struct worker {
	struct pf_mm *mm;
	struct random random;
	u64 until;
	int wrong;
	const char *what;
	u64 pages;			/* got */
	u64 exits[NR_GUP_EXITS];
	struct page *got[MOST];
	struct backend_thread *thread;
};

static u64 stamp_of(pf_addr_t at)
{
	return at ^ 0x5a5a000000000000ull;
}

static void fault(struct worker *w, const char *what)
{
	w->wrong = 1;
	w->what = what;
}

static u64 some_page(struct worker *w)
{
	static const u64 aligns[] = { 1, 4, 16, 512 };

	return ALIGN_DOWN(random_below(&w->random, NR),
			  aligns[random_below(&w->random, 4)]);
}

static u64 some_length(struct worker *w, u64 page)
{
	u64 most = random_chance(&w->random, 25) ? MOST : 24;

	return min(1 + random_below(&w->random, most), NR - page);
}

/* ---- walkers ---------------------------------------------------------------- */

/*
 * What is in the page's first word: nothing, or the stamp of the address it was
 * mapped at.  Pages move 512 pages up or down at a time, so the address may be
 * another of these.
 */
static bool stamp_fits(u64 word, pf_addr_t at)
{
	u64 from = word ^ stamp_of(0);

	return !word || ((from ^ at) & (PMD_SIZE - 1)) == 0;
}

static void check_bytes(struct worker *w, pf_addr_t at, long nr, bool write)
{
	for (long i = 0; i < nr; i++) {
		u64 *bytes = page_address(w->got[i]);
		pf_addr_t address = at + i * PAGE_SIZE;

		/* Somebody may be storing just now: whole words. */
		if (!stamp_fits(READ_ONCE(bytes[0]), address))
			fault(w, "a page of another address, or none");
		if (write)
			WRITE_ONCE(bytes[0], stamp_of(address));
	}
}

static void check_counts(struct worker *w, long nr, bool pins, bool longterm)
{
	for (long i = 0; i < nr; i++) {
		struct folio *folio = page_folio(w->got[i]);

		if (folio_ref_count(folio) <= 0 ||
		    test_bit(PG_table, &folio->flags) ||
		    (pins && !is_zero_folio(folio) &&
		     !folio_maybe_dma_pinned(folio)))
			fault(w, "not held");
		/* inv_O3 */
		if (longterm && !folio_is_longterm_pinnable(folio))
			fault(w, "pinned for long where it may not be");
	}
}

static void walk(struct worker *w)
{
	const u64 page = some_page(w), nr = some_length(w, page);
	const bool write = random_chance(&w->random, 50);
	const bool pins = random_chance(&w->random, 75);
	const bool only = !pins && random_chance(&w->random, 50);
	unsigned int flags = write ? FOLL_WRITE : 0;
	const pf_addr_t at = BASE + PAGES(page);
	struct pf_page **got = (struct pf_page **)w->got;
	long ret;

	if (pins && random_chance(&w->random, 30))
		flags |= FOLL_LONGTERM;
	ret = pins ? pf_pin_user_pages_fast(w->mm, at, nr, flags, got) :
	      only ? pf_get_user_pages_fast_only(w->mm, at, nr, flags, got) :
		     pf_get_user_pages_fast(w->mm, at, nr, flags, got);
	if (ret < 0 && ret != -EFAULT && ret != -ENOMEM)
		fault(w, "an undocumented error");
	if (ret > (long)nr)
		fault(w, "more than was asked for");
	if (ret <= 0)
		return;
	check_counts(w, ret, pins, flags & FOLL_LONGTERM);
	/* Who only has a reference may meet the zero page. */
	check_bytes(w, at, ret, write && pins);
	w->pages += ret;
	if (pins)
		pf_unpin_user_pages(got, ret);
	for (long i = 0; i < ret && !pins; i++)
		pf_put_page(got[i]);
}

/* Stored through a pin, loaded at the address, if nobody was in between. */
static void write_through(struct worker *w)
{
	const pf_addr_t at = BASE + PAGES(some_page(w));
	struct pf_page **got = (struct pf_page **)w->got;
	u64 word = 0, *bytes;

	if (pf_pin_user_pages_fast(w->mm, at, 1, FOLL_WRITE, got) != 1)
		return;
	bytes = page_address(w->got[0]);
	WRITE_ONCE(bytes[0], stamp_of(at));
	if (pf_read(w->mm, at, &word, sizeof(word)) == sizeof(word) &&
	    pf_get_user_pages_fast_only(w->mm, at, 1, 0, got + 1) == 1) {
		/* Still that page: it was there all the time, or came back. */
		if (w->got[1] == w->got[0] && word && !stamp_fits(word, at))
			fault(w, "the mapping shows another page");
		pf_put_page(got[1]);
	}
	pf_unpin_user_page(got[0]);
}

static void walker(void *arg)
{
	struct worker *w = arg;

	memset(gup_exits, 0, sizeof(gup_exits));
	while (!w->wrong && clock_ns() < w->until)
		for (int i = 0; i < 32 && !w->wrong; i++)
			random_chance(&w->random, 85) ? walk(w) :
							write_through(w);
	memcpy(w->exits, gup_exits, sizeof(w->exits));
}

/* ---- mutators --------------------------------------------------------------- */

static void stamp_pages(struct worker *w, u64 page, u64 nr)
{
	for (u64 i = 0; i < nr; i++) {
		u64 word = stamp_of(BASE + PAGES(page + i));

		(void)!pf_write(w->mm, BASE + PAGES(page + i), &word,
				sizeof(word));
	}
}

static void mutate(struct worker *w)
{
	static const int prots[] = { RW, RW, PINFOLD_PROT_READ, 0 };
	const u64 page = some_page(w), nr = some_length(w, page);
	const pf_addr_t at = BASE + PAGES(page), end = BASE + PAGES(NR);
	const int move = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED |
			 (nr & 1 ? PINFOLD_MREMAP_DONTUNMAP : 0);
	pf_addr_t place, to;

	switch (random_below(&w->random, 18)) {
	case 12:
	case 13:
	case 14:
		place = ALIGN_DOWN(at, PMD_SIZE);
		stamp_pages(w, (place - BASE) / PAGE_SIZE, 512);
		(void)!pf_madvise(w->mm, place, PMD_SIZE, PINFOLD_MADV_COLLAPSE);
		break;
	case 15:
		(void)!pf_split(w->mm, at, PAGES(nr), nr & 1 ? 0 : 2);
		break;
	case 16:
		(void)!pf_clear_soft_dirty(w->mm);
		break;
	case 17:
		(void)!pf_numa_hint(w->mm, at, PAGES(nr));
		break;
	case 0:
	case 1:
		(void)!pf_munmap(w->mm, at, PAGES(nr));
		(void)!pf_mmap(w->mm, at, PAGES(nr), RW, PINFOLD_MAP_FIXED,
			       &place);
		break;
	case 2:
	case 3:
		(void)!pf_mprotect(w->mm, at, PAGES(nr),
				   prots[random_below(&w->random, 4)]);
		(void)!pf_mprotect(w->mm, at, PAGES(nr), RW);
		break;
	case 4:
	case 5:
		(void)!pf_madvise(w->mm, at, PAGES(nr), PINFOLD_MADV_DONTNEED);
		break;
	case 6:
		/* By 512 pages, so that stamps fit. */
		to = at + PMD_SIZE + PAGES(nr) <= end ? at + PMD_SIZE :
							at - PMD_SIZE;
		if (to >= BASE && nr <= 512)
			(void)!pf_mremap(w->mm, at, PAGES(nr), PAGES(nr), move,
					 to, &place);
		(void)!pf_mmap(w->mm, at, PAGES(nr), RW, PINFOLD_MAP_FIXED,
			       &place);
		break;
	case 7:
		/* A hole in a huge page splits it. */
		(void)!pf_madvise(w->mm, at, PAGE_SIZE, PINFOLD_MADV_DONTNEED);
		break;
	case 8:
		(void)!pf_madvise(w->mm, at, PAGES(nr),
				  nr & 1 ? PINFOLD_MADV_HUGEPAGE :
					   PINFOLD_MADV_NOHUGEPAGE);
		break;
	case 9:
		(void)!pf_madvise(w->mm, at, PAGES(nr), nr & 1 ?
				  PINFOLD_MADV_POPULATE_WRITE :
				  PINFOLD_MADV_POPULATE_READ);
		break;
	default:
		stamp_pages(w, page, min(nr, (u64)32));
		break;
	}
}

static void mutator(void *arg)
{
	struct worker *w = arg;

	while (!w->wrong && clock_ns() < w->until)
		mutate(w);
}

/* A sequence that says "fork" again and again; nothing else of one happens. */
static void forker(void *arg)
{
	struct worker *w = arg;
	struct mm_struct *mm = mm_of(w->mm);

	while (clock_ns() < w->until) {
		mmap_write_lock(mm);
		raw_write_seqcount_begin(&mm->write_protect_seq);
		/* Long enough to be met, now and then. */
		for (u64 i = random_below(&w->random, 40); i > 30; i--)
			sched_yield();
		raw_write_seqcount_end(&mm->write_protect_seq);
		mmap_write_unlock(mm);
		for (u64 i = random_below(&w->random, 2000); i; i--)
			cpu_relax();
	}
}

/* ---- running ---------------------------------------------------------------- */

static u64 exits[NR_GUP_EXITS];

static void add_up(struct worker *w, u64 *pages)
{
	if (w->what)
		fail_msg("%s", w->what);
	*pages += w->pages;
	for (int i = 0; i < NR_GUP_EXITS; i++)
		exits[i] += w->exits[i];
}

static void run(struct pf_mm *mm, void (*second)(void *),
		void (*third)(void *), u64 milliseconds)
{
	static struct worker workers[NR_WALKERS + NR_MUTATORS + 1];
	const unsigned int nr = NR_WALKERS + NR_MUTATORS + (third != NULL);
	struct random seed;
	u64 pages = 0;

	memset(workers, 0, sizeof(workers));
	memset(exits, 0, sizeof(exits));
	random_init(&seed);
	for (unsigned int i = 0; i < nr; i++) {
		struct worker *w = &workers[i];

		w->mm = mm;
		w->random.state = random_next(&seed);
		w->until = clock_ns() + milliseconds * MILLISECONDS;
		assert_int_equal(backend_thread_create(&w->thread,
				i < NR_WALKERS ? walker :
				i < NR_WALKERS + NR_MUTATORS ? second : third,
				w), 0);
	}
	for (unsigned int i = 0; i < nr; i++) {
		backend_thread_join(workers[i].thread);
		add_up(&workers[i], &pages);
	}
	assert_true(pages > 0);
	for (int i = 0; i < NR_GUP_EXITS; i++)
		fprintf(stderr, "  %-20s %lu\n", gup_exit_names[i],
			(unsigned long)exits[i]);
}

static void begin(struct mm_test *t, struct pf_machine_options options)
{
	mm_test_begin(t, options);
	map_at(t, BASE, NR, RW);
}

static void finish(struct mm_test *t)
{
	struct machine *m = machine_of(t->machine);

	assert_valid(t);
	assert_int_equal(nr_foll_pin_acquired(m), nr_foll_pin_released(m));
	mm_test_end(t);
}

static void folios_of_all_sizes(void **state)
{
	struct mm_test t;

	(void)state;
	begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64),
		.thp_always = BIT(2) | BIT(4),
		.thp_madvise = BIT(HPAGE_PMD_ORDER),
	});
	run(t.mm, mutator, NULL, 900);
	assert_true(exits[GUP_FAST_F2] && exits[GUP_FAST_ABSENT]);
	finish(&t);
}

/* So little memory that a frame soon is something else: a table, a tail. */
static void frames_come_back(void **state)
{
	struct mm_test t;

	(void)state;
	begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8),
		.cma_bytes = MIB(4),
		.nr_cpus = 1,
		.thp_always = BIT(3),
		.thp_madvise = BIT(HPAGE_PMD_ORDER),
	});
	run(t.mm, mutator, NULL, 600);
	assert_true(exits[GUP_FAST_F5_LONGTERM] > 0);
	finish(&t);
}

/* A pool of huge pages, fewer than the two areas have places. */
static void huge_mutator(void *arg)
{
	struct worker *w = arg;
	const int flags = PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED;

	while (clock_ns() < w->until) {
		const pf_addr_t at = BASE + PMD_SIZE *
				     random_below(&w->random, 4);
		pf_addr_t place;

		switch (random_below(&w->random, 5)) {
		case 0:
			(void)!pf_munmap(w->mm, at, PMD_SIZE);
			break;
		case 1:
			(void)!pf_mmap(w->mm, at, PMD_SIZE, RW, flags, &place);
			break;
		case 2:
			(void)!pf_mprotect(w->mm, at, PMD_SIZE,
					   PINFOLD_PROT_READ);
			(void)!pf_mprotect(w->mm, at, PMD_SIZE, RW);
			break;
		case 3:
			(void)!pf_madvise(w->mm, at, PMD_SIZE,
					  PINFOLD_MADV_DONTNEED);
			break;
		default:
			(void)!pf_madvise(w->mm, at, PMD_SIZE,
					  PINFOLD_MADV_POPULATE_WRITE);
			break;
		}
	}
}

static void huge_pages(void **state)
{
	struct mm_test t;
	struct hstate *h;
	pf_addr_t place;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_2m_pages = 5,
	});
	assert_int_equal(pf_mmap(t.mm, BASE, 4 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	run(t.mm, huge_mutator, NULL, 400);
	assert_int_equal(pf_munmap(t.mm, BASE, 4 * PMD_SIZE), 0);
	h = &machine_of(t.machine)->hstates[HSTATE_2M];
	assert_int_equal(h->free_huge_pages, 5);
	assert_int_equal(h->resv_huge_pages, 0);
	finish(&t);
}

static void a_fork_meanwhile(void **state)
{
	struct mm_test t;

	(void)state;
	begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64), .thp_always = BIT(4),
	});
	run(t.mm, mutator, forker, 500);
	assert_true(exits[GUP_FAST_FORKING] > 0);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folios_of_all_sizes),
		cmocka_unit_test(frames_come_back),
		cmocka_unit_test(huge_pages),
		cmocka_unit_test(a_fork_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
