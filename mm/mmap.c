/* SPDX-License-Identifier: MIT */
/*
 * Making and unmaking address spaces and areas.
 *
 * Locks: mmap_lock for write.
 * Source: mm/mmap.c, mm/vma.c
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/fs.h"
#include "mm/gfp.h"
#include "mm/gup.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/shmem.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <inttypes.h>

#define STACK_GAP	((pf_addr_t)128 << 20)

struct mm_struct *mm_alloc(struct machine *machine, struct anon_vma *anon_vma)
{
	struct mm_struct *mm = kzalloc(sizeof(*mm));

	if (!mm)
		return NULL;
	mm->machine = machine;
	init_rwsem(&mm->mmap_lock, RANK_MMAP);
	RB_INIT(&mm->mm_rb);
	spin_lock_init(&mm->page_table_lock, RANK_PTL);
	seqcount_init(&mm->write_protect_seq);
	mm->mmap_base = TASK_CEILING - STACK_GAP;
	if (anon_vma)
		get_anon_vma(anon_vma);
	else
		anon_vma = anon_vma_alloc();
	if (!anon_vma)
		goto err_free;
	mm->anon_vma = anon_vma;
	if (pgd_alloc(mm))
		goto err_put_anon_vma;
	spin_lock(&machine->lock);
	list_add_tail(&mm->machine_list, &machine->mm_list);
	spin_unlock(&machine->lock);
	return mm;

err_put_anon_vma:
	put_anon_vma(anon_vma);
err_free:
	kfree(mm);
	return NULL;
}

int mm_create(struct machine *machine, struct mm_struct **out)
{
	struct machine *previous = machine_enter(machine);
	struct mm_struct *mm = mm_alloc(machine, NULL);

	machine_leave(previous);
	if (!mm)
		return fail(-ENOMEM, "no memory for an address space", 0, 0, 0);
	*out = mm;
	return 0;
}

void mm_destroy(struct mm_struct *mm)
{
	struct machine *machine = mm->machine;
	struct machine *previous = machine_enter(machine);

	/* First: who goes through the list must not meet it half gone. */
	down_write(&machine->mm_list_sem);
	spin_lock(&machine->lock);
	list_del(&mm->machine_list);
	spin_unlock(&machine->lock);
	up_write(&machine->mm_list_sem);
	mmap_write_lock(mm);
	/* Nothing is cut at the ends of the whole, so this cannot fail. */
	BUG_ON(unmap_region(mm, 0, TASK_CEILING));
	mmap_write_unlock(mm);
	BUG_ON(mm->map_count);
	BUG_ON(atomic64_read(&mm->rss_pages));
	pgd_free(mm);
	BUG_ON(atomic64_read(&mm->pgtables));
	put_anon_vma(mm->anon_vma);
	kfree(mm);
	machine_leave(previous);
}

static pf_addr_t gap_floor(struct vm_area_struct *below)
{
	return below ? below->vm_end : MMAP_MIN_ADDR;
}

/* Where a new area has to begin. */
static pf_addr_t place_align(const struct mmap_request *req)
{
	return req->hugetlb ? huge_page_size(req->hugetlb) : PAGE_SIZE;
}

/* The highest gap below mmap_base that holds @length at @align. */
static pf_addr_t gap_topdown(struct mm_struct *mm, u64 length, pf_addr_t align)
{
	pf_addr_t ceiling = mm->mmap_base;
	struct vm_area_struct *vma = vma_last(mm);

	for (;; vma = vma_prev(vma)) {
		pf_addr_t floor = gap_floor(vma), place;

		if (floor < ceiling && ceiling - floor >= length) {
			place = ALIGN_DOWN(ceiling - length, align);
			if (place >= floor)
				return place;
		}
		if (!vma)
			return 0;
		ceiling = min(ceiling, vma->vm_start);
	}
}

pf_addr_t unmapped_area(struct mm_struct *mm, pf_addr_t hint, u64 length,
			pf_addr_t align)
{
	pf_addr_t place = 0;

	mmap_assert_locked(mm);
	hint = ALIGN(hint, align);
	if (hint >= MMAP_MIN_ADDR && hint <= TASK_SIZE - length &&
	    !find_vma_intersection(mm, hint, hint + length))
		return hint;
	/* Whole huge pages are worth a huge page's alignment. */
	if (IS_ALIGNED(length, PMD_SIZE))
		place = gap_topdown(mm, length, max(align, PMD_SIZE));
	return place ? place : gap_topdown(mm, length, align);
}

/* A hint below the first usable page means that page. */
static pf_addr_t round_hint_to_min(pf_addr_t hint)
{
	hint = ALIGN_DOWN(hint, PAGE_SIZE);
	return hint && hint < MMAP_MIN_ADDR ? MMAP_MIN_ADDR : hint;
}

/* Where a new area of @length goes; a negative errno is why it cannot. */
static int choose_place(struct mm_struct *mm, const struct mmap_request *req,
			u64 length, pf_addr_t *place)
{
	if (!req->fixed && !req->noreplace) {
		*place = unmapped_area(mm, round_hint_to_min(req->address),
				       length, place_align(req));
		return *place ? 0 :
			fail(-ENOMEM, "no room for %" PRIu64 " bytes", length,
			     0, 0);
	}
	*place = req->address;
	if (*place > TASK_SIZE - length)
		return fail(-ENOMEM, "%#" PRIx64 " + %" PRIu64 " is above the "
			    "user addresses", *place, length, 0);
	if (!IS_ALIGNED(*place, place_align(req)))
		return fail(-EINVAL, "fixed address %#" PRIx64
			    " is not a multiple of the page size", *place, 0, 0);
	if (*place < MMAP_MIN_ADDR)
		return fail(-EPERM, "fixed address %#" PRIx64 " is below %#"
			    PRIx64, *place, MMAP_MIN_ADDR, 0);
	if (req->noreplace &&
	    find_vma_intersection(mm, *place, *place + length))
		return fail(-EEXIST, "something is mapped in %#" PRIx64 "-%#"
			    PRIx64, *place, *place + length, 0);
	return 0;
}

/* What can be done with a file is less than with memory, if it says so. */
static vm_flags_t file_flags(const struct mmap_request *req)
{
	const struct file *file = req->file;
	vm_flags_t flags = 0;

	if (req->shared)
		flags |= VM_SHARED | VM_MAYSHARE;
	if (file && req->shared && !(file->f_mode & FMODE_WRITE))
		flags &= ~VM_SHARED;
	return flags;
}

/*
 * Flags that the area may not get: no store reaches a file that forbids it, now.
 * A seal that comes later finds the area counted, or keeps it from that.
 */
static vm_flags_t forbidden_flags(const struct mmap_request *req)
{
	const unsigned int seals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;

	if (!req->file || !req->shared)
		return 0;
	if (!(req->file->f_mode & FMODE_WRITE) ||
	    (READ_ONCE(file_inode(req->file)->seals) & seals))
		return VM_MAYWRITE;
	return 0;
}

static vm_flags_t request_flags(const struct mmap_request *req)
{
	return (file_flags(req) | (req->hugetlb ? VM_HUGETLB | VM_DONTEXPAND : 0) |
	       (req->hugetlb && req->noreserve ? VM_NORESERVE : 0) |
	       (req->read ? VM_READ : 0) | (req->write ? VM_WRITE : 0) |
	       (req->exec ? VM_EXEC : 0) |
	       /* Pages of a pool never go away: locking them says nothing. */
	       (req->locked && !req->hugetlb ? VM_LOCKED : 0) |
	       VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC | VM_SOFTDIRTY) &
	       ~forbidden_flags(req);
}

/* May the file be mapped like this?  Source: mm/mmap.c:do_mmap() */
static int check_file(const struct mmap_request *req, u64 length)
{
	const struct file *file = req->file;

	if (!file)
		return 0;
	if (req->pgoff + (length >> PAGE_SHIFT) < req->pgoff ||
	    req->pgoff + (length >> PAGE_SHIFT) > (pgoff_t)1 << 51)
		return fail(-EOVERFLOW, "page %" PRIu64 " + %" PRIu64 " bytes "
			    "is above the largest file", req->pgoff, length, 0);
	if (req->hugetlb && !IS_ALIGNED(req->pgoff, 1UL << req->hugetlb->order))
		return fail(-EINVAL, "page %" PRIu64 " of the file is inside a "
			    "huge page", req->pgoff, 0, 0);
	if (!(file->f_mode & FMODE_READ) ||
	    (req->shared && req->write && !(file->f_mode & FMODE_WRITE)))
		return fail(-EACCES, "the file is not open for what the area "
			    "is to do", 0, 0, 0);
	return 0;
}

/*
 * Give the new area its file; from now on it counts as one that may write.
 * Shared memory without a file is one of its own.
 */
static int area_set_file(const struct mmap_request *req,
			 struct vm_area_struct *vma)
{
	struct file *file = req->file ? get_file(req->file) : NULL;
	const u64 bytes = vma->vm_end - vma->vm_start;
	bool counted;
	int err = 0;

	if (!file && req->shared)
		err = req->hugetlb ?
		      hugetlb_file_setup(req->hugetlb, bytes, false, &file) :
		      shmem_file_setup(vma->vm_mm->machine, bytes, 0,
				       SHMEM_NO_SEALS, &file);
	if (err || !file)
		return err;
	counted = vma_may_share_writes(vma);
	if (counted)
		err = file_map_writable(file);
	if (!err) {
		vma->vm_pgoff = req->file ? req->pgoff : 0;
		vma->vm_ops = file_inode(file)->i_op->vm_ops;
		vma_set_file(vma, file);
		if (counted)
			file_unmap_writable(file);
	}
	fput(file);
	return err;
}

/*
 * Promise the area its pages, and clear its place.  What a pool is short of may
 * be what the old area holds of it, so that goes first; as in Linux, also if it
 * is not enough.
 */
static int reserve_and_clear(struct mm_struct *mm,
			     const struct mmap_request *req,
			     struct vm_area_struct *vma)
{
	int err, promised = req->hugetlb ? hugetlb_reserve(vma, req->hugetlb) : 0;

	if (!req->fixed)
		return promised;
	err = unmap_region(mm, vma->vm_start, vma->vm_end);
	if (err || !promised)
		return err;
	return hugetlb_reserve(vma, req->hugetlb);
}

static int map_region(struct mm_struct *mm, const struct mmap_request *req,
		      u64 length, pf_addr_t *place)
{
	const vm_flags_t flags = request_flags(req);
	struct vm_area_struct *vma;
	int err;

	if ((flags & (VM_SHARED | VM_WRITE | VM_MAYWRITE)) ==
	    (VM_SHARED | VM_WRITE))
		return fail(-EPERM, "the file is sealed against writing", 0, 0,
			    0);
	/* One more than the limit: Linux counts like that here. */
	if (mm->map_count > MAX_MAP_COUNT)
		return fail(-ENOMEM, "there are %" PRIu64 " areas already",
			    mm->map_count, 0, 0);
	err = choose_place(mm, req, length, place);
	if (err)
		return err;
	vma = vm_area_alloc(mm, *place, *place + length, flags);
	if (!vma)
		return fail(-ENOMEM, "no memory for an area", 0, 0, 0);
	if (req->hugetlb)
		vma->vm_ops = &hugetlb_vm_ops;
	err = area_set_file(req, vma);
	if (!err)
		err = reserve_and_clear(mm, req, vma);
	if (err) {
		hugetlb_close(vma);
		vm_area_free(vma);
		return err;
	}
	link_file_vma(vma);
	vma_link(mm, vma);
	vma_merge_around(vma);
	return 0;
}

static int mmap_kind(struct mm_struct *mm, const struct mmap_request *req,
		     pf_addr_t *address)
{
	u64 length = ALIGN(req->length, place_align(req));
	pf_addr_t place;
	int err;

	if (!req->length)
		return fail(-EINVAL, "length 0", 0, 0, 0);
	if (!length || length > TASK_SIZE)
		return fail(-ENOMEM, "%" PRIu64 " bytes are more than there are "
			    "addresses", req->length, 0, 0);
	err = check_file(req, length);
	if (err)
		return err;
	if (mmap_write_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to map %" PRIu64
			    " bytes", length, 0, 0);
	err = map_region(mm, req, length, &place);
	mmap_write_unlock(mm);
	if (err)
		return err;
	if (req->populate || req->locked)
		(void)mm_populate(mm, place, length, true);
	*address = place;
	return 0;
}

int do_mmap(struct mm_struct *mm, const struct mmap_request *req,
	    pf_addr_t *address)
{
	struct mmap_request of_file = *req;

	if (!req->file)
		return mmap_kind(mm, req, address);
	of_file.hugetlb = hstate_file(req->file);
	return mmap_kind(mm, &of_file, address);
}

/* Cut the areas that reach over the ends of [start, end). */
static int split_at_ends(struct mm_struct *mm, pf_addr_t start, pf_addr_t end)
{
	struct vm_area_struct *vma = vma_lookup(mm, start), *last;
	const bool cut = vma && vma->vm_start < start;
	int err;

	if (cut) {
		/*
		 * Only a hole in one area leaves an area more than there were;
		 * the pieces in between go at once.
		 */
		if (vma->vm_end > end && mm->map_count >= MAX_MAP_COUNT)
			return fail(-ENOMEM, "a hole at %#" PRIx64 " would make "
				    "more than %" PRIu64 " areas", start,
				    MAX_MAP_COUNT, 0);
		err = __split_vma(vma, start);
		if (err)
			return err;
	}
	last = vma_lookup(mm, end);
	if (!last || last->vm_start == end)
		return 0;
	err = __split_vma(last, end);
	if (err && cut)
		vma_merge_around(vma);
	return err;
}

int unmap_region(struct mm_struct *mm, pf_addr_t start, pf_addr_t end)
{
	struct vm_area_struct *vma, *prev, *next;
	pf_addr_t floor, ceiling;
	int err;

	mmap_assert_write_locked(mm);
	err = split_at_ends(mm, start, end);
	if (err)
		return err;
	vma = find_vma_intersection(mm, start, end);
	if (!vma)
		return 0;
	prev = vma_prev(vma);
	floor = prev ? prev->vm_end : 0;
	start = vma->vm_start;
	ceiling = start;
	while (vma && vma->vm_start < end) {
		next = vma_next(vma);
		zap_page_range(vma, vma->vm_start, vma->vm_end);
		wake_userfault(vma, vma->vm_start, vma->vm_end);
		ceiling = vma->vm_end;
		/* Before the tables go, which walks from folios still use. */
		unlink_anon_vmas(vma);
		unlink_file_vma(vma);
		hugetlb_close(vma);
		vma_unlink(mm, vma);
		vm_area_free(vma);
		vma = next;
	}
	end = ceiling;
	ceiling = vma ? vma->vm_start : TASK_CEILING;
	free_pgtables(mm, start, end, floor, ceiling);
	return 0;
}

int munmap_locked(struct mm_struct *mm, pf_addr_t start, u64 length)
{
	u64 rounded = ALIGN(length, PAGE_SIZE);

	if (!IS_ALIGNED(start, PAGE_SIZE))
		return fail(-EINVAL, "address %#" PRIx64
			    " is not a multiple of the page size", start, 0, 0);
	if (!rounded || start > TASK_SIZE || rounded > TASK_SIZE - start)
		return fail(-EINVAL, "%#" PRIx64 " + %" PRIu64
			    " is empty or above the user addresses", start,
			    length, 0);
	return unmap_region(mm, start, start + rounded);
}

int do_munmap(struct mm_struct *mm, pf_addr_t start, u64 length)
{
	int err;

	if (mmap_write_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to unmap %#" PRIx64,
			    start, 0, 0);
	err = munmap_locked(mm, start, length);
	mmap_write_unlock(mm);
	return err;
}
