/* SPDX-License-Identifier: MIT */
#include "bench/limit.h"

#include "host/errtext.h"
#include "mm/gup_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- finding the spans --------------------------------------------------- */

static int add_span(struct limit *l, struct limit_span span)
{
	struct limit_span *last = l->nr_spans ? &l->spans[l->nr_spans - 1] :
						NULL;
	struct limit_span *grown;

	/* Entries of one table and one order make one span. */
	if (last && !span.leaf && !last->leaf && last->order == span.order &&
	    last->entries + last->nr_pages == span.entries &&
	    ((uintptr_t)span.entries & ~PAGE_MASK)) {
		last->nr_pages += span.nr_pages;
		return 0;
	}
	if (!(l->nr_spans & (l->nr_spans - 1))) {
		grown = realloc(l->spans, sizeof(*grown) *
				(l->nr_spans ? 2 * l->nr_spans : 1));
		if (!grown)
			return fail(-ENOMEM, "no memory for the limit", 0, 0, 0);
		l->spans = grown;
	}
	l->spans[l->nr_spans++] = span;
	return 0;
}

/* The folio at @at, which lies whole in the range: shapes see to that. */
static int add_folio(struct limit *l, struct mm_struct *mm, pf_addr_t *at,
		     pf_addr_t end)
{
	pud_t *pud = mm_find_pud(mm, *at);
	pmd_t *pmd = mm_find_pmd(mm, *at);
	struct limit_span span = { 0 };
	struct folio *folio;
	struct page *page;
	pte_t *pte;

	if (pud_leaf(pudp_get(pud))) {
		span.entries = &pud->pud;
		span.leaf = true;
		page = pud_page(pudp_get(pud));
	} else if (pmd_leaf(pmdp_get(pmd))) {
		span.entries = &pmd->pmd;
		span.leaf = true;
		page = pmd_page(pmdp_get(pmd));
	} else {
		pte = pte_offset_map(pmd, *at);
		span.entries = &pte->pte;
		page = pte_page(ptep_get(pte));
		pte_unmap(pte);
	}
	folio = page_folio(page);
	span.order = folio_order(folio);
	span.nr_pages = folio_nr_pages(folio);
	*at += span.nr_pages << PAGE_SHIFT;
	if (&folio->page != page || *at > end)
		return fail(-EINVAL, "half a folio at %#" PRIx64, *at, 0, 0);
	return add_span(l, span);
}

int limit_prepare(struct limit *l, struct shape *shape,
		  const struct shape_range *ranges, size_t nr_ranges,
		  unsigned long pages_per_call)
{
	struct machine *previous = machine_enter(shape->machine);
	int err = 0;

	*l = (struct limit){
		.memmap = (struct page *)shape->machine,
		.pages_per_call = pages_per_call,
	};
	for (size_t i = 0; i < nr_ranges && !err; i++) {
		pf_addr_t at = ranges[i].start;
		pf_addr_t end = at + ranges[i].nr_pages * PAGE_SIZE;

		while (at < end && !err)
			err = add_folio(l, shape->mm, &at, end);
	}
	machine_leave(previous);
	if (err)
		limit_free(l);
	return err;
}

void limit_free(struct limit *l)
{
	free(l->spans);
	l->spans = NULL;
	l->nr_spans = 0;
}

/* ---- what is timed --------------------------------------------------------- */

/* So that the loads cannot be left out. */
static __always_inline void use(uintptr_t value)
{
	__asm__ __volatile__("" : : "r"(value));
}

/* Load @nr words, as many at a time as there are registers for. */
static __always_inline uintptr_t differing_bits(const uintptr_t *words,
						unsigned long nr)
{
	const uintptr_t first = words[0];
	uintptr_t differ = 0, block[8] = { 0 };
	unsigned long i = 0;

	for (; i + 8 <= nr; i += 8)
		for (int k = 0; k < 8; k++)
			block[k] |= words[i + k] ^ first;
	for (; i < nr; i++)
		differ |= words[i] ^ first;
	for (int k = 0; k < 8; k++)
		differ |= block[k];
	return differ;
}

static __always_inline struct page *entry_page(struct page *memmap, u64 entry)
{
	return memmap + ((entry & _PAGE_PFN_MASK) >> PAGE_SHIFT);
}

/* One classification: the type of the pageblock, and the zone. */
static __always_inline void classify(const struct page *memmap,
				     const struct page *page)
{
	const struct machine *machine = (const struct machine *)memmap;
	pf_pfn_t pfn = page_to_pfn(page);

	use(machine->pageblock_type[pfn >> PAGEBLOCK_ORDER]);
	use(pfn >= machine->movable_pfn);
}

static __always_inline void get_small(struct page *memmap, const u64 *entries,
				      bool longterm, unsigned long nr,
				      struct page **pages)
{
	for (unsigned long i = 0; i < nr; i++) {
		struct page *page = entry_page(memmap, entries[i]);

		if (longterm)
			classify(memmap, page);
		use(page->flags);
		atomic_add(GUP_PIN_COUNTING_BIAS, &page->_refcount);
		pages[i] = page;
	}
}

static __always_inline void get_folio(struct page *memmap, const u64 *entries,
				      bool leaf, bool longterm,
				      unsigned long nr, struct page **pages)
{
	struct page *page = entry_page(memmap, entries[0]);

	if (longterm)
		classify(memmap, page);
	if (!leaf)
		use(differing_bits((const uintptr_t *)entries, nr));
	use(page->flags);
	atomic_add(nr, &page->_refcount);
	atomic_add(nr, &page->_pincount);
	gup_store_pages(pages, page, nr);
}

static __always_inline unsigned long get_all(const struct limit *l,
					     bool longterm, struct page **pages)
{
	unsigned long done = 0;

	for (size_t i = 0; i < l->nr_spans; i++) {
		const struct limit_span s = l->spans[i];
		unsigned long nr = min(1UL << s.order, s.nr_pages);

		if (!s.order)
			get_small(l->memmap, s.entries, longterm, s.nr_pages,
				  pages + done);
		for (unsigned long k = 0; s.order && k < s.nr_pages; k += nr)
			get_folio(l->memmap, s.entries + k, s.leaf, longterm,
				  nr, pages + done + k);
		done += s.nr_pages;
	}
	return done;
}

unsigned long limit_get(const struct limit *l, struct page **pages)
{
	return get_all(l, false, pages);
}

/* A large folio, at most @per_call pages at a time. */
static __always_inline void get_parts(struct page *memmap, const u64 *entries,
				      bool leaf, unsigned long nr,
				      unsigned long per_call,
				      struct page **pages)
{
	struct page *head = entry_page(memmap, entries[0]);

	for (unsigned long k = 0, part; k < nr; k += part) {
		part = min(per_call, nr - k);
		if (!leaf)
			use(differing_bits((const uintptr_t *)entries + k,
					   part));
		use(head->flags);
		atomic_add(part, &head->_refcount);
		atomic_add(part, &head->_pincount);
		gup_store_pages(pages + k, head + k, part);
	}
}

/* Calls are taken to begin with the folios that are longer than they. */
unsigned long limit_get_calls(const struct limit *l, struct page **pages)
{
	unsigned long done = 0;

	for (size_t i = 0; i < l->nr_spans; i++) {
		const struct limit_span s = l->spans[i];
		unsigned long nr = min(1UL << s.order, s.nr_pages);

		if (!s.order)
			get_small(l->memmap, s.entries, false, s.nr_pages,
				  pages + done);
		for (unsigned long k = 0; s.order && k < s.nr_pages; k += nr)
			get_parts(l->memmap, s.entries + k, s.leaf, nr,
				  l->pages_per_call, pages + done + k);
		done += s.nr_pages;
	}
	return done;
}

unsigned long limit_get_longterm(const struct limit *l, struct page **pages)
{
	return get_all(l, true, pages);
}

static void put_small(struct page **pages, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++) {
		struct page *page = pages[i];

		use(page->flags);
		atomic_sub(GUP_PIN_COUNTING_BIAS, &page->_refcount);
	}
}

static void put_folio(struct page **pages, unsigned long nr)
{
	struct page *page = pages[0];

	use(differing_bits((const uintptr_t *)pages, nr));
	use(page->flags);
	atomic_sub(nr, &page->_pincount);
	atomic_sub(nr, &page->_refcount);
}

unsigned long limit_put(const struct limit *l, struct page **pages)
{
	unsigned long done = 0;

	for (size_t i = 0; i < l->nr_spans; i++) {
		const struct limit_span s = l->spans[i];
		unsigned long nr = min(1UL << s.order, s.nr_pages);

		if (!s.order)
			put_small(pages + done, s.nr_pages);
		for (unsigned long k = 0; s.order && k < s.nr_pages; k += nr)
			put_folio(pages + done + k, nr);
		done += s.nr_pages;
	}
	return done;
}
