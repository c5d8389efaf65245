/* SPDX-License-Identifier: MIT */
/*
 * The public boundary: address spaces.
 */
#include "api/handle.h"

#include "host/errtext.h"
#include "mm/fs.h"
#include "mm/gup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int pf_mm_create(struct pf_machine *machine, struct pf_mm **out)
{
	struct mm_struct *mm;
	int err;

	if (!machine || !out)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	err = mm_create(machine_of(machine), &mm);
	if (!err)
		*out = (struct pf_mm *)mm;
	return err;
}

int pf_mm_fork(struct pf_mm *parent, struct pf_mm **child)
{
	struct machine *previous;
	struct mm_struct *mm;
	int err;

	if (!parent || !child)
		return fail(-EINVAL, "a NULL argument", 0, 0, 0);
	previous = machine_enter(mm_of(parent)->machine);
	err = dup_mm(mm_of(parent), &mm);
	machine_leave(previous);
	if (!err)
		*child = (struct pf_mm *)mm;
	return err;
}

void pf_mm_destroy(struct pf_mm *mm)
{
	if (mm)
		mm_destroy(mm_of(mm));
}

void pf_mm_read_lock(struct pf_mm *mm)
{
	mmap_read_lock(mm_of(mm));
}

void pf_mm_read_unlock(struct pf_mm *mm)
{
	mmap_read_unlock(mm_of(mm));
}

static int check_prot(int prot)
{
	if (prot & ~(PINFOLD_PROT_READ | PINFOLD_PROT_WRITE | PINFOLD_PROT_EXEC))
		return fail(-EINVAL, "protection %#" PRIx64, prot, 0, 0);
	return 0;
}

#define MAP_HUGE_SIZE	(int)(63u << 26)

static bool hugetlb_size_ok(int flags)
{
	const int size = flags & MAP_HUGE_SIZE;

	if (!(flags & PINFOLD_MAP_HUGETLB))
		return !size;
	return !size || size == PINFOLD_MAP_HUGE_2MB ||
	       size == PINFOLD_MAP_HUGE_1GB;
}

static const int common_flags =
	PINFOLD_MAP_SHARED | PINFOLD_MAP_PRIVATE | PINFOLD_MAP_FIXED |
	PINFOLD_MAP_FIXED_NOREPLACE | PINFOLD_MAP_POPULATE |
	PINFOLD_MAP_LOCKED | PINFOLD_MAP_NORESERVE;

static void request(struct mmap_request *req, pf_addr_t hint, uint64_t length,
		    int prot, int flags)
{
	*req = (struct mmap_request){
		.address = hint,
		.length = length,
		.read = prot & PINFOLD_PROT_READ,
		.write = prot & PINFOLD_PROT_WRITE,
		.exec = prot & PINFOLD_PROT_EXEC,
		.shared = flags & PINFOLD_MAP_SHARED,
		.noreplace = flags & PINFOLD_MAP_FIXED_NOREPLACE,
		.populate = flags & PINFOLD_MAP_POPULATE,
		.locked = flags & PINFOLD_MAP_LOCKED,
		.noreserve = flags & PINFOLD_MAP_NORESERVE,
	};
	/* Both fixed flags: the careful one counts. */
	req->fixed = (flags & PINFOLD_MAP_FIXED) && !req->noreplace;
}

static int map(struct mm_struct *mm, const struct mmap_request *req, int prot,
	       int flags, pf_addr_t *address)
{
	const int kind = PINFOLD_MAP_SHARED | PINFOLD_MAP_PRIVATE;
	struct machine *previous;
	int err = check_prot(prot);

	if (err)
		return err;
	if ((flags & kind) == kind)
		return fail(-EINVAL, "mmap flags %#" PRIx64, flags, 0, 0);
	previous = machine_enter(mm->machine);
	err = do_mmap(mm, req, address);
	machine_leave(previous);
	return err;
}

int pf_mmap(struct pf_mm *handle, pf_addr_t hint, uint64_t length, int prot,
	    int flags, pf_addr_t *address)
{
	const int huge = PINFOLD_MAP_HUGETLB | MAP_HUGE_SIZE;
	struct mmap_request req;

	if ((flags & ~(common_flags | huge)) || !hugetlb_size_ok(flags))
		return fail(-EINVAL, "mmap flags %#" PRIx64, flags, 0, 0);
	request(&req, hint, length, prot, flags);
	if (flags & PINFOLD_MAP_HUGETLB)
		req.hugetlb = &mm_of(handle)->machine->hstates[
			(flags & MAP_HUGE_SIZE) == PINFOLD_MAP_HUGE_1GB ?
			HSTATE_1G : HSTATE_2M];
	return map(mm_of(handle), &req, prot, flags, address);
}

int pf_mmap_file(struct pf_mm *handle, pf_addr_t hint, uint64_t length,
		 int prot, int flags, struct pf_file *file, uint64_t offset,
		 pf_addr_t *address)
{
	struct mmap_request req;

	if (!file || file_inode(file_of(file))->machine !=
	    mm_of(handle)->machine)
		return fail(-EINVAL, "no file, or one of another machine", 0, 0,
			    0);
	if ((flags & ~common_flags) ||
	    !(flags & (PINFOLD_MAP_SHARED | PINFOLD_MAP_PRIVATE)))
		return fail(-EINVAL, "mmap flags %#" PRIx64, flags, 0, 0);
	if (!IS_ALIGNED(offset, PAGE_SIZE))
		return fail(-EINVAL, "offset %" PRIu64
			    " is not a multiple of the page size", offset, 0,
			    0);
	request(&req, hint, length, prot, flags);
	req.file = file_of(file);
	req.pgoff = offset >> PAGE_SHIFT;
	return map(mm_of(handle), &req, prot, flags, address);
}

int pf_munmap(struct pf_mm *handle, pf_addr_t start, uint64_t length)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous = machine_enter(mm->machine);
	int err = do_munmap(mm, start, length);

	machine_leave(previous);
	return err;
}

int pf_mprotect(struct pf_mm *handle, pf_addr_t start, uint64_t length, int prot)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous;
	int err = check_prot(prot);

	if (err)
		return err;
	previous = machine_enter(mm->machine);
	err = do_mprotect(mm, start, length, prot & PINFOLD_PROT_READ,
			  prot & PINFOLD_PROT_WRITE, prot & PINFOLD_PROT_EXEC);
	machine_leave(previous);
	return err;
}

int pf_mremap(struct pf_mm *handle, pf_addr_t old_address, uint64_t old_length,
	      uint64_t new_length, int flags, pf_addr_t new_address,
	      pf_addr_t *address)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous = machine_enter(mm->machine);
	int err = do_mremap(mm, old_address, old_length, new_length, flags,
			    new_address, address);

	machine_leave(previous);
	return err;
}

int pf_madvise(struct pf_mm *handle, pf_addr_t start, uint64_t length,
	       int advice)
{
	struct mm_struct *mm = mm_of(handle);
	struct machine *previous = machine_enter(mm->machine);
	int err = do_madvise(mm, start, length, advice);

	machine_leave(previous);
	return err;
}

/*
 * The page at @address, and mmap_lock held for read: as long as it is, the bytes
 * at the page are those at the address.  A store after fork has write-protected
 * the page would be seen by the child.
 */
static long get_user_page_locked(struct mm_struct *mm, pf_addr_t address,
				 bool write, struct page **page)
{
	for (;;) {
		int locked = 1;
		long ret;

		if (mmap_read_lock_killable(mm))
			return fail(-EAGAIN, "killed while waiting for "
				    "mmap_lock", 0, 0, 0);
		ret = get_user_pages_remote(mm, address, 1,
					    write ? FOLL_WRITE : 0, page,
					    &locked);
		if (ret > 0 && locked)
			return ret;
		if (locked)
			mmap_read_unlock(mm);
		if (ret <= 0)
			return ret ? ret : -EFAULT;
		put_page(*page);
	}
}

/* One page's part of a copy; bytes, or a negative errno. */
static long copy_page_part(struct mm_struct *mm, pf_addr_t address, char *host,
			   u64 bytes, bool write)
{
	u64 offset = address & ~PAGE_MASK;
	u64 part = min(bytes, PAGE_SIZE - offset);
	struct page *page;
	char *inside;
	long ret = get_user_page_locked(mm, address, write, &page);

	if (ret < 0)
		return ret;
	inside = (char *)page_address(page) + offset;
	if (write)
		memcpy(inside, host, part);
	else
		memcpy(host, inside, part);
	/*
	 * A user's store makes its entry dirty as it happens; this one comes
	 * later, and a file's page may have been cleaned in between.
	 */
	if (write && !PageAnon(page))
		(void)set_page_dirty_lock(page);
	put_page(page);
	mmap_read_unlock(mm);
	return part;
}

static int64_t copy_user(struct mm_struct *mm, pf_addr_t address, char *host,
			 u64 bytes, bool write)
{
	struct machine *previous;
	u64 done = 0;
	long ret = 0;

	if (mm->machine->metadata_only)
		return fail(-EOPNOTSUPP, "a metadata-only machine has no bytes",
			    0, 0, 0);
	if (bytes > TASK_SIZE || address > TASK_SIZE - bytes)
		return fail(-EFAULT, "%#" PRIx64 " + %" PRIu64
			    " is above the user addresses", address, bytes, 0);
	previous = machine_enter(mm->machine);
	while (done < bytes) {
		ret = copy_page_part(mm, address + done, host + done,
				     bytes - done, write);
		if (ret < 0)
			break;
		done += ret;
	}
	machine_leave(previous);
	return done ? (int64_t)done : ret;
}

int64_t pf_read(struct pf_mm *mm, pf_addr_t from, void *to, uint64_t bytes)
{
	return copy_user(mm_of(mm), from, to, bytes, false);
}

int64_t pf_write(struct pf_mm *mm, pf_addr_t to, const void *from,
		 uint64_t bytes)
{
	return copy_user(mm_of(mm), to, (char *)from, bytes, true);
}
