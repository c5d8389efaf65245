/* SPDX-License-Identifier: MIT */
/*
 * Write-protection whose faults somebody else resolves.
 *
 * A protected entry is read-only and has a mark; nothing makes it writable while
 * the mark is there.  The page stays exclusive: when the protection ends, the
 * store goes to the page that a pin sees (inv_O5).
 *
 * A fault is on the list of those who wait before it looks at the entry for the
 * last time, and the entry changes before the list is looked at: so a fault
 * either sees the protection gone, or is woken.
 *
 * Locks: mmap_lock, page-table lock; ctx->lock.
 * Source: fs/userfaultfd.c, mm/userfaultfd.c, mm/mprotect.c (MM_CP_UFFD_WP)
 */
#include "mm/userfaultfd.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/pagemap.h"
#include "mm/swapops.h"

#include <errno.h>
#include <inttypes.h>

struct userfaultfd_ctx {
	atomic_t refcount;
	userfault_fn fn;		/* (C) */
	void *arg;			/* (C) */
	spinlock_t lock;		/* waiting */
	struct list_head waiting;
	struct wait_queue queue;
};

struct userfault_wait {
	struct list_head list;		/* ctx->lock; unless woken */
	pf_addr_t address;		/* (C) */
	bool woken;			/* (A) written under ctx->lock */
};

struct userfaultfd_ctx *userfaultfd_ctx_get(struct userfaultfd_ctx *ctx)
{
	if (ctx)
		atomic_inc(&ctx->refcount);
	return ctx;
}

void userfaultfd_ctx_put(struct userfaultfd_ctx *ctx)
{
	if (!ctx || !atomic_dec_and_test(&ctx->refcount))
		return;
	BUG_ON(!list_empty(&ctx->waiting));
	kfree(ctx);
}

static struct userfaultfd_ctx *ctx_create(userfault_fn fn, void *arg)
{
	struct userfaultfd_ctx *ctx = kzalloc(sizeof(*ctx));

	if (!ctx)
		return NULL;
	atomic_set(&ctx->refcount, 1);
	ctx->fn = fn;
	ctx->arg = arg;
	spin_lock_init(&ctx->lock, RANK_USERFAULT);
	INIT_LIST_HEAD(&ctx->waiting);
	wait_queue_init(&ctx->queue);
	return ctx;
}

/* ---- faults ---------------------------------------------------------- */

/* A woken one's stack is not touched any more once the lock is dropped. */
static bool wake_waiting(struct userfaultfd_ctx *ctx, pf_addr_t start,
			 pf_addr_t end)
{
	struct userfault_wait *wait, *next;
	bool any = false;

	spin_lock(&ctx->lock);
	list_for_each_entry_safe(wait, next, &ctx->waiting, list) {
		if (wait->address < start || wait->address >= end)
			continue;
		list_del(&wait->list);
		smp_store_release(&wait->woken, true);
		any = true;
	}
	spin_unlock(&ctx->lock);
	return any;
}

void wake_userfault(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end)
{
	struct userfaultfd_ctx *ctx = vma->userfaultfd_ctx;

	mmap_assert_locked(vma->vm_mm);
	if (ctx && wake_waiting(ctx, start, end))
		wake_up_all(&ctx->queue);
}

static void begin_wait(struct userfaultfd_ctx *ctx, struct userfault_wait *wait)
{
	spin_lock(&ctx->lock);
	list_add_tail(&wait->list, &ctx->waiting);
	spin_unlock(&ctx->lock);
}

/* After this nobody knows of @wait. */
static void finish_wait(struct userfaultfd_ctx *ctx, struct userfault_wait *wait)
{
	spin_lock(&ctx->lock);
	if (!wait->woken)
		list_del(&wait->list);
	spin_unlock(&ctx->lock);
}

static bool userfaultfd_must_wait(struct mm_struct *mm, pf_addr_t address)
{
	pte_t pte = mm_lookup_entry(mm, address);

	return pte_present(pte) && pte_uffd_wp(pte);
}

static enum wait_mode blocking_state(unsigned int flags)
{
	if (flags & FAULT_FLAG_INTERRUPTIBLE)
		return WAIT_INTERRUPTIBLE;
	return flags & FAULT_FLAG_KILLABLE ? WAIT_KILLABLE :
					     WAIT_UNINTERRUPTIBLE;
}

/* Tell the handler, and sleep until the page is woken, or a signal comes. */
static void wait_for_handler(struct userfaultfd_ctx *ctx,
			     struct userfault_wait *wait, enum wait_mode mode)
{
	u32 ticket = wait_begin(&ctx->queue);

	ctx->fn(ctx->arg, wait->address);
	while (!smp_load_acquire(&wait->woken)) {
		if (wait_sleep(&ctx->queue, ticket, mode))
			break;
		ticket = wait_again(&ctx->queue);
	}
	wait_end(&ctx->queue);
}

vm_fault_t handle_userfault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct mm_struct *mm = vma->vm_mm;
	struct userfault_wait wait = { .address = vmf->address };
	struct userfaultfd_ctx *ctx;
	bool must_wait;

	mmap_assert_locked(mm);
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	ctx = userfaultfd_ctx_get(vma->userfaultfd_ctx);
	begin_wait(ctx, &wait);
	must_wait = userfaultfd_must_wait(mm, vmf->address);
	mmap_read_unlock(mm);
	if (must_wait)
		wait_for_handler(ctx, &wait, blocking_state(vmf->flags));
	finish_wait(ctx, &wait);
	userfaultfd_ctx_put(ctx);
	return VM_FAULT_RETRY;
}

/* ---- entries --------------------------------------------------------- */

static pte_t protect_pte(pte_t pte)
{
	swp_entry_t entry;

	if (pte_present(pte))
		return pte_mkuffd_wp(pte_wrprotect(pte));
	entry = pte_to_swp_entry(pte);
	if (is_hwpoison_entry(entry) || is_pte_marker_entry(entry))
		return pte;
	return pte_swp_mkuffd_wp(pte_swp_wrprotect(pte));
}

static pte_t unprotect_pte(struct vm_area_struct *vma, pf_addr_t address,
			   pte_t pte)
{
	if (!pte_present(pte)) {
		if (is_pte_marker_entry(pte_to_swp_entry(pte)) &&
		    swp_offset(pte_to_swp_entry(pte)) == PTE_MARKER_UFFD_WP)
			return __pte(0);
		return pte_swp_clear_uffd_wp(pte);
	}
	if (!pte_uffd_wp(pte))
		return pte;
	pte = pte_clear_uffd_wp(pte);
	/* The fault that this saves would find nothing else to do. */
	return can_change_pte_writable(vma, address, pte) ?
	       pte_mkwrite_novma(pte) : pte;
}

static void wp_ptes(struct vm_area_struct *vma, pmd_t *pmd, pf_addr_t addr,
		    pf_addr_t end, bool on)
{
	pte_t *first, *ptep;
	spinlock_t *ptl;

	first = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!first)
		return;
	for (ptep = first; addr < end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = ptep_get(ptep);

		if (!pte_none(pte))
			set_pte_at(vma->vm_mm, addr, ptep, on ?
				   protect_pte(pte) :
				   unprotect_pte(vma, addr, pte));
	}
	pte_unmap_unlock(first, ptl);
}

/* Return: whether it was a leaf. */
static bool wp_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd, bool on)
{
	spinlock_t *ptl = pmd_lock(vma->vm_mm, pmd);
	pmd_t leaf = pmdp_get(pmd);
	const bool huge = pmd_trans_huge(leaf);

	if (huge && on)
		set_pmd_at(vma->vm_mm, 0, pmd,
			   pmd_mkuffd_wp(pmd_wrprotect(leaf)));
	else if (huge && pmd_uffd_wp(leaf))
		set_pmd_at(vma->vm_mm, 0, pmd,
			   pmd_upgrade_write(vma, pmd_clear_uffd_wp(leaf)));
	spin_unlock(ptl);
	return huge;
}

void uffd_wp_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end,
		   bool on)
{
	pf_addr_t addr, next;

	mmap_assert_locked(vma->vm_mm);
	if (is_vm_hugetlb_page(vma)) {
		hugetlb_wp_range(vma, start, end, on);
		return;
	}
	for (addr = start; addr < end; addr = next) {
		pmd_t *pmd = mm_find_pmd(vma->vm_mm, addr);

		if (!pmd) {
			next = pud_addr_end(addr, end);
			continue;
		}
		next = pmd_addr_end(addr, end);
		if (pmd_trans_huge(pmdp_get(pmd))) {
			if (next - addr == PMD_SIZE &&
			    wp_huge_pmd(vma, pmd, on))
				continue;
			split_huge_pmd(vma, pmd, addr);
		}
		wp_ptes(vma, pmd, addr, next, on);
	}
}

static bool cuts_huge_page(struct vm_area_struct *vma, pf_addr_t address)
{
	return is_vm_hugetlb_page(vma) && vma->vm_start < address &&
	       address < vma->vm_end && !hugetlb_aligned(vma, address);
}

static int wp_areas(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
		    bool on)
{
	struct vm_area_struct *vma = find_vma_intersection(mm, start, end);
	int err = -ENOENT;

	for (; vma && vma->vm_start < end; vma = vma_next(vma)) {
		pf_addr_t first = max(start, vma->vm_start);
		pf_addr_t last = min(end, vma->vm_end);

		if (!(vma->vm_flags & VM_UFFD_WP))
			return -ENOENT;
		if (cuts_huge_page(vma, start) || cuts_huge_page(vma, end))
			return -EINVAL;
		uffd_wp_range(vma, first, last, on);
		if (!on)
			wake_userfault(vma, first, last);
		err = 0;
	}
	return err;
}

int mwriteprotect_range(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			bool on)
{
	int err;

	if (mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting to protect %#" PRIx64,
			    start, 0, 0);
	err = wp_areas(mm, start, end, on);
	mmap_read_unlock(mm);
	return err ? fail(err, "not all of %#" PRIx64 "-%#" PRIx64 " is "
			  "registered for write-protection, or it ends inside "
			  "a huge page", start, end, 0) : 0;
}

/* ---- registering ----------------------------------------------------- */

static bool same_handler(const struct userfaultfd_ctx *ctx, userfault_fn fn,
			 void *arg)
{
	return ctx ? ctx->fn == fn && ctx->arg == arg : !fn;
}

static int check_area(struct vm_area_struct *vma, pf_addr_t start,
		      pf_addr_t end, userfault_fn fn, void *arg)
{
	if (!vma_is_anonymous(vma) && !is_vm_hugetlb_page(vma))
		return fail(-EINVAL, "faults of the area at %#" PRIx64
			    " cannot be served", vma->vm_start, 0, 0);
	if (!(vma->vm_flags & VM_MAYWRITE))
		return fail(-EPERM, "the area at %#" PRIx64 " may not be "
			    "written", vma->vm_start, 0, 0);
	if (cuts_huge_page(vma, start) || cuts_huge_page(vma, end))
		return fail(-EINVAL, "%#" PRIx64 "-%#" PRIx64 " ends inside a "
			    "huge page", start, end, 0);
	if ((vma->vm_flags & VM_UFFD_WP) &&
	    !same_handler(vma->userfaultfd_ctx, fn, arg))
		return fail(-EBUSY, "the area at %#" PRIx64 " has another "
			    "handler", vma->vm_start, 0, 0);
	return 0;
}

static int check_areas(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
		       userfault_fn fn, void *arg)
{
	struct vm_area_struct *vma = find_vma_intersection(mm, start, end);

	if (!vma)
		return fail(-EINVAL, "nothing is mapped in %#" PRIx64 "-%#"
			    PRIx64, start, end, 0);
	for (; vma && vma->vm_start < end; vma = vma_next(vma)) {
		int err = check_area(vma, start, end, fn, arg);

		if (err)
			return err;
	}
	return 0;
}

/* Give [start, end) of one area these flags and this handler. */
static int set_handler(struct vm_area_struct **vma, pf_addr_t start,
		       pf_addr_t end, vm_flags_t flags,
		       struct userfaultfd_ctx *ctx)
{
	struct userfaultfd_ctx *old;
	int err = vma_isolate(vma, max(start, (*vma)->vm_start),
			      min(end, (*vma)->vm_end));

	if (err)
		return err;
	old = (*vma)->userfaultfd_ctx;
	(*vma)->userfaultfd_ctx = userfaultfd_ctx_get(ctx);
	userfaultfd_ctx_put(old);
	vma_set_flags(*vma, flags);
	*vma = vma_merge_around(*vma);
	return 0;
}

static int register_areas(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			  struct userfaultfd_ctx *ctx)
{
	struct vm_area_struct *vma = find_vma_intersection(mm, start, end);

	for (; vma && vma->vm_start < end; vma = vma_next(vma)) {
		int err;

		if (vma->vm_flags & VM_UFFD_WP)
			continue;
		err = set_handler(&vma, start, end,
				  vma->vm_flags | VM_UFFD_WP, ctx);
		if (err)
			return err;
	}
	return 0;
}

int userfaultfd_register(struct mm_struct *mm, pf_addr_t start, pf_addr_t end,
			 userfault_fn fn, void *arg)
{
	struct userfaultfd_ctx *ctx = NULL;
	int err;

	if (fn) {
		ctx = ctx_create(fn, arg);
		if (!ctx)
			return fail(-ENOMEM, "no memory for a handler", 0, 0,
				    0);
	}
	mmap_write_lock(mm);
	err = check_areas(mm, start, end, fn, arg);
	if (!err)
		err = register_areas(mm, start, end, ctx);
	mmap_write_unlock(mm);
	userfaultfd_ctx_put(ctx);
	return err;
}

static int unregister_areas(struct mm_struct *mm, pf_addr_t start,
			    pf_addr_t end)
{
	struct vm_area_struct *vma = find_vma_intersection(mm, start, end);

	if (!vma)
		return fail(-EINVAL, "nothing is mapped in %#" PRIx64 "-%#"
			    PRIx64, start, end, 0);
	for (; vma && vma->vm_start < end; vma = vma_next(vma)) {
		pf_addr_t first = max(start, vma->vm_start);
		pf_addr_t last = min(end, vma->vm_end);
		int err;

		if (!(vma->vm_flags & VM_UFFD_WP))
			continue;
		if (cuts_huge_page(vma, start) || cuts_huge_page(vma, end))
			return fail(-EINVAL, "%#" PRIx64 "-%#" PRIx64 " ends "
				    "inside a huge page", start, end, 0);
		uffd_wp_range(vma, first, last, false);
		wake_userfault(vma, first, last);
		err = set_handler(&vma, start, end,
				  vma->vm_flags & ~VM_UFFD_WP, NULL);
		if (err)
			return err;
	}
	return 0;
}

int userfaultfd_unregister(struct mm_struct *mm, pf_addr_t start, pf_addr_t end)
{
	int err;

	mmap_write_lock(mm);
	err = unregister_areas(mm, start, end);
	mmap_write_unlock(mm);
	return err;
}
