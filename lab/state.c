/* SPDX-License-Identifier: MIT */
/*
 * Building and taking apart states, entry by entry.
 *
 * Invariants:
 * 1. A folio's refcount is its entries here + what the list says + what a test
 *    holds; its mapcount likewise.
 * 2. A page in a writable anonymous entry is exclusive; one that STATE_SHARED
 *    or STATE_ORPHAN maps is not.
 *
 * Locks: the page-table locks, as the engine takes them; mmap_lock for areas.
 */
#include "lab/state.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/gup_internal.h"
#include "mm/huge_memory.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- boxes --------------------------------------------------------------- */

int state_box_create(u64 bytes, struct state_box **out)
{
	struct state_box *box = calloc(1, sizeof(*box));
	int err = -ENOMEM;

	if (!box)
		goto out_fail;
	err = machine_create(&(struct machine_options){
		.memory_bytes = bytes, .metadata_only = true, .nr_cpus = 2,
	}, &box->machine);
	if (err)
		goto out_free;
	box->pristine = malloc(box->machine->memmap_bytes);
	if (!box->pristine) {
		err = -ENOMEM;
		goto out_machine;
	}
	memcpy(box->pristine, box->machine, box->machine->memmap_bytes);
	box->free_pages = nr_free_pages(box->machine);
	*out = box;
	return 0;

out_machine:
	machine_destroy(box->machine);
out_free:
	free(box);
out_fail:
	return fail(err, "no memory for a box of %" PRIu64 " bytes", bytes, 0,
		    0);
}

void state_box_destroy(struct state_box *box)
{
	if (!box)
		return;
	machine_destroy(box->machine);
	free(box->pristine);
	free(box);
}

/* Every frame is free and nobody uses the machine: forget its history too. */
static void box_rewind(struct state_box *box)
{
	memcpy(box->machine, box->pristine, box->machine->memmap_bytes);
}

/* ---- what the builder holds ---------------------------------------------- */

static struct state_held *held_add(struct state *s, struct folio *folio)
{
	if (s->nr_held == s->room_held) {
		s->room_held = s->room_held ? 2 * s->room_held : 64;
		s->held = realloc(s->held, s->room_held * sizeof(*s->held));
		BUG_ON(!s->held);
	}
	s->held[s->nr_held] = (struct state_held){ .folio = folio };
	return &s->held[s->nr_held++];
}

void state_hold(struct state *s, struct folio *folio, int refs, int maps)
{
	struct state_held *h = held_add(s, folio);

	folio_ref_add(folio, refs);
	atomic_add(maps, &folio->_mapcount);
	h->refs = refs;
	h->maps = maps;
}

void state_pin(struct state *s, struct folio *folio, int pins)
{
	BUG_ON(try_grab_folio(folio, pins, FOLL_PIN));
	held_add(s, folio)->pins = pins;
}

void state_set_refcount(struct state *s, struct folio *folio, int count)
{
	int bias = count - folio_ref_count(folio);

	folio_ref_add(folio, bias);
	held_add(s, folio)->bias = bias;
}

static void drop_held(struct state *s)
{
	for (size_t i = 0; i < s->nr_held; i++)
		folio_ref_add(s->held[i].folio, -s->held[i].bias);
	for (size_t i = 0; i < s->nr_held; i++) {
		struct state_held *h = &s->held[i];

		atomic_sub(h->maps, &h->folio->_mapcount);
		if (h->pins)
			gup_put_folio(h->folio, h->pins, FOLL_PIN);
		if (h->refs)
			folio_put_refs(h->folio, h->refs);
	}
	free(s->held);
}

struct folio *state_folio(struct state *s, enum state_kind kind,
			  unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_HIGHUSER_MOVABLE, order);

	if (!folio)
		return NULL;
	__folio_set_uptodate(folio);
	if (kind == STATE_ANON) {
		__folio_set_swapbacked(folio);
		folio->mapping = (struct address_space *)
			((uintptr_t)s->mm->anon_vma + PAGE_MAPPING_ANON);
	} else {
		folio->mapping = &s->mapping;
	}
	held_add(s, folio)->refs = 1;
	return folio;
}

void state_drop(struct state *s, struct folio *folio)
{
	for (size_t i = s->nr_held; i-- > 0; ) {
		if (s->held[i].folio != folio || s->held[i].refs != 1 ||
		    s->held[i].maps)
			continue;
		s->held[i] = s->held[--s->nr_held];
		folio_put(folio);
		return;
	}
	BUG();
}

/* ---- opening and closing ------------------------------------------------- */

/* A page for a missing one: of the file, or private for a write. */
static vm_fault_t file_fault(struct vm_fault *vmf)
{
	struct state *s = container_of(vmf->vma->vm_ops, struct state,
				       file_ops);
	const bool write = vmf->flags & FAULT_FLAG_WRITE;
	const bool own = write && is_cow_mapping(vmf->vma->vm_flags);
	unsigned int bits = STATE_YOUNG | STATE_SOFT;
	struct folio *folio = state_folio(s, own ? STATE_ANON : STATE_FILE, 0);

	if (!folio)
		return VM_FAULT_OOM;
	if (write && (vmf->vma->vm_flags & VM_WRITE))
		bits |= STATE_WRITE | STATE_DIRTY;
	if (!state_map_page(s, vmf->vma, vmf->address, &folio->page, bits))
		return VM_FAULT_OOM;
	if (own)
		state_drop(s, folio);
	return VM_FAULT_NOPAGE;
}

int state_open(struct state_box *box, pf_addr_t base, unsigned long nr_pages,
	       struct state **out)
{
	struct state *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(-ENOMEM, "no memory for a state", 0, 0, 0);
	s->box = box;
	s->machine = box->machine;
	s->base = base;
	s->nr_pages = nr_pages;
	s->file_ops.fault = file_fault;
	s->mapping.machine = box->machine;
	xa_init(&s->mapping.i_pages);
	/* Where frames come from is part of the state. */
	current->cpu = 1;
	err = mm_create(box->machine, &s->mm);
	if (err) {
		free(s);
		return err;
	}
	state_enter(s);
	*out = s;
	return 0;
}

/* Nobody walks any more, so no grace period is waited for. */
static void free_pmd_table(struct mm_struct *mm, pud_t *pud, pf_addr_t address)
{
	pmd_t *pmd = pmd_offset(pud, address & PUD_MASK);

	for (unsigned int i = 0; i < PTRS_PER_PMD; i++) {
		if (pmd_is_table(pmdp_get(pmd + i)))
			pte_free(mm, pmd_page(pmdp_get(pmd + i)));
		pmd_clear(pmd + i);
	}
	pte_free(mm, pfn_to_page(pud_pfn(pudp_get(pud))));
	smp_store_release(&pud->pud, 0);
}

static void free_tables(struct mm_struct *mm)
{
	for (unsigned int i = 0; i < PTRS_PER_PGD / 2; i++) {
		pf_addr_t address = i * PGDIR_SIZE;
		p4d_t *p4d = p4d_offset(pgd_offset(mm, address), address);
		pud_t *pud;

		if (!p4d_present(p4dp_get(p4d)))
			continue;
		pud = pud_offset(p4d, address);
		for (unsigned int k = 0; k < PTRS_PER_PUD; k++)
			if (pud_present(pudp_get(pud + k)))
				free_pmd_table(mm, pud + k, 0);
		pte_free(mm, pfn_to_page(pgd_pfn(p4dp_get(p4d).pgd)));
		smp_store_release(&p4d->pgd.pgd, 0);
	}
}

static void free_areas(struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	while ((vma = vma_first(mm))) {
		/* Only the flag was hugetlb's, not the pages. */
		vma->vm_flags &= ~VM_HUGETLB;
		zap_page_range(vma, vma->vm_start, vma->vm_end);
		unlink_anon_vmas(vma);
		vma_unlink(mm, vma);
		vm_area_free(vma);
	}
	free_tables(mm);
	mmap_write_unlock(mm);
}

bool state_fork(struct state *s, unsigned int of)
{
	struct mm_struct *parent = of ? s->relatives[of - 1] : s->mm;

	if (s->nr_relatives == STATE_RELATIVES ||
	    dup_mm(parent, &s->relatives[s->nr_relatives]))
		return false;
	s->nr_relatives++;
	return true;
}

void state_exit(struct state *s)
{
	struct mm_struct *mm = s->relatives[--s->nr_relatives];

	free_areas(mm);
	mm_destroy(mm);
}

/* What the machine keeps until its end. */
static void drop_huge_zero(struct machine *machine)
{
	struct folio *zero = machine->huge_zero_folio;

	if (!zero)
		return;
	machine->huge_zero_folio = NULL;
	folio_put(zero);
}

static int check_empty(struct state_box *box)
{
	struct machine *m = box->machine;
	unsigned long now = nr_free_pages(m);

	if (now != box->free_pages) {
		rcu_barrier();		/* tables that the engine unlinked */
		now = nr_free_pages(m);
	}
	if (now != box->free_pages)
		return fail(-EINVAL, "%" PRIu64 " of %" PRIu64 " frames are "
			    "free", now, box->free_pages, 0);
	if (nr_foll_pin_acquired(m) != nr_foll_pin_released(m))
		return fail(-EINVAL, "%" PRIu64 " pins acquired, %" PRIu64
			    " released", nr_foll_pin_acquired(m),
			    nr_foll_pin_released(m), 0);
	if (atomic_read(&m->zero_page->_refcount) != 1)
		return fail(-EINVAL, "the zero page has %" PRIu64 " references",
			    atomic_read(&m->zero_page->_refcount), 0, 0);
	return 0;
}

int state_close(struct state *s)
{
	struct state_box *box = s->box;
	int err;

	state_enter(s);
	drop_held(s);
	while (s->nr_relatives)
		state_exit(s);
	free_areas(s->mm);
	mm_destroy(s->mm);
	lru_add_drain_all(s->machine);
	drop_huge_zero(s->machine);
	drain_all_cpu_lists(s->machine);
	free(s);
	err = check_empty(box);
	if (!err)
		box_rewind(box);
	machine_leave(NULL);
	return err;
}

/* ---- areas --------------------------------------------------------------- */

struct vm_area_struct *state_area(struct state *s, unsigned long first,
				  unsigned long nr, vm_flags_t flags,
				  const struct vm_operations_struct *ops)
{
	struct vm_area_struct *vma;

	vma = vm_area_alloc(s->mm, state_address(s, first),
			    state_address(s, first + nr), flags);
	BUG_ON(!vma);
	vma->vm_ops = ops;
	if (flags & VM_HUGETLB)
		vma->hstate = &s->machine->hstates[HSTATE_2M];
	mmap_write_lock(s->mm);
	vma_link(s->mm, vma);
	/* Where pages of its own may be put, they are not lost in a fork. */
	if (is_cow_mapping(flags))
		anon_vma_prepare(vma);
	mmap_write_unlock(s->mm);
	return vma;
}

struct vm_area_struct *state_vma(struct state *s, unsigned long page)
{
	struct vm_area_struct *vma;

	mmap_read_lock(s->mm);
	vma = vma_lookup(s->mm, state_address(s, page));
	mmap_read_unlock(s->mm);
	return vma;
}

/* ---- entries ------------------------------------------------------------- */

static pte_t entry_of(struct vm_area_struct *vma, pf_pfn_t pfn,
		      unsigned int bits)
{
	pgprot_t prot = bits & STATE_PROTNONE ? prot_for(false, false, false) :
						vma->vm_page_prot;
	pte_t pte = pte_mkold(pte_wrprotect(pfn_pte(pfn, prot)));

	if (bits & STATE_WRITE)
		pte = pte_mkwrite_novma(pte);
	if (bits & STATE_YOUNG)
		pte = pte_mkyoung(pte);
	if (bits & STATE_DIRTY)
		pte = pte_mkdirty_hw(pte);
	if (bits & STATE_SOFT)
		pte = pte_mksoft_dirty(pte);
	if (bits & STATE_UFFD_WP)
		pte = pte_mkuffd_wp(pte);
	return pte;
}

/* Replaces whatever entry is there; not a huge one. */
static bool put_entry(struct state *s, pf_addr_t address, pte_t pte)
{
	pmd_t *pmd = mm_alloc_pmd(s->mm, address);
	spinlock_t *ptl;
	pte_t *ptep;

	if (!pmd || pte_alloc(s->mm, pmd))
		return false;
	ptep = pte_offset_map_lock(s->mm, pmd, address, &ptl);
	if (!ptep)
		return false;
	set_pte_at(s->mm, address, ptep, pte);
	pte_unmap_unlock(ptep, ptl);
	return true;
}

/* Exclusive, or shared with the builder, who stands for the other process. */
static void set_owner(struct state *s, struct page *page, unsigned int bits)
{
	struct folio *folio = page_folio(page);

	if (!folio_test_anon(folio))
		return;
	if (!(bits & (STATE_SHARED | STATE_ORPHAN))) {
		SetPageAnonExclusive(page);
		return;
	}
	BUG_ON(bits & STATE_WRITE);
	ClearPageAnonExclusive(page);
	if (bits & STATE_SHARED)
		state_hold(s, folio, 1, 1);
}

bool state_map_page(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, struct page *page, unsigned int bits)
{
	struct folio *folio = page_folio(page);

	if (!put_entry(s, address, entry_of(vma, page_to_pfn(page), bits)))
		return false;
	folio_get(folio);
	atomic_inc(&folio->_mapcount);
	if (folio_test_anon(folio))
		atomic64_add(1, &s->mm->rss_pages);
	set_owner(s, page, bits);
	return true;
}

static pmd_t leaf_of(pte_t pte)
{
	return pmd_mkhuge(__pmd(pte_val(pte)));
}

static bool put_leaf(struct state *s, pf_addr_t address, pmd_t leaf)
{
	pmd_t *pmd = mm_alloc_pmd(s->mm, address);
	struct page *table = pmd ? pte_alloc_one(s->mm) : NULL;
	spinlock_t *ptl;

	if (!table)
		return false;
	if (!pmd_none(pmdp_get(pmd))) {
		pte_free(s->mm, table);
		return false;
	}
	ptl = pmd_lock(s->mm, pmd);
	pgtable_trans_huge_deposit(s->mm, pmd, table);
	set_pmd_at(s->mm, address, pmd, leaf);
	spin_unlock(ptl);
	return true;
}

bool state_map_leaf(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, struct folio *folio, unsigned int bits)
{
	pte_t entry = entry_of(vma, folio_pfn(folio), bits);

	if (!put_leaf(s, address, leaf_of(entry)))
		return false;
	folio_get(folio);
	atomic_inc(&folio->_mapcount);
	atomic64_add(HPAGE_PMD_NR, &s->mm->rss_pages);
	set_owner(s, &folio->page, bits);
	return true;
}

bool state_map_huge_zero(struct state *s, struct vm_area_struct *vma,
			 pf_addr_t address, unsigned int bits)
{
	struct machine *m = s->machine;

	if (!m->huge_zero_folio)
		m->huge_zero_folio = folio_alloc(GFP_TRANSHUGE_LIGHT,
						 HPAGE_PMD_ORDER);
	if (!m->huge_zero_folio ||
	    !put_leaf(s, address, leaf_of(entry_of(vma,
				folio_pfn(m->huge_zero_folio), bits))))
		return false;
	folio_get(m->huge_zero_folio);
	return true;
}

bool state_map_zero(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, unsigned int bits)
{
	pf_pfn_t zero = page_to_pfn(s->machine->zero_page);

	return state_map_pfn(s, vma, address, zero, bits);
}

bool state_map_pfn(struct state *s, struct vm_area_struct *vma,
		   pf_addr_t address, pf_pfn_t pfn, unsigned int bits)
{
	return put_entry(s, address, pte_mkspecial(entry_of(vma, pfn, bits)));
}

static pte_t absent_entry(enum state_absent what, const struct folio *folio)
{
	static const unsigned int types[NR_ABSENT] = {
		[ABSENT_SWAP] = 3,
		[ABSENT_MIGRATION_READ] = SWP_MIGRATION_READ,
		[ABSENT_MIGRATION_READ_EXCLUSIVE] =
			SWP_MIGRATION_READ_EXCLUSIVE,
		[ABSENT_MIGRATION_WRITE] = SWP_MIGRATION_WRITE,
		[ABSENT_HWPOISON] = SWP_HWPOISON,
		[ABSENT_MARKER_UFFD_WP] = SWP_PTE_MARKER,
		[ABSENT_MARKER_POISON] = SWP_PTE_MARKER,
	};
	u64 offset = folio ? folio_pfn(folio) : 1234;

	if (what == ABSENT_MARKER_UFFD_WP)
		offset = PTE_MARKER_UFFD_WP;
	if (what == ABSENT_MARKER_POISON)
		offset = PTE_MARKER_POISONED;
	return swp_entry_to_pte(swp_entry(types[what], offset));
}

bool state_map_absent(struct state *s,
		      struct vm_area_struct *vma __maybe_unused,
		      pf_addr_t address, enum state_absent what)
{
	const bool names_folio = what >= ABSENT_MIGRATION_READ &&
				 what <= ABSENT_HWPOISON;
	struct folio *folio = NULL;

	if (names_folio) {
		folio = state_folio(s, STATE_ANON, 0);
		if (!folio)
			return false;
	}
	return put_entry(s, address, absent_entry(what, folio));
}

bool state_map_absent_leaf(struct state *s,
			   struct vm_area_struct *vma __maybe_unused,
			   pf_addr_t address)
{
	pmd_t *pmd = mm_alloc_pmd(s->mm, address);

	if (!pmd || !pmd_none(pmdp_get(pmd)))
		return false;
	set_pmd_at(s->mm, address, pmd,
		   __pmd(pte_val(absent_entry(ABSENT_MIGRATION_READ, NULL))));
	return true;
}

void state_map(struct state *s, unsigned long page, struct folio *folio,
	       unsigned long from, unsigned long nr, unsigned int bits)
{
	struct vm_area_struct *vma = NULL;

	for (unsigned long i = 0; i < nr; i++) {
		pf_addr_t address = state_address(s, page + i);

		if (!vma || address >= vma->vm_end)
			vma = state_vma(s, page + i);
		BUG_ON(!vma);
		BUG_ON(!state_map_page(s, vma, address,
				       folio_page(folio, from + i), bits));
	}
}

pmd_t state_pmd(struct state *s, unsigned long page)
{
	pmd_t *pmd = mm_find_pmd(s->mm, state_address(s, page));

	return pmd ? pmdp_get(pmd) : __pmd(0);
}

pte_t state_pte(struct state *s, unsigned long page)
{
	pmd_t *pmd = mm_find_pmd(s->mm, state_address(s, page));
	pte_t *ptep = pmd ? pte_offset_map(pmd, state_address(s, page)) : NULL;
	pte_t pte;

	if (!ptep)
		return __pte(0);
	pte = ptep_get(ptep);
	pte_unmap(ptep);
	return pte;
}

struct page *state_page(struct state *s, unsigned long page)
{
	pmd_t pmd = state_pmd(s, page);
	pte_t pte;

	if (pmd_present(pmd) && pmd_leaf(pmd))
		return pmd_page(pmd) + pte_index(state_address(s, page));
	pte = state_pte(s, page);
	return pte_present(pte) && pfn_valid(pte_pfn(pte)) ? pte_page(pte) :
							     NULL;
}

/* ---- repair -------------------------------------------------------------- */

static bool repair_migration(struct state *s, struct vm_area_struct *vma,
			     pf_addr_t address, swp_entry_t entry)
{
	unsigned int bits = STATE_YOUNG | STATE_SOFT;

	if (swp_type(entry) == SWP_MIGRATION_READ)
		bits |= STATE_ORPHAN;
	if (swp_type(entry) == SWP_MIGRATION_WRITE &&
	    (vma->vm_flags & VM_WRITE))
		bits |= STATE_WRITE | STATE_DIRTY;
	return state_map_page(s, vma, address,
			      &pfn_swap_entry_folio(entry)->page, bits);
}

static bool repair_swap(struct state *s, struct vm_area_struct *vma,
			pf_addr_t address)
{
	struct folio *folio = state_folio(s, STATE_ANON, 0);

	if (!folio)
		return false;
	if (!state_map_page(s, vma, address, &folio->page,
			    STATE_YOUNG | STATE_SOFT))
		return false;
	state_drop(s, folio);
	return true;
}

bool state_repair(struct state *s, struct vm_area_struct *vma,
		  pf_addr_t address)
{
	unsigned long page = (address - s->base) >> PAGE_SHIFT;
	pmd_t pmd = state_pmd(s, page);
	swp_entry_t entry;
	pte_t pte;

	if (!pmd_none(pmd) && !pmd_present(pmd)) {
		pmd_clear(mm_find_pmd(s->mm, address));
		return true;
	}
	pte = state_pte(s, page);
	if (pte_none(pte) || pte_present(pte))
		return true;
	address &= PAGE_MASK;
	entry = pte_to_swp_entry(pte);
	if (is_migration_entry(entry))
		return repair_migration(s, vma, address, entry);
	if (swp_type(entry) < MAX_SWAPFILES)
		return repair_swap(s, vma, address);
	return true;
}
