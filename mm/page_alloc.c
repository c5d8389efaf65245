/* SPDX-License-Identifier: MIT */
/*
 * The buddy allocator, with pageblocks by mobility and simulated-CPU lists.
 *
 * 1. A free block of order k starts at a multiple of 2^k; its first page has
 *    PG_buddy and the order, and is on free_area[k].free_list[type].
 * 2. Two buddies of one order are never both free in the zone: freeing merges.
 *    Blocks on a CPU's list are not free in that sense and do not merge.
 * 3. Unmovable allocations (page tables) stay in pageblocks of their own while
 *    there are any, so that movable memory stays contiguous.
 * 4. Among equal blocks the lowest address since boot goes first: a fresh
 *    machine hands out ascending frames.
 *
 * Locks: cpu->lock, then zone->lock.
 *
 * Source: mm/page_alloc.c
 * Differs: a CPU list exists for every order (Linux: 0-3 and PMD); no
 *          watermarks, no reclaim.
 */
#include "mm/gfp.h"

#include "mm/swap.h"

#include <stdlib.h>
#include <string.h>

#define PCP_BATCH	63		/* blocks of order 0 moved at once */
#define PAGE_POISON	0xaa

static u8 *pageblock_type_of(struct machine *machine, pf_pfn_t pfn)
{
	return &machine->pageblock_type[pfn >> PAGEBLOCK_ORDER];
}

static void add_to_free_list(struct zone *zone, struct page *page,
			     unsigned int order, unsigned int type, bool tail)
{
	struct free_area *area = &zone->free_area[order];

	WRITE_ONCE(page->flags, BIT(PG_buddy));
	page->order = order;
	page->migratetype = type;
	if (tail)
		list_add_tail(&page->lru, &area->free_list[type]);
	else
		list_add(&page->lru, &area->free_list[type]);
	area->nr_free++;
	zone->free_pages += 1UL << order;
}

static void del_from_free_list(struct zone *zone, struct page *page)
{
	list_del(&page->lru);
	zone->free_area[page->order].nr_free--;
	zone->free_pages -= 1UL << page->order;
	WRITE_ONCE(page->flags, 0);
}

/*
 * The buddy of a free block, if it is a free block of the same order.
 *
 * Whoever owns the buddy may be changing its flags, but PG_buddy comes and goes
 * under zone->lock alone; so flags are stored whole, everywhere.
 */
static struct page *find_buddy(struct machine *machine, pf_pfn_t pfn,
			       unsigned int order)
{
	pf_pfn_t buddy_pfn = pfn ^ (1UL << order);
	struct page *buddy;

	if (buddy_pfn < RESERVED_PAGES || buddy_pfn >= machine->nr_pages)
		return NULL;
	buddy = machine_page(machine, buddy_pfn);
	if (!test_bit(PG_buddy, &buddy->flags) || buddy->order != order)
		return NULL;
	return buddy;
}

static void free_one_block(struct machine *machine, struct zone *zone,
			   struct page *page, unsigned int order)
{
	pf_pfn_t pfn = page_to_pfn(page);

	while (order < MAX_PAGE_ORDER) {
		struct page *buddy = find_buddy(machine, pfn, order);

		if (!buddy)
			break;
		del_from_free_list(zone, buddy);
		pfn &= ~(1UL << order);
		order++;
	}
	add_to_free_list(zone, machine_page(machine, pfn), order,
			 *pageblock_type_of(machine, pfn), false);
}

/* Give the upper halves back until the block has order @low. */
static void expand(struct machine *machine, struct zone *zone,
		   struct page *page, unsigned int low, unsigned int high,
		   unsigned int type)
{
	pf_pfn_t pfn = page_to_pfn(page);

	while (high > low) {
		high--;
		add_to_free_list(zone, machine_page(machine, pfn + (1UL << high)),
				 high, type, false);
	}
}

static struct page *rmqueue_smallest(struct machine *machine,
				     struct zone *zone, unsigned int order,
				     unsigned int type)
{
	for (unsigned int k = order; k < NR_PAGE_ORDERS; k++) {
		struct list_head *list = &zone->free_area[k].free_list[type];
		struct page *page;

		if (list_empty(list))
			continue;
		page = list_first_entry(list, struct page, lru);
		del_from_free_list(zone, page);
		expand(machine, zone, page, order, k, type);
		return page;
	}
	return NULL;
}

/*
 * Take from the other mobility: a whole pageblock where there is one, so that
 * types stay apart, and otherwise whatever fits.
 */
static struct page *rmqueue_fallback(struct machine *machine,
				     struct zone *zone, unsigned int order,
				     unsigned int type)
{
	unsigned int other = type == MIGRATE_MOVABLE ? MIGRATE_UNMOVABLE :
						       MIGRATE_MOVABLE;
	struct page *page;
	pf_pfn_t pfn;

	page = rmqueue_smallest(machine, zone,
				max_t(unsigned int, order, PAGEBLOCK_ORDER),
				other);
	if (!page)
		return rmqueue_smallest(machine, zone, order, other);
	pfn = page_to_pfn(page);
	for (unsigned long n = 0; n < 1UL << order || !n; n += PAGEBLOCK_PAGES)
		*pageblock_type_of(machine, pfn + n) = type;
	if (order < PAGEBLOCK_ORDER)
		expand(machine, zone, page, order, PAGEBLOCK_ORDER, type);
	return page;
}

static struct page *rmqueue(struct machine *machine, struct zone *zone,
			    unsigned int order, unsigned int type)
{
	struct page *page = rmqueue_smallest(machine, zone, order, type);

	return page ? page : rmqueue_fallback(machine, zone, order, type);
}

static void cpu_list_refill(struct machine *machine, struct zone *zone,
			    struct cpu_slot *cpu, unsigned int order,
			    unsigned int type)
{
	unsigned int batch = max(PCP_BATCH >> order, 1);

	spin_lock(&zone->lock);
	while (batch--) {
		struct page *page = rmqueue(machine, zone, order, type);

		if (!page)
			break;
		list_add_tail(&page->lru, &cpu->free[order][type]);
		cpu->nr_free[order]++;
	}
	spin_unlock(&zone->lock);
}

static struct page *cpu_list_take(struct machine *machine, struct zone *zone,
				  struct cpu_slot *cpu, unsigned int order,
				  unsigned int type)
{
	struct list_head *list = &cpu->free[order][type];
	struct page *page = NULL;

	spin_lock(&cpu->lock);
	if (list_empty(list))
		cpu_list_refill(machine, zone, cpu, order, type);
	if (!list_empty(list)) {
		page = list_first_entry(list, struct page, lru);
		list_del(&page->lru);
		cpu->nr_free[order]--;
	}
	spin_unlock(&cpu->lock);
	return page;
}

static void cpu_list_drain_order(struct machine *machine, struct zone *zone,
				 struct cpu_slot *cpu, unsigned int order,
				 unsigned long keep)
{
	spin_lock(&zone->lock);
	for (unsigned int type = 0; type < MIGRATE_TYPES; type++) {
		struct list_head *list = &cpu->free[order][type];

		while (cpu->nr_free[order] > keep && !list_empty(list)) {
			struct page *page =
				list_entry(list->prev, struct page, lru);

			list_del(&page->lru);
			cpu->nr_free[order]--;
			free_one_block(machine, zone, page, order);
		}
	}
	spin_unlock(&zone->lock);
}

void drain_cpu_lists(struct machine *machine, struct cpu_slot *cpu)
{
	struct zone *zone = &machine->zones[ZONE_NORMAL];

	spin_lock(&cpu->lock);
	for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++)
		cpu_list_drain_order(machine, zone, cpu, order, 0);
	spin_unlock(&cpu->lock);
}

void drain_all_cpu_lists(struct machine *machine)
{
	for (unsigned int i = 0; i < machine->nr_cpus; i++)
		drain_cpu_lists(machine, &machine->cpus[i]);
}

/* Debug builds fill freed frames and look for a store at the next use. */
static void poison_frames(struct page *page, unsigned int order)
{
	if (DEBUG_BUILD && !page_machine(page)->metadata_only)
		memset(page_address(page), PAGE_POISON, PAGE_SIZE << order);
}

static void check_poison(struct page *page, unsigned int order)
{
	const u8 *bytes = page_address(page);

	if (!DEBUG_BUILD || page_machine(page)->metadata_only)
		return;
	for (size_t i = 0; i < PAGE_SIZE << order; i += 64)
		BUG_ON(bytes[i] != PAGE_POISON);
}

static void prep_new_block(struct page *page, unsigned int order, gfp_t gfp)
{
	bool compound = order && (gfp & __GFP_COMP);

	check_poison(page, order);
	for (unsigned long i = 0; i < 1UL << order; i++) {
		struct page *p = page + i;

		WRITE_ONCE(p->flags, 0);
		memset((char *)p + sizeof(p->flags), 0,
		       sizeof(*p) - sizeof(p->flags));
		if (compound && i)
			p->compound_head = (unsigned long)page | 1;
	}
	page->order = order;
	if (compound)
		WRITE_ONCE(page->flags, BIT(PG_head));
	if (gfp & __GFP_ZERO)
		memset(page_address(page), 0, PAGE_SIZE << order);
	/* Last: from here on a speculative folio_try_get() may succeed. */
	smp_store_release(&page->_refcount.counter, 1);
}

struct page *alloc_pages(gfp_t gfp, unsigned int order)
{
	struct machine *machine = current->machine;
	struct zone *zone = &machine->zones[ZONE_NORMAL];
	unsigned int type = gfp & __GFP_MOVABLE ? MIGRATE_MOVABLE :
						  MIGRATE_UNMOVABLE;
	struct page *page;

	if (should_fail() || order > MAX_PAGE_ORDER)
		return NULL;
	page = cpu_list_take(machine, zone, this_cpu(machine), order, type);
	if (unlikely(!page)) {
		/* What waits on CPU lists may merge into what we need. */
		drain_all_cpu_lists(machine);
		page = cpu_list_take(machine, zone, this_cpu(machine), order,
				     type);
	}
	if (page)
		prep_new_block(page, order, gfp);
	return page;
}

void __free_pages(struct page *page, unsigned int order)
{
	struct machine *machine = page_machine(page);
	struct cpu_slot *cpu = this_cpu(machine);
	unsigned int type;

	poison_frames(page, order);
	for (unsigned long i = 0; i < 1UL << order; i++) {
		WRITE_ONCE(page[i].flags, 0);
		page[i].compound_head = 0;
		atomic_set(&page[i]._refcount, 0);
	}
	spin_lock(&cpu->lock);
	type = READ_ONCE(*pageblock_type_of(machine, page_to_pfn(page)));
	page->order = order;
	list_add(&page->lru, &cpu->free[order][type]);
	if (++cpu->nr_free[order] > max(machine->pcp_high >> order, 1UL))
		cpu_list_drain_order(machine, page_zone(page), cpu, order,
				     machine->pcp_high >> (order + 1));
	spin_unlock(&cpu->lock);
}

struct folio *folio_alloc(gfp_t gfp, unsigned int order)
{
	return (struct folio *)alloc_pages(gfp | __GFP_COMP, order);
}

void free_folio_frames(struct folio *folio)
{
	VM_BUG_ON_FOLIO(folio_ref_count(folio), folio);
	VM_BUG_ON_FOLIO(folio_mapcount(folio), folio);
	/* inv_O1: a pinned folio is never freed */
	BUG_ON(atomic_read(&folio->_pincount));
	__free_pages(&folio->page, folio_order(folio));
}

unsigned long nr_free_pages(struct machine *machine)
{
	struct zone *zone = &machine->zones[ZONE_NORMAL];
	unsigned long nr;

	spin_lock(&zone->lock);
	nr = zone->free_pages;
	spin_unlock(&zone->lock);
	for (unsigned int i = 0; i < machine->nr_cpus; i++) {
		struct cpu_slot *cpu = &machine->cpus[i];

		spin_lock(&cpu->lock);
		for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
			nr += cpu->nr_free[k] << k;
		spin_unlock(&cpu->lock);
	}
	return nr;
}

void page_alloc_init(struct machine *machine)
{
	struct zone *zone = &machine->zones[ZONE_NORMAL];
	const size_t hole = RESERVED_PAGES << PAGE_SHIFT;

	memset(machine->pageblock_type, MIGRATE_MOVABLE,
	       machine->nr_pages >> PAGEBLOCK_ORDER);
	if (DEBUG_BUILD && !machine->metadata_only)
		memset(machine->arena + hole, PAGE_POISON,
		       machine->arena_bytes - hole);
	/* Memory and the reserved frames are multiples of the largest block. */
	for (pf_pfn_t pfn = RESERVED_PAGES; pfn < machine->nr_pages;
	     pfn += 1UL << MAX_PAGE_ORDER)
		add_to_free_list(zone, machine_page(machine, pfn),
				 MAX_PAGE_ORDER, MIGRATE_MOVABLE, true);
	zone->managed_pages = zone->free_pages;
}

void *kzalloc(size_t bytes)
{
	return should_fail() ? NULL : calloc(1, bytes);
}

void kfree(void *object)
{
	free(object);
}
