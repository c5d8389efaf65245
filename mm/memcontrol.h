/* SPDX-License-Identifier: MIT */
/*
 * Memory groups: who pays for the pages of the page cache.
 *
 * A thread charges what it adds to the group that set_active_memcg() named, or
 * to the root.  The folio remembers who paid, and pays it back when it is freed,
 * wherever it has been since.
 *
 * Invariants; lab/validate.c counts them again
 * 1. usage of a group is the pages of the living folios with its id, and what
 *    is being charged at the moment.
 * 2. usage is raised to max at most, but by replacing.
 *
 * Source: include/linux/memcontrol.h, mm/memcontrol.c
 * Differs: only folios of page caches are charged, not anonymous memory nor page
 *          tables; there is one level below the root; usage is exact, as there
 *          are no per-CPU stocks.
 */
#ifndef MM_MEMCONTROL_H
#define MM_MEMCONTROL_H

#include "mm/gfp.h"

#define MEMCG_MAX	(~0UL)	/* no limit */

/*
 * mem_cgroup_create() - a group below the root that may have @max pages
 *
 * Return: 0; -ENOSPC, there are NR_MEM_CGROUPS already.
 * Owner: the caller, who ends with mem_cgroup_destroy().
 */
int __must_check mem_cgroup_create(struct machine *machine, unsigned long max,
				   struct mem_cgroup **out);

/*
 * mem_cgroup_destroy() - nobody is charged to it any more
 *
 * What it has been charged it keeps until those folios are freed; until then its
 * id is not used again.
 * Context: it is no thread's active group.
 */
void mem_cgroup_destroy(struct mem_cgroup *memcg);

static inline struct machine *mem_cgroup_machine(const struct mem_cgroup *memcg)
{
	return (struct machine *)((uintptr_t)memcg & ~(MEMMAP_ALIGN - 1));
}

static inline struct mem_cgroup *root_mem_cgroup(struct machine *machine)
{
	return &machine->memcgs[MEM_CGROUP_ROOT_ID];
}

static inline u16 mem_cgroup_id(const struct mem_cgroup *memcg)
{
	return (u16)(memcg - mem_cgroup_machine(memcg)->memcgs);
}

static inline bool mem_cgroup_is_root(const struct mem_cgroup *memcg)
{
	return mem_cgroup_id(memcg) == MEM_CGROUP_ROOT_ID;
}

/* folio_memcg() - who has paid for it, or NULL */
static inline struct mem_cgroup *folio_memcg(const struct folio *folio)
{
	if (!folio->memcg_id)
		return NULL;
	return &page_machine(&folio->page)->memcgs[folio->memcg_id];
}

/*
 * mem_cgroup_from_id() - the group, or NULL if there is none
 *
 * It may be another one than had the id when that was written down.
 */
static inline struct mem_cgroup *mem_cgroup_from_id(struct machine *machine,
						    u16 id)
{
	if (id >= NR_MEM_CGROUPS || !READ_ONCE(machine->memcgs[id].online))
		return NULL;
	return &machine->memcgs[id];
}

/* memcg_lru_pages() - on one kind of LRU list; the root's are everybody's */
unsigned long memcg_lru_pages(const struct mem_cgroup *memcg,
			      enum lru_list list);

/*
 * set_active_memcg() - what this thread adds from now on @memcg pays for
 * @memcg: of any machine, and counts in that one only; NULL: the root
 *
 * Return: the one before, to be set again.
 * Source: include/linux/sched/mm.h
 */
struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg);

/* get_mem_cgroup_from_current() - who pays for what this thread adds */
struct mem_cgroup *get_mem_cgroup_from_current(void);

/*
 * try_charge() - reserve @nr pages of @memcg's
 *
 * Return: 0; -ENOMEM, it would have more than its max, even after some of its
 * pages were reclaimed, if @gfp allows that; or a test wants that.
 * Owner: the caller, who gives each page to a folio by
 * mem_cgroup_commit_charge(), or back by mem_cgroup_cancel_charge().
 */
int __must_check try_charge(struct mem_cgroup *memcg, gfp_t gfp,
			    unsigned long nr);
void mem_cgroup_cancel_charge(struct mem_cgroup *memcg, unsigned long nr);

/* mem_cgroup_commit_charge() - Context: nobody else sees the folio yet. */
static inline void mem_cgroup_commit_charge(struct folio *folio, u16 id)
{
	VM_BUG_ON_FOLIO(folio->memcg_id, folio);
	folio->memcg_id = id;
}

/*
 * mem_cgroup_uncommit_charge() - take it back to where try_charge() has left it
 *
 * Context: the folio was not added after all, and nobody sees it.
 */
static inline void mem_cgroup_uncommit_charge(struct folio *folio)
{
	folio->memcg_id = 0;
}

int __must_check __mem_cgroup_charge(struct folio *folio, gfp_t gfp);

/*
 * mem_cgroup_charge() - let the current group pay for a folio
 *
 * Return: as try_charge().
 * Context: the folio is new; may sleep if @gfp lets it reclaim.
 */
static inline int __must_check mem_cgroup_charge(struct folio *folio, gfp_t gfp)
{
	if (unlikely(current->active_memcg || current->fail_nth))
		return __mem_cgroup_charge(folio, gfp);
	/* Of the root nothing is counted. */
	mem_cgroup_commit_charge(folio, MEM_CGROUP_ROOT_ID);
	return 0;
}

/*
 * mem_cgroup_replace_folio() - who has paid for @old pays for @new
 *
 * It cannot be refused: the group may have more than its max until @old is freed.
 */
void mem_cgroup_replace_folio(struct folio *old, struct folio *new);

void __mem_cgroup_uncharge(struct folio *folio);

/* mem_cgroup_uncharge() - pay back; a folio that nobody paid for is fine */
static inline void mem_cgroup_uncharge(struct folio *folio)
{
	if (folio->memcg_id)
		__mem_cgroup_uncharge(folio);
}

#endif
