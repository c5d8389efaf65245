/* SPDX-License-Identifier: MIT */
/*
 * XArray by index: the calls that do their own locking.
 *
 * Source: lib/xarray.c
 */
#include "lib/xarray.h"

#include "lib/xarray_internal.h"

#include <errno.h>

void *xa_load(struct xarray *xa, unsigned long index)
{
	XA_STATE(xas, xa, index);
	void *entry;

	rcu_read_lock();
	do {
		entry = xas_load(&xas);
		if (xa_is_zero(entry))
			entry = NULL;
	} while (xas_retry(&xas, entry));
	rcu_read_unlock();
	return entry;
}

/* What a call of this file returns for what the cursor came to. */
static void *xas_result(const struct xa_state *xas, void *entry)
{
	if (xas_error(xas))
		return xa_mk_internal((unsigned long)xas_error(xas));
	return xa_is_zero(entry) ? NULL : entry;
}

/* Retry entries, nodes and siblings are ours. */
static bool may_store(const void *entry)
{
	return !xa_is_internal(entry) || xa_is_zero(entry);
}

/* xas_nomem() with xa_lock held, which it drops meanwhile. */
static bool xas_nomem_locked(struct xa_state *xas, gfp_t gfp)
{
	bool again;

	if (!xas_error(xas) && !xas->xa_spares)
		return false;
	xas_unlock(xas);
	again = xas_nomem(xas, gfp);
	xas_lock(xas);
	return again;
}

void *__xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	XA_STATE(xas, xa, index);
	void *old;

	if (!may_store(entry))
		return xa_mk_internal((unsigned long)-EINVAL);
	do {
		old = xas_store(&xas, entry);
	} while (xas_nomem_locked(&xas, gfp));
	return xas_result(&xas, old);
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void *old;

	xa_lock(xa);
	old = __xa_store(xa, index, entry, gfp);
	xa_unlock(xa);
	return old;
}

void *__xa_erase(struct xarray *xa, unsigned long index)
{
	XA_STATE(xas, xa, index);

	return xas_result(&xas, xas_store(&xas, NULL));
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	void *old;

	xa_lock(xa);
	old = __xa_erase(xa, index);
	xa_unlock(xa);
	return old;
}

/* xa_cmpxchg(), but a reserved index shows as such. */
static void *cmpxchg_raw(struct xarray *xa, unsigned long index, void *old,
			 void *entry, gfp_t gfp)
{
	XA_STATE(xas, xa, index);
	void *now;

	if (!may_store(entry))
		return xa_mk_internal((unsigned long)-EINVAL);
	do {
		xas_lock(&xas);
		now = xas_load(&xas);
		if (now == old)
			xas_store(&xas, entry);
		xas_unlock(&xas);
	} while (xas_nomem(&xas, gfp));
	if (xas_error(&xas))
		return xas_result(&xas, NULL);
	return now;
}

void *xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *entry,
		 gfp_t gfp)
{
	void *now = cmpxchg_raw(xa, index, old, entry, gfp);

	return xa_is_zero(now) ? NULL : now;
}

int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void *now = cmpxchg_raw(xa, index, NULL, entry ? entry : XA_ZERO_ENTRY,
				gfp);

	if (xa_is_err(now))
		return xa_err(now);
	return now ? -EBUSY : 0;
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	return xa_err(cmpxchg_raw(xa, index, NULL, XA_ZERO_ENTRY, gfp));
}

void xa_release(struct xarray *xa, unsigned long index)
{
	cmpxchg_raw(xa, index, XA_ZERO_ENTRY, NULL, 0);
}

/* The largest order that is aligned at @first and does not pass @last. */
static unsigned int largest_order(unsigned long first, unsigned long last)
{
	unsigned int order = 0;

	while (order + 1 < XA_INDEX_BITS && !(first & BIT(order)) &&
	       (BIT(order + 1) - 1) <= last - first)
		order++;
	return order;
}

void *xa_store_range(struct xarray *xa, unsigned long first, unsigned long last,
		     void *entry, gfp_t gfp)
{
	XA_STATE(xas, xa, first);
	unsigned int order;

	if (!may_store(entry) || last < first)
		return xa_mk_internal((unsigned long)-EINVAL);
	for (;;) {
		order = largest_order(first, last);
		do {
			xas_lock(&xas);
			xas_set_order(&xas, first, order);
			xas_store(&xas, entry);
			xas_unlock(&xas);
		} while (xas_nomem(&xas, gfp));
		if (xas_error(&xas))
			return xas_result(&xas, NULL);
		if (last - first <= BIT(order) - 1)
			return NULL;
		first += BIT(order);
	}
}

static void *find_filtered(struct xa_state *xas, unsigned long max,
			   xa_mark_t filter)
{
	return filter == XA_PRESENT ? xas_find(xas, max) :
				      xas_find_marked(xas, max, filter);
}

void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max,
	      xa_mark_t filter)
{
	XA_STATE(xas, xa, *index);
	void *entry;

	rcu_read_lock();
	do {
		entry = find_filtered(&xas, max, filter);
	} while (xas_retry(&xas, entry));
	rcu_read_unlock();
	if (entry)
		*index = xas.xa_index;
	return entry;
}

/* The first index of the entry that the cursor found. */
static unsigned long xas_first(const struct xa_state *xas)
{
	const struct xa_node *node = xas->xa_node;
	unsigned long slot;

	if (!xas_is_node(xas))
		return xas->xa_index;
	slot = xas->xa_index >> node->shift;
	return (slot - ((slot & XA_CHUNK_MASK) - xas->xa_offset)) <<
	       node->shift;
}

void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long max,
		    xa_mark_t filter)
{
	XA_STATE(xas, xa, *index + 1);
	void *entry;

	if (*index == ULONG_MAX)
		return NULL;
	rcu_read_lock();
	for (;;) {
		entry = find_filtered(&xas, max, filter);
		if (xas_retry(&xas, entry))
			continue;
		if (!entry || xas_first(&xas) > *index)
			break;
	}
	rcu_read_unlock();
	if (entry)
		*index = xas.xa_index;
	return entry;
}

unsigned int xa_extract(struct xarray *xa, void **entries, unsigned long start,
			unsigned long max, unsigned int nr, xa_mark_t filter)
{
	XA_STATE(xas, xa, start);
	unsigned int found = 0;
	void *entry;

	rcu_read_lock();
	while (found < nr) {
		entry = find_filtered(&xas, max, filter);
		if (!entry)
			break;
		if (!xas_retry(&xas, entry))
			entries[found++] = entry;
	}
	rcu_read_unlock();
	return found;
}

bool xa_get_mark(struct xarray *xa, unsigned long index, xa_mark_t mark)
{
	XA_STATE(xas, xa, index);
	bool set = false;
	void *entry;

	rcu_read_lock();
	do {
		entry = xas_load(&xas);
	} while (!xa_is_zero(entry) && xas_retry(&xas, entry));
	if (entry)
		set = xas_get_mark(&xas, mark);
	rcu_read_unlock();
	return set;
}

void xa_set_mark(struct xarray *xa, unsigned long index, xa_mark_t mark)
{
	XA_STATE(xas, xa, index);

	xas_lock(&xas);
	if (xas_load(&xas))
		xas_set_mark(&xas, mark);
	xas_unlock(&xas);
}

void xa_clear_mark(struct xarray *xa, unsigned long index, xa_mark_t mark)
{
	XA_STATE(xas, xa, index);

	xas_lock(&xas);
	if (xas_load(&xas))
		xas_clear_mark(&xas, mark);
	xas_unlock(&xas);
}

unsigned int xa_get_order(struct xarray *xa, unsigned long index)
{
	XA_STATE(xas, xa, index);
	unsigned int order = 0;
	void *entry;

	rcu_read_lock();
	do {
		entry = xas_load(&xas);
	} while (!xa_is_zero(entry) && xas_retry(&xas, entry));
	if (entry)
		order = xas_get_order(&xas);
	rcu_read_unlock();
	return order;
}

void xa_destroy(struct xarray *xa)
{
	XA_STATE(xas, xa, 0);
	void *head;

	xas_lock(&xas);
	head = xa_head(xa);
	xas.xa_node = NULL;
	xas_init_marks(&xas);
	xa_set_head(xa, NULL);
	if (xa_is_node(head))
		xas_free_nodes(&xas, xa_to_node(head));
	xas_unlock(&xas);
}

void xa_delete_node(struct xa_node *node)
{
	struct xa_state xas = {
		.xa = node->array,
		.xa_index = 0,
		.xa_shift = node->shift + XA_CHUNK_SHIFT,
		.xa_offset = node->offset,
		.xa_node = xa_parent(node),
	};

	/* Its place, for what follows from the index; the root's is 0. */
	for (; xa_parent(node); node = xa_parent(node))
		xas.xa_index |= (unsigned long)node->offset <<
				xa_parent(node)->shift;
	xas_store(&xas, NULL);
}
