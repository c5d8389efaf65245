/* SPDX-License-Identifier: MIT */
#include "lab/shape.h"

#include "host/errtext.h"
#include "lab/random.h"
#include "mm/gfp.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define SYNTHETIC_START	((pf_addr_t)1 << 40)
#define SLACK_BYTES	((u64)16 << 20)
#define GRANULE		((u64)PAGE_SIZE << MAX_PAGE_ORDER)

static int add_range(struct shape *s, pf_addr_t start, unsigned long nr_pages,
		     bool write)
{
	struct shape_range *last = s->nr_ranges ?
				   &s->ranges[s->nr_ranges - 1] : NULL;
	struct shape_range *grown;

	s->nr_pages += nr_pages;
	if (last && last->write == write &&
	    last->start + last->nr_pages * PAGE_SIZE == start) {
		last->nr_pages += nr_pages;
		return 0;
	}
	if (!(s->nr_ranges & (s->nr_ranges - 1))) {
		grown = realloc(s->ranges, sizeof(*grown) *
				(s->nr_ranges ? 2 * s->nr_ranges : 1));
		if (!grown)
			return fail(-ENOMEM, "no memory for %" PRIu64 " ranges",
				    s->nr_ranges, 0, 0);
		s->ranges = grown;
	}
	s->ranges[s->nr_ranges++] = (struct shape_range){ start, nr_pages,
							  write };
	return 0;
}

static int shape_new(u64 bytes, u64 gigantic, u64 table_frames,
		     const struct shape_options *o, struct shape **out)
{
	u64 memory = bytes + table_frames * PAGE_SIZE + SLACK_BYTES;
	struct shape *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(-ENOMEM, "no memory for a shape", 0, 0, 0);
	memory = ALIGN(memory, GRANULE) + o->movable_bytes + o->cma_bytes;
	err = machine_create(&(struct machine_options){
		.memory_bytes = memory,
		.metadata_only = o->metadata_only,
		.touch = !o->metadata_only,
		/* Freed frames stay in the order they were freed in. */
		.pcp_high = memory >> PAGE_SHIFT,
		.movable_bytes = o->movable_bytes,
		.cma_bytes = o->cma_bytes,
		.hugetlb_pages = { [HSTATE_1G] = gigantic },
	}, &s->machine);
	if (!err)
		err = mm_create(s->machine, &s->mm);
	if (err) {
		shape_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void shape_free(struct shape *s)
{
	if (!s)
		return;
	if (s->mm)
		mm_destroy(s->mm);
	if (s->machine)
		machine_destroy(s->machine);
	free(s->ranges);
	free(s);
}

/* Allocate @nr folios, free them in random order: so they lie on the list. */
static int shuffle_frames(unsigned long nr, unsigned int order, u64 seed)
{
	struct folio **folios = calloc(nr, sizeof(*folios));
	struct random random = { seed };
	unsigned long got = 0;

	if (!folios)
		return fail(-ENOMEM, "no memory to shuffle %" PRIu64 " folios",
			    nr, 0, 0);
	while (got < nr) {
		folios[got] = folio_alloc(GFP_HIGHUSER_MOVABLE, order);
		if (!folios[got])
			break;
		got++;
	}
	for (unsigned long i = got; i > 1; i--) {
		unsigned long k = random_below(&random, i);
		struct folio *swap = folios[i - 1];

		folios[i - 1] = folios[k];
		folios[k] = swap;
	}
	for (unsigned long i = 0; i < got; i++)
		folio_put(folios[i]);
	free(folios);
	return got == nr ? 0 : fail(-ENOMEM, "only %" PRIu64 " of %" PRIu64
				    " folios of order %" PRIu64, got, nr, order);
}

/* Fault [start, end) in, in folios of @order where they fit. */
static int populate(struct shape *s, pf_addr_t start, pf_addr_t end,
		    unsigned int order)
{
	struct vm_area_struct *vma;
	long ret = 0;

	WRITE_ONCE(s->machine->thp_always, order ? BIT(order) : 0);
	mmap_read_lock(s->mm);
	while (start < end) {
		vma = vma_lookup(s->mm, start);
		ret = populate_vma_page_range(vma, start,
					      min(end, vma->vm_end), NULL);
		if (ret <= 0)
			break;
		start += ret * PAGE_SIZE;
	}
	mmap_read_unlock(s->mm);
	return ret < 0 ? fail(ret, "cannot populate %#" PRIx64, start, 0, 0) : 0;
}

static int fill_synthetic(struct shape *s, u64 bytes, unsigned int order,
			  const struct shape_options *options)
{
	struct mmap_request req = {
		.address = SYNTHETIC_START, .length = bytes,
		.read = true, .write = true, .fixed = true,
	};
	pf_addr_t start;
	int err = 0;

	if (order == HPAGE_PUD_ORDER)
		req.hugetlb = &s->machine->hstates[HSTATE_1G];
	else if (options->shuffled)
		err = shuffle_frames(bytes >> PAGE_SHIFT >> order, order,
				     options->seed);
	if (!err)
		err = do_mmap(s->mm, &req, &start);
	if (!err)
		err = populate(s, start, start + bytes,
			       min_t(unsigned int, order, HPAGE_PMD_ORDER));
	return err ? err : add_range(s, start, bytes >> PAGE_SHIFT, true);
}

int shape_synthetic(u64 bytes, unsigned int order,
		    const struct shape_options *options, struct shape **out)
{
	const u64 gigantic = order == HPAGE_PUD_ORDER ? bytes >> PUD_SHIFT : 0;
	struct machine *previous;
	struct shape *s;
	int err;

	if (bytes % (PAGE_SIZE << order))
		return fail(-EINVAL, "%" PRIu64 " bytes are no whole number of "
			    "folios of order %" PRIu64, bytes, order, 0);
	err = shape_new(gigantic ? 0 : bytes, gigantic, bytes >> PMD_SHIFT,
			options, &s);
	if (err)
		return err;
	previous = machine_enter(s->machine);
	err = fill_synthetic(s, bytes, order, options);
	machine_leave(previous);
	if (err) {
		shape_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Smaller enabled sizes of @order: it, 64 KiB, 4 KiB. */
static unsigned int next_smaller(unsigned int order)
{
	return order > 4 ? 4 : 0;
}

/*
 * Fill [start, end) with folios of @order at multiples of their size, and what
 * is left over at both ends with smaller ones.
 *
 *   start    first                 last      end
 *     |--------|=====|=====|=====|====|--------|
 */
static int populate_pieces(struct shape *s, pf_addr_t start, pf_addr_t end,
			   unsigned int order)
{
	pf_addr_t size = PAGE_SIZE << order;
	pf_addr_t first = ALIGN(start, size), last = ALIGN_DOWN(end, size);
	int err;

	if (start >= end)
		return 0;
	if (!order)
		return populate(s, start, end, 0);
	if (first >= last)
		return populate_pieces(s, start, end, next_smaller(order));
	err = populate_pieces(s, start, first, next_smaller(order));
	if (!err)
		err = populate(s, first, last, order);
	if (!err)
		err = populate_pieces(s, last, end, next_smaller(order));
	return err;
}

static int rebuild_runs(struct shape *s, const struct layout_vma *v, int force)
{
	const bool accessible = v->read || v->write;
	pf_addr_t at = v->start;
	int err = 0;

	for (size_t i = 0; i < v->nr_runs && !err; i++) {
		const struct layout_run *run = &v->runs[i];
		pf_addr_t end = at + run->nr_pages * PAGE_SIZE;
		int order = force >= 0 ? force : run->order;

		/* One PMD leaf is the largest folio that an area can map. */
		order = min(order, HPAGE_PMD_ORDER);
		if (run->resident)
			err = populate_pieces(s, at, end, max(order, 0));
		if (run->resident && accessible && !err)
			err = add_range(s, at, run->nr_pages, v->write);
		if (run->resident && !accessible)
			s->skipped_pages += run->nr_pages;
		if (run->resident && v->file)
			s->marked_pages += run->nr_pages;
		at = end;
	}
	return err;
}

static int rebuild_vma(struct shape *s, const struct layout_vma *v, int force)
{
	struct mmap_request req = {
		.address = v->start, .length = v->end - v->start,
		.read = true, .write = true, .noreplace = true,
	};
	pf_addr_t start;
	int err;

	if (v->start < MMAP_MIN_ADDR || v->end > TASK_SIZE)
		return 0;		/* nobody maps there, but a file may say so */
	err = do_mmap(s->mm, &req, &start);
	if (!err)
		err = rebuild_runs(s, v, force);
	if (!err)
		err = do_mprotect(s->mm, v->start, v->end - v->start,
				  v->read || v->write, v->write, v->exec);
	return err;
}

static u64 layout_table_frames(const struct layout *layout)
{
	u64 frames = 0;

	/* A table at each level for each area, and one more at its end. */
	for (size_t i = 0; i < layout->nr_vmas; i++) {
		const struct layout_vma *v = &layout->vmas[i];
		u64 tables = ((v->end - v->start) >> PMD_SHIFT) + 2;

		frames += min(tables, (u64)v->nr_runs * 2 +
			      (layout_resident_pages(layout) >> 9) + 2) + 4;
	}
	return frames;
}

int shape_from_layout(const struct layout *layout, int order,
		      struct shape **out)
{
	const struct shape_options options = { .metadata_only = true };
	u64 resident = layout_resident_pages(layout) << PAGE_SHIFT;
	struct machine *previous;
	struct shape *s;
	int err = shape_new(resident, 0, layout_table_frames(layout), &options,
			    &s);

	if (err)
		return err;
	previous = machine_enter(s->machine);
	for (size_t i = 0; i < layout->nr_vmas && !err; i++)
		err = rebuild_vma(s, &layout->vmas[i], order);
	machine_leave(previous);
	if (err) {
		shape_free(s);
		return err;
	}
	*out = s;
	return 0;
}

struct census_state {
	struct shape_census *census;
	struct folio *last;
	pf_pfn_t last_pfn;
	long last_nr;
};

static void count_page(struct census_state *st, struct page *page)
{
	struct folio *folio = page_folio(page);
	pf_pfn_t pfn = folio_pfn(folio);

	if (folio == st->last)
		return;
	st->census->folios[folio_order(folio)]++;
	st->census->ascending += st->last && pfn > st->last_pfn;
	st->census->adjacent += st->last && pfn == st->last_pfn + st->last_nr;
	st->last = folio;
	st->last_pfn = pfn;
	st->last_nr = folio_nr_pages(folio);
}

static void count_range(struct shape *s, struct census_state *st,
			const struct shape_range *r)
{
	pf_addr_t at = r->start, end = at + r->nr_pages * PAGE_SIZE;

	while (at < end) {
		pud_t *pud = mm_find_pud(s->mm, at);
		pmd_t *pmd = mm_find_pmd(s->mm, at);
		pte_t *pte;

		if (pud && pud_leaf(pudp_get(pud))) {
			st->census->pages += HPAGE_PUD_NR;
			count_page(st, pud_page(pudp_get(pud)));
			at += PUD_SIZE;
			continue;
		}
		if (pmd && pmd_leaf(pmdp_get(pmd))) {
			pf_addr_t next = min(end, (at & PMD_MASK) + PMD_SIZE);

			st->census->pmd_leaves++;
			st->census->pages += (next - at) >> PAGE_SHIFT;
			count_page(st, pmd_page(pmdp_get(pmd)));
			at = next;
			continue;
		}
		pte = pmd ? pte_offset_map(pmd, at) : NULL;
		if (pte && pte_present(ptep_get(pte))) {
			st->census->pages++;
			count_page(st, pte_page(ptep_get(pte)));
		}
		if (pte)
			pte_unmap(pte);
		at += PAGE_SIZE;
	}
}

void shape_count(struct shape *s, struct shape_census *census)
{
	struct machine *previous = machine_enter(s->machine);
	struct census_state st = { .census = census };

	*census = (struct shape_census){ 0 };
	mmap_read_lock(s->mm);
	for (size_t i = 0; i < s->nr_ranges; i++)
		count_range(s, &st, &s->ranges[i]);
	mmap_read_unlock(s->mm);
	machine_leave(previous);
}

int shape_check(struct shape *s, unsigned int order, bool shuffled)
{
	struct shape_census c;
	unsigned long folios = s->nr_pages >> order;

	shape_count(s, &c);
	if (c.pages != s->nr_pages || c.folios[order] != folios)
		return fail(-EINVAL, "%" PRIu64 " pages in %" PRIu64 " folios of "
			    "order %" PRIu64 " are not what was asked for",
			    c.pages, c.folios[order], order);
	if (order == HPAGE_PMD_ORDER && c.pmd_leaves != folios)
		return fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " huge folios are "
			    "mapped by a PMD", c.pmd_leaves, folios, 0);
	if (!shuffled && c.ascending != folios - 1)
		return fail(-EINVAL, "only %" PRIu64 " of %" PRIu64 " folios lie "
			    "above the one before", c.ascending + 1, folios, 0);
	/* By chance one folio follows its neighbour, give or take a few. */
	if (shuffled && folios > 16 && c.adjacent > folios / 4)
		return fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " folios directly "
			    "follow the one before", c.adjacent, folios, 0);
	return 0;
}
