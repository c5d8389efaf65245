/* SPDX-License-Identifier: MIT */
/*
 * Claim: a pool keeps what it promised, and gets back exactly what it gave,
 * whatever is mapped, moved, dropped or pinned, and by however many threads.
 *
 * case_L3: the scenario of that name.
 * Source: mm/hugetlb.c
 */
#include "tests/hugetlb_test.h"
#include "tests/random.h"

#include "host/backend.h"

#include <errno.h>
#include <pthread.h>

/* ---- pools ------------------------------------------------------------ */

static void pools_are_made_or_refused(void **state)
{
	struct pf_machine_options o = {
		.size = sizeof(o), .memory_bytes = MIB(4),
		.metadata_only = true,
	};
	struct pf_machine *machine;

	(void)state;
	o.hugetlb_2m_pages = 3;
	o.hugetlb_1g_pages = 2;
	assert_int_equal(pf_machine_create(&o, &machine), 0);
	assert_int_equal(machine_of(machine)->hstates[HSTATE_2M]
			 .free_huge_pages, 3);
	assert_int_equal(machine_of(machine)->hstates[HSTATE_1G]
			 .free_huge_pages, 2);
	/* What is in a pool is neither free memory nor in use. */
	assert_true(nr_free_pages(machine_of(machine)) <= MIB(8) / PAGE_SIZE);
	assert_int_equal(nr_used_pages(machine_of(machine)), 0);
	assert_int_equal(mm_validate(machine_of(machine), NULL), 0);
	assert_int_equal(pf_machine_destroy(machine), 0);

	/* Counts whose bytes or frames wrap around are no small pools. */
	for (unsigned int shift = 16; shift < 64; shift++) {
		o.hugetlb_2m_pages = shift & 1 ? (u64)1 << shift : 0;
		o.hugetlb_1g_pages = shift & 1 ? 0 : (u64)1 << shift;
		if (shift == 16)
			continue;
		assert_int_equal(pf_machine_create(&o, &machine), -EINVAL);
	}
}

static void reservations_promise(void **state)
{
	pf_addr_t place = 0xdead;

	(void)state;
	begin(6);
	map_huge(H(0), 4, RW);
	assert_pool(6, 4);
	/* Two are left that nobody has a right to. */
	assert_int_equal(pf_mmap(t.mm, 0, 3 * HUGE, RW, HUGETLB, &place),
			 -ENOMEM);
	assert_int_equal(place, 0xdead);
	assert_non_null(strstr(pf_error_text(), "2048 KiB"));
	assert_pool(6, 4);
	assert_int_equal(pf_mmap(t.mm, 0, 2 * HUGE, RW, HUGETLB, &place), 0);
	assert_true(IS_ALIGNED(place, HUGE));
	assert_pool(6, 6);
	assert_valid(&t);
	assert_int_equal(pf_munmap(t.mm, place, 2 * HUGE), 0);
	assert_pool(6, 4);
	/* Lengths are whole huge pages. */
	assert_int_equal(pf_mmap(t.mm, 0, HUGE + 1, RW, HUGETLB, &place), 0);
	assert_pool(6, 6);
	end();
}

static void a_fault_takes_its_reservation(void **state)
{
	(void)state;
	begin(5);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1) + 8, 11);
	assert_pool(4, 3);
	assert_int_equal(read_word(&t, H(1) + 8), 11);
	assert_int_equal(read_word(&t, H(1) + HUGE - 8), 0);
	assert_pool(4, 3);
	assert_int_equal(read_word(&t, H(3)), 0);
	assert_pool(3, 2);
	assert_valid(&t);
	assert_int_equal(nr_used_pages(machine_of(t.machine)) -
			 atomic64_read(&mm_of(t.mm)->pgtables),
			 2 * HPAGE_PMD_NR);
	assert_int_equal(atomic64_read(&mm_of(t.mm)->rss_pages), 0);
	assert_int_equal(pf_munmap(t.mm, H(0), 4 * HUGE), 0);
	assert_pool(5, 0);
	end();
}

/* Pages come back zeroed, whoever had them before. */
static void pages_are_zero_again(void **state)
{
	(void)state;
	begin(1);
	for (int i = 0; i < 3; i++) {
		map_huge(H(i), 1, RW);
		for (pf_addr_t at = 0; at < HUGE; at += 65536)
			assert_int_equal(read_word(&t, H(i) + at), 0);
		for (pf_addr_t at = 0; at < HUGE; at += 65536)
			write_word(&t, H(i) + at, at + 1);
		assert_int_equal(pf_munmap(t.mm, H(i), HUGE), 0);
	}
	end();
}

static void parts_are_unmapped(void **state)
{
	(void)state;
	begin(6);
	map_huge(H(0), 6, RW);
	write_word(&t, H(1), 1);
	write_word(&t, H(2), 2);
	write_word(&t, H(5), 5);
	assert_pool(3, 3);
	/* one in use, one not */
	assert_int_equal(pf_munmap(t.mm, H(2), 2 * HUGE), 0);
	assert_pool(4, 2);
	assert_valid(&t);
	assert_int_equal(read_word(&t, H(1)), 1);
	assert_int_equal(read_word(&t, H(5)), 5);
	/* The piece above knows which places it has. */
	write_word(&t, H(4), 4);
	assert_pool(3, 1);
	assert_int_equal(pf_munmap(t.mm, H(4), 2 * HUGE), 0);
	assert_pool(5, 1);
	assert_int_equal(pf_munmap(t.mm, H(0), 2 * HUGE), 0);
	assert_pool(6, 0);
	end();
}

static void moving_takes_reservations_along(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(6);
	map_huge(H(0), 4, RW);
	write_word(&t, H(1), 1);
	write_word(&t, H(2), 2);
	assert_int_equal(pin_pages(H(1), 10, 0), 10);
	/* two from the middle, one of them in use */
	assert_int_equal(pf_mremap(t.mm, H(2), 2 * HUGE, 2 * HUGE, TO, FAR,
				   &place), 0);
	assert_pool(4, 2);
	assert_held(10);
	assert_int_equal(read_word(&t, FAR), 2);
	write_word(&t, FAR + HUGE, 3);
	assert_pool(3, 1);
	/* what stayed has its own still */
	write_word(&t, H(0), 0);
	assert_pool(2, 0);
	assert_int_equal(pf_munmap(t.mm, H(0), 2 * HUGE), 0);
	assert_pool(3, 0);
	unpin_user_pages(pages, 10);
	assert_pool(4, 0);
	assert_int_equal(pf_munmap(t.mm, FAR, HUGE), 0);
	assert_pool(5, 0);
	assert_valid(&t);
	end();
}

/* What the area holds that is in the way is enough for the one that comes. */
static void mapping_over_itself_with_a_full_pool(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(3);
	map_huge(H(0), 3, RW);
	write_word(&t, H(1), 1);
	map_huge(H(0), 3, RW);
	assert_pool(3, 3);
	assert_int_equal(read_word(&t, H(1)), 0);
	assert_valid(&t);
	/* one too many, even so */
	assert_int_equal(pf_mmap(t.mm, H(0), 4 * HUGE, RW,
				 HUGETLB | PINFOLD_MAP_FIXED, &place), -ENOMEM);
	assert_pool(3, 0);
	assert_valid(&t);
	end();
}

/* ---- dropping --------------------------------------------------------- */

static void dropped_pages_bring_reservations_back(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	write_word(&t, H(0), 1);
	write_word(&t, H(1), 2);
	assert_pool(0, 0);
	/* the end is rounded down: nothing is lost by surprise */
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE - PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_int_equal(read_word(&t, H(0)), 1);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE + PAGE_SIZE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_pool(1, 1);
	assert_valid(&t);
	/* nobody can take it meanwhile */
	assert_int_equal(pf_mmap(t.mm, FAR, HUGE, RW, HUGETLB, &place),
			 -ENOMEM);
	assert_int_equal(read_word(&t, H(0)), 0);
	assert_int_equal(read_word(&t, H(1)), 2);
	assert_pool(0, 0);
	end();
}

/* A pin keeps the page; then there is none to keep the promise with. */
static void dropped_pinned_pages_do_not(void **state)
{
	struct folio *old;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	old = folio_at(H(0));
	assert_int_equal(pin_pages(H(0), 3, FOLL_WRITE | FOLL_LONGTERM), 3);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	assert_pool(1, 0);
	assert_held(3);
	assert_int_equal(*(u64 *)page_address(pages[0]), 1);
	/* from what is left over, if there is anything */
	write_word(&t, H(0), 2);
	assert_pool(0, 0);
	assert_ptr_not_equal(folio_at(H(0)), old);
	assert_int_equal(*(u64 *)page_address(pages[0]), 1);
	unpin_user_pages(pages, 3);
	assert_pool(1, 0);
	assert_valid(&t);
	end();
}

static void an_empty_pool_is_a_bus_error(void **state)
{
	struct page *page;
	u64 word = 1;

	(void)state;
	begin(2);
	map_huge(H(0), 1, RW);
	write_word(&t, H(0), 1);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	page = pages[0];
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE, PINFOLD_MADV_DONTNEED),
			 0);
	/* the other one is promised elsewhere */
	map_huge(H(4), 1, RW);
	assert_pool(1, 1);
	assert_int_equal(pf_write(t.mm, H(0), &word, sizeof(word)), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, 0), -EFAULT);
	assert_int_equal(pin_pages(H(0), 1, FOLL_WRITE | FOLL_LONGTERM),
			 -EFAULT);
	assert_int_equal(pf_madvise(t.mm, H(0), HUGE,
				    PINFOLD_MADV_POPULATE_WRITE), -EFAULT);
	assert_pool(1, 1);
	/* once it is back the same call succeeds */
	unpin_user_page(page);
	assert_pool(2, 1);
	assert_int_equal(pin_pages(H(0), 1, 0), 1);
	assert_pool(1, 1);
	write_word(&t, H(4), 1);
	assert_pool(0, 0);
	unpin_user_pages(pages, 1);
	end();
}

/* ---- cases from the field --------------------------------------------- */

static void case_L3(void **state)
{
	pf_addr_t place;

	(void)state;
	begin(4);
	/* MAP_POPULATE is best effort, but a promise of 8 cannot be made. */
	assert_int_equal(pf_mmap(t.mm, H(0), 8 * HUGE, RW, HUGETLB |
				 PINFOLD_MAP_POPULATE, &place), -ENOMEM);
	assert_pool(4, 0);

	/* Four places whose pages are dropped, and kept by pins. */
	map_huge(H(0), 4, RW);
	assert_int_equal(pin_pages(H(0), 4 * HPAGE_PMD_NR, FOLL_WRITE),
			 4 * HPAGE_PMD_NR);
	assert_int_equal(pf_madvise(t.mm, H(0), 4 * HUGE,
				    PINFOLD_MADV_DONTNEED), 0);
	assert_pool(0, 0);
	unpin_user_pages(pages + 2 * HPAGE_PMD_NR, 2 * HPAGE_PMD_NR);
	assert_pool(2, 0);
	/* asked for, prefaulting fails, after what it could get */
	assert_int_equal(pf_madvise(t.mm, H(0), 4 * HUGE,
				    PINFOLD_MADV_POPULATE_WRITE), -EFAULT);
	assert_non_null(folio_at(H(0)));
	assert_non_null(folio_at(H(1)));
	assert_null(folio_at(H(2)));
	assert_pool(0, 0);
	/* as part of a call that goes on, it does not */
	assert_int_equal(mm_populate(mm_of(t.mm), H(0), 4 * HUGE, true), 0);
	assert_int_equal(mm_populate(mm_of(t.mm), H(0), 4 * HUGE, false),
			 -EFAULT);
	/* then the pin is short, and at the hole an error */
	unpin_user_pages(pages, 2 * HPAGE_PMD_NR);
	assert_pool(2, 0);
	map_huge(H(8), 2, RW);
	assert_int_equal(pin_pages(H(0), 4 * HPAGE_PMD_NR, FOLL_WRITE),
			 2 * HPAGE_PMD_NR);
	assert_held(2 * HPAGE_PMD_NR);
	unpin_user_pages(pages, 2 * HPAGE_PMD_NR);
	assert_int_equal(pin_pages(H(2), HPAGE_PMD_NR, FOLL_WRITE), -EFAULT);
	assert_pool(2, 2);
	end();
}

/* ---- several threads -------------------------------------------------- */

#define NR_RACERS	4
#define NR_ROUNDS	60
#define NR_RACED	4

static u32 arrived;

static void meet(u32 *round)
{
	u32 target = ++*round * NR_RACERS;

	word_add(&arrived, 1);
	while (smp_load_acquire(&arrived) < target)
		cpu_relax();
}

/* All write to all places at once, of which the pool has just one page each. */
static void *racer(void *arg)
{
	const u64 me = (uintptr_t)arg;
	u32 round = 0;
	long errors = 0;

	for (unsigned int i = 0; i < NR_ROUNDS; i++) {
		meet(&round);
		for (u64 k = 0; k < NR_RACED; k++) {
			u64 word = i;

			errors += pf_write(t.mm, H(k) + PAGES(me), &word,
					   sizeof(word)) != sizeof(word);
		}
		meet(&round);
		if (!me)
			errors += pf_madvise(t.mm, H(0), NR_RACED * HUGE,
					     PINFOLD_MADV_DONTNEED) != 0;
	}
	return (void *)errors;
}

static void racing_faults_share_one_page(void **state)
{
	pthread_t threads[NR_RACERS];
	void *errors;

	(void)state;
	begin(NR_RACED);
	map_huge(H(0), NR_RACED, RW);
	arrived = 0;
	for (uintptr_t i = 0; i < NR_RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, racer,
						(void *)i), 0);
	for (unsigned int i = 0; i < NR_RACERS; i++) {
		assert_int_equal(pthread_join(threads[i], &errors), 0);
		assert_null(errors);
	}
	assert_pool(NR_RACED, NR_RACED);
	assert_valid(&t);
	end();
}

/* Faults against drops: a place never loses what it was promised. */
static void *dropper(void *arg)
{
	long errors = 0;

	for (unsigned int i = 0; i < 400; i++)
		errors += pf_madvise(t.mm, H(i % 2), HUGE,
				     PINFOLD_MADV_DONTNEED) != 0;
	(void)arg;
	return (void *)errors;
}

static void faults_against_drops(void **state)
{
	pthread_t thread;
	void *errors;
	u64 word = 1;

	(void)state;
	begin(2);
	map_huge(H(0), 2, RW);
	assert_int_equal(pthread_create(&thread, NULL, dropper, NULL), 0);
	for (unsigned int i = 0; i < 400; i++)
		assert_int_equal(pf_write(t.mm, H(i % 2), &word, sizeof(word)),
				 sizeof(word));
	assert_int_equal(pthread_join(thread, &errors), 0);
	assert_null(errors);
	assert_valid(&t);
	end();
}

/* ---- at random -------------------------------------------------------- */

#define NR_PLACES	24
#define NR_POOL		10
#define NR_HELD		40

static struct page *held[NR_HELD];
static unsigned int nr_held;

static void random_pin(struct random *r, pf_addr_t at)
{
	unsigned int flags = random_chance(r, 50) ? FOLL_WRITE : 0;
	long nr = pin_pages(at + PAGES(random_below(r, 512)),
			    1 + random_below(r, 600), flags);

	if (nr <= 0)
		return;
	if (nr_held < NR_HELD) {
		held[nr_held++] = pages[nr - 1];
		nr--;
	}
	unpin_user_pages(pages, nr);
}

static void random_step(struct random *r)
{
	pf_addr_t at = H(random_below(r, NR_PLACES));
	u64 bytes = HUGE * (1 + random_below(r, 4));
	pf_addr_t place;
	int ret = 0;

	switch (random_below(r, 8)) {
	case 0:
		ret = pf_mmap(t.mm, at, bytes, random_chance(r, 80) ? RW :
			      PINFOLD_PROT_READ, HUGETLB | PINFOLD_MAP_FIXED |
			      (random_chance(r, 20) ? PINFOLD_MAP_POPULATE : 0),
			      &place);
		break;
	case 1:
		ret = pf_munmap(t.mm, at, bytes);
		break;
	case 2:
		ret = pf_madvise(t.mm, at, bytes, PINFOLD_MADV_DONTNEED);
		break;
	case 3:
		ret = pf_mprotect(t.mm, at, bytes, random_chance(r, 60) ? RW :
				  PINFOLD_PROT_READ);
		break;
	case 4:
		ret = pf_mremap(t.mm, at, bytes, bytes, TO,
				H(random_below(r, NR_PLACES)), &place);
		break;
	case 5:
		if (nr_held)
			unpin_user_page(held[--nr_held]);
		break;
	default:
		random_pin(r, at);
	}
	assert_true(ret == 0 || ret == -ENOMEM || ret == -EFAULT ||
		    ret == -EINVAL);
}

static void pool_counts_hold_at_random(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (unsigned int round = 0; round < 12; round++) {
		mm_test_begin(&t, (struct pf_machine_options){
			.memory_bytes = MIB(8), .hugetlb_2m_pages = NR_POOL,
			.metadata_only = true,
		});
		for (unsigned int i = 0; i < 150; i++) {
			struct mm_holds holds = { .pins = held };

			random_step(&r);
			holds.nr_pins = nr_held;
			if (i % 3 == 0)
				assert_int_equal(mm_validate(
						machine_of(t.machine), &holds),
						0);
		}
		unpin_user_pages(held, nr_held);
		nr_held = 0;
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_are_made_or_refused),
		cmocka_unit_test(reservations_promise),
		cmocka_unit_test(a_fault_takes_its_reservation),
		cmocka_unit_test(pages_are_zero_again),
		cmocka_unit_test(parts_are_unmapped),
		cmocka_unit_test(moving_takes_reservations_along),
		cmocka_unit_test(mapping_over_itself_with_a_full_pool),
		cmocka_unit_test(dropped_pages_bring_reservations_back),
		cmocka_unit_test(dropped_pinned_pages_do_not),
		cmocka_unit_test(an_empty_pool_is_a_bus_error),
		cmocka_unit_test(case_L3),
		cmocka_unit_test(racing_faults_share_one_page),
		cmocka_unit_test(faults_against_drops),
		cmocka_unit_test(pool_counts_hold_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
