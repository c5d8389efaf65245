/* SPDX-License-Identifier: MIT */
/*
 * Areas by the indices that they map, for the way back from a folio.
 *
 * Each node also has the highest index of its subtree, so a walk skips what ends
 * too low:
 *
 *                  [8, 16) ..30
 *                 /            \
 *       [0, 31) ..30         [16, 24) ..23      an area [first, end) ..last
 *
 * An area's range is the key: it changes with the area taken out.
 *
 * Locks: the owner's, anon_vma->rwsem or mapping->i_mmap_rwsem; for write to
 * change the tree.
 *
 * Source: include/linux/mm.h, mm/interval_tree.c
 */
#ifndef MM_INTERVAL_TREE_H
#define MM_INTERVAL_TREE_H

#include "mm/mm_types.h"

void interval_tree_insert(struct interval_tree *tree, struct rmap_node *node);
void interval_tree_remove(struct interval_tree *tree, struct rmap_node *node);

/*
 * interval_tree_walk() - each area that maps an index of [@first, @last], in
 * ascending order of where it begins
 *
 * @fn returns false to end the walk.
 */
void interval_tree_walk(struct interval_tree *tree, pgoff_t first, pgoff_t last,
			bool (*fn)(void *arg, struct vm_area_struct *vma),
			void *arg);

static inline void interval_tree_init(struct interval_tree *tree)
{
	RB_INIT(&tree->root);
	tree->nr = 0;
}

#endif
