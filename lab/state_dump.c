/* SPDX-License-Identifier: MIT */
/*
 * A state in print, for whoever has to find out why two clones differ.
 */
#include "lab/state.h"

#include <inttypes.h>
#include <stdio.h>

static void dump_page(struct state *s, unsigned long page)
{
	struct vm_area_struct *vma = state_vma(s, page);
	struct page *p = state_page(s, page);
	struct folio *folio;

	fprintf(stderr, "  page %lu: pmd %#" PRIx64 " pte %#" PRIx64
		" area %#lx", page, pmd_val(state_pmd(s, page)),
		pte_val(state_pte(s, page)), vma ? vma->vm_flags : 0);
	if (p) {
		folio = page_folio(p);
		fprintf(stderr, " of folio %" PRIu64 " order %u refs %d "
			"pins %d maps %d flags %#lx%s", folio_pfn(folio),
			folio_order(folio), folio_ref_count(folio),
			atomic_read(&folio->_pincount), folio_mapcount(folio),
			folio->flags, PageAnonExclusive(p) ? " exclusive" : "");
	}
	fprintf(stderr, "\n");
}

void state_dump(struct state *s, unsigned long first, unsigned long end)
{
	for (; first < end && first < s->nr_pages; first++)
		dump_page(s, first);
}
