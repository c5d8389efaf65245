/* SPDX-License-Identifier: MIT */
/*
 * The working set: shadows of evicted folios, and the nodes that hold nothing
 * else.
 *
 * 1. A node is on the list if and only if it has entries, all of them values.
 *    That changes under xa_lock, and with it the list's lock.
 *
 * Locks: xa_lock, then the list's.  Who shrinks the list has to take them the
 * other way round, so he only tries.
 *
 * Source: mm/workingset.c
 */
#include "mm/workingset.h"

#include "mm/filemap.h"

#define WORKINGSET_SHIFT	1
#define MEMCG_ID_SHIFT		16
#define EVICTION_BITS		(64 - 1 - WORKINGSET_SHIFT - MEMCG_ID_SHIFT)
#define EVICTION_MASK		((1UL << EVICTION_BITS) - 1)

/* ---- shadows --------------------------------------------------------- */

static void *pack_shadow(u16 id, unsigned long eviction, bool workingset)
{
	eviction = (eviction & EVICTION_MASK) << MEMCG_ID_SHIFT | id;
	return xa_mk_value(eviction << WORKINGSET_SHIFT | workingset);
}

static void unpack_shadow(void *shadow, u16 *id, unsigned long *eviction,
			  bool *workingset)
{
	unsigned long entry = xa_to_value(shadow);

	*workingset = entry & 1;
	entry >>= WORKINGSET_SHIFT;
	*id = (u16)entry;
	*eviction = entry >> MEMCG_ID_SHIFT;
}

/* The group's clock, and that of the root, whose pages they are as well. */
static void workingset_age_nonresident(struct mem_cgroup *memcg, long nr)
{
	struct machine *machine = mem_cgroup_machine(memcg);

	atomic64_add(nr, &memcg->nonresident_age);
	if (!mem_cgroup_is_root(memcg))
		atomic64_add(nr, &root_mem_cgroup(machine)->nonresident_age);
}

void *workingset_eviction(struct folio *folio, struct mem_cgroup *target)
{
	struct machine *machine = page_machine(&folio->page);
	unsigned long now;

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	VM_BUG_ON_FOLIO(folio_test_lru(folio), folio);
	if (!target)
		target = root_mem_cgroup(machine);
	now = (unsigned long)atomic64_read(&target->nonresident_age);
	workingset_age_nonresident(target, folio_nr_pages(folio));
	return pack_shadow(mem_cgroup_id(target), now,
			   folio_test_workingset(folio));
}

bool workingset_test_recent(struct machine *machine, void *shadow,
			    bool *workingset)
{
	unsigned long eviction, now;
	struct mem_cgroup *memcg;
	u16 id;

	unpack_shadow(shadow, &id, &eviction, workingset);
	memcg = mem_cgroup_from_id(machine, id);
	if (!memcg)
		return false;
	now = (unsigned long)atomic64_read(&memcg->nonresident_age);
	return ((now - eviction) & EVICTION_MASK) <=
	       memcg_lru_pages(memcg, LRU_ACTIVE_FILE);
}

void workingset_refault(struct folio *folio, void *shadow)
{
	struct machine *machine = page_machine(&folio->page);
	struct workingset *ws = &machine->workingset;
	const long nr = folio_nr_pages(folio);
	bool workingset;

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	atomic64_add(nr, &ws->refault);
	if (!workingset_test_recent(machine, shadow, &workingset))
		return;
	folio_set_active(folio);
	if (folio_memcg(folio))
		workingset_age_nonresident(folio_memcg(folio), nr);
	atomic64_add(nr, &ws->activate);
	if (!workingset)
		return;
	folio_set_workingset(folio);
	atomic64_add(nr, &ws->restore);
}

void workingset_activation(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	/* Nobody has paid for anonymous memory, and it leaves no shadows. */
	if (memcg)
		workingset_age_nonresident(memcg, folio_nr_pages(folio));
}

/* ---- nodes ----------------------------------------------------------- */

static struct address_space *node_mapping(const struct xa_node *node)
{
	return container_of(node->array, struct address_space, i_pages);
}

static void count_nodes(struct workingset *ws, long nr)
{
	WRITE_ONCE(ws->nr_shadow_nodes,
		   ws->nr_shadow_nodes + (unsigned long)nr);
}

static void list_del_node(struct workingset *ws, struct xa_node *node)
{
	list_del(&node->private_list);
	INIT_LIST_HEAD(&node->private_list);
	count_nodes(ws, -1);
}

/* Neighbours come and go, but never is a node that is listed its own. */
static bool node_is_listed(const struct xa_node *node)
{
	return READ_ONCE(node->private_list.next) != &node->private_list;
}

void workingset_update_node(struct xa_node *node)
{
	struct workingset *ws = &node_mapping(node)->machine->workingset;
	const bool shadows = node->count && node->count == node->nr_values;

	if (shadows == node_is_listed(node))
		return;
	spin_lock(&ws->lock);
	if (shadows) {
		list_add_tail(&node->private_list, &ws->shadow_nodes);
		count_nodes(ws, 1);
	} else {
		list_del_node(ws, node);
	}
	spin_unlock(&ws->lock);
}

/*
 * Full nodes of shadows for eight times the memory there is are as many as
 * could ever tell anything.
 */
unsigned long count_shadow_nodes(struct machine *machine)
{
	unsigned long nr = READ_ONCE(machine->workingset.nr_shadow_nodes);
	unsigned long most = 0;

	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		most += machine->zones[z].managed_pages;
	most >>= XA_CHUNK_SHIFT - 3;
	return nr > most ? nr - most : 0;
}

/*
 * Return: true if the first node is gone; false if its index is locked, and it is
 * the last now, or if there is none.
 *
 * The mapping is alive while the list's lock is held, as its node is listed, and
 * then while its xa_lock is: who destroys it empties it first.
 */
static bool shrink_first_node(struct machine *machine)
{
	struct workingset *ws = &machine->workingset;
	struct xarray *xa = NULL;
	struct xa_node *node;

	spin_lock(&ws->lock);
	if (!list_empty(&ws->shadow_nodes)) {
		node = list_first_entry(&ws->shadow_nodes, struct xa_node,
					private_list);
		if (xa_trylock(node->array)) {
			xa = node->array;
			list_del_node(ws, node);
		} else {
			list_move_tail(&node->private_list, &ws->shadow_nodes);
		}
	}
	spin_unlock(&ws->lock);
	if (!xa)
		return false;
	VM_BUG_ON(!node->count || node->count != node->nr_values);
	xa_delete_node(node);
	xa_unlock(xa);
	atomic64_add(1, &ws->nodereclaim);
	return true;
}

unsigned long shrink_shadow_nodes(struct machine *machine, unsigned long nr)
{
	unsigned long gone = 0;

	for (; nr; nr--) {
		gone += shrink_first_node(machine);
		cond_resched();
	}
	return gone;
}
