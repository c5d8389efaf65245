/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: machines, errors, tasks.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char *pf_error_text(void)
{
	return error_text();
}

int pf_machine_create(const struct pf_machine_options *options,
		      struct pf_machine **out)
{
	struct pf_machine_options o = { 0 };
	struct machine *machine;
	int err;

	if (!options || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	if (options->size < offsetof(struct pf_machine_options, metadata_only) ||
	    options->size > sizeof(o))
		return fail(-EINVAL, "options of %" PRIu64 " bytes are not of "
			    "this library's version", options->size, 0, 0);
	memcpy(&o, options, options->size);
	err = machine_create(&(struct machine_options){
		.memory_bytes = o.memory_bytes,
		.metadata_only = o.metadata_only,
		.touch = o.touch,
		.nr_cpus = o.nr_cpus,
		.thp_always = o.thp_always,
		.thp_madvise = o.thp_madvise,
		.no_huge_zero = o.no_huge_zero,
		.movable_bytes = o.movable_bytes,
		.cma_bytes = o.cma_bytes,
		.hugetlb_pages = { o.hugetlb_2m_pages, o.hugetlb_1g_pages },
	}, &machine);
	if (!err)
		*out = (struct pf_machine *)machine;
	return err;
}

int pf_machine_destroy(struct pf_machine *handle)
{
	struct machine *m = machine_of(handle);
	unsigned long used;

	if (!m)
		return 0;
	if (!list_empty(&m->mm_list))
		return fail(-EBUSY, "the machine still has an mm", 0, 0, 0);
	if (!list_empty(&m->mapping_list))
		return fail(-EBUSY, "the machine still has a file or guest "
			    "memory", 0, 0, 0);
	lru_add_drain_all(m);
	rcu_barrier();
	used = nr_used_pages(m);
	if (used)
		return fail(-EBUSY, "%" PRIu64 " pages are still got or pinned",
			    used, 0, 0);
	machine_destroy(m);
	return 0;
}

int pf_machine_stat(struct pf_machine *handle, struct pf_machine_stat *stat)
{
	struct machine *m = machine_of(handle);
	struct pf_machine_stat s = { .size = sizeof(s) };

	if (!m || !stat || stat->size < sizeof(size_t) ||
	    stat->size > sizeof(s))
		return fail(-EINVAL, "no machine, or a struct of another version",
			    0, 0, 0);
	s.memory_bytes = (m->nr_pages - RESERVED_PAGES) * (u64)PAGE_SIZE;
	s.free_pages = nr_free_pages(m);
	s.pins_acquired = nr_foll_pin_acquired(m);
	s.pins_released = nr_foll_pin_released(m);
	s.host_huge_bytes = host_huge_bytes(m->arena, m->arena_bytes);
	s.size = stat->size;
	memcpy(stat, &s, stat->size);
	return 0;
}

struct pf_task *pf_task_self(void)
{
	return (struct pf_task *)&waiter_self;
}

void pf_task_signal(struct pf_task *task, bool fatal)
{
	waiter_post((struct waiter *)task,
		    fatal ? SIGNAL_FATAL | SIGNAL_ORDINARY : SIGNAL_ORDINARY);
}

void pf_task_clear_signals(void)
{
	waiter_clear();
}
