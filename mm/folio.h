/* SPDX-License-Identifier: MIT */
/*
 * Folios: finding one, its flags, its counts, its lock.
 *
 * Life: folio_alloc() -> mapped by faults -> got or pinned -> unmapped ->
 * the last folio_put() frees it.  A folio may outlive its address space.
 *
 * Counts (inv_O2): refcount = mapping entries + LRU batch + isolation + GETs +
 * one for each page that a page cache has + pins (small folio: GUP_PIN_COUNTING_BIAS each; large: 1, and 1 in pincount).
 *
 * Source: include/linux/page-flags.h, include/linux/mm.h,
 *         include/linux/page_ref.h, include/linux/pagemap.h
 */
#ifndef MM_FOLIO_H
#define MM_FOLIO_H

#include "mm/machine.h"

#define GUP_PIN_COUNTING_BIAS	1024

/* dump_folio() - print all there is to know, to stderr */
void dump_folio(const struct folio *folio, const char *why);

/* VM_BUG_ON_FOLIO() - debug builds: print the folio, then die */
#define VM_BUG_ON_FOLIO(cond, folio) do {				\
	if (DEBUG_BUILD && unlikely(cond)) {				\
		dump_folio((folio), #cond);				\
		BUG();							\
	}								\
} while (0)

static inline bool PageTail(const struct page *page)
{
	return READ_ONCE(page->compound_head) & 1;
}

static inline struct folio *page_folio(const struct page *page)
{
	unsigned long head = READ_ONCE(page->compound_head);

	count_event(EV_FOLIO_LOOKUPS);
	if (unlikely(head & 1))
		return (struct folio *)(head - 1);
	return (struct folio *)page;
}

/* Flags.  The double-underscore forms are for a folio nobody else sees. */
#define FOLIO_FLAG(name, bit)						\
static inline bool folio_test_##name(const struct folio *folio)		\
{									\
	return test_bit(bit, &folio->flags);				\
}									\
static inline void folio_set_##name(struct folio *folio)		\
{									\
	set_bit(bit, &folio->flags);					\
}									\
static inline void folio_clear_##name(struct folio *folio)		\
{									\
	clear_bit(bit, &folio->flags);					\
}									\
static inline void __folio_set_##name(struct folio *folio)		\
{									\
	WRITE_ONCE(folio->flags, folio->flags | BIT(bit));		\
}

FOLIO_FLAG(referenced, PG_referenced)
FOLIO_FLAG(dirty, PG_dirty)
FOLIO_FLAG(writeback, PG_writeback)
FOLIO_FLAG(lru, PG_lru)
FOLIO_FLAG(active, PG_active)
FOLIO_FLAG(swapbacked, PG_swapbacked)
FOLIO_FLAG(workingset, PG_workingset)
FOLIO_FLAG(unevictable, PG_unevictable)
FOLIO_FLAG(large, PG_head)
#undef FOLIO_FLAG

/*
 * folio_mark_uptodate() - the bytes are there: whoever sees the bit sees them
 *
 * [folio-uptodate] the bytes, then the bit; paired with folio_test_uptodate()
 */
static inline void folio_mark_uptodate(struct folio *folio)
{
	set_bit_release(PG_uptodate, &folio->flags);
}

/* __folio_set_uptodate() - the same, of a folio that nobody else sees yet */
static inline void __folio_set_uptodate(struct folio *folio)
{
	WRITE_ONCE(folio->flags, folio->flags | BIT(PG_uptodate));
}

/*
 * folio_test_uptodate() - are the bytes there?
 *
 * [folio-uptodate] the bit, then the bytes; paired with folio_mark_uptodate()
 */
static inline bool folio_test_uptodate(const struct folio *folio)
{
	return test_bit_acquire(PG_uptodate, &folio->flags);
}

static inline void folio_clear_uptodate(struct folio *folio)
{
	clear_bit(PG_uptodate, &folio->flags);
}

static inline bool folio_test_and_set_dirty(struct folio *folio)
{
	return test_and_set_bit(PG_dirty, &folio->flags);
}

static inline bool PageHWPoison(const struct page *page)
{
	return test_bit(PG_hwpoison, &page->flags);
}

static inline void SetPageHWPoison(struct page *page)
{
	set_bit(PG_hwpoison, &page->flags);
}

static inline bool PageAnonExclusive(const struct page *page)
{
	return test_bit(PG_anon_exclusive, &page->flags);
}

static inline void SetPageAnonExclusive(struct page *page)
{
	set_bit(PG_anon_exclusive, &page->flags);
}

static inline void ClearPageAnonExclusive(struct page *page)
{
	clear_bit(PG_anon_exclusive, &page->flags);
}

/* page_is_small_folio() - page_folio(@page) is it, and small, at this moment */
static inline bool page_is_small_folio(const struct page *page)
{
	count_event(EV_FOLIO_LOOKUPS);
	return !PageTail(page) && !test_bit(PG_head, &page->flags);
}

/* Exact for a folio that is held; a guess, but in range, for any other. */
static inline unsigned int folio_order(const struct folio *folio)
{
	return folio_test_large(folio) ? READ_ONCE(folio->order) : 0;
}

static inline long folio_nr_pages(const struct folio *folio)
{
	return 1L << folio_order(folio);
}

static inline struct page *folio_page(struct folio *folio, unsigned long n)
{
	return &folio->page + n;
}

static inline unsigned long folio_page_idx(const struct folio *folio,
					   const struct page *page)
{
	return page - &folio->page;
}

static inline pf_pfn_t folio_pfn(const struct folio *folio)
{
	return page_to_pfn(&folio->page);
}

static inline bool folio_test_anon(const struct folio *folio)
{
	return (uintptr_t)READ_ONCE(folio->mapping) & PAGE_MAPPING_ANON;
}

static inline bool PageAnon(const struct page *page)
{
	return folio_test_anon(page_folio(page));
}

static inline bool folio_test_hugetlb(const struct folio *folio)
{
	return test_bit(PG_hugetlb, &folio->flags);
}

/* is_pci_p2pdma_page() - never: machines have no peer-to-peer memory */
static inline bool is_pci_p2pdma_page(const struct page *p __maybe_unused)
{
	return false;
}

static inline bool is_zero_page(const struct page *page)
{
	return page == page_machine(page)->zero_page;
}

static inline bool is_zero_folio(const struct folio *folio)
{
	return is_zero_page(&folio->page);
}

static inline bool is_zero_pfn(pf_pfn_t pfn)
{
	return pfn == page_to_pfn(current->machine->zero_page);
}

static inline bool is_huge_zero_folio(const struct folio *folio)
{
	return folio == READ_ONCE(page_machine(&folio->page)->huge_zero_folio);
}

/* Large folios count pins apart; small ones in the refcount. */
static inline bool folio_has_pincount(const struct folio *folio)
{
	return folio_test_large(folio);
}

static inline int folio_ref_count(const struct folio *folio)
{
	return atomic_read(&folio->_refcount);
}

static inline int folio_mapcount(const struct folio *folio)
{
	return atomic_read(&folio->_mapcount);
}

/* Acquire: what other holders did with the folio is over, see [cow-reuse]. */
static inline bool folio_is_sole_reference(const struct folio *folio)
{
	return smp_load_acquire(&folio->_refcount.counter) == 1;
}

static inline bool folio_mapped(const struct folio *folio)
{
	return folio_mapcount(folio) > 0;
}

static inline void folio_ref_add(struct folio *folio, int nr)
{
	atomic_add(nr, &folio->_refcount);
}

static inline void folio_ref_inc(struct folio *folio)
{
	atomic_add(1, &folio->_refcount);
}

static inline void folio_get(struct folio *folio)
{
	VM_BUG_ON_FOLIO(folio_ref_count(folio) <= 0, folio);
	folio_ref_inc(folio);
}

/* folio_try_get() - a reference, unless the folio is free or frozen */
static inline bool __must_check folio_try_get(struct folio *folio)
{
	return atomic_add_unless(&folio->_refcount, 1, 0);
}

/*
 * folio_ref_freeze() - make the count 0 if it is @count
 *
 * Nobody can take a reference until folio_ref_unfreeze(), which publishes what
 * was done to the folio meanwhile.
 * Source: include/linux/page_ref.h
 */
static inline bool __must_check folio_ref_freeze(struct folio *folio, int count)
{
	return atomic_cmpxchg(&folio->_refcount, count, 0) == count;
}

static inline void folio_ref_unfreeze(struct folio *folio, int count)
{
	VM_BUG_ON_FOLIO(folio_ref_count(folio), folio);
	smp_store_release(&folio->_refcount.counter, count);
}

void __folio_put(struct folio *folio);

/*
 * folio_put_refs() - drop @refs references; the last one frees the folio
 *
 * Always checked: the count never goes below zero.
 *
 * [cow-reuse] use the folio, then drop the reference; paired with
 * wp_can_reuse_anon_folio() and do_huge_pmd_wp_page()
 */
static inline void folio_put_refs(struct folio *folio, int refs)
{
	/* 2^21 pins of a small folio are 2^31 references: the int's sign flips. */
	int left = atomic_add_return((int)-(unsigned int)refs,
				     &folio->_refcount);

	if (unlikely(left <= 0)) {
		BUG_ON(left < 0 && (int)((unsigned int)left + refs) >= 0);
		if (!left)
			__folio_put(folio);
	}
}

static inline void folio_put(struct folio *folio)
{
	folio_put_refs(folio, 1);
}

/* put_page_testzero() - drop one; true if it was the last, and nothing is freed */
static inline bool __must_check put_page_testzero(struct page *page)
{
	VM_BUG_ON(atomic_read(&page->_refcount) <= 0);
	return atomic_dec_and_test(&page->_refcount);
}

static inline void put_page(struct page *page)
{
	folio_put(page_folio(page));
}

/*
 * folio_maybe_dma_pinned() - may somebody hold a pin?
 *
 * Exact for large folios.  A small folio with 1024 plain references is a false
 * positive; there are no false negatives, not even past an overflow.
 *
 * Source: include/linux/mm.h:folio_maybe_dma_pinned()
 */
static inline bool folio_maybe_dma_pinned(struct folio *folio)
{
	if (folio_has_pincount(folio))
		return atomic_read(&folio->_pincount) > 0;
	return (unsigned int)folio_ref_count(folio) >= GUP_PIN_COUNTING_BIAS;
}

/*
 * folio_likely_mapped_shared() - does more than one address space map it?
 *
 * Source: include/linux/mm.h:folio_likely_mapped_shared()
 * Differs: a large folio is judged by its whole mapcount, for want of one a
 *          page: no, while all its entries could be of one address space.
 */
static inline bool folio_likely_mapped_shared(struct folio *folio)
{
	return folio_mapcount(folio) > folio_nr_pages(folio);
}

/* The folio lock.  While it is held, mapping and index do not change. */
void folio_lock(struct folio *folio);
/*
 * folio_lock_nested() - while folios of smaller @subclass are locked
 *
 * Of one mapping, ascending: filemap_subclass() of the index.
 */
void folio_lock_nested(struct folio *folio, int subclass);
/*
 * folio_lock_mode() - the same, with a wait that a signal may end
 *
 * Return: 0; -EINTR, and it is not locked.
 */
int __must_check folio_lock_mode(struct folio *folio, int subclass,
				 enum wait_mode mode);
/* folio_waitqueue() - who waits for the folio's lock or writeback sleeps here */
struct wait_queue *folio_waitqueue(struct folio *folio);
bool __must_check folio_trylock(struct folio *folio);
void folio_unlock(struct folio *folio);
/*
 * __folio_set_locked() - lock a folio that nobody else sees yet
 * __folio_set_locked_flags() - and set @flags, as one word
 */
void __folio_set_locked_flags(struct folio *folio, unsigned long flags);

static inline void __folio_set_locked(struct folio *folio)
{
	__folio_set_locked_flags(folio, 0);
}

static inline bool folio_test_locked(const struct folio *folio)
{
	return test_bit(PG_locked, &folio->flags);
}

/* folio_mapping() - the page cache that it is in, or NULL */
static inline struct address_space *folio_mapping(const struct folio *folio)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);

	return (uintptr_t)mapping & PAGE_MAPPING_FLAGS ? NULL : mapping;
}

bool filemap_dirty_folio(struct address_space *mapping, struct folio *folio);

/*
 * folio_mark_dirty() - the folio is newer than its backing store
 *
 * Return: true if it was not dirty before.
 * Context: anonymous folios: any.  Of a mapping: something keeps that alive, as
 * the folio lock does; takes xa_lock.
 * Source: mm/page-writeback.c:folio_mark_dirty()
 */
static inline bool folio_mark_dirty(struct folio *folio)
{
	struct address_space *mapping = folio_mapping(folio);

	if (mapping)
		return filemap_dirty_folio(mapping, folio);
	return !folio_test_and_set_dirty(folio);
}

/*
 * set_page_dirty_lock() - the same by who has only a reference
 *
 * Context: takes the folio lock, so that the file stays meanwhile.
 * Source: mm/page-writeback.c:set_page_dirty_lock()
 */
static inline bool set_page_dirty_lock(struct page *page)
{
	struct folio *folio = page_folio(page);
	bool was_clean;

	folio_lock(folio);
	was_clean = folio_mark_dirty(folio);
	folio_unlock(folio);
	return was_clean;
}

#endif
