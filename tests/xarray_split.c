/* SPDX-License-Identifier: MIT */
/*
 * Claim: splitting, making room for a range, and the listener of nodes do what
 * Linux's do: filemap.md, table X (the ids), but where lib/xarray.h says
 * Differs.  Each fan-out.
 *
 * Source: lib/test_xarray.c (the scenarios)
 */
#include "tests/xarray_test.h"

static struct xarray *const xa = &test_xa;

/* ---- splitting ---------------------------------------------------------- */

static void split(struct xa_state *xas, void *entry, unsigned int order)
{
	xas_split_alloc(xas, entry, order, 0);
	assert_int_equal(xas_error(xas), 0);
	xas_lock(xas);
	assert_ptr_equal(xas_load(xas), entry);
	xas_split(xas, entry, order);
	xas_unlock(xas);
	assert_int_equal(xas->xa_nr_spares, 0);
	xas_reset(xas);
}

static void check_split(unsigned long first, unsigned int order,
			unsigned int to)
{
	unsigned long nr = 1ul << order, piece = 1ul << to, i;
	XA_STATE_ORDER(xas, xa, first, to);
	unsigned int n = 0;
	void *entry;

	store_order(xa, first, order, val(1));
	xa_set_mark(xa, first, XA_MARK_1);
	split(&xas, val(1), order);
	assert_valid(xa);
	for (i = 0; i < nr; i++) {
		assert_ptr_equal(xa_load(xa, first + i), val(1));
		assert_int_equal(xa_get_order(xa, first + i), to);
	}
	for (i = 0; i < nr; i += piece) {
		store(xa, first + i, ptr(i));
		assert_ptr_equal(xa_load(xa, first + i), ptr(i));
		assert_ptr_equal(xa_load(xa, first + i + piece - 1), ptr(i));
		if (i + piece < nr)
			assert_ptr_equal(xa_load(xa, first + i + piece),
					 val(1));
	}
	assert_valid(xa);
	assert_null(xa_load(xa, first + nr));
	xas_set(&xas, 0);
	xas_for_each_marked(&xas, entry, ULONG_MAX, XA_MARK_1) {
		assert_ptr_equal(entry, ptr(n * piece));
		n++;
	}
	assert_int_equal(n, nr / piece);
	assert_false(xa_marked(xa, XA_MARK_0));
	xa_destroy(xa);
}

static void fm_X35_split(void **state)
{
	(void)state;
	for (unsigned int order = 1; order < 2 * SHIFT; order++) {
		for (unsigned int to = 0; to < order; to++) {
			if (order >= to - to % SHIFT + 2 * SHIFT)
				continue;
			check_split(0, order, to);
			check_split(1ul << order, order, to);
			check_split(3ul << order, order, to);
		}
	}
}

static void fm_X35_split_refused(void **state)
{
	(void)state;
	for (unsigned int order = 2 * SHIFT; order < 2 * SHIFT + 2; order++) {
		XA_STATE(xas, xa, 0);

		store_order(xa, 0, order, val(1));
		xas_split_alloc(&xas, val(1), order, 0);
		assert_int_equal(xas_error(&xas), -ENOMEM);
		assert_false(xas_nomem(&xas, 0));
		assert_int_equal(xa_get_order(xa, 5), order);
		xa_destroy(xa);
	}
}

/* Each allocation of 2^(SHIFT - 1) fails in turn. */
static void split_fail_nth(void **state)
{
	unsigned int order = 2 * SHIFT - 1;

	(void)state;
	store_order(xa, 0, order, val(1));
	for (long nth = 1; nth <= 1l << (SHIFT - 1); nth++) {
		XA_STATE(xas, xa, 0);

		fail_alloc = nth;
		xas_split_alloc(&xas, val(1), order, 0);
		assert_int_equal(fail_alloc, 0);
		assert_int_equal(xas_error(&xas), -ENOMEM);
		assert_null(xas.xa_spares);
		assert_int_equal(xa_get_order(xa, 0), order);
	}
	XA_STATE(xas, xa, 0);

	fail_alloc = (1l << (SHIFT - 1)) + 1;
	split(&xas, val(1), order);
	assert_int_equal(fail_alloc, 1);
}

/* Nodes that were filled for a split serve a store as well. */
static void split_given_up(void **state)
{
	XA_STATE(xas, xa, 0);

	(void)state;
	store_order(xa, 0, 2 * SHIFT - 1, val(1));
	xas_split_alloc(&xas, val(1), 2 * SHIFT - 1, 0);
	xa_lock(xa);
	xas_set(&xas, 1ul << (2 * SHIFT));
	xas_store(&xas, ptr(1));
	assert_int_equal(xas_error(&xas), 0);
	assert_valid(xa);
	xa_unlock(xa);
	assert_null(xa_load(xa, (1ul << (2 * SHIFT)) + 1));
	assert_false(xas_nomem(&xas, 0));
	assert_null(xas.xa_spares);
}

/* ---- making room -------------------------------------------------------- */

static void fill_range(unsigned long first, unsigned int order,
		       unsigned long present)
{
	XA_STATE_ORDER(xas, xa, first, order);
	unsigned long nr = 1ul << order;

	do {
		xas_lock(&xas);
		xas_set_order(&xas, first, order);
		xas_create_range(&xas);
		if (xas_error(&xas))
			goto unlock;
		for (unsigned long i = first; i < first + nr; i++) {
			void *old = xas_store(&xas, ptr(i));

			assert_ptr_equal(old, i == present ? val(1) : NULL);
			assert_int_equal(xas.xa_index, i);
			xas_next(&xas);
		}
unlock:
		xas_unlock(&xas);
	} while (xas_nomem(&xas, 0));
	assert_int_equal(xas_error(&xas), 0);
	assert_valid(xa);
	for (unsigned long i = first; i < first + nr; i++)
		assert_ptr_equal(xa_load(xa, i), ptr(i));
}

static void fm_X33_create_range(void **state)
{
	(void)state;
	for (unsigned int order = 0; order < 12; order++) {
		for (unsigned long base = 0; base < 4; base++) {
			unsigned long first = base << order;

			fill_range(first, order, ULONG_MAX);
			/* All there: nothing to make. */
			XA_STATE_ORDER(xas, xa, first, order);

			xa_lock(xa);
			xas_create_range(&xas);
			assert_int_equal(xas_error(&xas), 0);
			xa_unlock(xa);
			assert_valid(xa);
			xa_destroy(xa);
			store(xa, first + (1ul << order) / 2, val(1));
			fill_range(first, order, first + (1ul << order) / 2);
			xa_destroy(xa);
		}
	}
	/* An error is kept. */
	XA_STATE_ORDER(xas, xa, 0, 4);

	xas_set_err(&xas, -EBUSY);
	xas_create_range(&xas);
	assert_int_equal(xas_error(&xas), -EBUSY);
	/* One large entry stays whole. */
	store_order(xa, 0, SHIFT + 1, val(1));
	xas_set_order(&xas, 0, SHIFT);
	xa_lock(xa);
	xas_create_range(&xas);
	xa_unlock(xa);
	assert_int_equal(xas_error(&xas), 0);
	assert_int_equal(xa_get_order(xa, 0), SHIFT + 1);
}

/* With any number of spares too few, a range or a store leaves no trace. */
static void create_fail_nth(void **state)
{
	unsigned int order = 2 * SHIFT - 1, made = 0;

	(void)state;
	store_value(xa, 0);
	for (unsigned int nr = 0; !made; nr++) {
		unsigned long nodes = xa_count_nodes(xa);
		XA_STATE_ORDER(xas, xa, 1ul << order, order);

		assert_true(xas_alloc_spares(&xas, nr, 0));
		xa_lock(xa);
		xas_create_range(&xas);
		if (xas_error(&xas)) {
			assert_int_equal(xas_error(&xas), -ENOMEM);
			assert_valid(xa);
			assert_int_equal(xa_count_nodes(xa), nodes);
			assert_ptr_equal(xa_load(xa, 0), val(0));
		} else {
			made = nr;
			for (unsigned long i = 0; i < 1ul << order; i++) {
				xas_store(&xas, ptr(i));
				xas_next(&xas);
			}
		}
		xa_unlock(xa);
		xas_destroy(&xas);
	}
	/* The leaves, the root and the leaf of index 0. */
	assert_int_equal(made, (1u << (SHIFT - 1)) + 2);
	assert_valid(xa);
}

static void store_fail_nth(void **state)
{
	unsigned int nr;

	(void)state;
	store_value(xa, 0);
	for (nr = 0; ; nr++) {
		XA_STATE(xas, xa, 1ul << (5 * SHIFT));
		int err;

		assert_true(xas_alloc_spares(&xas, nr, 0));
		xa_lock(xa);
		xas_store(&xas, ptr(1));
		err = xas_error(&xas);
		xa_unlock(xa);
		xas_destroy(&xas);
		assert_valid(xa);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(xa_count_nodes(xa), 0);
	}
	/* Six levels above index 0, and five of its own. */
	assert_int_equal(nr, 11);
	assert_int_equal(xa_count_nodes(xa), nr);
}

/* ---- the listener ------------------------------------------------------- */

static LIST_HEAD(list);
static struct xa_node *listed;
static unsigned int nr_listed;

/* What a list of nodes with nothing but shadows does. */
static void update(struct xa_node *node)
{
	bool all_values = node->count && node->count == node->nr_values;

	assert_true(lockrank_held(RANK_XA));
	if (all_values && list_empty(&node->private_list)) {
		list_add(&node->private_list, &list);
		listed = node;
		nr_listed++;
	} else if (!all_values && !list_empty(&node->private_list)) {
		list_del(&node->private_list);
		INIT_LIST_HEAD(&node->private_list);
		nr_listed--;
	}
}

static void put(unsigned long index, void *entry)
{
	XA_STATE(xas, xa, index);

	do {
		xas_lock(&xas);
		xas_store(&xas, entry);
		xas_unlock(&xas);
	} while (xas_nomem(&xas, 0));
}

static void fm_X36_workingset(void **state)
{
	static const unsigned long at[] = { 0, 64, 4096 };

	(void)state;
	xa->xa_update = update;
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		nr_listed = 0;
		put(at[i], val(1));
		put(at[i] + 1, val(2));
		assert_int_equal(nr_listed, 1);
		put(at[i] + 2, ptr(1));
		assert_int_equal(nr_listed, 0);
		put(at[i] + 2, val(3));
		assert_int_equal(nr_listed, 1);
		xa_lock(xa);
		xa_delete_node(listed);
		xa_unlock(xa);
		assert_int_equal(nr_listed, 0);
		assert_gone(xa);
	}
	/* ... and only that node goes. */
	put(5 * FAN * FAN + FAN, val(1));
	put(5 * FAN * FAN + 1, ptr(1));
	put(1, ptr(1));
	assert_int_equal(nr_listed, 1);
	xa_lock(xa);
	xa_delete_node(listed);
	xa_unlock(xa);
	assert_int_equal(nr_listed, 0);
	assert_valid(xa);
	assert_null(xa_load(xa, 5 * FAN * FAN + FAN));
	assert_ptr_equal(xa_load(xa, 5 * FAN * FAN + 1), ptr(1));
	assert_ptr_equal(xa_load(xa, 1), ptr(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XA_TEST(fm_X35_split),
		XA_TEST(fm_X35_split_refused),
		XA_TEST(split_fail_nth),
		XA_TEST(split_given_up),
		XA_TEST(fm_X33_create_range),
		XA_TEST(create_fail_nth),
		XA_TEST(store_fail_nth),
		XA_TEST(fm_X36_workingset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
