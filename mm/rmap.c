/* SPDX-License-Identifier: MIT */
/*
 * Families of address spaces, and the walk from a folio to its areas.
 *
 * The tree of an anon_vma is sorted by the first index of an area; each node
 * also has the highest index of its subtree, so a walk skips what ends too low:
 *
 *                  [8, 16) ..30
 *                 /            \
 *       [0, 31) ..30         [16, 24) ..23      an area [first, end) ..last
 *
 * Locks: anon_vma->rwsem, inside the folio lock, outside page-table locks.
 * Source: mm/rmap.c, mm/interval_tree.c
 */
#include "mm/rmap.h"

#include "mm/gfp.h"

#include <errno.h>

/* ---- the tree ------------------------------------------------------------ */

static pgoff_t vma_last_pgoff(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff + vma_pages(vma) - 1;
}

static int rmap_compare(struct vm_area_struct *a, struct vm_area_struct *b)
{
	if (a->vm_pgoff != b->vm_pgoff)
		return a->vm_pgoff < b->vm_pgoff ? -1 : 1;
	/* Relatives have the same index; any order will do. */
	return a < b ? -1 : a > b;
}

static pgoff_t subtree_last(const struct vm_area_struct *vma)
{
	const struct vm_area_struct *left = RB_LEFT(vma, rmap_rb);
	const struct vm_area_struct *right = RB_RIGHT(vma, rmap_rb);
	pgoff_t last = vma_last_pgoff(vma);

	if (left)
		last = max(last, left->rmap_subtree_last);
	if (right)
		last = max(last, right->rmap_subtree_last);
	return last;
}

/* The tree's macros call this bottom-up, but not up to the root. */
static void augment(struct vm_area_struct *vma)
{
	for (; vma; vma = RB_PARENT(vma, rmap_rb))
		vma->rmap_subtree_last = subtree_last(vma);
}

#undef RB_AUGMENT
#define RB_AUGMENT(vma)	augment(vma)
RB_GENERATE_INTERNAL(anon_vma_tree, vm_area_struct, rmap_rb, rmap_compare,
		     static __maybe_unused)

static void tree_insert(struct anon_vma *anon_vma, struct vm_area_struct *vma)
{
	struct vm_area_struct *clash;

	vma->rmap_subtree_last = vma_last_pgoff(vma);
	clash = RB_INSERT(anon_vma_tree, &anon_vma->rb_root, vma);
	BUG_ON(clash);
	augment(vma);
	anon_vma->nr_vmas++;
}

static void tree_remove(struct anon_vma *anon_vma, struct vm_area_struct *vma)
{
	RB_REMOVE(anon_vma_tree, &anon_vma->rb_root, vma);
	anon_vma->nr_vmas--;
}

static void assert_write_locked(const struct anon_vma *anon_vma)
{
	VM_BUG_ON(!rwsem_is_write_locked(&anon_vma->rwsem));
	(void)anon_vma;
}

/* ---- families ------------------------------------------------------------ */

struct anon_vma *anon_vma_alloc(void)
{
	struct anon_vma *anon_vma = kzalloc(sizeof(*anon_vma));

	if (!anon_vma)
		return NULL;
	init_rwsem(&anon_vma->rwsem, RANK_ANON_VMA);
	RB_INIT(&anon_vma->rb_root);
	atomic_set(&anon_vma->refcount, 1);
	return anon_vma;
}

static void free_anon_vma(struct rcu_head *head)
{
	rcu_callback_begin();
	kfree(container_of(head, struct anon_vma, rcu));
	rcu_callback_end();
}

void put_anon_vma(struct anon_vma *anon_vma)
{
	if (!atomic_dec_and_test(&anon_vma->refcount))
		return;
	BUG_ON(anon_vma->nr_vmas);
	call_rcu(&anon_vma->rcu, free_anon_vma);
}

void __anon_vma_prepare(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = vma->vm_mm->anon_vma;

	mmap_assert_locked(vma->vm_mm);
	anon_vma_lock_write(anon_vma);
	/* Another fault may have been faster. */
	if (!READ_ONCE(vma->anon_vma)) {
		tree_insert(anon_vma, vma);
		smp_store_release(&vma->anon_vma, anon_vma);
	}
	anon_vma_unlock_write(anon_vma);
}

void anon_vma_clone(struct vm_area_struct *dst, struct vm_area_struct *src)
{
	struct anon_vma *anon_vma = READ_ONCE(src->anon_vma);

	if (!anon_vma)
		return;
	assert_write_locked(anon_vma);
	VM_BUG_ON(dst->vm_mm->anon_vma != anon_vma);
	if (READ_ONCE(dst->anon_vma))
		return;
	tree_insert(anon_vma, dst);
	smp_store_release(&dst->anon_vma, anon_vma);
}

void __unlink_anon_vmas(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	if (!anon_vma)
		return;
	assert_write_locked(anon_vma);
	tree_remove(anon_vma, vma);
	WRITE_ONCE(vma->anon_vma, NULL);
}

void unlink_anon_vmas(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	if (!anon_vma)
		return;
	anon_vma_lock_write(anon_vma);
	__unlink_anon_vmas(vma);
	anon_vma_unlock_write(anon_vma);
}

void anon_vma_interval_tree_pre_update_vma(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	mmap_assert_write_locked(vma->vm_mm);
	assert_write_locked(vma->vm_mm->anon_vma);
	if (anon_vma)
		tree_remove(anon_vma, vma);
}

void anon_vma_interval_tree_post_update_vma(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	if (anon_vma)
		tree_insert(anon_vma, vma);
}

/*
 * The pointer in the folio stays when the last mapping goes, and then means
 * nothing: a pinned folio outlives its family.  A mapped folio's family lives,
 * and if the folio was mapped once inside the read section, the memory of its
 * anon_vma is there until the section ends.
 */
struct anon_vma *folio_get_anon_vma(const struct folio *folio)
{
	struct anon_vma *anon_vma;

	rcu_read_lock();
	anon_vma = folio_anon_vma(folio);
	if (anon_vma && (!folio_mapped(folio) ||
			 !atomic_add_unless(&anon_vma->refcount, 1, 0)))
		anon_vma = NULL;
	rcu_read_unlock();
	return anon_vma;
}

/* ---- fork ---------------------------------------------------------------- */

int folio_try_dup_anon_rmap_ptes(struct folio *folio, struct page *page,
				 int nr, struct vm_area_struct *src_vma)
{
	const bool pinned = folio_needs_cow_for_dma(src_vma, folio);

	for (int i = 0; pinned && i < nr; i++)
		if (PageAnonExclusive(page + i))
			return -EBUSY;
	for (int i = 0; !pinned && i < nr; i++)
		if (PageAnonExclusive(page + i))
			ClearPageAnonExclusive(page + i);
	atomic_add(nr, &folio->_mapcount);
	return 0;
}

/* The head page's bit speaks for all that one leaf maps. */
static int try_dup_leaf(struct folio *folio, struct vm_area_struct *src_vma)
{
	if (PageAnonExclusive(&folio->page)) {
		if (folio_needs_cow_for_dma(src_vma, folio))
			return -EBUSY;
		ClearPageAnonExclusive(&folio->page);
	}
	atomic_inc(&folio->_mapcount);
	return 0;
}

int folio_try_dup_anon_rmap_pmd(struct folio *folio,
				struct page *page __maybe_unused,
				struct vm_area_struct *src_vma)
{
	VM_BUG_ON_FOLIO(page != &folio->page, folio);
	return try_dup_leaf(folio, src_vma);
}

int hugetlb_try_dup_anon_rmap(struct folio *folio,
			      struct vm_area_struct *src_vma)
{
	return try_dup_leaf(folio, src_vma);
}

/* ---- the walk ------------------------------------------------------------ */

struct rmap_range {
	struct folio *folio;
	pgoff_t first, last;
	struct rmap_walk_control *rwc;
};

static bool walk_vma(const struct rmap_range *r, struct vm_area_struct *vma)
{
	pf_addr_t address = vma->vm_start;

	if (vma_last_pgoff(vma) < r->first)
		return true;
	if (r->first > vma->vm_pgoff)
		address += (r->first - vma->vm_pgoff) << PAGE_SHIFT;
	return r->rwc->rmap_one(r->folio, vma, address, r->rwc->arg);
}

/* As deep as the tree, which is balanced. */
static bool walk_subtree(const struct rmap_range *r,
			 struct vm_area_struct *vma)
{
	if (!vma || vma->rmap_subtree_last < r->first)
		return true;
	if (!walk_subtree(r, RB_LEFT(vma, rmap_rb)))
		return false;
	if (vma->vm_pgoff > r->last)
		return true;
	return walk_vma(r, vma) && walk_subtree(r, RB_RIGHT(vma, rmap_rb));
}

static void walk_anon_vma(struct anon_vma *anon_vma, struct folio *folio,
			  struct rmap_walk_control *rwc)
{
	struct rmap_range r = {
		.folio = folio,
		.first = folio->index,
		.last = folio->index + folio_nr_pages(folio) - 1,
		.rwc = rwc,
	};

	(void)walk_subtree(&r, RB_ROOT(&anon_vma->rb_root));
}

void rmap_walk_locked(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct anon_vma *anon_vma = folio_anon_vma(folio);

	VM_BUG_ON(!rwsem_is_locked(&anon_vma->rwsem));
	walk_anon_vma(anon_vma, folio, rwc);
}

void rmap_walk(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct anon_vma *anon_vma = folio_get_anon_vma(folio);

	if (!anon_vma)
		return;
	anon_vma_lock_read(anon_vma);
	walk_anon_vma(anon_vma, folio, rwc);
	anon_vma_unlock_read(anon_vma);
	put_anon_vma(anon_vma);
}
