/* SPDX-License-Identifier: MIT */
/*
 * The first pass of mm_validate(): what is held, locked and listed, and what is
 * free.
 */
#include "lab/validate_internal.h"

#include "lab/validate_cache.h"
#include "mm/gup.h"
#include "mm/rmap.h"
#include "mm/swap.h"

#include <inttypes.h>

static void tally_holds(struct audit *a)
{
	const struct mm_holds *h = a->holds;
	u64 acquired = nr_foll_pin_acquired(a->machine);
	u64 released = nr_foll_pin_released(a->machine);
	u64 counted = 0;

	for (unsigned long i = 0; h && i < h->nr_gets; i++)
		tally_of(a, page_folio(h->gets[i]))->refs++;
	for (unsigned long i = 0; h && i < h->nr_pins; i++) {
		struct folio *folio = page_folio(h->pins[i]);
		struct tally *t = tally_of(a, folio);
		const bool large = folio_test_large(folio);

		if (is_zero_folio(folio))
			continue;
		counted++;
		t->pins++;
		t->refs += large ? 1 : GUP_PIN_COUNTING_BIAS;
		CHECK(a, MM_EXCLUSIVE, !folio_test_anon(folio) ||
		      PageAnonExclusive(h->pins[i]) ||
		      (large && PageAnonExclusive(&folio->page)),
		      "pinned pfn %" PRIu64 " is not exclusive",
		      page_to_pfn(h->pins[i]));
	}
	CHECK(a, MM_PINS, acquired - released == counted, "%" PRIu64
	      " pins acquired, %" PRIu64 " released, %" PRIu64 " held",
	      acquired, released, counted);
}

static void check_locks(struct audit *a)
{
	struct machine *m = a->machine;
	struct mm_struct *mm;

	CHECK(a, MM_LOCKED, !m->lock.word && !m->workingset.lock.word,
	      "the machine is locked");
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		CHECK(a, MM_LOCKED, !m->zones[z].lock.word &&
		      !m->zones[z].lru_lock.word && !m->zones[z].nr_isolated,
		      "zone %u is locked, or %lu of its pages are isolated", z,
		      m->zones[z].nr_isolated);
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		CHECK(a, MM_LOCKED, !m->hstates[i].lock.word,
		      "a pool is locked");
	for (unsigned int i = 0; i < HUGETLB_FAULT_LOCKS; i++)
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&m->hugetlb_fault[i]),
		      "a place of huge pages is locked");
	for (unsigned int i = 0; i < m->nr_cpus; i++)
		CHECK(a, MM_LOCKED, !m->cpus[i].lock.word, "CPU %u is locked",
		      i);
	list_for_each_entry(mm, &m->mm_list, machine_list)
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&mm->mmap_lock) &&
		      !rwsem_is_locked(&mm->anon_vma->rwsem) &&
		      !mm->page_table_lock.word, "an mm is locked");
}

static void tally_lru_list(struct audit *a, struct zone *zone,
			   enum lru_list list)
{
	unsigned long nr = 0;
	struct folio *folio;

	list_for_each_entry(folio, &zone->lru[list], lru) {
		enum lru_list its = folio_test_swapbacked(folio) ?
				    LRU_INACTIVE_ANON : LRU_INACTIVE_FILE;

		tally_of(a, folio)->listed++;
		nr += folio_nr_pages(folio);
		a->listed[folio->memcg_id % NR_MEM_CGROUPS][list] +=
			(u64)folio_nr_pages(folio);
		CHECK(a, MM_LRU, its + folio_test_active(folio) == list &&
		      page_zone(&folio->page) == zone, "pfn %" PRIu64
		      " is on LRU list %d", folio_pfn(folio), list);
	}
	CHECK(a, MM_LRU, nr == zone->nr_lru[list],
	      "%lu pages on LRU list %d, which says %lu", nr, list,
	      zone->nr_lru[list]);
}

static void tally_lru(struct audit *a)
{
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		for (int list = 0; list < NR_LRU_LISTS; list++)
			tally_lru_list(a, &a->machine->zones[z], list);
	for (unsigned int i = 0; i < a->machine->nr_cpus; i++) {
		struct cpu_slot *cpu = &a->machine->cpus[i];

		for (unsigned int k = 0; k < cpu->nr_lru_add; k++) {
			struct tally *t = tally_of(a, cpu->lru_add[k]);

			t->batched++;
			t->refs++;
		}
	}
}

static void tally_cached(void *arg, struct folio *folio)
{
	struct audit *a = arg;

	tally_of(a, folio)->refs += (u32)folio_nr_pages(folio);
}

static void tally_caches(struct audit *a)
{
	CHECK(a, MM_CACHE, cache_validate(a->machine, tally_cached, a),
	      "a page cache is wrong");
}

static bool in_zone(const struct zone *zone, pf_pfn_t pfn)
{
	return pfn >= zone->start_pfn && pfn < zone->end_pfn;
}

/* A free block of CMA lies in CMA, whole; one that is none, outside. */
static bool block_fits_type(struct audit *a, pf_pfn_t pfn, unsigned int order,
			    unsigned int type)
{
	for (pf_pfn_t at = pfn; at < pfn + (1UL << order);
	     at += PAGEBLOCK_PAGES)
		if (in_cma(a, at) != (type == MIGRATE_CMA))
			return false;
	return true;
}

/* The buddy, if it is free too and the two should be one block. */
static bool unmerged(struct audit *a, struct zone *zone, pf_pfn_t pfn,
		     unsigned int order)
{
	pf_pfn_t buddy_pfn = pfn ^ (1UL << order);
	struct page *buddy;

	if (order >= MAX_PAGE_ORDER || !in_zone(zone, buddy_pfn) ||
	    in_cma(a, pfn) != in_cma(a, buddy_pfn))
		return false;
	buddy = machine_page(a->machine, buddy_pfn);
	return test_bit(PG_buddy, &buddy->flags) && buddy->order == order;
}

static void tally_zone_list(struct audit *a, struct zone *zone,
			    unsigned int order, unsigned int type,
			    unsigned long *blocks)
{
	struct page *page;

	list_for_each_entry(page, &zone->free_area[order].free_list[type],
			    lru) {
		pf_pfn_t pfn = page_to_pfn(page);

		++*blocks;
		a->tally[pfn].free = true;
		a->tally[pfn].order = order;
		CHECK(a, MM_FREE_LISTS, test_bit(PG_buddy, &page->flags) &&
		      page->order == order && page->migratetype == type &&
		      IS_ALIGNED(pfn, 1UL << order) && in_zone(zone, pfn) &&
		      block_fits_type(a, pfn, order, type), "pfn %" PRIu64
		      " is on the list of order %u, type %u", pfn, order, type);
		CHECK(a, MM_BUDDIES, !unmerged(a, zone, pfn, order), "pfn %"
		      PRIu64 " and its buddy are both free, of order %u", pfn,
		      order);
	}
}

static void tally_zone(struct audit *a, struct zone *zone)
{
	unsigned long pages = 0, cma = 0;

	for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++) {
		unsigned long blocks = 0;

		for (unsigned int type = 0; type < MIGRATE_TYPES; type++) {
			unsigned long before = blocks;

			tally_zone_list(a, zone, order, type, &blocks);
			if (type == MIGRATE_CMA)
				cma += (blocks - before) << order;
		}
		CHECK(a, MM_FREE_LISTS, blocks == zone->free_area[order].nr_free,
		      "%lu blocks of order %u, nr_free %lu", blocks, order,
		      zone->free_area[order].nr_free);
		pages += blocks << order;
	}
	CHECK(a, MM_FREE_LISTS, pages == zone->free_pages &&
	      cma == zone->free_cma_pages, "%lu pages in the buddy lists, %lu "
	      "of CMA; the zone says %lu and %lu", pages, cma,
	      zone->free_pages, zone->free_cma_pages);
}

static void tally_zones(struct audit *a)
{
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		tally_zone(a, &a->machine->zones[z]);
}

static void tally_cpu_order(struct audit *a, struct zone *zone,
			    struct per_cpu_pages *pcp, unsigned int order)
{
	unsigned long blocks = 0;
	struct page *page;

	for (unsigned int type = 0; type < MIGRATE_PCPTYPES; type++) {
		list_for_each_entry(page, &pcp->free[order][type], lru) {
			pf_pfn_t pfn = page_to_pfn(page);

			blocks++;
			a->tally[pfn].cached = true;
			a->tally[pfn].order = order;
			CHECK(a, MM_FREE_LISTS, in_zone(zone, pfn) &&
			      (!in_cma(a, pfn) || type == MIGRATE_MOVABLE),
			      "pfn %" PRIu64 " waits among type %u", pfn, type);
		}
	}
	CHECK(a, MM_FREE_LISTS, blocks == pcp->nr_free[order],
	      "%lu blocks of order %u on a CPU, nr_free %lu", blocks, order,
	      pcp->nr_free[order]);
}

static void tally_cpus(struct audit *a)
{
	struct machine *m = a->machine;

	for (unsigned int i = 0; i < m->nr_cpus; i++)
		for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
			for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
				tally_cpu_order(a, &m->zones[z],
						&m->cpus[i].pcp[z], k);
}

static void tally_pool(struct audit *a, struct hstate *h)
{
	unsigned long free = 0, active = 0;
	struct folio *folio;

	list_for_each_entry(folio, &h->freelist, lru) {
		free++;
		tally_of(a, folio)->pooled = true;
		CHECK(a, MM_POOLS, folio_test_hugetlb(folio) &&
		      folio_order(folio) == h->order &&
		      !folio_test_active(folio) && !folio->mapping &&
		      !PageAnonExclusive(&folio->page), "pfn %" PRIu64
		      " is free in a pool of order %u", folio_pfn(folio),
		      h->order);
	}
	list_for_each_entry(folio, &h->active, lru) {
		active++;
		tally_of(a, folio)->active = true;
		CHECK(a, MM_POOLS, folio_test_hugetlb(folio) &&
		      folio_order(folio) == h->order &&
		      folio_test_active(folio), "pfn %" PRIu64
		      " is in use in a pool of order %u", folio_pfn(folio),
		      h->order);
	}
	CHECK(a, MM_POOLS, free == h->free_huge_pages &&
	      free + active == h->nr_huge_pages && h->resv_huge_pages <= free,
	      "%lu pages free and %lu in use; the pool says %lu of %lu, %lu "
	      "reserved", free, active, h->free_huge_pages, h->nr_huge_pages,
	      h->resv_huge_pages);
}

static void tally_pools(struct audit *a)
{
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		tally_pool(a, &a->machine->hstates[i]);
}

void audit_lists(struct audit *a)
{
	check_locks(a);
	tally_holds(a);
	tally_lru(a);
	tally_caches(a);
	tally_zones(a);
	tally_cpus(a);
	tally_pools(a);
}
