/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: ageing the lists of file folios, and removing victims.
 *
 * 1. A victim is isolated, locked and found unused; then its count is frozen
 *    under xa_lock.  From there on nobody can get it, and it is looked at once
 *    more: who has made it dirty had a reference when he did.
 * 2. Reclaim waits for nothing: its caller may have locked what it meets.
 *
 * Locks: lru_lock, for 32 folios at a time; folio lock and xa_lock of one victim,
 * the first by trylock.
 *
 * Source: mm/vmscan.c
 */
#include "mm/vmscan.h"

#include "mm/fs.h"
#include "mm/memcontrol.h"
#include "mm/swap.h"
#include "mm/workingset.h"

#define SWAP_CLUSTER_MAX	32UL
#define DEF_PRIORITY		12

struct scan_control {
	unsigned long nr_to_reclaim;
	unsigned long nr_reclaimed;
	struct mem_cgroup *target_mem_cgroup;	/* NULL: everybody's */
	gfp_t gfp_mask;
	enum zone_type reclaim_idx;		/* and the zones before it */
	unsigned int priority;			/* size >> it is scanned */
};

/* ---- one victim ------------------------------------------------------ */

/*
 * Who evicts leaves a shadow; not in a mapping whose last truncation has begun,
 * as nobody would take that away again.
 *
 * Return: true if it is gone, its count 0.
 */
static bool __remove_mapping(struct address_space *mapping,
			     struct folio *folio, bool reclaimed,
			     struct mem_cgroup *target)
{
	const struct address_space_operations *a_ops = mapping->a_ops;
	const int refs = (int)folio_nr_pages(folio) + 1;
	void *shadow = NULL;

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	VM_BUG_ON_FOLIO(folio->mapping != mapping, folio);
	xa_lock(&mapping->i_pages);
	if (!folio_ref_freeze(folio, refs)) {
		xa_unlock(&mapping->i_pages);
		return false;
	}
	/* After the count: who made it dirty had a reference then. */
	if (folio_test_dirty(folio)) {
		folio_ref_unfreeze(folio, refs);
		xa_unlock(&mapping->i_pages);
		return false;
	}
	if (reclaimed && !mapping_exiting(mapping))
		shadow = workingset_eviction(folio, target);
	__filemap_remove_folio(folio, shadow);
	/* That may have been its last folio: it can go away from here on. */
	xa_unlock(&mapping->i_pages);
	if (a_ops && a_ops->free_folio)
		a_ops->free_folio(folio);
	return true;
}

long remove_mapping(struct address_space *mapping, struct folio *folio)
{
	if (!__remove_mapping(mapping, folio, false, NULL))
		return 0;
	folio_ref_unfreeze(folio, 1);
	return folio_nr_pages(folio);
}

/* A callback of the owner's may want locks that the caller has. */
static bool may_enter_fs(const struct address_space *mapping, gfp_t gfp)
{
	return (gfp & __GFP_FS) || !mapping->a_ops ||
	       !mapping->a_ops->free_folio;
}

static bool can_reclaim(struct folio *folio, const struct scan_control *sc)
{
	const struct address_space *mapping = folio_mapping(folio);

	return mapping && !mapping_keeps_values(mapping) &&
	       !folio_test_dirty(folio) && !folio_test_writeback(folio) &&
	       !folio_maybe_dma_pinned(folio) &&
	       may_enter_fs(mapping, sc->gfp_mask);
}

/* It is on no list, and nobody can find it. */
static void free_victim(struct zone *zone, struct folio *folio)
{
	spin_lock(&zone->lru_lock);
	zone->nr_isolated -= (unsigned long)folio_nr_pages(folio);
	spin_unlock(&zone->lru_lock);
	mem_cgroup_uncharge(folio);
	free_folio_frames(folio);
}

/*
 * Nothing maps it any more, unless somebody used an entry since the last look.
 * A dirty entry makes it dirty, so that is asked again afterwards.
 */
static bool can_unmap(struct folio *folio)
{
	return !folio_mapped(folio) ||
	       (!folio_referenced(folio) && try_to_unmap(folio, TTU_TRYLOCK));
}

static bool shrink_folio(struct zone *zone, struct folio *folio,
			 struct scan_control *sc)
{
	bool gone;

	if (!folio_trylock(folio))
		return false;
	gone = can_reclaim(folio, sc) && can_unmap(folio) &&
	       __remove_mapping(folio->mapping, folio, true,
				sc->target_mem_cgroup);
	/* Who waits has a reference, so of a victim nobody does. */
	folio_unlock(folio);
	if (!gone)
		return false;
	sc->nr_reclaimed += (unsigned long)folio_nr_pages(folio);
	free_victim(zone, folio);
	return true;
}

/* ---- lists ----------------------------------------------------------- */

/*
 * Take folios off the tail, each with a reference; in @dst the oldest comes first.
 *
 * Return: how many pages were looked at.
 */
static unsigned long isolate_lru_folios(struct zone *zone, enum lru_list list,
					unsigned long nr_to_scan,
					struct list_head *dst,
					const struct scan_control *sc)
{
	struct list_head *head = &zone->lru[list], *at, *next;
	unsigned long scanned = 0;

	spin_lock(&zone->lru_lock);
	for (at = head->prev; at != head && scanned < nr_to_scan; at = next) {
		struct folio *folio = list_entry(at, struct folio, lru);

		next = at->prev;
		if (sc->target_mem_cgroup &&
		    folio_memcg(folio) != sc->target_mem_cgroup)
			continue;
		scanned += (unsigned long)folio_nr_pages(folio);
		/* One that is being freed takes itself off the list. */
		if (!folio_try_get(folio))
			continue;
		lru_isolate(zone, folio);
		list_add_tail(&folio->lru, dst);
	}
	spin_unlock(&zone->lru_lock);
	return scanned;
}

static void shrink_inactive_list(struct zone *zone, unsigned long nr,
				 struct scan_control *sc)
{
	LIST_HEAD(victims);
	struct folio *folio, *next;

	isolate_lru_folios(zone, LRU_INACTIVE_FILE, nr, &victims, sc);
	list_for_each_entry_safe(folio, next, &victims, lru) {
		list_del(&folio->lru);
		if (!shrink_folio(zone, folio, sc))
			folio_putback_lru(folio);
	}
}

/* What has been active says so in its shadow, should it ever leave one. */
static void shrink_active_list(struct zone *zone, unsigned long nr,
			       struct scan_control *sc)
{
	LIST_HEAD(old);
	struct folio *folio, *next;

	isolate_lru_folios(zone, LRU_ACTIVE_FILE, nr, &old, sc);
	list_for_each_entry_safe(folio, next, &old, lru) {
		list_del(&folio->lru);
		folio_clear_active(folio);
		folio_set_workingset(folio);
		folio_putback_lru(folio);
	}
}

static unsigned long list_pages(const struct zone *zone, enum lru_list list,
				const struct scan_control *sc)
{
	unsigned long nr = READ_ONCE(zone->nr_lru[list]);

	if (!sc->target_mem_cgroup)
		return nr;
	return min(nr, memcg_lru_pages(sc->target_mem_cgroup, list));
}

/* The larger the memory, the smaller the part of it that is inactive. */
static bool inactive_is_low(const struct zone *zone,
			    const struct scan_control *sc)
{
	unsigned long inactive = list_pages(zone, LRU_INACTIVE_FILE, sc);
	unsigned long active = list_pages(zone, LRU_ACTIVE_FILE, sc);
	unsigned long gb = (inactive + active) >> (30 - PAGE_SHIFT);
	unsigned long ratio = 1;

	while ((ratio + 1) * (ratio + 1) <= 10 * gb)
		ratio++;
	return inactive * ratio < active;
}

static void shrink_lists(struct zone *zone, struct scan_control *sc)
{
	unsigned long inactive = list_pages(zone, LRU_INACTIVE_FILE, sc) >>
				 sc->priority;
	unsigned long active = list_pages(zone, LRU_ACTIVE_FILE, sc) >>
			       sc->priority;

	while (inactive || active) {
		unsigned long nr = min(active, SWAP_CLUSTER_MAX);

		if (nr && inactive_is_low(zone, sc))
			shrink_active_list(zone, nr, sc);
		active -= nr;
		nr = min(inactive, SWAP_CLUSTER_MAX);
		if (nr)
			shrink_inactive_list(zone, nr, sc);
		inactive -= nr;
		if (sc->nr_reclaimed >= sc->nr_to_reclaim)
			return;
		cond_resched();
	}
}

/* ---- all of it ------------------------------------------------------- */

static unsigned long do_try_to_free_pages(struct machine *machine,
					  struct scan_control *sc)
{
	might_sleep();
	/* What waits in a batch has a reference from that. */
	lru_add_drain_all(machine);
	for (sc->priority = DEF_PRIORITY; sc->nr_reclaimed < sc->nr_to_reclaim;
	     sc->priority--) {
		for (int z = 0; z <= (int)sc->reclaim_idx; z++)
			shrink_lists(&machine->zones[z], sc);
		if (!sc->priority)
			break;
	}
	shrink_shadow_nodes(machine, count_shadow_nodes(machine));
	return sc->nr_reclaimed;
}

unsigned long try_to_free_pages(struct machine *machine, unsigned int order,
				gfp_t gfp)
{
	struct scan_control sc = {
		.nr_to_reclaim = max(SWAP_CLUSTER_MAX, 1UL << order),
		.gfp_mask = gfp,
		.reclaim_idx = gfp & __GFP_MOVABLE ? ZONE_MOVABLE :
						     ZONE_NORMAL,
	};

	return do_try_to_free_pages(machine, &sc);
}

unsigned long try_to_free_mem_cgroup_pages(struct mem_cgroup *memcg,
					   unsigned long nr_pages, gfp_t gfp)
{
	struct scan_control sc = {
		.nr_to_reclaim = max(SWAP_CLUSTER_MAX, nr_pages),
		.target_mem_cgroup = memcg,
		.gfp_mask = gfp,
		.reclaim_idx = ZONE_MOVABLE,
	};

	return do_try_to_free_pages(mem_cgroup_machine(memcg), &sc);
}
