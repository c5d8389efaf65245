/* SPDX-License-Identifier: MIT */
/*
 * Three passes: what is held and listed is tallied frame by frame, then what
 * the tables of each address space map, and at last each frame's descriptor is
 * compared with its tally.
 *
 * Locks: mmap_lock, for the area look-ups.
 */
#include "lab/validate.h"

#include "mm/gfp.h"
#include "mm/gup.h"
#include "mm/huge_memory.h"
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
	u32 pins;
	u8 batched;
	u8 listed;		/* on LRU lists */
	bool table;
	bool free;		/* first of a block in the zone */
	bool cached;		/* first of a block on a CPU's list */
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
	struct zone *zone = &m->zones[ZONE_NORMAL];
	struct mm_struct *mm;

	CHECK(a, MM_LOCKED, !zone->lock.word && !zone->lru_lock.word &&
	      !m->lock.word, "a zone or the machine is locked");
	for (unsigned int i = 0; i < m->nr_cpus; i++)
		CHECK(a, MM_LOCKED, !m->cpus[i].lock.word, "CPU %u is locked",
		      i);
	list_for_each_entry(mm, &m->mm_list, machine_list)
		CHECK(a, MM_LOCKED, !rwsem_is_locked(&mm->mmap_lock) &&
		      !mm->page_table_lock.word, "an mm is locked");
}

static void tally_lru_list(struct audit *a, enum lru_list list)
{
	struct zone *zone = &a->machine->zones[ZONE_NORMAL];
	unsigned long nr = 0;
	struct folio *folio;

	list_for_each_entry(folio, &zone->lru[list], lru) {
		enum lru_list its = folio_test_swapbacked(folio) ?
				    LRU_INACTIVE_ANON : LRU_INACTIVE_FILE;

		tally_of(a, folio)->listed++;
		nr += folio_nr_pages(folio);
		CHECK(a, MM_LRU, its + folio_test_active(folio) == list,
		      "pfn %" PRIu64 " is on LRU list %d", folio_pfn(folio),
		      list);
	}
	CHECK(a, MM_LRU, nr == zone->nr_lru[list],
	      "%lu pages on LRU list %d, which says %lu", nr, list,
	      zone->nr_lru[list]);
}

static void tally_lru(struct audit *a)
{
	for (int list = 0; list < NR_LRU_LISTS; list++)
		tally_lru_list(a, list);
	for (unsigned int i = 0; i < a->machine->nr_cpus; i++) {
		struct cpu_slot *cpu = &a->machine->cpus[i];

		for (unsigned int k = 0; k < cpu->nr_lru_add; k++) {
			struct tally *t = tally_of(a, cpu->lru_add[k]);

			t->batched++;
			t->refs++;
		}
	}
}

static void tally_zone_list(struct audit *a, unsigned int order,
			    struct list_head *list, unsigned long *blocks)
{
	struct page *page;

	list_for_each_entry(page, list, lru) {
		pf_pfn_t pfn = page_to_pfn(page);
		struct page *buddy = NULL;

		++*blocks;
		a->tally[pfn].free = true;
		a->tally[pfn].order = order;
		CHECK(a, MM_FREE_LISTS, test_bit(PG_buddy, &page->flags) &&
		      page->order == order && IS_ALIGNED(pfn, 1UL << order),
		      "pfn %" PRIu64 " is on the list of order %u", pfn, order);
		if (order < MAX_PAGE_ORDER &&
		    frame_valid(a, pfn ^ (1UL << order)))
			buddy = machine_page(a->machine, pfn ^ (1UL << order));
		CHECK(a, MM_BUDDIES, !buddy || buddy->order != order ||
		      !test_bit(PG_buddy, &buddy->flags), "pfn %" PRIu64
		      " and its buddy are both free, of order %u", pfn, order);
	}
}

static void tally_zone(struct audit *a)
{
	struct zone *zone = &a->machine->zones[ZONE_NORMAL];
	unsigned long pages = 0;

	for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++) {
		struct free_area *area = &zone->free_area[order];
		unsigned long blocks = 0;

		for (unsigned int type = 0; type < MIGRATE_TYPES; type++)
			tally_zone_list(a, order, &area->free_list[type],
					&blocks);
		CHECK(a, MM_FREE_LISTS, blocks == area->nr_free,
		      "%lu blocks of order %u, nr_free %lu", blocks, order,
		      area->nr_free);
		pages += blocks << order;
	}
	CHECK(a, MM_FREE_LISTS, pages == zone->free_pages,
	      "%lu pages in the buddy lists, free_pages %lu", pages,
	      zone->free_pages);
}

static void tally_cpu_order(struct audit *a, struct cpu_slot *cpu,
			    unsigned int order)
{
	unsigned long blocks = 0;
	struct page *page;

	for (unsigned int type = 0; type < MIGRATE_TYPES; type++) {
		list_for_each_entry(page, &cpu->free[order][type], lru) {
			blocks++;
			a->tally[page_to_pfn(page)].cached = true;
			a->tally[page_to_pfn(page)].order = order;
		}
	}
	CHECK(a, MM_FREE_LISTS, blocks == cpu->nr_free[order],
	      "%lu blocks of order %u on a CPU, nr_free %lu", blocks, order,
	      cpu->nr_free[order]);
}

static void tally_cpus(struct audit *a)
{
	for (unsigned int i = 0; i < a->machine->nr_cpus; i++)
		for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++)
			tally_cpu_order(a, &a->machine->cpus[i], order);
}

/* ---- areas and tables ------------------------------------------------- */

static void check_areas(struct audit *a)
{
	struct vm_area_struct *vma = vma_first(a->mm);
	pf_addr_t end = MMAP_MIN_ADDR;
	unsigned int nr = 0;

	for (; vma; vma = vma_next(vma)) {
		pgprot_t prot = vm_get_page_prot(vma->vm_flags);

		nr++;
		CHECK(a, MM_AREAS, vma->vm_start >= end &&
		      vma->vm_start < vma->vm_end && vma->vm_end <= TASK_SIZE &&
		      IS_ALIGNED(vma->vm_start | vma->vm_end, PAGE_SIZE) &&
		      vma->vm_mm == a->mm, "area %#" PRIx64 "-%#" PRIx64,
		      vma->vm_start, vma->vm_end);
		CHECK(a, MM_AREAS, vma->vm_page_prot.pgprot == prot.pgprot,
		      "the protection of area %#" PRIx64, vma->vm_start);
		end = vma->vm_end;
	}
	CHECK(a, MM_AREAS, nr == a->mm->map_count, "%u areas, map_count %u",
	      nr, a->mm->map_count);
}

static void tally_table(struct audit *a, struct page *table)
{
	struct tally *t = &a->tally[page_to_pfn(table)];

	a->tables++;
	CHECK(a, MM_TABLES, test_bit(PG_table, &table->flags) && !t->table &&
	      atomic_read(&table->_refcount) == 1,
	      "pfn %" PRIu64 " is no table, or one twice", page_to_pfn(table));
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
	CHECK(a, MM_ENTRIES, pte_protnone(bits) || vma_is_accessible(vma),
	      "an accessible entry at %#" PRIx64, address);
	CHECK(a, MM_ENTRIES, (pte_val(bits) & _PAGE_NX) ||
	      (vma->vm_flags & VM_EXEC), "an executable entry at %#" PRIx64,
	      address);
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
	a->rss += nr;
	CHECK(a, MM_ENTRIES, folio_test_anon(folio) &&
	      folio_test_uptodate(folio) && !test_bit(PG_table, &page->flags),
	      "pfn %" PRIu64 " is mapped at %#" PRIx64, page_to_pfn(page),
	      address);
	CHECK(a, MM_INDEX, vma && folio->index + folio_page_idx(folio, page) ==
	      linear_page_index(vma, address), "pfn %" PRIu64 " at %#" PRIx64,
	      page_to_pfn(page), address);
	CHECK(a, MM_EXCLUSIVE, !writable || PageAnonExclusive(page),
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

static void check_leaf(struct audit *a, pf_addr_t address, pmd_t leaf)
{
	struct vm_area_struct *vma = vma_lookup(a->mm, address);
	struct folio *folio;

	check_permissions(a, vma, address,
			  __pte(pmd_val(leaf) & ~_PAGE_PFN_MASK));
	CHECK(a, MM_ENTRIES, vma && vma->vm_end - address >= PMD_SIZE &&
	      frame_valid(a, pmd_pfn(leaf)) &&
	      IS_ALIGNED(pmd_pfn(leaf), HPAGE_PMD_NR), "leaf %#" PRIx64
	      " at %#" PRIx64, pmd_val(leaf), address);
	if (a->broken)
		return;
	folio = page_folio(pmd_page(leaf));
	CHECK(a, MM_ENTRIES, folio_order(folio) == HPAGE_PMD_ORDER,
	      "a leaf at %#" PRIx64 " maps a folio of order %u", address,
	      folio_order(folio));
	if (is_huge_zero_pmd(leaf)) {
		tally_of(a, folio)->refs++;
		CHECK(a, MM_ZERO, !pmd_write(leaf), "the huge zero folio is "
		      "writable at %#" PRIx64, address);
	} else {
		tally_mapping(a, vma, address, &folio->page, HPAGE_PMD_NR,
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
	long leaves = 0, deposits = 0;

	if (!table)
		return;
	for (unsigned int i = 0; i < PTRS_PER_PMD; i++) {
		pf_addr_t at = address + i * PMD_SIZE;

		if (pmd_leaf(__pmd(table[i]))) {
			leaves++;
			check_leaf(a, at, __pmd(table[i]));
		} else if (table[i]) {
			walk_pte_table(a, enter_table(a, table[i], at,
						      PMD_SIZE), at);
		}
	}
	for (page = page->pt_next; page; page = page->pt_next) {
		deposits++;
		tally_table(a, page);
	}
	CHECK(a, MM_DEPOSITS, leaves == deposits, "%ld leaves and %ld spare "
	      "tables at %#" PRIx64, leaves, deposits, address);
}

static void walk_pud_table(struct audit *a, const u64 *table,
			   pf_addr_t address)
{
	for (unsigned int i = 0; table && i < PTRS_PER_PUD; i++) {
		pf_addr_t at = address + i * PUD_SIZE;

		if (table[i])
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

static void check_counts(struct audit *a, struct folio *folio)
{
	const struct tally *t = tally_of(a, folio);
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
	      t->listed + t->batched == folio_test_anon(folio),
	      "pfn %" PRIu64 " is on %u LRU lists and in %u batches", pfn,
	      t->listed, t->batched);
	CHECK(a, MM_LOCKED, !folio_test_locked(folio), "pfn %" PRIu64
	      " is locked", pfn);
}

/* A living folio; returns the number of its frames. */
static unsigned long check_folio(struct audit *a, struct folio *folio)
{
	long nr = folio_nr_pages(folio);

	CHECK(a, MM_FRAMES, folio_ref_count(folio) > 0 &&
	      IS_ALIGNED(folio_pfn(folio), nr), "pfn %" PRIu64 " with refcount "
	      "%d is lost", folio_pfn(folio), folio_ref_count(folio));
	for (long i = 1; i < nr; i++)
		CHECK(a, MM_FRAMES, page_folio(folio_page(folio, i)) == folio,
		      "pfn %" PRIu64 " is no tail", folio_pfn(folio) + i);
	check_counts(a, folio);
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
	tally_zone(&a);
	tally_cpus(&a);
	check_zero_folios(&a);
	if (!a.broken)
		list_for_each_entry(mm, &machine->mm_list, machine_list)
			walk_mm(&a, mm);
	for (pf_pfn_t pfn = RESERVED_PAGES;
	     pfn < machine->nr_pages && !a.broken;)
		pfn += check_frame(&a, pfn);
	free(a.tally);
	machine_leave(previous);
	return a.broken;
}
