/* SPDX-License-Identifier: MIT */
/*
 * Claim: what a batch add is made of: spares that suffice, so that nothing is
 * allocated between two stores, runs that stop where something is, one descent
 * and one lock hold a leaf.  Each fan-out.
 *
 * Source: lib/xarray.h; filemap.md 3.4, 3.5
 */
#include "tests/random.h"
#include "tests/xarray_test.h"

#include <string.h>

static struct xarray *const xa = &test_xa;
static struct random rnd;
static void *entries[8192];

static int setup(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = ptr(i);
	return xa_setup(state);
}

/* Store @nr entries from @first on, a leaf a hold; how many holds. */
static unsigned int store_batch(struct xa_state *xas, unsigned long first,
				unsigned int nr)
{
	unsigned int done = 0, holds = 0, n;

	xas_set(xas, first);
	while (done < nr) {
		xas_lock(xas);
		n = xas_store_run(xas, entries + done, nr - done);
		xas_unlock(xas);
		assert_true(n > 0);
		done += n;
		holds++;
		assert_int_equal(xas->xa_index, first + done);
		xas_reset(xas);
	}
	return holds;
}

static void check_batch(unsigned long first, unsigned int nr)
{
	unsigned long last = first + nr - 1;
	XA_STATE(xas, xa, first);
	unsigned int holds;

	assert_true(xas_alloc_spares(&xas, xas_spares_for(&xas, last), 0));
	fail_alloc = -1;
	holds = store_batch(&xas, first, nr);
	fail_alloc = 0;
	assert_int_equal(holds, last / FAN - first / FAN + 1);
	xas_destroy(&xas);
	assert_valid(xa);
	for (unsigned int i = 0; i < nr; i++)
		assert_ptr_equal(xa_load(xa, first + i), entries[i]);
	assert_null(xa_load(xa, first - 1));
	assert_null(xa_load(xa, last + 1));
}

/* Into an empty index, below a taller root, and above a lower one. */
static void spares_suffice(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 7, 64, 65, 200, 1000 };

	(void)state;
	for (unsigned int bits = 1; bits < 62; bits += 3) {
		for (unsigned int s = 0; s < ARRAY_SIZE(sizes); s++) {
			unsigned long first = (1ul << bits) +
					      random_below(&rnd, 1ul << bits);

			check_batch(first, sizes[s]);
			xa_destroy(xa);
			store_value(xa, ULONG_MAX);
			check_batch(first, sizes[s]);
			xa_destroy(xa);
			store_value(xa, 0);
			check_batch(first, sizes[s]);
			xa_destroy(xa);
		}
	}
}

/* A run ends before what is there, even a sibling, and tells what. */
static void run_stops(void **state)
{
	XA_STATE(xas, xa, FAN);

	(void)state;
	store_value(xa, FAN + 2);
	store_order(xa, FAN + 4, 2, val(44));
	assert_true(xas_alloc_spares(&xas, 4, 0));
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, entries, 7), 2);
	assert_int_equal(xas.xa_index, FAN + 2);
	assert_ptr_equal(xas_load(&xas), val(FAN + 2));
	assert_int_equal(xas_store_run(&xas, entries + 2, 5), 0);
	assert_int_equal(xas_error(&xas), 0);
	assert_ptr_equal(xas_next(&xas), NULL);
	assert_int_equal(xas_store_run(&xas, entries + 3, 4), 1);
	assert_ptr_equal(xas_load(&xas), val(44));
	assert_int_equal(xas_get_order(&xas), 2);
	xas_set(&xas, FAN + 6);
	assert_int_equal(xas_store_run(&xas, entries, 2), 0);
	xa_unlock(xa);
	xas_destroy(&xas);
	assert_valid(xa);
}

/* Below an entry of a whole leaf there is no leaf, and none is made. */
static void run_meets_large(void **state)
{
	XA_STATE(xas, xa, FAN + 3);

	(void)state;
	store_order(xa, FAN, SHIFT, val(1));
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, entries, 4), 0);
	assert_int_equal(xas_error(&xas), 0);
	assert_ptr_equal(xas_load(&xas), val(1));
	xa_unlock(xa);
	assert_int_equal(xa_get_order(xa, FAN + 3), SHIFT);
}

static void run_needs_memory(void **state)
{
	XA_STATE(xas, xa, 5);

	(void)state;
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, entries, 3), 0);
	assert_int_equal(xas_error(&xas), -ENOMEM);
	xa_unlock(xa);
	assert_gone(xa);
	assert_true(xas_nomem(&xas, 0));
	assert_int_equal(xas.xa_index, 5);
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, entries, 3), 3);
	xa_unlock(xa);
	assert_false(xas_nomem(&xas, 0));
	assert_valid(xa);
}

/* The last index is a place like any other; behind it there is none. */
static void run_at_max(void **state)
{
	XA_STATE(xas, xa, ULONG_MAX - 2);

	(void)state;
	assert_true(xas_alloc_spares(&xas, xas_spares_for(&xas, ULONG_MAX), 0));
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, entries, 7), 3);
	assert_ptr_equal(xas.xa_node, XAS_WRAPPED);
	assert_int_equal(xas_store_run(&xas, entries, 1), 0);
	assert_int_equal(xas_error(&xas), -ERANGE);
	xa_unlock(xa);
	xas_destroy(&xas);
	assert_null(xa_load(xa, 0));
	assert_ptr_equal(xa_load(xa, ULONG_MAX), entries[2]);
	assert_valid(xa);
}

/* What is alone at index 0 is the head, and the tree does not grow for nothing. */
static void run_meets_head(void **state)
{
	XA_STATE(xas, xa, 0);
	void *olds[2];

	(void)state;
	for (unsigned int value = 0; value < 2; value++) {
		void *head = value ? val(7) : ptr(7);

		store(xa, 0, head);
		assert_true(xas_alloc_spares(&xas, 2, 0));
		xa_lock(xa);
		xas_set(&xas, 0);
		assert_int_equal(xas_store_run(&xas, entries, 2), 0);
		assert_ptr_equal(xas_load(&xas), head);
		xas_set(&xas, 0);
		assert_int_equal(xas_replace_run(&xas, entries, olds, 2), 0);
		assert_ptr_equal(xas_load(&xas), head);
		xa_unlock(xa);
		assert_int_equal(xas_error(&xas), 0);
		assert_valid(xa);
		assert_ptr_equal(xa_erase(xa, 0), head);
	}
	xas_destroy(&xas);
}

/* The values among them are counted. */
static void run_of_values(void **state)
{
	XA_STATE(xas, xa, 1);
	void *mixed[] = { val(1), ptr(2), val(3) };

	(void)state;
	assert_true(xas_alloc_spares(&xas, 1, 0));
	xa_lock(xa);
	assert_int_equal(xas_store_run(&xas, mixed, 3), 3);
	xa_unlock(xa);
	xas_destroy(&xas);
	assert_int_equal(xa_to_node(xa->xa_head)->nr_values, 2);
	assert_valid(xa);
}

/*
 * A leaf that is full before it is linked, in any place of any tree: what a run
 * stored would be; or nothing has changed, and the leaf is a spare again.
 */
static void fm_B18(void **state)
{
	static const unsigned long others[] = { 0, 1, FAN - 1, FAN, FAN + 3,
						FAN * FAN, ULONG_MAX };
	static const unsigned long firsts[] = { 0, FAN, 2 * FAN, FAN * FAN,
						FAN * FAN * FAN - FAN,
						ULONG_MAX - FAN + 1 };

	(void)state;
	for (unsigned int i = 0; i < 64 * ARRAY_SIZE(firsts); i++) {
		const unsigned long first = firsts[i / 64];
		bool empty = true, linked;
		XA_STATE(xas, xa, first);
		struct xa_node *leaf;

		for (unsigned int k = 0; k < 6; k++) {
			unsigned long at = others[k + (k > 4)];

			if (!(i >> k & 1))
				continue;
			store(xa, at, val(at));
			empty &= at - first >= FAN;
		}
		assert_true(xas_alloc_spares(&xas, xas_spares_for(&xas,
					     first + FAN - 1), 0));
		leaf = xas_fill_leaf(&xas, entries);
		assert_non_null(leaf);
		fail_alloc = -1;
		xa_lock(xa);
		linked = xas_splice_leaf(&xas, leaf);
		assert_int_equal(xas_error(&xas), 0);
		if (linked)
			assert_ptr_equal(xas.xa_node, first + FAN ? XAS_RESTART :
					 XAS_WRAPPED);
		/* Whether the cursor has walked or not, it goes on from there. */
		if (!linked) {
			unsigned int room = 0;

			while (room < FAN && !xa_load(xa, first + room))
				room++;
			assert_int_equal(xas_store_run(&xas, entries, FAN),
					 room);
			for (unsigned int n = 0; n < room; n++)
				assert_ptr_equal(__xa_erase(xa, first + n),
						 entries[n]);
			xas_spare_leaf(&xas, leaf);
		}
		xa_unlock(xa);
		fail_alloc = 0;
		assert_int_equal(linked, empty);
		assert_valid(xa);
		for (unsigned int n = 0; n < FAN && linked; n++)
			assert_ptr_equal(xa_load(xa, first + n), entries[n]);
		for (unsigned int k = 0; k < 6; k++) {
			unsigned long at = others[k + (k > 4)];

			if (i >> k & 1)
				assert_ptr_equal(xa_load(xa, at), val(at));
			else if (at - first >= FAN || !linked)
				assert_null(xa_load(xa, at));
		}
		/* A leaf that was not linked serves as an empty node. */
		xas_set(&xas, 5 * FAN * FAN);
		assert_true(xas_alloc_spares(&xas, xas_spares_for(&xas,
					     5 * FAN * FAN), 0));
		store_batch(&xas, 5 * FAN * FAN, 1);
		assert_ptr_equal(xa_load(xa, 5 * FAN * FAN), entries[0]);
		assert_null(xa_load(xa, 5 * FAN * FAN + 1));
		xas_destroy(&xas);
		assert_valid(xa);
		if (linked)
			for (unsigned int n = 0; n < FAN; n++)
				assert_ptr_equal(xa_erase(xa, first + n),
						 entries[n]);
		assert_valid(xa);
		xa_destroy(xa);
	}
}

/* Above the leaf a node is missing, then it is there. */
static void splice_needs_memory(void **state)
{
	XA_STATE(xas, xa, FAN * FAN);
	struct xa_node *leaf;

	(void)state;
	assert_null(xas_fill_leaf(&xas, entries));
	assert_true(xas_alloc_spares(&xas, 1, 0));
	leaf = xas_fill_leaf(&xas, entries);
	xa_lock(xa);
	assert_false(xas_splice_leaf(&xas, leaf));
	assert_int_equal(xas_error(&xas), -ENOMEM);
	xa_unlock(xa);
	assert_gone(xa);
	assert_true(xas_nomem(&xas, 0));
	xa_lock(xa);
	assert_true(xas_splice_leaf(&xas, leaf));
	xa_unlock(xa);
	assert_false(xas_nomem(&xas, 0));
	assert_valid(xa);
	assert_ptr_equal(xa_load(xa, FAN * FAN + FAN - 1), entries[FAN - 1]);
}

#define BATCH_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, xa_teardown)

/* Any leaf, any run, against a flat array. */
static void replace_runs(void **state)
{
	void *was[FAN], *olds[FAN];

	(void)state;
	for (unsigned int round = 0; round < 3000; round++) {
		unsigned int first = (unsigned int)random_below(&rnd, FAN);
		unsigned int nr = 1 + (unsigned int)random_below(&rnd, FAN);
		XA_STATE(xas, xa, FAN + first);
		unsigned int n, stop;

		for (unsigned int i = 0; i < FAN; i++) {
			unsigned int order = (unsigned int)random_below(&rnd, 3);

			if (order > 1 || i & ((1u << order) - 1))
				order = 0;
			if (random_chance(&rnd, 5))
				xa_store(xa, FAN + i, ptr(i), 0);
			else if (random_chance(&rnd, 60))
				store_order(xa, FAN + i, random_chance(&rnd, 10)
					    ? order : 0, val(i));
			i += (1u << order) - 1;
		}
		for (unsigned int i = 0; i < FAN; i++)
			was[i] = xa_load(xa, FAN + i);
		for (stop = first; stop < min(first + nr, FAN); stop++)
			if (was[stop] && (!xa_is_value(was[stop]) ||
					  xa_get_order(xa, FAN + stop)))
				break;
		assert_true(xas_alloc_spares(&xas, 3, 0));
		xa_lock(xa);
		n = xas_replace_run(&xas, entries, olds, nr);
		xa_unlock(xa);
		xas_destroy(&xas);
		assert_int_equal(n, stop - first);
		for (unsigned int i = 0; i < FAN; i++) {
			bool in = i >= first && i < stop;

			assert_ptr_equal(xa_load(xa, FAN + i), in ?
					 entries[i - first] : was[i]);
			if (in)
				assert_ptr_equal(olds[i - first], was[i]);
		}
		assert_valid(xa);
		xa_destroy(xa);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BATCH_TEST(spares_suffice),
		BATCH_TEST(run_stops),
		BATCH_TEST(run_meets_large),
		BATCH_TEST(run_needs_memory),
		BATCH_TEST(run_at_max),
		BATCH_TEST(run_meets_head),
		BATCH_TEST(run_of_values),
		BATCH_TEST(fm_B18),
		BATCH_TEST(splice_needs_memory),
		BATCH_TEST(replace_runs),
	};

	random_init(&rnd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
