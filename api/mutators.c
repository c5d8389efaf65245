/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: what the system does to an address space unasked.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/folio_split.h"
#include "mm/khugepaged.h"
#include "mm/numa.h"
#include "mm/pagemap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int64_t pf_machine_collapse_scan(struct pf_machine *handle,
				 const struct pf_collapse_limits *limits)
{
	const struct collapse_limits d = COLLAPSE_LIMITS_DEFAULT;
	struct pf_collapse_limits l = {
		.max_ptes_none = d.max_ptes_none,
		.max_ptes_swap = d.max_ptes_swap,
		.max_ptes_shared = d.max_ptes_shared,
	};
	struct machine *m = machine_of(handle), *previous;
	unsigned long made;

	if (!m)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	if (limits && (limits->size < sizeof(size_t) ||
		       limits->size > sizeof(l)))
		return fail(-EINVAL, "limits of %" PRIu64 " bytes are not of "
			    "this library's version", limits->size, 0, 0);
	if (limits)
		memcpy(&l, limits, limits->size);
	previous = machine_enter(m);
	made = khugepaged_do_scan(m, &(struct collapse_limits){
		.max_ptes_none = l.max_ptes_none,
		.max_ptes_swap = l.max_ptes_swap,
		.max_ptes_shared = l.max_ptes_shared,
	});
	machine_leave(previous);
	return made;
}

/* A whole number of pages, below the end of the user addresses. */
static int check_range(pf_addr_t start, uint64_t length)
{
	if (!IS_ALIGNED(start | length, PAGE_SIZE))
		return fail(-EINVAL, "%#" PRIx64 " + %" PRIu64
			    " is not a range of whole pages", start, length, 0);
	if (length > TASK_SIZE || start > TASK_SIZE - length)
		return fail(-EINVAL, "%#" PRIx64 " + %" PRIu64
			    " is above the user addresses", start, length, 0);
	return 0;
}

int pf_clear_soft_dirty(struct pf_mm *handle)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous = machine_enter(mm->machine);
	int err = clear_refs_soft_dirty(mm);

	machine_leave(previous);
	return err;
}

int pf_pagemap(struct pf_mm *handle, pf_addr_t start, unsigned long nr_pages,
	       uint64_t *entries)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int err = check_range(start, (u64)nr_pages << PAGE_SHIFT);

	if (err)
		return err;
	previous = machine_enter(mm->machine);
	err = pagemap_read(mm, start, nr_pages, entries);
	machine_leave(previous);
	return err;
}

int64_t pf_numa_hint(struct pf_mm *handle, pf_addr_t start, uint64_t length)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int64_t ret = check_range(start, length);

	if (ret)
		return ret;
	previous = machine_enter(mm->machine);
	ret = numa_hint_range(mm, start, start + length);
	machine_leave(previous);
	return ret;
}

int64_t pf_split(struct pf_mm *handle, pf_addr_t start, uint64_t length,
		 unsigned int order)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int64_t ret = check_range(start, length);

	if (ret)
		return ret;
	if (order == 1 || order >= HPAGE_PMD_ORDER)
		return fail(-EINVAL, "folios are not split to order %" PRIu64,
			    order, 0, 0);
	previous = machine_enter(mm->machine);
	ret = split_huge_pages_in_range(mm, start, start + length, order);
	machine_leave(previous);
	return ret;
}

/* As check_range(), and not empty. */
static int check_userfault_range(pf_addr_t start, uint64_t length)
{
	int err = check_range(start, length);

	if (!err && !length)
		err = fail(-EINVAL, "an empty range at %#" PRIx64, start, 0, 0);
	return err;
}

int pf_userfault_register(struct pf_mm *handle, pf_addr_t start,
			  uint64_t length, pf_userfault_fn fn, void *arg)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int err = check_userfault_range(start, length);

	if (err)
		return err;
	previous = machine_enter(mm->machine);
	err = userfaultfd_register(mm, start, start + length, fn, arg);
	machine_leave(previous);
	return err;
}

int pf_userfault_unregister(struct pf_mm *handle, pf_addr_t start,
			    uint64_t length)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int err = check_userfault_range(start, length);

	if (err)
		return err;
	previous = machine_enter(mm->machine);
	err = userfaultfd_unregister(mm, start, start + length);
	machine_leave(previous);
	return err;
}

int pf_userfault_writeprotect(struct pf_mm *handle, pf_addr_t start,
			      uint64_t length, bool on)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int err = check_userfault_range(start, length);

	if (err)
		return err;
	previous = machine_enter(mm->machine);
	err = mwriteprotect_range(mm, start, start + length, on);
	machine_leave(previous);
	return err;
}
