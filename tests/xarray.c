/* SPDX-License-Identifier: MIT */
/*
 * Claim: the calls by index and the stores through a cursor do what Linux's do:
 * filemap.md, table X (the ids), but where lib/xarray.h says Differs.  Each
 * fan-out.
 *
 * Source: lib/test_xarray.c (the scenarios)
 */
#include "tests/xarray_test.h"

#include <string.h>

static struct xarray *const xa = &test_xa;

/* ---- errors, growing, shrinking ----------------------------------------- */

static void fm_X1_err(void **state)
{
	(void)state;
	fail_alloc = -1;
	assert_null(xa_store(xa, 0, val(0), 0));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(xa_err(xa_store(xa, 1, val(1), 0)), -ENOMEM);
		assert_valid(xa);
		assert_int_equal(xa_count_nodes(xa), 0);
		assert_ptr_equal(xa_load(xa, 0), val(0));
		assert_null(xa_load(xa, 1));
	}
	fail_alloc = 0;
	assert_null(xa_store(xa, 1, val(1), 0));
	assert_ptr_equal(xa_load(xa, 1), val(1));
	assert_int_equal(xa_err(xa_store(xa, 2, XA_RETRY_ENTRY, 0)), -EINVAL);
	assert_int_equal(xa_insert(xa, 2, xa_mk_internal(0), 0), -EINVAL);
}

static void fm_X2_retry(void **state)
{
	XA_STATE(xas, xa, 0);

	(void)state;
	store_value(xa, 0);
	store_value(xa, 1);
	rcu_read_lock();
	assert_ptr_equal(xas_find(&xas, ULONG_MAX), val(0));
	erase_value(xa, 1);
	assert_true(xa_is_retry(xas_reload(&xas)));
	assert_false(xas_retry(&xas, NULL));
	assert_false(xas_retry(&xas, val(0)));
	assert_false(xas_retry(&xas, ptr(0)));
	assert_true(xas_is_node(&xas));
	assert_true(xas_retry(&xas, XA_RETRY_ENTRY));
	assert_ptr_equal(xas.xa_node, XAS_RESTART);
	assert_ptr_equal(xas_next_entry(&xas, ULONG_MAX), val(0));
	assert_null(xas.xa_node);
	rcu_read_unlock();
}

static void fm_X3_retry_planted(void **state)
{
	XA_STATE(xas, xa, 0);
	struct xa_node *node;
	void *entry;
	int seen = 0;

	(void)state;
	for (unsigned long i = 0; i < 3; i++)
		store_value(xa, i);
	node = xa_to_node(xa->xa_head);
	xa_lock(xa);
	for (int i = 0; i < 2; i++) {
		node->slots[i] = XA_RETRY_ENTRY;
		node->nr_values--;
	}
	xas_for_each(&xas, entry, 1) {
		seen++;
		assert_true(xa_is_retry(entry));
		xas_store(&xas, val(xas.xa_index));
	}
	xa_unlock(xa);
	assert_int_equal(seen, 2);
	assert_valid(xa);
}

static void check_upto(unsigned long from, unsigned long to)
{
	for (unsigned long i = 0; i < 1024; i++)
		assert_ptr_equal(xa_load(xa, i),
				 i >= from && i < to ? val(i) : NULL);
}

static void fm_X4_load(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < 1024; i++) {
		store_value(xa, i);
		check_upto(0, i + 1);
	}
	for (unsigned long i = 0; i < 1024; i++) {
		erase_value(xa, i);
		assert_valid(xa);
		check_upto(i + 1, 1024);
	}
	assert_gone(xa);
}

static void fm_X9_shrink(void **state)
{
	XA_STATE(xas, xa, 1);
	struct xa_node *node;

	(void)state;
	store_value(xa, 0);
	store_value(xa, 1);
	assert_int_equal(xa_count_nodes(xa), 1);
	rcu_read_lock();
	node = xa_to_node(xa->xa_head);
	xa_lock(xa);
	assert_ptr_equal(xas_load(&xas), val(1));
	assert_ptr_equal(xas.xa_node, node);
	xas_store(&xas, NULL);
	assert_ptr_equal(xas.xa_node, XAS_BOUNDS);
	assert_true(xa_is_retry(xa_entry(node, 0)));
	xa_unlock(xa);
	rcu_read_unlock();
	assert_null(xa_load(xa, 1));
	assert_ptr_equal(xa_load(xa, 0), val(0));
	assert_int_equal(xa_count_nodes(xa), 0);
}

static void fm_X10_shrink_back(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 15; k++) {
		void *head;

		store_order(xa, 0, k, ptr(k));
		head = xa->xa_head;
		assert_null(xa_load(xa, 1ul << k));
		store_value(xa, ULONG_MAX);
		assert_ptr_not_equal(xa->xa_head, head);
		assert_null(xa_load(xa, 1ul << k));
		erase_value(xa, ULONG_MAX);
		assert_ptr_equal(xa->xa_head, head);
		assert_null(xa_load(xa, 1ul << k));
		assert_valid(xa);
		xa_erase(xa, 0);
		assert_gone(xa);
	}
}

static void fm_X11_erase(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < 20; i++) {
		XA_STATE(xas, xa, 0);
		unsigned long at = i;
		void *entry;

		for (unsigned long j = i; j < 2 * i + 17; j++)
			store_value(xa, j);
		store_value(xa, ULONG_MAX);
		erase_value(xa, ULONG_MAX);
		xa_lock(xa);
		xas_for_each(&xas, entry, ULONG_MAX) {
			assert_ptr_equal(entry, val(at));
			assert_int_equal(xas.xa_index, at);
			at++;
			xas_store(&xas, NULL);
		}
		xa_unlock(xa);
		assert_int_equal(at, 2 * i + 17);
		assert_gone(xa);
	}
}

static void check_insert(unsigned long i)
{
	store_value(xa, i);
	assert_null(xa_load(xa, i - 1));
	assert_null(xa_load(xa, i + 1));
	assert_valid(xa);
	erase_value(xa, i);
	assert_gone(xa);
}

static void fm_X12_insert(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < 1024; i++)
		check_insert(i);
	for (int k = 10; k < 64; k++) {
		check_insert(1ul << k);
		check_insert((1ul << k) - 1);
	}
	check_insert(ULONG_MAX);
}

static void fm_X43_height(void **state)
{
	(void)state;
	store_value(xa, 42);
	store_value(xa, 1000000);
	erase_value(xa, 1000000);
	assert_int_equal(xa_count_nodes(xa), FAN > 42 ? 1 : 2);
	erase_value(xa, 42);
	for (unsigned long i = 0; i < 1000; i++)
		store_value(xa, i);
	for (unsigned long i = 1000; i--; ) {
		unsigned long max = i - 1, height = 0;

		erase_value(xa, i);
		for (; i && max; max >>= SHIFT)
			height++;
		if (xa_is_node(xa->xa_head))
			assert_int_equal(xa_to_node(xa->xa_head)->shift,
					 (height - 1) * SHIFT);
		else
			assert_int_equal(height, 0);
	}
	assert_gone(xa);
}

/* ---- conditional stores ------------------------------------------------- */

#define AT	12345678ul

static void fm_X13_cmpxchg(void **state)
{
	(void)state;
	store(xa, AT, val(1));
	assert_int_equal(xa_insert(xa, AT, ptr(0), 0), -EBUSY);
	assert_ptr_equal(xa_cmpxchg(xa, AT, ptr(1), ptr(2), 0), val(1));
	assert_ptr_equal(xa_load(xa, AT), val(1));
	assert_ptr_equal(xa_cmpxchg(xa, AT, val(1), ptr(2), 0), val(1));
	assert_ptr_equal(xa_load(xa, AT), ptr(2));
	assert_ptr_equal(xa_cmpxchg(xa, AT, ptr(2), val(1), 0), ptr(2));
	assert_null(xa_cmpxchg(xa, 5, ptr(3), ptr(4), 0));
	assert_null(xa_load(xa, 5));
	assert_null(xa_cmpxchg(xa, 5, NULL, ptr(4), 0));
	assert_ptr_equal(xa_load(xa, 5), ptr(4));
	xa_erase(xa, AT);
	xa_erase(xa, 5);
	assert_gone(xa);
}

static void fm_X14_cmpxchg_order(void **state)
{
	(void)state;
	store_order(xa, 0, 3, ptr(1));
	store_order(xa, 8, 3, ptr(2));
	assert_ptr_equal(xa_cmpxchg(xa, 2, ptr(1), NULL, 0), ptr(1));
	for (unsigned long i = 0; i < 8; i++) {
		assert_null(xa_load(xa, i));
		assert_int_equal(xa_get_order(xa, i), 0);
		assert_ptr_equal(xa_load(xa, 8 + i), ptr(2));
		assert_int_equal(xa_get_order(xa, 8 + i), 3);
	}
	assert_valid(xa);
}

static void fm_X15_reserve(void **state)
{
	static const unsigned long at[] = { 0, 1, 12345678, ULONG_MAX };
	unsigned long index, visits = 0;
	void *entry;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		assert_int_equal(xa_reserve(xa, at[i], 0), 0);
		assert_false(xa_empty(xa));
		assert_null(xa_load(xa, at[i]));
		assert_valid(xa);
		xa_release(xa, at[i]);
		assert_gone(xa);

		assert_int_equal(xa_reserve(xa, at[i], 0), 0);
		fail_alloc = -1;
		assert_null(xa_store(xa, at[i], val(1), 0));
		fail_alloc = 0;
		xa_release(xa, at[i]);
		assert_ptr_equal(xa_load(xa, at[i]), val(1));
		assert_int_equal(xa_reserve(xa, at[i], 0), 0);
		assert_ptr_equal(xa_erase(xa, at[i]), val(1));
		assert_gone(xa);

		assert_int_equal(xa_insert(xa, at[i], NULL, 0), 0);
		assert_int_equal(xa_insert(xa, at[i], ptr(1), 0), -EBUSY);
		assert_null(xa_cmpxchg(xa, at[i], NULL, ptr(2), 0));
		assert_null(xa_load(xa, at[i]));
		assert_null(xa_erase(xa, at[i]));
		assert_gone(xa);
	}
	store_value(xa, 5);
	assert_int_equal(xa_reserve(xa, 6, 0), 0);
	store_value(xa, 7);
	xa_for_each(xa, index, entry) {
		assert_true(index == 5 || index == 7);
		visits += index;
	}
	assert_int_equal(visits, 12);
}

/* ---- entries of several indices ----------------------------------------- */

static void assert_counts(unsigned int count, unsigned int values)
{
	const struct xa_node *node = xa_to_node(xa->xa_head);

	assert_true(xa_is_node(xa->xa_head));
	assert_int_equal(node->count, count);
	assert_int_equal(node->nr_values, values);
	assert_valid(xa);
}

static void fm_X16_multi(void **state)
{
	(void)state;
	store_order(xa, 0, 1, val(0));
	assert_counts(2, 2);
	store(xa, 3, ptr(3));
	assert_counts(3, 2);
	assert_null(xa_load(xa, 2));
	store_order(xa, 0, 2, val(1));
	assert_counts(4, 4);
	for (unsigned long i = 0; i < 5; i++)
		assert_ptr_equal(xa_load(xa, i), i < 4 ? val(1) : NULL);
	store_order(xa, 0, 2, NULL);
	assert_gone(xa);
	/* ... also when slot 0 was empty. */
	store(xa, 1, ptr(1));
	store(xa, 3, ptr(3));
	store_order(xa, 0, 2, NULL);
	assert_gone(xa);
}

static void fm_X17_multi_pairs(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 60; i++) {
		for (unsigned int j = 0; j < 60; j++) {
			store_order(xa, 0, i, val(i));
			assert_ptr_equal(store_order(xa, 0, j, val(j)), val(i));
			for (unsigned int k = 0; k < 60; k++)
				assert_ptr_equal(xa_load(xa, (1ul << k) - 1),
						 k <= i || k <= j ? val(j) :
								    NULL);
			assert_valid(xa);
			assert_int_equal(xa_get_order(xa, 0), i > j ? i : j);
			xa_erase(xa, 0);
			assert_gone(xa);
		}
	}
}

static void check_overwrite(unsigned long at, unsigned int order)
{
	unsigned long first = at >> order << order, last = first +
		(1ul << order) - 1, step = order < 10 ? 1 : (1ul << order) / 99;

	store_order(xa, at, order, val(1));
	for (unsigned long i = first; i <= last; i += step) {
		assert_false(xa_is_err(xa_store(xa, i, ptr(i), 0)));
		assert_ptr_equal(xa_load(xa, first), ptr(i));
		assert_ptr_equal(xa_load(xa, last), ptr(i));
		assert_int_equal(xa_get_order(xa, i), order);
		assert_null(xa_load(xa, last + 1));
		assert_null(xa_load(xa, first - 1));
	}
	assert_valid(xa);
	xa_erase(xa, at);
	assert_gone(xa);
}

static void fm_X18_multi_overwrite(void **state)
{
	(void)state;
	for (unsigned int order = 0; order < 20; order++) {
		check_overwrite(200, order);
		check_overwrite(0, order);
		for (unsigned int i = 0; i < 20; i++)
			check_overwrite((1ul << i) + 1, order);
	}
}

static void fm_X19_multi_cursor(void **state)
{
	XA_STATE(xas, xa, 4095);

	(void)state;
	store_order(xa, 4095, 9, val(1));
	xa_lock(xa);
	assert_ptr_equal(xas_load(&xas), val(1));
	assert_ptr_equal(xas_store(&xas, val(2)), val(1));
	assert_int_equal(xas.xa_index, 4095);
	assert_ptr_equal(xas_load(&xas), val(2));
	assert_ptr_equal(xas_store(&xas, NULL), val(2));
	xa_unlock(xa);
	assert_int_equal(xas.xa_index, 4095);
	assert_gone(xa);
}

static void fm_X20_multi_iterate(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned long from = 0; from < (1ul << i) &&
		     from < 200; from++) {
			unsigned long index = from;
			unsigned int n = 0;
			void *entry;

			store_order(xa, 0, i, val(1));
			store_order(xa, 1ul << i, i, val(2));
			xa_for_each_range(xa, index, entry, from, ULONG_MAX)
				assert_ptr_equal(entry, val(++n));
			assert_int_equal(n, 2);
		}
		xa_destroy(xa);
	}
}

static void cache_add(unsigned long index, unsigned int order)
{
	XA_STATE_ORDER(xas, xa, index, order);
	void *found;

	do {
		xas_lock(&xas);
		xas_for_each_conflict(&xas, found)
			fail_msg("%lu is taken", index);
		xas_store(&xas, ptr(index));
		xas_unlock(&xas);
	} while (xas_nomem(&xas, 0));
	assert_int_equal(xas_error(&xas), 0);
}

static void cache_delete(unsigned long index, unsigned int order)
{
	XA_STATE_ORDER(xas, xa, index, order);

	xas_lock(&xas);
	assert_ptr_equal(xas_store(&xas, NULL), ptr(index));
	xas_init_marks(&xas);
	xas_unlock(&xas);
}

static void check_add(unsigned long base, unsigned int order)
{
	unsigned long nr = 1ul << order, step = nr < 100 ? 1 : nr / 77;

	cache_add(base, order);
	cache_add(base + nr, 0);
	cache_add(base + 2 * nr, order);
	for (unsigned long i = 0; i < nr; i += step) {
		assert_ptr_equal(xa_load(xa, base + i), ptr(base));
		assert_ptr_equal(xa_load(xa, base + nr + i),
				 i ? NULL : ptr(base + nr));
		assert_ptr_equal(xa_load(xa, base + 2 * nr + i),
				 ptr(base + 2 * nr));
	}
	assert_null(xa_load(xa, base + 3 * nr));
	assert_valid(xa);
	cache_delete(base + nr, 0);
	cache_delete(base, order);
	cache_delete(base + 2 * nr, order);
	assert_gone(xa);
}

static void fm_X21_multi_cache(void **state)
{
	(void)state;
	for (unsigned int order = 0; order < 20; order++)
		for (unsigned long n = 0; n < 40; n++)
			check_add((n * n * 7) << order, order);
}

static void fm_X37_account(void **state)
{
	(void)state;
	for (unsigned int k = 1; k < SHIFT; k++) {
		store_order(xa, 0, k, ptr(1));
		assert_counts(1u << k, 0);
		if (2u << k > FAN)
			break;
		store_order(xa, 1ul << k, k, val(1));
		assert_counts(2u << k, 1u << k);
		xa_erase(xa, 1ul << k);
		assert_counts(1u << k, 0);
		xa_erase(xa, 0);
		assert_gone(xa);
	}
}

static void fm_X38_order(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 20; k++) {
		for (unsigned long b = 0; b < 10; b++) {
			unsigned long first = b * 3 << k, nr = 1ul << k;

			store_order(xa, first, k, val(1));
			for (unsigned long i = 0; i < nr;
			     i += nr < 64 ? 1 : nr / 37)
				assert_int_equal(xa_get_order(xa, first + i),
						 k);
			assert_int_equal(xa_get_order(xa, first + nr), 0);
			xa_erase(xa, first);
			assert_int_equal(xa_get_order(xa, first), 0);
		}
	}
}

static void fm_X39_destroy(void **state)
{
	(void)state;
	xa_destroy(xa);
	assert_gone(xa);
	for (unsigned long i = 0; i < 1000; i++) {
		store_value(xa, i);
		xa_set_mark(xa, i, XA_MARK_1);
		xa_destroy(xa);
		assert_gone(xa);
		assert_false(xa_marked(xa, XA_MARK_1));
	}
	store_value(xa, ULONG_MAX);
	store_order(xa, 1 << 11, 11, val(1));
	xa_destroy(xa);
	assert_gone(xa);
}

static void fm_X40_align(void **state)
{
	(void)state;
	/* Only the low two bits are the index's. */
	for (unsigned long phase = 0; phase < 44; phase += 4) {
		store(xa, phase, (void *)(0x10000 + phase));
		assert_ptr_equal(xa_load(xa, phase), (void *)(0x10000 + phase));
	}
	assert_int_equal(xa_err(xa_store(xa, 1, (void *)0x10002, 0)), -EINVAL);
}

static void check_change(unsigned int order, unsigned int with)
{
	XA_STATE_ORDER(xas, xa, 0, with);

	store_order(xa, 0, order, val(1));
	store(xa, FAN - 1, ptr(9));
	xa_lock(xa);
	assert_ptr_equal(xas_store(&xas, ptr(2)), val(1));
	xa_unlock(xa);
	assert_counts((1u << order) + 1, 0);
	assert_int_equal(xa_get_order(xa, 0), order);
	xa_destroy(xa);
}

static void fm_X47_type_change(void **state)
{
	(void)state;
	check_change(1, 0);
	check_change(SHIFT - 1, 0);
	check_change(SHIFT - 1, SHIFT - 2);
}

/* The leaf of an order-(SHIFT - 1) value goes with it. */
static void fm_X48_clear_empties_leaf(void **state)
{
	XA_STATE(xas, xa, FAN);
	struct xa_node *root;

	(void)state;
	store_order(xa, FAN, SHIFT - 1, val(1));
	store(xa, 5 * FAN, ptr(5));
	root = xa_to_node(xa->xa_head);
	xa_lock(xa);
	assert_ptr_equal(xas_store(&xas, NULL), val(1));
	assert_ptr_equal(xas.xa_node, root);
	assert_int_equal(root->count, 1);
	assert_null(xas_store(&xas, ptr(1)));
	assert_int_equal(xas_error(&xas), -ENOMEM);
	assert_valid(xa);
	xa_unlock(xa);
	assert_true(xas_nomem(&xas, 0));
	xa_lock(xa);
	xas_store(&xas, ptr(1));
	assert_int_equal(xas_error(&xas), 0);
	assert_valid(xa);
	xa_unlock(xa);
	assert_false(xas_nomem(&xas, 0));
	assert_ptr_equal(xa_load(xa, FAN), ptr(1));
	assert_ptr_equal(xa_load(xa, 5 * FAN), ptr(5));
	assert_int_equal(xa_get_order(xa, FAN), 0);
}

/* ---- ranges ------------------------------------------------------------- */

static void check_range(unsigned long first, unsigned long last)
{
	void *result = xa_store_range(xa, first, last, val(first), 0);

	assert_null(result);
	assert_ptr_equal(xa_load(xa, first), val(first));
	assert_ptr_equal(xa_load(xa, last), val(first));
	assert_ptr_equal(xa_load(xa, first + (last - first) / 2), val(first));
	assert_null(xa_load(xa, first - 1));
	assert_null(xa_load(xa, last + 1));
	assert_valid(xa);
	result = xa_store_range(xa, first, last, NULL, 0);
	assert_null(result);
	assert_gone(xa);
}

static void fm_X34_store_range(void **state)
{
	static const unsigned long bases[] = {
		0, 1024, 4095, 1ul << 31, 1ul << 62, ULONG_MAX - 129,
	};

	(void)state;
	for (unsigned int b = 0; b < ARRAY_SIZE(bases); b++)
		for (unsigned long i = 1; i < 128; i += 1 + b)
			for (unsigned long j = i; j < 128; j += 1 + 2 * b)
				check_range(bases[b] + i, bases[b] + j);
	assert_int_equal(xa_err(xa_store_range(xa, 2, 1, val(0), 0)), -EINVAL);
	fail_alloc = 2;
	assert_int_equal(xa_err(xa_store_range(xa, 1, FAN * FAN, val(0), 0)),
			 -ENOMEM);
	assert_valid(xa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XA_TEST(fm_X1_err),
		XA_TEST(fm_X2_retry),
		XA_TEST(fm_X3_retry_planted),
		XA_TEST(fm_X4_load),
		XA_TEST(fm_X9_shrink),
		XA_TEST(fm_X10_shrink_back),
		XA_TEST(fm_X11_erase),
		XA_TEST(fm_X12_insert),
		XA_TEST(fm_X13_cmpxchg),
		XA_TEST(fm_X14_cmpxchg_order),
		XA_TEST(fm_X15_reserve),
		XA_TEST(fm_X16_multi),
		XA_TEST(fm_X17_multi_pairs),
		XA_TEST(fm_X18_multi_overwrite),
		XA_TEST(fm_X19_multi_cursor),
		XA_TEST(fm_X20_multi_iterate),
		XA_TEST(fm_X21_multi_cache),
		XA_TEST(fm_X34_store_range),
		XA_TEST(fm_X37_account),
		XA_TEST(fm_X38_order),
		XA_TEST(fm_X39_destroy),
		XA_TEST(fm_X40_align),
		XA_TEST(fm_X43_height),
		XA_TEST(fm_X47_type_change),
		XA_TEST(fm_X48_clear_empties_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
