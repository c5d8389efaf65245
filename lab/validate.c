/* SPDX-License-Identifier: MIT */
/*
 * Three passes: what is held and listed is tallied frame by frame, then what
 * the tables of each address space map, and at last each frame's descriptor is
 * compared with its tally.
 */
#include "lab/validate_internal.h"

#include "mm/fs.h"
#include "mm/rmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void audit_report(struct audit *a, enum mm_invariant nr, const char *format,
		  ...)
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

/* ---- reservations, memory groups ---------------------------------------------------- */

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
	audit_lists(&a);
	check_zero_folios(&a);
	if (!a.broken)
		list_for_each_entry(mm, &machine->mm_list, machine_list)
			audit_mm(&a, mm);
	check_reservations(&a);
	check_files(&a);
	check_frames(&a);
	check_groups(&a);
	free(a.tally);
	machine_leave(previous);
	return a.broken;
}
