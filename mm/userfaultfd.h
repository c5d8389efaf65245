/* SPDX-License-Identifier: MIT */
/*
 * Write-protection whose faults somebody else resolves.
 *
 * Source: fs/userfaultfd.c, mm/userfaultfd.c, include/linux/userfaultfd_k.h
 * Differs: a handler is a function, not a file; write-protect mode only, and
 *          only of what is mapped (Linux: without UFFD_FEATURE_WP_UNPOPULATED).
 */
#ifndef MM_USERFAULTFD_H
#define MM_USERFAULTFD_H

#include "mm/mm.h"

/*
 * Called at a write fault, by the thread that faults, without mmap_lock.  Once
 * it has returned, the thread sleeps until the protection of @address ends.
 */
typedef void (*userfault_fn)(void *arg, pf_addr_t address);

/*
 * userfaultfd_register() - serve write faults of [start, end)
 * @fn: the handler; NULL: none, a store ends the protection of its page
 *
 * Nothing is protected by this alone.  Areas that have the same handler already
 * stay as they are.
 * Return: 0; -EINVAL (nothing mapped there, or an area that cannot), -EPERM (an
 * area that may not be written), -EBUSY (served by another handler), -ENOMEM
 * (areas before the one that could not be cut are registered).
 * Context: takes mmap_lock for write.
 * Source: fs/userfaultfd.c:userfaultfd_register()
 */
int __must_check userfaultfd_register(struct mm_struct *mm, pf_addr_t start,
				      pf_addr_t end, userfault_fn fn, void *arg);

/*
 * userfaultfd_unregister() - end the protection of [start, end), and wake up
 *
 * Return: 0; -EINVAL (nothing is mapped there), -ENOMEM (as above).
 * Source: fs/userfaultfd.c:userfaultfd_unregister()
 */
int __must_check userfaultfd_unregister(struct mm_struct *mm, pf_addr_t start,
					pf_addr_t end);

/*
 * mwriteprotect_range() - protect what [start, end) maps, or end that and wake
 *
 * Return: 0; -ENOENT (an area that is not registered; those before it are
 * changed), -EINVAL (inside a huge page of a pool), -EINTR.
 * Context: takes mmap_lock for read.
 * Source: mm/userfaultfd.c:mwriteprotect_range()
 */
int __must_check mwriteprotect_range(struct mm_struct *mm, pf_addr_t start,
				     pf_addr_t end, bool on);

/* uffd_wp_range() - the same for one area; mmap_lock is held, nobody woken */
void uffd_wp_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end,
		   bool on);

/*
 * handle_userfault() - a store met a protected entry
 *
 * Return: VM_FAULT_RETRY: mmap_lock has been dropped, unless RETRY_NOWAIT;
 * VM_FAULT_SIGBUS where the fault may not drop it.
 * Context: mmap_lock held for read if the fault may drop it; no other lock.
 * Source: fs/userfaultfd.c:handle_userfault()
 */
vm_fault_t handle_userfault(struct vm_fault *vmf);

/* wake_userfault() - who waits for a page of [start, end) looks again */
void wake_userfault(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end);

/* A handler lives as long as an area or a fault refers to it; NULL is none. */
struct userfaultfd_ctx *userfaultfd_ctx_get(struct userfaultfd_ctx *ctx);
void userfaultfd_ctx_put(struct userfaultfd_ctx *ctx);

#endif
