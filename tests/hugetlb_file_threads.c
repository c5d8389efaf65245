/* SPDX-License-Identifier: MIT */
/*
 * Claim: while threads store to a file of huge pages, drop, punch, cut, allocate
 * and pin it, and fork, each place reads what was stored there, or zero, and never
 * what another place had; and when all have let go, the pool is whole.
 *
 * Source: fs/hugetlbfs/inode.c, mm/hugetlb.c:hugetlb_fault()
 */
#include "tests/hugetlb_file_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#define NR_WORKERS	4
#define NR_PLACES	4
#define NR_POOL		9
#define MILLISECONDS	1000000ull
#define OWN		H(8)	/* the private area; the shared one is at H(0) */

/* Threads that look at what others store are a race: there are no bytes then. */
#ifdef __SANITIZE_THREAD__
#define METADATA_ONLY	true
#else
#define METADATA_ONLY	false
#endif

struct worker {
	struct random random;
	struct pf_file *file;
	u64 until;		/* clock_ns() */
	u64 done;
	int wrong;		/* the line that found it */
	struct backend_thread *thread;
};

#define EXPECT(w, cond) do {						\
	if (!(cond) && !(w)->wrong)					\
		(w)->wrong = __LINE__;					\
} while (0)

/* Where there are no bytes, what a fault does is all there is to see. */
static bool only_touched(struct worker *w, struct pf_mm *mm, pf_addr_t at,
			 bool write)
{
	int err;

	if (!METADATA_ONLY)
		return false;
	err = pf_madvise(mm, at, HUGE, write ? PINFOLD_MADV_POPULATE_WRITE :
					       PINFOLD_MADV_POPULATE_READ);
	EXPECT(w, !err || err == -EFAULT);
	return true;
}

/* A word that tells its place. */
static u64 word_of(struct worker *w, u64 place)
{
	return (place + 1) << 32 | random_below(&w->random, 1000);
}

static bool fits(u64 word, u64 place)
{
	return !word || word >> 32 == place + 1;
}

static void store(struct worker *w, pf_addr_t area, u64 place)
{
	u64 word = word_of(w, place);
	int64_t ret;

	if (only_touched(w, t.mm, area + place * HUGE, true))
		return;
	ret = pf_write(t.mm, area + place * HUGE, &word, sizeof(word));
	EXPECT(w, ret == sizeof(word) || ret == -EFAULT);
}

static void look(struct worker *w, struct pf_mm *mm, pf_addr_t area, u64 place)
{
	u64 word = 0;
	int64_t ret;

	if (only_touched(w, mm, area + place * HUGE, false))
		return;
	ret = pf_read(mm, area + place * HUGE, &word, sizeof(word));
	EXPECT(w, ret == sizeof(word) || ret == -EFAULT);
	EXPECT(w, fits(word, place));
}

static void pin(struct worker *w, u64 place)
{
	struct pf_page *page;
	u64 offset;
	long nr = pf_memfd_pin_folios(w->file, (int64_t)(place * HUGE),
				      (int64_t)(place * HUGE), &page, 1,
				      &offset);

	EXPECT(w, nr == 1 || nr == -ENOMEM || nr == -EINVAL);
	if (nr != 1)
		return;
	if (!METADATA_ONLY)
		EXPECT(w, fits(READ_ONCE(*(u64 *)page_address(page_of(page))),
			       place));
	pf_unpin_user_pages(&page, 1);
}

static void fork_and_look(struct worker *w, u64 place)
{
	struct pf_mm *child;
	int err = pf_mm_fork(t.mm, &child);

	EXPECT(w, !err || err == -ENOMEM);
	if (err)
		return;
	look(w, child, H(0), place);
	look(w, child, OWN, place);
	pf_mm_destroy(child);
}

static void cut(struct worker *w, u64 places)
{
	EXPECT(w, !pf_file_truncate(w->file, places * HUGE));
	EXPECT(w, !pf_file_truncate(w->file, NR_PLACES * HUGE));
}

static void one_step(struct worker *w)
{
	const u64 place = random_below(&w->random, NR_PLACES);
	pf_addr_t area = random_chance(&w->random, 60) ? H(0) : OWN;
	int err = 0;

	switch (random_below(&w->random, 12)) {
	case 0:
		err = punch_bytes(w->file, place * HUGE, HUGE);
		break;
	case 1:
		err = punch_bytes(w->file, place * HUGE, PAGE_SIZE);
		break;
	case 2:
		cut(w, place);
		break;
	case 3:
		err = pf_file_allocate(w->file, PINFOLD_FALLOC_KEEP_SIZE,
				       (int64_t)(place * HUGE), (int64_t)HUGE);
		EXPECT(w, !err || err == -ENOSPC);
		err = 0;
		break;
	case 4:
		pin(w, place);
		break;
	case 5:
		err = pf_madvise(t.mm, area + place * HUGE, HUGE,
				 PINFOLD_MADV_DONTNEED);
		break;
	case 6:
		fork_and_look(w, place);
		break;
	case 7:
	case 8:
		look(w, t.mm, area, place);
		break;
	default:
		store(w, area, place);
	}
	EXPECT(w, !err);
	w->done++;
}

static void work(void *arg)
{
	struct worker *w = arg;
	struct machine *previous = machine_enter(machine_of(t.machine));

	while (clock_ns() < w->until && !w->wrong)
		one_step(w);
	machine_leave(previous);
}

static void all_at_once(void **state)
{
	static struct worker workers[NR_WORKERS];
	struct pf_file *file;
	struct random r;
	u64 until;

	(void)state;
	random_init(&r);
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8), .hugetlb_2m_pages = NR_POOL,
		.metadata_only = METADATA_ONLY,
	});
	file = huge_file(NR_PLACES);
	map_file(H(0), file, 0, NR_PLACES, RW, SHARED);
	map_file(OWN, file, 0, NR_PLACES, RW, PRIVATE);
	until = clock_ns() + 400 * MILLISECONDS;
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		workers[i] = (struct worker){ .file = file, .until = until };
		workers[i].random.state = r.state + i;
		assert_int_equal(backend_thread_create(&workers[i].thread, work,
						       &workers[i]), 0);
	}
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		backend_thread_join(workers[i].thread);
		assert_int_equal(workers[i].wrong, 0);
		assert_true(workers[i].done > 0);
	}
	test_done(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
