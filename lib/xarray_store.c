/* SPDX-License-Identifier: MIT */
/*
 * XArray: what changes the tree, through a cursor.
 *
 * 1. A store first counts the nodes that it misses.  With too few spares it
 *    fails and has changed nothing.
 * 2. A node is linked after it is initialised and unlinked before it is freed,
 *    after a grace period; what it still holds becomes retry entries.
 * 3. When a node's last slot goes, so does the node, and what gets empty above
 *    it; a root with nothing but slot 0 is replaced by what is in there.
 *
 * Locks: xa_lock is held, but where memory is got or given back.
 *
 * Source: lib/xarray.c
 */
#include "lib/xarray.h"

#include "host/atomic.h"
#include "lib/xarray_internal.h"

#include <errno.h>
#include <string.h>

/* ---- marks -------------------------------------------------------------- */

static void head_set_mark(struct xarray *xa, xa_mark_t mark, bool set)
{
	u32 flag = XA_FLAGS_MARK(mark);

	WRITE_ONCE(xa->xa_flags, set ? xa->xa_flags | flag :
				       xa->xa_flags & ~flag);
}

void xas_set_mark(const struct xa_state *xas, xa_mark_t mark)
{
	struct xa_node *node = xas->xa_node;
	unsigned int offset = xas->xa_offset;

	if (xas_invalid(xas))
		return;
	while (node) {
		u64 bits = node_marks(node, mark);

		if (bits >> offset & 1)
			return;
		node_set_marks(node, mark, bits | (u64)1 << offset);
		offset = node->offset;
		node = xa_parent(node);
	}
	head_set_mark(xas->xa, mark, true);
}

/* Slots of @node lose the mark, and above it whoever has no other such slot. */
static void clear_marks(struct xarray *xa, struct xa_node *node, u64 slots,
			xa_mark_t mark)
{
	while (node) {
		u64 bits = node_marks(node, mark);

		if (!(bits & slots))
			return;
		node_set_marks(node, mark, bits & ~slots);
		if (bits & ~slots)
			return;
		slots = (u64)1 << node->offset;
		node = xa_parent(node);
	}
	head_set_mark(xa, mark, false);
}

void xas_clear_mark(const struct xa_state *xas, xa_mark_t mark)
{
	if (xas_valid(xas))
		clear_marks(xas->xa, xas->xa_node, (u64)1 << xas->xa_offset,
			    mark);
}

void xas_init_marks(const struct xa_state *xas)
{
	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		xas_clear_mark(xas, mark);
}

/* The first of these slots gets the marks that any of them has. */
static void unite_marks(struct xa_node *node, unsigned int first,
			unsigned int nr)
{
	u64 slots = xa_slot_bits(first, nr);

	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++) {
		u64 bits = node_marks(node, mark);

		if (bits & slots)
			node_set_marks(node, mark, (bits & ~slots) |
						   (u64)1 << first);
	}
}

/* ---- making room -------------------------------------------------------- */

/* The last index that the root has to be able to hold. */
static unsigned long xas_max(const struct xa_state *xas)
{
	unsigned long mask = ((xas->xa_sibs + 1UL) << xas->xa_shift) - 1;
	unsigned long max = xas->xa_index | mask;

	/* Only a single index has a place in the head. */
	return mask && max == mask ? max + 1 : max;
}

/* The shift of the root that a tree with this head needs. */
static unsigned int xas_root_shift(const struct xa_state *xas, const void *head)
{
	unsigned long max = xas_max(xas);
	unsigned int shift = 0;

	if (xa_is_node(head))
		shift = xa_to_node(head)->shift;
	while (max >> shift >> XA_CHUNK_SHIFT)
		shift += XA_CHUNK_SHIFT;
	return shift;
}

/* How many nodes are missing below a node that is there. */
static unsigned int missing_below(const struct xa_state *xas,
				  const struct xa_node *node)
{
	void *entry;

	while (node->shift > xas->xa_shift) {
		entry = xa_entry(node, xas_offset_in(xas, node));
		if (!entry)
			return (node->shift - xas->xa_shift) / XA_CHUNK_SHIFT;
		if (!xa_is_node(entry))
			break;
		node = xa_to_node(entry);
	}
	return 0;
}

/*
 * How many nodes are missing for a tree with a root of @top.  Growing puts the
 * old head below a chain of slots 0; where the way leaves that chain, it needs
 * nodes of its own.
 */
static unsigned int missing_from(const struct xa_state *xas, const void *head,
				 unsigned int top)
{
	unsigned int own = xas->xa_shift, nr;
	int old = -XA_CHUNK_SHIFT, shift;

	if (!head)
		return (top - own) / XA_CHUNK_SHIFT + 1;
	if (xa_is_node(head))
		old = xa_to_node(head)->shift;
	nr = ((int)top - old) / XA_CHUNK_SHIFT;
	for (shift = (int)top; shift > old && shift > (int)own;
	     shift -= XA_CHUNK_SHIFT)
		if (xas->xa_index >> shift & XA_CHUNK_MASK)
			return nr + (shift - own) / XA_CHUNK_SHIFT;
	if (shift > old || !xa_is_node(head))
		return nr;
	return nr + missing_below(xas, xa_to_node(head));
}

static bool xas_enough(struct xa_state *xas, unsigned int nr)
{
	if (nr <= xas->xa_nr_spares)
		return true;
	xas_set_err(xas, -ENOMEM);
	xas->xa_missing = nr - xas->xa_nr_spares;
	return false;
}

/* What was prepared for a split that did not come about is cleared first. */
static struct xa_node *new_empty_node(struct xa_state *xas, unsigned int shift,
				      struct xa_node *parent,
				      unsigned int offset)
{
	struct xa_node *node = xas_new_node(xas, shift, parent, offset);

	if (node->count) {
		memset(node->slots, 0, sizeof(node->slots));
		node->count = 0;
		node->nr_values = 0;
	}
	return node;
}

/* The root gets a new one above it, until its shift is @top. */
static void *xas_grow(struct xa_state *xas, void *head, unsigned int top)
{
	struct xarray *xa = xas->xa;
	unsigned int shift = 0;

	if (xa_is_node(head))
		shift = xa_to_node(head)->shift + XA_CHUNK_SHIFT;
	for (; shift <= top; shift += XA_CHUNK_SHIFT) {
		struct xa_node *node = new_empty_node(xas, shift, NULL, 0);

		node->count = 1;
		node->nr_values = xa_is_value(head);
		node->slots[0] = head;
		for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
			node->marks[mark] = xa_marked(xa, mark);
		if (xa_is_node(head))
			xa_set_parent(xa_to_node(head), node);
		head = xa_mk_node(node);
		xa_set_head(xa, head);
		xas_update(xas, node);
	}
	return head;
}

/* An empty node in the cursor's slot; in the head, one of @root_shift. */
static struct xa_node *xas_add_node(struct xa_state *xas,
				    unsigned int root_shift)
{
	struct xa_node *parent = xas->xa_node;
	struct xa_node *node;

	if (parent) {
		node = new_empty_node(xas, parent->shift - XA_CHUNK_SHIFT,
				      parent, xas->xa_offset);
		parent->count++;
		xa_set_slot(parent, xas->xa_offset, xa_mk_node(node));
		xas_update(xas, parent);
	} else {
		node = new_empty_node(xas, root_shift, NULL, 0);
		xa_set_head(xas->xa, xa_mk_node(node));
	}
	return node;
}

/*
 * Go down from the cursor's slot, which holds @entry, to the slot of its order.
 * There is @root_shift for the case that the slot is the head.
 */
static void *xas_create_below(struct xa_state *xas, void *entry,
			      unsigned int root_shift)
{
	for (;;) {
		struct xa_node *node = xas->xa_node;

		if (node && node->shift <= xas->xa_shift)
			return entry;
		if (xa_is_node(entry))
			node = xa_to_node(entry);
		else if (!entry)
			node = xas_add_node(xas, root_shift);
		else
			return entry;
		entry = xas_descend(xas, node);
	}
}

/*
 * xas_create() - go to the slot of the cursor's order, making nodes on the way
 * @in_head: may the head be that slot?
 *
 * Return: what is in the slot: an entry, which may cover more; NULL; a node.
 *         xas_error() tells -ENOMEM, and nothing has changed.
 */
static void *xas_create(struct xa_state *xas, bool in_head)
{
	void *entry;
	unsigned int top;

	if (xas_error(xas))
		return NULL;
	if (xas->xa_node == XAS_WRAPPED) {
		xas_set_err(xas, -ERANGE);
		return NULL;
	}
	if (xas_is_node(xas)) {
		entry = xas_descend(xas, xas->xa_node);
		if (!xas_enough(xas, missing_below(xas, xas->xa_node)))
			return NULL;
		return xas_create_below(xas, entry, 0);
	}
	count_event(EV_XA_DESCENTS);
	entry = xa_head(xas->xa);
	xas->xa_offset = 0;
	if (in_head && !xas_max(xas) && !xa_is_node(entry)) {
		xas->xa_node = NULL;
		return entry;
	}
	top = xas_root_shift(xas, entry);
	if (!xas_enough(xas, missing_from(xas, entry, top)))
		return NULL;
	xas->xa_node = NULL;
	if (entry)
		entry = xas_grow(xas, entry, top);
	return xas_create_below(xas, entry, top);
}

/* ---- removing nodes ----------------------------------------------------- */

void xas_shrink(struct xa_state *xas, struct xa_node *root)
{
	while (root->count == 1) {
		void *entry = xa_entry(root, 0);

		if (!entry || xa_is_zero(entry) ||
		    (!xa_is_node(entry) && root->shift))
			return;
		xas->xa_node = XAS_BOUNDS;
		if (xa_is_node(entry))
			xa_set_parent(xa_to_node(entry), NULL);
		xa_set_head(xas->xa, entry);
		if (!xa_is_node(entry))
			xa_set_slot(root, 0, XA_RETRY_ENTRY);
		xa_free_node(xas, root);
		if (!xa_is_node(entry))
			return;
		root = xa_to_node(entry);
	}
}

/* The cursor's node may be empty, then its parent, and so on. */
static void xas_prune(struct xa_state *xas)
{
	struct xa_node *node = xas->xa_node, *parent;

	while (!node->count) {
		parent = xa_parent(node);
		xas->xa_node = parent ? parent : XAS_BOUNDS;
		xas->xa_offset = node->offset;
		if (parent) {
			xa_set_slot(parent, node->offset, NULL);
			parent->count--;
			xas_update(xas, parent);
		} else {
			xa_set_head(xas->xa, NULL);
		}
		xa_free_node(xas, node);
		if (!parent)
			return;
		node = parent;
	}
	if (!xa_parent(node))
		xas_shrink(xas, node);
}

/* ---- storing ------------------------------------------------------------ */

/* What was at the cursor's index, below a slot that is to be overwritten. */
static void *entry_below(const struct xa_state *xas, void *entry)
{
	while (xa_is_node(entry)) {
		const struct xa_node *node = xa_to_node(entry);
		unsigned int offset = xas_offset_in(xas, node);

		entry = xa_entry(node, offset);
		if (xa_is_sibling(entry))
			entry = xa_entry(node, xa_to_internal(entry));
	}
	return entry;
}

static void store_head(struct xa_state *xas, void *entry)
{
	void *old = xa_head(xas->xa);

	if (!entry)
		xas_init_marks(xas);
	xa_set_head(xas->xa, entry);
	if (xa_is_node(old))
		xas_free_nodes(xas, xa_to_node(old));
}

/*
 * Slots [first, end) of the cursor's node become one entry.  The canonical slot
 * comes first, so that no sibling ever leads to one that is not there yet.
 */
static void store_slots(struct xa_state *xas, void *entry, unsigned int first,
			unsigned int end)
{
	struct xa_node *node = xas->xa_node;
	int count = 0, values = 0;
	bool was_value = false;

	for (unsigned int i = first; i < end; i++) {
		void *new = i == first || !entry ? entry : xa_mk_sibling(first);
		void *old = xa_entry(node, i);

		if (!xa_is_sibling(old))
			was_value = xa_is_value(old);
		count += !!new - !!old;
		values += xa_is_value(entry) - was_value;
		if (old != new)
			xa_set_slot(node, i, new);
		if (xa_is_node(old))
			xas_free_nodes(xas, xa_to_node(old));
	}
	if (count || values) {
		node->count += count;
		node->nr_values += values;
		xas_update(xas, node);
	}
}

void *xas_store(struct xa_state *xas, void *entry)
{
	struct xa_node *node = xas->xa_node;
	unsigned int first, end;
	void *old;

	/* Left below by a scan for conflicts. */
	if (xas_is_node(xas) && node->shift < xas->xa_shift)
		xas_reset(xas);
	old = entry ? xas_create(xas, !xa_is_zero(entry)) : xas_load(xas);
	if (xas_invalid(xas))
		return NULL;
	old = entry_below(xas, old);
	node = xas->xa_node;
	first = xas->xa_offset;
	if (!node) {
		store_head(xas, entry);
		return old;
	}
	end = xa_run_end(node, first);
	if (node->shift == xas->xa_shift)
		end = max(end, first + xas->xa_sibs + 1U);
	if (entry)
		unite_marks(node, first, end - first);
	else
		for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
			clear_marks(xas->xa, node,
				    xa_slot_bits(first, end - first), mark);
	store_slots(xas, entry, first, end);
	if (!entry)
		xas_prune(xas);
	return old;
}

/* The cursor goes behind @done slots of its leaf that were stored to. */
static unsigned int finish_run(struct xa_state *xas, unsigned int done,
			       unsigned int count, int values)
{
	struct xa_node *node = xas->xa_node;

	node->count += count;
	node->nr_values += values;
	xas_update(xas, node);
	xas->xa_index += done;
	xas->xa_offset += done;
	if (xas->xa_offset == XA_CHUNK_SIZE)
		xas->xa_node = xas->xa_index ? XAS_RESTART : XAS_WRAPPED;
	return done;
}

/* What is at the index is the head, which stays where it is. */
static bool is_head(struct xa_state *xas)
{
	const void *head = xa_head(xas->xa);

	if (xas->xa_index || xas_error(xas) || !head || xa_is_node(head))
		return false;
	xas->xa_node = NULL;
	return true;
}

unsigned int xas_store_run(struct xa_state *xas, void *const *entries,
			   unsigned int nr)
{
	struct xa_node *node;
	unsigned int done, room;
	int values = 0;

	VM_BUG_ON(xas->xa_shift || xas->xa_sibs);
	if (!nr || is_head(xas) || xas_create(xas, false) || xas_error(xas))
		return 0;
	node = xas->xa_node;
	room = min(nr, XA_CHUNK_SIZE - xas->xa_offset);
	for (done = 0; done < room; done++) {
		if (xa_entry(node, xas->xa_offset + done))
			break;
		xa_set_slot(node, xas->xa_offset + done, entries[done]);
		values += xa_is_value(entries[done]);
	}
	return finish_run(xas, done, done, values);
}

/*
 * The slot for a leaf at the cursor's index, if nothing is there.  The first
 * leaf of a tree without a root is the root itself, parent NULL.
 */
static bool find_leaf_slot(struct xa_state *xas)
{
	const void *head = xa_head(xas->xa);
	bool found;

	if (!xas->xa_index && !(xa_is_node(head) && xa_to_node(head)->shift)) {
		xas->xa_node = head ? XAS_RESTART : NULL;
		return !head;
	}
	xas->xa_shift = XA_CHUNK_SHIFT;
	found = !xas_create(xas, false) && !xas_error(xas);
	xas->xa_shift = 0;
	return found;
}

bool xas_splice_leaf(struct xa_state *xas, struct xa_node *leaf)
{
	struct xa_node *parent;

	VM_BUG_ON(xas->xa_shift || xas->xa_sibs ||
		  xas->xa_index & XA_CHUNK_MASK);
	/* Who goes on with single entries goes on from here. */
	if (!find_leaf_slot(xas))
		return false;
	parent = xas->xa_node;
	leaf->parent = parent;
	if (parent) {
		leaf->offset = xas->xa_offset;
		parent->count++;
		xa_set_slot(parent, leaf->offset, xa_mk_node(leaf));
		xas_update(xas, parent);
	} else {
		xa_set_head(xas->xa, xa_mk_node(leaf));
	}
	xas_update(xas, leaf);
	xas->xa_index += XA_CHUNK_SIZE;
	xas->xa_node = xas->xa_index ? XAS_RESTART : XAS_WRAPPED;
	return true;
}

/* Is the slot of a leaf empty, or a value of this index alone? */
static bool may_replace(const struct xa_node *node, unsigned int offset)
{
	const void *entry = xa_entry(node, offset);

	return !entry || (xa_is_value(entry) &&
			  xa_run_end(node, offset) == offset + 1);
}

unsigned int xas_replace_run(struct xa_state *xas, void *const *entries,
			     void **olds, unsigned int nr)
{
	unsigned int done, room, count = 0;
	struct xa_node *node;
	int values = 0;

	VM_BUG_ON(xas->xa_shift || xas->xa_sibs);
	if (!nr || is_head(xas))
		return 0;
	xas_create(xas, false);
	if (xas_error(xas))
		return 0;
	node = xas->xa_node;
	/* A larger entry, above the leaf or begun in it. */
	if (node->shift || xas->xa_offset != xas_offset_in(xas, node))
		return 0;
	room = min(nr, XA_CHUNK_SIZE - xas->xa_offset);
	for (done = 0; done < room; done++) {
		unsigned int offset = xas->xa_offset + done;

		if (!may_replace(node, offset))
			break;
		olds[done] = xa_entry(node, offset);
		xa_set_slot(node, offset, entries[done]);
		count += !olds[done];
		values += xa_is_value(entries[done]) - xa_is_value(olds[done]);
	}
	return done ? finish_run(xas, done, count, values) : 0;
}

/* Empty leaves for indices from @first to before @index go again. */
static void uncreate_range(const struct xa_state *xas, unsigned long first,
			   unsigned long index)
{
	struct xa_state made = *xas;

	while (index > first) {
		index -= min(index - first, (unsigned long)XA_CHUNK_SIZE);
		xas_set(&made, index);
		xas_load(&made);
		if (xas_is_node(&made))
			xas_prune(&made);
	}
}

void xas_create_range(struct xa_state *xas)
{
	unsigned long mask = ((xas->xa_sibs + 1UL) << xas->xa_shift) - 1;
	unsigned long first = xas->xa_index, last = first | mask, index = first;

	if (xas_error(xas))
		return;
	xas->xa_shift = 0;
	xas->xa_sibs = 0;
	for (;;) {
		xas_set(xas, index);
		xas_create(xas, !mask);
		if (xas_error(xas))
			break;
		index |= XA_CHUNK_MASK;
		if (index >= last)
			break;
		index++;
	}
	if (xas_error(xas) == -ENOMEM) {
		uncreate_range(xas, first, index);
		xas->xa_index = first;
		/* Those that were linked are no spares again. */
		xas->xa_missing = xas_spares_for(xas, last) -
				  xas->xa_nr_spares;
		return;
	}
	xas_set(xas, first);
	xas_load(xas);
}
