/* SPDX-License-Identifier: MIT */
/*
 * Claim: readers under RCU alone see each index before or after a store, find
 * no node's innards, and end, whatever writers do meanwhile: filemap.md, B18, X50
 * to X55.  Each fan-out, ASan and TSan.
 *
 * Source: tools/testing/radix-tree (the scenarios)
 */
#include "tests/random.h"
#include "tests/xarray_test.h"

#include "host/clock.h"

#include <pthread.h>

#define RUN_NS		150000000ull
#define MAX_THREADS	5

static struct xarray *const xa = &test_xa;
static u64 seed;
static u32 stop;

static bool stopped(void)
{
	return smp_load_acquire(&stop);
}

/* All run until the time is up. */
static void run_threads(void *(*const fns[])(void *), unsigned int nr)
{
	pthread_t threads[MAX_THREADS];
	u64 end = clock_ns() + RUN_NS;

	smp_store_release(&stop, 0);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fns[i],
						(void *)(seed + i)), 0);
	while (clock_ns() < end)
		cpu_relax();
	smp_store_release(&stop, 1);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	assert_valid(xa);
}

/* ---- X50: what is removed is freed after a grace period ----------------- */

struct item {
	struct rcu_head rcu;
	atomic_t count;
	unsigned long index;
};

static void free_item(struct rcu_head *head)
{
	rcu_callback_begin();
	free(container_of(head, struct item, rcu));
	rcu_callback_end();
}

static void add_item(unsigned long index)
{
	struct item *item = calloc(1, sizeof(*item));

	item->index = index;
	atomic_set(&item->count, 1);
	store(xa, index, item);
}

static void remove_item(unsigned long index)
{
	struct item *item = xa_erase(xa, index);

	if (item && atomic_dec_and_test(&item->count))
		call_rcu(&item->rcu, free_item);
}

static void *add_and_remove(void *arg)
{
	(void)arg;
	for (int n = 0; !stopped() && n < 20000; n++) {
		add_item(0);
		add_item(1);
		remove_item(1);
		remove_item(0);
	}
	return NULL;
}

/* R1 to R7 of filemap.md 1.7. */
static struct item *get_item(struct xa_state *xas)
{
	struct item *item;

	do {
		item = xas_find(xas, 1);
		if (xas_retry(xas, item))
			continue;
		if (!item || !atomic_add_if_positive(1, &item->count))
			return NULL;
		if (item == xas_reload(xas))
			return item;
		if (atomic_dec_and_test(&item->count))
			call_rcu(&item->rcu, free_item);
		xas_reset(xas);
	} while (true);
}

static void *scan_items(void *arg)
{
	(void)arg;
	while (!stopped()) {
		XA_STATE(xas, xa, 0);
		struct item *item;

		rcu_read_lock();
		item = get_item(&xas);
		if (item) {
			BUG_ON(item->index != xas.xa_index);
			if (atomic_dec_and_test(&item->count))
				call_rcu(&item->rcu, free_item);
		}
		rcu_read_unlock();
	}
	return NULL;
}

static void fm_X50_removed_and_read(void **state)
{
	void *(*const fns[])(void *) = { add_and_remove, scan_items,
					 scan_items };

	(void)state;
	run_threads(fns, ARRAY_SIZE(fns));
	assert_gone(xa);
}

/* ---- X51: index 0 never vanishes ---------------------------------------- */

static void *grow_and_shrink(void *arg)
{
	(void)arg;
	while (!stopped()) {
		store_value(xa, 1);
		store_value(xa, FAN * FAN);
		xa_erase(xa, FAN * FAN);
		xa_erase(xa, 1);
	}
	return NULL;
}

static void *load_zero(void *arg)
{
	(void)arg;
	while (!stopped()) {
		unsigned long index = 0;

		BUG_ON(xa_load(xa, 0) != val(0));
		BUG_ON(xa_find(xa, &index, 1, XA_PRESENT) != val(0));
		BUG_ON(index);
	}
	return NULL;
}

static void fm_X51_head_and_node(void **state)
{
	void *(*const fns[])(void *) = { grow_and_shrink, load_zero };

	(void)state;
	store_value(xa, 0);
	run_threads(fns, ARRAY_SIZE(fns));
}

/* ---- X52, X53: siblings ------------------------------------------------- */

#define ORDER_ENTRY(first, order)	val((first) << 4 | (order))

static void *store_orders(void *arg)
{
	struct random r = { .state = (u64)arg };

	while (!stopped()) {
		unsigned int order = (unsigned int)random_below(&r, SHIFT + 2);
		unsigned long first = random_below(&r, 4 * FAN) >> order <<
				      order;

		store_order(xa, first, order, NULL);
		store_order(xa, first, order, ORDER_ENTRY(first, order));
	}
	return NULL;
}

/* It erased all there was first, so an entry has the order that it tells. */
static void check_extent(const void *entry, unsigned long index)
{
	unsigned long first = xa_to_value(entry) >> 4;

	BUG_ON(!xa_is_value(entry));
	BUG_ON(index < first);
	BUG_ON(index - first >= 1ul << (xa_to_value(entry) & 15));
}

static void *load_orders(void *arg)
{
	struct random r = { .state = (u64)arg };

	while (!stopped()) {
		unsigned long index = random_below(&r, 4 * FAN);
		void *entry = xa_load(xa, index);

		if (entry)
			check_extent(entry, index);
	}
	return NULL;
}

static void *iterate_orders(void *arg)
{
	unsigned long max = 4 * FAN;

	(void)arg;
	while (!stopped()) {
		XA_STATE(xas, xa, 0);
		unsigned long last = 0;
		void *entry;

		rcu_read_lock();
		xas_for_each(&xas, entry, max) {
			if (xas_retry(&xas, entry))
				continue;
			check_extent(entry, xas.xa_index);
			BUG_ON(xas.xa_index < last);
			last = xas.xa_index;
		}
		rcu_read_unlock();
	}
	return NULL;
}

static void fm_X52_X53_orders(void **state)
{
	void *(*const fns[])(void *) = { store_orders, load_orders,
					 iterate_orders };

	(void)state;
	run_threads(fns, ARRAY_SIZE(fns));
}

/* One entry of two, or two of one: index 1 never reads what 0 alone has had. */
static void *pair_and_single(void *arg)
{
	(void)arg;
	while (!stopped()) {
		store_order(xa, 2, 1, val(1));
		store_order(xa, 2, 1, NULL);
		store(xa, 2, val(2));
		store(xa, 3, val(3));
		xa_erase(xa, 2);
		xa_erase(xa, 3);
	}
	return NULL;
}

static void *load_second(void *arg)
{
	(void)arg;
	while (!stopped()) {
		void *entry = xa_load(xa, 3);

		BUG_ON(entry && entry != val(1) && entry != val(3));
	}
	return NULL;
}

static void sibling_keeps_to_its_own(void **state)
{
	void *(*const fns[])(void *) = { pair_and_single, load_second };

	(void)state;
	store(xa, 5, val(5));
	run_threads(fns, ARRAY_SIZE(fns));
}

/* ---- B18: a leaf comes as a whole --------------------------------------- */

static u32 erasing;		/* the round that may be incomplete again */

static void *splice_leaf(void *arg)
{
	void *entries[FAN];

	(void)arg;
	for (u32 round = 1; !stopped(); round++) {
		XA_STATE(xas, xa, FAN);
		struct xa_node *leaf;

		for (unsigned int i = 0; i < FAN; i++)
			entries[i] = val(round);
		BUG_ON(!xas_alloc_spares(&xas, 3, 0));
		leaf = xas_fill_leaf(&xas, entries);
		xa_lock(xa);
		BUG_ON(!xas_splice_leaf(&xas, leaf));
		xa_unlock(xa);
		xas_destroy(&xas);
		smp_store_release(&erasing, round);
		for (unsigned int i = 0; i < FAN; i++)
			xa_erase(xa, FAN + i);
	}
	return NULL;
}

static void *load_ends(void *arg)
{
	(void)arg;
	while (!stopped()) {
		void *first = xa_load(xa, FAN);
		void *last = xa_load(xa, 2 * FAN - 1);

		smp_rmb();
		if (first && READ_ONCE(erasing) < xa_to_value(first))
			BUG_ON(last != first);
	}
	return NULL;
}

static void fm_B18_whole_leaf(void **state)
{
	void *(*const fns[])(void *) = { splice_leaf, load_ends };

	(void)state;
	run_threads(fns, ARRAY_SIZE(fns));
}

/* ---- X54, X55: iterating ------------------------------------------------ */

#define WINDOW	(2 * FAN)

static void *add_marked(void *arg)
{
	struct random r = { .state = (u64)arg };

	while (!stopped()) {
		unsigned long index = random_below(&r, WINDOW);
		unsigned int order = 0;

		while (order < 7 && !(index >> order & 1))
			order++;
		store_order(xa, index, random_chance(&r, 50) ? order : 0,
			    ptr(index));
		xa_set_mark(xa, index, XA_MARK_0);
	}
	return NULL;
}

static void *remove_any(void *arg)
{
	struct random r = { .state = (u64)arg };

	while (!stopped())
		xa_erase(xa, random_below(&r, WINDOW));
	return NULL;
}

static void *iterate_marked(void *arg)
{
	struct random r = { .state = (u64)arg };
	bool marked = (u64)arg & 1;

	while (!stopped()) {
		XA_STATE(xas, xa, 0);

		rcu_read_lock();
		for (;;) {
			void *entry = marked ?
				xas_find_marked(&xas, ULONG_MAX, XA_MARK_0) :
				xas_next_entry(&xas, ULONG_MAX);

			if (!entry)
				break;
			if (xas_retry(&xas, entry))
				continue;
			BUG_ON(xa_is_internal(entry) || xa_is_value(entry));
			if (random_chance(&r, 95))
				continue;
			xas_pause(&xas);
			rcu_read_unlock();
			rcu_read_lock();
		}
		rcu_read_unlock();
	}
	return NULL;
}

static void *copy_marks(void *arg)
{
	(void)arg;
	while (!stopped()) {
		XA_STATE(xas, xa, 0);
		void *entry;

		xa_lock(xa);
		xas_for_each_marked(&xas, entry, ULONG_MAX, XA_MARK_0)
			xas_set_mark(&xas, XA_MARK_1);
		xa_unlock(xa);
	}
	return NULL;
}

static void fm_X54_iterate(void **state)
{
	void *(*const fns[])(void *) = { add_marked, remove_any,
					 iterate_marked, iterate_marked,
					 copy_marks };

	(void)state;
	run_threads(fns, ARRAY_SIZE(fns));
}

static void *thrash_below(void *arg)
{
	struct random r = { .state = (u64)arg };

	while (!stopped()) {
		unsigned long index = random_below(&r, 100);

		store(xa, index, ptr(index));
		xa_set_mark(xa, index, XA_MARK_0);
		xa_erase(xa, random_below(&r, 100));
	}
	return NULL;
}

static void *reach_marked(void *arg)
{
	(void)arg;
	while (!stopped()) {
		XA_STATE(xas, xa, 0);
		unsigned long last = 0;
		void *entry;

		rcu_read_lock();
		xas_for_each_marked(&xas, entry, ULONG_MAX, XA_MARK_0)
			if (!xas_retry(&xas, entry))
				last = xas.xa_index;
		rcu_read_unlock();
		BUG_ON(last < 100);
	}
	return NULL;
}

static void fm_X55_reach(void **state)
{
	void *(*const fns[])(void *) = { thrash_below, reach_marked };

	(void)state;
	store(xa, 100, ptr(100));
	xa_set_mark(xa, 100, XA_MARK_0);
	run_threads(fns, ARRAY_SIZE(fns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XA_TEST(fm_X50_removed_and_read),
		XA_TEST(fm_X51_head_and_node),
		XA_TEST(fm_X52_X53_orders),
		XA_TEST(fm_B18_whole_leaf),
		XA_TEST(sibling_keeps_to_its_own),
		XA_TEST(fm_X54_iterate),
		XA_TEST(fm_X55_reach),
	};
	struct random r;

	random_init(&r);
	seed = r.state;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
