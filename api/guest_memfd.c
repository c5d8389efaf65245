/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: guest memory.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/guest_memfd.h"

#include <errno.h>
#include <inttypes.h>

#define FOLIOS_FLAG	((u64)1 << 63)

static struct guest_memfd *gmem_of(const struct pf_guest_memfd *gmem)
{
	return (struct guest_memfd *)gmem;
}

#define IN_MACHINE(gmem, call)	IN_MACHINE_OF((gmem)->mapping.machine, call)

static struct machine *enter(const struct guest_memfd *gmem)
{
	return machine_enter(gmem->mapping.machine);
}

int pf_guest_memfd_create(struct pf_machine *machine, uint64_t size,
			  uint64_t flags, struct pf_guest_memfd **out)
{
	const u64 order = flags & ~FOLIOS_FLAG;
	struct guest_memfd *gmem;
	struct machine *previous;
	int err;

	if (!machine || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	if (flags && (!(flags & FOLIOS_FLAG) || !order ||
		      order > MAX_PAGECACHE_ORDER))
		return fail(-EINVAL, "guest memory flags %#" PRIx64, flags, 0,
			    0);
	previous = machine_enter(machine_of(machine));
	err = guest_memfd_create(size, (unsigned int)order, &gmem);
	machine_leave(previous);
	if (!err)
		*out = (struct pf_guest_memfd *)gmem;
	return err;
}

void pf_guest_memfd_destroy(struct pf_guest_memfd *handle)
{
	struct guest_memfd *gmem = gmem_of(handle);
	struct machine *previous;

	if (!gmem)
		return;
	previous = enter(gmem);
	guest_memfd_destroy(gmem);
	machine_leave(previous);
}

uint64_t pf_guest_memfd_size(const struct pf_guest_memfd *gmem)
{
	return gmem_of(gmem)->size;
}

int pf_guest_memfd_allocate(struct pf_guest_memfd *handle, uint64_t offset,
			    uint64_t length)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_allocate(gmem, offset, length));
}

int pf_guest_memfd_punch(struct pf_guest_memfd *handle, uint64_t offset,
			 uint64_t length)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_punch(gmem, offset, length));
}

int pf_guest_memfd_get_pfn(struct pf_guest_memfd *handle, uint64_t index,
			   struct pf_page **page)
{
	struct guest_memfd *gmem = gmem_of(handle);
	struct machine *previous = enter(gmem);
	struct page *got;
	int err = guest_memfd_get_pfn(gmem, index, &got);

	machine_leave(previous);
	if (!err)
		*page = (struct pf_page *)got;
	return err;
}

unsigned int pf_guest_memfd_invalidate_seq(const struct pf_guest_memfd *gmem)
{
	return guest_memfd_invalidate_seq(gmem_of(gmem));
}

bool pf_guest_memfd_invalidate_retry(const struct pf_guest_memfd *gmem,
				     unsigned int seq)
{
	return guest_memfd_invalidate_retry(gmem_of(gmem), seq);
}

int64_t pf_guest_memfd_read(struct pf_guest_memfd *handle, uint64_t offset,
			    void *to, uint64_t bytes)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_read(gmem, offset, to, bytes));
}

int64_t pf_guest_memfd_populate(struct pf_guest_memfd *handle, uint64_t offset,
				const void *from, uint64_t bytes)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_populate(gmem, offset, from, bytes));
}

int64_t pf_guest_memfd_write(struct pf_guest_memfd *handle, uint64_t offset,
			     const void *from, uint64_t bytes)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_write(gmem, offset, from, bytes));
}

int64_t pf_guest_memfd_restore(struct pf_guest_memfd *handle, int fd,
			       uint64_t file_offset, uint64_t offset,
			       uint64_t bytes)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_restore(gmem, fd, file_offset, offset, bytes));
}

int64_t pf_guest_memfd_save(struct pf_guest_memfd *handle, int fd,
			    uint64_t file_offset, uint64_t offset,
			    uint64_t bytes)
{
	struct guest_memfd *gmem = gmem_of(handle);

	return IN_MACHINE(gmem, guest_memfd_save(gmem, fd, file_offset, offset, bytes));
}
