/* SPDX-License-Identifier: MIT */
#include "lab/xa_validate.h"

#include <stdio.h>

#define CHECK(nr, cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "xa_validate: invariant %d: %s\n", (nr),	\
			#cond);						\
		return (nr);						\
	}								\
} while (0)

/* Slot @i of @node holds @entry, an entry: its siblings, and its place. */
static int check_entry(const struct xa_node *node, unsigned int i,
		       const void *entry)
{
	unsigned int end = i + 1;

	while (end < XA_CHUNK_SIZE &&
	       node->slots[end] == xa_mk_internal(i))
		end++;
	CHECK(5, !xa_is_retry(entry));
	CHECK(1, !xa_is_internal(entry) || xa_is_zero(entry));
	CHECK(1, ((end - i) & (end - i - 1)) == 0);
	CHECK(1, i % (end - i) == 0);
	return 0;
}

static int check_node(const struct xarray *xa, const struct xa_node *node);

static int check_child(const struct xa_node *node, unsigned int i)
{
	const struct xa_node *child = xa_to_node(node->slots[i]);

	CHECK(1, node->shift);
	CHECK(1, child->shift + XA_CHUNK_SHIFT == node->shift);
	CHECK(1, child->offset == i);
	CHECK(1, child->parent == node);
	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		CHECK(4, (node->marks[mark] >> i & 1) == !!child->marks[mark]);
	return check_node(node->array, child);
}

static int check_slot(const struct xa_node *node, unsigned int i, bool *value)
{
	const void *entry = node->slots[i];
	bool marked = false;

	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		marked |= node->marks[mark] >> i & 1;
	if (xa_is_node(entry)) {
		*value = false;
		return check_child(node, i);
	}
	if (xa_is_sibling(entry)) {
		CHECK(1, i && (node->slots[i - 1] == entry ||
			       xa_mk_internal(i - 1) == entry));
		CHECK(1, node->slots[xa_to_internal(entry)]);
		CHECK(4, !marked);
		return 0;
	}
	*value = xa_is_value(entry);
	CHECK(4, entry || !marked);
	return entry ? check_entry(node, i, entry) : 0;
}

static int check_node(const struct xarray *xa, const struct xa_node *node)
{
	unsigned int count = 0, values = 0;
	bool value = false;
	int broken;

	CHECK(1, node->array == xa);
	for (unsigned int i = 0; i < XA_CHUNK_SIZE; i++) {
		broken = check_slot(node, i, &value);
		if (broken)
			return broken;
		count += !!node->slots[i];
		values += node->slots[i] && value;
	}
	CHECK(2, node->count == count);
	CHECK(2, node->nr_values == values);
	CHECK(3, count);
	return 0;
}

int xa_validate(const struct xarray *xa)
{
	const struct xa_node *root = xa_to_node(xa->xa_head);
	const void *first;

	if (!xa_is_node(xa->xa_head)) {
		CHECK(1, !xa_is_internal(xa->xa_head));
		CHECK(4, xa->xa_head || !xa->xa_flags);
		return 0;
	}
	CHECK(1, !root->parent && !root->offset);
	for (xa_mark_t mark = 0; mark <= XA_MARK_MAX; mark++)
		CHECK(4, xa_marked(xa, mark) == !!root->marks[mark]);
	first = root->slots[0];
	CHECK(3, root->count != 1 || !first || xa_is_zero(first) ||
	      (root->shift && !xa_is_node(first)));
	return check_node(xa, root);
}

static unsigned long count_below(const void *entry)
{
	const struct xa_node *node = xa_to_node(entry);
	unsigned long nr = 1;

	if (!xa_is_node(entry))
		return 0;
	for (unsigned int i = 0; i < XA_CHUNK_SIZE; i++)
		nr += count_below(node->slots[i]);
	return nr;
}

unsigned long xa_count_nodes(const struct xarray *xa)
{
	return count_below(xa->xa_head);
}
