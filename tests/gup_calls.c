/* SPDX-License-Identifier: MIT */
/*
 * Claim: the entry points accept and refuse arguments as Linux does, each with
 * its own result; the retry loop redoes one page at a time, reports a dropped
 * lock and hides errors behind partial counts.
 *
 * Source: mm/gup.c: is_valid_gup_args(), __get_user_pages_locked(),
 *         populate_vma_page_range(), faultin_page_range()
 */
#include "tests/helper_gup.h"

#include "host/backend.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- arguments ----------------------------------------------------------- */

struct slow_results {
	long get, get_remote, get_unlocked, pin, pin_remote, pin_unlocked;
};

/* All six slow forms with the same arguments. */
static struct slow_results call_all(unsigned long page, unsigned long nr,
				    unsigned int flags, struct page **pages)
{
	struct mm_struct *mm = gs->mm;
	pf_addr_t at = state_address(gs, page);
	struct slow_results r;

	state_enter(gs);
	mmap_read_lock(mm);
	r.get = get_user_pages(mm, at, nr, flags, pages);
	r.get_remote = get_user_pages_remote(mm, at, nr, flags, pages, NULL);
	r.pin = pin_user_pages(mm, at, nr, flags, pages);
	r.pin_remote = pin_user_pages_remote(mm, at, nr, flags, pages, NULL);
	mmap_read_unlock(mm);
	r.get_unlocked = get_user_pages_unlocked(mm, at, nr, pages, flags);
	r.pin_unlocked = pin_user_pages_unlocked(mm, at, nr, pages, flags);
	return r;
}

#define assert_results(r, gets, pins) do {				\
	assert_int_equal((r).get, (gets));				\
	assert_int_equal((r).get_remote, (gets));			\
	assert_int_equal((r).get_unlocked, (gets));			\
	assert_int_equal((r).pin, (pins));				\
	assert_int_equal((r).pin_remote, (pins));			\
	assert_int_equal((r).pin_unlocked, (pins));			\
} while (0)

static bool has_pinned(void)
{
	return test_bit(MMF_HAS_PINNED, &gs->mm->flags);
}

static void internal_flags_are_invalid(void **state)
{
	static const unsigned int internal[] = {
		FOLL_TOUCH, FOLL_TRIED, FOLL_REMOTE, FOLL_PIN, FOLL_FAST_ONLY,
		FOLL_UNLOCKABLE, FOLL_MADV_POPULATE,
	};

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 2, STATE_OWN);
	for (unsigned int i = 0; i < ARRAY_SIZE(internal); i++) {
		assert_results(call_all(0, 2, internal[i], got), -EINVAL, 0);
		assert_results(call_all(0, 2, internal[i] | FOLL_WRITE, got),
			       -EINVAL, 0);
		/* before anything else, even for no pages */
		assert_results(call_all(0, 0, internal[i], got), -EINVAL, 0);
	}
	assert_false(has_pinned());
}

static void mixed_up_flags_are_invalid(void **state)
{
	struct slow_results r;

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 2, STATE_OWN);
	/* GET is fine for get, LONGTERM for pin. */
	r = call_all(0, 2, FOLL_GET, got);
	assert_results(r, 2, 0);
	for (int i = 0; i < 3; i++)
		put(2);
	r = call_all(0, 2, FOLL_LONGTERM, got);
	assert_results(r, -EINVAL, 2);
	for (int i = 0; i < 3; i++)
		unpin_user_pages(got, 2);
	assert_results(call_all(0, 2, FOLL_LONGTERM | FOLL_PCI_P2PDMA, got),
		       -EINVAL, 0);
	assert_results(call_all(0, 2, FOLL_LONGTERM | FOLL_GET, got), -EINVAL,
		       0);
	/* no array: to populate, but neither to get nor to pin */
	assert_results(call_all(0, 2, 0, NULL), 2, 0);
	assert_results(call_all(0, 2, FOLL_GET, NULL), -EINVAL, 0);
}

static void unknown_flags_are_let_through(void **state)
{
	struct slow_results r;

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 2, STATE_OWN);
	r = call_all(0, 1, 0x2000 | 0x4000 | 0x8000, got);
	assert_results(r, 1, 1);
	for (int i = 0; i < 3; i++) {
		put(1);
		unpin_user_pages(got, 1);
	}
}

static void locked_must_be_one(void **state)
{
	static const int wrong[] = { 0, 2, -1 };

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 2, STATE_OWN);
	mmap_read_lock(gs->mm);
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		int locked = wrong[i];

		assert_int_equal(get_user_pages_remote(gs->mm, gs->base, 1, 0,
						       got, &locked), -EINVAL);
		assert_int_equal(pin_user_pages_remote(gs->mm, gs->base, 1, 0,
						       got, &locked), 0);
		assert_int_equal(locked, wrong[i]);
	}
	mmap_read_unlock(gs->mm);
}

static void no_pages_is_no_error(void **state)
{
	(void)state;
	/* before any look at areas */
	assert_results(call_all(0, 0, 0, got), 0, 0);
	assert_results(call_all(0, 0, FOLL_WRITE, NULL), 0, 0);
	assert_false(has_pinned());
	assert_results(call_all(0, 1, 0, got), -EFAULT, -EFAULT);
}

static void what_marks_accessed_and_dirty(void **state)
{
	struct folio *f[6];

	(void)state;
	area(0, 8, STATE_RW);
	for (int i = 0; i < 6; i++)
		f[i] = mapped_folio(i, 0, STATE_WRITE | STATE_YOUNG);
	mmap_read_lock(gs->mm);
	get_user_pages(gs->mm, state_address(gs, 0), 1, FOLL_WRITE, got);
	get_user_pages_remote(gs->mm, state_address(gs, 1), 1, FOLL_WRITE,
			      got + 1, NULL);
	pin_user_pages_remote(gs->mm, state_address(gs, 2), 1, FOLL_WRITE,
			      got + 2, NULL);
	pin_user_pages(gs->mm, state_address(gs, 3), 1, FOLL_WRITE, got + 3);
	mmap_read_unlock(gs->mm);
	get_user_pages_unlocked(gs->mm, state_address(gs, 4), 1, got + 4,
				FOLL_WRITE);
	pin_user_pages_unlocked(gs->mm, state_address(gs, 5), 1, got + 5,
				FOLL_WRITE);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(gup_runs(f[i]), i == 3 ? 0 : 1);
		assert_int_equal(folio_test_dirty(f[i]), i != 3);
		assert_ptr_equal(got[i], &f[i]->page);
		if (i == 2 || i == 3 || i == 5)
			unpin_user_page(got[i]);
		else
			put_page(got[i]);
	}
}

/* HAS_PINNED: set by the first pin that gets to walk, for good. */
static void has_pinned_stays(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	assert_int_equal(get(0, 1, FOLL_WRITE), 1);
	put(1);
	assert_int_equal(populate(0, 4, FOLL_WRITE), 4);
	assert_int_equal(pin(0, 0, 0), 0);
	assert_int_equal(pin(0, 1, FOLL_GET), 0);
	assert_false(has_pinned());
	/* it need not pin anything */
	assert_int_equal(pin(100, 1, 0), -EFAULT);
	assert_true(has_pinned());
	assert_int_equal(pin(0, 1, 0), 1);
	unpin_user_pages(got, 1);
	assert_true(has_pinned());
}

static void start_need_not_be_aligned(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 8, STATE_RW);
	f = mapped_folio(0, 3, STATE_OWN);
	mmap_read_lock(gs->mm);
	assert_int_equal(pin_user_pages(gs->mm, gs->base + 3 * PAGE_SIZE + 4095,
					5, 0, got), 5);
	assert_pages(0, f, 3, 5);
	unpin_user_pages(got, 5);
	/* the last byte of the area is in its last page */
	assert_int_equal(pin_user_pages(gs->mm, gs->base + 8 * PAGE_SIZE - 1, 2,
					0, got), 1);
	unpin_user_pages(got, 1);
	mmap_read_unlock(gs->mm);
}

static void results_are_partial_then_errors(void **state)
{
	(void)state;
	area(0, 4, STATE_RW);
	area(4, 4, STATE_RO);
	mapped_folio(0, 3, STATE_YOUNG | STATE_SOFT);
	/* What was collected hides the error; the next call finds it. */
	assert_int_equal(get(0, 20, 0), 8);
	put(8);
	assert_int_equal(get(8, 12, 0), -EFAULT);
	assert_int_equal(get(2, 20, FOLL_WRITE), 2);
	put(2);
	assert_int_equal(get(4, 16, FOLL_WRITE), -EFAULT);
	assert_int_equal(get(2, 20, FOLL_NOFAULT | FOLL_WRITE), 2);
	put(2);
	assert_int_equal(get(1, 20, FOLL_NOFAULT | FOLL_WRITE), -EFAULT);
}

static void populating_counts_whole_leaves(void **state)
{
	struct folio *f;

	(void)state;
	area(0, 1024, STATE_RW);
	f = mapped_leaf(0, STATE_OWN & ~STATE_YOUNG);
	assert_int_equal(populate(0, 512, 0), 512);
	assert_int_equal(populate(500, 100, FOLL_WRITE), 100);
	assert_true(pmd_young(state_pmd(gs, 0)));
	assert_counts(f, 1, 0, 1);
	assert_false(has_pinned());
	for (int i = 512; i < 600; i++)
		assert_non_null(state_page(gs, i));
	assert_null(state_page(gs, 600));
}

/* ---- the retry loop ------------------------------------------------------ */

#define TRIED	FAULT_FLAG_TRIED

/* One folio of 16 pages without pages 3, 4 and 9. */
static struct folio *folio_with_holes(void)
{
	struct folio *f = state_folio(gs, STATE_ANON, 4);

	area(0, 16, STATE_RW);
	for (int i = 0; i < 16; i++)
		if (i != 3 && i != 4 && i != 9)
			state_map(gs, i, f, i, 1, STATE_OWN);
	state_drop(gs, f);
	return f;
}

static void assert_fault(size_t i, unsigned long page, unsigned int tried)
{
	assert_int_equal(gup_faulted(i), page);
	assert_int_equal(gup_fault_flag(i) & TRIED, tried);
}

static void retry_redoes_one_page(void **state)
{
	struct folio *f = folio_with_holes();
	int locked;

	(void)state;
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY });
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 16);
	assert_int_equal(locked, 0);
	assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
	/* page 3 again, alone and tried; page 4 is a first try again */
	assert_int_equal(gup_faults.nr_records, 4);
	assert_fault(0, 3, 0);
	assert_fault(1, 3, TRIED);
	assert_fault(2, 4, 0);
	assert_fault(3, 9, 0);
	assert_pages(0, f, 0, 3);
	assert_pages(5, f, 5, 4);
	assert_counts(f, 13 + 13, 13, 13);
	unpin_user_pages(got, 16);
}

static void retry_again_and_again(void **state)
{
	int locked;

	(void)state;
	folio_with_holes();
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 1, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 2, .answer = ANSWER_COMPLETED },
		  { .page = 9, .nth = 0, .answer = ANSWER_RETRY });
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 16);
	assert_int_equal(locked, 0);
	assert_int_equal(gup_faults.nr_records, 7);
	assert_fault(1, 3, TRIED);
	assert_fault(2, 3, TRIED);
	assert_fault(3, 3, TRIED);
	assert_fault(4, 4, 0);
	assert_fault(5, 9, 0);
	assert_fault(6, 9, TRIED);
	unpin_user_pages(got, 16);
}

/* The fault did its work and dropped the lock: resume at the same page. */
static void completed_resumes_at_the_page(void **state)
{
	struct vm_area_struct *vma = area(0, 8, STATE_RW);
	int locked;

	(void)state;
	mapped_folio(0, 1, STATE_OWN);
	state_map_absent(gs, vma, state_address(gs, 2), ABSENT_MIGRATION_WRITE);
	mapped_folio(3, 0, STATE_OWN);
	gup_rules({ .page = 2, .nth = 0, .answer = ANSWER_COMPLETED });
	assert_int_equal(pin_unlockable(0, 4, FOLL_WRITE, &locked), 4);
	assert_int_equal(locked, 0);
	assert_int_equal(gup_faults.nr_records, 1);
	unpin_user_pages(got, 4);
}

static void lock_stays_where_it_may_not_be_dropped(void **state)
{
	int locked;

	(void)state;
	folio_with_holes();
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 16);
	assert_int_equal(locked, 1);
	unpin_user_pages(got, 16);
}

/* Taken inside, so given back inside. */
static void unlocked_forms_give_the_lock_back(void **state)
{
	(void)state;
	folio_with_holes();
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY });
	fault_script_start(&gup_faults);
	assert_int_equal(pin_user_pages_unlocked(gs->mm, gs->base, 16, got,
						 FOLL_WRITE), 16);
	assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
	unpin_user_pages(got, 16);
	assert_int_equal(get_user_pages_unlocked(gs->mm, gs->base, 16, got,
						 FOLL_WRITE), 16);
	assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
	fault_script_stop();
	put(16);
	assert_int_equal(pin_user_pages_unlocked(gs->mm, 0, 16, got, 0),
			 -EFAULT);
	assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
}

static void retry_hides_the_error_of_its_page(void **state)
{
	int locked;

	(void)state;
	folio_with_holes();
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 1, .answer = ANSWER_SIGBUS },
		  { .page = 3, .nth = 2, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 3, .answer = ANSWER_OOM });
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 3);
	assert_int_equal(locked, 0);
	unpin_user_pages(got, 3);
	assert_int_equal(pin_unlockable(3, 13, FOLL_WRITE, &locked), -ENOMEM);
	assert_int_equal(locked, 0);
	assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
}

static void nowait_returns_what_it_has(void **state)
{
	int locked;

	(void)state;
	folio_with_holes();
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 1, .answer = ANSWER_RETRY },
		  { .page = 3, .nth = 2, .answer = ANSWER_RETRY });
	assert_int_equal(pin_unlockable(0, 16, FOLL_NOWAIT, &locked), 3);
	assert_int_equal(locked, 1);
	unpin_user_pages(got, 3);
	assert_int_equal(pin_unlockable(3, 13, FOLL_NOWAIT, &locked), 0);
	assert_int_equal(locked, 1);
	assert_int_equal(pin(3, 13, FOLL_NOWAIT), 0);
	assert_int_equal(gup_faults.nr_records, 1);
	/* and 0 for nothing else */
	assert_int_equal(pin(100, 1, FOLL_NOWAIT), -EFAULT);
}

static void signals_end_the_loop(void **state)
{
	int locked;

	(void)state;
	folio_with_holes();
	gup_rules({ 3, 0, ANSWER_RETRY, SIGNAL_FATAL },
		  { 3, 1, ANSWER_RETRY, SIGNAL_FATAL },
		  { 3, 2, ANSWER_RETRY, SIGNAL_ORDINARY },
		  { 3, 3, ANSWER_RETRY, SIGNAL_ORDINARY },
		  { 3, 4, ANSWER_RETRY, SIGNAL_ORDINARY });
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 3);
	assert_int_equal(locked, 0);
	assert_int_equal(gup_faults.nr_records, 1);
	unpin_user_pages(got, 3);
	waiter_clear();
	assert_int_equal(pin_unlockable(3, 13, FOLL_WRITE, &locked), -EINTR);
	assert_int_equal(locked, 0);
	waiter_clear();
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE | FOLL_INTERRUPTIBLE,
					&locked), 3);
	assert_int_equal(locked, 0);
	unpin_user_pages(got, 3);
	waiter_clear();
	assert_int_equal(pin_unlockable(3, 13, FOLL_WRITE | FOLL_INTERRUPTIBLE,
					&locked), -EINTR);
	waiter_clear();
	/* An ordinary one does not matter to others. */
	assert_int_equal(pin_unlockable(0, 16, FOLL_WRITE, &locked), 16);
	unpin_user_pages(got, 16);
}

/* Before the first page, and after a fault that went well. */
static void fatal_signal_ends_the_walk(void **state)
{
	(void)state;
	folio_with_holes();
	gup_rules({ 3, 0, ANSWER_PASS, SIGNAL_FATAL },
		  { 4, 0, ANSWER_PASS, SIGNAL_ORDINARY });
	waiter_post(&waiter_self, SIGNAL_FATAL);
	assert_int_equal(pin(0, 16, FOLL_WRITE), -EINTR);
	assert_int_equal(pin(0, 0, FOLL_WRITE), 0);
	waiter_clear();
	assert_int_equal(pin(0, 16, FOLL_WRITE), 3);
	assert_int_equal(gup_faults.nr_records, 1);
	unpin_user_pages(got, 3);
	waiter_clear();
	assert_int_equal(pin(0, 16, FOLL_WRITE | FOLL_INTERRUPTIBLE), 16);
	unpin_user_pages(got, 16);
}

struct holder {
	struct mm_struct *mm;
	atomic_t stage;
	struct waiter *victim;		/* to be killed, under the lock */
};

static void await(atomic_t *v, int value)
{
	while (atomic_read(v) != value)
		sched_yield();
}

static void hold_for_write(void *arg)
{
	struct holder *h = arg;

	atomic_set(&h->stage, 1);
	mmap_write_lock(h->mm);
	if (h->victim)
		waiter_post(h->victim, SIGNAL_FATAL);
	atomic_set(&h->stage, 2);
	await(&h->stage, 3);
	mmap_write_unlock(h->mm);
}

/* Killed while it waits for the lock that it has to take first. */
static void kill_before_the_lock_is_eagain(void **state)
{
	struct holder h = { .mm = gs->mm };
	struct backend_thread *thread;
	long pinned, gotten, nothing;

	(void)state;
	folio_with_holes();
	assert_int_equal(backend_thread_create(&thread, hold_for_write, &h), 0);
	await(&h.stage, 2);
	waiter_post(&waiter_self, SIGNAL_FATAL);
	pinned = pin_user_pages_unlocked(gs->mm, gs->base, 16, got, 0);
	gotten = get_user_pages_unlocked(gs->mm, gs->base, 16, got, 0);
	nothing = pin_user_pages_unlocked(gs->mm, gs->base, 0, got, 0);
	waiter_clear();
	atomic_set(&h.stage, 3);
	backend_thread_join(thread);
	assert_int_equal(pinned, -EAGAIN);
	assert_int_equal(gotten, -EAGAIN);
	assert_int_equal(nothing, 0);
	assert_false(has_pinned());
}

/* Killed while it waits for the lock that a fault dropped. */
static void kill_while_relocking_is_eintr(void **state)
{
	struct holder h = { .mm = gs->mm, .victim = &waiter_self };
	struct backend_thread *thread;
	int locked = 1;
	long ret;

	(void)state;
	folio_with_holes();
	gup_rules({ .page = 3, .nth = 0, .answer = ANSWER_RETRY });
	fault_script_start(&gup_faults);
	mmap_read_lock(gs->mm);
	assert_int_equal(backend_thread_create(&thread, hold_for_write, &h), 0);
	await(&h.stage, 1);
	while (!READ_ONCE(gs->mm->mmap_lock.writers_waiting))
		sched_yield();
	ret = pin_user_pages_remote(gs->mm, state_address(gs, 3), 2, FOLL_WRITE,
				    got, &locked);
	fault_script_stop();
	waiter_clear();
	await(&h.stage, 2);
	atomic_set(&h.stage, 3);
	backend_thread_join(thread);
	assert_int_equal(ret, -EINTR);
	assert_int_equal(locked, 0);
}

/* Populating sees the walk's own result: 0 where the lock was dropped. */
static void populating_an_area_tells_of_a_dropped_lock(void **state)
{
	static const enum fault_answer answers[] = {
		ANSWER_RETRY, ANSWER_COMPLETED,
	};
	struct fault_rule rule = { .page = 3 };

	(void)state;
	folio_with_holes();
	gup_faults.rules = &rule;
	gup_faults.nr_rules = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(answers); i++) {
		int locked = 1;

		rule.answer = answers[i];
		rule.nth = i;
		fault_script_start(&gup_faults);
		mmap_read_lock(gs->mm);
		assert_int_equal(populate_vma_page_range(vma_first(gs->mm),
							 state_address(gs, 3),
							 state_address(gs, 16),
							 &locked), 0);
		fault_script_stop();
		assert_int_equal(locked, 0);
		assert_false(rwsem_is_locked(&gs->mm->mmap_lock));
	}
	mmap_read_lock(gs->mm);
	assert_int_equal(populate_vma_page_range(vma_first(gs->mm), gs->base,
						 state_address(gs, 16), NULL),
			 16);
	mmap_read_unlock(gs->mm);
	for (int i = 0; i < 16; i++)
		assert_true(pte_write(state_pte(gs, i)));
}

static long faultin(unsigned long page, unsigned long nr, bool write)
{
	int locked = 1;
	long ret;

	mmap_read_lock(gs->mm);
	ret = faultin_page_range(gs->mm, state_address(gs, page),
				 state_address(gs, page + nr), write, &locked);
	if (locked)
		mmap_read_unlock(gs->mm);
	return ret;
}

/* MADV_POPULATE_*: holes are -ENOMEM, refusals -EINVAL, poison is told. */
static void populating_a_range_has_its_own_errnos(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	vma = area(0, 8, STATE_RW);
	area(8, 4, STATE_RO);
	area(12, 4, STATE_RW | VM_PFNMAP);
	area(16, 4, STATE_MAY);
	assert_int_equal(faultin(0, 8, true), 8);
	assert_int_equal(faultin(4, 8, true), 4);
	assert_int_equal(faultin(4, 8, false), 8);
	assert_int_equal(faultin(8, 4, true), -EINVAL);
	assert_int_equal(faultin(12, 4, false), -EINVAL);
	assert_int_equal(faultin(16, 4, false), -EINVAL);
	assert_int_equal(faultin(20, 4, false), -ENOMEM);
	mmap_read_lock(gs->mm);
	zap_page_range(vma, gs->base, state_address(gs, 1));
	mmap_read_unlock(gs->mm);
	state_map_absent(gs, vma, state_address(gs, 0), ABSENT_HWPOISON);
	assert_int_equal(faultin(0, 1, false), -EHWPOISON);
	assert_false(has_pinned());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(internal_flags_are_invalid),
		gup_test(mixed_up_flags_are_invalid),
		gup_test(unknown_flags_are_let_through),
		gup_test(locked_must_be_one),
		gup_test(no_pages_is_no_error),
		gup_test(what_marks_accessed_and_dirty),
		gup_test(has_pinned_stays),
		gup_test(start_need_not_be_aligned),
		gup_test(results_are_partial_then_errors),
		gup_test(populating_counts_whole_leaves),
		gup_test(retry_redoes_one_page),
		gup_test(retry_again_and_again),
		gup_test(completed_resumes_at_the_page),
		gup_test(lock_stays_where_it_may_not_be_dropped),
		gup_test(unlocked_forms_give_the_lock_back),
		gup_test(retry_hides_the_error_of_its_page),
		gup_test(nowait_returns_what_it_has),
		gup_test(signals_end_the_loop),
		gup_test(fatal_signal_ends_the_walk),
		gup_test(kill_before_the_lock_is_eagain),
		gup_test(kill_while_relocking_is_eintr),
		gup_test(populating_an_area_tells_of_a_dropped_lock),
		gup_test(populating_a_range_has_its_own_errnos),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
