/* SPDX-License-Identifier: MIT */
/*
 * XArray: the cursor, for callers who lock and retry themselves.  The rules are
 * lib/xarray.h's, which includes this.
 *
 * Source: include/linux/xarray.h, lib/xarray.c
 */
#ifndef LIB_XA_STATE_H
#define LIB_XA_STATE_H

#include "lib/xarray.h"

struct xa_state {
	struct xarray *xa;
	unsigned long xa_index;
	u8 xa_shift;		/* order of what is stored: its node's shift */
	u8 xa_sibs;		/* and its siblings */
	u8 xa_offset;		/* slot in xa_node; canonical if walked to */
	struct xa_node *xa_node; /* NULL: in the head; or a state */
	struct xa_node *xa_spares; /* unlinked nodes, by parent */
	unsigned int xa_nr_spares;
	unsigned int xa_missing; /* what the store wanted with -ENOMEM */
};

/*
 * States that are no node.  BOUNDS: past what the tree can hold.  WRAPPED: past
 * ULONG_MAX, or before 0, where nothing can be stored.  RESTART: not walked.
 */
#define XAS_BOUNDS	((struct xa_node *)1UL)
#define XAS_RESTART	((struct xa_node *)3UL)
#define XAS_WRAPPED	((struct xa_node *)5UL)

#define XA_STATE_INIT(array, index, shift, sibs) {			\
	.xa = (array), .xa_index = (index), .xa_shift = (shift),	\
	.xa_sibs = (sibs), .xa_node = XAS_RESTART,			\
}
#define XA_STATE(name, array, index)					\
	struct xa_state name = XA_STATE_INIT((array), (index), 0, 0)
/* XA_STATE_ORDER() - for an entry of that order, which covers @index */
#define XA_STATE_ORDER(name, array, index, order)			\
	struct xa_state name = XA_STATE_INIT((array),			\
		(unsigned long)(index) >> (order) << (order),		\
		(order) - (order) % XA_CHUNK_SHIFT,			\
		(1U << (order) % XA_CHUNK_SHIFT) - 1)

#define xas_lock(xas)		xa_lock((xas)->xa)
#define xas_trylock(xas)	xa_trylock((xas)->xa)
#define xas_unlock(xas)		xa_unlock((xas)->xa)

/* xas_error() - the negative errno, or 0 */
static inline int xas_error(const struct xa_state *xas)
{
	unsigned long state = (unsigned long)xas->xa_node;

	return (state & 3) == 2 ? (int)((long)state >> 2) : 0;
}

static inline void xas_set_err(struct xa_state *xas, int err)
{
	xas->xa_node = (struct xa_node *)((unsigned long)err << 2 | 2);
}

/* xas_invalid() - in error, or not at a slot */
static inline bool xas_invalid(const struct xa_state *xas)
{
	return (unsigned long)xas->xa_node & 3;
}

static inline bool xas_valid(const struct xa_state *xas)
{
	return !xas_invalid(xas);
}

/* xas_is_node() - at a slot of a node, not in the head */
static inline bool xas_is_node(const struct xa_state *xas)
{
	return xas_valid(xas) && xas->xa_node;
}

/* xas_reset() - walk anew; an error is forgotten */
static inline void xas_reset(struct xa_state *xas)
{
	xas->xa_node = XAS_RESTART;
}

/* xas_retry() - is @entry nothing to look at?  Then go on with the next. */
static inline bool xas_retry(struct xa_state *xas, const void *entry)
{
	if (xa_is_zero(entry))
		return true;
	if (!xa_is_retry(entry))
		return false;
	xas_reset(xas);
	return true;
}

static inline void xas_set(struct xa_state *xas, unsigned long index)
{
	xas->xa_index = index;
	xas->xa_node = XAS_RESTART;
}

static inline void xas_set_order(struct xa_state *xas, unsigned long index,
				 unsigned int order)
{
	xas_set(xas, index >> order << order);
	xas->xa_shift = order - order % XA_CHUNK_SHIFT;
	xas->xa_sibs = (1U << order % XA_CHUNK_SHIFT) - 1;
}

static inline unsigned int xas_offset_in(const struct xa_state *xas,
					 const struct xa_node *node)
{
	return xas->xa_index >> node->shift & XA_CHUNK_MASK;
}

/*
 * xas_reload() - what is now in the slot that xas_load() or xas_find() was at
 *
 * Context: under RCU, to see if an entry is still the one that it was.
 */
void *xas_reload(struct xa_state *xas);

/*
 * xas_load() - walk to the index
 *
 * Goes down no further than to the slot of an entry of the cursor's order.
 *
 * Context: xa_lock or a read section, as all below unless they say otherwise
 * Return: the entry that covers the index; NULL; under RCU maybe a retry entry;
 *         a node if there is one where the cursor's order belongs.
 */
void *xas_load(struct xa_state *xas);

/*
 * xas_store() - put @entry there, with the cursor's order; NULL erases
 *
 * Replaces all that the order covers.  An entry that covers more is replaced
 * whole, and keeps its order.  Marks of what is replaced are united; erasing
 * clears them.  The cursor stays at the slot; when the last entry of its node
 * goes, it climbs to the node that stays, or out of bounds.
 *
 * Context: xa_lock is held.
 * Return: the entry before, of several the one at the index.  xas_error() tells
 *         -ENOMEM, and then nothing has changed; -ERANGE past the ends.
 */
void *xas_store(struct xa_state *xas, void *entry);

/*
 * xas_store_run() - put @nr entries at consecutive indices of one leaf
 *
 * The cursor is of order 0.  Stops at the end of the leaf and before the first
 * slot that is not NULL, and stays there: xas_load() tells what it is.  One
 * descent, one update of the counts.  Index 0 alone has its place in the head:
 * that is for xas_store().
 *
 * Context: xa_lock is held.
 * Return: how many were stored; 0 with xas_error() if a node is missing.
 */
unsigned int xas_store_run(struct xa_state *xas, void *const *entries,
			   unsigned int nr);

/*
 * xas_replace_run() - the same, also over values of one index each
 * @olds: gets what was there: a value, or NULL
 */
unsigned int xas_replace_run(struct xa_state *xas, void *const *entries,
			     void **olds, unsigned int nr);

/*
 * xas_fill_leaf() - a spare node of the cursor's as a full leaf
 * @entries: XA_CHUNK_SIZE of them, each of one index
 *
 * Context: nothing has to be held: nobody sees the leaf.
 * Return: NULL, there is no spare.
 * Owner: the caller, until xas_splice_leaf() or xas_spare_leaf().
 */
struct xa_node *__must_check xas_fill_leaf(struct xa_state *xas,
					   void *const *entries);

/*
 * xas_splice_leaf() - let a full leaf be that of the cursor's index, by one store
 *
 * The cursor is of order 0 and has not walked; its index is the leaf's first.
 * How long the lock is held does not depend on how many entries there are, and
 * readers find all of them or none.
 *
 * Context: xa_lock is held.
 * Return: true, and the cursor is behind the leaf; false, something is there, or
 *         xas_error() tells that a node above is missing.
 * Owner: on success the array; else the caller.
 */
bool __must_check xas_splice_leaf(struct xa_state *xas, struct xa_node *leaf);

/* xas_spare_leaf() - what xas_fill_leaf() gave is a spare again */
void xas_spare_leaf(struct xa_state *xas, struct xa_node *leaf);

/*
 * xas_create_range() - make every node that single entries all over the
 * cursor's order need
 *
 * Leaves the cursor walked to the first index, with order 0.
 *
 * Context: xa_lock is held; the stores follow before it is dropped.
 * Return: xas_error() tells -ENOMEM; then no node has been added.
 */
void xas_create_range(struct xa_state *xas);

/*
 * xas_nomem() - get the nodes that a store missed
 *
 * Ends a loop around stores: unless the error is -ENOMEM, the cursor's spare
 * nodes are freed.
 *
 * Context: without xa_lock
 * Return: true to try again; false if there was no such error, or no memory,
 *         and then the error stays.
 */
bool xas_nomem(struct xa_state *xas, gfp_t gfp);

/* xas_destroy() - free the spare nodes */
void xas_destroy(struct xa_state *xas);

/*
 * xas_alloc_spares() - hold at least @nr nodes for stores to come
 *
 * Context: without xa_lock
 * Return: false if there is no memory; those it has got stay.
 */
bool __must_check xas_alloc_spares(struct xa_state *xas, unsigned int nr,
				   gfp_t gfp);

/* xas_spares_for() - so many suffice for any entries in index ... @last */
unsigned int xas_spares_for(const struct xa_state *xas, unsigned long last);

/*
 * xas_split_alloc() - prepare to split an entry of @order to the cursor's
 *
 * Context: without xa_lock
 * Return: xas_error() tells -ENOMEM, also if more than one level would have to
 *         be made.  The nodes are the cursor's until xas_split() or
 *         xas_destroy().
 * Differs: Linux accepts one order more, and makes pieces that are too large.
 */
void xas_split_alloc(struct xa_state *xas, void *entry, unsigned int order,
		     gfp_t gfp);

/*
 * xas_split() - split the entry of @order at the index to the cursor's order
 *
 * Each piece is @entry and has the marks of the whole.  Reset the cursor then.
 *
 * Context: xa_lock is held since the order was looked at
 */
void xas_split(struct xa_state *xas, void *entry, unsigned int order);

/*
 * xas_find() - the next entry, up to @max
 *
 * The first one at or after the index of a cursor that has not walked, strictly
 * after it otherwise.  Started inside an entry it returns that one and leaves
 * the index.  At the end of the tree the cursor is out of bounds, at the first
 * index that the tree cannot hold.
 */
void *xas_find(struct xa_state *xas, unsigned long max);

/*
 * xas_find_marked() - the next entry with @mark, up to @max
 *
 * As xas_find(), but started inside an entry the index becomes its first; and
 * once @max is passed, the cursor is as if it had not walked.
 */
void *xas_find_marked(struct xa_state *xas, unsigned long max, xa_mark_t mark);

/*
 * xas_find_conflict() - the next entry that meets what the cursor would store
 *
 * One scan, until NULL, from a cursor that has not walked.  Then the cursor is
 * where a store belongs.  Not a test of that place: from a cursor that has
 * walked, a slot for a single index is passed over, whatever is in it.
 *
 * Context: xa_lock is held.
 */
void *xas_find_conflict(struct xa_state *xas);

/*
 * xas_next() - one index on; from a cursor that has not walked, none
 * xas_prev() - one index back
 *
 * Show each index: NULL, siblings, an inner slot's entry again.  Past the ends
 * the index wraps, the result is NULL and nothing can be stored.
 */
void *xas_next(struct xa_state *xas);
void *xas_prev(struct xa_state *xas);

/*
 * xas_pause() - before the lock is dropped in an iteration: go on behind the
 * current entry, by a fresh walk
 *
 * Differs: also behind an entry that the iteration started inside of.
 */
void xas_pause(struct xa_state *xas);

/* xas_get_order() - of the entry that the cursor has walked to */
unsigned int xas_get_order(const struct xa_state *xas);

/*
 * Marks of the slot that the cursor has walked to; NULL can get one here.
 *
 * Context: to change them, xa_lock is held.
 */
bool xas_get_mark(const struct xa_state *xas, xa_mark_t mark);
void xas_set_mark(const struct xa_state *xas, xa_mark_t mark);
void xas_clear_mark(const struct xa_state *xas, xa_mark_t mark);
/* xas_init_marks() - clear them all */
void xas_init_marks(const struct xa_state *xas);

#define xas_for_each(xas, entry, max)					\
	for (entry = xas_find((xas), (max)); entry;			\
	     entry = xas_find((xas), (max)))
#define xas_for_each_marked(xas, entry, max, mark)			\
	for (entry = xas_find_marked((xas), (max), (mark)); entry;	\
	     entry = xas_find_marked((xas), (max), (mark)))
#define xas_for_each_conflict(xas, entry)				\
	while ((entry = xas_find_conflict(xas)))

/* xas_next_entry() - xas_find(), not walking for a neighbour in the leaf */
static inline void *xas_next_entry(struct xa_state *xas, unsigned long max)
{
	const struct xa_node *node = xas->xa_node;
	void *entry;

	if (!xas_is_node(xas) || node->shift || xas->xa_index >= max ||
	    xas->xa_offset == XA_CHUNK_MASK ||
	    xas->xa_offset != (xas->xa_index & XA_CHUNK_MASK))
		return xas_find(xas, max);
	entry = xa_entry(node, xas->xa_offset + 1U);
	if (!entry || xa_is_internal(entry))
		return xas_find(xas, max);
	xas->xa_offset++;
	xas->xa_index++;
	return entry;
}

#endif
