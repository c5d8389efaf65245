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
	return page_folio(pfn_to_page(swp_offset(entry)));
}

#endif
