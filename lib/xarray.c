/* SPDX-License-Identifier: MIT */
/*
 * XArray: walking and finding, by readers and writers alike.
 *
 * A node keeps its place in the index space while it is reachable, so where a
 * cursor is in it follows from the index; only the way up changes, when the
 * tree grows or shrinks at the root.  A reader may be in a node that is no
 * longer linked: its links lead to nodes that are as old, its entries have
 * become retry entries.
 *
 * Source: lib/xarray.c
 */
#include "lib/xarray.h"

#include "host/atomic.h"
#include "lib/xarray_internal.h"

void *xas_start(struct xa_state *xas)
{
	void *head;

	if (xas_valid(xas))
		return xas_reload(xas);
	if (xas_error(xas) || xas->xa_node == XAS_WRAPPED)
		return NULL;
	count_event(EV_XA_DESCENTS);
	head = xa_head(xas->xa);
	if (xas->xa_index > xa_max_index(head))
		return xas_out_of_bounds(xas);
	xas->xa_node = NULL;
	xas->xa_offset = 0;
	return head;
}

/*
 * A sibling and its canonical slot are two loads.  A reader has to look at the
 * sibling again, else what was stored in the canonical slot for itself alone,
 * after the entry of both had gone, would be taken for that of the sibling.
 */
static void *resolve_sibling(struct xa_node *node, unsigned int offset,
			     void *sibling)
{
	void *entry = xa_entry(node, xa_to_internal(sibling));

	if (xa_is_sibling(entry) || xa_is_node(entry) ||
	    xa_entry(node, offset) != sibling)
		return XA_RETRY_ENTRY;
	return entry;
}

void *xas_descend(struct xa_state *xas, struct xa_node *node)
{
	unsigned int offset = xas_offset_in(xas, node);
	void *entry = xa_entry(node, offset);

	xas->xa_node = node;
	xas->xa_offset = offset;
	if (xa_is_sibling(entry)) {
		xas->xa_offset = xa_to_internal(entry);
		entry = resolve_sibling(node, offset, entry);
	}
	return entry;
}

void *xas_reload(struct xa_state *xas)
{
	if (!xas->xa_node)
		return xa_head(xas->xa);
	return xas_descend(xas, xas->xa_node);
}

void *xas_load(struct xa_state *xas)
{
	void *entry = xas_start(xas);

	while (xa_is_node(entry)) {
		struct xa_node *node = xa_to_node(entry);

		if (xas->xa_shift > node->shift)
			break;
		entry = xas_descend(xas, node);
		if (xas->xa_shift == node->shift)
			break;
	}
	return entry;
}

/*
 * To the first index of the next slot, in this node or above it; false at the
 * end of the tree.
 */
static bool xas_next_slot(struct xa_state *xas)
{
	struct xa_node *node = xas->xa_node;
	unsigned long index = ((xas->xa_index >> node->shift) + 1) <<
			      node->shift;

	xas->xa_index = index;
	if (!index) {
		xas->xa_node = XAS_WRAPPED;
		return false;
	}
	/* A carry out of a node leaves 0 there. */
	while (node && !xas_offset_in(xas, node))
		node = xa_parent(node);
	if (!node) {
		xas->xa_node = XAS_BOUNDS;
		return false;
	}
	xas->xa_node = node;
	xas->xa_offset = xas_offset_in(xas, node);
	return true;
}

static void xas_enter(struct xa_state *xas, struct xa_node *node)
{
	xas->xa_node = node;
	xas->xa_offset = xas_offset_in(xas, node);
}

/* An entry in the head has nothing behind it. */
static void *xas_past_head(struct xa_state *xas)
{
	xas->xa_index = 1;
	return xas_out_of_bounds(xas);
}

static bool xas_at_end(const struct xa_state *xas)
{
	return xas_error(xas) || xas->xa_node == XAS_BOUNDS ||
	       xas->xa_node == XAS_WRAPPED;
}

/*
 * From a slot without an entry of its own, empty or a sibling, to the last such
 * one in a row, in this node and up to @max.
 */
static void xas_skip_slots(struct xa_state *xas, unsigned long max)
{
	const struct xa_node *node = xas->xa_node;
	unsigned int offset = xas->xa_offset, end = XA_CHUNK_MASK;

	if ((xas->xa_index ^ max) >> node->shift < XA_CHUNK_SIZE)
		end = max >> node->shift & XA_CHUNK_MASK;
	for (; offset < end; offset++) {
		const void *next = xa_entry(node, offset + 1);

		if (next && !xa_is_sibling(next))
			break;
	}
	xas->xa_index = ((xas->xa_index >> node->shift) + offset -
			 xas->xa_offset) << node->shift;
	xas->xa_offset = (u8)offset;
}

void *xas_find(struct xa_state *xas, unsigned long max)
{
	void *entry;

	if (xas_at_end(xas))
		return NULL;
	if (xas->xa_index > max)
		return xas_out_of_bounds(xas);
	if (!xas->xa_node)
		return xas_past_head(xas);
	if (xas->xa_node == XAS_RESTART) {
		entry = xas_load(xas);
		if (xa_is_node(entry))
			xas_enter(xas, xa_to_node(entry));
		else if (entry || !xas_is_node(xas))
			return entry;
	} else if (!xas_next_slot(xas)) {
		return NULL;
	}
	while (xas->xa_index <= max) {
		entry = xa_entry(xas->xa_node, xas->xa_offset);
		if (xa_is_node(entry)) {
			xas_enter(xas, xa_to_node(entry));
			continue;
		}
		if (entry && !xa_is_sibling(entry))
			return entry;
		xas_skip_slots(xas, max);
		if (!xas_next_slot(xas))
			return NULL;
	}
	return NULL;
}

/*
 * Of the slots of the cursor's node from its own on, go to the first that is
 * marked, or behind the last; false at the end of the tree.
 */
static bool xas_next_marked_slot(struct xa_state *xas, xa_mark_t mark)
{
	const struct xa_node *node = xas->xa_node;
	unsigned int shift = node->shift;
	u64 bits = node_marks(node, mark) >> xas->xa_offset;
	unsigned int skip;

	if (bits & 1)
		return true;
	skip = bits ? (unsigned int)__builtin_ctzll(bits) :
		      XA_CHUNK_SIZE - xas->xa_offset;
	xas->xa_index = ((xas->xa_index >> shift) + skip - 1) << shift;
	return xas_next_slot(xas);
}

/* Started inside an entry: to its first index. */
static void xas_to_first(struct xa_state *xas)
{
	const struct xa_node *node = xas->xa_node;
	void *entry = xa_entry(node, xas->xa_offset);
	unsigned int back = 0;

	if (xa_is_node(entry))
		return;
	if (xa_is_sibling(entry))
		back = xas->xa_offset - xa_to_internal(entry);
	if (!entry)
		return;
	xas->xa_index = ((xas->xa_index >> node->shift) - back) << node->shift;
	xas->xa_offset -= back;
}

/* The first step of a marked walk; true if it is at a slot of a node. */
static bool xas_start_marked(struct xa_state *xas, xa_mark_t mark, void **entry)
{
	*entry = NULL;
	if (!xas->xa_node)
		return xas_past_head(xas);
	if (xas->xa_node != XAS_RESTART)
		return xas_next_slot(xas);
	*entry = xas_start(xas);
	if (xas_invalid(xas))
		return false;
	if (!xa_is_node(*entry)) {
		if (!*entry || !xa_marked(xas->xa, mark))
			*entry = xas_past_head(xas);
		return false;
	}
	do {
		xas_enter(xas, xa_to_node(*entry));
		*entry = xa_entry(xas->xa_node, xas->xa_offset);
	} while (xa_is_node(*entry));
	xas_to_first(xas);
	return true;
}

void *xas_find_marked(struct xa_state *xas, unsigned long max, xa_mark_t mark)
{
	void *entry;

	if (xas_at_end(xas))
		return NULL;
	if (xas->xa_index > max) {
		xas_reset(xas);
		return NULL;
	}
	if (!xas_start_marked(xas, mark, &entry))
		return entry;
	for (;;) {
		struct xa_node *node = xas->xa_node;

		if (!xas_next_marked_slot(xas, mark))
			return NULL;
		if (xas->xa_index > max)
			break;
		/* Gone up: that slot has to be looked at first. */
		if (xas->xa_node != node)
			continue;
		entry = xa_entry(node, xas->xa_offset);
		if (xa_is_node(entry))
			xas_enter(xas, xa_to_node(entry));
		else if (entry && !xa_is_sibling(entry))
			return entry;
		/* A mark that is just being cleared. */
		else if (!xas_next_slot(xas))
			return NULL;
	}
	xas_reset(xas);
	return NULL;
}

/* The first entry at or below the slot where the cursor is. */
static void *xas_first_below(struct xa_state *xas)
{
	void *entry = xa_entry(xas->xa_node, xas->xa_offset);

	while (xa_is_node(entry)) {
		xas->xa_node = xa_to_node(entry);
		xas->xa_offset = 0;
		entry = xa_entry(xas->xa_node, 0);
	}
	return entry;
}

void *xas_find_conflict(struct xa_state *xas)
{
	void *entry;

	if (xas_error(xas) || xas->xa_node == XAS_WRAPPED || !xas->xa_node)
		return NULL;
	if (xas_invalid(xas)) {
		entry = xas_start(xas);
		while (xa_is_node(entry))
			entry = xas_descend(xas, xa_to_node(entry));
		if (entry || !xas_is_node(xas))
			return entry;
	}
	if (xas->xa_node->shift > xas->xa_shift)
		return NULL;
	for (;;) {
		struct xa_node *node = xas->xa_node;

		if (node->shift == xas->xa_shift) {
			if ((xas->xa_offset & xas->xa_sibs) == xas->xa_sibs)
				break;
		} else if (xas->xa_offset == XA_CHUNK_MASK) {
			xas->xa_offset = node->offset;
			xas->xa_node = xa_parent(node);
			/* A tree that is smaller than the range. */
			if (!xas->xa_node)
				return NULL;
			continue;
		}
		xas->xa_offset++;
		entry = xas_first_below(xas);
		if (entry && !xa_is_sibling(entry))
			return entry;
	}
	xas->xa_offset -= xas->xa_sibs;
	return NULL;
}

/* To another index, up and down again. */
static void *xas_move(struct xa_state *xas, unsigned long index)
{
	unsigned long differs = xas->xa_index ^ index;
	struct xa_node *node = xas->xa_node;
	void *entry;

	xas->xa_index = index;
	if (!xas_is_node(xas)) {
		xas_reset(xas);
		return xas_load(xas);
	}
	while (node && differs >> node->shift >> XA_CHUNK_SHIFT)
		node = xa_parent(node);
	if (!node)
		return xas_out_of_bounds(xas);
	for (;;) {
		xas_enter(xas, node);
		entry = xa_entry(node, xas->xa_offset);
		if (!xa_is_node(entry))
			return entry;
		node = xa_to_node(entry);
	}
}

static void *xas_wrap(struct xa_state *xas, unsigned long index)
{
	xas->xa_index = index;
	xas->xa_node = XAS_WRAPPED;
	return NULL;
}

void *xas_next(struct xa_state *xas)
{
	if (xas->xa_node == XAS_RESTART || xas_error(xas))
		return xas_load(xas);
	if (xas->xa_index == ULONG_MAX && xas->xa_node != XAS_WRAPPED)
		return xas_wrap(xas, 0);
	return xas_move(xas, xas->xa_index + 1);
}

void *xas_prev(struct xa_state *xas)
{
	if (xas->xa_node == XAS_RESTART || xas_error(xas))
		return xas_load(xas);
	if (!xas->xa_index && xas->xa_node != XAS_WRAPPED)
		return xas_wrap(xas, ULONG_MAX);
	return xas_move(xas, xas->xa_index - 1);
}

void xas_pause(struct xa_state *xas)
{
	struct xa_node *node = xas->xa_node;
	unsigned long end;

	if (xas_invalid(xas))
		return;
	xas_reset(xas);
	if (!node) {
		xas->xa_index = 1;
		return;
	}
	end = xas->xa_index >> node->shift;
	end += xa_run_end(node, xas->xa_offset) - (end & XA_CHUNK_MASK);
	xas->xa_index = end << node->shift;
	if (!xas->xa_index)
		xas->xa_node = XAS_WRAPPED;
}

unsigned int xas_get_order(const struct xa_state *xas)
{
	const struct xa_node *node = xas->xa_node;
	unsigned int nr;

	if (!xas_is_node(xas) || !xa_entry(node, xas->xa_offset))
		return 0;
	nr = xa_run_end(node, xas->xa_offset) - xas->xa_offset;
	return node->shift + (unsigned int)__builtin_ctz(nr);
}

bool xas_get_mark(const struct xa_state *xas, xa_mark_t mark)
{
	if (xas_invalid(xas))
		return false;
	if (!xas->xa_node)
		return xa_marked(xas->xa, mark);
	return node_marks(xas->xa_node, mark) >> xas->xa_offset & 1;
}
