/* SPDX-License-Identifier: MIT */
/*
 * The second pass of mm_validate(): the areas of an address space, and what its
 * tables map.
 *
 * Locks: mmap_lock, for the area look-ups.
 */
#include "lab/validate_internal.h"

#include "mm/fs.h"
#include "mm/huge_memory.h"

#include <inttypes.h>

static void check_areas(struct audit *a)
{
	struct vm_area_struct *vma = vma_first(a->mm);
	pf_addr_t end = MMAP_MIN_ADDR;
	unsigned int nr = 0;

	for (; vma; vma = vma_next(vma)) {
		pgprot_t prot = vm_get_page_prot(vma_wants_writenotify(vma) ?
						 vma->vm_flags & ~VM_SHARED :
						 vma->vm_flags);

		nr++;
		if (is_vm_hugetlb_page(vma))
			a->reserved[hstate_vma(vma) - a->machine->hstates] +=
				hugetlb_reserved(vma);
		CHECK(a, MM_AREAS, vma->vm_start >= end &&
		      vma->vm_start < vma->vm_end && vma->vm_end <= TASK_SIZE &&
		      IS_ALIGNED(vma->vm_start | vma->vm_end, PAGE_SIZE) &&
		      vma->vm_mm == a->mm, "area %#" PRIx64 "-%#" PRIx64,
		      vma->vm_start, vma->vm_end);
		CHECK(a, MM_AREAS, vma->vm_page_prot.pgprot == prot.pgprot,
		      "the protection of area %#" PRIx64, vma->vm_start);
		CHECK(a, MM_AREAS, !vma->userfaultfd_ctx ||
		      (vma->vm_flags & VM_UFFD_WP), "area %#" PRIx64
		      " has a handler, and nothing for it to do",
		      vma->vm_start);
		end = vma->vm_end;
	}
	CHECK(a, MM_AREAS, nr == a->mm->map_count, "%u areas, map_count %u",
	      nr, a->mm->map_count);
	CHECK(a, MM_LOCKED, !(READ_ONCE(a->mm->write_protect_seq.sequence) & 1),
	      "write_protect_seq is odd");
}

static void tally_table(struct audit *a, struct page *table)
{
	struct tally *t = &a->tally[page_to_pfn(table)];

	a->tables++;
	CHECK(a, MM_TABLES, test_bit(PG_table, &table->flags) && !t->table &&
	      atomic_read(&table->_refcount) == 1,
	      "pfn %" PRIu64 " is no table, or one twice", page_to_pfn(table));
	CHECK(a, MM_ZONES, !is_zone_movable_page(table) &&
	      !in_cma(a, page_to_pfn(table)), "table %" PRIu64
	      " is where memory has to be movable", page_to_pfn(table));
	CHECK(a, MM_LOCKED, !table->ptl.word, "table %" PRIu64 " is locked",
	      page_to_pfn(table));
	t->table = true;
}

/* The table below an entry, as its words; NULL if it cannot be one. */
static u64 *enter_table(struct audit *a, u64 entry, pf_addr_t address,
			pf_addr_t size)
{
	pf_pfn_t pfn = pgd_pfn(__pgd(entry));

	CHECK(a, MM_TABLES, frame_valid(a, pfn) &&
	      !p4d_bad(__p4d(entry)), "entry %#" PRIx64 " at %#" PRIx64, entry,
	      address);
	if (a->broken)
		return NULL;
	tally_table(a, pfn_to_page(pfn));
	CHECK(a, MM_TABLES, find_vma_intersection(a->mm, address,
						  address + size),
	      "the table for %#" PRIx64 " serves no area", address);
	return table_of(pfn);
}

/* What both kinds of leaf have to fulfil; @bits without the frame number. */
static void check_permissions(struct audit *a, struct vm_area_struct *vma,
			      pf_addr_t address, pte_t bits)
{
	CHECK(a, MM_ENTRIES, vma, "an entry at %#" PRIx64 " in no area",
	      address);
	if (!vma)
		return;
	CHECK(a, MM_ENTRIES, !pte_write(bits) || (vma->vm_flags & VM_WRITE),
	      "a writable entry at %#" PRIx64, address);
	CHECK(a, MM_ENTRIES, !pte_write(bits) || !userfaultfd_pte_wp(vma, bits),
	      "a writable entry at %#" PRIx64 " is write-protected", address);
	CHECK(a, MM_ENTRIES, pte_protnone(bits) || vma_is_accessible(vma),
	      "an accessible entry at %#" PRIx64, address);
	CHECK(a, MM_ENTRIES, (pte_val(bits) & _PAGE_NX) ||
	      (vma->vm_flags & VM_EXEC), "an executable entry at %#" PRIx64,
	      address);
}

/* A page of a file is of the file that the area maps. */
static void check_file_page(struct audit *a, struct vm_area_struct *vma,
			    struct folio *folio, pf_addr_t address,
			    bool writable)
{
	CHECK(a, MM_ENTRIES, vma->vm_file &&
	      folio->mapping == vma->vm_file->f_mapping, "the page of %#" PRIx64
	      " is of another file, or of none", address);
	CHECK(a, MM_ENTRIES, !writable || (vma->vm_flags & VM_SHARED),
	      "a file's page is writable in the private area at %#" PRIx64,
	      address);
	CHECK(a, MM_ENTRIES, !writable || !vma_wants_writenotify(vma) ||
	      folio_test_dirty(folio), "a page at %#" PRIx64 " may be written, "
	      "and the file does not know", address);
}

/* @nr pages of one folio at @address, mapped by one entry. */
static void tally_mapping(struct audit *a, struct vm_area_struct *vma,
			  pf_addr_t address, struct page *page, long nr,
			  bool writable)
{
	struct folio *folio = page_folio(page);
	struct tally *t = tally_of(a, folio);

	t->maps++;
	t->refs++;
	if (nr > 1)
		t->leaf_maps++;
	else
		a->tally[page_to_pfn(page)].page_maps++;
	a->rss += folio_test_hugetlb(folio) || !folio_test_anon(folio) ? 0 : nr;
	CHECK(a, MM_ENTRIES, vma && folio_test_hugetlb(folio) == is_vm_hugetlb_page(vma) &&
	      folio_test_uptodate(folio) && !test_bit(PG_table, &page->flags),
	      "pfn %" PRIu64 " is mapped at %#" PRIx64, page_to_pfn(page),
	      address);
	CHECK(a, MM_INDEX, vma && folio->index + folio_page_idx(folio, page) ==
	      linear_page_index(vma, address), "pfn %" PRIu64 " at %#" PRIx64,
	      page_to_pfn(page), address);
	if (vma && !folio_test_anon(folio))
		check_file_page(a, vma, folio, address, writable);
	CHECK(a, MM_EXCLUSIVE, !writable || !folio_test_anon(folio) ||
	      PageAnonExclusive(page),
	      "pfn %" PRIu64 " is writable at %#" PRIx64 ", and shared",
	      page_to_pfn(page), address);
}

static void check_pte(struct audit *a, pf_addr_t address, pte_t pte)
{
	struct vm_area_struct *vma = vma_lookup(a->mm, address);

	if (!pte_present(pte)) {
		CHECK(a, MM_ENTRIES, vma, "an entry at %#" PRIx64 " in no area",
		      address);
		return;
	}
	check_permissions(a, vma, address, pte);
	CHECK(a, MM_ENTRIES, frame_valid(a, pte_pfn(pte)), "entry %#" PRIx64
	      " at %#" PRIx64, pte_val(pte), address);
	if (a->broken)
		return;
	if (pte_special(pte))
		CHECK(a, MM_ZERO, is_zero_pfn(pte_pfn(pte)) && !pte_write(pte),
		      "special entry %#" PRIx64 " at %#" PRIx64, pte_val(pte),
		      address);
	else
		tally_mapping(a, vma, address, pte_page(pte), 1,
			      pte_write(pte));
}

/* Of a PMD or, with the same bits, of a PUD. */
static void check_leaf(struct audit *a, pf_addr_t address, pmd_t leaf,
		       unsigned int order)
{
	struct vm_area_struct *vma = vma_lookup(a->mm, address);
	const u64 nr = 1UL << order;
	struct folio *folio;

	check_permissions(a, vma, address,
			  __pte(pmd_val(leaf) & ~_PAGE_PFN_MASK));
	CHECK(a, MM_ENTRIES, vma && vma->vm_end - address >= nr * PAGE_SIZE &&
	      frame_valid(a, pmd_pfn(leaf)) && IS_ALIGNED(pmd_pfn(leaf), nr),
	      "leaf %#" PRIx64 " at %#" PRIx64, pmd_val(leaf), address);
	if (a->broken)
		return;
	folio = page_folio(pmd_page(leaf));
	CHECK(a, MM_ENTRIES, folio_order(folio) == order, "a leaf at %#" PRIx64
	      " maps a folio of order %u", address, folio_order(folio));
	if (is_huge_zero_pmd(leaf)) {
		tally_of(a, folio)->refs++;
		CHECK(a, MM_ZERO, !pmd_write(leaf), "the huge zero folio is "
		      "writable at %#" PRIx64, address);
	} else {
		tally_mapping(a, vma, address, &folio->page, nr,
			      pmd_write(leaf));
	}
}

static void walk_pte_table(struct audit *a, const u64 *table,
			   pf_addr_t address)
{
	for (unsigned int i = 0; table && i < PTRS_PER_PTE; i++)
		if (table[i])
			check_pte(a, address + i * PAGE_SIZE, __pte(table[i]));
}

static void walk_pmd_table(struct audit *a, const u64 *table,
			   pf_addr_t address)
{
	struct page *page = table ? virt_to_page(table) : NULL;
	long thps = 0, deposits = 0;

	if (!table)
		return;
	for (unsigned int i = 0; i < PTRS_PER_PMD; i++) {
		pf_addr_t at = address + i * PMD_SIZE;

		if (pmd_leaf(__pmd(table[i]))) {
			thps += !folio_test_hugetlb(page_folio(
					pmd_page(__pmd(table[i]))));
			check_leaf(a, at, __pmd(table[i]), HPAGE_PMD_ORDER);
		} else if (table[i]) {
			walk_pte_table(a, enter_table(a, table[i], at,
						      PMD_SIZE), at);
		}
	}
	for (page = page->pt_next; page; page = page->pt_next) {
		deposits++;
		tally_table(a, page);
	}
	CHECK(a, MM_DEPOSITS, thps == deposits, "%ld THP leaves and %ld spare "
	      "tables at %#" PRIx64, thps, deposits, address);
}

static void walk_pud_table(struct audit *a, const u64 *table,
			   pf_addr_t address)
{
	for (unsigned int i = 0; table && i < PTRS_PER_PUD; i++) {
		pf_addr_t at = address + i * PUD_SIZE;

		if (pud_leaf(__pud(table[i])))
			check_leaf(a, at, __pmd(table[i]), HPAGE_PUD_ORDER);
		else if (table[i])
			walk_pmd_table(a, enter_table(a, table[i], at,
						      PUD_SIZE), at);
	}
}

void audit_mm(struct audit *a, struct mm_struct *mm)
{
	a->mm = mm;
	a->tables = 0;
	a->rss = 0;
	mmap_read_lock(mm);
	check_areas(a);
	tally_table(a, virt_to_page(mm->pgd));
	for (unsigned int i = 0; i < PTRS_PER_PGD; i++) {
		pf_addr_t at = i * PGDIR_SIZE;

		if (pgd_val(mm->pgd[i]))
			walk_pud_table(a, enter_table(a, pgd_val(mm->pgd[i]),
						      at, PGDIR_SIZE), at);
	}
	mmap_read_unlock(mm);
	CHECK(a, MM_TABLES, a->tables == atomic64_read(&mm->pgtables),
	      "%" PRId64 " tables, pgtables %" PRId64, a->tables,
	      atomic64_read(&mm->pgtables));
	CHECK(a, MM_RSS, a->rss == atomic64_read(&mm->rss_pages),
	      "%" PRId64 " pages are mapped, rss_pages %" PRId64, a->rss,
	      atomic64_read(&mm->rss_pages));
}
