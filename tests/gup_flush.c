/* SPDX-License-Identifier: MIT */
/*
 * Claim: every slot that a get or pin fills is flushed exactly once, in order,
 * with the area, the address and the page of that slot, while no page-table
 * lock is held and the area is still there; nothing else is flushed, and
 * nothing at all if no array was given.
 *
 * Fixed states, and random ones with random requests and answers to faults.
 *
 * Source: mm/gup.c: flushing moved behind the unlock by the batched walk
 */
#include "tests/helper_gup.h"

#include "arch/x86_64/cacheflush.h"
#include "host/errtext.h"
#include "lab/gup_algos.h"
#include "lab/random.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random.h"

struct flush {
	pf_addr_t address;
	struct page *page;
	bool area_covers;	/* the area given is the one at the address */
	bool under_lock;
	bool without_mmap_lock;
};

static struct flush flushes[2 * GUP_PAGES];
static size_t nr_flushes, nr_checked;

static void record_flush(void *arg, struct vm_area_struct *vma,
			 pf_addr_t address, struct page *page)
{
	struct state *s = arg;

	BUG_ON(nr_flushes == ARRAY_SIZE(flushes));
	flushes[nr_flushes++] = (struct flush){
		.address = address,
		.page = page,
		.area_covers = vma->vm_mm == s->mm &&
			       vma->vm_start <= address &&
			       address < vma->vm_end,
		.under_lock = lockrank_held(RANK_PTL),
		.without_mmap_lock = !lockrank_held(RANK_MMAP),
	};
}

static void record_flushes_of(struct state *s)
{
	nr_flushes = 0;
	flush_recorder_arg = s;
	flush_recorder = record_flush;
}

static void check_flushes(pf_addr_t start, struct page **pages, long ret)
{
	size_t nr = pages && ret > 0 ? ret : 0;

	flush_recorder = NULL;
	assert_int_equal(nr_flushes, nr);
	nr_checked += nr;
	for (size_t i = 0; i < nr; i++) {
		struct flush *f = &flushes[i];

		assert_ptr_equal(f->page, pages[i]);
		assert_int_equal(f->address, start + i * PAGE_SIZE);
		assert_true(f->area_covers);
		assert_false(f->under_lock);
		assert_false(f->without_mmap_lock);
	}
}

/* ---- fixed states -------------------------------------------------------- */

static void everything_side_by_side(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	vma = area(0, 40, STATE_RW);
	area(40, 8, STATE_RO);
	area(512, 512, STATE_RW);
	mapped_folio(0, 4, STATE_OWN);
	mapped_folio(16, 0, STATE_OWN);
	mapped_folio(17, 0, STATE_YOUNG | STATE_SHARED);
	state_map_zero(gs, vma, state_address(gs, 18), STATE_YOUNG);
	mapped_folio(20, 3, STATE_YOUNG | STATE_SOFT);
	mapped_folio(40, 3, STATE_YOUNG | STATE_SOFT);
	mapped_leaf(512, STATE_OWN);
	for (int i = 0; i < 2; i++) {
		long ret;

		record_flushes_of(gs);
		ret = pin(0, 48, i ? FOLL_WRITE : 0);
		check_flushes(gs->base, got, ret);
		assert_int_equal(ret, i ? 40 : 48);
		unpin_user_pages(got, ret);
	}
	record_flushes_of(gs);
	assert_int_equal(pin(600, 300, FOLL_WRITE), 300);
	check_flushes(state_address(gs, 600), got, 300);
	unpin_user_pages(got, 300);
}

/* The slots before a dropped lock, the one redone alone, and the rest. */
static void once_across_a_dropped_lock(void **state)
{
	int locked;

	(void)state;
	area(0, 16, STATE_RW);
	mapped_folio(0, 2, STATE_OWN);
	mapped_folio(8, 2, STATE_OWN);
	gup_rules({ .page = 4, .nth = 0, .answer = ANSWER_RETRY },
		  { .page = 5, .nth = 0, .answer = ANSWER_COMPLETED });
	record_flushes_of(gs);
	assert_int_equal(pin_unlockable(0, 12, FOLL_WRITE, &locked), 12);
	check_flushes(gs->base, got, 12);
	assert_int_equal(locked, 0);
	unpin_user_pages(got, 12);
}

static void nothing_without_an_array(void **state)
{
	(void)state;
	area(0, 1024, STATE_RW);
	mapped_folio(0, 4, STATE_OWN);
	mapped_leaf(512, STATE_OWN);
	record_flushes_of(gs);
	assert_int_equal(populate(0, 1024, FOLL_WRITE), 1024);
	check_flushes(gs->base, NULL, 1024);
}

static void nothing_for_a_refused_grab(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 16, STATE_RW);
	mapped_folio(0, 1, STATE_OWN);
	f = mapped_folio(2, 1, STATE_OWN);
	state_set_refcount(gs, f, 0);
	record_flushes_of(gs);
	assert_int_equal(pin(0, 4, FOLL_WRITE), 2);
	check_flushes(gs->base, got, 2);
	unpin_user_pages(got, 2);
	record_flushes_of(gs);
	assert_true(pin(2, 2, FOLL_WRITE) < 0);
	check_flushes(gs->base, got, 0);
}

/* ---- random states ------------------------------------------------------- */

static const unsigned int maybe_flags[] = {
	FOLL_WRITE, FOLL_TOUCH, FOLL_FORCE, FOLL_UNLOCKABLE, FOLL_UNLOCKABLE,
	FOLL_HONOR_NUMA_FAULT, FOLL_LONGTERM,
};

static void random_call(struct state *s, struct random *r,
			struct fault_script *faults)
{
	pf_addr_t start = state_address(s, random_below(r, s->nr_pages)) +
			  random_below(r, 2) * 123;
	unsigned long nr = 1 + random_below(r, 700);
	struct page **pages = random_chance(r, 85) ? got : NULL;
	unsigned int flags = pages ? FOLL_PIN : 0;
	int locked = 1;
	long ret;

	for (unsigned int i = 0; i < ARRAY_SIZE(maybe_flags); i++)
		if (random_chance(r, 30))
			flags |= maybe_flags[i];
	if (!pages)
		flags &= ~FOLL_LONGTERM;
	fault_script_forget(faults);
	fault_script_start(faults);
	mmap_read_lock(s->mm);
	record_flushes_of(s);
	ret = gup_algo_call(gup_algo_find("batch"), s->mm, start, nr, flags,
			    pages, &locked);
	if (locked)
		mmap_read_unlock(s->mm);
	fault_script_stop();
	check_flushes(start, pages, ret);
	if (pages && ret > 0)
		unpin_user_pages(pages, ret);
}

static void random_states(void **state)
{
	const char *rounds = getenv("PINFOLD_ROUNDS");
	unsigned long nr = rounds ? strtoul(rounds, NULL, 0) : 500;
	struct state_box *box;
	struct random r;

	(void)state;
	random_init(&r);
	assert_int_equal(state_box_create((u64)32 << 20, &box), 0);
	nr_checked = 0;
	for (unsigned long i = 0; i < nr; i++) {
		struct fault_script faults = {
			.seed = random_next(&r) | 1, .percent = 10,
		};
		struct state *s;

		assert_int_equal(state_open(box, (pf_addr_t)3 << 40, 100 +
					    random_below(&r, 900), &s), 0);
		faults.state = s;
		state_build(s, faults.seed);
		for (int k = 0; k < 5; k++)
			random_call(s, &r, &faults);
		fault_script_free(&faults);
		if (state_close(s))
			fail_msg("seed %#" PRIx64 ": %s", faults.seed,
				 error_text());
	}
	state_box_destroy(box);
	assert_true(nr_checked > 20 * nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(everything_side_by_side),
		gup_test(once_across_a_dropped_lock),
		gup_test(nothing_without_an_array),
		gup_test(nothing_for_a_refused_grab),
		cmocka_unit_test(random_states),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
