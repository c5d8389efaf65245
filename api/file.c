/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: files.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/gup.h"
#include "mm/hugetlb.h"
#include "mm/shmem.h"

#include <errno.h>
#include <inttypes.h>

/* Each call enters the machine of its file. */
#define IN_MACHINE(file, call)	\
	IN_MACHINE_OF(file_inode(file_of(file))->machine, call)

int pf_file_open(struct pf_machine *machine, int fd, bool writable,
		 struct pf_file **out)
{
	struct machine *previous;
	struct file *file;
	int err;

	if (!machine || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	previous = machine_enter(machine_of(machine));
	err = host_file_create(machine_of(machine), fd, writable, &file);
	machine_leave(previous);
	if (!err)
		*out = (struct pf_file *)file;
	return err;
}

int pf_shmem_create(struct pf_machine *machine, uint64_t size,
		    unsigned int max_order, unsigned int flags,
		    struct pf_file **out)
{
	struct machine *previous;
	struct file *file;
	int err;

	if (!machine || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	if (max_order > MAX_PAGECACHE_ORDER)
		return fail(-EINVAL, "order %" PRIu64 " is above %" PRIu64,
			    max_order, MAX_PAGECACHE_ORDER, 0);
	if (flags & ~(unsigned int)PINFOLD_SHMEM_NO_PIN)
		return fail(-EINVAL, "shmem flags %#" PRIx64, flags, 0, 0);
	previous = machine_enter(machine_of(machine));
	err = shmem_file_setup(machine_of(machine), size, max_order,
			       flags & PINFOLD_SHMEM_NO_PIN ? SHMEM_NO_PIN : 0,
			       &file);
	machine_leave(previous);
	if (!err)
		*out = (struct pf_file *)file;
	return err;
}

int pf_hugetlb_create(struct pf_machine *machine, uint64_t page_bytes,
		      uint64_t size, struct pf_file **out)
{
	struct machine *previous;
	struct hstate *h = NULL;
	struct file *file;
	int err;

	if (!machine || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		if (huge_page_size(&machine_of(machine)->hstates[i]) ==
		    page_bytes)
			h = &machine_of(machine)->hstates[i];
	if (!h)
		return fail(-EINVAL, "there are no huge pages of %" PRIu64
			    " bytes", page_bytes, 0, 0);
	previous = machine_enter(machine_of(machine));
	err = hugetlb_file_setup(h, size, true, &file);
	machine_leave(previous);
	if (!err)
		*out = (struct pf_file *)file;
	return err;
}

void pf_file_close(struct pf_file *file)
{
	struct machine *previous;

	if (!file)
		return;
	previous = machine_enter(file_inode(file_of(file))->machine);
	fput(file_of(file));
	machine_leave(previous);
}

uint64_t pf_file_size(struct pf_file *file)
{
	return i_size_read(file_inode(file_of(file)));
}

int pf_file_truncate(struct pf_file *file, uint64_t size)
{
	return IN_MACHINE(file, vfs_truncate(file_of(file), size));
}

int pf_file_allocate(struct pf_file *file, int mode, int64_t offset,
		     int64_t length)
{
	return IN_MACHINE(file, vfs_fallocate(file_of(file), mode, offset,
					      length));
}

int64_t pf_file_read(struct pf_file *file, void *to, uint64_t bytes,
		     int64_t position)
{
	return IN_MACHINE(file, vfs_read(file_of(file), to, bytes, position));
}

int64_t pf_file_write(struct pf_file *file, const void *from, uint64_t bytes,
		      int64_t position)
{
	return IN_MACHINE(file, vfs_write(file_of(file), from, bytes,
					  position));
}

int pf_file_add_seals(struct pf_file *file, unsigned int seals)
{
	return IN_MACHINE(file, file_add_seals(file_of(file), seals));
}

long pf_memfd_pin_folios(struct pf_file *file, int64_t start, int64_t end,
			 struct pf_page **pages, unsigned int max,
			 uint64_t *offset)
{
	if (!file || !pages || !offset)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	/* A folio is its head page. */
	return IN_MACHINE(file, memfd_pin_folios(file_of(file), start, end,
						 (struct folio **)pages, max,
						 offset));
}
