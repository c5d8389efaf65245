/* SPDX-License-Identifier: MIT */
/*
 * XArray: a sparse array of pointers and values, indexed by unsigned long.
 *
 * A radix tree of nodes with XA_CHUNK_SIZE slots.  An entry of order k covers
 * 2^k indices: it sits in a node whose slots cover XA_CHUNK_SIZE^n of them, in
 * one slot, the canonical one, and siblings fill the others it needs:
 *
 *	order 7 at index 128, 64 slots a node
 *
 *	      shift 6:  [ . | . | E | sibling of 2 | . | ... ]
 *	                          |        |
 *	      indices          128-191  192-255
 *
 * Readers hold rcu_read_lock(), writers xa_lock.  Two interfaces: xa_*() take
 * an index and do their own locking, xas_*() take a cursor (lib/xa_state.h) and
 * leave that, and retrying, to the caller:
 *
 *	XA_STATE(xas, xa, index);
 *
 *	do {
 *		xas_lock(&xas);
 *		xas_store(&xas, entry);
 *		xas_unlock(&xas);
 *	} while (xas_nomem(&xas, gfp));
 *	return xas_error(&xas);
 *
 * Rules for callers
 * - A cursor in error does nothing until it is reset, so errors may be looked
 *   at once, at the end.  xas_nomem() or xas_destroy() frees what it still has.
 * - A cursor that has walked means nothing once the lock is dropped, or the
 *   read section left: xas_reset(), xas_set() or, while iterating, xas_pause().
 * - Readers can meet a retry entry (xas_retry()); by xas_next() and xas_prev()
 *   siblings, too.  Per index a reader sees the entry before or after a store;
 *   of several indices it sees any mixture.
 * - Pointers are aligned to 4 bytes.
 *
 * Invariants; lab/xa_validate.h counts them again
 * 1. A slot holds NULL, an entry, a sibling of an earlier slot that holds an
 *    entry, or, above the leaves, a node with that slot's shift, offset and
 *    parent.  Entries are aligned to their size, a power of two.
 * 2. count is the number of slots that are not NULL, nr_values that of values
 *    and their siblings.
 * 3. A node without entries is linked only between xas_create_range() and the
 *    stores that it was for, and a failed store links none.  The root is not
 *    one whose only entry could be in the head.
 * 4. A mark is set on a slot with a node if on one of its slots; on the head if
 *    on one of the root's.  Siblings have none.
 * 5. Retry entries are in nodes that are no longer linked.
 *
 * Locks: xa_lock is RANK_XA.
 *
 * Source: include/linux/xarray.h, lib/xarray.c
 * Differs: no node is allocated under the lock: a cursor has a list of spares,
 *          a store that needs more changes nothing and fails with -ENOMEM, and
 *          xas_nomem() gets as many as that one missed.
 * Differs: who listens to changes of nodes does so for the array, not for a
 *          cursor: no store can forget to tell.
 * Differs: there are no tagged pointers and no allocating arrays (xa_alloc()).
 */
#ifndef LIB_XARRAY_H
#define LIB_XARRAY_H

#include "host/lock.h"
#include "host/rcu.h"
#include "lib/list.h"

#include <limits.h>

#ifndef XA_CHUNK_SHIFT
#define XA_CHUNK_SHIFT	6
#endif
#define XA_CHUNK_SIZE	(1U << XA_CHUNK_SHIFT)
#define XA_CHUNK_MASK	(XA_CHUNK_SIZE - 1)
#define XA_MAX_MARKS	3

typedef unsigned int gfp_t;	/* handed on to the array's allocator */
typedef unsigned int xa_mark_t;

#define XA_MARK_0	0U
#define XA_MARK_1	1U
#define XA_MARK_2	2U
#define XA_MARK_MAX	XA_MARK_2
#define XA_PRESENT	8U	/* a filter: any entry */

struct xa_node;

/*
 * Zeroed memory that free() takes, or NULL.  Called without xa_lock; in
 * xas_nomem() and xas_alloc_spares() only.
 */
typedef void *(*xa_zalloc_fn)(size_t bytes, gfp_t gfp);

/*
 * Called under xa_lock after count or nr_values of @node have changed; a count
 * of 0 is the last that is heard of it.
 */
typedef void (*xa_update_node_t)(struct xa_node *node);

/* Key: (C) constant after init, (X) written under xa_lock, read under RCU */
struct xarray {
	spinlock_t xa_lock;
	u32 xa_flags;		/* (X) XA_FLAGS_MARK() */
	void *xa_head;		/* (X) an entry for index 0, or the root */
	xa_zalloc_fn xa_zalloc;	/* (C) NULL: the host's */
	xa_update_node_t xa_update; /* (C) NULL: nobody listens */
};

#define XA_FLAGS_MARK(mark)	(1U << (mark))

struct xa_node {
	u8 shift;		/* (C) bits of the index below this node's */
	u8 offset;		/* (C) its slot in the parent */
	u8 count;		/* slots that are not NULL; xa_lock */
	u8 nr_values;		/* slots with a value; xa_lock */
	struct xa_node *parent;	/* (X) NULL in the root; spares: the next */
	struct xarray *array;	/* (C) */
	union {
		struct list_head private_list; /* the listener's; empty */
		struct rcu_head rcu_head;
	};
	void *slots[XA_CHUNK_SIZE];	/* (X) */
	u64 marks[XA_MAX_MARKS];	/* (X) */
};

/* ---- entries ------------------------------------------------------------ */

static inline void *xa_mk_value(unsigned long v)
{
	return (void *)(v << 1 | 1);
}

static inline unsigned long xa_to_value(const void *entry)
{
	return (unsigned long)entry >> 1;
}

static inline bool xa_is_value(const void *entry)
{
	return (unsigned long)entry & 1;
}

/* Siblings below XA_CHUNK_SIZE, retry, zero, errors, and nodes above 4096. */
static inline void *xa_mk_internal(unsigned long v)
{
	return (void *)(v << 2 | 2);
}

static inline unsigned long xa_to_internal(const void *entry)
{
	return (unsigned long)entry >> 2;
}

static inline bool xa_is_internal(const void *entry)
{
	return ((unsigned long)entry & 3) == 2;
}

#define XA_RETRY_ENTRY	xa_mk_internal(256)
#define XA_ZERO_ENTRY	xa_mk_internal(257)

static inline bool xa_is_retry(const void *entry)
{
	return unlikely(entry == XA_RETRY_ENTRY);
}

/* xa_is_zero() - reserved: reads as NULL, but is occupied */
static inline bool xa_is_zero(const void *entry)
{
	return unlikely(entry == XA_ZERO_ENTRY);
}

static inline bool xa_is_err(const void *entry)
{
	return unlikely(xa_is_internal(entry) &&
			(unsigned long)entry >= -4095UL << 2);
}

/* xa_err() - the negative errno in what xa_store() and the like return, or 0 */
static inline int xa_err(const void *entry)
{
	return xa_is_err(entry) ? (int)((long)entry >> 2) : 0;
}

static inline bool xa_is_sibling(const void *entry)
{
	return xa_is_internal(entry) &&
	       (unsigned long)entry < (unsigned long)xa_mk_internal(
			XA_CHUNK_SIZE - 1);
}

static inline bool xa_is_node(const void *entry)
{
	return xa_is_internal(entry) && (unsigned long)entry > 4096 &&
	       !xa_is_err(entry);
}

static inline struct xa_node *xa_to_node(const void *entry)
{
	return (struct xa_node *)((unsigned long)entry - 2);
}

static inline void *xa_mk_node(const struct xa_node *node)
{
	return (void *)((unsigned long)node | 2);
}

/* ---- arrays ------------------------------------------------------------- */

/* xa_init_zalloc() - an empty array whose nodes come from @zalloc */
static inline void xa_init_zalloc(struct xarray *xa, xa_zalloc_fn zalloc)
{
	spin_lock_init(&xa->xa_lock, RANK_XA);
	xa->xa_flags = 0;
	xa->xa_head = NULL;
	xa->xa_zalloc = zalloc;
	xa->xa_update = NULL;
}

static inline void xa_init(struct xarray *xa)
{
	xa_init_zalloc(xa, NULL);
}

#define xa_lock(xa)		spin_lock(&(xa)->xa_lock)
#define xa_trylock(xa)		spin_trylock(&(xa)->xa_lock)
#define xa_unlock(xa)		spin_unlock(&(xa)->xa_lock)

/*
 * [xa-publish] the head, then what it points to; paired with xa_set_head()
 */
static inline void *xa_head(const struct xarray *xa)
{
	return smp_load_acquire(&xa->xa_head);
}

/*
 * [xa-publish] the slot, then what it points to; paired with xa_set_slot()
 *
 * [stream-copy] the slot, then the bytes of the page; paired with
 * stream_copy_fence()
 */
static inline void *xa_entry(const struct xa_node *node, unsigned int offset)
{
	return smp_load_acquire(&node->slots[offset]);
}

/* xa_parent() - [xa-publish], as it changes when the tree grows or shrinks */
static inline struct xa_node *xa_parent(const struct xa_node *node)
{
	return smp_load_acquire(&node->parent);
}

/* xa_empty() - is nothing stored, not even reserved? */
static inline bool xa_empty(const struct xarray *xa)
{
	return !READ_ONCE(xa->xa_head);
}

/* xa_marked() - has any entry this mark? */
static inline bool xa_marked(const struct xarray *xa, xa_mark_t mark)
{
	return READ_ONCE(xa->xa_flags) & XA_FLAGS_MARK(mark);
}

/*
 * xa_load() - the entry at @index, or NULL
 *
 * Context: takes and leaves a read section; the caller keeps alive what it
 *          gets.
 */
void *xa_load(struct xarray *xa, unsigned long index);

/*
 * xa_store() - put @entry at @index; NULL erases
 *
 * An entry of several indices that covers @index is replaced whole.  Its marks
 * stay; erasing clears them.
 *
 * Context: takes xa_lock.  __xa_store() is called with it, and drops and
 *          retakes it if it needs memory.
 * Return: the entry before; xa_err() tells -ENOMEM, and -EINVAL for an @entry
 *         that is internal.  On failure nothing has changed.
 */
void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
void *__xa_store(struct xarray *xa, unsigned long index, void *entry,
		 gfp_t gfp) __must_check;

/* xa_erase() - make it NULL; cannot fail.  __xa_erase(): xa_lock is held. */
void *xa_erase(struct xarray *xa, unsigned long index);
void *__xa_erase(struct xarray *xa, unsigned long index);

/*
 * xa_cmpxchg() - put @entry at @index if @old is there
 *
 * Return: what was there, @old if stored; xa_err() tells -ENOMEM, -EINVAL.
 */
void *xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *entry,
		 gfp_t gfp) __must_check;

/*
 * xa_insert() - put @entry, reserve for NULL, where nothing is
 *
 * Return: 0; -EBUSY if something is there or reserved; -ENOMEM; -EINVAL.
 */
int xa_insert(struct xarray *xa, unsigned long index, void *entry,
	      gfp_t gfp) __must_check;

/*
 * xa_reserve() - make sure that a store at @index needs no memory
 *
 * Return: 0, or -ENOMEM.
 */
int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp) __must_check;

/* xa_release() - if @index is still only reserved, no longer */
void xa_release(struct xarray *xa, unsigned long index);

/*
 * xa_store_range() - let every index of @first ... @last read @entry
 *
 * In the fewest entries that are aligned to their size; each of them has marks
 * and is replaced on its own.  NULL erases.  An entry that reaches out of the
 * range is replaced whole.
 *
 * Return: NULL; xa_err() tells -ENOMEM, -EINVAL.  On failure part of the range
 *         has been stored.
 * Differs: Linux also makes entries that are aligned to nothing, and returns
 *          the last one that was replaced.
 */
void *xa_store_range(struct xarray *xa, unsigned long first, unsigned long last,
		     void *entry, gfp_t gfp) __must_check;

/*
 * xa_find() - the first entry at or after *@index, up to @max
 * @filter: a mark, or XA_PRESENT
 *
 * *@index becomes the entry's (unless the entry covers it: an entry of several
 * indices is found from each); it is left alone if there is none.
 * xa_find_after() looks for an entry that begins after *@index.
 *
 * Context: as xa_load()
 */
void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max,
	      xa_mark_t filter);
void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long max,
		    xa_mark_t filter);

/* xa_extract() - up to @nr entries of @start ... @max; returns how many */
unsigned int xa_extract(struct xarray *xa, void **entries, unsigned long start,
			unsigned long max, unsigned int nr, xa_mark_t filter);

/* Marks of the entry that covers @index; NULL has none and gets none. */
bool xa_get_mark(struct xarray *xa, unsigned long index, xa_mark_t mark);
void xa_set_mark(struct xarray *xa, unsigned long index, xa_mark_t mark);
void xa_clear_mark(struct xarray *xa, unsigned long index, xa_mark_t mark);

/* xa_get_order() - of the entry that covers @index; 0 if there is none */
unsigned int xa_get_order(struct xarray *xa, unsigned long index);

/* xa_destroy() - erase everything; the entries themselves are the caller's */
void xa_destroy(struct xarray *xa);

/*
 * xa_delete_node() - erase all that is below @node, and it
 *
 * Context: xa_lock is held; @node is linked.
 */
void xa_delete_node(struct xa_node *node);

#define xa_for_each_range(xa, index, entry, start, last)		\
	for (index = (start),						\
	     entry = xa_find((xa), &index, (last), XA_PRESENT);		\
	     entry;							\
	     entry = xa_find_after((xa), &index, (last), XA_PRESENT))
#define xa_for_each(xa, index, entry)					\
	xa_for_each_range((xa), index, entry, 0, ULONG_MAX)
#define xa_for_each_marked(xa, index, entry, filter)			\
	for (index = 0, entry = xa_find((xa), &index, ULONG_MAX, (filter)); \
	     entry;							\
	     entry = xa_find_after((xa), &index, ULONG_MAX, (filter)))

#include "lib/xa_state.h"

#endif
