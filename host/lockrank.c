/* SPDX-License-Identifier: MIT */
#include "host/lockrank.h"

#include "host/bug.h"

#include <stdarg.h>
#include <stdio.h>

const char *const lock_rank_names[NR_LOCK_RANKS] = {
	[RANK_NONE] = "none",
	[RANK_SESSION] = "gup_test session",
	[RANK_I_RWSEM] = "i_rwsem",
	[RANK_MM_LIST] = "mm list lock",
	[RANK_MMAP] = "mmap_lock",
	[RANK_HUGETLB_I_RWSEM] = "hugetlb i_rwsem",
	[RANK_INVALIDATE] = "invalidate lock",
	[RANK_HUGETLB_FAULT] = "hugetlb fault lock",
	[RANK_HUGETLB_RESV] = "hugetlb reservation lock",
	[RANK_HUGETLB_I_MMAP] = "hugetlb i_mmap_rwsem",
	[RANK_FOLIO] = "folio lock",
	[RANK_I_MMAP] = "i_mmap_rwsem",
	[RANK_ANON_VMA] = "anon_vma lock",
	[RANK_PTL] = "page-table lock",
	[RANK_SHMEM] = "shmem lock",
	[RANK_XA] = "xa_lock",
	[RANK_SHADOW] = "shadow nodes lock",
	[RANK_USERFAULT] = "userfault lock",
	[RANK_HUGETLB] = "hugetlb lock",
	[RANK_LRU] = "lru lock",
	[RANK_PCP] = "cpu lists lock",
	[RANK_ZONE] = "zone lock",
	[RANK_MACHINE] = "machine lock",
	[RANK_WAITER] = "waiter lock",
};

#ifdef PINFOLD_DEBUG

struct held_lock {
	const void *lock;
	enum lock_rank rank;
	int subclass;
	const char *file;
	int line;
};

/* Collapsing and splitting hold the locks of 512 folios at once. */
#define MAX_HELD 576

static __thread struct held_lock held[MAX_HELD];
static __thread int nr_held;

/* Text that grows in place, as long as there is room. */
struct text {
	char bytes[2048];
	size_t used;
};

static void __printf(2, 3) put(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->bytes + t->used, sizeof(t->bytes) - t->used, format,
		      args);
	va_end(args);
	t->used = min(t->used + n, sizeof(t->bytes) - 1);
}

static void put_held(struct text *t, const char *how, const struct held_lock *h)
{
	put(t, "  %s %s/%d %p at %s:%d\n", how, lock_rank_names[h->rank],
	    h->subclass, h->lock, h->file, h->line);
}

static void __noreturn lockrank_die(const char *why,
				    const struct held_lock *new)
{
	struct text t = { .used = 0 };

	put(&t, "%s\n chain held:\n", why);
	for (int i = 0; i < nr_held; i++)
		put_held(&t, "held ", &held[i]);
	put_held(&t, "wants", new);
	put(&t, " chain allowed:\n ");
	for (int i = 1; i < NR_LOCK_RANKS; i++)
		put(&t, " %s%s", i > 1 ? "-> " : "", lock_rank_names[i]);
	bug_text("%s", t.bytes);
}

void lockrank_acquire(const void *lock, enum lock_rank rank, int subclass,
		      bool trylock, const char *file, int line)
{
	struct held_lock new = { lock, rank, subclass, file, line };

	for (int i = 0; i < nr_held; i++) {
		const struct held_lock *h = &held[i];

		if (h->lock == lock && h->rank == rank)
			lockrank_die("lock taken twice by one thread", &new);
		if (trylock || h->rank < rank)
			continue;
		if (h->rank > rank || h->subclass >= subclass)
			lockrank_die("lock order reversal", &new);
	}
	if (nr_held == MAX_HELD)
		lockrank_die("too many locks held by one thread", &new);
	held[nr_held++] = new;
}

void lockrank_release(const void *lock, enum lock_rank rank,
		      const char *file, int line)
{
	struct held_lock gone = { lock, rank, 0, file, line };

	for (int i = nr_held - 1; i >= 0; i--) {
		if (held[i].lock != lock || held[i].rank != rank)
			continue;
		nr_held--;
		for (; i < nr_held; i++)
			held[i] = held[i + 1];
		return;
	}
	lockrank_die("lock released that is not held", &gone);
}

bool lockrank_held(enum lock_rank rank)
{
	for (int i = 0; i < nr_held; i++)
		if (held[i].rank == rank)
			return true;
	return false;
}

bool lockrank_held_spin(void)
{
	for (int i = 0; i < nr_held; i++)
		if (held[i].rank >= RANK_PTL)
			return true;
	return false;
}

bool lockrank_held_any(void)
{
	return nr_held != 0;
}

#endif
