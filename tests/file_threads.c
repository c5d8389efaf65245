/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever threads do to one file at once, nothing that was punched out or
 * cut off comes back, nothing is mapped that the file does not have, every call
 * ends, and in the end each page, reference and pin is accounted for.
 *
 * Source: cases.md H11, H13, H14
 */
#include "tests/file_test.h"
#include "tests/random.h"

#include "mm/truncate.h"

#include <pthread.h>

#define NR_PAGES	48u
#define SECONDS		(getenv("PINFOLD_STRESS_SECONDS") ?		\
			 strtod(getenv("PINFOLD_STRESS_SECONDS"), NULL) : 1.0)

static struct mm_test t;
static struct pf_file *file;
static u32 stop;		/* (A) */

static void begin(void)
{
	mm_test_begin(&t, (struct pf_machine_options){ .memory_bytes = MIB(32) });
	stop = 0;
}

static void end(void)
{
	assert_valid(&t);
	pf_file_close(file);
	mm_test_end(&t);
}

static bool stopped(void)
{
	return READ_ONCE(stop);
}

/* ---- holes under readers ----------------------------------------------- */

static void *read_third(void *arg)
{
	u64 *rounds = arg, word;

	while (!stopped()) {
		(void)!pf_read(t.mm, BASE + PAGES(3), &word, sizeof(word));
		++*rounds;
	}
	return NULL;
}

/* The cache drops what it has of the page, and reads it from the host again. */
static void arm(int fd)
{
	struct machine *previous = machine_enter(machine_of(t.machine));
	u64 word = 'A';

	assert_int_equal(pwrite(fd, &word, sizeof(word), (off_t)PAGES(3)),
			 sizeof(word));
	while (invalidate_inode_pages2_range(file_of(file)->f_mapping, 3, 3))
		continue;
	machine_leave(previous);
}

static void case_H11(void **state)
{
	u64 rounds = 0, word;
	pthread_t reader;
	int fd;

	(void)state;
	begin();
	fd = host_file(PAGES(8));
	assert_int_equal(pf_file_open(t.machine, fd, true, &file), 0);
	map_file(&t, BASE, 8, RW, SHARED, file, 0);
	assert_int_equal(pthread_create(&reader, NULL, read_third, &rounds), 0);
	for (int i = 0; i < 2000; i++) {
		arm(fd);
		punch(file, 3, 1);
		assert_int_equal(pf_file_read(file, &word, sizeof(word),
					      (int64_t)PAGES(3)), 8);
		assert_int_equal(word, 0);
		assert_int_equal(read_word(&t, BASE + PAGES(3)), 0);
	}
	WRITE_ONCE(stop, 1);
	pthread_join(reader, NULL);
	assert_true(rounds > 0);
	close(fd);
	end();
}

static void *write_hole(void *arg)
{
	u64 *rounds = arg;

	while (!stopped()) {
		for (u64 i = 0; i < 8; i++)
			(void)!pf_write(t.mm, BASE + PAGES(i), rounds, 8);
		++*rounds;
	}
	return NULL;
}

/* Punching ends, however fast the hole is filled again. */
static void case_H13(void **state)
{
	pthread_t writers[2];
	u64 rounds[2] = { 0 };

	(void)state;
	begin();
	file = memory_file(&t, 8, 0);
	map_file(&t, BASE, 8, RW, SHARED, file, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_hole,
						&rounds[i]), 0);
	for (int i = 0; i < 500; i++)
		punch(file, 1, 6);
	WRITE_ONCE(stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	end();
}

/* ---- everything at once -------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct random rnd;
	struct pf_mm *mm;
	u64 done[8];
};

static pf_addr_t somewhere(struct worker *w)
{
	/* Two areas: shared below, private above. */
	return BASE + PAGES(random_below(&w->rnd, 2) * 64 +
			    random_below(&w->rnd, NR_PAGES));
}

static void touch(struct worker *w)
{
	u64 word = w->rnd.state;
	pf_addr_t at = somewhere(w);

	if (random_chance(&w->rnd, 50))
		(void)!pf_write(w->mm, at, &word, sizeof(word));
	else
		(void)!pf_read(w->mm, at, &word, sizeof(word));
}

static void pin_some(struct worker *w)
{
	unsigned int flags = random_chance(&w->rnd, 50) ?
			     PINFOLD_FOLL_WRITE | PINFOLD_FOLL_LONGTERM : 0;
	struct pf_page *pages[4];
	long got = pf_pin_user_pages_fast(w->mm, somewhere(w), 4, flags, pages);

	if (got <= 0)
		return;
	touch(w);
	pf_unpin_user_pages_dirty_lock(pages, (unsigned long)got,
				       flags & PINFOLD_FOLL_WRITE);
}

static void pin_folios(struct worker *w)
{
	struct pf_page *pages[8];
	u64 offset;
	long got = pf_memfd_pin_folios(file, (int64_t)PAGES(random_below(
				       &w->rnd, 8)),
				       (int64_t)PAGES(12) - 1, pages, 8,
				       &offset);

	if (got > 0)
		pf_unpin_user_pages(pages, (unsigned long)got);
}

static void hole(struct worker *w)
{
	u64 first = random_below(&w->rnd, NR_PAGES);

	(void)!pf_file_allocate(file, PINFOLD_FALLOC_KEEP_SIZE |
				PINFOLD_FALLOC_PUNCH_HOLE,
				(int64_t)PAGES(first) - (first ? 100 : 0),
				(int64_t)PAGES(1 + random_below(&w->rnd, 9)));
}

static void resize(struct worker *w)
{
	(void)!pf_file_truncate(file, PAGES(random_below(&w->rnd,
							 NR_PAGES + 1)));
	(void)!pf_file_truncate(file, PAGES(NR_PAGES));
}

static void breed(struct worker *w)
{
	struct pf_mm *child;
	u64 word;

	if (pf_mm_fork(w->mm, &child))
		return;
	(void)!pf_read(child, somewhere(w), &word, sizeof(word));
	pf_mm_destroy(child);
}

static void move(struct worker *w)
{
	pf_addr_t from = BASE + PAGES(8), to = BASE + PAGES(1024), at;

	/* There and back; others find nothing there meanwhile. */
	if (!pf_mremap(w->mm, from, PAGES(4), PAGES(4),
		       PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED, to, &at))
		(void)!pf_mremap(w->mm, to, PAGES(4), PAGES(4),
				 PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED,
				 from, &at);
}

static void drop(struct worker *w)
{
	(void)!pf_madvise(w->mm, BASE + PAGES(random_below(&w->rnd, 40)),
			  PAGES(8), PINFOLD_MADV_DONTNEED);
}

static void (*const acts[8])(struct worker *w) = {
	touch, pin_some, pin_folios, hole, resize, breed, move, drop,
};

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!stopped()) {
		/* Mostly what is done all the time. */
		unsigned int act = random_chance(&w->rnd, 60) ? 0 :
				   (unsigned int)random_below(&w->rnd, 8);

		acts[act](w);
		w->done[act]++;
	}
	return NULL;
}

static void map_both(struct pf_mm *mm)
{
	pf_addr_t at;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pf_mmap_file(mm, BASE + PAGES(64 * (u64)i),
					      PAGES(NR_PAGES), RW,
					      PINFOLD_MAP_FIXED |
					      (i ? PRIVATE : SHARED), file, 0,
					      &at), 0);
}

/* What an area of the file maps, the file has there. */
static void check_mapped(struct pf_mm *mm)
{
	struct mm_test other = { .mm = mm };

	for (u64 i = 0; i < NR_PAGES; i++) {
		struct page *page = page_mapped_at(&other, BASE + PAGES(i));
		struct folio *folio = folio_at(file, i);

		if (page)
			assert_ptr_equal(page_folio(page), folio);
	}
}

static void storm(unsigned int order)
{
	struct worker workers[3];
	struct random seed;
	struct pf_mm *other;

	begin();
	random_init(&seed);
	file = memory_file(&t, NR_PAGES, order);
	assert_int_equal(pf_mm_create(t.machine, &other), 0);
	map_both(t.mm);
	map_both(other);
	for (int i = 0; i < 3; i++) {
		workers[i] = (struct worker){
			.rnd.state = random_next(&seed),
			.mm = i & 1 ? other : t.mm,
		};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	usleep((useconds_t)(SECONDS * 1e6));
	WRITE_ONCE(stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i].thread, NULL);
	for (int act = 0; act < 8; act++)
		assert_true(workers[0].done[act] + workers[1].done[act] +
			    workers[2].done[act] > 0);
	check_mapped(t.mm);
	check_mapped(other);
	assert_valid(&t);
	pf_mm_destroy(other);
	end();
}

static void storm_of_pages(void **state)
{
	(void)state;
	storm(0);
}

static void storm_of_folios(void **state)
{
	(void)state;
	storm(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_H11),
		cmocka_unit_test(case_H13),
		cmocka_unit_test(storm_of_pages),
		cmocka_unit_test(storm_of_folios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
