/* SPDX-License-Identifier: MIT */
/*
 * Allocating frames and small objects.
 *
 * Every function here can be made to fail by the calling thread's failure hook
 * (should_fail() in mm/task.h), which is how tests reach each error path.
 *
 * Source: include/linux/gfp.h, mm/page_alloc.c
 */
#ifndef MM_GFP_H
#define MM_GFP_H

#include "mm/folio.h"

typedef unsigned int gfp_t;

#define MAX_RECLAIM_RETRIES 16	/* before an allocation or charge fails */

#define __GFP_MOVABLE	0x01u	/* goes to movable pageblocks */
#define __GFP_ZERO	0x02u	/* zero the bytes */
#define __GFP_COMP	0x04u	/* make a folio of it */
#define __GFP_NOWARN	0x08u
#define __GFP_DIRECT_RECLAIM 0x10u /* the caller may sleep and free memory */
#define __GFP_FS	0x20u	/* and for that enter file systems */
#define __GFP_NORETRY	0x40u	/* but once only */
#define __GFP_WRITE	0x80u	/* the page cache: it will be written */
#define GFP_NOWAIT	0u
#define GFP_NOFS	__GFP_DIRECT_RECLAIM
#define GFP_KERNEL	(__GFP_DIRECT_RECLAIM | __GFP_FS)
#define GFP_USER	GFP_KERNEL
#define GFP_HIGHUSER_MOVABLE	(GFP_USER | __GFP_MOVABLE)
#define GFP_TRANSHUGE_LIGHT	(__GFP_MOVABLE | __GFP_COMP | __GFP_NOWARN)

/*
 * alloc_pages() - allocate 2^@order frames of the current machine
 *
 * Return: the first page, refcount 1; NULL if no block is free, nor after page
 * caches have been shrunk, which @gfp may allow.
 * Owner: the caller, who calls __free_pages() with the same order, or with
 * __GFP_COMP drops the folio's last reference.
 */
struct page *alloc_pages(gfp_t gfp, unsigned int order);
void __free_pages(struct page *page, unsigned int order);

/* folio_alloc() - a folio with refcount 1, or NULL */
struct folio *folio_alloc(gfp_t gfp, unsigned int order);

/*
 * folio_alloc_frozen() - up to @nr small folios, which nobody can get yet
 *
 * Their count is 0, so what is done to them needs no atomics.  Ends with
 * folio_ref_unfreeze(), before they are published or freed.
 *
 * Return: how many; fewer if there are no more.
 */
unsigned int __must_check folio_alloc_frozen(gfp_t gfp, struct folio **folios,
					     unsigned int nr);

/* free_folio_frames() - give the frames of a dead folio back; refcount is 0 */
void free_folio_frames(struct folio *folio);

/* drain_cpu_lists() - move every block that waits on @cpu to the zone */
void drain_cpu_lists(struct machine *machine, struct cpu_slot *cpu);
void drain_all_cpu_lists(struct machine *machine);

/* nr_free_pages() - free frames, those on CPU lists included */
unsigned long nr_free_pages(struct machine *machine);

/*
 * Set up at machine_create(): hand the zones' frames to the buddy allocator, the
 * last @cma_pages of ZONE_NORMAL as a CMA area.
 */
void page_alloc_init(struct machine *machine, unsigned long cma_pages);

/* folio_migratetype() - what its pageblock is for */
static inline enum migratetype folio_migratetype(const struct folio *folio)
{
	const struct machine *machine = page_machine(&folio->page);

	return READ_ONCE(machine->pageblock_type[folio_pfn(folio) >>
						 PAGEBLOCK_ORDER]);
}

/* pageblock_id() - of the folio's head: blocks of descriptors are aligned */
static __always_inline uintptr_t pageblock_id(const struct folio *folio)
{
	return (uintptr_t)folio / (PAGEBLOCK_PAGES * sizeof(struct page));
}

/*
 * folio_is_longterm_pinnable() - may it be pinned without a bound in time?
 *
 * Not in CMA blocks, which somebody else will claim, nor in ZONE_MOVABLE, which
 * may be unplugged.  Source: include/linux/mm.h:folio_is_longterm_pinnable()
 */
static inline bool folio_is_longterm_pinnable(const struct folio *folio)
{
	if (folio_migratetype(folio) == MIGRATE_CMA)
		return false;
	return likely(!is_zone_movable_page(&folio->page)) ||
	       is_zero_folio(folio);
}

/*
 * memalloc_pin_save() - until memalloc_pin_restore(), what this thread allocates
 * may be pinned for long
 */
static inline unsigned int memalloc_pin_save(void)
{
	unsigned int flags = current->flags & TASK_MEMALLOC_PIN;

	current->flags |= TASK_MEMALLOC_PIN;
	return flags;
}

static inline void memalloc_pin_restore(unsigned int flags)
{
	current->flags = (current->flags & ~TASK_MEMALLOC_PIN) | flags;
}

/* Objects of the host's allocator, zeroed or not; NULL on failure. */
void *kzalloc(size_t bytes);
void *kmalloc(size_t bytes);
void kfree(void *object);

#endif
