/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: what the system does to an address space unasked.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/khugepaged.h"

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
