/* SPDX-License-Identifier: MIT */
/*
 * Claim: whoever fills guest memory, faults it in and punches it at the same
 * time, no page is ever found with part of its bytes, nothing that was written
 * is lost to a fault, and no frame that a hole has taken away is entered in the
 * guest's tables.
 *
 * Source: semantics/filemap.md 6.2 (K1, K5, K20, K21, K22), G8; [gmem-invalidate]
 */
#include "tests/guest_memfd_test.h"
#include "tests/random.h"

#include "host/clock.h"

#include <pthread.h>

#define SPAN	256u		/* pages that are fought for */
#define FEW	3u		/* fiercely */

static bool stop;
static unsigned int max_order;

/* The guest's tables: a frame with its reference, or NULL. */
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *tables[SPAN];

struct worker {
	pthread_t thread;
	void (*work)(struct worker *w);
	struct random rnd;
	unsigned long done;
	char bytes[PAGES(64)];
};

/* A page of one seed whole, or zero. */
static u64 check_whole(const u64 *words, pgoff_t index)
{
	u64 seed = words[0] ^ word_of(index, 0);

	if (page_is_zero(words))
		return 0;
	BUG_ON(!page_is(words, index, seed));
	return seed;
}

/* Fills random ranges, each time with another seed. */
static void fill(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN);
	pgoff_t nr = 1 + random_below(&w->rnd, min(SPAN - start, 64UL));
	u64 seed = random_below(&w->rnd, 1UL << 40) + 1;
	int64_t done;

	for (pgoff_t i = 0; i < nr; i++)
		make_page(w->bytes + PAGES(i), start + i, seed);
	done = guest_memfd_populate(gmem, PAGES(start), w->bytes, PAGES(nr));
	BUG_ON(done < 0 && done != -EEXIST);
	w->done += done > 0;
}

static void allocate(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN);
	pgoff_t nr = 1 + random_below(&w->rnd, SPAN - start);

	BUG_ON(guest_memfd_allocate(gmem, PAGES(start), PAGES(nr)));
	w->done++;
}

/* Enters a frame as a guest's fault does, and looks at its bytes. */
static void fault(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);
	unsigned int seq = guest_memfd_invalidate_seq(gmem);
	struct page *page = gmem_page(index);

	check_whole(page_address(page), index);
	pthread_mutex_lock(&tables_lock);
	if (!tables[index] && !guest_memfd_invalidate_retry(gmem, seq)) {
		tables[index] = page;
		page = NULL;
		w->done++;
	}
	pthread_mutex_unlock(&tables_lock);
	if (page)
		put_page(page);
}

/*
 * A hole, out of the object and then out of the tables.  What stays in the
 * tables is what the object has: with single pages, the very frames.
 */
static void punch(struct worker *w)
{
	pgoff_t start = random_below(&w->rnd, SPAN);
	pgoff_t nr = 1 + random_below(&w->rnd, SPAN - start);

	BUG_ON(guest_memfd_punch(gmem, PAGES(start), PAGES(nr)));
	pthread_mutex_lock(&tables_lock);
	for (pgoff_t i = start; i < start + nr; i++) {
		if (tables[i])
			put_page(tables[i]);
		tables[i] = NULL;
	}
	for (pgoff_t i = 0; i < SPAN; i++) {
		struct folio *folio = tables[i] ?
			filemap_get_folio(&gmem->mapping, i) : NULL;

		if (!folio)
			continue;
		BUG_ON(IS_ERR(folio) || folio_page(folio, i - folio->index) !=
		       tables[i]);
		folio_put(folio);
	}
	pthread_mutex_unlock(&tables_lock);
	w->done++;
}

static void look(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, SPAN);

	BUG_ON(guest_memfd_read(gmem, PAGES(index), w->bytes, PAGE_SIZE) !=
	       PAGE_SIZE);
	/* A hole may have come in between where the page stays in place. */
	if (!max_order)
		check_whole((u64 *)w->bytes, index);
	w->done++;
}

static void *run(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	struct worker *w = arg;

	while (!READ_ONCE(stop))
		w->work(w);
	machine_leave(previous);
	return NULL;
}

static void run_all(void (*const *works)(struct worker *), unsigned int nr,
		    unsigned int ms)
{
	static struct worker workers[8];
	u64 end = clock_ns() + (u64)ms * 1000000;
	struct random rnd;

	random_init(&rnd);
	WRITE_ONCE(stop, false);
	for (unsigned int i = 0; i < nr; i++) {
		workers[i].work = works[i];
		workers[i].rnd.state = rnd.state + i;
		workers[i].done = 0;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, run,
						&workers[i]), 0);
	}
	while (clock_ns() < end)
		sched_yield();
	WRITE_ONCE(stop, true);
	for (unsigned int i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_true(workers[i].done > 0);
	}
}

static void test_fm_G8(void **state)
{
	static void (*const works[])(struct worker *) = {
		fault, punch, fill, fault, look, allocate,
	};

	(void)state;
	/* One page at a time goes, and its frame with it. */
	max_order = 0;
	gmem_begin(SPAN, 0);
	run_all(works, ARRAY_SIZE(works), 800);
	for (pgoff_t i = 0; i < SPAN; i++)
		if (tables[i])
			put_page(tables[i]);
	memset(tables, 0, sizeof(tables));
	gmem_end();
}

/* Large folios, split and zeroed by holes while they are filled and read. */
static void test_large(void **state)
{
	static void (*const works[])(struct worker *) = {
		fill, fill, punch, allocate, look,
	};

	(void)state;
	max_order = 5;
	gmem_begin(SPAN, 5);
	run_all(works, ARRAY_SIZE(works), 800);
	gmem_end();
}

/*
 * Whoever fills a page and is told that it is done has it: the fault that came
 * first would have been told apart by -EEXIST.
 */
static void only_fill(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, FEW);
	u64 seed = random_below(&w->rnd, 1UL << 40) + 1;
	int64_t ret;

	make_page(w->bytes, index, seed);
	ret = guest_memfd_write(gmem, PAGES(index), w->bytes, PAGE_SIZE);
	BUG_ON(ret != PAGE_SIZE && ret != -ENOSPC);
	if (ret < 0)
		return;
	/* Nobody but us punches it: a page in our residue class. */
	BUG_ON(guest_memfd_read(gmem, PAGES(index), w->bytes, PAGE_SIZE) !=
	       PAGE_SIZE);
	BUG_ON(!page_is(w->bytes, index, seed));
	BUG_ON(guest_memfd_punch(gmem, PAGES(index), PAGE_SIZE));
	w->done++;
}

static void allocate_few(struct worker *w)
{
	BUG_ON(guest_memfd_allocate(gmem, 0, PAGES(FEW)));
	w->done++;
}

/* Is it empty, and still there? */
static bool is_empty(struct folio *folio)
{
	bool empty;

	folio_lock(folio);
	empty = folio->mapping && folio_test_uptodate(folio) &&
		page_is_zero(page_address(&folio->page));
	folio_unlock(folio);
	return empty;
}

/* A page that a fault has prepared is the guest's: nobody fills it. */
static void only_fault(struct worker *w)
{
	struct page *page = gmem_page(random_below(&w->rnd, FEW));
	struct folio *folio = page_folio(page);

	if (is_empty(folio)) {
		sched_yield();
		folio_lock(folio);
		BUG_ON(folio->mapping && !page_is_zero(page_address(page)));
		folio_unlock(folio);
	}
	put_page(page);
	w->done++;
}

static void empty_pages(struct worker *w)
{
	pgoff_t index = random_below(&w->rnd, FEW);
	struct folio *folio = filemap_get_folio(&gmem->mapping, index);

	w->done++;
	if (IS_ERR(folio))
		return;
	/*
	 * Zero ones, that a fault has made, and that nobody else takes away; who
	 * has filled one does it himself.
	 */
	if (is_empty(folio))
		BUG_ON(guest_memfd_punch(gmem, PAGES(index), PAGE_SIZE));
	folio_put(folio);
}

static void test_fm_K21(void **state)
{
	static void (*const works[])(struct worker *) = {
		only_fill, only_fault, only_fault, allocate_few, empty_pages,
	};

	(void)state;
	max_order = 0;
	gmem_begin(SPAN, 0);
	run_all(works, ARRAY_SIZE(works), 800);
	gmem_end();
}

/* Threads fill stripes of their own, and find nothing in their way. */
static char stripes[PAGES(1024)];

static void *fill_stripe(void *arg)
{
	struct machine *previous = machine_enter(the_machine());
	const pgoff_t first = (pgoff_t)(uintptr_t)arg * 256;

	for (pgoff_t i = first; i < first + 256; i += 64)
		BUG_ON(guest_memfd_populate(gmem, PAGES(i), stripes + PAGES(i),
					    PAGES(64)) != (int64_t)PAGES(64));
	machine_leave(previous);
	return NULL;
}

static void test_stripes(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (pgoff_t i = 0; i < 1024; i++)
		make_page(stripes + PAGES(i), i, 77);
	for (unsigned int round = 0; round < 10; round++) {
		gmem_begin(1024, round % 3 * 3);
		for (uintptr_t n = 0; n < 4; n++)
			assert_int_equal(pthread_create(&threads[n], NULL,
							fill_stripe,
							(void *)n), 0);
		for (unsigned int n = 0; n < 4; n++)
			pthread_join(threads[n], NULL);
		for (pgoff_t i = 0; i < 1024; i++)
			assert_page(i, 77);
		gmem_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fm_G8),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_fm_K21),
		cmocka_unit_test(test_stripes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
