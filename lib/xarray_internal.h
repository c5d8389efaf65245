/* SPDX-License-Identifier: MIT */
/*
 * XArray: how nodes are written, and what its files share.
 */
#ifndef LIB_XARRAY_INTERNAL_H
#define LIB_XARRAY_INTERNAL_H

#include "lib/xarray.h"

/*
 * [xa-publish] the node's contents, then the head; paired with xa_head()
 */
static inline void xa_set_head(struct xarray *xa, void *entry)
{
	smp_store_release(&xa->xa_head, entry);
}

/*
 * [xa-publish] the node's contents, then the slot; paired with xa_entry()
 */
static inline void xa_set_slot(struct xa_node *node, unsigned int offset,
			       void *entry)
{
	smp_store_release(&node->slots[offset], entry);
}

/*
 * [xa-publish] the root's contents, then the way up; paired with xa_parent()
 */
static inline void xa_set_parent(struct xa_node *node, struct xa_node *parent)
{
	smp_store_release(&node->parent, parent);
}

#define XA_INDEX_BITS	(sizeof(unsigned long) * CHAR_BIT)

static inline void *xa_mk_sibling(unsigned int offset)
{
	return xa_mk_internal(offset);
}

/* Slots [first, first + nr) as bits. */
static inline u64 xa_slot_bits(unsigned int first, unsigned int nr)
{
	return (nr == 64 ? ~(u64)0 : ((u64)1 << nr) - 1) << first;
}

static inline u64 node_marks(const struct xa_node *node, xa_mark_t mark)
{
	return READ_ONCE(node->marks[mark]);
}

static inline void node_set_marks(struct xa_node *node, xa_mark_t mark,
				  u64 bits)
{
	WRITE_ONCE(node->marks[mark], bits);
}

static inline unsigned long node_max_index(const struct xa_node *node)
{
	/* in the root it may be all bits: two shifts */
	return ((unsigned long)XA_CHUNK_SIZE << node->shift) - 1;
}

/* xa_max_index() - the last index that a tree with this head can hold */
static inline unsigned long xa_max_index(const void *head)
{
	return xa_is_node(head) ? node_max_index(xa_to_node(head)) : 0;
}

/* xa_run_end() - the slot behind the entry whose canonical slot is @offset */
static inline unsigned int xa_run_end(const struct xa_node *node,
				      unsigned int offset)
{
	unsigned int end = offset + 1;

	while (end < XA_CHUNK_SIZE &&
	       xa_entry(node, end) == xa_mk_sibling(offset))
		end++;
	return end;
}

static inline void *xas_out_of_bounds(struct xa_state *xas)
{
	xas->xa_node = XAS_BOUNDS;
	return NULL;
}

/* xas_start() - the head, or if it has walked what is in its slot */
void *xas_start(struct xa_state *xas);
/* xas_descend() - go to the slot of @node that the index leads to */
void *xas_descend(struct xa_state *xas, struct xa_node *node);

/*
 * xas_new_node() - a node from the spares, of which there is one, initialised
 * but for its contents
 */
struct xa_node *xas_new_node(struct xa_state *xas, unsigned int shift,
			     struct xa_node *parent, unsigned int offset);
/* xas_update() - tell the array's listener of a node's counts */
void xas_update(struct xa_state *xas, struct xa_node *node);
/* xa_free_node() - free @node, which is unlinked and has no nodes below it */
void xa_free_node(struct xa_state *xas, struct xa_node *node);
/* xas_shrink() - while @root has only slot 0, what is there becomes the head */
void xas_shrink(struct xa_state *xas, struct xa_node *root);
/* xas_free_nodes() - free @node, which is unlinked, and all below it */
void xas_free_nodes(struct xa_state *xas, struct xa_node *node);

#endif
