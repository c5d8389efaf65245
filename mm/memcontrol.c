/* SPDX-License-Identifier: MIT */
/*
 * Memory groups: who pays for the pages of the page cache.
 *
 * Groups are part of the machine and never move, so the id in a folio leads to
 * its group without a lock, long after that was destroyed.
 *
 * Locks: machine->lock, for which groups there are; usage has none.
 *
 * Source: mm/memcontrol.c, mm/page_counter.c
 */
#include "mm/memcontrol.h"

#include "host/errtext.h"
#include "mm/vmscan.h"

#include <errno.h>
#include <inttypes.h>

static bool unused(const struct mem_cgroup *memcg)
{
	return !memcg->online && !atomic64_read(&memcg->usage);
}

int mem_cgroup_create(struct machine *machine, unsigned long max,
		      struct mem_cgroup **out)
{
	struct mem_cgroup *memcg = root_mem_cgroup(machine) + 1;
	struct mem_cgroup *end = machine->memcgs + NR_MEM_CGROUPS;

	spin_lock(&machine->lock);
	while (memcg < end && !unused(memcg))
		memcg++;
	if (memcg < end) {
		WRITE_ONCE(memcg->max, max);
		WRITE_ONCE(memcg->online, true);
	}
	spin_unlock(&machine->lock);
	if (memcg == end)
		return fail(-ENOSPC, "there are %" PRIu64 " memory groups "
			    "already", NR_MEM_CGROUPS, 0, 0);
	*out = memcg;
	return 0;
}

void mem_cgroup_destroy(struct mem_cgroup *memcg)
{
	struct machine *machine = mem_cgroup_machine(memcg);

	BUG_ON(mem_cgroup_is_root(memcg));
	spin_lock(&machine->lock);
	WRITE_ONCE(memcg->online, false);
	spin_unlock(&machine->lock);
}

unsigned long memcg_lru_pages(const struct mem_cgroup *memcg,
			      enum lru_list list)
{
	const struct machine *machine = mem_cgroup_machine(memcg);
	unsigned long nr = 0;

	if (!mem_cgroup_is_root(memcg))
		return (unsigned long)atomic64_read(&memcg->nr_lru[list]);
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		nr += READ_ONCE(machine->zones[z].nr_lru[list]);
	return nr;
}

struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = current->active_memcg;

	current->active_memcg = memcg;
	return old;
}

struct mem_cgroup *get_mem_cgroup_from_current(void)
{
	struct mem_cgroup *memcg = current->active_memcg;

	if (likely(!memcg) || mem_cgroup_machine(memcg) != current->machine)
		return root_mem_cgroup(current->machine);
	return memcg;
}

/* Never above max, not even for a moment: others would be refused for that. */
static bool page_counter_try_charge(struct mem_cgroup *memcg, unsigned long nr)
{
	int64_t usage = atomic64_read(&memcg->usage);

	do {
		if ((u64)usage + nr > READ_ONCE(memcg->max))
			return false;
	} while (!try_cmpxchg(&memcg->usage.counter, &usage,
			      usage + (int64_t)nr));
	return true;
}

static void page_counter_uncharge(struct mem_cgroup *memcg, unsigned long nr)
{
	VM_BUG_ON(atomic64_read(&memcg->usage) < (int64_t)nr);
	atomic64_add(-(int64_t)nr, &memcg->usage);
}

int try_charge(struct mem_cgroup *memcg, gfp_t gfp, unsigned long nr)
{
	int retries = gfp & __GFP_NORETRY ? 1 : MAX_RECLAIM_RETRIES;

	if (should_fail())
		return fail(-ENOMEM, "no charge for %" PRIu64 " pages", nr, 0,
			    0);
	if (mem_cgroup_is_root(memcg))
		return 0;
	do {
		if (page_counter_try_charge(memcg, nr))
			return 0;
	} while ((gfp & __GFP_DIRECT_RECLAIM) && retries-- &&
		 nr <= READ_ONCE(memcg->max) &&
		 try_to_free_mem_cgroup_pages(memcg, nr, gfp));
	return fail(-ENOMEM, "%" PRIu64 " pages more than the %" PRIu64
		    " of group %" PRIu64, nr, READ_ONCE(memcg->max),
		    mem_cgroup_id(memcg));
}

void mem_cgroup_cancel_charge(struct mem_cgroup *memcg, unsigned long nr)
{
	if (!mem_cgroup_is_root(memcg))
		page_counter_uncharge(memcg, nr);
}

int __mem_cgroup_charge(struct folio *folio, gfp_t gfp)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_current();
	int err = try_charge(memcg, gfp, (unsigned long)folio_nr_pages(folio));

	if (!err)
		mem_cgroup_commit_charge(folio, mem_cgroup_id(memcg));
	return err;
}

void mem_cgroup_replace_folio(struct folio *old, struct folio *new)
{
	struct mem_cgroup *memcg = folio_memcg(old);

	if (!memcg || folio_memcg(new))
		return;
	if (!mem_cgroup_is_root(memcg))
		atomic64_add(folio_nr_pages(new), &memcg->usage);
	mem_cgroup_commit_charge(new, old->memcg_id);
}

void __mem_cgroup_uncharge(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	mem_cgroup_cancel_charge(memcg, (unsigned long)folio_nr_pages(folio));
	folio->memcg_id = 0;
}
