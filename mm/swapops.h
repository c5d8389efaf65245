/* SPDX-License-Identifier: MIT */
/*
 * Entries that are neither none nor present.
 *
 * Types below MAX_SWAPFILES name a swap area, the ones above a reason.
 * Source: include/linux/swap.h, include/linux/swapops.h
 */
#ifndef MM_SWAPOPS_H
#define MM_SWAPOPS_H

#include "mm/folio.h"

enum swap_entry_type {
	MAX_SWAPFILES = 23,
	SWP_HWPOISON = 26,
	SWP_MIGRATION_READ,
	SWP_MIGRATION_READ_EXCLUSIVE,
	SWP_MIGRATION_WRITE,
	SWP_PTE_MARKER,
};

#define PTE_MARKER_UFFD_WP	1
#define PTE_MARKER_POISONED	2

static inline bool is_migration_entry(swp_entry_t entry)
{
	return swp_type(entry) >= SWP_MIGRATION_READ &&
	       swp_type(entry) <= SWP_MIGRATION_WRITE;
}

static inline bool is_hwpoison_entry(swp_entry_t entry)
{
	return swp_type(entry) == SWP_HWPOISON;
}

static inline bool is_pte_marker_entry(swp_entry_t entry)
{
	return swp_type(entry) == SWP_PTE_MARKER;
}

static inline pte_t pte_swp_clear_exclusive(pte_t pte)
{
	return __pte(pte_val(pte) & ~_PAGE_SWP_EXCLUSIVE);
}

/* pte_swp_mkshared() - the page comes back as one that is not exclusive */
static inline pte_t pte_swp_mkshared(pte_t pte)
{
	const u64 bits = _PAGE_SWP_SOFT_DIRTY | _PAGE_SWP_UFFD_WP;
	swp_entry_t entry = pte_to_swp_entry(pte);

	if (!is_migration_entry(entry))
		return pte_swp_clear_exclusive(pte);
	entry = swp_entry(SWP_MIGRATION_READ, swp_offset(entry));
	return __pte(pte_val(swp_entry_to_pte(entry)) | (pte_val(pte) & bits));
}

/*
 * What a migration entry says beside the frame: was the mapping young, was it
 * dirty?  Above any frame number.
 */
#define SWP_PFN_BITS	40
#define SWP_PFN_MASK	(((u64)1 << SWP_PFN_BITS) - 1)
#define SWP_MIG_YOUNG	((u64)1 << SWP_PFN_BITS)
#define SWP_MIG_DIRTY	((u64)1 << (SWP_PFN_BITS + 1))

static inline bool is_writable_migration_entry(swp_entry_t entry)
{
	return swp_type(entry) == SWP_MIGRATION_WRITE;
}

static inline bool is_readable_migration_entry(swp_entry_t entry)
{
	return swp_type(entry) == SWP_MIGRATION_READ;
}

static inline pf_pfn_t swp_offset_pfn(swp_entry_t entry)
{
	return swp_offset(entry) & SWP_PFN_MASK;
}

/*
 * pte_swp_wrprotect() - what write-protecting does to an entry that is not
 * present: a mapping that comes back does so read-only
 *
 * What was writable is exclusive, and stays so.
 */
static inline pte_t pte_swp_wrprotect(pte_t pte)
{
	const u64 bits = _PAGE_SWP_SOFT_DIRTY | _PAGE_SWP_UFFD_WP;
	swp_entry_t entry = pte_to_swp_entry(pte);

	if (!is_writable_migration_entry(entry))
		return pte;
	entry = swp_entry(SWP_MIGRATION_READ_EXCLUSIVE, swp_offset(entry));
	return __pte(pte_val(swp_entry_to_pte(entry)) | (pte_val(pte) & bits));
}

/* pte_swp_uffd_wp_any() - write-protected, whatever kind of entry says so */
static inline bool pte_swp_uffd_wp_any(pte_t pte)
{
	swp_entry_t entry = pte_to_swp_entry(pte);

	return pte_swp_uffd_wp(pte) ||
	       (is_pte_marker_entry(entry) &&
		(swp_offset(entry) & PTE_MARKER_UFFD_WP));
}

static inline struct folio *pfn_swap_entry_folio(swp_entry_t entry)
{
	return page_folio(pfn_to_page(swp_offset_pfn(entry)));
}

/*
 * migration_entry_wait_on_locked() - wait until the folio of a migration entry
 * is unlocked (folio.c)
 *
 * Without a reference, which would be one too many for who migrates or splits:
 * nothing of the folio is touched once @ptl is dropped.
 * Context: @ptl, the lock of the entry, is held; dropped here.
 * Source: mm/filemap.c:migration_entry_wait_on_locked()
 * Differs: may return early; the caller looks at the entry again.
 */
void migration_entry_wait_on_locked(swp_entry_t entry, spinlock_t *ptl);

#endif
