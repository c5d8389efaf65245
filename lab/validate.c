/* SPDX-License-Identifier: MIT */
/*
 * Three passes: what is held and listed is tallied frame by frame, then what
 * the tables of each address space map, and at last each frame's descriptor is
 * compared with its tally.
 *
 * Locks: mmap_lock, for the area look-ups.
 */
#include "lab/validate.h"

#include "lab/validate_cache.h"
#include "mm/fs.h"
#include "mm/gfp.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
#include "mm/hugetlb.h"
#include "mm/rmap.h"
#include "mm/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What one frame is found to be; counts are in its folio's head. */
struct tally {
	u32 refs;
	u32 maps;
	u32 page_maps;		/* of this page alone, by PTEs */
	u32 leaf_maps;		/* in the head: by leaves */
	u32 pins;
	u8 batched;
	u8 listed;		/* on LRU lists */
	bool table;
	bool free;		/* first of a block in the zone */
	bool cached;		/* first of a block on a CPU's list */
	bool pooled;		/* head of a free huge page */
	bool active;		/* head of a huge page in use */
	u8 order;		/* of a free block */
};

struct audit {
	struct machine *machine;
	const struct mm_holds *holds;
	struct tally *tally;	/* by frame number */
	int broken;
	/* of the address space that is being walked */
	struct mm_struct *mm;
	int64_t tables;
	int64_t rss;
	u64 reserved[NR_HSTATES];	/* of all address spaces' areas */
	u64 charged[NR_MEM_CGROUPS];	/* pages of folios, by group */
	u64 listed[NR_MEM_CGROUPS][NR_LRU_LISTS]; /* those on LRU lists */
};

static void __printf(3, 4) report(struct audit *a, enum mm_invariant nr,
				  const char *format, ...)
{
	va_list args;

	if (a->broken)
		return;
	a->broken = nr;
	va_start(args, format);
	fprintf(stderr, "mm_validate: invariant %d: ", nr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

#define CHECK(a, nr, cond, ...) do {					\
	if (unlikely(!(cond)))						\
		report((a), (nr), __VA_ARGS__);				\
} while (0)

static struct tally *tally_of(struct audit *a, const struct folio *folio)
{
	return &a->tally[folio_pfn(folio)];
}

static bool frame_valid(struct audit *a, pf_pfn_t pfn)
{
	return pfn >= RESERVED_PAGES && pfn < a->machine->nr_pages;
}

/* ---- held, listed, locked --------------------------------------------- */

static void tally_holds(struct audit *a)
{
	const struct mm_holds *h = a->holds;
	u64 acquired = nr_foll_pin_acquired(a->machine);
	u64 released = nr_foll_pin_released(a->machine);
	u64 counted = 0;

	for (unsigned long i = 0; h && i < h->nr_gets; i++)
		tally_of(a, page_folio(h->gets[i]))->refs++;
	for (unsigned long i = 0; h && i < h->nr_pins; i++) {
		struct folio *folio = page_folio(h->pins[i]);
		struct tally *t = tally_of(a, folio);
		const bool large = folio_test_large(folio);

		if (is_zero_folio(folio))
			continue;
		counted++;
		t->pins++;
		t->refs += large ? 1 : GUP_PIN_COUNTING_BIAS;
		CHECK(a, MM_EXCLUSIVE, !folio_test_anon(folio) ||
		      PageAnonExclusive(h->pins[i]) ||
		      (large && PageAnonExclusive(&folio->page)),
		      "pinned pfn %" PRIu64 " is not exclusive",
		      page_to_pfn(h->pins[i]));
	}
	CHECK(a, MM_PINS, acquired - released == counted, "%" PRIu64
	      " pins acquired, %" PRIu64 " released, %" PRIu64 " held",
	      acquired, released, counted);
}

static void check_locks(struct audit *a)
{
	struct machine *m = a->machine;
	struct mm_struct *mm;

	CHECK(a, MM_LOCKED, !m->lock.word && !m->workingset.lock.word,
	      "the machine is locked");
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		CHECK(a, MM_LOCKED, !m->zones[z].lock.word &&
		      !m->zones[z].lru_lock.word && !m->zones[z].nr_isolated,
		      "zone %u is locked, or %lu of its pages are isolated", z,
		      m->zones[z].nr_isolated);
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		CHECK(a, MM_LOCKED, !m->hstates[i].lock.word,
		      "a pool is locked");
	for (unsigned int i = 0; i < HUGETLB_FAULT_LOCKS; i++)
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&m->hugetlb_fault[i]),
		      "a place of huge pages is locked");
	for (unsigned int i = 0; i < m->nr_cpus; i++)
		CHECK(a, MM_LOCKED, !m->cpus[i].lock.word, "CPU %u is locked",
		      i);
	list_for_each_entry(mm, &m->mm_list, machine_list)
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&mm->mmap_lock) &&
		      !rwsem_is_locked(&mm->anon_vma->rwsem) &&
		      !mm->page_table_lock.word, "an mm is locked");
}

static void tally_lru_list(struct audit *a, struct zone *zone,
			   enum lru_list list)
{
	unsigned long nr = 0;
	struct folio *folio;

	list_for_each_entry(folio, &zone->lru[list], lru) {
		enum lru_list its = folio_test_swapbacked(folio) ?
				    LRU_INACTIVE_ANON : LRU_INACTIVE_FILE;

		tally_of(a, folio)->listed++;
		nr += folio_nr_pages(folio);
		a->listed[folio->memcg_id % NR_MEM_CGROUPS][list] +=
			(u64)folio_nr_pages(folio);
		CHECK(a, MM_LRU, its + folio_test_active(folio) == list &&
		      page_zone(&folio->page) == zone, "pfn %" PRIu64
		      " is on LRU list %d", folio_pfn(folio), list);
	}
	CHECK(a, MM_LRU, nr == zone->nr_lru[list],
	      "%lu pages on LRU list %d, which says %lu", nr, list,
	      zone->nr_lru[list]);
}

static void tally_lru(struct audit *a)
{
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		for (int list = 0; list < NR_LRU_LISTS; list++)
			tally_lru_list(a, &a->machine->zones[z], list);
	for (unsigned int i = 0; i < a->machine->nr_cpus; i++) {
		struct cpu_slot *cpu = &a->machine->cpus[i];

		for (unsigned int k = 0; k < cpu->nr_lru_add; k++) {
			struct tally *t = tally_of(a, cpu->lru_add[k]);

			t->batched++;
			t->refs++;
		}
	}
}

static void tally_cached(void *arg, struct folio *folio)
{
	struct audit *a = arg;

	tally_of(a, folio)->refs += (u32)folio_nr_pages(folio);
}

static void tally_caches(struct audit *a)
{
	CHECK(a, MM_CACHE, cache_validate(a->machine, tally_cached, a),
	      "a page cache is wrong");
}

static bool in_cma(struct audit *a, pf_pfn_t pfn)
{
	return a->machine->pageblock_type[pfn >> PAGEBLOCK_ORDER] ==
	       MIGRATE_CMA;
}

static bool in_zone(const struct zone *zone, pf_pfn_t pfn)
{
	return pfn >= zone->start_pfn && pfn < zone->end_pfn;
}

/* A free block of CMA lies in CMA, whole; one that is none, outside. */
static bool block_fits_type(struct audit *a, pf_pfn_t pfn, unsigned int order,
			    unsigned int type)
{
	for (pf_pfn_t at = pfn; at < pfn + (1UL << order);
	     at += PAGEBLOCK_PAGES)
		if (in_cma(a, at) != (type == MIGRATE_CMA))
			return false;
	return true;
}

/* The buddy, if it is free too and the two should be one block. */
static bool unmerged(struct audit *a, struct zone *zone, pf_pfn_t pfn,
		     unsigned int order)
{
	pf_pfn_t buddy_pfn = pfn ^ (1UL << order);
	struct page *buddy;

	if (order >= MAX_PAGE_ORDER || !in_zone(zone, buddy_pfn) ||
	    in_cma(a, pfn) != in_cma(a, buddy_pfn))
		return false;
	buddy = machine_page(a->machine, buddy_pfn);
	return test_bit(PG_buddy, &buddy->flags) && buddy->order == order;
}

static void tally_zone_list(struct audit *a, struct zone *zone,
			    unsigned int order, unsigned int type,
			    unsigned long *blocks)
{
	struct page *page;

	list_for_each_entry(page, &zone->free_area[order].free_list[type],
			    lru) {
		pf_pfn_t pfn = page_to_pfn(page);

		++*blocks;
		a->tally[pfn].free = true;
		a->tally[pfn].order = order;
		CHECK(a, MM_FREE_LISTS, test_bit(PG_buddy, &page->flags) &&
		      page->order == order && page->migratetype == type &&
		      IS_ALIGNED(pfn, 1UL << order) && in_zone(zone, pfn) &&
		      block_fits_type(a, pfn, order, type), "pfn %" PRIu64
		      " is on the list of order %u, type %u", pfn, order, type);
		CHECK(a, MM_BUDDIES, !unmerged(a, zone, pfn, order), "pfn %"
		      PRIu64 " and its buddy are both free, of order %u", pfn,
		      order);
	}
}

static void tally_zone(struct audit *a, struct zone *zone)
{
	unsigned long pages = 0, cma = 0;

	for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++) {
		unsigned long blocks = 0;

		for (unsigned int type = 0; type < MIGRATE_TYPES; type++) {
			unsigned long before = blocks;

			tally_zone_list(a, zone, order, type, &blocks);
			if (type == MIGRATE_CMA)
				cma += (blocks - before) << order;
		}
		CHECK(a, MM_FREE_LISTS, blocks == zone->free_area[order].nr_free,
		      "%lu blocks of order %u, nr_free %lu", blocks, order,
		      zone->free_area[order].nr_free);
		pages += blocks << order;
	}
	CHECK(a, MM_FREE_LISTS, pages == zone->free_pages &&
	      cma == zone->free_cma_pages, "%lu pages in the buddy lists, %lu "
	      "of CMA; the zone says %lu and %lu", pages, cma,
	      zone->free_pages, zone->free_cma_pages);
}

static void tally_zones(struct audit *a)
{
	for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
		tally_zone(a, &a->machine->zones[z]);
}

static void tally_cpu_order(struct audit *a, struct zone *zone,
			    struct per_cpu_pages *pcp, unsigned int order)
{
	unsigned long blocks = 0;
	struct page *page;

	for (unsigned int type = 0; type < MIGRATE_PCPTYPES; type++) {
		list_for_each_entry(page, &pcp->free[order][type], lru) {
			pf_pfn_t pfn = page_to_pfn(page);

			blocks++;
			a->tally[pfn].cached = true;
			a->tally[pfn].order = order;
			CHECK(a, MM_FREE_LISTS, in_zone(zone, pfn) &&
			      (!in_cma(a, pfn) || type == MIGRATE_MOVABLE),
			      "pfn %" PRIu64 " waits among type %u", pfn, type);
		}
	}
	CHECK(a, MM_FREE_LISTS, blocks == pcp->nr_free[order],
	      "%lu blocks of order %u on a CPU, nr_free %lu", blocks, order,
	      pcp->nr_free[order]);
}

static void tally_cpus(struct audit *a)
{
	struct machine *m = a->machine;

	for (unsigned int i = 0; i < m->nr_cpus; i++)
		for (unsigned int z = 0; z < MAX_NR_ZONES; z++)
			for (unsigned int k = 0; k < NR_PAGE_ORDERS; k++)
				tally_cpu_order(a, &m->zones[z],
						&m->cpus[i].pcp[z], k);
}

static void tally_pool(struct audit *a, struct hstate *h)
{
	unsigned long free = 0, active = 0;
	struct folio *folio;

	list_for_each_entry(folio, &h->freelist, lru) {
		free++;
		tally_of(a, folio)->pooled = true;
		CHECK(a, MM_POOLS, folio_test_hugetlb(folio) &&
		      folio_order(folio) == h->order &&
		      !folio_test_active(folio) && !folio->mapping &&
		      !PageAnonExclusive(&folio->page), "pfn %" PRIu64
		      " is free in a pool of order %u", folio_pfn(folio),
		      h->order);
	}
	list_for_each_entry(folio, &h->active, lru) {
		active++;
		tally_of(a, folio)->active = true;
		CHECK(a, MM_POOLS, folio_test_hugetlb(folio) &&
		      folio_order(folio) == h->order &&
		      folio_test_active(folio), "pfn %" PRIu64
		      " is in use in a pool of order %u", folio_pfn(folio),
		      h->order);
	}
	CHECK(a, MM_POOLS, free == h->free_huge_pages &&
	      free + active == h->nr_huge_pages && h->resv_huge_pages <= free,
	      "%lu pages free and %lu in use; the pool says %lu of %lu, %lu "
	      "reserved", free, active, h->free_huge_pages, h->nr_huge_pages,
	      h->resv_huge_pages);
}

static void tally_pools(struct audit *a)
{
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		tally_pool(a, &a->machine->hstates[i]);
}

/* Areas' own were counted with the areas. */
static void check_reservations(struct audit *a)
{
	struct address_space *mapping;

	list_for_each_entry(mapping, &a->machine->mapping_list, machine_list)
		if (mapping_hugetlb(mapping))
			a->reserved[hugetlbfs_hstate(mapping->host) -
				    a->machine->hstates] +=
				hugetlbfs_reserved(mapping->host);
	for (unsigned int i = 0; i < NR_HSTATES; i++)
		CHECK(a, MM_POOLS, a->reserved[i] ==
		      a->machine->hstates[i].resv_huge_pages, "areas and "
		      "files have a right to %" PRIu64 " huge pages, the pool says %lu",
		      a->reserved[i], a->machine->hstates[i].resv_huge_pages);
}

/* ---- areas and tables ------------------------------------------------- */

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

static void walk_mm(struct audit *a, struct mm_struct *mm)
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

/* ---- every frame ------------------------------------------------------ */

static bool all_zero(struct machine *machine, struct page *page, long nr)
{
	const u64 *words = page_address(page);

	for (long i = 0; !machine->metadata_only &&
	     i < nr * (long)(PAGE_SIZE / sizeof(*words)); i++)
		if (words[i])
			return false;
	return true;
}

static void check_zero_folios(struct audit *a)
{
	struct machine *m = a->machine;
	struct folio *zero = page_folio(m->zero_page);
	struct folio *huge = m->huge_zero_folio;

	/* The machine's own references. */
	tally_of(a, zero)->refs++;
	CHECK(a, MM_ZERO, all_zero(m, &zero->page, 1), "the zero page is not");
	if (!huge)
		return;
	tally_of(a, huge)->refs++;
	CHECK(a, MM_ZERO, all_zero(m, &huge->page, HPAGE_PMD_NR),
	      "the huge zero folio is not");
}

/* One that was removed from its cache stays listed as long as it lives. */
static bool lru_fits(const struct folio *folio, int listed)
{
	const struct address_space *mapping = folio->mapping;

	if (!mapping)
		return listed <= !folio_test_swapbacked(folio);
	if (folio_test_anon(folio))
		return listed == !folio_test_hugetlb(folio);
	return listed == !mapping_unevictable(mapping);
}

static void check_counts(struct audit *a, struct folio *folio)
{
	const struct tally *t = tally_of(a, folio);
	const bool hugetlb = folio_test_hugetlb(folio);
	pf_pfn_t pfn = folio_pfn(folio);

	CHECK(a, MM_REFCOUNT, folio_ref_count(folio) == (int)t->refs,
	      "pfn %" PRIu64 " order %u: refcount %d, should be %u (%u "
	      "mappings, %u pins, %u batches)", pfn, folio_order(folio),
	      folio_ref_count(folio), t->refs, t->maps, t->pins, t->batched);
	CHECK(a, MM_MAPCOUNT, folio_mapcount(folio) == (int)t->maps,
	      "pfn %" PRIu64 ": mapcount %d, %u entries", pfn,
	      folio_mapcount(folio), t->maps);
	CHECK(a, MM_PINCOUNT, !folio_test_large(folio) ||
	      atomic_read(&folio->_pincount) == (int)t->pins,
	      "pfn %" PRIu64 ": pincount %d, %u pins", pfn,
	      atomic_read(&folio->_pincount), t->pins);
	CHECK(a, MM_LRU, t->listed == folio_test_lru(folio) &&
	      lru_fits(folio, t->listed + t->batched),
	      "pfn %" PRIu64 " is on %u LRU lists and in %u batches", pfn,
	      t->listed, t->batched);
	CHECK(a, MM_POOLS, t->active == hugetlb, "pfn %" PRIu64
	      " is in use, and on its pool's list: %d", pfn, t->active);
	CHECK(a, MM_LOCKED, !folio_test_locked(folio), "pfn %" PRIu64
	      " is locked", pfn);
}

/* An exclusive page is mapped once, the head's bit speaking for a leaf's. */
static void check_sharing(struct audit *a, struct folio *folio)
{
	const struct tally *t = tally_of(a, folio);

	CHECK(a, MM_EXCLUSIVE, !t->leaf_maps || t->maps == 1 ||
	      !PageAnonExclusive(&folio->page), "pfn %" PRIu64
	      " is exclusive, and mapped by %u entries", folio_pfn(folio),
	      t->maps);
	for (long i = 0; i < folio_nr_pages(folio); i++)
		CHECK(a, MM_EXCLUSIVE, t[i].page_maps + t->leaf_maps <= 1 ||
		      !PageAnonExclusive(folio_page(folio, i)), "pfn %" PRIu64
		      " is exclusive, and mapped by %u PTEs and %u leaves",
		      folio_pfn(folio) + i, t[i].page_maps, t->leaf_maps);
}

static bool count_entries(struct folio *folio, struct vm_area_struct *vma,
			  pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	u32 *found = arg;

	while (page_vma_mapped_walk(&pvmw))
		++*found;
	return true;
}

/* The tree's lock comes first, where pages are huge. */
static void walk_hugetlb_file(struct folio *folio,
			      struct rmap_walk_control *rwc)
{
	struct address_space *mapping = folio->mapping;

	i_mmap_lock_read(mapping);
	rmap_walk_locked(folio, rwc);
	i_mmap_unlock_read(mapping);
}

static void check_rmap(struct audit *a, struct folio *folio)
{
	struct rmap_walk_control rwc = { .rmap_one = count_entries };
	const struct tally *t = tally_of(a, folio);
	u32 found = 0;

	rwc.arg = &found;
	if (folio_test_anon(folio)) {
		rmap_walk(folio, &rwc);
	} else if (folio->mapping && folio_test_hugetlb(folio)) {
		walk_hugetlb_file(folio, &rwc);
	} else if (folio->mapping && folio_trylock(folio)) {
		rmap_walk(folio, &rwc);
		folio_unlock(folio);
	}
	CHECK(a, MM_RMAP, found == t->maps, "pfn %" PRIu64 " is mapped by %u "
	      "entries, %u were found", folio_pfn(folio), t->maps, found);
}

/* A living folio, or a free huge page; returns the number of its frames. */
static unsigned long check_folio(struct audit *a, struct folio *folio)
{
	long nr = folio_nr_pages(folio);

	CHECK(a, MM_FRAMES, (folio_ref_count(folio) > 0) !=
	      tally_of(a, folio)->pooled && IS_ALIGNED(folio_pfn(folio), nr),
	      "pfn %" PRIu64 " with refcount %d is lost", folio_pfn(folio),
	      folio_ref_count(folio));
	for (long i = 1; i < nr; i++)
		CHECK(a, MM_FRAMES, page_folio(folio_page(folio, i)) == folio,
		      "pfn %" PRIu64 " is no tail", folio_pfn(folio) + i);
	if (tally_of(a, folio)->pooled)
		return nr;
	a->charged[folio->memcg_id % NR_MEM_CGROUPS] += (u64)nr;
	check_counts(a, folio);
	check_sharing(a, folio);
	check_rmap(a, folio);
	return nr;
}

static unsigned long check_frame(struct audit *a, pf_pfn_t pfn)
{
	struct page *page = machine_page(a->machine, pfn);
	const struct tally *t = &a->tally[pfn];

	CHECK(a, MM_FREE_LISTS, t->free == test_bit(PG_buddy, &page->flags),
	      "pfn %" PRIu64 " is on no list, or not free", pfn);
	if (t->free || t->cached) {
		CHECK(a, MM_FRAMES, !t->refs && !t->table &&
		      t->free + t->cached == 1 &&
		      !atomic_read(&page->_refcount), "pfn %" PRIu64
		      " is free and in use", pfn);
		return 1UL << t->order;
	}
	if (t->table || test_bit(PG_table, &page->flags)) {
		CHECK(a, MM_FRAMES, t->table, "table %" PRIu64 " is lost", pfn);
		return 1;
	}
	return check_folio(a, (struct folio *)page);
}

/* All frames but those in front of the gigantic pages, which nobody has. */
static void check_frames(struct audit *a)
{
	struct machine *m = a->machine;
	pf_pfn_t gigantic = m->movable_pfn -
		(m->hstates[HSTATE_1G].nr_huge_pages << HPAGE_PUD_ORDER);
	pf_pfn_t pfn = RESERVED_PAGES;

	while (pfn < m->nr_pages && !a->broken) {
		if (pfn == m->zones[ZONE_NORMAL].end_pfn && pfn < gigantic)
			pfn = gigantic;
		else
			pfn += check_frame(a, pfn);
	}
}

/* ---- files ------------------------------------------------------------ */

static unsigned long nr_areas_of(struct audit *a,
				 const struct address_space *mapping)
{
	struct vm_area_struct *vma;
	unsigned long nr = 0;
	struct mm_struct *mm;

	list_for_each_entry(mm, &a->machine->mm_list, machine_list) {
		mmap_read_lock(mm);
		for (vma = vma_first(mm); vma; vma = vma_next(vma))
			nr += vma->vm_file && vma->vm_file->f_mapping == mapping;
		mmap_read_unlock(mm);
	}
	return nr;
}

static void check_files(struct audit *a)
{
	struct address_space *mapping;

	list_for_each_entry(mapping, &a->machine->mapping_list, machine_list) {
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&mapping->i_mmap_rwsem) &&
		      !rwsem_is_locked(&mapping->invalidate_lock) &&
		      (!mapping->host ||
		       !rwsem_is_locked(&mapping->host->i_rwsem)),
		      "a file is locked");
		CHECK(a, MM_RMAP, mapping->i_mmap.nr == nr_areas_of(a, mapping),
		      "%lu areas map a file, %lu are in its tree",
		      nr_areas_of(a, mapping), mapping->i_mmap.nr);
	}
}

/* ---- memory groups ---------------------------------------------------- */

static void check_group(struct audit *a, unsigned int id)
{
	const struct mem_cgroup *memcg = &a->machine->memcgs[id];
	u64 usage = (u64)atomic64_read(&memcg->usage);

	CHECK(a, MM_CHARGES, usage == a->charged[id], "group %u: usage %" PRIu64
	      ", %" PRIu64 " pages", id, usage, a->charged[id]);
	for (int list = 0; list < NR_LRU_LISTS; list++)
		CHECK(a, MM_LRU, (u64)atomic64_read(&memcg->nr_lru[list]) ==
		      a->listed[id][list], "group %u: %" PRIu64 " pages on LRU "
		      "list %d", id, a->listed[id][list], list);
}

/* The root's are not counted. */
static void check_groups(struct audit *a)
{
	for (unsigned int id = MEM_CGROUP_ROOT_ID + 1; id < NR_MEM_CGROUPS;
	     id++)
		check_group(a, id);
}

int mm_validate(struct machine *machine, const struct mm_holds *holds)
{
	struct audit a = { .machine = machine, .holds = holds };
	struct machine *previous = machine_enter(machine);
	struct mm_struct *mm;

	rcu_barrier();
	a.tally = calloc(machine->nr_pages, sizeof(*a.tally));
	if (!a.tally) {
		machine_leave(previous);
		return -ENOMEM;
	}
	check_locks(&a);
	tally_holds(&a);
	tally_lru(&a);
	tally_caches(&a);
	tally_zones(&a);
	tally_cpus(&a);
	tally_pools(&a);
	check_zero_folios(&a);
	if (!a.broken)
		list_for_each_entry(mm, &machine->mm_list, machine_list)
			walk_mm(&a, mm);
	check_reservations(&a);
	check_files(&a);
	check_frames(&a);
	check_groups(&a);
	free(a.tally);
	machine_leave(previous);
	return a.broken;
}
