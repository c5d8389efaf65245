/* SPDX-License-Identifier: MIT */
/*
 * Single pages of a shape in CMA memory.
 *
 * CMA is whole pageblocks, so pages change places: one of the shape's with one
 * of a block at its end, which then becomes CMA's.
 *
 *   before   n n n n n n n n ...   |  block of n
 *   after    n n n c n n n c ...   |  block of c, some of it mapped in front
 */
#include "lab/shape.h"

#include "host/errtext.h"
#include "mm/gfp.h"

#include <errno.h>
#include <inttypes.h>

/* The PTE of a page that is there; nobody else works on the shape. */
static pte_t *entry_of(struct shape *s, pf_addr_t address)
{
	pmd_t *pmd = mm_find_pmd(s->mm, address);
	pte_t *pte = pmd ? pte_offset_map(pmd, address) : NULL;

	if (pte)
		pte_unmap(pte);
	return pte && pte_present(ptep_get(pte)) ? pte : NULL;
}

static void swap_pages(struct shape *s, pf_addr_t a, pte_t *pa, pf_addr_t b,
		       pte_t *pb)
{
	pte_t x = ptep_get(pa), y = ptep_get(pb);
	struct folio *f = page_folio(pte_page(x)), *g = page_folio(pte_page(y));
	pgoff_t index = f->index;

	f->index = g->index;
	g->index = index;
	set_pte_at(s->mm, a, pa, y);
	set_pte_at(s->mm, b, pb, x);
}

/* Is the block that begins with the page at @at mapped there, in order? */
static bool whole_block(struct shape *s, pf_addr_t at)
{
	pte_t *first = entry_of(s, at);
	pf_pfn_t pfn = first ? pte_pfn(ptep_get(first)) : 1;

	for (unsigned long i = 0; i < PAGEBLOCK_PAGES; i++) {
		pte_t *pte = entry_of(s, at + i * PAGE_SIZE);

		if (!pte || pte_pfn(ptep_get(pte)) != pfn + i)
			return false;
	}
	return IS_ALIGNED(pfn, PAGEBLOCK_PAGES);
}

/* The next block in [at, end) becomes CMA's; 0 if there is none. */
static pf_addr_t take_block(struct shape *s, pf_addr_t at, pf_addr_t end)
{
	const u64 bytes = PAGEBLOCK_PAGES * PAGE_SIZE;

	for (; at + bytes <= end; at += PAGE_SIZE) {
		pte_t *pte = entry_of(s, at);
		pf_pfn_t pfn = pte ? pte_pfn(ptep_get(pte)) : 1;

		if (!IS_ALIGNED(pfn, PAGEBLOCK_PAGES) || !whole_block(s, at))
			continue;
		s->machine->pageblock_type[pfn >> PAGEBLOCK_ORDER] =
			MIGRATE_CMA;
		return at;
	}
	return 0;
}

static int scatter(struct shape *s, unsigned long every, unsigned long place)
{
	struct shape_range *r = &s->ranges[0];
	const pf_addr_t whole_end = r->start + r->nr_pages * PAGE_SIZE;
	unsigned long blocks = r->nr_pages / every / PAGEBLOCK_PAGES + 2;
	unsigned long tail = blocks * PAGEBLOCK_PAGES, left = 0;
	pf_addr_t block, next;

	if (r->nr_pages <= 2 * tail || place >= every)
		return fail(-EINVAL, "%" PRIu64 " pages are too few for a CMA "
			    "page in %" PRIu64, r->nr_pages, every, 0);
	r->nr_pages -= tail;
	s->nr_pages -= tail;
	block = next = r->start + r->nr_pages * PAGE_SIZE;
	for (unsigned long i = place; i < r->nr_pages; i += every, left--) {
		pf_addr_t at = r->start + i * PAGE_SIZE, other;

		if (!left) {
			block = take_block(s, next, whole_end);
			if (!block)
				return fail(-EINVAL, "no pageblock of the shape "
					    "is whole", 0, 0, 0);
			next = block + PAGEBLOCK_PAGES * PAGE_SIZE;
			left = PAGEBLOCK_PAGES;
		}
		other = next - left * PAGE_SIZE;
		swap_pages(s, at, entry_of(s, at), other, entry_of(s, other));
	}
	return 0;
}

int shape_scatter_cma(struct shape *s, unsigned long every, unsigned long place)
{
	struct machine *previous = machine_enter(s->machine);
	int err;

	mmap_write_lock(s->mm);
	err = scatter(s, every, place);
	mmap_write_unlock(s->mm);
	machine_leave(previous);
	return err;
}
