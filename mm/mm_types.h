/* SPDX-License-Identifier: MIT */
/*
 * The engine's objects: page, folio, address space, area.
 *
 * Field keys: (C) constant after init, (A) atomic, (M) mm->mmap_lock,
 * (F) folio lock, (P) page-table lock, (L) zone->lru_lock, (Z) zone or CPU
 * lists lock.  Two letters: either to read, both to write.
 *
 * Source: include/linux/mm_types.h
 */
#ifndef MM_MM_TYPES_H
#define MM_MM_TYPES_H

#include "arch/pgtable_types.h"
#include "host/atomic.h"
#include "host/lock.h"
#include "host/seqcount.h"
#include "host/rcu.h"
#include "lib/list.h"

#include <bsd/sys/tree.h>

struct machine;
struct mem_cgroup;
struct mm_struct;
struct vm_area_struct;
struct address_space;
struct hstate;
struct hugetlb_resv;
struct userfaultfd_ctx;
struct anon_vma;
struct file;

typedef unsigned long vm_flags_t;

/*
 * One frame.  64 bytes, so that page <-> frame number is a shift and a folio's
 * head is one cache line.
 *
 * What the union holds depends on what the frame is: a free block, the head of
 * a folio (or a small folio), a tail, or a page table.
 */
struct page {
	unsigned long flags;		/* (A) PG_* bits, zone above them */
	union {
		struct {		/* free block; folio head */
			struct list_head lru;	/* (Z) free list, (L) LRU list */
			struct address_space *mapping;	/* (F) */
			pgoff_t index;			/* (F) */
			unsigned long private;
		};
		struct {		/* tail: address of the head, bit 0 set */
			unsigned long compound_head;
		};
		struct {		/* page table */
			struct rcu_head pt_rcu;		/* freeing it */
			spinlock_t ptl;
			struct page *pt_next;	/* (P) deposited or freed tables */
		};
	};
	atomic_t _mapcount;	/* entries that map any part of the folio, 0-based */
	atomic_t _refcount;
	atomic_t _pincount;	/* pins of a large folio */
	u8 order;		/* free block or head: log2 of its frames */
	u8 migratetype;		/* (Z) free block: the list it is on */
	u16 memcg_id;		/* folio: who has paid for it; 0: nobody */
};

/*
 * A folio is its head page.  A struct folio pointer never points to a tail;
 * nothing else differs.
 *
 * Differs: Linux spreads a large folio's counts over its first tail pages; here
 *          they are in the head's cache line.
 */
struct folio {
	union {
		struct {
			unsigned long flags;
			struct list_head lru;
			struct address_space *mapping;
			pgoff_t index;
			unsigned long private;
			atomic_t _mapcount;
			atomic_t _refcount;
			atomic_t _pincount;
			u8 order;
			u8 migratetype;
			u16 memcg_id;
		};
		struct page page;
	};
};

_Static_assert(sizeof(struct page) == 64, "a page descriptor is one line");
_Static_assert(sizeof(struct folio) == sizeof(struct page), "folio is a page");
_Static_assert(offsetof(struct folio, _refcount) ==
	       offsetof(struct page, _refcount), "folio overlays page");

enum pageflags {
	PG_locked,
	PG_waiters,		/* somebody sleeps on PG_locked */
	PG_referenced,
	PG_uptodate,
	PG_dirty,
	PG_lru,
	PG_active,
	PG_swapbacked,
	PG_reserved,		/* never freed: zero page, frame 0 ... */
	PG_head,
	PG_anon_exclusive,	/* per page: this mm is the only possible sharer */
	PG_hwpoison,		/* per page */
	PG_table,
	PG_hugetlb,		/* of a hugetlb pool */
	PG_buddy,		/* free block, on a list of the buddy allocator */
	PG_writeback,		/* of a mapping: on its way to the backing store */
	PG_workingset,		/* was active: leaving, it says so in its shadow */
	PG_unevictable,		/* of a mapping that keeps all: on no LRU list */
	NR_PAGEFLAGS,
};

/* mapping of an anonymous folio: its anon_vma, and this bit */
#define PAGE_MAPPING_ANON	1UL
#define PAGE_MAPPING_MOVABLE	2UL
#define PAGE_MAPPING_FLAGS	3UL

/* Area flags.  Source: include/linux/mm.h */
#define VM_NONE		0UL
#define VM_READ		0x00000001UL
#define VM_WRITE	0x00000002UL
#define VM_EXEC		0x00000004UL
#define VM_SHARED	0x00000008UL
#define VM_MAYREAD	0x00000010UL
#define VM_MAYWRITE	0x00000020UL
#define VM_MAYEXEC	0x00000040UL
#define VM_MAYSHARE	0x00000080UL
#define VM_GROWSDOWN	0x00000100UL
#define VM_UFFD_MISSING	0x00000200UL
#define VM_PFNMAP	0x00000400UL
#define VM_UFFD_WP	0x00001000UL
#define VM_LOCKED	0x00002000UL
#define VM_IO		0x00004000UL
#define VM_DONTCOPY	0x00020000UL
#define VM_DONTEXPAND	0x00040000UL
#define VM_LOCKONFAULT	0x00080000UL
#define VM_NORESERVE	0x00200000UL
#define VM_HUGETLB	0x00400000UL
#define __VM_UFFD_FLAGS	(VM_UFFD_MISSING | VM_UFFD_WP)
#define VM_WIPEONFORK	0x02000000UL
#define VM_SOFTDIRTY	0x08000000UL
#define VM_MIXEDMAP	0x10000000UL
#define VM_HUGEPAGE	0x20000000UL
#define VM_NOHUGEPAGE	0x40000000UL
#define VM_SHADOW_STACK	(1UL << 37)
#define VM_LOCKED_MASK	(VM_LOCKED | VM_LOCKONFAULT)
#define VM_ACCESS_FLAGS	(VM_READ | VM_WRITE | VM_EXEC)
#define VM_SPECIAL	(VM_IO | VM_DONTEXPAND | VM_PFNMAP | VM_MIXEDMAP)

struct vm_fault;
typedef unsigned int vm_fault_t;

/* Where an area stands among those that map the same (interval_tree.h). */
struct rmap_node {
	RB_ENTRY(rmap_node) rb;
	pgoff_t subtree_last;
	struct vm_area_struct *vma;	/* (C) */
};

RB_HEAD(rmap_tree, rmap_node);

struct interval_tree {
	struct rmap_tree root;
	unsigned long nr;
};

struct vm_operations_struct {
	/* NOPAGE, an error, or @vmf->page with a reference, and perhaps LOCKED */
	vm_fault_t (*fault)(struct vm_fault *vmf);
	/* A read-only page of a shared area is going to be written. */
	vm_fault_t (*page_mkwrite)(struct vm_fault *vmf);
};

/* [vm_start, vm_end), both multiples of the page size. */
struct vm_area_struct {
	RB_ENTRY(vm_area_struct) vm_rb;		/* (M) */
	pf_addr_t vm_start;			/* (M) */
	pf_addr_t vm_end;			/* (M) */
	struct mm_struct *vm_mm;		/* (C) */
	vm_flags_t vm_flags;			/* (M) */
	pgprot_t vm_page_prot;			/* (M) */
	pgoff_t vm_pgoff;			/* (M) */
	const struct vm_operations_struct *vm_ops; /* (C) NULL: anonymous */
	struct hstate *hstate;			/* (C) VM_HUGETLB: its pool */
	struct hugetlb_resv *resv;		/* (M) and its reservations */
	struct userfaultfd_ctx *userfaultfd_ctx; /* (M) who serves VM_UFFD_WP */
	bool resv_unmapped;			/* (A) a page went to who reserved it */
	struct file *vm_file;			/* (C) what it maps, or NULL */
	/*
	 * For the walk from a folio to its entries.  The range changes with
	 * mmap_lock and the trees' locks held; one of them is enough to read it.
	 */
	struct anon_vma *anon_vma;		/* (A) NULL: maps nothing anonymous */
	struct rmap_node anon_rmap;		/* anon_vma->rwsem */
	struct rmap_node file_rmap;		/* mapping->i_mmap_rwsem */
};

RB_HEAD(vma_tree, vm_area_struct);

enum { MMF_HAS_PINNED };

struct mm_struct {
	struct machine *machine;		/* (C) */
	struct rw_semaphore mmap_lock;
	struct vma_tree mm_rb;			/* (M) by address */
	struct vm_area_struct *mmap_cache;	/* (A) the last area found */
	unsigned int map_count;			/* (M) */
	pgd_t *pgd;				/* (C) */
	spinlock_t page_table_lock;		/* the top levels' entries */
	unsigned long flags;			/* (A) MMF_* bits */
	struct anon_vma *anon_vma;		/* (C) one for it and its relatives */
	seqcount_t write_protect_seq;		/* mmap_lock for write: fork is write-protecting */
	atomic64_t rss_pages;			/* (A) anonymous pages mapped */
	atomic64_t pgtables;			/* (A) table frames */
	pf_addr_t mmap_base;			/* (C) search from here, downwards */
	struct list_head machine_list;		/* machine->lock; mm_list_sem */
};

/*
 * What a fault may do, and what came of it.
 * Source: include/linux/mm_types.h
 */
enum fault_flag {
	FAULT_FLAG_WRITE = 1 << 0,
	FAULT_FLAG_MKWRITE = 1 << 1,
	FAULT_FLAG_ALLOW_RETRY = 1 << 2,
	FAULT_FLAG_RETRY_NOWAIT = 1 << 3,
	FAULT_FLAG_KILLABLE = 1 << 4,
	FAULT_FLAG_TRIED = 1 << 5,
	FAULT_FLAG_USER = 1 << 6,
	FAULT_FLAG_REMOTE = 1 << 7,
	FAULT_FLAG_INSTRUCTION = 1 << 8,
	FAULT_FLAG_INTERRUPTIBLE = 1 << 9,
	FAULT_FLAG_UNSHARE = 1 << 10,
};

#define VM_FAULT_OOM		0x000001
#define VM_FAULT_SIGBUS		0x000002
#define VM_FAULT_HWPOISON	0x000010
#define VM_FAULT_SIGSEGV	0x000040
#define VM_FAULT_NOPAGE		0x000100
#define VM_FAULT_LOCKED		0x000200
#define VM_FAULT_RETRY		0x000400
#define VM_FAULT_FALLBACK	0x000800
#define VM_FAULT_COMPLETED	0x004000
#define VM_FAULT_ERROR	(VM_FAULT_OOM | VM_FAULT_SIGBUS | VM_FAULT_SIGSEGV | \
			 VM_FAULT_HWPOISON | VM_FAULT_FALLBACK)

#endif
