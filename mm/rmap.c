/* SPDX-License-Identifier: MIT */
/*
 * Families of address spaces, and the walk from a folio to its areas.
 *
 * Locks: i_mmap_rwsem, anon_vma->rwsem, inside the folio lock, outside page-table
 * locks.
 * Source: mm/rmap.c, mm/mmap.c
 */
#include "mm/rmap.h"

#include "mm/fs.h"
#include "mm/gfp.h"
#include "mm/interval_tree.h"

#include <errno.h>

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
	interval_tree_init(&anon_vma->areas);
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
	BUG_ON(anon_vma->areas.nr);
	call_rcu(&anon_vma->rcu, free_anon_vma);
}

void __anon_vma_prepare(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = vma->vm_mm->anon_vma;

	mmap_assert_locked(vma->vm_mm);
	anon_vma_lock_write(anon_vma);
	/* Another fault may have been faster. */
	if (!READ_ONCE(vma->anon_vma)) {
		interval_tree_insert(&anon_vma->areas, &vma->anon_rmap);
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
	interval_tree_insert(&anon_vma->areas, &dst->anon_rmap);
	smp_store_release(&dst->anon_vma, anon_vma);
}

void __unlink_anon_vmas(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	if (!anon_vma)
		return;
	assert_write_locked(anon_vma);
	interval_tree_remove(&anon_vma->areas, &vma->anon_rmap);
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

/* ---- files --------------------------------------------------------------- */

static struct address_space *vma_mapping(const struct vm_area_struct *vma)
{
	return vma->vm_file ? vma->vm_file->f_mapping : NULL;
}

static void assert_i_mmap_locked(const struct vm_area_struct *vma)
{
	VM_BUG_ON(vma->vm_file &&
		  !rwsem_is_write_locked(&vma_mapping(vma)->i_mmap_rwsem));
	(void)vma;
}

void vma_rmap_lock(struct vm_area_struct *vma)
{
	if (vma->vm_file)
		i_mmap_lock_write(vma_mapping(vma));
	anon_vma_lock_write(vma->vm_mm->anon_vma);
}

void vma_rmap_unlock(struct vm_area_struct *vma)
{
	anon_vma_unlock_write(vma->vm_mm->anon_vma);
	if (vma->vm_file)
		i_mmap_unlock_write(vma_mapping(vma));
}

void vma_rmap_pre_update(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	mmap_assert_write_locked(vma->vm_mm);
	assert_write_locked(vma->vm_mm->anon_vma);
	assert_i_mmap_locked(vma);
	if (anon_vma)
		interval_tree_remove(&anon_vma->areas, &vma->anon_rmap);
	if (vma->vm_file)
		interval_tree_remove(&vma_mapping(vma)->i_mmap,
				     &vma->file_rmap);
}

void vma_rmap_post_update(struct vm_area_struct *vma)
{
	struct anon_vma *anon_vma = READ_ONCE(vma->anon_vma);

	if (anon_vma)
		interval_tree_insert(&anon_vma->areas, &vma->anon_rmap);
	if (vma->vm_file)
		interval_tree_insert(&vma_mapping(vma)->i_mmap,
				     &vma->file_rmap);
}

void __link_file_vma(struct vm_area_struct *vma)
{
	assert_i_mmap_locked(vma);
	if (vma->vm_file)
		interval_tree_insert(&vma_mapping(vma)->i_mmap,
				     &vma->file_rmap);
}

void link_file_vma(struct vm_area_struct *vma)
{
	if (!vma->vm_file)
		return;
	i_mmap_lock_write(vma_mapping(vma));
	__link_file_vma(vma);
	i_mmap_unlock_write(vma_mapping(vma));
}

void __unlink_file_vma(struct vm_area_struct *vma)
{
	assert_i_mmap_locked(vma);
	if (vma->vm_file)
		interval_tree_remove(&vma_mapping(vma)->i_mmap,
				     &vma->file_rmap);
}

void unlink_file_vma(struct vm_area_struct *vma)
{
	if (!vma->vm_file)
		return;
	i_mmap_lock_write(vma_mapping(vma));
	__unlink_file_vma(vma);
	i_mmap_unlock_write(vma_mapping(vma));
}

/* ---- folios of a family -------------------------------------------------- */

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

struct rmap_one_call {
	struct folio *folio;
	pgoff_t first;
	struct rmap_walk_control *rwc;
};

static bool call_rmap_one(void *arg, struct vm_area_struct *vma)
{
	const struct rmap_one_call *c = arg;
	pf_addr_t address = vma->vm_start;

	if (c->first > vma->vm_pgoff)
		address += (c->first - vma->vm_pgoff) << PAGE_SHIFT;
	return c->rwc->rmap_one(c->folio, vma, address, c->rwc->arg);
}

static void walk_areas(struct interval_tree *areas, struct folio *folio,
		       struct rmap_walk_control *rwc)
{
	struct rmap_one_call c = { folio, folio->index, rwc };

	interval_tree_walk(areas, c.first,
			   c.first + folio_nr_pages(folio) - 1, call_rmap_one,
			   &c);
}

void rmap_walk_locked(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct anon_vma *anon_vma = folio_anon_vma(folio);
	struct address_space *mapping = folio_mapping(folio);

	VM_BUG_ON(!rwsem_is_locked(anon_vma ? &anon_vma->rwsem :
					      &mapping->i_mmap_rwsem));
	walk_areas(anon_vma ? &anon_vma->areas : &mapping->i_mmap, folio, rwc);
}

static void rmap_walk_anon(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct anon_vma *anon_vma = folio_get_anon_vma(folio);

	if (!anon_vma)
		return;
	anon_vma_lock_read(anon_vma);
	walk_areas(&anon_vma->areas, folio, rwc);
	anon_vma_unlock_read(anon_vma);
	put_anon_vma(anon_vma);
}

/* The folio lock holds the mapping, and thereby the tree. */
static void rmap_walk_file(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct address_space *mapping = folio_mapping(folio);

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	if (!mapping)
		return;
	if (!rwc->try_lock)
		i_mmap_lock_read(mapping);
	else if (!i_mmap_trylock_read(mapping))
		return;
	walk_areas(&mapping->i_mmap, folio, rwc);
	i_mmap_unlock_read(mapping);
}

void rmap_walk(struct folio *folio, struct rmap_walk_control *rwc)
{
	if (folio_test_anon(folio))
		rmap_walk_anon(folio, rwc);
	else
		rmap_walk_file(folio, rwc);
}
