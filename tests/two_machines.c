/* SPDX-License-Identifier: MIT */
/*
 * Claim: machines know nothing of each other: one thread or several may work on
 * two in turn, with equal addresses and equal frame numbers, and each keeps its
 * own bytes, counts and frames.  A page knows its machine.  Pins outlive their
 * address space; a machine is not destroyed while pages of it are held.
 *
 * Source: include/pinfold/pinfold.h, "Rules for callers"; mm/machine.h
 */
#include "tests/mm_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"

#include <errno.h>

#define AT	BASE
#define NR	64

struct side {
	struct pf_machine *machine;
	struct pf_mm *mm;
};

static void open_side(struct side *s, struct pf_machine_options options)
{
	pf_addr_t place;

	options.size = sizeof(options);
	options.memory_bytes = MIB(8);
	assert_int_equal(pf_machine_create(&options, &s->machine), 0);
	assert_int_equal(pf_mm_create(s->machine, &s->mm), 0);
	assert_int_equal(pf_mmap(s->mm, AT, PAGES(2048), RW, PINFOLD_MAP_FIXED,
				 &place), 0);
}

static void close_side(struct side *s)
{
	pf_mm_destroy(s->mm);
	assert_int_equal(mm_validate(machine_of(s->machine), NULL), 0);
	assert_int_equal(pf_machine_destroy(s->machine), 0);
}

static void side_write(struct side *s, u64 page, u64 word)
{
	assert_int_equal(pf_write(s->mm, AT + PAGES(page), &word, 8), 8);
}

static u64 side_read(struct side *s, u64 page)
{
	u64 word;

	assert_int_equal(pf_read(s->mm, AT + PAGES(page), &word, 8), 8);
	return word;
}

static u64 word_of(struct pf_page *page)
{
	void *bytes;

	assert_int_equal(pf_page_address(page, &bytes), 0);
	return *(u64 *)bytes;
}

static struct pf_machine_stat stat_of(struct side *s)
{
	struct pf_machine_stat stat = { .size = sizeof(stat) };

	assert_int_equal(pf_machine_stat(s->machine, &stat), 0);
	return stat;
}

static void pin_side(struct side *s, struct pf_page **pages, long nr)
{
	assert_int_equal(pf_pin_user_pages_unlocked(s->mm, AT, nr, pages,
						    PINFOLD_FOLL_WRITE), nr);
}

static void test_in_turn(void **state)
{
	static struct pf_page *pages[2][NR];
	struct side sides[2];

	(void)state;
	/* a thread's CPU on one may not exist on the other */
	open_side(&sides[0], (struct pf_machine_options){ .nr_cpus = 16 });
	open_side(&sides[1], (struct pf_machine_options){ .nr_cpus = 1 });
	for (u64 i = 0; i < NR; i++)
		for (unsigned int k = 0; k < 2; k++)
			side_write(&sides[k], i, 1000 * (k + 1) + i);
	for (unsigned int k = 0; k < 2; k++)
		pin_side(&sides[k], pages[k], NR);
	for (u64 i = 0; i < NR; i++) {
		/* equal frame numbers: they did the same */
		assert_int_equal(pf_page_pfn(pages[0][i]),
				 pf_page_pfn(pages[1][i]));
		for (unsigned int k = 0; k < 2; k++) {
			assert_ptr_equal(page_machine(page_of(pages[k][i])),
					 sides[k].machine);
			assert_int_equal(word_of(pages[k][i]),
					 1000 * (k + 1) + i);
			assert_int_equal(side_read(&sides[k], i),
					 1000 * (k + 1) + i);
		}
	}
	assert_null(current->machine);
	pf_unpin_user_pages(pages[0], NR);
	assert_int_equal(stat_of(&sides[0]).pins_released, NR);
	assert_int_equal(stat_of(&sides[1]).pins_released, 0);
	pf_unpin_user_pages_dirty_lock(pages[1], NR, true);
	assert_int_equal(stat_of(&sides[1]).pins_released, NR);
	close_side(&sides[0]);
	/* one is gone, and the other does not mind */
	side_write(&sides[1], 5, 5);
	assert_int_equal(side_read(&sides[1], 5), 5);
	close_side(&sides[1]);
}

static void test_with_and_without_bytes(void **state)
{
	struct pf_page *pages[2];
	struct side bytes, none;
	void *address = NULL;
	u64 word = 1;

	(void)state;
	open_side(&bytes, (struct pf_machine_options){ 0 });
	open_side(&none, (struct pf_machine_options){ .metadata_only = true });
	pin_side(&none, pages, 1);
	pin_side(&bytes, pages + 1, 1);
	assert_int_equal(pf_write(none.mm, AT, &word, 8), -EOPNOTSUPP);
	assert_int_equal(pf_page_address(pages[0], &address), -EOPNOTSUPP);
	assert_null(address);
	side_write(&bytes, 0, 7);
	assert_int_equal(word_of(pages[1]), 7);
	pf_unpin_user_page(pages[0]);
	pf_unpin_user_page(pages[1]);
	close_side(&none);
	close_side(&bytes);
}

/* ---- two threads ------------------------------------------------------ */

struct worker {
	struct side *sides;
	unsigned int id;
	u64 until;
	u64 rounds;
	int wrong;
	struct backend_thread *thread;
};

/* Each has a page of its own in both, and takes them in its own order. */
static void one_round(struct worker *w)
{
	struct pf_page *pages[2];
	pf_addr_t at = AT + PAGES(w->id);

	for (unsigned int i = 0; i < 2; i++) {
		struct side *s = &w->sides[(i + w->id) & 1];
		u64 word = w->rounds * 4 + i;

		if (pf_write(s->mm, at, &word, 8) != 8 ||
		    pf_pin_user_pages_unlocked(s->mm, at, 1, &pages[i],
					       PINFOLD_FOLL_WRITE) != 1 ||
		    page_machine(page_of(pages[i])) != machine_of(s->machine))
			w->wrong = 1;
	}
	for (unsigned int i = 0; i < 2 && !w->wrong; i++) {
		struct side *s = &w->sides[(i + w->id) & 1];
		void *bytes;

		if (pf_page_address(pages[i], &bytes) ||
		    *(u64 *)bytes != w->rounds * 4 + i ||
		    pf_madvise(s->mm, at, PAGE_SIZE, PINFOLD_MADV_DONTNEED))
			w->wrong = 1;
	}
	pf_unpin_user_page(pages[0]);
	pf_unpin_user_page(pages[1]);
	w->rounds++;
}

static void work(void *arg)
{
	struct worker *w = arg;

	while (clock_ns() < w->until && !w->wrong)
		one_round(w);
}

static void test_two_threads(void **state)
{
	struct worker workers[2] = { 0 };
	struct side sides[2];
	u64 rounds = 0;

	(void)state;
	open_side(&sides[0], (struct pf_machine_options){ .nr_cpus = 2 });
	open_side(&sides[1], (struct pf_machine_options){ .nr_cpus = 3 });
	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = (struct worker){
			.sides = sides, .id = i,
			.until = clock_ns() + 300000000,
		};
		assert_int_equal(backend_thread_create(&workers[i].thread,
						       work, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		backend_thread_join(workers[i].thread);
		assert_int_equal(workers[i].wrong, 0);
		rounds += workers[i].rounds;
	}
	assert_true(rounds > 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(stat_of(&sides[i]).pins_acquired, rounds);
		assert_int_equal(stat_of(&sides[i]).pins_released, rounds);
		close_side(&sides[i]);
	}
}

/* ---- what outlives what ----------------------------------------------- */

/* The frame stays its holder's, whatever the machine does with the rest. */
static void test_pins_outlive_mm(void **state)
{
	struct pf_page *pages[4];
	struct pf_mm *mm;
	struct side s;
	pf_addr_t at;
	void *bytes;

	(void)state;
	open_side(&s, (struct pf_machine_options){ .thp_always = BIT(2) });
	side_write(&s, 0, 11);
	side_write(&s, 3, 33);
	pin_side(&s, pages, 4);
	assert_int_equal(pf_page_folio_order(pages[0]), 2);
	pf_mm_destroy(s.mm);
	assert_int_equal(mm_validate(machine_of(s.machine), &(struct mm_holds){
		.pins = (struct page **)pages, .nr_pins = 4 }), 0);

	/* somebody else takes all the memory there is */
	assert_int_equal(pf_mm_create(s.machine, &mm), 0);
	assert_int_equal(pf_mmap(mm, 0, MIB(16), RW, 0, &at), 0);
	assert_int_equal(pf_madvise(mm, at, MIB(16),
				    PINFOLD_MADV_POPULATE_WRITE), -ENOMEM);
	assert_int_equal(word_of(pages[0]), 11);
	assert_int_equal(word_of(pages[3]), 33);
	assert_int_equal(pf_page_address(pages[1], &bytes), 0);
	memset(bytes, 0x55, PAGE_SIZE);
	assert_true(pf_page_maybe_dma_pinned(pages[1]));
	pf_mm_destroy(mm);

	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pf_machine_destroy(s.machine), -EBUSY);
		pf_unpin_user_page(pages[i]);
	}
	assert_int_equal(pf_machine_destroy(s.machine), 0);
}

static void expect_busy(struct side *s, const char *why)
{
	assert_int_equal(pf_machine_destroy(s->machine), -EBUSY);
	assert_non_null(strstr(pf_error_text(), why));
}

/* A refusal changes nothing: the machine works on. */
static void test_busy(void **state)
{
	struct pf_page *page;
	struct side s;

	(void)state;
	open_side(&s, (struct pf_machine_options){ 0 });
	side_write(&s, 0, 1);
	expect_busy(&s, "still has an mm");
	assert_int_equal(side_read(&s, 0), 1);
	side_write(&s, 1, 2);
	assert_int_equal(pf_get_user_pages_unlocked(s.mm, AT, 1, &page, 0), 1);
	pf_mm_destroy(s.mm);
	expect_busy(&s, "1 pages are still got or pinned");
	assert_int_equal(word_of(page), 1);
	pf_put_page(page);
	assert_int_equal(pf_machine_destroy(s.machine), 0);
	assert_int_equal(pf_machine_destroy(NULL), 0);
}

/* References to the zero pages count too; pins of the small one are none. */
static void test_busy_zero_pages(void **state)
{
	struct pf_page *page, *pin;
	struct side s;

	(void)state;
	open_side(&s, (struct pf_machine_options){ 0 });
	assert_int_equal(side_read(&s, 0), 0);
	assert_int_equal(pf_get_user_pages_unlocked(s.mm, AT, 1, &page, 0), 1);
	assert_int_equal(pf_pin_user_pages_unlocked(s.mm, AT, 1, &pin, 0), 1);
	assert_ptr_equal(page, pin);
	pf_mm_destroy(s.mm);
	expect_busy(&s, "1 pages");
	pf_put_page(page);
	assert_int_equal(pf_machine_destroy(s.machine), 0);

	open_side(&s, (struct pf_machine_options){
		.thp_always = BIT(HPAGE_PMD_ORDER) });
	assert_int_equal(pf_pin_user_pages_unlocked(s.mm, AT, 1, &pin, 0), 1);
	assert_int_equal(pf_page_folio_order(pin), HPAGE_PMD_ORDER);
	assert_int_equal(word_of(pin), 0);
	pf_mm_destroy(s.mm);
	expect_busy(&s, "512 pages");
	pf_unpin_user_page(pin);
	assert_int_equal(pf_machine_destroy(s.machine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_with_and_without_bytes),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_pins_outlive_mm),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_busy_zero_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
