/* SPDX-License-Identifier: MIT */
/*
 * Making and unmaking a machine.
 */
#include "mm/machine.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/hugetlb.h"
#include "mm/memcontrol.h"
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
	if (o->movable_bytes % MEMORY_GRANULE || o->cma_bytes % MEMORY_GRANULE ||
	    o->movable_bytes >= o->memory_bytes ||
	    o->cma_bytes >= o->memory_bytes - o->movable_bytes)
		return fail(-EINVAL, "movable memory of %" PRIu64 " and CMA of %"
			    PRIu64 " bytes are not multiples of 4 MiB inside %"
			    PRIu64, o->movable_bytes, o->cma_bytes,
			    o->memory_bytes);
	if (o->hugetlb_pages[HSTATE_2M] > MAX_PAGES >> HPAGE_PMD_ORDER ||
	    o->hugetlb_pages[HSTATE_1G] > MAX_PAGES >> HPAGE_PUD_ORDER)
		return fail(-EINVAL, "pools of %" PRIu64 " and %" PRIu64
			    " huge pages are more than one machine can have",
			    o->hugetlb_pages[HSTATE_2M],
			    o->hugetlb_pages[HSTATE_1G], 0);
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
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
			for (unsigned int t = 0; t < MIGRATE_PCPTYPES; t++)
				INIT_LIST_HEAD(&cpu->pcp[z].free[k][t]);
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
	init_rwsem(&m->mm_list_sem, RANK_MM_LIST);
	spin_lock_init(&m->lock, RANK_MACHINE);
	INIT_LIST_HEAD(&m->mm_list);
	INIT_LIST_HEAD(&m->mapping_list);
	spin_lock_init(&m->workingset.lock, RANK_SHADOW);
	INIT_LIST_HEAD(&m->workingset.shadow_nodes);
	root_mem_cgroup(m)->online = true;
	root_mem_cgroup(m)->max = MEMCG_MAX;
	for (unsigned int i = 0; i < FOLIO_WAIT_QUEUES; i++) {
		wait_queue_init(&m->folio_wait[i]);
		spin_lock_init(&m->folio_heirs[i].lock, RANK_WAITER);
	}
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		init_zone(&m->zones[z]);
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		init_cpu(&m->cpus[i]);
}

static void release_machine(struct machine *m)
{
	kfree(m->pageblock_type);
	host_release(m->arena, m->arena_bytes);
	host_release(m, m->memmap_bytes);
}

/*
 * Frames from the bottom up; gigantic pages are aligned, so there may be a gap.
 *
 *   0       1024              gigantic            movable       nr_pages
 *   | machine | NORMAL ... CMA | gap | 1 GiB pages | MOVABLE ... |
 */
struct frame_plan {
	pf_pfn_t normal_end, gigantic, movable, end;
};

static struct frame_plan plan_frames(const struct machine_options *o)
{
	const u64 huge = o->hugetlb_pages[HSTATE_2M] << HPAGE_PMD_ORDER;
	const u64 gigantic = o->hugetlb_pages[HSTATE_1G] << HPAGE_PUD_ORDER;
	struct frame_plan p;

	p.normal_end = RESERVED_PAGES +
		((o->memory_bytes - o->movable_bytes) >> PAGE_SHIFT) +
		ALIGN(huge, 1UL << MAX_PAGE_ORDER);
	p.gigantic = gigantic ? ALIGN(p.normal_end, (u64)HPAGE_PUD_NR) :
				p.normal_end;
	p.movable = p.gigantic + gigantic;
	p.end = p.movable + (o->movable_bytes >> PAGE_SHIFT);
	return p;
}

static void set_zones(struct machine *m, const struct frame_plan *p)
{
	m->nr_pages = p->end;
	m->movable_pfn = p->movable;
	m->zones[ZONE_NORMAL].start_pfn = RESERVED_PAGES;
	m->zones[ZONE_NORMAL].end_pfn = p->normal_end;
	m->zones[ZONE_MOVABLE].start_pfn = p->movable;
	m->zones[ZONE_MOVABLE].end_pfn = p->end;
}

/* Address space for descriptors and frames; the machine is in front. */
static int reserve_machine(const struct machine_options *o,
			   const struct frame_plan *p, struct machine **out)
{
	const size_t hole = RESERVED_PAGES << PAGE_SHIFT;
	size_t memmap_bytes = p->end * sizeof(struct page);
	size_t arena_bytes = p->end << PAGE_SHIFT;
	struct machine *m = host_reserve(memmap_bytes, MEMMAP_ALIGN);
	char *arena = m ? host_reserve(arena_bytes, HPAGE_PMD_SIZE) : NULL;
	int err = arena ? host_commit(m, memmap_bytes, true, true) : -ENOMEM;

	/*
	 * A metadata-only arena holds page tables alone, a few frames here and
	 * there: huge pages would take 2 MiB of the host for each.
	 */
	if (!err)
		err = host_commit(arena + hole, arena_bytes - hole,
				  !o->metadata_only, true);
	if (err) {
		host_release(arena, arena_bytes);
		host_release(m, memmap_bytes);
		return fail(err, "no address space for %" PRIu64 " bytes of "
			    "frames and %" PRIu64 " of descriptors",
			    arena_bytes, memmap_bytes, 0);
	}
	m->arena = arena;
	m->arena_bytes = arena_bytes;
	m->memmap_bytes = memmap_bytes;
	*out = m;
	return 0;
}

static void touch_frames(struct machine *m, pf_pfn_t start, pf_pfn_t end)
{
	host_touch(m->arena + (start << PAGE_SHIFT), (end - start) << PAGE_SHIFT);
}

/* What needs the machine's own allocator. */
static int populate_machine(struct machine *m, const struct machine_options *o,
			    const struct frame_plan *p)
{
	struct machine *previous = machine_enter(m);
	int err;

	m->zero_page = alloc_pages(GFP_KERNEL | __GFP_ZERO, 0);
	if (m->zero_page)
		m->zero_page->flags = BIT(PG_reserved);
	err = m->zero_page ? hugetlb_init(m, o, p->gigantic) : -ENOMEM;
	machine_leave(previous);
	return err;
}

int machine_create(const struct machine_options *options, struct machine **out)
{
	struct frame_plan plan;
	struct machine *m;
	int err;

	err = check_options(options);
	if (err)
		return err;
	plan = plan_frames(options);
	if (plan.end > MAX_PAGES)
		return fail(-EINVAL, "%" PRIu64 " frames are more than the %"
			    PRIu64 " that one machine can have", plan.end,
			    MAX_PAGES, 0);
	err = reserve_machine(options, &plan, &m);
	if (err)
		return err;
	set_zones(m, &plan);
	init_machine(m, options);
	if (options->touch && !options->metadata_only) {
		touch_frames(m, RESERVED_PAGES, plan.normal_end);
		touch_frames(m, plan.gigantic, plan.end);
	}
	err = -ENOMEM;
	m->pageblock_type = kzalloc(m->nr_pages >> PAGEBLOCK_ORDER);
	if (m->pageblock_type) {
		page_alloc_init(m, options->cma_bytes >> PAGE_SHIFT);
		err = populate_machine(m, options, &plan);
	}
	if (err) {
		release_machine(m);
		return fail(err, "no memory for a machine of %" PRIu64 " bytes",
			    options->memory_bytes, 0, 0);
	}
	*out = m;
	return 0;
}

/* Of the zero pages, those that nobody else refers to. */
static unsigned long own_pages(const struct machine *machine)
{
	unsigned long nr = folio_ref_count(page_folio(machine->zero_page)) == 1;

	if (machine->huge_zero_folio &&
	    folio_ref_count(machine->huge_zero_folio) == 1)
		nr += HPAGE_PMD_NR;
	return nr;
}

unsigned long nr_used_pages(struct machine *machine)
{
	unsigned long managed = 0;

	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		managed += machine->zones[z].managed_pages;
	for (unsigned int i = 0; i < NR_HSTATES; i++) {
		struct hstate *h = &machine->hstates[i];

		/* A free 1 GiB page is no frame of a zone. */
		managed += i == HSTATE_1G ? h->nr_huge_pages << h->order : 0;
		managed -= h->free_huge_pages << h->order;
	}
	return managed - own_pages(machine) - nr_free_pages(machine);
}

void machine_destroy(struct machine *machine)
{
	rcu_barrier();
	BUG_ON(!list_empty(&machine->mm_list));
	BUG_ON(!list_empty(&machine->mapping_list));
	release_machine(machine);
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
