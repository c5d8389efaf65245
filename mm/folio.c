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

void folio_lock_nested(struct folio *folio, int subclass)
{
	struct wait_queue *q;
	u32 ticket;

	lockrank_acquire(folio, RANK_FOLIO, subclass, false, __FILE__,
			 __LINE__);
	if (likely(!test_and_set_bit_lock(PG_locked, &folio->flags)))
		return;
	q = folio_waitqueue(folio);
	ticket = wait_begin(q);
	for (;;) {
		set_bit(PG_waiters, &folio->flags);
		if (!test_and_set_bit_lock(PG_locked, &folio->flags))
			break;
		(void)!wait_sleep(q, ticket, WAIT_UNINTERRUPTIBLE);
		ticket = wait_again(q);
	}
	wait_end(q);
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

void __folio_set_locked(struct folio *folio)
{
	lockrank_acquire(folio, RANK_FOLIO, 0, true, __FILE__, __LINE__);
	WRITE_ONCE(folio->flags, READ_ONCE(folio->flags) | BIT(PG_locked));
}

void folio_unlock(struct folio *folio)
{
	struct wait_queue *q = folio_waitqueue(folio);

	VM_BUG_ON_FOLIO(!folio_test_locked(folio), folio);
	lockrank_release(folio, RANK_FOLIO, __FILE__, __LINE__);
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
