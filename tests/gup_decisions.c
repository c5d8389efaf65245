/* SPDX-License-Identifier: MIT */
/*
 * Claim: for each kind of area, entry and page, GUP decides as Linux does: take
 * it, fault (with which flags), unshare, or which errno.
 *
 * Tables of literal answers.  FOLL_NOFAULT makes "would fault" visible as
 * -EFAULT without a fault in the record.
 *
 * Source: mm/gup.c: check_vma_flags(), can_follow_write_common(),
 *         gup_must_unshare(), follow_page_pte(), faultin_page(),
 *         no_page_table()
 */
#include "tests/helper_gup.h"

#include "mm/huge_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define RO_ENTRY	(STATE_YOUNG | STATE_SOFT)

/* One call with GET or PIN in @flags; what it got is released. */
static long one(unsigned long page, unsigned int flags)
{
	long ret;

	if (flags & FOLL_PIN) {
		ret = pin(page, 1, flags & ~FOLL_PIN);
		if (ret > 0)
			unpin_user_pages(got, ret);
	} else {
		ret = get(page, 1, flags);
		if (ret > 0)
			put(ret);
	}
	return ret;
}

#define check(i, is, should) do {					\
	long _is = (is), _should = (should);				\
	if (_is != _should)						\
		fail_msg("row %d: %ld instead of %ld", (int)(i), _is,	\
			 _should);					\
} while (0)

/* ---- areas --------------------------------------------------------------- */

static void areas_permit_or_not(void **state)
{
	static const struct {
		vm_flags_t area;
		unsigned int flags;
		long ret;
	} rows[] = {
		{ STATE_RW, 0, 1 },
		{ STATE_RW, FOLL_WRITE, 1 },
		{ STATE_RW | VM_IO, 0, -EFAULT },
		{ STATE_RW | VM_PFNMAP, 0, -EFAULT },
		{ STATE_RW | VM_PFNMAP, FOLL_FORCE | FOLL_WRITE, -EFAULT },
		{ STATE_RW, FOLL_ANON, 1 },
		{ STATE_RW | VM_HUGETLB, FOLL_SPLIT_PMD, -EOPNOTSUPP },
		{ STATE_RO, FOLL_WRITE, -EFAULT },
		{ STATE_RO, FOLL_WRITE | FOLL_FORCE, 1 },
		{ STATE_RO & ~VM_MAYWRITE, FOLL_WRITE | FOLL_FORCE, -EFAULT },
		{ STATE_RO | VM_SHARED | VM_MAYSHARE, FOLL_WRITE | FOLL_FORCE,
		  -EFAULT },
		{ STATE_RO | VM_HUGETLB, FOLL_WRITE | FOLL_FORCE, -EFAULT },
		{ STATE_RW | VM_SHADOW_STACK, FOLL_WRITE, -EFAULT },
		{ STATE_RW | VM_SHADOW_STACK, FOLL_WRITE | FOLL_FORCE, 1 },
		{ STATE_RW | VM_SHADOW_STACK, 0, 1 },
		{ STATE_MAY, 0, -EFAULT },
		{ STATE_MAY, FOLL_FORCE, 1 },
		{ STATE_MAY, FOLL_WRITE | FOLL_FORCE, 1 },
		{ STATE_MAY & ~VM_MAYREAD, FOLL_FORCE, -EFAULT },
		{ STATE_MAY | VM_EXEC, 0, -EFAULT },
		{ STATE_MAY | VM_EXEC, FOLL_FORCE, 1 },
		{ STATE_MAY | VM_WRITE, 0, -EFAULT },
		{ STATE_MAY | VM_WRITE, FOLL_WRITE, 1 },
		/* what a lower bit decides comes first */
		{ STATE_RO | VM_IO | VM_HUGETLB, FOLL_SPLIT_PMD, -EFAULT },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		area(2 * i, 1, rows[i].area);
		check(i, one(2 * i, rows[i].flags), rows[i].ret);
		check(i, one(2 * i, rows[i].flags | FOLL_PIN), rows[i].ret);
		/* refused before any look at the tables */
		if (rows[i].ret < 0)
			check(i, gup_faults.nr_records, 0);
		/* the hole behind it */
		check(i, one(2 * i + 1, FOLL_FORCE), -EFAULT);
	}
}

static void anon_flag_refuses_files(void **state)
{
	(void)state;
	state_area(gs, 0, 4, STATE_RW, &gs->file_ops);
	assert_int_equal(one(0, FOLL_ANON), -EFAULT);
	assert_int_equal(one(0, 0), 1);
}

/* The stack is never grown. */
static void hole_below_stack_is_a_hole(void **state)
{
	(void)state;
	area(8, 4, STATE_RW | VM_GROWSDOWN);
	assert_int_equal(one(7, FOLL_WRITE), -EFAULT);
	assert_null(state_vma(gs, 7));
	assert_int_equal(one(8, FOLL_WRITE), 1);
}

/* ---- following for write ------------------------------------------------- */

struct write_row {
	vm_flags_t area;
	unsigned int flags;
	enum state_kind kind;
	unsigned int bits;
	long ret;
};

#define FORCED	(FOLL_WRITE | FOLL_FORCE)

static const struct write_row write_rows[] = {
	{ STATE_RW, FOLL_WRITE, STATE_ANON, RO_ENTRY | STATE_WRITE, 1 },
	{ STATE_RW, FOLL_WRITE, STATE_ANON, RO_ENTRY, -EFAULT },
	{ STATE_RO, FORCED, STATE_ANON, RO_ENTRY, 1 },
	{ STATE_MAY, FORCED, STATE_ANON, RO_ENTRY, 1 },
	/* a writable area takes a real fault */
	{ STATE_RW, FORCED, STATE_ANON, RO_ENTRY, -EFAULT },
	{ STATE_RO | VM_MAYSHARE, FORCED, STATE_ANON, RO_ENTRY, -EFAULT },
	/* only what is exclusive; that it is dirty proves nothing */
	{ STATE_RO, FORCED, STATE_ANON, RO_ENTRY | STATE_ORPHAN, -EFAULT },
	{ STATE_RO, FORCED, STATE_ANON, RO_ENTRY | STATE_ORPHAN | STATE_DIRTY,
	  -EFAULT },
	{ STATE_RO, FORCED, STATE_FILE, RO_ENTRY | STATE_DIRTY, -EFAULT },
	/* soft-dirty tracking is on where VM_SOFTDIRTY is off */
	{ STATE_RO, FORCED, STATE_ANON, STATE_YOUNG, 1 },
	{ STATE_RO & ~VM_SOFTDIRTY, FORCED, STATE_ANON, STATE_YOUNG, -EFAULT },
	{ STATE_RO & ~VM_SOFTDIRTY, FORCED, STATE_ANON, RO_ENTRY, 1 },
	{ STATE_RO | VM_UFFD_WP, FORCED, STATE_ANON, RO_ENTRY, 1 },
	{ STATE_RO | VM_UFFD_WP, FORCED, STATE_ANON, RO_ENTRY | STATE_UFFD_WP,
	  -EFAULT },
	{ STATE_RO, FORCED, STATE_ANON, RO_ENTRY | STATE_UFFD_WP, 1 },
};

static struct folio *row_folio(const struct write_row *row, unsigned int order)
{
	struct folio *f = state_folio(gs, row->kind, order);

	if (row->kind == STATE_FILE)
		SetPageAnonExclusive(&f->page);	/* means nothing there */
	return f;
}

static void pte_is_followed_for_write(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(write_rows); i++) {
		const struct write_row *row = &write_rows[i];

		area(4 * i, 4, row->area);
		state_map(gs, 4 * i, row_folio(row, 0), 0, 1, row->bits);
		check(i, one(4 * i, row->flags | FOLL_NOFAULT), row->ret);
		check(i, one(4 * i, row->flags | FOLL_NOFAULT | FOLL_PIN),
		      row->ret);
		/* The same as the second page of a run whose first passes. */
		if (row->kind == STATE_FILE)
			continue;
		state_map(gs, 4 * i + 1, row_folio(row, 1), 0, 1,
			  row->area & VM_WRITE ? RO_ENTRY | STATE_WRITE :
						 RO_ENTRY);
		state_map(gs, 4 * i + 2,
			  page_folio(state_page(gs, 4 * i + 1)), 1, 1,
			  row->bits);
		check(i, get(4 * i + 1, 2, row->flags | FOLL_NOFAULT),
		      row->area & VM_MAYSHARE ? -EFAULT :
		      row->ret == 1 ? 2 : 1);
		put(row->area & VM_MAYSHARE ? 0 : row->ret == 1 ? 2 : 1);
	}
}

static void leaf_is_followed_for_write(void **state)
{
	(void)state;
	area(0, 512, STATE_RO);
	for (unsigned int i = 0; i < ARRAY_SIZE(write_rows); i++) {
		const struct write_row *row = &write_rows[i];
		struct vm_area_struct *vma = state_vma(gs, 0);
		struct folio *f;

		if (row->kind == STATE_FILE)
			continue;
		vma_set_flags(vma, row->area);
		f = mapped_leaf(0, row->bits);
		check(i, one(3, row->flags | FOLL_NOFAULT), row->ret);
		check(i, one(3, row->flags | FOLL_NOFAULT | FOLL_PIN),
		      row->ret);
		assert_counts(f, 1, 0, 1);
		assert_true(zap_huge_pmd(vma, mm_find_pmd(gs->mm, gs->base)));
	}
}

/* The end of the story that a forced write begins. */
static void forced_write_breaks_cow_and_stays_read_only(void **state)
{
	struct folio *f = state_folio(gs, STATE_FILE, 0);

	(void)state;
	state_area(gs, 0, 4, STATE_RO, &gs->file_ops);
	state_map(gs, 0, f, 0, 1, RO_ENTRY);
	assert_int_equal(pin(0, 1, FORCED), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_ptr_not_equal(got[0], &f->page);
	assert_true(PageAnon(got[0]) && PageAnonExclusive(got[0]));
	assert_false(pte_write(state_pte(gs, 0)));
	assert_true(pte_dirty(state_pte(gs, 0)));
	unpin_user_pages(got, 1);
	assert_int_equal(one(0, FORCED | FOLL_NOFAULT), 1);
}

/* ---- unsharing ----------------------------------------------------------- */

static void pages_are_unshared_or_not(void **state)
{
	static const struct {
		unsigned int flags;
		enum { EXCLUSIVE, SHARED, FILE_COW, FILE_SHARED, ZERO } what;
		long ret;
	} rows[] = {
		{ 0, EXCLUSIVE, 1 }, { 0, SHARED, 1 }, { 0, FILE_COW, 1 },
		{ 0, FILE_SHARED, 1 }, { 0, ZERO, 1 },
		{ FOLL_PIN, EXCLUSIVE, 1 }, { FOLL_PIN, SHARED, -EFAULT },
		{ FOLL_PIN, FILE_COW, 1 }, { FOLL_PIN, FILE_SHARED, 1 },
		{ FOLL_PIN, ZERO, 1 },
		{ FOLL_PIN | FOLL_LONGTERM, EXCLUSIVE, 1 },
		{ FOLL_PIN | FOLL_LONGTERM, SHARED, -EFAULT },
		{ FOLL_PIN | FOLL_LONGTERM, FILE_COW, -EFAULT },
		{ FOLL_PIN | FOLL_LONGTERM, FILE_SHARED, 1 },
		{ FOLL_PIN | FOLL_LONGTERM, ZERO, -EFAULT },
	};
	static const vm_flags_t both = VM_SHARED | VM_MAYSHARE;

	(void)state;
	area(EXCLUSIVE, 1, STATE_RO);
	mapped_folio(EXCLUSIVE, 0, RO_ENTRY);
	area(SHARED, 1, STATE_RO);
	mapped_folio(SHARED, 0, RO_ENTRY | STATE_SHARED);
	state_area(gs, FILE_COW, 1, STATE_RO, &gs->file_ops);
	state_map(gs, FILE_COW, state_folio(gs, STATE_FILE, 0), 0, 1, RO_ENTRY);
	state_area(gs, FILE_SHARED, 1, STATE_RO | both, &gs->file_ops);
	state_map(gs, FILE_SHARED, state_folio(gs, STATE_FILE, 0), 0, 1,
		  RO_ENTRY);
	state_map_zero(gs, area(ZERO, 1, STATE_RO), state_address(gs, ZERO),
		       STATE_YOUNG);
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		check(i, one(rows[i].what, rows[i].flags | FOLL_NOFAULT),
		      rows[i].ret);
		check(i, gup_faults.nr_records, 0);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].ret == 1)
			continue;
		check(i, one(rows[i].what, rows[i].flags), 1);
		/* the first one of its kind has made it exclusive */
		check(i, gup_faults.nr_records <= 1, true);
		if (gup_faults.nr_records)
			check(i, gup_fault_flag(0), FAULT_FLAG_UNSHARE);
		check(i, PageAnonExclusive(got[0]), true);
	}
}

/* A writable page-cache entry of a shared mapping has nothing to unshare. */
static void shared_mapping_is_pinned_as_it_is(void **state)
{
	struct folio *f = state_folio(gs, STATE_FILE, 2);

	(void)state;
	state_area(gs, 0, 8, STATE_RW | VM_SHARED | VM_MAYSHARE, &gs->file_ops);
	state_map(gs, 0, f, 0, 4, RO_ENTRY | STATE_WRITE);
	assert_int_equal(pin(0, 4, FOLL_WRITE | FOLL_LONGTERM), 4);
	assert_counts(f, 1 + 4 + 4, 4, 4);
	unpin_user_pages(got, 4);
	assert_int_equal(pin(0, 4, FOLL_LONGTERM), 4);
	unpin_user_pages(got, 4);
	assert_int_equal(gup_faults.nr_records, 0);
}

/* Two faults: the file's page, then one's own. */
static void longterm_read_of_missing_file_page(void **state)
{
	(void)state;
	state_area(gs, 0, 8, STATE_RO, &gs->file_ops);
	assert_int_equal(pin(0, 1, FOLL_LONGTERM), 1);
	assert_int_equal(gup_faults.nr_records, 2);
	assert_int_equal(gup_fault_flag(0), 0);
	assert_int_equal(gup_fault_flag(1), FAULT_FLAG_UNSHARE);
	assert_true(PageAnon(got[0]));
	unpin_user_pages(got, 1);
}

/* Sole owner again: the page is kept, and only becomes exclusive. */
static void sole_owner_is_reused(void **state)
{
	struct folio *f, *g;

	(void)state;
	area(0, 8, STATE_RW);
	f = mapped_folio(0, 0, RO_ENTRY | STATE_ORPHAN);
	g = mapped_folio(1, 0, RO_ENTRY | STATE_ORPHAN);
	assert_int_equal(pin(0, 1, 0), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_ptr_equal(got[0], &f->page);
	assert_true(PageAnonExclusive(got[0]));
	assert_false(pte_write(state_pte(gs, 0)));
	unpin_user_pages(got, 1);
	assert_int_equal(pin(1, 1, FOLL_WRITE), 1);
	assert_ptr_equal(got[0], &g->page);
	assert_true(pte_write(state_pte(gs, 1)));
	unpin_user_pages(got, 1);
}

/* ---- dumps --------------------------------------------------------------- */

static void dumps_leave_holes(void **state)
{
	struct vm_area_struct *vma = area(0, 4, STATE_RW);
	unsigned long tables;

	(void)state;
	/* no tables at all, and then an empty one */
	tables = atomic64_read(&gs->mm->pgtables);
	assert_int_equal(one(0, FOLL_DUMP | FOLL_FORCE), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(atomic64_read(&gs->mm->pgtables), tables);
	mapped_folio(1, 0, STATE_OWN);
	assert_int_equal(one(0, FOLL_DUMP), -EFAULT);
	assert_int_equal(one(1, FOLL_DUMP), 1);
	state_map_zero(gs, vma, state_address(gs, 2), STATE_YOUNG);
	assert_int_equal(one(2, FOLL_DUMP), -EFAULT);
	assert_int_equal(one(2, FOLL_DUMP | FOLL_PIN), -EFAULT);
	assert_int_equal(one(2, 0), 1);
	assert_int_equal(gup_faults.nr_records, 0);
	/* A huge entry that is not present is a hole as well. */
	area(512, 512, STATE_RW);
	assert_true(state_map_absent_leaf(gs, state_vma(gs, 512),
					  state_address(gs, 512)));
	assert_int_equal(one(700, FOLL_DUMP), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(one(700, FOLL_NOFAULT), -EFAULT);
}

static void dumps_read_files(void **state)
{
	(void)state;
	state_area(gs, 0, 4, STATE_RO, &gs->file_ops);
	state_area(gs, 4, 4, STATE_RO, &gs->bare_ops);
	assert_int_equal(one(0, FOLL_DUMP), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	assert_int_equal(one(4, FOLL_DUMP), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(one(4, 0), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 1);
}

/* A hint is not a hole: it faults.  On a huge leaf it is one, as in Linux. */
static void dumps_honour_hints(void **state)
{
	const unsigned int flags = FOLL_DUMP | FOLL_HONOR_NUMA_FAULT;

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 1, RO_ENTRY | STATE_PROTNONE);
	assert_int_equal(one(0, flags), 1);
	assert_int_equal(gup_faults.nr_records, 1);
	area(512, 512, STATE_RW);
	mapped_leaf(512, RO_ENTRY | STATE_PROTNONE);
	assert_int_equal(one(600, flags), -EFAULT);
	assert_int_equal(one(600, flags | FOLL_PIN), -EFAULT);
	assert_int_equal(gup_faults.nr_records, 0);
	assert_int_equal(one(600, FOLL_DUMP), 1);
	assert_int_equal(gup_faults.nr_records, 0);
}

/* ---- what a fault is asked, and what its answer becomes ------------------ */

static void fault_flags_follow_from_gup_flags(void **state)
{
	static const struct {
		unsigned int flags, fault;
	} rows[] = {
		{ 0, 0 },
		{ FOLL_WRITE, FAULT_FLAG_WRITE },
		{ FOLL_NOWAIT,
		  FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT },
		/* without a lock to drop, signals and kills change nothing */
		{ FOLL_INTERRUPTIBLE, 0 },
		{ FOLL_WRITE | FOLL_FORCE | FOLL_HWPOISON, FAULT_FLAG_WRITE },
	};
	const unsigned int drops = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE;
	int locked;

	(void)state;
	area(0, 64, STATE_RW);
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		check(i, pin(3 * i, 1, rows[i].flags), 1);
		check(i, gup_fault_flag(0), rows[i].fault);
		unpin_user_pages(got, 1);
		check(i, pin_touch(3 * i + 1, 1, rows[i].flags), 1);
		check(i, gup_fault_flag(0), rows[i].fault | FAULT_FLAG_REMOTE);
		unpin_user_pages(got, 1);
		check(i, pin_unlockable(3 * i + 2, 1, rows[i].flags, &locked),
		      1);
		check(i, gup_fault_flag(0), rows[i].fault | FAULT_FLAG_REMOTE |
		      drops | (rows[i].flags & FOLL_INTERRUPTIBLE ?
			       FAULT_FLAG_INTERRUPTIBLE : 0));
		unpin_user_pages(got, 1);
		check(i, locked, 1);
	}
}

static void fault_answers_become_errnos(void **state)
{
	static const struct {
		unsigned int flags;
		enum fault_answer answer;
		long ret;
	} rows[] = {
		{ 0, ANSWER_OOM, -ENOMEM },
		{ FOLL_HWPOISON, ANSWER_OOM, -ENOMEM },
		{ 0, ANSWER_SIGBUS, -EFAULT },
		{ FOLL_HWPOISON, ANSWER_SIGBUS, -EFAULT },
		{ 0, ANSWER_HWPOISON, -EFAULT },
		{ FOLL_HWPOISON, ANSWER_HWPOISON, -EHWPOISON },
	};
	struct fault_rule rule = { .page = 1 };

	(void)state;
	area(0, 4, STATE_RW);
	mapped_folio(0, 0, STATE_OWN);
	gup_faults.rules = &rule;
	gup_faults.nr_rules = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		rule.answer = rows[i].answer;
		rule.nth = 2 * i;
		check(i, pin(1, 1, rows[i].flags), rows[i].ret);
		/* what came before hides it */
		rule.nth = 2 * i + 1;
		check(i, pin(0, 2, rows[i].flags), 1);
		unpin_user_pages(got, 1);
	}
	assert_int_equal(nr_foll_pin_acquired(gs->machine),
			 nr_foll_pin_released(gs->machine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		gup_test(areas_permit_or_not),
		gup_test(anon_flag_refuses_files),
		gup_test(hole_below_stack_is_a_hole),
		gup_test(pte_is_followed_for_write),
		gup_test(leaf_is_followed_for_write),
		gup_test(forced_write_breaks_cow_and_stays_read_only),
		gup_test(pages_are_unshared_or_not),
		gup_test(shared_mapping_is_pinned_as_it_is),
		gup_test(longterm_read_of_missing_file_page),
		gup_test(sole_owner_is_reused),
		gup_test(dumps_leave_holes),
		gup_test(dumps_read_files),
		gup_test(dumps_honour_hints),
		gup_test(fault_flags_follow_from_gup_flags),
		gup_test(fault_answers_become_errnos),
	};

	return cmocka_run_group_tests(tests, gup_group_setup,
				      gup_group_teardown);
}
