/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

#include "api/handle.h"
#include "host/hostfd.h"

void race_file(struct race *r, unsigned long nr_pages, unsigned int max_order)
{
	race_check(!pf_shmem_create(r->machine, race_bytes(nr_pages), max_order,
				    0, &r->file));
}

void race_hugetlb_file(struct race *r)
{
	const struct hstate *h = &machine_of(r->machine)->hstates[HSTATE_2M];

	race_check(!pf_hugetlb_create(r->machine, PMD_SIZE,
				      h->nr_huge_pages * PMD_SIZE, &r->file));
}

void race_host_file(struct race *r, unsigned long nr_pages)
{
	int fd = hostfd_memory(race_bytes(nr_pages));

	race_check(fd >= 0);
	race_check(!pf_file_open(r->machine, fd, true, &r->file));
	hostfd_close(fd);
	for (unsigned long i = 0; i < nr_pages; i++)
		(void)race_file_word(r, i);
}

void race_map_file_in(struct race *r, struct pf_mm *mm, unsigned long page,
		      unsigned long nr, int prot, int flags)
{
	pf_addr_t place;

	race_check(!pf_mmap_file(mm, race_at(page), race_bytes(nr), prot,
				 flags | PINFOLD_MAP_FIXED, r->file,
				 race_bytes(page), &place));
}

void race_map_file(struct race *r, unsigned long page, unsigned long nr,
		   int prot, int flags)
{
	race_map_file_in(r, r->mm, page, nr, prot, flags);
}

void race_resize_file(struct race *r, struct race_hold *mine,
		      unsigned long nr_pages)
{
	if (!pf_file_truncate(r->file, race_bytes(nr_pages)))
		race_done(mine);
}

void race_punch(struct race *r, struct race_hold *mine, unsigned long page,
		unsigned long nr)
{
	if (!pf_file_allocate(r->file, PINFOLD_FALLOC_KEEP_SIZE |
			      PINFOLD_FALLOC_PUNCH_HOLE,
			      (int64_t)race_bytes(page),
			      (int64_t)race_bytes(nr)))
		race_done(mine);
}

bool race_clean(struct race *r, struct race_hold *mine, unsigned long page)
{
	struct machine *previous = machine_enter(machine_of(r->machine));
	struct folio *folio = filemap_lock_folio(file_of(r->file)->f_mapping,
						 page);
	bool dirty;

	race_check(!IS_ERR(folio));
	dirty = folio_clear_dirty_for_io(folio);
	folio_unlock(folio);
	folio_put(folio);
	machine_leave(previous);
	race_done(mine);
	return dirty;
}

bool race_touch_in(struct race *r, struct race_hold *mine, struct pf_mm *mm,
		   unsigned long page, u64 value)
{
	(void)r;
	race_done(mine);
	return pf_write(mm, race_at(page), &value, sizeof(value)) ==
	       sizeof(value);
}

void race_memfd_pin(struct race *r, struct race_hold *mine, unsigned long page)
{
	const int64_t at = (int64_t)race_bytes(page);
	u64 offset;

	mine->pin = true;
	mine->first = page;
	mine->nr = pf_memfd_pin_folios(r->file, at, at, mine->pages, 1,
				       &offset);
	mine->succeeded += mine->nr > 0;
}

bool race_pool_is(struct race *r, unsigned long free, unsigned long promised)
{
	const struct hstate *h = &machine_of(r->machine)->hstates[HSTATE_2M];

	return h->free_huge_pages == free && h->resv_huge_pages == promised;
}

struct folio *race_file_folio(struct race *r, pgoff_t index)
{
	void *entry = xa_load(&file_of(r->file)->f_mapping->i_pages, index);

	return xa_is_value(entry) ? NULL : entry;
}

u64 race_file_word(struct race *r, unsigned long page)
{
	u64 word = 0;

	race_check(pf_file_read(r->file, &word, sizeof(word),
				(int64_t)race_bytes(page)) == sizeof(word));
	return word;
}

struct page *race_mapped(struct pf_mm *mm, unsigned long page)
{
	struct machine *previous = machine_enter(mm_of(mm)->machine);
	pmd_t *pmd = mm_find_pmd(mm_of(mm), race_at(page));
	pte_t *pte = pmd ? pte_offset_map(pmd, race_at(page)) : NULL;
	pte_t entry = pte ? ptep_get(pte) : __pte(0);
	struct page *mapped = pte_present(entry) ? pte_page(entry) : NULL;

	if (pmd && pmd_leaf(pmdp_get(pmd)))
		mapped = pmd_page(pmdp_get(pmd)) + pte_index(race_at(page));

	if (pte)
		pte_unmap(pte);
	machine_leave(previous);
	return mapped;
}

bool race_maps_the_file(struct race *r, struct pf_mm *mm, unsigned long page)
{
	struct page *mapped = race_mapped(mm, page);
	struct folio *folio = race_file_folio(r, page);

	if (!mapped)
		return true;
	if (PageAnon(mapped))
		return page < i_size_pages(file_inode(file_of(r->file)));
	return folio && page_folio(mapped) == folio &&
	       mapped == folio_page(folio, page - folio->index);
}
