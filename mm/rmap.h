/* SPDX-License-Identifier: MIT */
/*
 * The reverse map: what changes on a folio when entries begin or cease to map
 * it, and the way back from a folio to its entries.
 *
 * An anonymous folio is mapped by the address space it was made in and by those
 * that are related to it by fork, everywhere at the same index.  So relatives
 * share one anon_vma, in which each area that has ever had an anonymous page
 * stands by its range of indices.
 *
 * Invariants:
 * 1. Each area that maps an anonymous folio is in the tree of the folio's
 *    anon_vma, and the folio's index lies in the area's range.
 * 2. While the lock is held for read, no entry moves from one area to another
 *    and no area's tables are freed: a walk meets each entry once.
 *
 * Context of the counts below: the page-table lock of the entry; of fork's, of
 * both entries.
 *
 * Source: include/linux/rmap.h, mm/rmap.c, mm/page_vma_mapped.c
 * Differs: one anon_vma a family of address spaces, not one an area and fork
 *          with chains between them; it is there from the beginning, so that
 *          anon_vma_prepare() cannot fail.
 */
#ifndef MM_RMAP_H
#define MM_RMAP_H

#include "mm/interval_tree.h"
#include "mm/mm.h"

#include <errno.h>

struct anon_vma {
	struct rw_semaphore rwsem;
	struct interval_tree areas;	/* rwsem */
	atomic_t refcount;		/* address spaces, and walks */
	struct rcu_head rcu;
};

/* anon_vma_alloc() - with one reference; NULL without memory */
struct anon_vma *anon_vma_alloc(void);
static inline void get_anon_vma(struct anon_vma *anon_vma)
{
	atomic_inc(&anon_vma->refcount);
}
/* put_anon_vma() - the last one frees it, after a grace period */
void put_anon_vma(struct anon_vma *anon_vma);

static inline void anon_vma_lock_write(struct anon_vma *anon_vma)
{
	down_write(&anon_vma->rwsem);
}

static inline void anon_vma_unlock_write(struct anon_vma *anon_vma)
{
	up_write(&anon_vma->rwsem);
}

static inline void anon_vma_lock_read(struct anon_vma *anon_vma)
{
	down_read(&anon_vma->rwsem);
}

static inline void anon_vma_unlock_read(struct anon_vma *anon_vma)
{
	up_read(&anon_vma->rwsem);
}

void __anon_vma_prepare(struct vm_area_struct *vma);

/*
 * anon_vma_prepare() - the area is going to map anonymous folios
 *
 * Context: mmap_lock held, either way; takes the anon_vma's lock.
 */
static inline void anon_vma_prepare(struct vm_area_struct *vma)
{
	if (unlikely(!smp_load_acquire(&vma->anon_vma)))
		__anon_vma_prepare(vma);
}

/*
 * anon_vma_clone() - @dst may map what @src maps
 *
 * Context: mmap_lock for write; the anon_vma's lock for write.
 */
void anon_vma_clone(struct vm_area_struct *dst, struct vm_area_struct *src);

/*
 * unlink_anon_vmas() - the area maps nothing any more; takes the lock
 *
 * __unlink_anon_vmas() - the same with the lock held for write
 */
void unlink_anon_vmas(struct vm_area_struct *vma);
void __unlink_anon_vmas(struct vm_area_struct *vma);

/*
 * vma_rmap_lock() - stop the walks from folios to what @vma maps
 *
 * Both trees that the area may stand in, for write: around each change of its
 * range, and while its entries move or are copied.
 * Context: mmap_lock for write.
 */
void vma_rmap_lock(struct vm_area_struct *vma);
void vma_rmap_unlock(struct vm_area_struct *vma);

/* Around a change of the range, which is the trees' key.  vma_rmap_lock(). */
void vma_rmap_pre_update(struct vm_area_struct *vma);
void vma_rmap_post_update(struct vm_area_struct *vma);

/*
 * link_file_vma() - walks from the file's folios find the area now
 *
 * unlink_file_vma(): and do not any more.  Nothing, if it maps no file.
 * __link_..., __unlink_...: inside vma_rmap_lock().
 */
void link_file_vma(struct vm_area_struct *vma);
void __link_file_vma(struct vm_area_struct *vma);
void unlink_file_vma(struct vm_area_struct *vma);
void __unlink_file_vma(struct vm_area_struct *vma);

/*
 * folio_anon_vma() - the anon_vma of an anonymous folio
 *
 * Context: the folio is mapped and stays so; or inside a read section, see
 * folio_get_anon_vma().
 */
static inline struct anon_vma *folio_anon_vma(const struct folio *folio)
{
	uintptr_t mapping = (uintptr_t)smp_load_acquire(&folio->mapping);

	if ((mapping & PAGE_MAPPING_FLAGS) != PAGE_MAPPING_ANON)
		return NULL;
	return (struct anon_vma *)(mapping - PAGE_MAPPING_ANON);
}

/*
 * folio_get_anon_vma() - the same with a reference, which the caller puts
 *
 * Return: NULL if the folio is not anonymous or not mapped.
 */
struct anon_vma *folio_get_anon_vma(const struct folio *folio);

/* Where a walk is told of each area that may map the folio. */
struct rmap_walk_control {
	void *arg;
	bool try_lock;			/* a file's tree: do not wait for it */
	/*
	 * @address: of the first page of the folio in the area
	 * Return: false ends the walk.
	 */
	bool (*rmap_one)(struct folio *folio, struct vm_area_struct *vma,
			 pf_addr_t address, void *arg);
};

/*
 * rmap_walk() - each area that may map @folio, in every address space
 *
 * Of a file's folio the areas of its mapping, of others those of its family.
 *
 * What is mapped there, page_vma_mapped_walk() says.  A fork, a move or a fault
 * that is under way may add an entry behind the walk's back; who has to be sure
 * looks at folio_mapped() afterwards.
 *
 * Context: the folio lock; if it is anonymous, another reason why it stays mapped
 * will do.  Takes the tree's lock for read.  mmap_lock is not needed.
 * Source: mm/rmap.c:rmap_walk()
 */
void rmap_walk(struct folio *folio, struct rmap_walk_control *rwc);
/*
 * rmap_walk_locked() - the same with the tree's lock held by the caller
 *
 * The only way for a hugetlb file, whose lock comes before the folio's.
 */
void rmap_walk_locked(struct folio *folio, struct rmap_walk_control *rwc);

/* One entry after the other that maps pages of a folio in one area. */
struct page_vma_mapped_walk {
	pf_pfn_t pfn;			/* first page looked for */
	unsigned long nr_pages;
	pgoff_t pgoff;			/* its index */
	struct vm_area_struct *vma;
	pf_addr_t address;		/* of the entry found */
	pmd_t *pmd;			/* hugetlb: the leaf, of either size */
	pte_t *pte;			/* NULL: a leaf */
	spinlock_t *ptl;		/* held; NULL: not begun */
};

#define DEFINE_FOLIO_VMA_WALK(name, folio, vma_, address_)		\
	struct page_vma_mapped_walk name = {				\
		.pfn = folio_pfn(folio),				\
		.nr_pages = folio_nr_pages(folio),			\
		.pgoff = (folio)->index,				\
		.vma = (vma_),						\
		.address = (address_),					\
	}

/*
 * page_vma_mapped_walk() - find the next entry
 *
 * Return: true, and the entry's lock is held; false at the end, with no lock.
 * Context: mmap_lock or the anon_vma's lock, so that the tables stay.
 * Source: mm/page_vma_mapped.c:page_vma_mapped_walk()
 * Differs: entries that are not present do not count as mapping.
 */
bool page_vma_mapped_walk(struct page_vma_mapped_walk *pvmw);

/* page_vma_mapped_walk_done() - leave before the end */
void page_vma_mapped_walk_done(struct page_vma_mapped_walk *pvmw);

static inline void __folio_set_anon(struct folio *folio,
				    struct vm_area_struct *vma,
				    pf_addr_t address)
{
	struct anon_vma *anon_vma = vma->vm_mm->anon_vma;

	VM_BUG_ON(!READ_ONCE(vma->anon_vma));
	folio->index = linear_page_index(vma, address);
	/* Release: who finds the pointer finds the anon_vma initialised. */
	smp_store_release(&folio->mapping, (struct address_space *)
			  ((uintptr_t)anon_vma + PAGE_MAPPING_ANON));
}

/*
 * folio_add_new_anon_rmap() - a new, exclusive folio gets its first mapping
 * @pmd: by one PMD leaf; else by one PTE a page
 *
 * Owner: the mapping owns one reference an entry; the caller has seen to that.
 */
static inline void folio_add_new_anon_rmap(struct folio *folio,
					   struct vm_area_struct *vma,
					   pf_addr_t address, bool pmd)
{
	long nr = pmd ? 1 : folio_nr_pages(folio);

	__folio_set_swapbacked(folio);
	__folio_set_anon(folio, vma, address);
	/* A PMD leaf is spoken for by its head page's bit. */
	for (long i = 0; i < nr; i++)
		SetPageAnonExclusive(folio_page(folio, i));
	atomic_set(&folio->_mapcount, nr);
	atomic64_add(folio_nr_pages(folio), &vma->vm_mm->rss_pages);
}

/*
 * folio_add_anon_rmap_pte() - one more entry maps a page of an anonymous folio
 * @exclusive: the mapping is the page's only one
 *
 * Source: mm/rmap.c:folio_add_anon_rmap_ptes()
 */
static inline void folio_add_anon_rmap_pte(struct folio *folio,
					   struct page *page,
					   struct vm_area_struct *vma,
					   bool exclusive)
{
	atomic_inc(&folio->_mapcount);
	atomic64_add(1, &vma->vm_mm->rss_pages);
	if (exclusive)
		SetPageAnonExclusive(page);
}

/*
 * folio_try_share_anon_rmap_pte() - may the page do without its exclusivity?
 *
 * A pin is taken through an entry of an exclusive page only, and stands for that
 * page staying where it is.  So the entry is gone already, by
 * ptep_get_and_clear(), whose barrier lets either a pin be seen here or the
 * missing entry by who is pinning.
 * Return: 0; -EBUSY if the folio may be pinned, and the caller puts the entry
 * back.
 * Source: include/linux/rmap.h:folio_try_share_anon_rmap_pte()
 */
static inline int __must_check folio_try_share_anon_rmap_pte(struct folio *folio,
							     struct page *page)
{
	VM_BUG_ON_FOLIO(!PageAnonExclusive(page), folio);
	if (unlikely(folio_maybe_dma_pinned(folio)))
		return -EBUSY;
	ClearPageAnonExclusive(page);
	return 0;
}

/* hugetlb_add_new_anon_rmap() - the same for a page of a pool, without rss */
static inline void hugetlb_add_new_anon_rmap(struct folio *folio,
					     struct vm_area_struct *vma,
					     pf_addr_t address)
{
	__folio_set_anon(folio, vma, address);
	SetPageAnonExclusive(&folio->page);
	atomic_set(&folio->_mapcount, 1);
}

/* hugetlb_add_file_rmap() - one more leaf maps a file's page of a pool */
static inline void hugetlb_add_file_rmap(struct folio *folio)
{
	atomic_inc(&folio->_mapcount);
}

/* folio_remove_rmap() - @nr_entries entries, @nr_pages pages, are gone */
static inline void folio_remove_rmap(struct folio *folio,
				     struct vm_area_struct *vma,
				     int nr_entries, long nr_pages)
{
	VM_BUG_ON_FOLIO(folio_mapcount(folio) < nr_entries, folio);
	atomic_sub(nr_entries, &folio->_mapcount);
	if (folio_test_anon(folio))
		atomic64_add(-nr_pages, &vma->vm_mm->rss_pages);
}

/*
 * folio_add_file_rmap_ptes() - @nr more entries map pages of a file's folio
 *
 * Context: the table's lock, the folio lock.  Source: mm/rmap.c
 */
static inline void folio_add_file_rmap_ptes(struct folio *folio,
					    unsigned int nr)
{
	atomic_add((int)nr, &folio->_mapcount);
}

/* folio_dup_file_rmap_ptes() - fork maps @nr pages once more */
static inline void folio_dup_file_rmap_ptes(struct folio *folio,
					    struct page *page __maybe_unused,
					    int nr)
{
	atomic_add(nr, &folio->_mapcount);
}

/*
 * folio_needs_cow_for_dma() - has fork to copy an exclusive page at once?
 *
 * A pinned page must stay the page that its pinner's mm sees, so it cannot
 * become shared.  The flag tells an mm that never pinned anything from one
 * whose small folios just have many references.
 *
 * Context: mmap_lock for write, inside write_protect_seq: what was pinned
 * without a lock before is seen here, and what is pinned from now on is undone.
 * Source: include/linux/mm.h:folio_needs_cow_for_dma()
 */
static inline bool folio_needs_cow_for_dma(struct vm_area_struct *vma,
					   struct folio *folio)
{
	struct mm_struct *mm = vma->vm_mm;

	VM_BUG_ON(!(raw_read_seqcount(&mm->write_protect_seq) & 1));
	return test_bit(MMF_HAS_PINNED, &mm->flags) &&
	       folio_maybe_dma_pinned(folio);
}

/*
 * folio_try_dup_anon_rmap_ptes() - fork maps @nr pages once more, shared
 *
 * Return: 0, and none of them is exclusive any more; -EBUSY, with nothing
 * changed, if one is exclusive and the folio may be pinned.
 * Source: include/linux/rmap.h
 */
int __must_check folio_try_dup_anon_rmap_ptes(struct folio *folio,
					      struct page *page, int nr,
					      struct vm_area_struct *src_vma);
/* folio_try_dup_anon_rmap_pmd() - the same for a PMD leaf */
int __must_check folio_try_dup_anon_rmap_pmd(struct folio *folio,
					     struct page *page,
					     struct vm_area_struct *src_vma);
/* hugetlb_try_dup_anon_rmap() - the same for a page of a pool */
int __must_check hugetlb_try_dup_anon_rmap(struct folio *folio,
					   struct vm_area_struct *src_vma);

#endif
