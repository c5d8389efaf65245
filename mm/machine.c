/* SPDX-License-Identifier: MIT */
/*
 * Making and unmaking a machine.
 */
#include "mm/machine.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/swap.h"

#include <errno.h>
#include <inttypes.h>

#define DEFAULT_CPUS		4
#define DEFAULT_PCP_HIGH	512
#define MEMORY_GRANULE		((u64)PAGE_SIZE << MAX_PAGE_ORDER)

__thread struct task_struct task_self;

static int check_options(const struct machine_options *o)
{
	const u64 most = (MAX_PAGES - RESERVED_PAGES) * (u64)PAGE_SIZE;

	if (!o->memory_bytes || o->memory_bytes % MEMORY_GRANULE)
		return fail(-EINVAL, "memory of %" PRIu64 " bytes is not a "
			    "multiple of 4 MiB", o->memory_bytes, 0, 0);
	if (o->memory_bytes > most)
		return fail(-EINVAL, "memory of %" PRIu64 " bytes is more than "
			    "the %" PRIu64 " that one machine can have",
			    o->memory_bytes, most, 0);
	if (o->nr_cpus > MAX_CPUS)
		return fail(-EINVAL, "%" PRIu64 " CPUs are more than %" PRIu64,
			    o->nr_cpus, MAX_CPUS, 0);
	if ((o->thp_always | o->thp_madvise) & ~(BIT(HPAGE_PMD_ORDER + 1) - 4))
		return fail(-EINVAL, "THP orders are 2 to 9, not mask %#"
			    PRIx64, o->thp_always | o->thp_madvise, 0, 0);
	return 0;
}

static void init_cpu(struct cpu_slot *cpu)
{
	spin_lock_init(&cpu->lock, RANK_PCP);
	for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
		for (unsigned int type = 0; type < MIGRATE_TYPES; type++)
			INIT_LIST_HEAD(&cpu->free[k][type]);
}

static void init_zone(struct zone *zone)
{
	spin_lock_init(&zone->lock, RANK_ZONE);
	spin_lock_init(&zone->lru_lock, RANK_LRU);
	for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
		for (unsigned int type = 0; type < MIGRATE_TYPES; type++)
			INIT_LIST_HEAD(&zone->free_area[k].free_list[type]);
	for (unsigned int i = 0; i < NR_LRU_LISTS; i++)
		INIT_LIST_HEAD(&zone->lru[i]);
}

static void init_machine(struct machine *m, const struct machine_options *o)
{
	m->metadata_only = o->metadata_only;
	m->nr_cpus = o->nr_cpus ? o->nr_cpus : DEFAULT_CPUS;
	m->pcp_high = o->pcp_high ? o->pcp_high : DEFAULT_PCP_HIGH;
	m->thp_always = o->thp_always;
	m->thp_madvise = o->thp_madvise;
	m->use_huge_zero = !o->no_huge_zero;
	spin_lock_init(&m->lock, RANK_MACHINE);
	INIT_LIST_HEAD(&m->mm_list);
	for (unsigned int i = 0; i < FOLIO_WAIT_QUEUES; i++)
		wait_queue_init(&m->folio_wait[i]);
	init_zone(&m->zones[ZONE_NORMAL]);
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		init_cpu(&m->cpus[i]);
}

static void release_machine(struct machine *m, char *arena, size_t arena_bytes,
			    size_t memmap_bytes)
{
	kfree(m->pageblock_type);
	host_release(arena, arena_bytes);
	host_release(m, memmap_bytes);
}

int machine_create(const struct machine_options *options, struct machine **out)
{
	const size_t hole = RESERVED_PAGES << PAGE_SHIFT;
	unsigned long nr_pages;
	size_t memmap_bytes, arena_bytes;
	struct machine *m, *previous;
	char *arena;
	int err;

	err = check_options(options);
	if (err)
		return err;
	nr_pages = RESERVED_PAGES + (options->memory_bytes >> PAGE_SHIFT);
	memmap_bytes = nr_pages * sizeof(struct page);
	arena_bytes = nr_pages << PAGE_SHIFT;
	m = host_reserve(memmap_bytes, MEMMAP_ALIGN);
	if (!m)
		return fail(-ENOMEM, "no address space for the %" PRIu64
			    " bytes of a memmap", memmap_bytes, 0, 0);
	arena = host_reserve(arena_bytes, HPAGE_PMD_SIZE);
	err = arena ? host_commit(m, memmap_bytes, true, true) : -ENOMEM;
	/*
	 * A metadata-only arena holds page tables alone, a few frames here and
	 * there: huge pages would take 2 MiB of the host for each.
	 */
	if (!err)
		err = host_commit(arena + hole, arena_bytes - hole,
				  !options->metadata_only, true);
	if (err) {
		host_release(arena, arena_bytes);
		host_release(m, memmap_bytes);
		return fail(err, "no address space for the %" PRIu64
			    " bytes of an arena", arena_bytes, 0, 0);
	}
	m->arena = arena;
	m->arena_bytes = arena_bytes;
	m->memmap_bytes = memmap_bytes;
	m->nr_pages = nr_pages;
	init_machine(m, options);
	if (options->touch && !options->metadata_only)
		host_touch(arena + hole, arena_bytes - hole);
	m->pageblock_type = kzalloc(nr_pages >> PAGEBLOCK_ORDER);
	if (!m->pageblock_type)
		goto err_release;
	page_alloc_init(m);
	previous = machine_enter(m);
	m->zero_page = alloc_pages(GFP_KERNEL | __GFP_ZERO, 0);
	machine_leave(previous);
	if (!m->zero_page)
		goto err_release;
	m->zero_page->flags = BIT(PG_reserved);
	*out = m;
	return 0;

err_release:
	release_machine(m, arena, arena_bytes, memmap_bytes);
	return fail(-ENOMEM, "no memory for a machine of %" PRIu64 " bytes",
		    options->memory_bytes, 0, 0);
}

void machine_destroy(struct machine *machine)
{
	rcu_barrier();
	BUG_ON(!list_empty(&machine->mm_list));
	release_machine(machine, machine->arena, machine->arena_bytes,
			machine->memmap_bytes);
}

struct cpu_slot *choose_cpu(struct machine *machine)
{
	current->cpu = word_add(&machine->next_cpu, 1) % machine->nr_cpus + 1;
	return &machine->cpus[current->cpu - 1];
}

void task_flush_counters(void)
{
	struct cpu_slot *cpu = this_cpu(current->machine);

	atomic64_add(current->pins_acquired, &cpu->pin_acquired);
	atomic64_add(current->pins_released, &cpu->pin_released);
	current->pins_acquired = 0;
	current->pins_released = 0;
}

u64 nr_foll_pin_acquired(struct machine *machine)
{
	u64 sum = current->machine == machine ? current->pins_acquired : 0;

	for (unsigned int i = 0; i < machine->nr_cpus; i++)
		sum += atomic64_read(&machine->cpus[i].pin_acquired);
	return sum;
}

u64 nr_foll_pin_released(struct machine *machine)
{
	u64 sum = current->machine == machine ? current->pins_released : 0;

	for (unsigned int i = 0; i < machine->nr_cpus; i++)
		sum += atomic64_read(&machine->cpus[i].pin_released);
	return sum;
}
