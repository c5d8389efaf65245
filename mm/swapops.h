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

/* The software bits of an entry that is not present. */
static inline pte_t pte_swp_clear_uffd_wp(pte_t pte)
{
	return __pte(pte_val(pte) & ~_PAGE_SWP_UFFD_WP);
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

static inline struct folio *pfn_swap_entry_folio(swp_entry_t entry)
{
	return page_folio(pfn_to_page(swp_offset(entry)));
}

#endif
