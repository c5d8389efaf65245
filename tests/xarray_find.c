/* SPDX-License-Identifier: MIT */
/*
 * Claim: marks, searches, moves and scans for conflicts do what Linux's do:
 * filemap.md, table X (the ids), but where lib/xarray.h says Differs.  Each
 * fan-out.
 *
 * Source: lib/test_xarray.c (the scenarios)
 */
#include "tests/random.h"
#include "tests/xarray_test.h"

#include <string.h>

static struct xarray *const xa = &test_xa;
static struct random rnd;

static unsigned int count_marked(unsigned long from, xa_mark_t mark)
{
	XA_STATE(xas, xa, from);
	unsigned int n = 0;
	void *entry;

	rcu_read_lock();
	xas_for_each_marked(&xas, entry, ULONG_MAX, mark)
		n++;
	rcu_read_unlock();
	return n;
}

/* ---- marks -------------------------------------------------------------- */

static void fm_X5_mark(void **state)
{
	static const unsigned long at[] = { 0, 4, 64, 4096, ULONG_MAX };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		xa_set_mark(xa, at[i], XA_MARK_0);
		assert_false(xa_get_mark(xa, at[i], XA_MARK_0));
		store_value(xa, at[i]);
		assert_false(xa_get_mark(xa, at[i], XA_MARK_0));
		xa_set_mark(xa, at[i], XA_MARK_0);
		assert_true(xa_get_mark(xa, at[i], XA_MARK_0));
		assert_false(xa_get_mark(xa, at[i], XA_MARK_1));
		assert_false(xa_get_mark(xa, at[i] + 1, XA_MARK_0));
		assert_true(xa_marked(xa, XA_MARK_0));
		store(xa, at[i], ptr(1));
		assert_true(xa_get_mark(xa, at[i], XA_MARK_0));
		xa_erase(xa, at[i]);
		assert_false(xa_marked(xa, XA_MARK_0));
		store_value(xa, at[i]);
		assert_false(xa_get_mark(xa, at[i], XA_MARK_0));
		xa_erase(xa, at[i]);
		assert_gone(xa);
	}
}

static void fm_X6_mark_united(void **state)
{
	(void)state;
	for (unsigned int order = 2; order < 8; order++) {
		unsigned long first = 1ul << order, next = 2 * first, index;
		unsigned int n = 0;
		void *entry;

		for (unsigned long i = first; i <= next; i++)
			store_value(xa, i);
		xa_set_mark(xa, first + 1, XA_MARK_0);
		xa_set_mark(xa, first + 2, XA_MARK_2);
		store_order(xa, first, order, val(7));
		for (unsigned long i = first; i < next; i++) {
			assert_true(xa_get_mark(xa, i, XA_MARK_0));
			assert_false(xa_get_mark(xa, i, XA_MARK_1));
			assert_true(xa_get_mark(xa, i, XA_MARK_2));
		}
		assert_false(xa_get_mark(xa, next, XA_MARK_0));
		assert_valid(xa);
		xa_for_each(xa, index, entry)
			n++;
		assert_int_equal(n, 2);
		assert_int_equal(count_marked(0, XA_MARK_0), 1);
		xa_destroy(xa);
	}
}

static void fm_X7_mark_many(void **state)
{
	XA_STATE(xas, xa, 0);

	(void)state;
	store_value(xa, 0);
	xa_set_mark(xa, 0, XA_MARK_0);
	for (unsigned long i = 3500; i < 4500; i++) {
		store_value(xa, i);
		xa_set_mark(xa, i, XA_MARK_0);
	}
	xa_lock(xa);
	xas_load(&xas);
	xas_init_marks(&xas);
	xa_unlock(xa);
	assert_int_equal(count_marked(0, XA_MARK_0), 1000);
	assert_valid(xa);
}

static void fm_X8_mark_inside(void **state)
{
	XA_STATE(xas, xa, 0x41);

	(void)state;
	store_order(xa, 0x40, 2, val(1));
	xa_set_mark(xa, 0x41, XA_MARK_0);
	assert_ptr_equal(xas_find_marked(&xas, ULONG_MAX, XA_MARK_0), val(1));
	assert_int_equal(xas.xa_index, 0x40);
	assert_null(xas_find_marked(&xas, ULONG_MAX, XA_MARK_0));
}

static void fm_X29_mark_max(void **state)
{
	XA_STATE(xas, xa, 5);

	(void)state;
	store_value(xa, 7);
	xa_set_mark(xa, 7, XA_MARK_0);
	assert_null(xas_find_marked(&xas, 4, XA_MARK_0));
	assert_ptr_equal(xas.xa_node, XAS_RESTART);
	xas_set(&xas, 0);
	assert_null(xas_find_marked(&xas, 6, XA_MARK_0));
	assert_ptr_equal(xas.xa_node, XAS_RESTART);
}

/* Copy a mark within [first, last], some at a time; how many. */
static unsigned int copy_mark(unsigned long first, unsigned long last,
			      unsigned int batch)
{
	XA_STATE(xas, xa, first);
	unsigned int n = 0;
	void *entry;

	xa_lock(xa);
	xas_for_each_marked(&xas, entry, last, XA_MARK_0) {
		xas_set_mark(&xas, XA_MARK_1);
		if (++n % batch)
			continue;
		xas_pause(&xas);
		xa_unlock(xa);
		xa_lock(xa);
	}
	xa_unlock(xa);
	return n;
}

static void fm_X42_mark_copy(void **state)
{
	static u8 is[20000];
	unsigned long first, last, at;
	unsigned int want = 0;

	(void)state;
	memset(is, 0, sizeof(is));
	for (int i = 0; i < 5000; i++) {
		at = random_below(&rnd, sizeof(is));
		store_value(xa, at);
		is[at] |= 1;
		if (random_chance(&rnd, 40)) {
			xa_set_mark(xa, at, XA_MARK_0);
			is[at] |= 2;
		}
	}
	first = random_below(&rnd, sizeof(is));
	last = random_below(&rnd, sizeof(is));
	for (at = first; at <= last; at++)
		want += is[at] == 3;
	assert_int_equal(copy_mark(first, last, 7), want);
	for (at = 0; at < sizeof(is); at++)
		assert_int_equal(xa_get_mark(xa, at, XA_MARK_1),
				 is[at] == 3 && at >= first && at <= last);
	assert_valid(xa);
}

static void fm_X45_mark_summary(void **state)
{
	(void)state;
	store_value(xa, 0);
	xa_set_mark(xa, 0, XA_MARK_0);
	assert_int_equal(copy_mark(1, 100, 1), 0);
	assert_false(xa_marked(xa, XA_MARK_1));
	store_value(xa, FAN + 1);
	xa_clear_mark(xa, 0, XA_MARK_0);
	xa_erase(xa, 0);
	assert_int_equal(count_marked(0, XA_MARK_0), 0);
	assert_int_equal(count_marked(0, XA_MARK_1), 0);
	assert_valid(xa);
}

/* ---- conflicts ---------------------------------------------------------- */

static unsigned int conflicts(unsigned long index, unsigned int order,
			      unsigned int seen_order)
{
	XA_STATE_ORDER(xas, xa, index, order);
	unsigned int n = 0;
	void *found;

	xa_lock(xa);
	xas_for_each_conflict(&xas, found) {
		assert_int_equal(xas_get_order(&xas), seen_order);
		n++;
	}
	xa_unlock(xa);
	/* It is where the store belongs. */
	assert_int_equal(xas.xa_index, index >> order << order);
	return n;
}

static void fm_X23_conflict(void **state)
{
	(void)state;
	for (unsigned int order = 0; order < 13; order++) {
		unsigned long first = 3ul << order, nr = 1ul << order;

		assert_int_equal(conflicts(first, order, 0), 0);
		store_value(xa, first);
		assert_int_equal(conflicts(first, order, 0), 1);
		xa_erase(xa, first);
		store_value(xa, first + nr - 1);
		store_value(xa, first + nr);
		store_value(xa, first - 1);
		assert_int_equal(conflicts(first, order, 0), 1);
		for (unsigned long i = 0; i < nr; i++)
			store_value(xa, first + i);
		assert_int_equal(conflicts(first, order, 0), nr);
		store_order(xa, first, order, val(1));
		assert_int_equal(conflicts(first, order, order), 1);
		assert_ptr_equal(xa_load(xa, first + nr), val(first + nr));
		xa_destroy(xa);
	}
	store_value(xa, 63);
	store_value(xa, 65);
	assert_int_equal(conflicts(64, 2, 0), 1);
	/* A tree that is smaller than the range. */
	xa_destroy(xa);
	store_value(xa, 1);
	store_value(xa, 3);
	assert_int_equal(conflicts(0, 3 * SHIFT + 1, 0), 2);
}

static void fm_X24_conflict_order(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 12; k++) {
		unsigned long first = 5ul << (k + 1);

		store_order(xa, first, k, val(k));
		for (unsigned int order = 0; order <= k + 1; order++)
			assert_int_equal(conflicts(first, order, k), 1);
		if (k)
			assert_int_equal(conflicts(first + 1, 0, k), 1);
		xa_erase(xa, first);
	}
}

/* An order-0 scan looks at one slot, and only once. */
static void conflict_is_no_iteration(void **state)
{
	XA_STATE(xas, xa, 100);

	(void)state;
	store_value(xa, 100);
	store_value(xa, 101);
	xa_lock(xa);
	assert_ptr_equal(xas_find_conflict(&xas), val(100));
	assert_null(xas_find_conflict(&xas));
	assert_ptr_equal(xas_next(&xas), val(101));
	assert_null(xas_find_conflict(&xas));
	xas_set(&xas, 101);
	assert_ptr_equal(xas_find_conflict(&xas), val(101));
	xa_unlock(xa);
}

/* ---- finding ------------------------------------------------------------ */

static void check_find(unsigned long a, unsigned long b)
{
	for (unsigned long from = 0; from < 100; from++) {
		unsigned long index = from, low = a < b ? a : b;
		unsigned long high = a < b ? b : a;
		void *entry = xa_find(xa, &index, ULONG_MAX, XA_PRESENT);

		if (from > high) {
			assert_null(entry);
			assert_int_equal(index, from);
		} else {
			assert_int_equal(index, from <= low ? low : high);
			assert_ptr_equal(entry, val(index));
		}
		index = from;
		entry = xa_find(xa, &index, ULONG_MAX, XA_MARK_0);
		assert_ptr_equal(entry, from <= a ? val(a) : NULL);
	}
}

static void fm_X25_find(void **state)
{
	(void)state;
	for (unsigned long a = 0; a < 100; a += 3) {
		store_value(xa, a);
		xa_set_mark(xa, a, XA_MARK_0);
		for (unsigned long b = 0; b < 100; b += 1) {
			if (b == a)
				continue;
			store_value(xa, b);
			check_find(a, b);
			xa_erase(xa, b);
		}
		xa_erase(xa, a);
	}
}

static void fm_X26_find_max(void **state)
{
	unsigned long index = 0;

	(void)state;
	store_value(xa, ULONG_MAX);
	assert_ptr_equal(xa_find_after(xa, &index, ULONG_MAX, XA_PRESENT),
			 val(ULONG_MAX));
	assert_int_equal(index, ULONG_MAX);
	assert_null(xa_find_after(xa, &index, ULONG_MAX, XA_PRESENT));

	XA_STATE(xas, xa, 0);
	void *entry;
	int n = 0;

	xas_for_each(&xas, entry, ULONG_MAX)
		n++;
	assert_int_equal(n, 1);
	assert_null(xas_find(&xas, ULONG_MAX));
}

static void fm_X27_find_multi(void **state)
{
	(void)state;
	for (unsigned int k = 1; k < 20; k++) {
		unsigned long first = 3ul << k, next = 4ul << k, index;

		store_order(xa, first, k, val(1));
		store_value(xa, next);
		store_value(xa, next + 1);
		for (unsigned long i = first; i < next;
		     i += k < 6 ? 1 : (1ul << k) / 33) {
			index = i;
			assert_ptr_equal(xa_find(xa, &index, ULONG_MAX,
						 XA_PRESENT), val(1));
			assert_in_range(index, first, next - 1);
			assert_null(xa_find_after(xa, &index, next - 1,
						  XA_PRESENT));
			assert_in_range(index, first, next - 1);
			assert_ptr_equal(xa_find_after(xa, &index, next,
						       XA_PRESENT), val(next));
			assert_int_equal(index, next);
			assert_ptr_equal(xa_find_after(xa, &index, ULONG_MAX,
						XA_PRESENT), val(next + 1));
		}
		xa_destroy(xa);
	}
}

static void fm_X28_find_erase(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 10; k++) {
		for (unsigned long i = 0; i < 1ul << k; i++) {
			XA_STATE(xas, xa, i);
			void *entry;

			store_order(xa, 0, k, val(1));
			store_order(xa, 1ul << k, k, val(2));
			xa_lock(xa);
			xas_for_each(&xas, entry, ULONG_MAX)
				xas_store(&xas, NULL);
			xa_unlock(xa);
			assert_gone(xa);
		}
	}
}

static void fm_X30_pause(void **state)
{
	unsigned int n, pauses;
	void *entry;

	(void)state;
	for (unsigned int k = 0; k < 20; k++)
		store_order(xa, 1ul << k, k, val(k));
	for (pauses = 0; pauses < 2; pauses++) {
		XA_STATE(xas, xa, 0);

		n = 0;
		xas_for_each(&xas, entry, ULONG_MAX) {
			assert_ptr_equal(entry, val(n++));
			if (pauses)
				xas_pause(&xas);
		}
		assert_int_equal(n, 20);
	}
	for (unsigned int k = 0; k < 19; k++) {
		unsigned long d = random_below(&rnd, 1ul << k);
		XA_STATE(xas, xa, (1ul << k) + d);

		assert_ptr_equal(xas_find(&xas, ULONG_MAX), val(k));
		xas_pause(&xas);
		assert_int_equal(xas.xa_index, 2ul << k);
		assert_ptr_equal(xas_find(&xas, ULONG_MAX), val(k + 1));
	}
}

static void fm_X44_gang(void **state)
{
	static const unsigned long centres[] = {
		1ul << 30, 1ul << 31, (1ul << 32) - 65536,
	};
	void *got[35];

	(void)state;
	for (unsigned int c = 0; c < ARRAY_SIZE(centres); c++) {
		unsigned long first = centres[c] - 300, last = centres[c] + 300;

		for (unsigned long i = first; i <= last; i++)
			store_value(xa, i);
		for (unsigned long from = first - 40; from <= last + 2;
		     from += 7) {
			unsigned long at = from < first ? first : from;
			unsigned int n = xa_extract(xa, got, from, ULONG_MAX,
						    35, XA_PRESENT);

			for (unsigned int i = 0; i < n; i++)
				assert_ptr_equal(got[i], val(at + i));
			assert_int_equal(n, at > last ? 0 :
					 min(35ul, last - at + 1));
		}
		xa_destroy(xa);
	}
}

struct extent {
	unsigned long index;
	unsigned int order;
	bool marked;
};

static void fm_X46_multi_mixed(void **state)
{
	static const struct extent set[] = {
		{ 0, 1, true }, { 2, 0, true }, { 4, 2, false },
		{ 16, 4, true }, { 32, 3, true }, { 40, 1, true },
		{ 64, 3, false }, { 72, 0, true }, { 128, 7, true },
	};
	const unsigned int nr = ARRAY_SIZE(set);
	void *entry;

	(void)state;
	for (unsigned int i = 0; i < nr; i++) {
		store_order(xa, set[i].index, set[i].order, val(i));
		if (set[i].marked)
			xa_set_mark(xa, set[i].index, XA_MARK_0);
	}
	for (unsigned long from = 0; from < 256; from++) {
		XA_STATE(plain, xa, from);
		XA_STATE(marked, xa, from);
		unsigned int i = 0;

		while (i < nr && set[i].index + (1ul << set[i].order) <= from)
			i++;
		for (; i < nr; i++) {
			entry = xas_find(&plain, ULONG_MAX);
			assert_ptr_equal(entry, val(i));
			if (!set[i].marked)
				continue;
			entry = xas_find_marked(&marked, ULONG_MAX, XA_MARK_0);
			assert_ptr_equal(entry, val(i));
			assert_int_equal(marked.xa_index, set[i].index);
		}
		assert_null(xas_find(&plain, ULONG_MAX));
		assert_null(xas_find_marked(&marked, ULONG_MAX, XA_MARK_0));
	}
	assert_int_equal(copy_mark(1, ULONG_MAX, 100), 7);
	assert_true(xa_get_mark(xa, 0, XA_MARK_1));
	assert_valid(xa);
}

/* ---- moving ------------------------------------------------------------- */

static void fm_X31_move(void **state)
{
	XA_STATE(xas, xa, 0);
	unsigned long i, nr = 16 * FAN * FAN > 65536 ? 65536 : 16 * FAN * FAN;

	(void)state;
	for (i = 0; i < nr; i++)
		store_value(xa, i);
	for (i = nr / 4; i < nr / 2; i++)
		xa_erase(xa, i);
	for (i = 0; i < nr + 10; i++) {
		void *want = i >= nr || (i >= nr / 4 && i < nr / 2) ? NULL :
								     val(i);

		assert_ptr_equal(xas_next(&xas), want);
		assert_int_equal(xas.xa_index, i);
	}
	for (; i-- > 1; ) {
		xas_prev(&xas);
		assert_int_equal(xas.xa_index, i - 1);
	}
	assert_ptr_equal(xas_load(&xas), val(0));
	assert_null(xas_prev(&xas));
	assert_int_equal(xas.xa_index, ULONG_MAX);
	assert_ptr_equal(xas_next(&xas), val(0));
	assert_int_equal(xas.xa_index, 0);
	assert_ptr_equal(xas_next(&xas), val(1));
}

static void fm_X32_move_edges(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 64; k++) {
		unsigned long high = 1ul << k;
		XA_STATE(xas, xa, high);

		store_value(xa, 0);
		store_value(xa, high);
		assert_ptr_equal(xas_prev(&xas), val(high));
		assert_ptr_equal(xas_prev(&xas), high == 1 ? val(0) : NULL);
		assert_int_equal(xas.xa_index, high - 1);
		assert_ptr_equal(xas_next(&xas), val(high));
		assert_null(xas_next(&xas));
		assert_int_equal(xas.xa_index, high + 1);
		assert_ptr_equal(xas_prev(&xas), val(high));
		xas_set(&xas, 0);
		assert_ptr_equal(xas_find(&xas, ULONG_MAX), val(0));
		assert_ptr_equal(xas_find(&xas, ULONG_MAX), val(high));
		assert_null(xas_find(&xas, ULONG_MAX));
		xa_destroy(xa);
	}
}

/* Unwalked, next is load; no second one for the first index. */
static void next_loads_first(void **state)
{
	XA_STATE(xas, xa, 100);

	(void)state;
	for (unsigned long i = 100; i < 104; i++)
		store_value(xa, i);
	assert_ptr_equal(xas_next(&xas), val(100));
	assert_ptr_equal(xas_next(&xas), val(101));
	xas_pause(&xas);
	assert_ptr_equal(xas_next(&xas), val(102));
}

static void fm_X49_wrap(void **state)
{
	XA_STATE(xas, xa, ULONG_MAX);

	(void)state;
	store_value(xa, 0);
	store_value(xa, ULONG_MAX);
	xa_lock(xa);
	assert_ptr_equal(xas_next(&xas), val(ULONG_MAX));
	assert_null(xas_next(&xas));
	assert_int_equal(xas.xa_index, 0);
	assert_null(xas_store(&xas, ptr(1)));
	assert_int_equal(xas_error(&xas), -ERANGE);
	xa_unlock(xa);
	assert_false(xas_nomem(&xas, 0));
	assert_ptr_equal(xa_load(xa, 0), val(0));
	assert_ptr_equal(xa_load(xa, ULONG_MAX), val(ULONG_MAX));
	assert_valid(xa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XA_TEST(fm_X5_mark),
		XA_TEST(fm_X6_mark_united),
		XA_TEST(fm_X7_mark_many),
		XA_TEST(fm_X8_mark_inside),
		XA_TEST(fm_X23_conflict),
		XA_TEST(fm_X24_conflict_order),
		XA_TEST(conflict_is_no_iteration),
		XA_TEST(fm_X25_find),
		XA_TEST(fm_X26_find_max),
		XA_TEST(fm_X27_find_multi),
		XA_TEST(fm_X28_find_erase),
		XA_TEST(fm_X29_mark_max),
		XA_TEST(fm_X30_pause),
		XA_TEST(fm_X31_move),
		XA_TEST(fm_X32_move_edges),
		XA_TEST(next_loads_first),
		XA_TEST(fm_X42_mark_copy),
		XA_TEST(fm_X44_gang),
		XA_TEST(fm_X45_mark_summary),
		XA_TEST(fm_X46_multi_mixed),
		XA_TEST(fm_X49_wrap),
	};

	random_init(&rnd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
