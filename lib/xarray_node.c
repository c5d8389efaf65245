/* SPDX-License-Identifier: MIT */
/*
 * XArray: nodes, from the spares of a cursor to the grace period after which
 * they are freed; and entries that are split, which is nodes filled in advance.
 *
 * Source: lib/xarray.c
 */
#include "lib/xarray.h"

#include "host/atomic.h"
#include "lib/xarray_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void spare_push(struct xa_state *xas, struct xa_node *node)
{
	node->parent = xas->xa_spares;
	xas->xa_spares = node;
	xas->xa_nr_spares++;
}

static struct xa_node *spare_pop(struct xa_state *xas)
{
	struct xa_node *node = xas->xa_spares;

	BUG_ON(!node);
	xas->xa_spares = node->parent;
	xas->xa_nr_spares--;
	return node;
}

bool xas_alloc_spares(struct xa_state *xas, unsigned int nr, gfp_t gfp)
{
	xa_zalloc_fn zalloc = xas->xa->xa_zalloc;
	struct xa_node *node;

	while (xas->xa_nr_spares < nr) {
		node = zalloc ? zalloc(sizeof(*node), gfp) :
				calloc(1, sizeof(*node));
		if (!node)
			return false;
		spare_push(xas, node);
	}
	return true;
}

void xas_destroy(struct xa_state *xas)
{
	while (xas->xa_spares)
		free(spare_pop(xas));
}

bool xas_nomem(struct xa_state *xas, gfp_t gfp)
{
	unsigned int nr = xas->xa_missing;

	xas->xa_missing = 0;
	if (xas_error(xas) != -ENOMEM || !nr ||
	    !xas_alloc_spares(xas, xas->xa_nr_spares + nr, gfp)) {
		xas_destroy(xas);
		return false;
	}
	xas_reset(xas);
	return true;
}

unsigned int xas_spares_for(const struct xa_state *xas, unsigned long last)
{
	unsigned long first = xas->xa_index, max;
	unsigned int nr = 0, shift;

	rcu_read_lock();
	max = xa_max_index(xa_head(xas->xa)) | last;
	rcu_read_unlock();
	/* For each level its nodes, and one should the old root be below it. */
	for (shift = 0; max >> shift; shift += XA_CHUNK_SHIFT) {
		nr += (last >> shift >> XA_CHUNK_SHIFT) -
		      (first >> shift >> XA_CHUNK_SHIFT) + 2;
		if (shift + XA_CHUNK_SHIFT >= XA_INDEX_BITS)
			break;
	}
	return nr ? nr : 1;
}

struct xa_node *xas_new_node(struct xa_state *xas, unsigned int shift,
			     struct xa_node *parent, unsigned int offset)
{
	struct xa_node *node = spare_pop(xas);

	node->shift = shift;
	node->offset = offset;
	node->array = xas->xa;
	node->parent = parent;
	INIT_LIST_HEAD(&node->private_list);
	return node;
}

struct xa_node *xas_fill_leaf(struct xa_state *xas, void *const *entries)
{
	struct xa_node *leaf;

	if (!xas->xa_spares)
		return NULL;
	leaf = xas_new_node(xas, 0, NULL, 0);
	leaf->count = XA_CHUNK_SIZE;
	leaf->nr_values = 0;
	for (unsigned int i = 0; i < XA_CHUNK_SIZE; i++) {
		leaf->slots[i] = entries[i];
		leaf->nr_values += xa_is_value(entries[i]);
	}
	return leaf;
}

/* As a node that was prepared for a split: it is cleared when it is used. */
void xas_spare_leaf(struct xa_state *xas, struct xa_node *leaf)
{
	spare_push(xas, leaf);
}

void xas_update(struct xa_state *xas, struct xa_node *node)
{
	if (xas->xa->xa_update)
		xas->xa->xa_update(node);
}

static void free_node(struct rcu_head *head)
{
	rcu_callback_begin();
	free(container_of(head, struct xa_node, rcu_head));
	rcu_callback_end();
}

void xa_free_node(struct xa_state *xas, struct xa_node *node)
{
	node->count = 0;
	node->nr_values = 0;
	xas_update(xas, node);
	call_rcu(&node->rcu_head, free_node);
}

void xas_free_nodes(struct xa_state *xas, struct xa_node *node)
{
	for (unsigned int i = 0; i < XA_CHUNK_SIZE; i++) {
		void *entry = xa_entry(node, i);

		if (xa_is_node(entry))
			xas_free_nodes(xas, xa_to_node(entry));
		else if (entry)
			xa_set_slot(node, i, XA_RETRY_ENTRY);
	}
	xa_free_node(xas, node);
}

/* ---- splitting ---------------------------------------------------------- */

/* Slots [first, first + nr) of @node become one entry. */
static void lay_piece(struct xa_node *node, unsigned int first, unsigned int nr,
		      void *entry)
{
	for (unsigned int i = 0; i < nr; i++) {
		void *new = i ? xa_mk_sibling(first) : entry;

		if (node->slots[first + i] != new)
			xa_set_slot(node, first + i, new);
	}
}

void xas_split_alloc(struct xa_state *xas, void *entry, unsigned int order,
		     gfp_t gfp)
{
	unsigned int level = xas->xa_shift, piece = xas->xa_sibs + 1U, i;
	struct xa_node *node;

	/* Pieces that stay in the node of the whole need none. */
	if (xas_error(xas) || order < level + XA_CHUNK_SHIFT)
		return;
	xas->xa_missing = 0;
	if (order >= level + 2 * XA_CHUNK_SHIFT ||
	    !xas_alloc_spares(xas, 1U << order % XA_CHUNK_SHIFT, gfp)) {
		xas_destroy(xas);
		xas_set_err(xas, -ENOMEM);
		return;
	}
	/* Filled here, not under the lock. */
	node = xas->xa_spares;
	for (unsigned int n = 1U << order % XA_CHUNK_SHIFT; n; n--) {
		for (i = 0; i < XA_CHUNK_SIZE; i += piece)
			lay_piece(node, i, piece, entry);
		node->count = XA_CHUNK_SIZE;
		node->nr_values = xa_is_value(entry) ? XA_CHUNK_SIZE : 0;
		node = node->parent;
	}
}

/* Every @piece-th slot of these has the marks that @from had. */
static void spread_marks(struct xa_node *node, unsigned int first,
			 unsigned int nr, unsigned int piece,
			 const struct xa_node *from, unsigned int offset)
{
	u64 bits = 0;

	for (unsigned int i = 0; i < nr; i += piece)
		bits |= (u64)1 << (first + i);
	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		if (node_marks(from, mark) >> offset & 1)
			node_set_marks(node, mark,
				       node_marks(node, mark) | bits);
}

/* A slot of the entry becomes a node full of pieces. */
static void split_slot(struct xa_state *xas, unsigned int offset,
		       unsigned int canonical)
{
	struct xa_node *parent = xas->xa_node;
	struct xa_node *node = xas_new_node(xas, xas->xa_shift, parent, offset);

	BUG_ON(node->count != XA_CHUNK_SIZE);
	spread_marks(node, 0, XA_CHUNK_SIZE, xas->xa_sibs + 1U, parent,
		     canonical);
	xas_update(xas, node);
	xa_set_slot(parent, offset, xa_mk_node(node));
}

void xas_split(struct xa_state *xas, void *entry, unsigned int order)
{
	unsigned int nr = 1U << order % XA_CHUNK_SHIFT, piece, first;
	void *old = xas_load(xas);
	struct xa_node *node = xas->xa_node;
	int values;

	if (!xas_is_node(xas))
		return;
	first = xas->xa_offset;
	piece = node->shift > xas->xa_shift ? 1U : xas->xa_sibs + 1U;
	spread_marks(node, first, nr, piece, node, first);
	/* From the top, or siblings would lead to what is no longer theirs. */
	for (unsigned int i = nr; i; i -= piece) {
		if (node->shift > xas->xa_shift)
			split_slot(xas, first + i - 1, first);
		else
			lay_piece(node, first + i - piece, piece, entry);
	}
	values = (node->shift == xas->xa_shift && xa_is_value(entry)) -
		 xa_is_value(old);
	node->nr_values += values * (int)nr;
	xas_update(xas, node);
	/* Made high enough for an entry that is no longer. */
	if (!xa_parent(node))
		xas_shrink(xas, node);
}
