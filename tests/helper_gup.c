/* SPDX-License-Identifier: MIT */
#include "tests/helper_gup.h"

#include "host/errtext.h"

#include <stdio.h>
#include <string.h>

#define BOX_BYTES	((u64)32 << 20)
#define BASE		((pf_addr_t)5 << 40)

static struct state_box *box;
struct state *gs;
struct fault_script gup_faults;
struct page *got[GUP_PAGES];

int gup_group_setup(void **state)
{
	(void)state;
	return state_box_create(BOX_BYTES, &box);
}

int gup_group_teardown(void **state)
{
	(void)state;
	state_box_destroy(box);
	return 0;
}

int gup_setup(void **state)
{
	(void)state;
	if (!box && gup_group_setup(NULL))
		return -1;
	if (state_open(box, BASE, GUP_PAGES, &gs))
		return -1;
	gup_faults = (struct fault_script){ .state = gs };
	memset(got, 0, sizeof(got));
	return 0;
}

int gup_teardown(void **state)
{
	int err;

	(void)state;
	waiter_clear();
	fault_script_free(&gup_faults);
	err = state_close(gs);
	if (!err)
		return 0;
	fprintf(stderr, "left over: %s\n", error_text());
	state_box_destroy(box);
	box = NULL;
	return -1;
}

static void begin(void)
{
	state_enter(gs);
	fault_script_forget(&gup_faults);
	fault_script_start(&gup_faults);
	mmap_read_lock(gs->mm);
}

static long end(long ret)
{
	mmap_read_unlock(gs->mm);
	fault_script_stop();
	return ret;
}

long pin(unsigned long page, unsigned long nr, unsigned int flags)
{
	begin();
	return end(pin_user_pages(gs->mm, state_address(gs, page), nr, flags,
				  got));
}

long pin_touch(unsigned long page, unsigned long nr, unsigned int flags)
{
	begin();
	return end(pin_user_pages_remote(gs->mm, state_address(gs, page), nr,
					 flags, got, NULL));
}

long pin_unlockable(unsigned long page, unsigned long nr, unsigned int flags,
		    int *locked)
{
	long ret;

	begin();
	*locked = 1;
	ret = pin_user_pages_remote(gs->mm, state_address(gs, page), nr, flags,
				    got, locked);
	if (*locked)
		return end(ret);
	fault_script_stop();
	return ret;
}

long get(unsigned long page, unsigned long nr, unsigned int flags)
{
	begin();
	return end(get_user_pages(gs->mm, state_address(gs, page), nr, flags,
				  got));
}

long populate(unsigned long page, unsigned long nr, unsigned int flags)
{
	begin();
	return end(get_user_pages(gs->mm, state_address(gs, page), nr, flags,
				  NULL));
}

void put(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		put_page(got[i]);
}

struct vm_area_struct *area(unsigned long page, unsigned long nr,
			    vm_flags_t flags)
{
	return state_area(gs, page, nr, flags, NULL);
}

struct folio *mapped_folio(unsigned long page, unsigned int order,
			   unsigned int bits)
{
	struct folio *folio = state_folio(gs, STATE_ANON, order);

	state_map(gs, page, folio, 0, 1ul << order, bits);
	state_drop(gs, folio);
	return folio;
}

struct folio *mapped_leaf(unsigned long page, unsigned int bits)
{
	struct folio *folio = state_folio(gs, STATE_ANON, HPAGE_PMD_ORDER);

	BUG_ON(!state_map_leaf(gs, state_vma(gs, page), state_address(gs, page),
			       folio, bits));
	state_drop(gs, folio);
	return folio;
}

int gup_runs(const struct folio *folio)
{
	return (folio_test_referenced(folio) ? 1 : 0) +
	       (folio_test_active(folio) ? 2 : 0);
}

unsigned long gup_faulted(size_t i)
{
	BUG_ON(i >= gup_faults.nr_records);
	return (gup_faults.records[i].address - gs->base) >> PAGE_SHIFT;
}

unsigned int gup_fault_flag(size_t i)
{
	BUG_ON(i >= gup_faults.nr_records);
	return gup_faults.records[i].flags;
}
