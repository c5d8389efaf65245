/* SPDX-License-Identifier: MIT */
/*
 * The lock order: document and run-time check in one.
 *
 * A thread may acquire a lock only while every lock it holds has a smaller
 * rank, or the same rank with a smaller subclass.  Debug builds keep the
 * calling thread's chain of held locks and, at a violation or at the release
 * of a lock that is not held, print that chain and the legal order, then abort.
 * A trylock cannot deadlock and is exempt from the order, not from the chain.
 */
#ifndef HOST_LOCKRANK_H
#define HOST_LOCKRANK_H

#include "host/compiler.h"
#include "host/types.h"

enum lock_rank {
	RANK_NONE,
	RANK_SESSION,	/* gup_test session: the pages that it keeps */
	RANK_I_RWSEM,	/* inode->i_rwsem: size, allocation, contents of a file */
	RANK_MM_LIST,	/* machine->mm_list_sem: address spaces do not go away */
	RANK_MMAP,	/* mm->mmap_lock: VMAs of one address space */
	RANK_HUGETLB_I_RWSEM, /* i_rwsem of a hugetlb file: mapping it may grow it */
	RANK_INVALIDATE, /* mapping->invalidate_lock: what is in it may go */
	RANK_HUGETLB_FAULT, /* machine->hugetlb_fault[]: a place of an area, or file */
	RANK_HUGETLB_RESV, /* hugetlbfs_inode_info->resv_sem: what a file reserved */
	RANK_HUGETLB_I_MMAP, /* i_mmap_rwsem of a hugetlb file */
	RANK_FOLIO,	/* folio lock bit: mapping and index of a folio */
	RANK_I_MMAP,	/* mapping->i_mmap_rwsem: areas that map the file */
	RANK_ANON_VMA,	/* anon_vma->rwsem: areas that may map its folios */
	/* spin locks, from here on */
	RANK_PTL,	/* page-table lock: the entries of one table */
	RANK_SHMEM,	/* shmem_inode_info->lock: a hole that is being punched */
	RANK_XA,	/* xarray->xa_lock: an index, its nodes and marks */
	RANK_SHADOW,	/* workingset.lock: nodes with nothing but shadows */
	RANK_USERFAULT,	/* userfaultfd_ctx->lock: who waits for a handler */
	RANK_HUGETLB,	/* hstate->lock: a pool of huge pages */
	RANK_LRU,	/* zone->lru_lock: LRU lists and their flags */
	RANK_PCP,	/* simulated CPU's free lists and LRU batch */
	RANK_ZONE,	/* zone->lock: buddy free lists, pageblock types */
	RANK_MACHINE,	/* machine->lock: list of address spaces */
	RANK_WAITER,	/* waiter->lock: where a thread sleeps; folio_heirs->lock */
	NR_LOCK_RANKS,
};

extern const char *const lock_rank_names[NR_LOCK_RANKS];

/* subclasses: what makes two locks of one rank nestable */
enum {
	SUBCLASS_NORMAL = 0,
	SUBCLASS_NESTED = 1,	/* child mm; the second of two page tables */
};

#ifdef PINFOLD_DEBUG
void lockrank_acquire(const void *lock, enum lock_rank rank, int subclass,
		      bool trylock, const char *file, int line);
void lockrank_release(const void *lock, enum lock_rank rank,
		      const char *file, int line);
/* lockrank_held() - does the calling thread hold a lock of @rank? */
bool lockrank_held(enum lock_rank rank);
bool lockrank_held_any(void);
/* lockrank_held_spin() - or a lock that is not slept for? */
bool lockrank_held_spin(void);
#else
static inline void lockrank_acquire(const void *lock __maybe_unused,
				    enum lock_rank rank __maybe_unused,
				    int subclass __maybe_unused,
				    bool trylock __maybe_unused,
				    const char *file __maybe_unused,
				    int line __maybe_unused)
{
}
static inline void lockrank_release(const void *lock __maybe_unused,
				    enum lock_rank rank __maybe_unused,
				    const char *file __maybe_unused,
				    int line __maybe_unused)
{
}
static inline bool lockrank_held(enum lock_rank rank __maybe_unused)
{
	return false;
}
static inline bool lockrank_held_any(void)
{
	return false;
}
static inline bool lockrank_held_spin(void)
{
	return false;
}
#endif

#endif
