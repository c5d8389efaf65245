/* SPDX-License-Identifier: MIT */
/*
 * The folio lock, the end of a folio, and its portrait.
 *
 * Source: mm/filemap.c:folio_lock(), mm/swap.c:__folio_put(), mm/debug.c
 */
#include "mm/folio.h"

#include "mm/gfp.h"
#include "mm/hugetlb.h"
#include "mm/memcontrol.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Waiters for folios sleep on one queue of the machine's, chosen by
 * address; a wake-up that was meant for another folio only makes them look.
 */
struct wait_queue *folio_waitqueue(struct folio *folio)
{
	struct machine *machine = page_machine(&folio->page);

	return &machine->folio_wait[folio_pfn(folio) % FOLIO_WAIT_QUEUES];
}

bool folio_trylock(struct folio *folio)
{
	if (test_and_set_bit_lock(PG_locked, &folio->flags))
		return false;
	lockrank_acquire(folio, RANK_FOLIO, 0, true, __FILE__, __LINE__);
	return true;
}

/*
 * Handing the lock on.  A thread that has been woken a few times and found the
 * lock taken again becomes an heir: who unlocks next leaves the bit set, and the
 * lock is the heir's.  Others can steal it until then, which is faster, but not
 * for ever.
 */
#define HEIR_LOSSES	5

struct folio_heir {
	const struct folio *folio;
	struct folio_heir *next;
	bool listed;
	bool granted;
};

static struct folio_heirs *folio_heirs(const struct folio *folio)
{
	struct machine *machine = page_machine(&folio->page);

	return &machine->folio_heirs[folio_pfn(folio) % FOLIO_WAIT_QUEUES];
}

/* Called with heirs->lock held.  Return: the link to it, or to the end. */
static struct folio_heir **find_heir(struct folio_heirs *heirs,
				     const struct folio_heir *heir,
				     const struct folio *folio)
{
	struct folio_heir **link = &heirs->first;

	while (*link && *link != heir && (*link)->folio != folio)
		link = &(*link)->next;
	return link;
}

static void unlink_heir(struct folio_heir **link)
{
	struct folio_heir *heir = *link;

	heir->listed = false;
	WRITE_ONCE(*link, heir->next);
}

static void link_heir(struct folio_heirs *heirs, struct folio_heir *heir)
{
	WRITE_ONCE(*find_heir(heirs, NULL, NULL), heir);
	heir->listed = true;
}

/*
 * To be called by who would unlock: the oldest heir has the lock then.
 *
 * One that comes too late to be seen here finds the lock taken after he was
 * listed.  So the bit is cleared after that, PG_waiters is seen with it, and he
 * is woken to try again.
 */
static bool hand_on(struct folio *folio)
{
	struct wait_queue *q = folio_waitqueue(folio);
	struct folio_heirs *heirs = folio_heirs(folio);
	struct folio_heir **link;
	bool found = false;

	if (!READ_ONCE(heirs->first))
		return false;
	spin_lock(&heirs->lock);
	link = find_heir(heirs, NULL, folio);
	if (*link) {
		(*link)->granted = true;
		unlink_heir(link);
		found = true;
	}
	spin_unlock(&heirs->lock);
	if (found)
		wake_up_all(q);
	return found;
}

/* Return: true if the lock is the caller's. */
static bool inherit(struct folio *folio, struct folio_heir *heir)
{
	struct folio_heirs *heirs = folio_heirs(folio);
	bool locked;

	spin_lock(&heirs->lock);
	if (!heir->granted && !heir->listed)
		link_heir(heirs, heir);
	locked = heir->granted ||
		 !test_and_set_bit_lock(PG_locked, &folio->flags);
	if (locked && heir->listed)
		unlink_heir(find_heir(heirs, heir, NULL));
	spin_unlock(&heirs->lock);
	return locked;
}

/* No heir any more.  Return: true if the lock has been handed on to him. */
static bool disinherit(struct folio *folio, struct folio_heir *heir)
{
	struct folio_heirs *heirs = folio_heirs(folio);

	spin_lock(&heirs->lock);
	if (heir->listed)
		unlink_heir(find_heir(heirs, heir, NULL));
	spin_unlock(&heirs->lock);
	return heir->granted;
}

static int folio_lock_sleep(struct folio *folio, enum wait_mode mode)
{
	struct wait_queue *q = folio_waitqueue(folio);
	struct folio_heir heir = { .folio = folio };
	unsigned int losses = 0;
	u32 ticket = wait_begin(q);
	int err = 0;

	for (;; losses++) {
		set_bit(PG_waiters, &folio->flags);
		if (losses < HEIR_LOSSES ?
		    !test_and_set_bit_lock(PG_locked, &folio->flags) :
		    inherit(folio, &heir))
			break;
		err = wait_sleep(q, ticket, mode);
		if (err)
			break;
		ticket = wait_again(q);
	}
	if (err && disinherit(folio, &heir))
		err = 0;
	wait_end(q);
	return err;
}

int folio_lock_mode(struct folio *folio, int subclass, enum wait_mode mode)
{
	int err = 0;

	lockrank_acquire(folio, RANK_FOLIO, subclass, false, __FILE__,
			 __LINE__);
	if (unlikely(test_and_set_bit_lock(PG_locked, &folio->flags)))
		err = folio_lock_sleep(folio, mode);
	if (unlikely(err))
		lockrank_release(folio, RANK_FOLIO, __FILE__, __LINE__);
	return err;
}

void folio_lock_nested(struct folio *folio, int subclass)
{
	(void)!folio_lock_mode(folio, subclass, WAIT_UNINTERRUPTIBLE);
}

void folio_lock(struct folio *folio)
{
	folio_lock_nested(folio, SUBCLASS_NORMAL);
}

void migration_entry_wait_on_locked(swp_entry_t entry, spinlock_t *ptl)
{
	/* The folio is alive while its migration entry is there. */
	struct folio *folio = pfn_swap_entry_folio(entry);
	struct wait_queue *q = folio_waitqueue(folio);
	u32 ticket = wait_begin(q);
	bool locked;

	set_bit(PG_waiters, &folio->flags);
	locked = folio_test_locked(folio);
	spin_unlock(ptl);
	if (locked)
		(void)!wait_sleep(q, ticket, WAIT_UNINTERRUPTIBLE);
	wait_end(q);
}

void __folio_set_locked_flags(struct folio *folio, unsigned long flags)
{
	lockrank_acquire(folio, RANK_FOLIO, 0, true, __FILE__, __LINE__);
	WRITE_ONCE(folio->flags,
		   READ_ONCE(folio->flags) | flags | BIT(PG_locked));
}

void folio_unlock(struct folio *folio)
{
	struct wait_queue *q = folio_waitqueue(folio);
	unsigned long flags = READ_ONCE(folio->flags);

	VM_BUG_ON_FOLIO(!(flags & BIT(PG_locked)), folio);
	lockrank_release(folio, RANK_FOLIO, __FILE__, __LINE__);
	if (unlikely(flags & BIT(PG_waiters)) && hand_on(folio))
		return;
	if (clear_bit_unlock_return(PG_locked, &folio->flags) & BIT(PG_waiters))
		wake_up_all(q);
}

void __folio_put(struct folio *folio)
{
	if (folio_test_hugetlb(folio)) {
		free_huge_folio(folio);
		return;
	}
	folio_del_lru(folio);
	mem_cgroup_uncharge(folio);
	free_folio_frames(folio);
}

static const char *const flag_names[NR_PAGEFLAGS] = {
	[PG_locked] = "locked", [PG_waiters] = "waiters",
	[PG_referenced] = "referenced", [PG_uptodate] = "uptodate",
	[PG_dirty] = "dirty", [PG_lru] = "lru", [PG_active] = "active",
	[PG_swapbacked] = "swapbacked", [PG_reserved] = "reserved",
	[PG_head] = "head", [PG_anon_exclusive] = "anon_exclusive",
	[PG_hwpoison] = "hwpoison", [PG_table] = "table",
	[PG_hugetlb] = "hugetlb", [PG_buddy] = "buddy",
	[PG_writeback] = "writeback", [PG_workingset] = "workingset",
	[PG_unevictable] = "unevictable",
};

void dump_folio(const struct folio *folio, const char *why)
{
	fprintf(stderr, "pinfold: folio: pfn %" PRIu64 " order %u refcount %d "
		"mapcount %d pincount %d mapping %p index %" PRIu64 "\n  flags:",
		folio_pfn(folio), folio_order(folio), folio_ref_count(folio),
		folio_mapcount(folio), atomic_read(&folio->_pincount),
		(void *)folio->mapping, folio->index);
	for (unsigned int i = 0; i < NR_PAGEFLAGS; i++)
		if (test_bit(i, &folio->flags))
			fprintf(stderr, " %s", flag_names[i]);
	fprintf(stderr, "\n  because: %s\n", why);
}
