/* SPDX-License-Identifier: MIT */
/*
 * Address spaces: areas, faults, and the calls that change them.
 *
 * Every function returns 0 or a negative errno unless it says otherwise, with
 * Linux's errno for each misuse.  do_* functions take mmap_lock themselves.
 *
 * Source: include/linux/mm.h, mm/mmap.c
 */
#ifndef MM_MM_H
#define MM_MM_H

#include "mm/pgtable.h"

/* One past the highest user address: what no area or table reaches beyond. */
#define TASK_CEILING	((pf_addr_t)1 << 47)
#define MMAP_MIN_ADDR	((pf_addr_t)65536)
#define MAX_MAP_COUNT	65530u

int __must_check mm_create(struct machine *machine, struct mm_struct **out);
/*
 * dup_mm() - a copy of an address space, as fork() makes it (fork.c)
 *
 * Private memory is shared until one side writes; a page of @oldmm that may be
 * pinned stays its own, and the copy gets the bytes at once.  The new mm has
 * pinned nothing, and nothing of it is locked.
 *
 * Context: takes mmap_lock for write.
 * Return: 0; -ENOMEM; -EINTR for a fatal signal.  On failure there is no new
 * mm, and @oldmm has what it had: some of its pages may be write-protected, or
 * mapped by PTEs.
 * Owner: the caller, who calls mm_destroy().
 * Source: kernel/fork.c:dup_mm()
 */
int __must_check dup_mm(struct mm_struct *oldmm, struct mm_struct **out);
/* mm_alloc() - an empty one of the family @anon_vma; NULL: a family of its own */
struct mm_struct *mm_alloc(struct machine *machine, struct anon_vma *anon_vma);
/*
 * mm_destroy() - unmap everything and free the address space
 *
 * Context: no other call on it is running.  Pages got or pinned survive.
 */
void mm_destroy(struct mm_struct *mm);

/* mmap_lock */
static inline void mmap_read_lock(struct mm_struct *mm)
{
	down_read(&mm->mmap_lock);
}

static inline int __must_check mmap_read_lock_killable(struct mm_struct *mm)
{
	return down_read_killable(&mm->mmap_lock);
}

static inline bool __must_check mmap_read_trylock(struct mm_struct *mm)
{
	return down_read_trylock(&mm->mmap_lock);
}

static inline void mmap_read_unlock(struct mm_struct *mm)
{
	up_read(&mm->mmap_lock);
}

static inline void mmap_write_lock(struct mm_struct *mm)
{
	down_write(&mm->mmap_lock);
}

static inline int __must_check mmap_write_lock_killable(struct mm_struct *mm)
{
	return down_write_killable(&mm->mmap_lock);
}

static inline void mmap_write_unlock(struct mm_struct *mm)
{
	up_write(&mm->mmap_lock);
}

static inline void mmap_assert_locked(const struct mm_struct *mm)
{
	VM_BUG_ON(!rwsem_is_locked(&mm->mmap_lock));
	(void)mm;
}

static inline void mmap_assert_write_locked(const struct mm_struct *mm)
{
	VM_BUG_ON(!rwsem_is_write_locked(&mm->mmap_lock));
	(void)mm;
}

/* Areas (vma.c).  Context of all: mmap_lock held; to change one, for write. */
struct vm_area_struct *find_vma(struct mm_struct *mm, pf_addr_t address);
struct vm_area_struct *find_vma_intersection(struct mm_struct *mm,
					     pf_addr_t start, pf_addr_t end);
struct vm_area_struct *vma_next(struct vm_area_struct *vma);
struct vm_area_struct *vma_first(struct mm_struct *mm);
struct vm_area_struct *vma_last(struct mm_struct *mm);
struct vm_area_struct *vma_prev(struct vm_area_struct *vma);

/* vma_lookup() - the area that contains @address, or NULL */
static inline struct vm_area_struct *vma_lookup(struct mm_struct *mm,
						pf_addr_t address)
{
	struct vm_area_struct *vma = find_vma(mm, address);

	return vma && vma->vm_start <= address ? vma : NULL;
}

static inline bool vma_is_anonymous(const struct vm_area_struct *vma)
{
	return !vma->vm_ops;
}

static inline bool vma_is_accessible(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_ACCESS_FLAGS;
}

static inline bool is_vm_hugetlb_page(const struct vm_area_struct *vma)
{
	/* Also for those who have only the lock of its mappings. */
	return READ_ONCE(vma->vm_flags) & VM_HUGETLB;
}

static inline bool is_cow_mapping(vm_flags_t flags)
{
	return (flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE;
}

static inline bool vma_soft_dirty_enabled(const struct vm_area_struct *vma)
{
	return !(vma->vm_flags & VM_SOFTDIRTY);
}

static inline unsigned long vma_pages(const struct vm_area_struct *vma)
{
	return (vma->vm_end - vma->vm_start) >> PAGE_SHIFT;
}

static inline pgoff_t linear_page_index(const struct vm_area_struct *vma,
					pf_addr_t address)
{
	return ((address - vma->vm_start) >> PAGE_SHIFT) + vma->vm_pgoff;
}

struct vm_area_struct *vm_area_alloc(struct mm_struct *mm, pf_addr_t start,
				     pf_addr_t end, vm_flags_t flags);
void vm_area_free(struct vm_area_struct *vma);
void vma_link(struct mm_struct *mm, struct vm_area_struct *vma);
void vma_unlink(struct mm_struct *mm, struct vm_area_struct *vma);
void vma_set_flags(struct vm_area_struct *vma, vm_flags_t flags);
/* vma_set_file() - a new area maps @file, or nothing; vm_ops is set already */
void vma_set_file(struct vm_area_struct *vma, struct file *file);
/*
 * vma_wants_writenotify() - does the owner want to hear of the first store?
 *
 * Source: mm/vma.c:vma_wants_writenotify()
 */
bool vma_wants_writenotify(const struct vm_area_struct *vma);

/* vma_may_share_writes() - may it be written, now or later, for all to see? */
static inline bool vma_may_share_writes(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) ==
	       (VM_SHARED | VM_MAYWRITE);
}
/* vma_set_range() - Context: also vma_rmap_lock() */
void vma_set_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end,
		   pgoff_t pgoff);

/*
 * split_vma() - cut an area in two at @address
 *
 * Return: 0; -ENOMEM without memory or with MAX_MAP_COUNT areas; -EINVAL inside
 * a hugetlb page.  @vma keeps the lower part.  A PMD leaf across @address is
 * split.
 */
int __must_check split_vma(struct vm_area_struct *vma, pf_addr_t address);
/* __split_vma() - the same, however many areas there are */
int __must_check __split_vma(struct vm_area_struct *vma, pf_addr_t address);

/*
 * vma_isolate() - make [start, end), inside one area, an area of its own
 *
 * Return: that area in *@vma; or -ENOMEM, and *@vma is what it was.
 */
int __must_check vma_isolate(struct vm_area_struct **vma, pf_addr_t start,
			     pf_addr_t end);

/* vma_merge_around() - join @vma with equal neighbours; yields the result */
struct vm_area_struct *vma_merge_around(struct vm_area_struct *vma);

/*
 * vma_modify_flags() - give [start, end), inside one area, new flags
 *
 * What then equals its neighbour becomes one area with it.
 * Return: the area that [start, end) lies in now in *@vma; or -ENOMEM, with the
 * areas as they were.  The entries are the caller's business.
 * Source: mm/vma.c:vma_modify_flags()
 */
int __must_check vma_modify_flags(struct vm_area_struct **vma, pf_addr_t start,
				  pf_addr_t end, vm_flags_t flags);

/* vm_get_page_prot() - the protection of a fresh entry; private: read-only */
pgprot_t vm_get_page_prot(vm_flags_t flags);

/* Calls on address spaces (mmap.c, mprotect.c, mremap.c, madvise.c). */
struct mmap_request {
	pf_addr_t address;	/* hint, or the place itself if fixed */
	u64 length;		/* bytes, rounded up to pages */
	bool read, write, exec;
	bool fixed, noreplace;	/* noreplace: fixed, and -EEXIST if taken */
	bool populate;		/* fault all in, best effort */
	bool locked;
	struct hstate *hugetlb;	/* the pool, or NULL; @file says its own */
	struct file *file;	/* what to map, or NULL: anonymous memory */
	pgoff_t pgoff;		/* from there */
	bool shared;
	bool noreserve;		/* hugetlb: the pool promises nothing */
};

int __must_check do_mmap(struct mm_struct *mm, const struct mmap_request *req,
			 pf_addr_t *address);
int __must_check do_munmap(struct mm_struct *mm, pf_addr_t start, u64 length);
int __must_check do_mprotect(struct mm_struct *mm, pf_addr_t start, u64 length,
			     bool read, bool write, bool exec);

#define MREMAP_MAYMOVE	1u
#define MREMAP_FIXED	2u
#define MREMAP_DONTUNMAP 4u
int __must_check do_mremap(struct mm_struct *mm, pf_addr_t old_address,
			   u64 old_length, u64 new_length, unsigned int flags,
			   pf_addr_t new_address, pf_addr_t *address);

enum madvice {		/* values of Linux's MADV_* */
	MADV_NORMAL = 0,
	MADV_DONTNEED = 4,
	MADV_DONTFORK = 10,
	MADV_DOFORK = 11,
	MADV_HUGEPAGE = 14,
	MADV_NOHUGEPAGE = 15,
	MADV_WIPEONFORK = 18,
	MADV_KEEPONFORK = 19,
	MADV_POPULATE_READ = 22,
	MADV_POPULATE_WRITE = 23,
	MADV_COLLAPSE = 25,
};
int __must_check do_madvise(struct mm_struct *mm, pf_addr_t start, u64 length,
			    int advice);

/* unmapped_area() - room for @length bytes at @align; 0 if there is none */
pf_addr_t unmapped_area(struct mm_struct *mm, pf_addr_t hint, u64 length,
			pf_addr_t align);
/* unmap_region() - with mmap_lock held for write; splits areas at the ends */
int __must_check unmap_region(struct mm_struct *mm, pf_addr_t start,
			      pf_addr_t end);
/* munmap_locked() - do_munmap() with mmap_lock held for write */
int __must_check munmap_locked(struct mm_struct *mm, pf_addr_t start,
			       u64 length);

/* Faults (memory.c). */
struct vm_fault {
	struct vm_area_struct *vma;	/* (C) */
	pf_addr_t address;		/* (C) page-aligned */
	unsigned int flags;		/* (C) FAULT_FLAG_* */
	pgoff_t pgoff;			/* (C) */
	pmd_t *pmd;
	pte_t orig_pte;			/* the entry when the fault began */
	pmd_t orig_pmd;
	pte_t *pte;
	spinlock_t *ptl;
	struct page *page;		/* what vm_ops->fault() found */
	struct folio *cow_folio;	/* for a copy of it */
};

/*
 * handle_mm_fault() - make one page accessible, or say why not
 * @flags: FAULT_FLAG_*
 *
 * Return: VM_FAULT_* bits; with RETRY (unless RETRY_NOWAIT) or COMPLETED
 * mmap_lock has been dropped, otherwise it is still held.
 * Context: mmap_lock held.
 * Source: mm/memory.c:handle_mm_fault()
 */
vm_fault_t handle_mm_fault(struct vm_area_struct *vma, pf_addr_t address,
			   unsigned int flags, void *regs);

/*
 * vm_normal_page() - the page that an entry maps, or NULL for one that has no
 * descriptor, or whose descriptor is not to be touched (zero page, PFN)
 */
static inline struct page *
vm_normal_page(struct vm_area_struct *vma __maybe_unused,
	       pf_addr_t address __maybe_unused, pte_t pte)
{
	if (unlikely(pte_special(pte)))
		return NULL;
	VM_BUG_ON(!pfn_valid(pte_pfn(pte)));
	return pte_page(pte);
}

/*
 * copy_mc_user_highpage() - the bytes of one page
 *
 * Return: bytes that could not be read, because @from is poisoned; 0 is success.
 */
unsigned long __must_check copy_mc_user_highpage(struct page *to,
						 struct page *from);

/* zap_page_range() - drop every page in [start, end) of one area */
void zap_page_range(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end);
/*
 * zap_page_range_single() - the same; without @even_cows only pages of the file
 *
 * Context: mmap_lock, or the lock of one of the trees that the area is in.
 */
void zap_page_range_single(struct vm_area_struct *vma, pf_addr_t start,
			   pf_addr_t end, bool even_cows);

/* pte_range_none() - are @nr entries empty?  Source: mm/memory.c */
bool pte_range_none(pte_t *ptep, unsigned int nr);

/* do_fault() - nothing is mapped, in an area of a file (file_fault.c) */
vm_fault_t do_fault(struct vm_fault *vmf);
/*
 * wp_page_shared() - a store to a read-only page of a shared area
 *
 * Context: the entry's lock, which is dropped.
 * Source: mm/memory.c:wp_page_shared()
 */
vm_fault_t wp_page_shared(struct vm_fault *vmf, struct folio *folio);
/* wp_page_reuse() - let the user store; the same context */
void wp_page_reuse(struct vm_fault *vmf);

static inline pte_t mk_pte(struct page *page, pgprot_t prot)
{
	return pfn_pte(page_to_pfn(page), prot);
}

static inline pmd_t mk_pmd(struct page *page, pgprot_t prot)
{
	return pfn_pmd(page_to_pfn(page), prot);
}

/* maybe_mkwrite() - writable if the area is */
static inline pte_t maybe_mkwrite(pte_t pte, struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE ? pte_mkwrite_novma(pte) : pte;
}

static inline pmd_t maybe_pmd_mkwrite(pmd_t pmd, struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE ? pmd_mkwrite_novma(pmd) : pmd;
}

static inline bool pte_needs_soft_dirty_wp(struct vm_area_struct *vma, pte_t pte)
{
	return vma_soft_dirty_enabled(vma) && !pte_soft_dirty(pte);
}

static inline bool pmd_needs_soft_dirty_wp(struct vm_area_struct *vma, pmd_t pmd)
{
	return vma_soft_dirty_enabled(vma) && !pmd_soft_dirty(pmd);
}

static inline bool userfaultfd_wp(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_UFFD_WP;
}

static inline bool userfaultfd_pte_wp(struct vm_area_struct *vma, pte_t pte)
{
	return (vma->vm_flags & VM_UFFD_WP) && pte_uffd_wp(pte);
}

static inline bool userfaultfd_huge_pmd_wp(struct vm_area_struct *vma, pmd_t pmd)
{
	return (vma->vm_flags & VM_UFFD_WP) && pmd_uffd_wp(pmd);
}

/* userfaultfd_wp_async() - nobody serves: a store drops the mark and goes on */
static inline bool userfaultfd_wp_async(const struct vm_area_struct *vma)
{
	return !vma->userfaultfd_ctx;
}

/* userfaultfd_armed() - does somebody serve faults of this area? */
static inline bool userfaultfd_armed(const struct vm_area_struct *vma)
{
	return vma->vm_flags & __VM_UFFD_FLAGS;
}

/*
 * can_change_pte_writable() - may a read-only entry be made writable without a
 * write fault?  Source: mm/mprotect.c:can_change_pte_writable()
 */
bool can_change_pte_writable(struct vm_area_struct *vma, pf_addr_t address,
			     pte_t pte);

#endif
