/* SPDX-License-Identifier: MIT */
/*
 * The page cache: the folios of a file, by index.
 *
 * A slot of mapping->i_pages holds nothing, a folio, which all indices that it
 * covers resolve to, or a value: the shadow of a folio that was evicted, or what
 * the owner keeps there (AS_KEEP_VALUES).
 *
 * Invariants; lab/validate.c counts them again
 * 1. nrpages is the number of pages of the folios in i_pages.
 * 2. A folio in i_pages has this mapping and its index there; one that was
 *    removed has none, and keeps its index.  Both change under xa_lock, with the
 *    folio locked.
 * 3. A folio's index is aligned to its size, which is its entry's.
 * 4. The cache has one reference for each page of a folio (inv_O2).
 * 5. Marks are on folios only.
 * 6. A node of i_pages is on the machine's list of shadow nodes if it has entries
 *    and all are shadows.
 *
 * Locks: mmap_lock, invalidate_lock, folio lock, i_mmap_rwsem, xa_lock.  Two
 * folios of one mapping are locked in ascending order.
 *
 * Source: include/linux/pagemap.h, include/linux/fs.h, mm/filemap.c
 */
#ifndef MM_FILEMAP_H
#define MM_FILEMAP_H

#include "lib/xarray.h"
#include "mm/gfp.h"
#include "mm/mm_types.h"

struct inode;

struct address_space_operations {
	/*
	 * Fill the locked folios, which are new and consecutive; those that could
	 * be filled are uptodate then.  Return: 0, or why some could not.
	 */
	int (*read_folios)(struct address_space *mapping,
			   struct folio **folios, unsigned int nr);
	/* The folio is out of the cache, and still locked or frozen. */
	void (*free_folio)(struct folio *folio);
};

/*
 * Key: (C) constant after init, (A) atomic, (X) xa_lock to write, none to read
 */
struct address_space {
	struct machine *machine;		/* (C) */
	struct inode *host;			/* (C) whose cache it is, or NULL */
	struct xarray i_pages;
	/*
	 * For write: a range is emptied.  For read: folios are added that must
	 * not survive that.
	 */
	struct rw_semaphore invalidate_lock;
	gfp_t gfp_mask;				/* (C) */
	unsigned long nrpages;			/* (X) */
	struct rw_semaphore i_mmap_rwsem;
	struct interval_tree i_mmap;		/* i_mmap_rwsem: areas that map it */
	atomic_t i_mmap_writable;		/* shared areas that may be written; < 0: none may come */
	unsigned long flags;			/* (A) AS_* bits, folio orders */
	const struct address_space_operations *a_ops;	/* (C) */
	struct list_head machine_list;		/* machine->lock */
};

enum mapping_flags {
	AS_UNEVICTABLE = 3,
	AS_EXITING = 4,		/* final truncate has begun */
	AS_STABLE_WRITES = 7,	/* no stores while under writeback */
	AS_INACCESSIBLE = 8,	/* nobody but the owner's guest sees the bytes */
	AS_KEEP_VALUES = 9,	/* values are the owner's, no shadows */
	AS_NO_PIN = 10,		/* its pages are neither got nor pinned */
	AS_HUGETLB = 11,	/* its folios are of a hugetlb pool */
	AS_FOLIO_ORDER_MIN = 16,
	AS_FOLIO_ORDER_MAX = 21,
};

#define AS_FOLIO_ORDER_BITS	5
#define AS_FOLIO_ORDER_MASK	((1UL << AS_FOLIO_ORDER_BITS) - 1)
#define MAX_PAGECACHE_ORDER	((unsigned int)HPAGE_PMD_ORDER)

#define PAGECACHE_TAG_DIRTY	XA_MARK_0
#define PAGECACHE_TAG_WRITEBACK	XA_MARK_1
#define PAGECACHE_TAG_TOWRITE	XA_MARK_2

static inline bool mapping_unevictable(const struct address_space *mapping)
{
	return test_bit(AS_UNEVICTABLE, &mapping->flags);
}

static inline bool mapping_exiting(const struct address_space *mapping)
{
	return test_bit(AS_EXITING, &mapping->flags);
}

static inline bool mapping_stable_writes(const struct address_space *mapping)
{
	return test_bit(AS_STABLE_WRITES, &mapping->flags);
}

static inline bool mapping_inaccessible(const struct address_space *mapping)
{
	return test_bit(AS_INACCESSIBLE, &mapping->flags);
}

/* mapping_keeps_values() - no folio is added in place of a value */
static inline bool mapping_keeps_values(const struct address_space *mapping)
{
	return test_bit(AS_KEEP_VALUES, &mapping->flags);
}

/*
 * mapping_set_keep_values() - values are where the owner has put the bytes, such
 * as in swap space
 *
 * Context: nobody else sees the mapping yet.
 */
static inline void mapping_set_keep_values(struct address_space *mapping)
{
	set_bit(AS_KEEP_VALUES, &mapping->flags);
	mapping->i_pages.xa_update = NULL;
}

/* mapping_can_writeback() - are there bytes elsewhere that a store makes old? */
static inline bool mapping_can_writeback(const struct address_space *mapping)
{
	return !mapping_unevictable(mapping) && !mapping_keeps_values(mapping);
}

/* mapping_shrinkable() - is no node left, so that no list knows of its shadow? */
static inline bool mapping_shrinkable(const struct address_space *mapping)
{
	void *head = READ_ONCE(mapping->i_pages.xa_head);

	return !head || xa_is_value(head);
}

static inline bool mapping_hugetlb(const struct address_space *mapping)
{
	return test_bit(AS_HUGETLB, &mapping->flags);
}

static inline bool mapping_no_pin(const struct address_space *mapping)
{
	return test_bit(AS_NO_PIN, &mapping->flags);
}

/* Inaccessible folios are never mapped, so nothing ever finds them old. */
static inline void mapping_set_inaccessible(struct address_space *mapping)
{
	set_bit(AS_UNEVICTABLE, &mapping->flags);
	set_bit(AS_INACCESSIBLE, &mapping->flags);
}

static inline unsigned int
mapping_min_folio_order(const struct address_space *mapping)
{
	return READ_ONCE(mapping->flags) >> AS_FOLIO_ORDER_MIN &
	       AS_FOLIO_ORDER_MASK;
}

static inline unsigned int
mapping_max_folio_order(const struct address_space *mapping)
{
	return READ_ONCE(mapping->flags) >> AS_FOLIO_ORDER_MAX &
	       AS_FOLIO_ORDER_MASK;
}

static inline pgoff_t
mapping_align_index(const struct address_space *mapping, pgoff_t index)
{
	return index & ~((1UL << mapping_min_folio_order(mapping)) - 1);
}

/*
 * mapping_set_folio_order_range() - orders of the folios that it may have
 *
 * Both are limited to MAX_PAGECACHE_ORDER, and @max is at least @min.
 * Context: nobody else sees the mapping yet.
 */
void mapping_set_folio_order_range(struct address_space *mapping,
				   unsigned int min, unsigned int max);

/*
 * mapping_init() - an empty cache of the machine's
 *
 * Owner: the caller, who ends with mapping_destroy().
 */
void mapping_init(struct address_space *mapping, struct machine *machine);

/* mapping_destroy() - Context: no folio is in it; nobody else uses it. */
void mapping_destroy(struct address_space *mapping);

static inline void i_mmap_lock_write(struct address_space *mapping)
{
	down_write(&mapping->i_mmap_rwsem);
}

static inline void i_mmap_unlock_write(struct address_space *mapping)
{
	up_write(&mapping->i_mmap_rwsem);
}

static inline void i_mmap_lock_read(struct address_space *mapping)
{
	down_read(&mapping->i_mmap_rwsem);
}

static inline bool __must_check i_mmap_trylock_read(struct address_space *mapping)
{
	return down_read_trylock(&mapping->i_mmap_rwsem);
}

static inline void i_mmap_unlock_read(struct address_space *mapping)
{
	up_read(&mapping->i_mmap_rwsem);
}

static inline pgoff_t folio_next_index(const struct folio *folio)
{
	return folio->index + folio_nr_pages(folio);
}

static inline bool folio_contains(const struct folio *folio, pgoff_t index)
{
	return index - folio->index < (pgoff_t)folio_nr_pages(folio);
}

/* filemap_subclass() - for folio_lock_nested(): ascends with @index in a leaf */
static inline int filemap_subclass(pgoff_t index)
{
	return (int)(index % 0x7fffffc0) + 1;
}

/* ---- adding and removing ------------------------------------------------- */

/*
 * __filemap_add_folio() - put a folio of any order into the cache
 * @index: aligned to the folio's size
 * @shadowp: what the evicted folio left there, or NULL; NULL: do not tell
 *
 * Context: the folio is locked, nobody else has it; takes xa_lock.
 * Return: 0; -EEXIST; -ENOMEM, a node of the index; -EINVAL, a value that the
 * mapping keeps.  On failure the folio has no mapping, and a new index.
 * Owner: the cache takes references of its own.
 * Source: mm/filemap.c:__filemap_add_folio()
 */
int __must_check __filemap_add_folio(struct address_space *mapping,
				     struct folio *folio, pgoff_t index,
				     gfp_t gfp, void **shadowp);

/*
 * filemap_add_folio() - lock a new folio, add it, queue it for its LRU list
 *
 * The current memory group pays.
 * Return: as __filemap_add_folio(), or try_charge(); on failure the folio is
 * neither locked nor charged.
 * Source: mm/filemap.c:filemap_add_folio()
 * Differs: folios of an unevictable mapping are on no list.
 */
int __must_check filemap_add_folio(struct address_space *mapping,
				   struct folio *folio, pgoff_t index,
				   gfp_t gfp);

/*
 * __filemap_remove_folio() - take it out of the index, leaving @shadow or NULL
 *
 * Context: folio lock, xa_lock.  The caller then calls filemap_free_folio(), or
 * has the folio frozen.
 * Source: mm/filemap.c:__filemap_remove_folio()
 */
void __filemap_remove_folio(struct folio *folio, void *shadow);

/* filemap_free_folio() - tell the owner, drop the cache's references */
void filemap_free_folio(struct address_space *mapping, struct folio *folio);

/*
 * filemap_remove_folio() - both
 *
 * Context: the folio is locked, and the caller has a reference; takes xa_lock.
 * Source: mm/filemap.c:filemap_remove_folio()
 */
void filemap_remove_folio(struct folio *folio);

/*
 * replace_page_cache_folio() - put @new where @old is
 *
 * Whoever looks finds one or the other.  What has been paid for @old is paid for
 * @new, too, whatever the group's max.  @new is on no LRU list.
 * Context: both are single pages, locked, @new of no mapping; takes xa_lock.
 * Owner: the cache's reference of @old goes; both of the caller stay.
 * Source: mm/filemap.c:replace_page_cache_folio()
 */
void replace_page_cache_folio(struct folio *old, struct folio *new);

/* ---- looking up ---------------------------------------------------------- */

/*
 * filemap_get_entry() - what is at @index
 *
 * Return: NULL; a value; or a folio with a reference, which was in the cache
 * and may have been removed since.  Who needs more locks it and looks at its
 * mapping.
 * Source: mm/filemap.c:filemap_get_entry()
 */
void *filemap_get_entry(struct address_space *mapping, pgoff_t index);

typedef unsigned int fgf_t;

#define FGP_ACCESSED	0x01u	/* mark it accessed */
#define FGP_LOCK	0x02u	/* lock it */
#define FGP_CREAT	0x04u	/* add one if there is none; it comes locked */
#define FGP_WRITE	0x08u	/* it will be written */
#define FGP_NOFS	0x10u	/* no file system is entered for memory */
#define FGP_NOWAIT	0x20u	/* -EAGAIN instead of sleeping */
#define FGP_FOR_MMAP	0x40u	/* what was added comes unlocked */
#define FGP_STABLE	0x80u	/* wait for writeback if stores must */
#define FGP_INTERRUPTIBLE 0x100u /* filemap_grab_folios(): -EINTR at a signal */
#define FGP_WRITEBEGIN	(FGP_LOCK | FGP_WRITE | FGP_CREAT | FGP_STABLE)

#define FGF_GET_ORDER(fgf)	((fgf) >> 26)	/* preferred, to be added */

static inline fgf_t fgf_set_order(size_t bytes)
{
	unsigned int shift = bytes ? 63 - __builtin_clzll(bytes) : 0;

	return shift <= PAGE_SHIFT ? 0 : (shift - PAGE_SHIFT) << 26;
}

/*
 * __filemap_get_folio() - find a folio, or add one
 *
 * Return: the folio, with a reference; or ERR_PTR: -ENOENT, -EAGAIN, -ENOMEM,
 * and -EINVAL for a value that the mapping keeps.
 * Source: mm/filemap.c:__filemap_get_folio()
 */
struct folio *__filemap_get_folio(struct address_space *mapping, pgoff_t index,
				  fgf_t fgp, gfp_t gfp);

static inline struct folio *filemap_get_folio(struct address_space *mapping,
					      pgoff_t index)
{
	return __filemap_get_folio(mapping, index, 0, 0);
}

static inline struct folio *filemap_lock_folio(struct address_space *mapping,
					       pgoff_t index)
{
	return __filemap_get_folio(mapping, index, FGP_LOCK, 0);
}

static inline struct folio *filemap_grab_folio(struct address_space *mapping,
					       pgoff_t index)
{
	return __filemap_get_folio(mapping, index,
				   FGP_LOCK | FGP_ACCESSED | FGP_CREAT,
				   mapping->gfp_mask);
}

/* ERR_PTR() - an errno in place of a pointer.  Source: include/linux/err.h */
static inline void *ERR_PTR(long err)
{
	return (void *)err;
}

static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

static inline bool IS_ERR(const void *ptr)
{
	return unlikely((unsigned long)ptr >= -4095UL);
}

/* filemap_alloc_folio() - Source: mm/filemap.c:filemap_alloc_folio() */
static inline struct folio *filemap_alloc_folio(gfp_t gfp, unsigned int order)
{
	return folio_alloc(gfp, order);
}

/*
 * page_cache_next_miss() - the first index of @nr from @index on without a folio
 * page_cache_prev_miss() - the same downwards, of @nr up to and with @index
 *
 * Shadows count as none.  The window ends where indices do.  No snapshot: by the
 * time of the answer it may be wrong.
 * Return: true, and *@miss is the index; false, and it is left alone.
 * Source: mm/filemap.c
 * Differs: Linux answers with an index in either case, which past the ends, and
 *          for prev_miss also otherwise, may be one that has a folio.
 */
bool __must_check page_cache_next_miss(struct address_space *mapping,
				       pgoff_t index, unsigned long nr,
				       pgoff_t *miss);
bool __must_check page_cache_prev_miss(struct address_space *mapping,
				       pgoff_t index, unsigned long nr,
				       pgoff_t *miss);

/* ---- several at once ----------------------------------------------------- */

#define PAGEVEC_SIZE	FOLIO_BATCH_SIZE

struct folio_batch {
	unsigned int nr;
	struct folio *folios[PAGEVEC_SIZE];	/* or values */
};

static inline void folio_batch_init(struct folio_batch *fbatch)
{
	fbatch->nr = 0;
}

static inline unsigned int folio_batch_count(const struct folio_batch *fbatch)
{
	return fbatch->nr;
}

/* folio_batch_add() - Return: how many more fit. */
static inline unsigned int folio_batch_add(struct folio_batch *fbatch,
					   struct folio *folio)
{
	fbatch->folios[fbatch->nr++] = folio;
	return PAGEVEC_SIZE - fbatch->nr;
}

/* folio_batch_remove_exceptionals() - forget the values */
void folio_batch_remove_exceptionals(struct folio_batch *fbatch);
/* folio_batch_release() - drop the folios' references; the batch is empty */
void folio_batch_release(struct folio_batch *fbatch);

/*
 * filemap_get_folios() - folios of [*@start, @end], @end included
 *
 * Ascending; the first may begin before, the last end behind the range.
 * While they come and go, one may overlap what was there before it.
 * *@start becomes where to go on.
 * filemap_get_folios_tag(): those with the mark.
 * filemap_get_folios_contig(): up to the first gap; *@start is left alone if
 * there is none.
 *
 * Return: how many, each with a reference; 0: no more.
 * Source: mm/filemap.c
 */
unsigned int filemap_get_folios(struct address_space *mapping, pgoff_t *start,
				pgoff_t end, struct folio_batch *fbatch);
unsigned int filemap_get_folios_tag(struct address_space *mapping,
				    pgoff_t *start, pgoff_t end, xa_mark_t tag,
				    struct folio_batch *fbatch);
unsigned int filemap_get_folios_contig(struct address_space *mapping,
				       pgoff_t *start, pgoff_t end,
				       struct folio_batch *fbatch);

/*
 * find_get_entries() - folios and values of [*@start, @end], with their indices
 *
 * find_lock_entries(): the folios locked; those that stick out, are locked by
 * others, under writeback, or removed are left out.
 * Source: mm/filemap.c
 */
unsigned int find_get_entries(struct address_space *mapping, pgoff_t *start,
			      pgoff_t end, struct folio_batch *fbatch,
			      pgoff_t *indices);
unsigned int find_lock_entries(struct address_space *mapping, pgoff_t *start,
			       pgoff_t end, struct folio_batch *fbatch,
			       pgoff_t *indices);

/*
 * delete_from_page_cache_batch() - remove folios, one hold of xa_lock for all
 *
 * Context: they are locked, of this mapping, ascending.
 * Source: mm/filemap.c:delete_from_page_cache_batch()
 */
void delete_from_page_cache_batch(struct address_space *mapping,
				  struct folio_batch *fbatch);

/* ---- dirty, writeback ---------------------------------------------------- */

/*
 * filemap_dirty_folio() - set dirty, and the mark
 *
 * Return: true if it was not dirty before.
 * Context: takes xa_lock.  Source: mm/page-writeback.c:filemap_dirty_folio()
 */
bool filemap_dirty_folio(struct address_space *mapping, struct folio *folio);

/* folio_clear_dirty_for_io() - Return: was it dirty?  Context: folio lock */
bool folio_clear_dirty_for_io(struct folio *folio);
/* folio_cancel_dirty() - it is not going to be written.  Context: folio lock */
void folio_cancel_dirty(struct folio *folio);
/* folio_start_writeback() - Context: folio lock; it is not under writeback. */
void folio_start_writeback(struct folio *folio);
void folio_end_writeback(struct folio *folio);
void folio_wait_writeback(struct folio *folio);
/* folio_wait_stable() - before a store, if the mapping wants that */
void folio_wait_stable(struct folio *folio);
/* tag_pages_for_writeback() - who is dirty in [@start, @end] gets TOWRITE */
void tag_pages_for_writeback(struct address_space *mapping, pgoff_t start,
			     pgoff_t end);

#endif
