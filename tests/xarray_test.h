/* SPDX-License-Identifier: MIT */
/*
 * For the tests of lib/xarray.h: entries, memory that fails, orders.
 */
#ifndef TESTS_XARRAY_TEST_H
#define TESTS_XARRAY_TEST_H

#include "lab/xa_validate.h"
#include "lib/xarray.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

/* Last: it has a fail() of its own. */
#include <cmocka.h>

#define FAN		XA_CHUNK_SIZE
#define SHIFT		((unsigned int)XA_CHUNK_SHIFT)
#define INTERNAL	__attribute__((unused)) static

/* The allocation, counted down, that fails; 0: none.  -1: all do. */
static long fail_alloc;
static unsigned long allocs;

INTERNAL void *test_zalloc(size_t bytes, gfp_t gfp)
{
	assert_int_equal(gfp, 0);
	assert_false(lockrank_held(RANK_XA));
	if (fail_alloc < 0 || (fail_alloc && --fail_alloc == 0))
		return NULL;
	allocs++;
	return calloc(1, bytes);
}

/* Never looked into, so any multiple of 4 will do. */
static inline void *ptr(unsigned long n)
{
	return (void *)((n + 1) << 2);
}

static inline void *val(unsigned long n)
{
	return xa_mk_value(n & LONG_MAX);
}

INTERNAL void *store_order(struct xarray *xa, unsigned long index,
			   unsigned int order, void *entry)
{
	XA_STATE_ORDER(xas, xa, index, order);
	void *old;

	do {
		xas_lock(&xas);
		old = xas_store(&xas, entry);
		xas_unlock(&xas);
	} while (xas_nomem(&xas, 0));
	assert_int_equal(xas_error(&xas), 0);
	return old;
}

INTERNAL void store(struct xarray *xa, unsigned long index, void *entry)
{
	assert_false(xa_is_err(xa_store(xa, index, entry, 0)));
}

INTERNAL void store_value(struct xarray *xa, unsigned long index)
{
	store(xa, index, val(index));
}

INTERNAL void erase_value(struct xarray *xa, unsigned long index)
{
	assert_ptr_equal(xa_erase(xa, index), val(index));
	assert_null(xa_load(xa, index));
}

#define assert_valid(xa)	assert_int_equal(xa_validate(xa), 0)

INTERNAL void assert_gone(struct xarray *xa)
{
	assert_valid(xa);
	assert_true(xa_empty(xa));
}

static struct xarray test_xa;

INTERNAL int xa_setup(void **state)
{
	(void)state;
	fail_alloc = 0;
	xa_init_zalloc(&test_xa, test_zalloc);
	return 0;
}

INTERNAL int xa_teardown(void **state)
{
	(void)state;
	xa_destroy(&test_xa);
	rcu_barrier();
	return 0;
}

#define XA_TEST(fn) cmocka_unit_test_setup_teardown(fn, xa_setup, xa_teardown)

#endif
