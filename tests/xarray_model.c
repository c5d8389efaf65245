/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever is done to it, an index agrees with a flat array of entries,
 * extents and marks: loads, orders, marks, every kind of iteration.  A store
 * that lacks memory changes nothing.  Each fan-out.
 *
 * Source: lib/xarray.h; filemap.md 4, X41
 */
#include "tests/random.h"
#include "tests/xarray_test.h"

#include <string.h>

#define SPAN		(FAN * FAN < 1024 ? 1024u : FAN * FAN)
#define MAX_ORDER	(2 * SHIFT + 1 < 10 ? 2 * SHIFT + 1 : 10u)

/* Index base + i. */
struct cell {
	void *entry;
	unsigned int first;	/* of the entry that covers it */
	unsigned int order;
	unsigned int marks;	/* of that entry, in its first cell */
};

static struct cell cells[4096];
static unsigned long base;
static struct random rnd;
static struct xarray *const xa = &test_xa;
static unsigned long serial;

static void *some_entry(void)
{
	serial++;
	return random_chance(&rnd, 50) ? ptr(serial) : val(serial);
}

static unsigned int some_index(void)
{
	static unsigned int last;

	if (random_chance(&rnd, 40))
		last = (unsigned int)random_below(&rnd, SPAN);
	else
		last = (last + (unsigned int)random_below(&rnd, 5)) % SPAN;
	return last;
}

static unsigned int some_order(void)
{
	return random_chance(&rnd, 50) ? 0 :
	       (unsigned int)random_below(&rnd, MAX_ORDER + 1);
}

static bool covered(unsigned int i)
{
	return cells[i].entry != NULL;
}

static unsigned int end_of(unsigned int i)
{
	return covered(i) ? cells[i].first + (1u << cells[i].order) : i + 1;
}

static void model_fill(unsigned int first, unsigned int order, void *entry,
		       unsigned int marks)
{
	for (unsigned int i = first; i < first + (1u << order); i++)
		cells[i] = (struct cell){ entry, entry ? first : i,
					  entry ? order : 0, 0 };
	cells[first].marks = entry ? marks : 0;
}

static void model_store(unsigned int i, unsigned int order, void *entry)
{
	unsigned int first = i >> order << order, marks = 0;

	if (covered(first) && cells[first].order > order) {
		order = cells[first].order;
		first = cells[first].first;
	}
	for (i = first; i < first + (1u << order); i++)
		marks |= cells[i].marks;
	model_fill(first, order, entry, marks);
}

/* ---- comparing ---------------------------------------------------------- */

static void compare_cell(unsigned int i)
{
	const struct cell *c = &cells[i];

	assert_ptr_equal(xa_load(xa, base + i), c->entry);
	assert_int_equal(xa_get_order(xa, base + i), c->order);
	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		assert_int_equal(xa_get_mark(xa, base + i, mark),
				 covered(i) &&
				 cells[c->first].marks >> mark & 1);
}

static unsigned int next_entry(unsigned int i, unsigned int marks)
{
	while (i < SPAN && !(covered(i) &&
			     (!marks || cells[cells[i].first].marks & marks)))
		i++;
	return i;
}

/* xas_find() and xas_find_marked() from @i to the end, pausing at times. */
static void compare_iteration(unsigned int i, bool marked, xa_mark_t mark,
			      unsigned int pause)
{
	unsigned long max = base + SPAN - 1;
	XA_STATE(xas, xa, base + i);
	void *entry;

	for (;;) {
		i = next_entry(i, marked ? 1u << mark : 0);
		entry = marked ? xas_find_marked(&xas, max, mark) :
				 xas_next_entry(&xas, max);
		if (i >= SPAN)
			break;
		assert_ptr_equal(entry, cells[i].entry);
		assert_int_equal(xas.xa_index,
				 base + (marked ? cells[i].first : i));
		assert_int_equal(xas_get_order(&xas), cells[i].order);
		assert_ptr_equal(xas_reload(&xas), entry);
		i = end_of(i);
		if (random_chance(&rnd, pause))
			xas_pause(&xas);
	}
	assert_null(entry);
}

static void compare_all(void)
{
	xa_mark_t mark = (xa_mark_t)random_below(&rnd, 3);

	for (unsigned int i = 0; i < SPAN; i++)
		compare_cell(i);
	compare_iteration(0, false, 0, 0);
	compare_iteration(some_index(), false, 0, 30);
	compare_iteration(some_index(), true, mark, 0);
	compare_iteration(some_index(), true, mark, 30);
}

/* ---- doing -------------------------------------------------------------- */

static bool maybe_nomem(struct xa_state *xas, unsigned long nodes)
{
	/* A failed store links nothing. */
	if (xas_error(xas)) {
		assert_valid(xa);
		assert_int_equal(xa_count_nodes(xa), nodes);
	}
	fail_alloc = random_chance(&rnd, 30) ? 1 : 0;
	if (xas_nomem(xas, 0))
		return true;
	fail_alloc = 0;
	return false;
}

static void do_store(void)
{
	unsigned int order = some_order(), i = some_index() >> order << order;
	void *entry = random_chance(&rnd, 40) ? NULL : some_entry();
	void *was = cells[i].entry, *old;
	XA_STATE_ORDER(xas, xa, base + i, order);
	unsigned long nodes;

	if (i + (1u << order) > SPAN)
		return;
	do {
		nodes = xa_count_nodes(xa);
		old = xas_store(&xas, entry);
	} while (maybe_nomem(&xas, nodes));
	if (xas_error(&xas))
		return;
	assert_ptr_equal(old, was);
	model_store(i, order, entry);
}

static void do_mark(void)
{
	unsigned int i = some_index();
	xa_mark_t mark = (xa_mark_t)random_below(&rnd, 3);

	if (random_chance(&rnd, 60)) {
		xa_set_mark(xa, base + i, mark);
		if (covered(i))
			cells[cells[i].first].marks |= 1u << mark;
	} else {
		xa_clear_mark(xa, base + i, mark);
		cells[cells[i].first].marks &= ~(1u << mark);
	}
}

/* What a page cache does: conflicts, then the store, by one cursor. */
static void do_conflict(void)
{
	unsigned int order = some_order(), i = some_index() >> order << order;
	unsigned int at = i;
	XA_STATE_ORDER(xas, xa, base + i, order);
	unsigned long nodes;
	void *entry = some_entry(), *found;

	if (i + (1u << order) > SPAN)
		return;
	do {
		nodes = xa_count_nodes(xa);
		at = i;
		xas_for_each_conflict(&xas, found) {
			at = next_entry(at, 0);
			assert_true(at < i + (1u << order));
			assert_ptr_equal(found, cells[at].entry);
			assert_int_equal(xas_get_order(&xas),
					 cells[at].order);
			at = end_of(at);
		}
		assert_true(next_entry(at, 0) >= i + (1u << order));
		assert_int_equal(xas.xa_index, base + i);
		xas_store(&xas, entry);
	} while (maybe_nomem(&xas, nodes));
	if (!xas_error(&xas))
		model_store(i, order, entry);
}

static void do_run(void)
{
	unsigned int i = some_index(), nr, n, want;
	void *entries[FAN + 4];
	XA_STATE(xas, xa, base + i);
	unsigned long nodes;

	nr = 1 + (unsigned int)random_below(&rnd, FAN + 4);
	nr = min(nr, SPAN - i);
	for (n = 0; n < nr; n++)
		entries[n] = some_entry();
	for (want = 0; want < nr && !covered(i + want); want++)
		if (want && (base + i + want) % FAN == 0)
			break;
	do {
		nodes = xa_count_nodes(xa);
		n = xas_store_run(&xas, entries, nr);
	} while (maybe_nomem(&xas, nodes));
	if (xas_error(&xas)) {
		assert_int_equal(n, 0);
		return;
	}
	assert_int_equal(n, want);
	assert_int_equal(xas.xa_index, base + i + n);
	for (n = 0; n < want; n++)
		model_fill(i + n, 0, entries[n], 0);
	if (i + want < SPAN)
		assert_ptr_equal(xas_load(&xas), cells[i + want].entry);
}

/* Fill the holes of an aligned range through one cursor. */
static void do_create_range(void)
{
	unsigned int order = some_order(), i = some_index() >> order << order;
	XA_STATE_ORDER(xas, xa, base + i, order);
	unsigned long nodes;
	void *entry;

	if (i + (1u << order) > SPAN)
		return;
	do {
		nodes = xa_count_nodes(xa);
		xas_set_order(&xas, base + i, order);
		xas_create_range(&xas);
	} while (maybe_nomem(&xas, nodes));
	if (xas_error(&xas))
		return;
	for (unsigned int n = i; n < i + (1u << order); n++) {
		entry = n == i ? xas_load(&xas) : xas_next(&xas);
		assert_int_equal(xas.xa_index, base + n);
		if (covered(n))
			continue;
		assert_null(entry);
		entry = some_entry();
		xas_store(&xas, entry);
		assert_int_equal(xas_error(&xas), 0);
		model_fill(n, 0, entry, 0);
	}
}

static void do_split(void)
{
	unsigned int i = next_entry(some_index(), 0), order, to, first, marks;
	void *entry;

	if (i >= SPAN || !cells[i].order)
		return;
	order = cells[i].order;
	first = cells[i].first;
	to = (unsigned int)random_below(&rnd, order);
	marks = cells[first].marks;
	entry = random_chance(&rnd, 50) ? cells[i].entry : some_entry();

	XA_STATE_ORDER(xas, xa, base + i, to);

	fail_alloc = random_chance(&rnd, 30) ?
		     1 + (long)random_below(&rnd, FAN) : 0;
	xas_split_alloc(&xas, entry, order, 0);
	fail_alloc = 0;
	if (xas_error(&xas)) {
		assert_int_equal(xas_error(&xas), -ENOMEM);
		assert_false(xas_nomem(&xas, 0));
		return;
	}
	if (random_chance(&rnd, 20)) {
		/* Not split after all; the nodes serve as any spares. */
		i = some_index();
		xas_set_order(&xas, base + i, 0);
		do {
			xas_store(&xas, entry);
		} while (xas_nomem(&xas, 0));
		assert_int_equal(xas_error(&xas), 0);
		model_store(i, 0, entry);
		return;
	}
	xas_split(&xas, entry, order);
	xas_destroy(&xas);
	for (i = first; i < first + (1u << order); i += 1u << to)
		model_fill(i, to, entry, marks);
}

static void do_range(void)
{
	unsigned int i = some_index(), n;
	unsigned int last = i + (unsigned int)random_below(&rnd, 3 * FAN);
	void *entry = random_chance(&rnd, 50) ? NULL : some_entry();

	last = min(last, SPAN - 1);
	assert_false(xa_is_err(xa_store_range(xa, base + i, base + last, entry,
					      0)));
	while (i <= last) {
		for (n = 0; !(i & BIT(n)) && n < 16 &&
		     i + BIT(n + 1) - 1 <= last; n++)
			;
		model_store(i, n, entry);
		i += BIT(n);
	}
}

/* Index by index, in both directions. */
static void do_walk(void)
{
	unsigned int i = some_index();
	XA_STATE(xas, xa, base + i);
	void *entry = xas_next(&xas);

	for (int step = 0; step < 40; step++) {
		assert_int_equal(xas.xa_index, base + i);
		if (xa_is_sibling(entry)) {
			assert_true(covered(i));
			assert_true(i > cells[i].first);
		} else {
			assert_ptr_equal(entry, cells[i].entry);
		}
		if (random_chance(&rnd, 70)) {
			if (++i == SPAN)
				break;
			entry = xas_next(&xas);
		} else {
			if (!i--)
				break;
			entry = xas_prev(&xas);
		}
	}
}

/* Erase, overwrite and mark while iterating. */
static void do_edit(void)
{
	unsigned int i = some_index();
	unsigned long max = base + SPAN - 1;
	XA_STATE(xas, xa, base + i);
	void *entry, *new;
	int steps = 0;

	xas_for_each(&xas, entry, max) {
		i = next_entry(i, 0);
		assert_ptr_equal(entry, cells[i].entry);
		if (random_chance(&rnd, 50)) {
			xas_store(&xas, NULL);
			unsigned int end = end_of(i);

			model_store(i, 0, NULL);
			i = end;
		} else {
			new = some_entry();
			xas_store(&xas, new);
			xas_set_mark(&xas, XA_MARK_1);
			model_store(i, 0, new);
			cells[cells[i].first].marks |= 1u << XA_MARK_1;
			i = end_of(i);
		}
		if (++steps == 10)
			return;
	}
	assert_true(next_entry(i, 0) >= SPAN);
}

static void (*const actions[])(void) = {
	do_store, do_store, do_store, do_store, do_mark, do_mark, do_conflict,
	do_run, do_create_range, do_split, do_range, do_walk, do_edit,
};

static void run_model(unsigned long at, unsigned int rounds)
{
	base = at;
	memset(cells, 0, sizeof(cells));
	for (unsigned int i = 0; i < SPAN; i++)
		cells[i].first = i;
	for (unsigned int n = 1; n <= rounds; n++) {
		if (random_chance(&rnd, 1))
			do_range();
		actions[random_below(&rnd, ARRAY_SIZE(actions))]();
		assert_valid(xa);
		compare_cell(some_index());
		if (n % 100 == 0)
			compare_all();
		/* Often almost empty. */
		if (n % 500 == 0) {
			assert_false(xa_is_err(xa_store_range(xa, base,
					base + SPAN - 1, NULL, 0)));
			for (unsigned int i = 0; i < SPAN; i++)
				model_fill(i, 0, NULL, 0);
			assert_gone(xa);
		}
	}
}

static void model_at_zero(void **state)
{
	(void)state;
	run_model(0, 3000);
}

static void model_across_levels(void **state)
{
	(void)state;
	run_model((FAN * FAN * FAN - 1ul) * 4096, 3000);
}

static void model_at_max(void **state)
{
	(void)state;
	run_model(0 - (unsigned long)SPAN, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XA_TEST(model_at_zero),
		XA_TEST(model_across_levels),
		XA_TEST(model_at_max),
	};

	random_init(&rnd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
