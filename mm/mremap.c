/* SPDX-License-Identifier: MIT */
/*
 * Moving and resizing an area.  Entries move, pages stay: a pin stays coherent.
 * A walk from a folio meets a moving entry once, since entries move with the
 * anon_vma's lock held.
 *
 * Locks: mmap_lock for write, the anon_vma's lock for write; of two page tables
 * the lower address first.
 * Source: mm/mremap.c
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <inttypes.h>

struct remap {
	struct mm_struct *mm;
	pf_addr_t old_address, new_address;
	u64 old_length, new_length;	/* whole pages */
	unsigned int flags;
	bool locked;			/* populate what it grew by */
};

/* Moved entries count as written since soft-dirty was last cleared. */
static void move_ptes(struct mm_struct *mm, pmd_t *old_pmd, pf_addr_t old,
		      pmd_t *new_pmd, pf_addr_t new, unsigned int nr)
{
	pte_t *from = pte_offset_map(old_pmd, old);
	pte_t *to = pte_offset_map(new_pmd, new);
	spinlock_t *from_lock, *to_lock;

	if (!from || !to)
		goto out_unmap;
	from_lock = &virt_to_page(from)->ptl;
	to_lock = &virt_to_page(to)->ptl;
	spin_lock_two(from_lock, to_lock);
	for (unsigned int i = 0; i < nr; i++) {
		pte_t entry;

		if (pte_none(ptep_get(from + i)))
			continue;
		entry = ptep_get_and_clear(mm, old + i * PAGE_SIZE, from + i);
		if (pte_present(entry))
			entry = pte_mksoft_dirty(entry);
		set_pte_at(mm, new + i * PAGE_SIZE, to + i, entry);
	}
	spin_unlock_two(from_lock, to_lock);
out_unmap:
	if (to)
		pte_unmap(to);
	if (from)
		pte_unmap(from);
}

static bool move_huge_pmd(struct mm_struct *mm, pmd_t *old_pmd, pmd_t *new_pmd)
{
	spinlock_t *from_lock = pmd_lockptr(mm, old_pmd);
	spinlock_t *to_lock = pmd_lockptr(mm, new_pmd);
	bool moved = false;

	spin_lock_two(from_lock, to_lock);
	if (pmd_trans_huge(pmdp_get(old_pmd)) && pmd_none(pmdp_get(new_pmd))) {
		pmd_t leaf = pmdp_huge_get_and_clear(mm, 0, old_pmd);

		pgtable_trans_huge_deposit(mm, new_pmd,
				pgtable_trans_huge_withdraw(mm, old_pmd));
		set_pmd_at(mm, 0, new_pmd, pmd_mksoft_dirty(leaf));
		moved = true;
	}
	spin_unlock_two(from_lock, to_lock);
	return moved;
}

/* The part of a move that one PMD entry covers on both sides. */
static int move_pmd_part(struct vm_area_struct *vma, pf_addr_t old,
			 pf_addr_t new, u64 bytes)
{
	struct mm_struct *mm = vma->vm_mm;
	pmd_t *old_pmd = mm_find_pmd(mm, old), *new_pmd;

	if (!old_pmd || pmd_none(pmdp_get(old_pmd)))
		return 0;
	new_pmd = mm_alloc_pmd(mm, new);
	if (!new_pmd)
		return -ENOMEM;
	if (pmd_trans_huge(pmdp_get(old_pmd))) {
		if (bytes == PMD_SIZE && move_huge_pmd(mm, old_pmd, new_pmd))
			return 0;
		split_huge_pmd(vma, old_pmd, old);
	}
	if (pte_alloc(mm, new_pmd))
		return -ENOMEM;
	move_ptes(mm, old_pmd, old, new_pmd, new, bytes >> PAGE_SHIFT);
	return 0;
}

/* Return: bytes moved before memory ran out. */
static u64 move_page_tables(struct vm_area_struct *vma, pf_addr_t old,
			    pf_addr_t new, u64 length)
{
	u64 done = 0;

	vma_rmap_lock(vma);
	while (done < length) {
		u64 part = min(PMD_SIZE - ((old + done) & ~PMD_MASK),
			       PMD_SIZE - ((new + done) & ~PMD_MASK));

		part = min(part, length - done);
		if (move_pmd_part(vma, old + done, new + done, part))
			break;
		done += part;
	}
	vma_rmap_unlock(vma);
	return done;
}

/*
 * Move [old_address, + old_length) of @vma to new_address.  When memory runs out
 * half-way, all that moved goes back: the old tables are still there, so that
 * cannot fail.  The old range is cut out first, so that unmapping it cannot
 * fail either.
 */
static int move_vma(struct remap *r, struct vm_area_struct *vma)
{
	const bool stays = r->flags & MREMAP_DONTUNMAP;
	struct mm_struct *mm = r->mm;
	struct vm_area_struct *new;
	u64 done;
	int err;

	if (mm->map_count >= MAX_MAP_COUNT - 3)
		return fail(-ENOMEM, "there are %" PRIu64 " areas already",
			    mm->map_count, 0, 0);
	r->locked = vma->vm_flags & VM_LOCKED;
	if (!stays) {
		err = vma_isolate(&vma, r->old_address,
				  r->old_address + r->old_length);
		if (err)
			return err;
	}
	new = vm_area_alloc(mm, r->new_address, r->new_address + r->new_length,
			    (vma->vm_flags & ~__VM_UFFD_FLAGS) | VM_SOFTDIRTY);
	if (!new) {
		vma_merge_around(vma);
		return fail(-ENOMEM, "no memory for an area at %#" PRIx64,
			    r->new_address, 0, 0);
	}
	new->vm_ops = vma->vm_ops;
	vma_set_file(new, vma->vm_file);
	hugetlb_share(new, vma);
	new->vm_pgoff = linear_page_index(vma, r->old_address);
	vma_rmap_lock(vma);
	anon_vma_clone(new, vma);
	__link_file_vma(new);
	vma_rmap_unlock(vma);
	vma_link(mm, new);
	if (is_vm_hugetlb_page(vma)) {
		done = hugetlb_move(vma, new, r->old_address, r->new_address,
				    r->old_length) ? 0 : r->old_length;
	} else {
		done = move_page_tables(vma, r->old_address, r->new_address,
					r->old_length);
	}
	if (done < r->old_length) {
		(void)move_page_tables(new, r->new_address, r->old_address,
				       done);
		hugetlb_drop_share(new);
		BUG_ON(unmap_region(mm, new->vm_start, new->vm_end));
		vma_merge_around(vma);
		return fail(-ENOMEM, "no memory for page tables at %#" PRIx64,
			    r->new_address + done, 0, 0);
	}
	hugetlb_drop_share(vma);
	/* Whoever serves the old place was not asked about the new one. */
	if (vma->vm_flags & VM_UFFD_WP)
		uffd_wp_range(new, new->vm_start, new->vm_end, false);
	if (stays)
		vma_set_flags(vma, vma->vm_flags &
				   ~(VM_LOCKED | VM_LOCKONFAULT));
	else
		BUG_ON(unmap_region(mm, r->old_address,
				    r->old_address + r->old_length));
	vma_merge_around(new);
	return 0;
}

static int check_remap(const struct remap *r, u64 old_length)
{
	const unsigned int known = MREMAP_MAYMOVE | MREMAP_FIXED |
				   MREMAP_DONTUNMAP;

	if ((r->flags & ~known) ||
	    ((r->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) &&
	     !(r->flags & MREMAP_MAYMOVE)))
		return fail(-EINVAL, "mremap flags %#" PRIx64, r->flags, 0, 0);
	if ((r->flags & MREMAP_DONTUNMAP) && old_length != r->new_length)
		return fail(-EINVAL, "lengths %" PRIu64 " and %" PRIu64
			    " differ", old_length, r->new_length, 0);
	if (!IS_ALIGNED(r->old_address, PAGE_SIZE))
		return fail(-EINVAL, "address %#" PRIx64
			    " is not a multiple of the page size",
			    r->old_address, 0, 0);
	if (!ALIGN(r->new_length, PAGE_SIZE))
		return fail(-EINVAL, "new length %" PRIu64, r->new_length, 0, 0);
	return 0;
}

/*
 * The area that [old_address, + old_length) lies in, whole, if it may become
 * new_length.
 */
static int vma_to_resize(const struct remap *r, struct vm_area_struct **out)
{
	struct vm_area_struct *vma = vma_lookup(r->mm, r->old_address);

	if (!vma)
		return fail(-EFAULT, "nothing is mapped at %#" PRIx64,
			    r->old_address, 0, 0);
	if (!r->old_length)
		return fail(-EINVAL, "old length 0 of the private area at %#"
			    PRIx64, r->old_address, 0, 0);
	if ((r->flags & MREMAP_DONTUNMAP) &&
	    (vma->vm_flags & (VM_DONTEXPAND | VM_PFNMAP)))
		return fail(-EINVAL, "the area at %#" PRIx64 " cannot be moved "
			    "from", vma->vm_start, 0, 0);
	if (r->old_length > vma->vm_end - r->old_address)
		return fail(-EFAULT, "%#" PRIx64 " + %" PRIu64 " reaches over "
			    "the end of its area", r->old_address,
			    r->old_length, 0);
	if (r->new_length > r->old_length &&
	    (vma->vm_flags & (VM_DONTEXPAND | VM_PFNMAP)))
		return fail(-EFAULT, "the area at %#" PRIx64 " cannot grow",
			    vma->vm_start, 0, 0);
	*out = vma;
	return 0;
}

static bool can_grow(const struct remap *r, struct vm_area_struct *vma)
{
	pf_addr_t end = r->old_address + r->new_length;

	return vma->vm_end == r->old_address + r->old_length &&
	       end <= TASK_SIZE && end > vma->vm_end &&
	       !find_vma_intersection(r->mm, vma->vm_end, end);
}

static int check_target(const struct remap *r)
{
	if (!IS_ALIGNED(r->new_address, PAGE_SIZE) ||
	    r->new_length > TASK_SIZE ||
	    r->new_address > TASK_SIZE - r->new_length)
		return fail(-EINVAL, "new address %#" PRIx64 " + %" PRIu64
			    " is unaligned or above the user addresses",
			    r->new_address, r->new_length, 0);
	if (r->old_address + r->old_length > r->new_address &&
	    r->new_address + r->new_length > r->old_address)
		return fail(-EINVAL, "old and new range overlap at %#" PRIx64,
			    r->new_address, 0, 0);
	/* Both ranges may be cut out of the middle of an area. */
	if (r->mm->map_count + 2 >= MAX_MAP_COUNT - 3)
		return fail(-ENOMEM, "there are %" PRIu64 " areas already",
			    r->mm->map_count, 0, 0);
	return 0;
}

static int choose_target(struct remap *r, struct vm_area_struct *vma)
{
	pf_addr_t align = is_vm_hugetlb_page(vma) ?
			  huge_page_size(hstate_vma(vma)) : PAGE_SIZE;

	if (!(r->flags & MREMAP_FIXED))
		r->new_address = unmapped_area(r->mm, r->new_address,
					       r->new_length, align);
	else if (r->new_address < MMAP_MIN_ADDR)
		return fail(-EPERM, "new address %#" PRIx64 " is below %#"
			    PRIx64, r->new_address, MMAP_MIN_ADDR, 0);
	return r->new_address ? 0 :
		fail(-ENOMEM, "no room for %" PRIu64 " bytes", r->new_length, 0,
		     0);
}

/*
 * To a place of the caller's choice.  As in Linux, the place is made free before
 * the old range is looked at closely.
 */
static int mremap_to(struct remap *r)
{
	struct vm_area_struct *vma;
	int err = check_target(r);

	if (err)
		return err;
	if (r->flags & MREMAP_FIXED) {
		err = munmap_locked(r->mm, r->new_address, r->new_length);
		if (err)
			return err;
	}
	if (r->old_length > r->new_length) {
		err = munmap_locked(r->mm, r->old_address + r->new_length,
				    r->old_length - r->new_length);
		if (err)
			return err;
		r->old_length = r->new_length;
	}
	err = vma_to_resize(r, &vma);
	if (!err)
		err = choose_target(r, vma);
	return err ? err : move_vma(r, vma);
}

static int grow(struct remap *r)
{
	struct vm_area_struct *vma;
	int err = vma_to_resize(r, &vma);

	if (err)
		return err;
	if (can_grow(r, vma)) {
		r->new_address = r->old_address;
		r->locked = vma->vm_flags & VM_LOCKED;
		vma_rmap_lock(vma);
		vma_set_range(vma, vma->vm_start,
			      r->old_address + r->new_length, vma->vm_pgoff);
		vma_rmap_unlock(vma);
		vma_merge_around(vma);
		return 0;
	}
	if (!(r->flags & MREMAP_MAYMOVE))
		return fail(-ENOMEM, "no room to grow at %#" PRIx64,
			    vma->vm_end, 0, 0);
	if (r->new_length > TASK_SIZE)
		return fail(-ENOMEM, "%" PRIu64 " bytes are more than there are "
			    "addresses", r->new_length, 0, 0);
	r->new_address = 0;
	err = choose_target(r, vma);
	return err ? err : move_vma(r, vma);
}

/* Lengths become whole huge pages; addresses have to be, wanted or not. */
static int round_to_huge(struct remap *r, struct vm_area_struct *vma)
{
	u64 size = huge_page_size(hstate_vma(vma));

	if (!hugetlb_aligned(vma, r->old_address | r->new_address))
		return fail(-EINVAL, "not whole huge pages at %#" PRIx64
			    " and %#" PRIx64, r->old_address, r->new_address, 0);
	/* Its reservations end where it does. */
	if (r->new_length > ALIGN(r->old_length, size))
		return fail(-EINVAL, "the area at %#" PRIx64 " of huge pages "
			    "cannot grow", vma->vm_start, 0, 0);
	r->old_length = ALIGN(r->old_length, size);
	r->new_length = ALIGN(r->new_length, size);
	return 0;
}

static int remap_locked(struct remap *r)
{
	struct vm_area_struct *vma = vma_lookup(r->mm, r->old_address);
	int err;

	if (!vma)
		return fail(-EFAULT, "nothing is mapped at %#" PRIx64,
			    r->old_address, 0, 0);
	if (is_vm_hugetlb_page(vma)) {
		err = round_to_huge(r, vma);
		if (err)
			return err;
	}
	if (r->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		return mremap_to(r);
	if (r->old_length < r->new_length)
		return grow(r);
	/* Less, or the same, of whatever is there: no area is asked for. */
	r->new_address = r->old_address;
	if (r->old_length == r->new_length)
		return 0;
	return munmap_locked(r->mm, r->old_address + r->new_length,
			     r->old_length - r->new_length);
}

int do_mremap(struct mm_struct *mm, pf_addr_t old_address, u64 old_length,
	      u64 new_length, unsigned int flags, pf_addr_t new_address,
	      pf_addr_t *address)
{
	struct remap r = {
		.mm = mm,
		.old_address = old_address,
		.new_address = new_address,
		.new_length = new_length,
		.flags = flags,
	};
	int err = check_remap(&r, old_length);

	if (err)
		return err;
	r.old_length = ALIGN(old_length, PAGE_SIZE);
	r.new_length = ALIGN(new_length, PAGE_SIZE);
	if (mmap_write_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to move %#" PRIx64,
			    old_address, 0, 0);
	err = remap_locked(&r);
	mmap_write_unlock(mm);
	if (err)
		return err;
	if (r.locked && r.new_length > r.old_length)
		(void)mm_populate(mm, r.new_address + r.old_length,
				  r.new_length - r.old_length, true);
	*address = r.new_address;
	return 0;
}
