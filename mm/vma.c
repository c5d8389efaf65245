/* SPDX-License-Identifier: MIT */
/*
 * The areas of an address space, in a tree by address.
 *
 * 1. Areas do not overlap and are not empty.
 * 2. Two neighbours that could be one area may stay two, but the calls here
 *    leave none that they changed.
 * 3. A border between two areas moves in one hold of the anon_vma's lock, so
 *    that a walk from a folio always finds one of them there, and not both.
 *
 * Source: mm/mmap.c, mm/vma.c
 * Differs: a red-black tree (libbsd) under mmap_lock, no per-area locks; equal
 *          neighbours always merge, also if both have pages; an area that was
 *          cut for a change that then failed is put together again.
 */
#include "mm/mm.h"

#include "host/errtext.h"
#include "mm/fs.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <inttypes.h>

static int vma_compare(struct vm_area_struct *a, struct vm_area_struct *b)
{
	return a->vm_start < b->vm_start ? -1 : a->vm_start > b->vm_start;
}

RB_GENERATE_INTERNAL(vma_tree, vm_area_struct, vm_rb, vma_compare,
		     static __maybe_unused)

/* find_vma() - the first area that ends above @address, or NULL */
struct vm_area_struct *find_vma(struct mm_struct *mm, pf_addr_t address)
{
	struct vm_area_struct *vma = READ_ONCE(mm->mmap_cache), *best = NULL;

	mmap_assert_locked(mm);
	if (vma && vma->vm_start <= address && address < vma->vm_end)
		return vma;
	vma = RB_ROOT(&mm->mm_rb);
	while (vma) {
		if (address < vma->vm_end) {
			best = vma;
			if (vma->vm_start <= address)
				break;
			vma = RB_LEFT(vma, vm_rb);
		} else {
			vma = RB_RIGHT(vma, vm_rb);
		}
	}
	/* Areas are freed under the write lock only, which clears the cache. */
	if (best)
		WRITE_ONCE(mm->mmap_cache, best);
	return best;
}

struct vm_area_struct *find_vma_intersection(struct mm_struct *mm,
					     pf_addr_t start, pf_addr_t end)
{
	struct vm_area_struct *vma = find_vma(mm, start);

	return vma && vma->vm_start < end ? vma : NULL;
}

struct vm_area_struct *vma_first(struct mm_struct *mm)
{
	return RB_MIN(vma_tree, &mm->mm_rb);
}

struct vm_area_struct *vma_last(struct mm_struct *mm)
{
	return RB_MAX(vma_tree, &mm->mm_rb);
}

struct vm_area_struct *vma_next(struct vm_area_struct *vma)
{
	return RB_NEXT(vma_tree, &vma->vm_mm->mm_rb, vma);
}

struct vm_area_struct *vma_prev(struct vm_area_struct *vma)
{
	return RB_PREV(vma_tree, &vma->vm_mm->mm_rb, vma);
}

pgprot_t vm_get_page_prot(vm_flags_t flags)
{
	/*
	 * Private: a store has to fault first, to get a page of its own.  There
	 * is no write-only entry: such an area's pages can be read.
	 */
	return prot_for(flags & (VM_READ | VM_WRITE),
			(flags & VM_WRITE) && (flags & VM_SHARED),
			flags & VM_EXEC);
}

bool vma_wants_writenotify(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & (VM_WRITE | VM_SHARED)) ==
	       (VM_WRITE | VM_SHARED) &&
	       vma->vm_ops && vma->vm_ops->page_mkwrite;
}

void vma_set_flags(struct vm_area_struct *vma, vm_flags_t flags)
{
	/* Whole: a folio's walk to its entries looks without mmap_lock. */
	WRITE_ONCE(vma->vm_flags, flags);
	/* The owner hears of the first store: as if each had its own page. */
	if (vma_wants_writenotify(vma))
		flags &= ~VM_SHARED;
	WRITE_ONCE(vma->vm_page_prot.pgprot, vm_get_page_prot(flags).pgprot);
}

void vma_set_file(struct vm_area_struct *vma, struct file *file)
{
	vma->vm_file = file;
	if (!file)
		return;
	get_file(file);
	if (vma_may_share_writes(vma))
		atomic_inc(&file->f_mapping->i_mmap_writable);
	/* What the protection is depends on the operations. */
	vma_set_flags(vma, vma->vm_flags);
}

struct vm_area_struct *vm_area_alloc(struct mm_struct *mm, pf_addr_t start,
				     pf_addr_t end, vm_flags_t flags)
{
	struct vm_area_struct *vma = kzalloc(sizeof(*vma));

	if (!vma)
		return NULL;
	vma->vm_mm = mm;
	vma->vm_start = start;
	vma->vm_end = end;
	vma->vm_pgoff = start >> PAGE_SHIFT;
	vma->anon_rmap.vma = vma;
	vma->file_rmap.vma = vma;
	vma_set_flags(vma, flags);
	return vma;
}

void vm_area_free(struct vm_area_struct *vma)
{
	userfaultfd_ctx_put(vma->userfaultfd_ctx);
	if (vma->vm_file && vma_may_share_writes(vma))
		atomic_dec(&vma->vm_file->f_mapping->i_mmap_writable);
	if (vma->vm_file)
		fput(vma->vm_file);
	kfree(vma);
}

void vma_link(struct mm_struct *mm, struct vm_area_struct *vma)
{
	struct vm_area_struct *clash;

	mmap_assert_write_locked(mm);
	clash = RB_INSERT(vma_tree, &mm->mm_rb, vma);
	BUG_ON(clash);
	mm->map_count++;
}

void vma_unlink(struct mm_struct *mm, struct vm_area_struct *vma)
{
	mmap_assert_write_locked(mm);
	RB_REMOVE(vma_tree, &mm->mm_rb, vma);
	WRITE_ONCE(mm->mmap_cache, NULL);
	mm->map_count--;
}

static int inside_huge_page(struct vm_area_struct *vma, pf_addr_t address)
{
	return fail(-EINVAL, "%#" PRIx64 " is inside a huge page of the area at "
		    "%#" PRIx64, address, vma->vm_start, 0);
}

void vma_set_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end,
		   pgoff_t pgoff)
{
	vma_rmap_pre_update(vma);
	vma->vm_start = start;
	vma->vm_end = end;
	vma->vm_pgoff = pgoff;
	vma_rmap_post_update(vma);
}

int __split_vma(struct vm_area_struct *vma, pf_addr_t address)
{
	struct mm_struct *mm = vma->vm_mm;
	struct vm_area_struct *upper;

	VM_BUG_ON(address <= vma->vm_start || address >= vma->vm_end);
	if (is_vm_hugetlb_page(vma) && !hugetlb_aligned(vma, address))
		return inside_huge_page(vma, address);
	upper = vm_area_alloc(mm, address, vma->vm_end, vma->vm_flags);
	if (!upper)
		return fail(-ENOMEM, "no memory to cut the area at %#" PRIx64,
			    address, 0, 0);
	hugetlb_share(upper, vma);
	split_huge_pmd_at(vma, address);
	upper->vm_ops = vma->vm_ops;
	vma_set_file(upper, vma->vm_file);
	upper->userfaultfd_ctx = userfaultfd_ctx_get(vma->userfaultfd_ctx);
	upper->vm_pgoff = linear_page_index(vma, address);
	vma_rmap_lock(vma);
	vma_set_range(vma, vma->vm_start, address, vma->vm_pgoff);
	anon_vma_clone(upper, vma);
	__link_file_vma(upper);
	vma_rmap_unlock(vma);
	vma_link(mm, upper);
	return 0;
}

int split_vma(struct vm_area_struct *vma, pf_addr_t address)
{
	if (vma->vm_mm->map_count >= MAX_MAP_COUNT)
		return fail(-ENOMEM, "cutting the area at %#" PRIx64 " would "
			    "make more than %" PRIu64 " areas", address,
			    MAX_MAP_COUNT, 0);
	return __split_vma(vma, address);
}

int vma_isolate(struct vm_area_struct **vma, pf_addr_t start, pf_addr_t end)
{
	int err;

	if (start > (*vma)->vm_start) {
		err = split_vma(*vma, start);
		if (err)
			return err;
		*vma = vma_next(*vma);
	}
	if (end >= (*vma)->vm_end)
		return 0;
	err = split_vma(*vma, end);
	if (err)
		*vma = vma_merge_around(*vma);
	return err;
}

/* Are the two neighbours, and one piece of whatever they map? */
static bool in_line(struct vm_area_struct *low, struct vm_area_struct *high)
{
	return low && high && low->vm_end == high->vm_start &&
	       low->vm_ops == high->vm_ops && low->vm_file == high->vm_file &&
	       low->hstate == high->hstate &&
	       low->resv == high->resv &&
	       low->userfaultfd_ctx == high->userfaultfd_ctx &&
	       READ_ONCE(low->resv_unmapped) == READ_ONCE(high->resv_unmapped) &&
	       low->vm_pgoff + vma_pages(low) == high->vm_pgoff;
}

/* Soft-dirty areas merge with others; the result is soft-dirty. */
static bool same_flags(vm_flags_t a, vm_flags_t b)
{
	return !((a ^ b) & ~VM_SOFTDIRTY);
}

static bool can_merge(struct vm_area_struct *low, struct vm_area_struct *high)
{
	return in_line(low, high) && same_flags(low->vm_flags, high->vm_flags);
}

static void absorb(struct vm_area_struct *low, struct vm_area_struct *high)
{
	vma_set_flags(low, low->vm_flags | high->vm_flags);
	vma_rmap_lock(low);
	/* The lower one goes on with the reservations of both. */
	hugetlb_drop_share(high);
	vma_set_range(low, low->vm_start, high->vm_end, low->vm_pgoff);
	anon_vma_clone(low, high);
	__unlink_anon_vmas(high);
	__unlink_file_vma(high);
	vma_rmap_unlock(low);
	vma_unlink(high->vm_mm, high);
	vm_area_free(high);
}

struct vm_area_struct *vma_merge_around(struct vm_area_struct *vma)
{
	struct vm_area_struct *prev = vma_prev(vma), *next = vma_next(vma);

	if (can_merge(vma, next))
		absorb(vma, next);
	if (can_merge(prev, vma)) {
		absorb(prev, vma);
		vma = prev;
	}
	return vma;
}

/* @low ends and @high begins at @border from now on. */
static void set_border(struct vm_area_struct *low, struct vm_area_struct *high,
		       pf_addr_t border)
{
	pgoff_t pgoff = border >= high->vm_start ?
			linear_page_index(high, border) :
			linear_page_index(low, border);

	vma_rmap_lock(low);
	vma_set_range(low, low->vm_start, border, low->vm_pgoff);
	vma_set_range(high, border, high->vm_end, pgoff);
	/* What one of them has may be on the other side now. */
	anon_vma_clone(low, high);
	anon_vma_clone(high, low);
	vma_rmap_unlock(low);
}

/*
 * One end of @vma, which gets @flags, goes to the neighbour that it is going to
 * equal: that takes no memory, and makes no area more.
 *
 * Return: that neighbour, or NULL if there is none.
 */
static struct vm_area_struct *move_border(struct vm_area_struct *vma,
					  pf_addr_t start, pf_addr_t end,
					  vm_flags_t flags)
{
	struct vm_area_struct *prev = vma_prev(vma), *next = vma_next(vma);

	if (start == vma->vm_start && end < vma->vm_end &&
	    in_line(prev, vma) && same_flags(prev->vm_flags, flags)) {
		split_huge_pmd_at(vma, end);
		vma_set_flags(prev, prev->vm_flags | flags);
		set_border(prev, vma, end);
		return prev;
	}
	if (start > vma->vm_start && end == vma->vm_end &&
	    in_line(vma, next) && same_flags(next->vm_flags, flags)) {
		split_huge_pmd_at(vma, start);
		vma_set_flags(next, next->vm_flags | flags);
		set_border(vma, next, start);
		return next;
	}
	return NULL;
}

int vma_modify_flags(struct vm_area_struct **vma, pf_addr_t start,
		     pf_addr_t end, vm_flags_t flags)
{
	struct vm_area_struct *merged;
	int err;

	if (is_vm_hugetlb_page(*vma) && !hugetlb_aligned(*vma, start | end))
		return inside_huge_page(*vma, start | end);
	merged = move_border(*vma, start, end, flags);
	if (merged) {
		*vma = merged;
		return 0;
	}
	err = vma_isolate(vma, start, end);
	if (err)
		return err;
	vma_set_flags(*vma, flags);
	*vma = vma_merge_around(*vma);
	return 0;
}
