/* SPDX-License-Identifier: MIT */
/*
 * What the passes of mm_validate() share.
 */
#ifndef LAB_VALIDATE_INTERNAL_H
#define LAB_VALIDATE_INTERNAL_H

#include "lab/validate.h"
#include "mm/gfp.h"
#include "mm/hugetlb.h"
#include "mm/memcontrol.h"

/* What one frame is found to be; counts are in its folio's head. */
struct tally {
	u32 refs;
	u32 maps;
	u32 page_maps;		/* of this page alone, by PTEs */
	u32 leaf_maps;		/* in the head: by leaves */
	u32 pins;
	u8 batched;
	u8 listed;		/* on LRU lists */
	bool table;
	bool free;		/* first of a block in the zone */
	bool cached;		/* first of a block on a CPU's list */
	bool pooled;		/* head of a free huge page */
	bool active;		/* head of a huge page in use */
	u8 order;		/* of a free block */
};

struct audit {
	struct machine *machine;
	const struct mm_holds *holds;
	struct tally *tally;	/* by frame number */
	int broken;
	/* of the address space that is being walked */
	struct mm_struct *mm;
	int64_t tables;
	int64_t rss;
	u64 reserved[NR_HSTATES];	/* of all address spaces' areas */
	u64 charged[NR_MEM_CGROUPS];	/* pages of folios, by group */
	u64 listed[NR_MEM_CGROUPS][NR_LRU_LISTS]; /* those on LRU lists */
};

/* audit_report() - the first invariant that is broken, and why; see CHECK() */
void __printf(3, 4) audit_report(struct audit *a, enum mm_invariant nr,
				 const char *format, ...);

#define CHECK(a, nr, cond, ...) do {					\
	if (unlikely(!(cond)))						\
		audit_report((a), (nr), __VA_ARGS__);				\
} while (0)

static inline struct tally *tally_of(struct audit *a, const struct folio *folio)
{
	return &a->tally[folio_pfn(folio)];
}

static inline bool frame_valid(const struct audit *a, pf_pfn_t pfn)
{
	return pfn >= RESERVED_PAGES && pfn < a->machine->nr_pages;
}

static inline bool in_cma(struct audit *a, pf_pfn_t pfn)
{
	return a->machine->pageblock_type[pfn >> PAGEBLOCK_ORDER] ==
	       MIGRATE_CMA;
}

/* audit_lists() - tally what is held, and what lists, CPUs and pools have */
void audit_lists(struct audit *a);
/* audit_mm() - tally what the tables of @mm map */
void audit_mm(struct audit *a, struct mm_struct *mm);

#endif
