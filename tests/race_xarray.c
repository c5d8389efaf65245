/* SPDX-License-Identifier: MIT */
/*
 * Claim: under every schedule, with strong and with weak memory, a reader of an
 * index under RCU finds at each index what is or was there, while it grows,
 * shrinks, and loses and replaces nodes; a reader outside a read section meets
 * the freeing of a node.
 *
 * Source: docs/ordering.md, [xa-publish]; filemap.md 4.3, X51 to X53
 */
#include "tests/race_expect.h"

#include "lib/xarray.h"
#include "mm/gfp.h"

#define INDEX(r)	(*(struct xarray **)&(r)->note[3])

static inline void *val(unsigned long n)
{
	return xa_mk_value(n);
}

static void *store_order(struct race *r, unsigned long index,
			 unsigned int order, void *entry)
{
	XA_STATE_ORDER(xas, INDEX(r), index, order);
	void *old;

	do {
		xas_lock(&xas);
		old = xas_store(&xas, entry);
		xas_unlock(&xas);
	} while (xas_nomem(&xas, 0));
	return old;
}

static void store(struct race *r, unsigned long index)
{
	xa_store(INDEX(r), index, val(index), 0);
}

static void setup_empty(struct race *r)
{
	INDEX(r) = kzalloc(sizeof(struct xarray));
	xa_init(INDEX(r));
}

/* ---- growing and shrinking ---------------------------------------------- */

static void setup_zero(struct race *r)
{
	setup_empty(r);
	store(r, 0);
}

static void setup_pair(struct race *r)
{
	setup_zero(r);
	store(r, 1);
}

static void setup_high(struct race *r)
{
	setup_zero(r);
	store(r, XA_CHUNK_SIZE);
}

THREAD(store_one)	{ store(r, 1); }
THREAD(store_high)	{ store(r, XA_CHUNK_SIZE); }
THREAD(erase_one)	{ xa_erase(INDEX(r), 1); }
THREAD(erase_high)	{ xa_erase(INDEX(r), XA_CHUNK_SIZE); }
THREAD(load_zero)	{ race_check(xa_load(INDEX(r), 0) == val(0)); }

THREAD(find_zero)
{
	unsigned long index = 0;

	race_check(xa_find(INDEX(r), &index, 1, XA_PRESENT) == val(0));
}

/* From index 0 up, through what may have become the root meanwhile. */
THREAD(iterate)
{
	XA_STATE(xas, INDEX(r), 0);
	void *entry;

	rcu_read_lock();
	xas_for_each(&xas, entry, ULONG_MAX)
		if (!xas_retry(&xas, entry))
			race_check(entry == val(xas.xa_index));
	rcu_read_unlock();
}

THREAD(load_high_unprotected)
{
	XA_STATE(xas, INDEX(r), XA_CHUNK_SIZE);

	xas_load(&xas);
}

#define TWO(name, says, before, ...)					\
	SCENARIO(name, .claim = says, .setup = before,			\
		 .threads = { __VA_ARGS__ })

TWO(xa_leaf_made, "index 0 is there while a leaf is made", setup_zero,
    { "store", store_one }, { "load", load_zero })
TWO(xa_grown, "index 0 is there while the tree grows", setup_pair,
    { "store", store_high }, { "load", load_zero })
TWO(xa_grown_walked, "a walk ends while the tree grows", setup_pair,
    { "store", store_high }, { "walk", iterate })
TWO(xa_collapsed, "index 0 is there while the leaf goes", setup_pair,
    { "erase", erase_one }, { "load", load_zero })
TWO(xa_collapsed_found, "index 0 is found while the leaf goes", setup_pair,
    { "erase", erase_one }, { "find", find_zero })
TWO(xa_shrunk, "index 0 is there while the root goes", setup_high,
    { "erase", erase_high }, { "load", load_zero })
TWO(xa_shrunk_walked, "a walk ends while the root goes", setup_high,
    { "erase", erase_high }, { "walk", iterate })
TWO(xa_unprotected, "a reader needs a read section", setup_high,
    { "erase", erase_high }, { "load", load_high_unprotected })

/* ---- siblings ----------------------------------------------------------- */

static void setup_entry_of_two(struct race *r)
{
	setup_empty(r);
	store(r, 5);
	store_order(r, 2, 1, val(9));
}

THREAD(narrow)
{
	store_order(r, 2, 1, NULL);
	store(r, 2);
}

THREAD(load_second)
{
	void *entry = xa_load(INDEX(r), 3);

	race_check(!entry || entry == val(9));
}

TWO(xa_sibling, "a sibling reads its own entry only", setup_entry_of_two,
    { "narrow", narrow }, { "load", load_second })

/* ---- a subtree for one entry -------------------------------------------- */

static void setup_subtree(struct race *r)
{
	setup_zero(r);
	store(r, XA_CHUNK_SIZE + 1);
}

THREAD(replace)
{
	store_order(r, XA_CHUNK_SIZE, XA_CHUNK_SHIFT, val(9));
}

THREAD(load_below)
{
	void *entry = xa_load(INDEX(r), XA_CHUNK_SIZE + 1);

	race_check(entry == val(XA_CHUNK_SIZE + 1) || entry == val(9));
}

TWO(xa_replaced, "what is replaced is never absent", setup_subtree,
    { "store", replace }, { "load", load_below })

/* ---- what is expected --------------------------------------------------- */

static void expect_none(const char *name)
{
	expect_in(name, false, 6, FAIL_NONE);
	expect_in(name, true, 4, FAIL_NONE);
}

static void test_growing(void **state)
{
	(void)state;
	expect_none("xa_leaf_made");
	expect_none("xa_grown");
	expect_none("xa_grown_walked");
}

static void test_shrinking(void **state)
{
	(void)state;
	expect_none("xa_collapsed");
	expect_none("xa_collapsed_found");
	expect_none("xa_shrunk");
	expect_none("xa_shrunk_walked");
}

static void test_grace_period(void **state)
{
	(void)state;
	expect("xa_unprotected", false, FAIL_RACE);
}

static void test_entries_of_several(void **state)
{
	(void)state;
	expect_none("xa_sibling");
	expect_none("xa_replaced");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_grace_period),
		cmocka_unit_test(test_entries_of_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
