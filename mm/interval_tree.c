/* SPDX-License-Identifier: MIT */
/*
 * A red-black tree (libbsd) of areas, augmented by where subtrees end.
 *
 * Source: mm/interval_tree.c
 */
#include "mm/interval_tree.h"

#include "mm/mm.h"

static pgoff_t node_first(const struct rmap_node *node)
{
	return node->vma->vm_pgoff;
}

static pgoff_t node_last(const struct rmap_node *node)
{
	return node->vma->vm_pgoff + vma_pages(node->vma) - 1;
}

static int node_compare(struct rmap_node *a, struct rmap_node *b)
{
	if (node_first(a) != node_first(b))
		return node_first(a) < node_first(b) ? -1 : 1;
	/* Many may map the same; any order will do. */
	return a < b ? -1 : a > b;
}

static pgoff_t subtree_last(const struct rmap_node *node)
{
	const struct rmap_node *left = RB_LEFT(node, rb);
	const struct rmap_node *right = RB_RIGHT(node, rb);
	pgoff_t last = node_last(node);

	if (left)
		last = max(last, left->subtree_last);
	if (right)
		last = max(last, right->subtree_last);
	return last;
}

/* The tree's macros call this bottom-up, but not up to the root. */
static void augment(struct rmap_node *node)
{
	for (; node; node = RB_PARENT(node, rb))
		node->subtree_last = subtree_last(node);
}

#undef RB_AUGMENT
#define RB_AUGMENT(node)	augment(node)
RB_GENERATE_INTERNAL(rmap_tree, rmap_node, rb, node_compare,
		     static __maybe_unused)

void interval_tree_insert(struct interval_tree *tree, struct rmap_node *node)
{
	struct rmap_node *clash;

	node->subtree_last = node_last(node);
	clash = RB_INSERT(rmap_tree, &tree->root, node);
	BUG_ON(clash);
	augment(node);
	tree->nr++;
}

void interval_tree_remove(struct interval_tree *tree, struct rmap_node *node)
{
	RB_REMOVE(rmap_tree, &tree->root, node);
	tree->nr--;
}

struct tree_walk {
	pgoff_t first, last;
	bool (*fn)(void *arg, struct vm_area_struct *vma);
	void *arg;
};

/* As deep as the tree, which is balanced. */
static bool walk_subtree(const struct tree_walk *w, struct rmap_node *node)
{
	if (!node || node->subtree_last < w->first)
		return true;
	if (!walk_subtree(w, RB_LEFT(node, rb)))
		return false;
	if (node_first(node) > w->last)
		return true;
	if (node_last(node) >= w->first && !w->fn(w->arg, node->vma))
		return false;
	return walk_subtree(w, RB_RIGHT(node, rb));
}

void interval_tree_walk(struct interval_tree *tree, pgoff_t first, pgoff_t last,
			bool (*fn)(void *arg, struct vm_area_struct *vma),
			void *arg)
{
	struct tree_walk w = { first, last, fn, arg };

	(void)walk_subtree(&w, RB_ROOT(&tree->root));
}
