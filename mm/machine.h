/* SPDX-License-Identifier: MIT */
/*
 * A machine: physical memory and what manages it.
 *
 *  memmap (MEMMAP_ALIGN)             arena (2 MiB)
 *  +-----------------------+         +---------------------------+
 *  | struct machine        |  0      | not accessible            |
 *  |   (RESERVED_PAGES     |         |                           |
 *  |    descriptors long)  |  1023   |                           |
 *  +-----------------------+         +---------------------------+
 *  | struct page           |  1024   | first frame               |
 *  | ...                   |         | ...                       |
 *
 * The descriptors of the first RESERVED_PAGES frames do not exist; the machine
 * stands in their place.  So the machine of a page is one mask away, and frame
 * numbers 0 ... 1023 are never valid, as on a PC.
 *
 * Limit: a memmap block of 4 GiB describes at most 256 GiB (MAX_PAGES).
 */
#ifndef MM_MACHINE_H
#define MM_MACHINE_H

#include "host/arena.h"
#include "mm/mm_types.h"
#include "mm/task.h"

#define NR_PAGE_ORDERS	11
#define MAX_PAGE_ORDER	(NR_PAGE_ORDERS - 1)
#define PAGEBLOCK_ORDER	9
#define PAGEBLOCK_PAGES	(1UL << PAGEBLOCK_ORDER)
#define RESERVED_PAGES	1024UL
#define MAX_PAGES	(MEMMAP_ALIGN / sizeof(struct page))
#define MAX_CPUS	16
#define FOLIO_WAIT_QUEUES 256
#define HUGETLB_FAULT_LOCKS 64

enum zone_type { ZONE_NORMAL, ZONE_MOVABLE, MAX_NR_ZONES };

/* CPU lists know the first two; a CMA block waits there among the movable. */
enum migratetype {
	MIGRATE_UNMOVABLE,
	MIGRATE_MOVABLE,
	MIGRATE_PCPTYPES,
	MIGRATE_CMA = MIGRATE_PCPTYPES,
	MIGRATE_TYPES,
};

/* A pool of hugetlb pages of one size.  Source: include/linux/hugetlb.h */
enum { HSTATE_2M, HSTATE_1G, NR_HSTATES };

struct hstate {
	spinlock_t lock;		/* all below but the order */
	unsigned int order;		/* (C) */
	unsigned long nr_huge_pages;	/* the pool, in use or not */
	unsigned long free_huge_pages;
	unsigned long resv_huge_pages;	/* free ones that areas have a right to */
	struct list_head freelist;
	struct list_head active;	/* in use, and not isolated */
};

enum lru_list {
	LRU_INACTIVE_ANON,
	LRU_ACTIVE_ANON,
	LRU_INACTIVE_FILE,
	LRU_ACTIVE_FILE,
	NR_LRU_LISTS,
};

/*
 * A memory group, mm/memcontrol.h; in the machine for good, so that an id is
 * enough to find it.
 */
#define NR_MEM_CGROUPS	64
#define MEM_CGROUP_ROOT_ID 1		/* 0 is nobody's */

struct mem_cgroup {
	atomic64_t usage;		/* (A) pages; not of the root */
	unsigned long max;		/* (A) pages */
	bool online;			/* (A) machine->lock to write */
	atomic64_t nonresident_age;	/* (A) clock, mm/workingset.h */
	atomic64_t nr_lru[NR_LRU_LISTS]; /* (A) base pages; not of the root */
};

/* What mm/workingset.h keeps. */
struct workingset {
	spinlock_t lock;		/* shadow_nodes */
	struct list_head shadow_nodes;	/* of indices: nothing but shadows */
	unsigned long nr_shadow_nodes;
	atomic64_t refault;		/* pages added where a shadow was */
	atomic64_t activate;		/* those that began as active */
	atomic64_t restore;		/* those that had been of the working set */
	atomic64_t nodereclaim;		/* nodes freed to get memory back */
};

struct free_area {
	struct list_head free_list[MIGRATE_TYPES];
	unsigned long nr_free;		/* blocks of this order, all types */
};

struct zone {
	spinlock_t lock;		/* free_area, pageblock types */
	pf_pfn_t start_pfn, end_pfn;	/* (C) [start, end) */
	struct free_area free_area[NR_PAGE_ORDERS];
	unsigned long free_pages;	/* in the buddy lists */
	unsigned long free_cma_pages;	/* those in CMA blocks */
	unsigned long managed_pages;
	spinlock_t lru_lock;
	struct list_head lru[NR_LRU_LISTS];
	unsigned long nr_lru[NR_LRU_LISTS];	/* base pages */
	unsigned long nr_isolated;	/* base pages off their list, in use */
};

/*
 * Threads of one folio_wait[] that are to be handed the lock of a folio, those
 * that have waited longest first; mm/folio.c
 */
struct folio_heirs {
	spinlock_t lock;
	struct folio_heir *first;	/* (A) lock to write */
};

#define FOLIO_BATCH_SIZE 31

/* Free blocks of one zone that wait on a CPU. */
struct per_cpu_pages {
	struct list_head free[NR_PAGE_ORDERS][MIGRATE_PCPTYPES];
	unsigned long nr_free[NR_PAGE_ORDERS];	/* blocks */
};

/* A simulated CPU.  Others may lock it: "drain all CPUs" means something. */
struct cpu_slot {
	spinlock_t lock;
	struct per_cpu_pages pcp[MAX_NR_ZONES];
	unsigned int nr_lru_add;
	struct folio *lru_add[FOLIO_BATCH_SIZE];
	/* vmstat: nr_foll_pin_acquired, nr_foll_pin_released */
	atomic64_t pin_acquired __attribute__((aligned(64)));
	atomic64_t pin_released;
} __attribute__((aligned(64)));

struct machine {
	char *arena;			/* (C) frame f is at arena + f * 4096 */
	size_t arena_bytes;		/* (C) */
	size_t memmap_bytes;		/* (C) */
	unsigned long nr_pages;		/* (C) frames, the reserved ones included */
	pf_pfn_t movable_pfn;		/* (C) where ZONE_MOVABLE begins */
	bool metadata_only;		/* (C) user bytes are neither kept nor read */
	unsigned int nr_cpus;		/* (C) */
	unsigned long pcp_high;		/* (C) blocks a CPU list may hold */
	unsigned long thp_always;	/* (A) orders for every area, bit = order */
	unsigned long thp_madvise;	/* (A) orders for VM_HUGEPAGE areas */
	bool use_huge_zero;		/* (C) for read faults */
	u8 *pageblock_type;		/* zone->lock, one a pageblock */
	struct zone zones[MAX_NR_ZONES];
	struct hstate hstates[NR_HSTATES];
	struct rw_semaphore hugetlb_fault[HUGETLB_FAULT_LOCKS];
	struct page *zero_page;		/* (C) */
	struct folio *huge_zero_folio;	/* (A) allocated at first use */
	struct wait_queue folio_wait[FOLIO_WAIT_QUEUES];
	struct folio_heirs folio_heirs[FOLIO_WAIT_QUEUES];
	u32 next_cpu;			/* (A) where the next thread goes */
	struct rw_semaphore mm_list_sem; /* for write: an mm leaves mm_list */
	spinlock_t lock;		/* mm_list, mapping_list */
	struct list_head mm_list;
	struct list_head mapping_list;	/* page caches; lock */
	atomic64_t nr_file_pages;	/* in them */
	struct mem_cgroup memcgs[NR_MEM_CGROUPS]; /* by id */
	struct workingset workingset;
	struct cpu_slot cpus[MAX_CPUS];
};

_Static_assert(sizeof(struct machine) <= RESERVED_PAGES * sizeof(struct page),
	       "the machine fits in front of its memmap");

struct machine_options {
	u64 memory_bytes;	/* multiple of 4 MiB */
	bool metadata_only;
	bool touch;		/* take all memory of the host now */
	unsigned int nr_cpus;	/* 0: default */
	unsigned long pcp_high;	/* 0: default */
	unsigned long thp_always, thp_madvise;
	bool no_huge_zero;
	u64 movable_bytes;	/* of memory_bytes: ZONE_MOVABLE, at the top */
	u64 cma_bytes;		/* and a CMA area below it */
	u64 hugetlb_pages[NR_HSTATES];	/* pool sizes, of memory_bytes too */
};

/*
 * machine_create() - make a machine
 *
 * Return: 0; -EINVAL for a size that is zero, unaligned or past MAX_PAGES;
 * -ENOMEM if the host refuses.
 * Owner: the caller, who calls machine_destroy().
 */
int __must_check machine_create(const struct machine_options *options,
				struct machine **out);

/*
 * machine_destroy() - give everything back
 *
 * Context: no address space of it exists, no call on it is running, and every
 * page got or pinned has been released.
 */
void machine_destroy(struct machine *machine);

/*
 * nr_used_pages() - frames in use, but for the machine's own zero pages while
 * nobody else refers to them
 *
 * Context: nothing else is running on the machine.
 */
unsigned long nr_used_pages(struct machine *machine);

static inline struct machine *page_machine(const struct page *page)
{
	return (struct machine *)((uintptr_t)page & ~(MEMMAP_ALIGN - 1));
}

static inline struct page *machine_page(struct machine *machine, pf_pfn_t pfn)
{
	return (struct page *)machine + pfn;
}

static inline pf_pfn_t page_to_pfn(const struct page *page)
{
	return ((uintptr_t)page & (MEMMAP_ALIGN - 1)) / sizeof(struct page);
}

/* pfn_to_page() - a frame of the machine that the calling thread is in */
static inline struct page *pfn_to_page(pf_pfn_t pfn)
{
	return machine_page(current->machine, pfn);
}

static inline bool pfn_valid(pf_pfn_t pfn)
{
	return pfn >= RESERVED_PAGES && pfn < current->machine->nr_pages;
}

/* page_address() - where the host sees the frame's bytes */
static inline void *page_address(const struct page *page)
{
	struct machine *machine = page_machine(page);

	return machine->arena + (page_to_pfn(page) << PAGE_SHIFT);
}

static inline struct page *virt_to_page(const void *address)
{
	struct machine *machine = current->machine;

	return machine_page(machine, ((const char *)address - machine->arena) >>
				     PAGE_SHIFT);
}

static inline struct zone *page_zone(const struct page *page)
{
	struct machine *machine = page_machine(page);

	return &machine->zones[page_to_pfn(page) >= machine->movable_pfn];
}

static inline bool is_zone_movable_page(const struct page *page)
{
	return page_to_pfn(page) >= page_machine(page)->movable_pfn;
}

/* this_cpu() - the calling thread's simulated CPU on @machine */
struct cpu_slot *choose_cpu(struct machine *machine);

static inline struct cpu_slot *this_cpu(struct machine *machine)
{
	unsigned int cpu = current->cpu;

	if (unlikely(!cpu || cpu > machine->nr_cpus))
		return choose_cpu(machine);
	return &machine->cpus[cpu - 1];
}

/*
 * Pages pinned and unpinned since the machine began; exact when no other thread
 * is in a call.
 */
u64 nr_foll_pin_acquired(struct machine *machine);
u64 nr_foll_pin_released(struct machine *machine);

/*
 * count_pins_acquired() - add to nr_foll_pin_acquired
 *
 * In the thread's own memory while it is in the machine: Linux's counters are
 * no atomics either, but a CPU's own.
 */
static inline void count_pins_acquired(struct machine *machine, long nr)
{
	if (likely(current->machine == machine))
		current->pins_acquired += nr;
	else
		atomic64_add(nr, &this_cpu(machine)->pin_acquired);
}

static inline void count_pins_released(struct machine *machine, long nr)
{
	if (likely(current->machine == machine))
		current->pins_released += nr;
	else
		atomic64_add(nr, &this_cpu(machine)->pin_released);
}

#endif
