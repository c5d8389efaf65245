/* SPDX-License-Identifier: MIT */
/*
 * LRU lists: adding, ageing, draining.
 *
 * Locks: cpu->lock is never held around lru_lock: a full batch is copied out
 * first.
 *
 * Source: mm/swap.c
 */
#include "mm/swap.h"

#include "mm/workingset.h"

#include <string.h>

static enum lru_list folio_lru_list(const struct folio *folio)
{
	enum lru_list list = folio_test_swapbacked(folio) ? LRU_INACTIVE_ANON :
							    LRU_INACTIVE_FILE;

	return folio_test_active(folio) ? list + 1 : list;
}

/* Called with zone->lru_lock held. */
static void update_lru_size(struct zone *zone, struct folio *folio,
			    enum lru_list list, long nr)
{
	WRITE_ONCE(zone->nr_lru[list], zone->nr_lru[list] + (unsigned long)nr);
	if (folio->memcg_id > MEM_CGROUP_ROOT_ID)
		atomic64_add(nr, &folio_memcg(folio)->nr_lru[list]);
}

static void lru_list_add(struct zone *zone, struct folio *folio)
{
	enum lru_list list = folio_lru_list(folio);

	list_add(&folio->lru, &zone->lru[list]);
	update_lru_size(zone, folio, list, folio_nr_pages(folio));
}

static void lru_list_del(struct zone *zone, struct folio *folio)
{
	list_del(&folio->lru);
	update_lru_size(zone, folio, folio_lru_list(folio),
			-folio_nr_pages(folio));
}

/* The list is chosen under the lock that folio_activate() holds too. */
static void folio_to_lru(struct folio *folio)
{
	struct zone *zone = page_zone(&folio->page);

	spin_lock(&zone->lru_lock);
	folio_set_lru(folio);
	lru_list_add(zone, folio);
	spin_unlock(&zone->lru_lock);
}

/* Called with cpu->lock held: empty the CPU's batch into @batch. */
static unsigned int take_batch(struct cpu_slot *cpu, struct folio **batch)
{
	unsigned int nr = cpu->nr_lru_add;

	memcpy(batch, cpu->lru_add, nr * sizeof(batch[0]));
	cpu->nr_lru_add = 0;
	return nr;
}

static void batch_to_lru(struct folio **batch, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		folio_to_lru(batch[i]);
		folio_put(batch[i]);
	}
}

static void lru_add_drain_cpu(struct cpu_slot *cpu)
{
	struct folio *batch[FOLIO_BATCH_SIZE];
	unsigned int nr;

	spin_lock(&cpu->lock);
	nr = take_batch(cpu, batch);
	spin_unlock(&cpu->lock);
	batch_to_lru(batch, nr);
}

void folio_add_lru(struct folio *folio)
{
	struct folio *batch[FOLIO_BATCH_SIZE];
	struct cpu_slot *cpu;
	unsigned int nr = 0;

	if (!folio_may_be_lru_cached(folio)) {
		folio_to_lru(folio);
		return;
	}
	cpu = this_cpu(page_machine(&folio->page));
	folio_get(folio);
	spin_lock(&cpu->lock);
	VM_BUG_ON(cpu->nr_lru_add >= FOLIO_BATCH_SIZE);
	cpu->lru_add[cpu->nr_lru_add++] = folio;
	/* In the same hold: other threads may be on this CPU. */
	if (cpu->nr_lru_add == FOLIO_BATCH_SIZE)
		nr = take_batch(cpu, batch);
	spin_unlock(&cpu->lock);
	batch_to_lru(batch, nr);
}

void lru_add_drain(void)
{
	lru_add_drain_cpu(this_cpu(current->machine));
}

void lru_add_drain_all(struct machine *machine)
{
	for (unsigned int i = 0; i < machine->nr_cpus; i++)
		lru_add_drain_cpu(&machine->cpus[i]);
}

static void folio_activate(struct folio *folio)
{
	struct zone *zone = page_zone(&folio->page);

	spin_lock(&zone->lru_lock);
	if (folio_test_lru(folio) && !folio_test_active(folio)) {
		lru_list_del(zone, folio);
		folio_set_active(folio);
		lru_list_add(zone, folio);
	} else if (!folio_test_lru(folio)) {
		folio_set_active(folio);	/* its list will be the active one */
	}
	spin_unlock(&zone->lru_lock);
}

void folio_mark_accessed(struct folio *folio)
{
	if (!folio_test_referenced(folio)) {
		folio_set_referenced(folio);
	} else if (!folio_test_unevictable(folio) &&
		   !folio_test_active(folio)) {
		folio_activate(folio);
		folio_clear_referenced(folio);
		workingset_activation(folio);
	}
}

void lru_isolate(struct zone *zone, struct folio *folio)
{
	assert_spin_locked(&zone->lru_lock);
	folio_clear_lru(folio);
	lru_list_del(zone, folio);
	zone->nr_isolated += folio_nr_pages(folio);
}

bool folio_isolate_lru(struct folio *folio)
{
	struct zone *zone = page_zone(&folio->page);
	bool isolated = false;

	spin_lock(&zone->lru_lock);
	if (folio_test_lru(folio)) {
		folio_get(folio);
		lru_isolate(zone, folio);
		isolated = true;
	}
	spin_unlock(&zone->lru_lock);
	return isolated;
}

void folio_putback_lru(struct folio *folio)
{
	struct zone *zone = page_zone(&folio->page);

	spin_lock(&zone->lru_lock);
	zone->nr_isolated -= folio_nr_pages(folio);
	folio_set_lru(folio);
	lru_list_add(zone, folio);
	spin_unlock(&zone->lru_lock);
	folio_put(folio);
}

void folio_del_lru(struct folio *folio)
{
	struct zone *zone = page_zone(&folio->page);

	if (!folio_test_lru(folio))
		return;
	spin_lock(&zone->lru_lock);
	folio_clear_lru(folio);
	lru_list_del(zone, folio);
	spin_unlock(&zone->lru_lock);
}

void lru_add_split(struct folio *folio, struct folio *part)
{
	assert_spin_locked(&page_zone(&folio->page)->lru_lock);
	VM_BUG_ON_FOLIO(!folio_test_lru(folio), folio);
	list_add_tail(&part->lru, &folio->lru);
	folio_set_lru(part);
}
