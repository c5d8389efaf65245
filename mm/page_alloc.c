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
 *          watermarks: memory is reclaimed when none is left, by who wants it.
 */
#include "mm/gfp.h"

#include "host/poison.h"
#include "mm/swap.h"
#include "mm/vmscan.h"

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
	WRITE_ONCE(page->order, order);
	page->migratetype = type;
	if (tail)
		list_add_tail(&page->lru, &area->free_list[type]);
	else
		list_add(&page->lru, &area->free_list[type]);
	area->nr_free++;
	zone->free_pages += 1UL << order;
	if (type == MIGRATE_CMA)
		zone->free_cma_pages += 1UL << order;
}

static void del_from_free_list(struct zone *zone, struct page *page)
{
	list_del(&page->lru);
	zone->free_area[page->order].nr_free--;
	zone->free_pages -= 1UL << page->order;
	if (page->migratetype == MIGRATE_CMA)
		zone->free_cma_pages -= 1UL << page->order;
	WRITE_ONCE(page->flags, 0);
}

/*
 * The buddy of a free block, if it is a free block of the same order.  Where
 * both are whole pageblocks, CMA merges with CMA only: its type is for good.
 *
 * Whoever owns the buddy may be changing its flags, but PG_buddy comes and goes
 * under zone->lock alone; so flags are stored whole, everywhere.
 */
static struct page *find_buddy(struct machine *machine, struct zone *zone,
			       pf_pfn_t pfn, unsigned int order)
{
	pf_pfn_t buddy_pfn = pfn ^ (1UL << order);
	struct page *buddy;

	if (buddy_pfn < zone->start_pfn || buddy_pfn >= zone->end_pfn)
		return NULL;
	buddy = machine_page(machine, buddy_pfn);
	if (!test_bit(PG_buddy, &buddy->flags) || buddy->order != order)
		return NULL;
	if (order >= PAGEBLOCK_ORDER &&
	    (*pageblock_type_of(machine, pfn) == MIGRATE_CMA) !=
	    (*pageblock_type_of(machine, buddy_pfn) == MIGRATE_CMA))
		return NULL;
	return buddy;
}

static void free_one_block(struct machine *machine, struct zone *zone,
			   struct page *page, unsigned int order)
{
	pf_pfn_t pfn = page_to_pfn(page);

	while (order < MAX_PAGE_ORDER) {
		struct page *buddy = find_buddy(machine, zone, pfn, order);

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
		WRITE_ONCE(*pageblock_type_of(machine, pfn + n), type);
	if (order < PAGEBLOCK_ORDER)
		expand(machine, zone, page, order, PAGEBLOCK_ORDER, type);
	return page;
}

/*
 * A block of @type.  Movable memory also lives in CMA areas: first there once
 * more than half of what is free is CMA, so that both run out together.
 * Source: mm/page_alloc.c:__rmqueue()
 */
static struct page *rmqueue(struct machine *machine, struct zone *zone,
			    unsigned int order, unsigned int type)
{
	const bool movable = type == MIGRATE_MOVABLE;
	struct page *page = NULL;

	if (movable && zone->free_cma_pages > zone->free_pages / 2)
		page = rmqueue_smallest(machine, zone, order, MIGRATE_CMA);
	if (!page)
		page = rmqueue_smallest(machine, zone, order, type);
	if (!page && movable)
		page = rmqueue_smallest(machine, zone, order, MIGRATE_CMA);
	return page ? page : rmqueue_fallback(machine, zone, order, type);
}

/*
 * Blocks of @order, ascending, from the smallest block that has any, to the end
 * of @list; what is left of it goes back.  All is as if rmqueue_smallest() had
 * been called for each, but neighbouring descriptors are touched one behind the
 * other, and once.
 *
 * Return: how many, at most @nr.
 */
static unsigned int rmqueue_cut(struct zone *zone, unsigned int order,
				unsigned int type, unsigned int nr,
				struct list_head *list)
{
	for (unsigned int k = order; k < NR_PAGE_ORDERS; k++) {
		struct list_head *free = &zone->free_area[k].free_list[type];
		struct page *page;
		unsigned int cut;

		if (list_empty(free))
			continue;
		page = list_first_entry(free, struct page, lru);
		del_from_free_list(zone, page);
		cut = min(nr, 1U << (k - order));
		for (unsigned int i = 0; i < cut; i++)
			list_add_tail(&page[i << order].lru, list);
		for (unsigned int at = cut << order, part; at < 1U << k;
		     at += 1U << part) {
			part = (unsigned int)__builtin_ctz(at);
			add_to_free_list(zone, page + at, part, type, false);
		}
		return cut;
	}
	return 0;
}

/* At most @nr blocks; one at a time where each has to be chosen anew. */
static unsigned int rmqueue_some(struct machine *machine, struct zone *zone,
				 unsigned int order, unsigned int type,
				 unsigned int nr, struct list_head *list)
{
	struct page *page;
	unsigned int got = 0;

	if (!zone->free_cma_pages)
		got = rmqueue_cut(zone, order, type, nr, list);
	if (got)
		return got;
	page = rmqueue(machine, zone, order, type);
	if (page)
		list_add_tail(&page->lru, list);
	return !!page;
}

static void cpu_list_refill(struct machine *machine, struct zone *zone,
			    struct per_cpu_pages *pcp, unsigned int order,
			    unsigned int type)
{
	unsigned int left = max(PCP_BATCH >> order, 1), got;

	spin_lock(&zone->lock);
	do {
		got = rmqueue_some(machine, zone, order, type, left,
				   &pcp->free[order][type]);
		pcp->nr_free[order] += got;
		left -= got;
	} while (left && got);
	spin_unlock(&zone->lock);
}

static struct page *cpu_list_take(struct machine *machine,
				  enum zone_type zone_type,
				  struct cpu_slot *cpu, unsigned int order,
				  unsigned int type)
{
	struct per_cpu_pages *pcp = &cpu->pcp[zone_type];
	struct list_head *list = &pcp->free[order][type];
	struct page *page = NULL;

	spin_lock(&cpu->lock);
	if (list_empty(list))
		cpu_list_refill(machine, &machine->zones[zone_type], pcp, order,
				type);
	if (!list_empty(list)) {
		page = list_first_entry(list, struct page, lru);
		list_del(&page->lru);
		pcp->nr_free[order]--;
	}
	spin_unlock(&cpu->lock);
	return page;
}

/* As many of @nr single frames as there are, in one hold of the lock. */
static unsigned int cpu_list_take_some(struct machine *machine,
				       enum zone_type zone_type,
				       struct cpu_slot *cpu, unsigned int type,
				       struct folio **folios, unsigned int nr)
{
	struct per_cpu_pages *pcp = &cpu->pcp[zone_type];
	struct list_head *list = &pcp->free[0][type];
	unsigned int got;

	spin_lock(&cpu->lock);
	for (got = 0; got < nr; got++) {
		if (list_empty(list))
			cpu_list_refill(machine, &machine->zones[zone_type],
					pcp, 0, type);
		if (list_empty(list))
			break;
		folios[got] = list_first_entry(list, struct folio, lru);
		list_del(&folios[got]->lru);
		pcp->nr_free[0]--;
	}
	spin_unlock(&cpu->lock);
	return got;
}

static void cpu_list_drain_order(struct machine *machine, struct zone *zone,
				 struct per_cpu_pages *pcp, unsigned int order,
				 unsigned long keep)
{
	spin_lock(&zone->lock);
	for (unsigned int type = 0; type < MIGRATE_PCPTYPES; type++) {
		struct list_head *list = &pcp->free[order][type];

		while (pcp->nr_free[order] > keep && !list_empty(list)) {
			struct page *page =
				list_entry(list->prev, struct page, lru);

			list_del(&page->lru);
			pcp->nr_free[order]--;
			free_one_block(machine, zone, page, order);
		}
	}
	spin_unlock(&zone->lock);
}

void drain_cpu_lists(struct machine *machine, struct cpu_slot *cpu)
{
	spin_lock(&cpu->lock);
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++)
			cpu_list_drain_order(machine, &machine->zones[z],
					     &cpu->pcp[z], order, 0);
	spin_unlock(&cpu->lock);
}

void drain_all_cpu_lists(struct machine *machine)
{
	for (unsigned int i = 0; i < machine->nr_cpus; i++)
		drain_cpu_lists(machine, &machine->cpus[i]);
}

#ifdef PINFOLD_SCHED
#define FILL_POISON	0	/* each access is looked at instead */
#else
#define FILL_POISON	DEBUG_BUILD
#endif

/* Debug builds fill freed frames and look for a store at the next use. */
static void poison_frames(struct page *page, unsigned int order)
{
	host_poison(page_address(page), PAGE_SIZE << order);
	if (FILL_POISON && !page_machine(page)->metadata_only)
		memset(page_address(page), PAGE_POISON, PAGE_SIZE << order);
}

static void check_poison(struct page *page, unsigned int order)
{
	const u8 *bytes = page_address(page);

	host_unpoison(bytes, PAGE_SIZE << order);
	if (!FILL_POISON || page_machine(page)->metadata_only)
		return;
	for (size_t i = 0; i < PAGE_SIZE << order; i += 64)
		BUG_ON(bytes[i] != PAGE_POISON);
}

/*
 * A fresh descriptor; @head: of the folio that it is a tail of, or 0.
 *
 * Who found the frame in an old entry may look at it any time, so what such a
 * look reads is stored whole; the count is 0, and so it turns away again.
 */
static void prep_page(struct page *p, unsigned long head)
{
	VM_BUG_ON(atomic_read(&p->_refcount));
	WRITE_ONCE(p->flags, 0);
	WRITE_ONCE(p->compound_head, head);
	p->lru.prev = NULL;
	WRITE_ONCE(p->mapping, NULL);
	p->index = 0;
	p->private = 0;
	atomic_set(&p->_mapcount, 0);
	atomic_set(&p->_pincount, 0);
	WRITE_ONCE(p->order, 0);
	p->migratetype = 0;
	p->memcg_id = 0;
}

/* All but the count, which stays 0. */
static void prep_frozen_block(struct page *page, unsigned int order, gfp_t gfp)
{
	bool compound = order && (gfp & __GFP_COMP);

	check_poison(page, order);
	for (unsigned long i = 0; i < 1UL << order; i++)
		prep_page(page + i, compound && i ? (unsigned long)page | 1 : 0);
	WRITE_ONCE(page->order, order);
	if (compound)
		WRITE_ONCE(page->flags, BIT(PG_head));
	if (gfp & __GFP_ZERO)
		memset(page_address(page), 0, PAGE_SIZE << order);
}

static void prep_new_block(struct page *page, unsigned int order, gfp_t gfp)
{
	prep_frozen_block(page, order, gfp);
	/* Last: from here on a speculative folio_try_get() may succeed. */
	smp_store_release(&page->_refcount.counter, 1);
}

/* From the zones that @gfp allows, the most restricted one first. */
static struct page *take_from_zones(struct machine *machine, gfp_t gfp,
				    unsigned int order)
{
	const bool movable = gfp & __GFP_MOVABLE;
	struct cpu_slot *cpu = this_cpu(machine);
	struct page *page = NULL;

	if (movable && machine->zones[ZONE_MOVABLE].managed_pages)
		page = cpu_list_take(machine, ZONE_MOVABLE, cpu, order,
				     MIGRATE_MOVABLE);
	if (!page)
		page = cpu_list_take(machine, ZONE_NORMAL, cpu, order,
				     movable ? MIGRATE_MOVABLE :
					       MIGRATE_UNMOVABLE);
	return page;
}

/* What is going to be pinned for long must not lie where it may move. */
static gfp_t context_gfp(gfp_t gfp)
{
	return current->flags & TASK_MEMALLOC_PIN ? gfp & ~__GFP_MOVABLE : gfp;
}

#define PAGE_ALLOC_COSTLY_ORDER	3

/*
 * Nothing is free: reclaim, as long as that gets anywhere.  For a large block
 * once: it takes luck, not more frames.
 */
static struct page *reclaim_and_take(struct machine *machine, gfp_t gfp,
				     unsigned int order)
{
	bool once = (gfp & __GFP_NORETRY) || order > PAGE_ALLOC_COSTLY_ORDER;
	struct page *page = NULL;

	if (!(gfp & __GFP_DIRECT_RECLAIM))
		return NULL;
	for (int n = once ? 1 : MAX_RECLAIM_RETRIES; n && !page; n--) {
		if (!try_to_free_pages(machine, order, gfp))
			break;
		drain_all_cpu_lists(machine);
		page = take_from_zones(machine, gfp, order);
	}
	return page;
}

static struct page *take_block(struct machine *machine, gfp_t gfp,
			       unsigned int order)
{
	struct page *page = take_from_zones(machine, gfp, order);

	if (likely(page))
		return page;
	/* What waits on CPU lists may merge into what we need. */
	drain_all_cpu_lists(machine);
	page = take_from_zones(machine, gfp, order);
	return page ? page : reclaim_and_take(machine, gfp, order);
}

/* Who may sleep holds no spin lock; and what tests want to see. */
static void check_alloc(gfp_t gfp)
{
	if (!DEBUG_BUILD)
		return;
	VM_BUG_ON((gfp & __GFP_DIRECT_RECLAIM) && lockrank_held_spin());
	if (current->alloc_hook)
		current->alloc_hook(gfp);
}

struct page *alloc_pages(gfp_t gfp, unsigned int order)
{
	struct machine *machine = current->machine;
	struct page *page;

	check_alloc(gfp);
	if (should_fail() || order > MAX_PAGE_ORDER)
		return NULL;
	page = take_block(machine, context_gfp(gfp), order);
	if (page)
		prep_new_block(page, order, gfp);
	return page;
}

static void free_frames(struct page *page, unsigned int order)
{
	struct machine *machine = page_machine(page);
	struct zone *zone = page_zone(page);
	struct cpu_slot *cpu = this_cpu(machine);
	struct per_cpu_pages *pcp = &cpu->pcp[zone - machine->zones];
	unsigned int type;

	poison_frames(page, order);
	for (unsigned long i = 0; i < 1UL << order; i++) {
		WRITE_ONCE(page[i].flags, 0);
		WRITE_ONCE(page[i].compound_head, 0);
	}
	spin_lock(&cpu->lock);
	type = READ_ONCE(*pageblock_type_of(machine, page_to_pfn(page)));
	if (type >= MIGRATE_PCPTYPES)
		type = MIGRATE_MOVABLE;
	WRITE_ONCE(page->order, order);
	list_add(&page->lru, &pcp->free[order][type]);
	if (++pcp->nr_free[order] > max(machine->pcp_high >> order, 1UL))
		cpu_list_drain_order(machine, zone, pcp, order,
				     machine->pcp_high >> (order + 1));
	spin_unlock(&cpu->lock);
}

/*
 * A lockless walker that came too late may hold a reference for a moment.  Then
 * it frees the first page when it lets go; the others nobody can hold.
 */
void __free_pages(struct page *page, unsigned int order)
{
	if (put_page_testzero(page)) {
		free_frames(page, order);
		return;
	}
	while (order-- > 0)
		free_frames(page + (1UL << order), order);
}

struct folio *folio_alloc(gfp_t gfp, unsigned int order)
{
	return (struct folio *)alloc_pages(gfp | __GFP_COMP, order);
}

/* From where alloc_pages() looks first; the rest is for that. */
static unsigned int take_some(struct machine *machine, gfp_t gfp,
			      struct folio **folios, unsigned int nr)
{
	const bool movable = gfp & __GFP_MOVABLE;
	const enum zone_type zone =
		movable && machine->zones[ZONE_MOVABLE].managed_pages ?
		ZONE_MOVABLE : ZONE_NORMAL;

	return cpu_list_take_some(machine, zone, this_cpu(machine),
				  movable ? MIGRATE_MOVABLE : MIGRATE_UNMOVABLE,
				  folios, nr);
}

unsigned int folio_alloc_frozen(gfp_t gfp, struct folio **folios,
				unsigned int nr)
{
	struct machine *machine = current->machine;
	unsigned int allowed = 0, got;

	check_alloc(gfp);
	while (allowed < nr && !should_fail())
		allowed++;
	got = take_some(machine, context_gfp(gfp), folios, allowed);
	for (; got < allowed; got++) {
		folios[got] = (struct folio *)take_block(machine,
							 context_gfp(gfp), 0);
		if (!folios[got])
			break;
	}
	for (unsigned int i = 0; i < got; i++)
		prep_frozen_block(&folios[i]->page, 0, gfp);
	return got;
}

void free_folio_frames(struct folio *folio)
{
	VM_BUG_ON_FOLIO(folio_ref_count(folio), folio);
	VM_BUG_ON_FOLIO(folio_mapcount(folio), folio);
	/* inv_O1: a pinned folio is never freed */
	BUG_ON(atomic_read(&folio->_pincount));
	free_frames(&folio->page, folio_order(folio));
}

unsigned long nr_free_pages(struct machine *machine)
{
	unsigned long nr = 0;

	for (unsigned int z = 0; z < MAX_NR_ZONES; z++) {
		spin_lock(&machine->zones[z].lock);
		nr += machine->zones[z].free_pages;
		spin_unlock(&machine->zones[z].lock);
	}
	for (unsigned int i = 0; i < machine->nr_cpus; i++) {
		struct cpu_slot *cpu = &machine->cpus[i];

		spin_lock(&cpu->lock);
		for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
			for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
				nr += cpu->pcp[z].nr_free[k] << k;
		spin_unlock(&cpu->lock);
	}
	return nr;
}

/* All frames of a zone, in the largest blocks, ascending. */
static void init_zone_frames(struct machine *machine, struct zone *zone)
{
	char *frames = machine->arena + (zone->start_pfn << PAGE_SHIFT);
	size_t bytes = (zone->end_pfn - zone->start_pfn) << PAGE_SHIFT;

	host_poison(frames, bytes);
	if (FILL_POISON && !machine->metadata_only)
		memset(frames, PAGE_POISON, bytes);
	for (pf_pfn_t pfn = zone->start_pfn; pfn < zone->end_pfn;
	     pfn += 1UL << MAX_PAGE_ORDER)
		add_to_free_list(zone, machine_page(machine, pfn),
				 MAX_PAGE_ORDER,
				 *pageblock_type_of(machine, pfn), true);
	zone->managed_pages = zone->free_pages;
}

void page_alloc_init(struct machine *machine, unsigned long cma_pages)
{
	struct zone *normal = &machine->zones[ZONE_NORMAL];

	memset(machine->pageblock_type, MIGRATE_MOVABLE,
	       machine->nr_pages >> PAGEBLOCK_ORDER);
	memset(pageblock_type_of(machine, normal->end_pfn - cma_pages),
	       MIGRATE_CMA, cma_pages >> PAGEBLOCK_ORDER);
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		init_zone_frames(machine, &machine->zones[z]);
}

void *kzalloc(size_t bytes)
{
	return should_fail() ? NULL : calloc(1, bytes);
}

void *kmalloc(size_t bytes)
{
	return should_fail() ? NULL : malloc(bytes);
}

void kfree(void *object)
{
	free(object);
}
