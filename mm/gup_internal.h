/* SPDX-License-Identifier: MIT */
/*
 * What the parts of GUP share: the walk, its checks, the grab.
 *
 * A page is found by the walk (gup.c), grabbed (gup_pin.c), and handed to the
 * caller by the retry loop (gup_entry.c).
 */
#ifndef MM_GUP_INTERNAL_H
#define MM_GUP_INTERNAL_H

#include "host/exits.h"
#include "mm/gup.h"

#include <errno.h>

/*
 * __get_user_pages() - walk [start, + nr_pages) with mmap_lock held
 * @locked: as in the public forms; set to 0 when a fault dropped the lock
 *
 * Return: pages done, or a negative errno if none; 0 if the lock was dropped,
 * or with FOLL_NOWAIT, before the first.
 */
long __get_user_pages(struct mm_struct *mm, pf_addr_t start,
		      unsigned long nr_pages, unsigned int gup_flags,
		      struct page **pages, int *locked);

/* The retry loop around it, on any walk of that form. */
typedef long (*gup_walk_fn)(struct mm_struct *mm, pf_addr_t start,
			    unsigned long nr_pages, unsigned int gup_flags,
			    struct page **pages, int *locked);
long __get_user_pages_locked(struct mm_struct *mm, pf_addr_t start,
			     unsigned long nr_pages, struct page **pages,
			     int *locked, unsigned int flags);
/* The same for flags that may have FOLL_LONGTERM (gup_longterm.c). */
long __gup_longterm_locked(struct mm_struct *mm, pf_addr_t start,
			   unsigned long nr_pages, struct page **pages,
			   int *locked, unsigned int gup_flags);
long gup_locked_loop(gup_walk_fn walk, struct mm_struct *mm, pf_addr_t start,
		     unsigned long nr_pages, struct page **pages, int *locked,
		     unsigned int flags);

/*
 * gup_fast() - the lockless part: what can be had from @start on (gup_fast.c)
 * @flags: with FOLL_GET or FOLL_PIN; MMF_HAS_PINNED is set already
 *
 * Context: @mm is the calling thread's own; no lock is needed, nothing waits.
 * Return: pages taken; never an errno.
 */
long gup_fast(struct mm_struct *mm, pf_addr_t start, unsigned long nr_pages,
	      unsigned int flags, struct page **pages);

/* The checks in front of it and the slow path behind it, with any such walk. */
typedef long (*gup_fast_fn)(struct mm_struct *mm, pf_addr_t start,
			    unsigned long nr_pages, unsigned int flags,
			    struct page **pages);
long gup_fast_fallback(gup_fast_fn fast, pf_addr_t start, int nr_pages,
		       unsigned int gup_flags, struct page **pages);

/* is_valid_gup_args() - check the caller's flags and add the wrapper's */
bool is_valid_gup_args(struct page **pages, int *locked,
		       unsigned int *gup_flags_p, unsigned int to_set);

/* check_vma_flags() - may this area be got at with these flags? */
int check_vma_flags(struct vm_area_struct *vma, unsigned int gup_flags);

/* gup_vma_lookup() - the area for @address, checked; ERR_PTR's errno in *@err */
struct vm_area_struct *gup_vma_lookup(struct mm_struct *mm, pf_addr_t address,
				      unsigned int gup_flags, int *err);

/*
 * faultin_page() - make one address accessible
 * @unshare: the entry has to become exclusive, not writable
 * @locked: set to 0 if the fault dropped mmap_lock
 *
 * Return: 0 (walk again), -EAGAIN (lock dropped: COMPLETED), -EBUSY (RETRY),
 * or the errno to report.
 */
int faultin_page(struct vm_area_struct *vma, pf_addr_t address,
		 unsigned int flags, bool unshare, int *locked);

/* A missing table: 0 (fault), or -EFAULT where FOLL_DUMP would only make a hole. */
long no_page_table(struct vm_area_struct *vma, unsigned int flags,
		   pf_addr_t address);

/* May a write follow a read-only entry?  Only by FOLL_FORCE, page by page. */
bool can_follow_write_pte(pte_t pte, struct page *page,
			  struct vm_area_struct *vma, unsigned int flags);
bool can_follow_write_pmd(pmd_t pmd, struct page *page,
			  struct vm_area_struct *vma, unsigned int flags);

static inline bool gup_can_follow_protnone(struct vm_area_struct *vma,
					   unsigned int flags)
{
	if (!(flags & FOLL_HONOR_NUMA_FAULT))
		return true;
	/* Nobody could hint in an area that is not accessible at all. */
	return !vma_is_accessible(vma);
}

/*
 * gup_must_unshare() - must @page be made exclusive before it is pinned?
 * @vma: NULL in the lockless walk
 *
 * Context: the entry is not writable.
 */
static inline bool gup_must_unshare(struct vm_area_struct *vma,
				    unsigned int flags, struct page *page)
{
	if ((flags & (FOLL_WRITE | FOLL_PIN)) != FOLL_PIN)
		return false;
	if (PageAnon(page))
		return !PageAnonExclusive(page);
	if (!(flags & FOLL_LONGTERM))
		return false;
	return !vma || is_cow_mapping(vma->vm_flags);
}

/*
 * folio_grab() - try_grab_folio() without accounting: the caller adds what it
 * took to the counter, with count_pins_acquired(), while it still holds the lock
 * @large: folio_test_large()
 * @zero: is_zero_folio(); its pins count nothing
 */
static __always_inline int __must_check folio_grab(struct folio *folio,
						   bool large, bool zero,
						   int refs, unsigned int flags)
{
	if (unlikely(folio_ref_count(folio) <= 0))
		return -ENOMEM;
	if (unlikely(!(flags & FOLL_PCI_P2PDMA) &&
		     is_pci_p2pdma_page(&folio->page)))
		return -EREMOTEIO;
	if (flags & FOLL_GET) {
		folio_ref_add(folio, refs);
	} else if ((flags & FOLL_PIN) && !zero) {
		if (large) {
			folio_ref_add(folio, refs);
			atomic_add(refs, &folio->_pincount);
		} else {
			folio_ref_add(folio, refs * GUP_PIN_COUNTING_BIAS);
		}
	}
	return 0;
}

/*
 * try_grab_folio() - take @refs references (GET) or pins (PIN)
 *
 * Return: 0, -ENOMEM if the folio's count is not positive, -EREMOTEIO for
 * peer-to-peer memory without FOLL_PCI_P2PDMA.
 * Context: the folio cannot be freed meanwhile: a mapped entry under its lock.
 */
static inline int __must_check try_grab_folio(struct folio *folio, int refs,
					      unsigned int flags)
{
	const bool zero = is_zero_folio(folio);
	int err = folio_grab(folio, folio_test_large(folio), zero, refs, flags);

	if (!err && (flags & FOLL_PIN) && !zero)
		count_pins_acquired(page_machine(&folio->page), refs);
	return err;
}

/*
 * gup_plain_refs() - references that a small page takes, if that is all that
 * these flags ask for; 0 if there is more to do
 */
static inline int gup_plain_refs(unsigned int flags)
{
	if (flags & FOLL_TOUCH)
		return 0;
	if (flags & FOLL_PIN)
		return GUP_PIN_COUNTING_BIAS;
	return flags & FOLL_GET ? 1 : 0;
}

/* Bits that may differ inside a run: what they say is said of one page. */
#define RUN_SOFT_BITS	(_PAGE_ACCESSED | _PAGE_DIRTY | _PAGE_SOFT_DIRTY | \
			 _PAGE_UFFD_WP)

/*
 * gup_store_pages() - slots for @nr consecutive pages
 *
 * Two slots a store, spelled out: whether the compiler finds that by itself
 * changes with its version, and a huge leaf costs little else.
 */
static __always_inline void gup_store_pages(struct page **pages,
					    struct page *page, long nr)
{
	typedef uintptr_t pair __attribute__((vector_size(2 * sizeof(uintptr_t))));
	const uintptr_t size = sizeof(struct page);
	pair two = { (uintptr_t)page, (uintptr_t)page + size };
	long i = 0;

	for (; i + 8 <= nr; i += 8) {
		for (int k = 0; k < 8; k += 2) {
			__builtin_memcpy(&pages[i + k], &two, sizeof(two));
			two += 2 * size;
		}
	}
	for (; i < nr; i++)
		pages[i] = page + i;
}

/*
 * pages_of_folio() - how many entries from @pages on are pages of @folio?
 *
 * The descriptors of a folio are one aligned block, so an entry belongs to it
 * iff it differs from the head in low address bits only; no descriptor is read.
 * Eight entries at a time, so that the compiler can use wide compares.
 */
static inline unsigned long pages_of_folio(const struct folio *folio,
					   struct page **pages,
					   unsigned long nr)
{
	const uintptr_t head = (uintptr_t)folio;
	const uintptr_t outside = ~(folio_nr_pages(folio) * sizeof(struct page) -
				    1);
	unsigned long i = 0;

	while (i + 8 <= nr) {
		uintptr_t differ = 0;

		for (int k = 0; k < 8; k++)
			differ |= (uintptr_t)pages[i + k] ^ head;
		if (differ & outside)
			break;
		i += 8;
	}
	while (i < nr && !(((uintptr_t)pages[i] ^ head) & outside))
		i++;
	return i;
}

/* arch_make_folio_accessible() - let devices at it; nothing to do on x86-64 */
static inline int arch_make_folio_accessible(struct folio *f __maybe_unused)
{
	return 0;
}

/* The counts of @nr pins; the caller accounts for them. */
static __always_inline void folio_drop_pins(struct folio *folio,
					    unsigned long nr)
{
	if (folio_has_pincount(folio)) {
		atomic_sub(nr, &folio->_pincount);
		folio_put_refs(folio, nr);
	} else {
		folio_put_refs(folio, nr * GUP_PIN_COUNTING_BIAS);
	}
}

/* Drop what folio_grab() took. */
void gup_put_folio(struct folio *folio, int refs, unsigned int flags);

/* gup_fast_unpin_user_pages() - unpin what a walk that met a fork has pinned */
void gup_fast_unpin_user_pages(struct page **pages, unsigned long nr_pages);

static inline void sanity_check_pinned_pages(struct page **pages,
					     unsigned long nr_pages)
{
	/*
	 * inv_O5: what is pinned and anonymous is exclusive, by the page's own
	 * bit or, while one PMD leaf maps the folio, by its head's.
	 */
	for (unsigned long i = 0; DEBUG_BUILD && i < nr_pages; i++) {
		struct folio *folio;

		if (!pages[i] || is_zero_page(pages[i]))
			continue;
		folio = page_folio(pages[i]);
		VM_BUG_ON_FOLIO(folio_test_anon(folio) &&
				!PageAnonExclusive(&folio->page) &&
				!PageAnonExclusive(pages[i]), folio);
	}
}

#endif
