/* SPDX-License-Identifier: MIT */
/*
 * Pools, reservations, faults and leaves of hugetlb areas.
 *
 * 1. nr_huge_pages = free ones + those in use; resv_huge_pages <= free ones.
 * 2. Only a fault with a reservation takes one of the last resv_huge_pages.
 * 3. AnonExclusive of the head page speaks for the whole page.
 * 4. The entry of a place appears, goes, or changes its page under the place's
 *    lock, so that a reservation and what became of it change together.
 *    Relatives share the lock of a place: who maps a page changes under it too.
 *    Fork needs it not: it works with the anon_vma's lock held, as does who
 *    takes a page away from a relative.
 * 5. Reservations belong to the address space that mapped the area, not to its
 *    children.
 *
 * Locks: the place's lock (machine->hugetlb_fault), the anon_vma's lock,
 * page-table lock, then hstate->lock.
 */
#include "mm/hugetlb_internal.h"

#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/rmap.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- pools ------------------------------------------------------------ */

/* A frame block becomes a huge page of the pool, refcount 0. */
static void add_to_pool(struct hstate *h, struct page *page)
{
	struct folio *folio = (struct folio *)page;

	for (unsigned long i = 1; i < 1UL << h->order; i++)
		page[i].compound_head = (unsigned long)page | 1;
	folio->flags = BIT(PG_head) | BIT(PG_hugetlb);
	folio->order = h->order;
	atomic_set(&folio->_refcount, 0);
	list_add_tail(&folio->lru, &h->freelist);
	h->nr_huge_pages++;
	h->free_huge_pages++;
}

static void init_hstate(struct hstate *h, unsigned int order)
{
	spin_lock_init(&h->lock, RANK_HUGETLB);
	h->order = order;
	INIT_LIST_HEAD(&h->freelist);
	INIT_LIST_HEAD(&h->active);
}

int hugetlb_init(struct machine *machine, const struct machine_options *options,
		 pf_pfn_t gigantic_pfn)
{
	struct hstate *h2m = &machine->hstates[HSTATE_2M];
	struct hstate *h1g = &machine->hstates[HSTATE_1G];

	for (unsigned int i = 0; i < HUGETLB_FAULT_LOCKS; i++)
		init_rwsem(&machine->hugetlb_fault[i], RANK_HUGETLB_FAULT);
	init_hstate(h2m, HPAGE_PMD_ORDER);
	init_hstate(h1g, HPAGE_PUD_ORDER);
	for (u64 i = 0; i < options->hugetlb_pages[HSTATE_1G]; i++)
		add_to_pool(h1g, machine_page(machine, gigantic_pfn +
					      (i << HPAGE_PUD_ORDER)));
	for (u64 i = 0; i < options->hugetlb_pages[HSTATE_2M]; i++) {
		struct page *page = alloc_pages(GFP_KERNEL, HPAGE_PMD_ORDER);

		if (!page)
			return fail(-ENOMEM, "the pool got %" PRIu64 " of %"
				    PRIu64 " huge pages", i,
				    options->hugetlb_pages[HSTATE_2M], 0);
		add_to_pool(h2m, page);
	}
	return 0;
}

static struct hstate *folio_hstate(const struct folio *folio)
{
	struct machine *machine = page_machine(&folio->page);

	return &machine->hstates[folio->order == HPAGE_PUD_ORDER ? HSTATE_1G :
								   HSTATE_2M];
}

/* Take a free page, with or without a right to it. */
static struct folio *dequeue(struct hstate *h, bool reserved)
{
	struct folio *folio = NULL;

	if (should_fail())
		return NULL;
	spin_lock(&h->lock);
	if (reserved || h->free_huge_pages > h->resv_huge_pages) {
		folio = list_first_entry(&h->freelist, struct folio, lru);
		list_del(&folio->lru);
		list_add_tail(&folio->lru, &h->active);
		folio_set_active(folio);
		h->free_huge_pages--;
		h->resv_huge_pages -= reserved;
	}
	spin_unlock(&h->lock);
	if (folio)
		smp_store_release(&folio->_refcount.counter, 1);
	return folio;
}

static void enqueue(struct folio *folio, bool restore_reserve)
{
	struct hstate *h = folio_hstate(folio);

	spin_lock(&h->lock);
	if (folio_test_active(folio))
		list_del(&folio->lru);
	/* Every flag that a use can leave behind goes. */
	WRITE_ONCE(folio->flags, BIT(PG_head) | BIT(PG_hugetlb));
	list_add(&folio->lru, &h->freelist);
	h->free_huge_pages++;
	h->resv_huge_pages += restore_reserve;
	spin_unlock(&h->lock);
}

static void release_folio(struct folio *folio, bool restore_reserve)
{
	VM_BUG_ON_FOLIO(folio_mapcount(folio), folio);
	BUG_ON(atomic_read(&folio->_pincount));
	WRITE_ONCE(folio->mapping, NULL);
	enqueue(folio, restore_reserve);
}

void free_huge_folio(struct folio *folio)
{
	release_folio(folio, false);
}

bool isolate_hugetlb(struct folio *folio, struct list_head *list)
{
	struct hstate *h = folio_hstate(folio);
	bool isolated = false;

	spin_lock(&h->lock);
	if (folio_test_active(folio) && folio_try_get(folio)) {
		folio_clear_active(folio);
		list_del(&folio->lru);
		list_add_tail(&folio->lru, list);
		isolated = true;
	}
	spin_unlock(&h->lock);
	return isolated;
}

void folio_putback_hugetlb(struct folio *folio)
{
	struct hstate *h = folio_hstate(folio);

	spin_lock(&h->lock);
	list_del(&folio->lru);
	list_add_tail(&folio->lru, &h->active);
	folio_set_active(folio);
	spin_unlock(&h->lock);
	folio_put(folio);
}

/* ---- reservations ----------------------------------------------------- */

/* Of an area as it was mapped; its pieces share it. */
struct hugetlb_resv {
	atomic_t users;
	pgoff_t first;			/* vm_pgoff of its first place */
	unsigned long nr;
	unsigned long used[];		/* bit set: the place took its page */
};

#define WORD_BITS (8 * sizeof(unsigned long))

static unsigned long place_of(const struct vm_area_struct *vma,
			      pf_addr_t address)
{
	return (linear_page_index(vma, address) - vma->resv->first) >>
	       hstate_vma(vma)->order;
}

int hugetlb_reserve(struct vm_area_struct *vma, struct hstate *h)
{
	unsigned long nr = vma_pages(vma) >> h->order;
	struct hugetlb_resv *resv;
	bool enough;

	resv = kzalloc(sizeof(*resv) + (nr / WORD_BITS + 1) * sizeof(long));
	if (!resv)
		return fail(-ENOMEM, "no memory for a reservation", 0, 0, 0);
	spin_lock(&h->lock);
	enough = h->free_huge_pages - h->resv_huge_pages >= nr;
	if (enough)
		h->resv_huge_pages += nr;
	spin_unlock(&h->lock);
	if (!enough) {
		kfree(resv);
		return fail(-ENOMEM, "the pool of %" PRIu64 " KiB pages cannot "
			    "promise %" PRIu64 " of them",
			    huge_page_size(h) >> 10, nr, 0);
	}
	atomic_set(&resv->users, 1);
	resv->first = vma->vm_pgoff;
	resv->nr = nr;
	vma->hstate = h;
	vma->resv = resv;
	return 0;
}

void hugetlb_share(struct vm_area_struct *upper, struct vm_area_struct *vma)
{
	upper->hstate = vma->hstate;
	upper->resv = vma->resv;
	upper->resv_unmapped = READ_ONCE(vma->resv_unmapped);
	if (vma->resv)
		atomic_inc(&vma->resv->users);
}

void hugetlb_drop_share(struct vm_area_struct *vma)
{
	if (!vma->resv)
		return;
	if (atomic_dec_and_test(&vma->resv->users))
		kfree(vma->resv);
	vma->resv = NULL;
}

unsigned long hugetlb_reserved(const struct vm_area_struct *vma)
{
	const struct hugetlb_resv *resv = vma->resv;
	unsigned long unused = 0, first, nr;

	if (!resv)
		return 0;
	first = place_of(vma, vma->vm_start);
	nr = vma_pages(vma) >> hstate_vma(vma)->order;
	for (unsigned long i = first; i < first + nr; i++)
		unused += !test_bit(i % WORD_BITS, &resv->used[i / WORD_BITS]);
	return unused;
}

void hugetlb_close(struct vm_area_struct *vma)
{
	struct hstate *h = hstate_vma(vma);
	unsigned long unused = hugetlb_reserved(vma);

	if (!vma->resv)
		return;
	spin_lock(&h->lock);
	h->resv_huge_pages -= unused;
	spin_unlock(&h->lock);
	hugetlb_drop_share(vma);
}

/* Does the place still have its reservation?  Marks it used. */
static bool use_reservation(struct vm_area_struct *vma, pf_addr_t address)
{
	unsigned long i;

	if (!vma->resv)
		return false;
	i = place_of(vma, address);
	return !test_and_set_bit(i % WORD_BITS,
				 &vma->resv->used[i / WORD_BITS]);
}

static void unuse_reservation(struct vm_area_struct *vma, pf_addr_t address)
{
	unsigned long i = place_of(vma, address);

	clear_bit(i % WORD_BITS, &vma->resv->used[i / WORD_BITS]);
}

struct folio *alloc_hugetlb_folio(struct vm_area_struct *vma,
				  pf_addr_t address)
{
	const bool reserved = use_reservation(vma, address);
	struct folio *folio = dequeue(hstate_vma(vma), reserved);

	if (!folio && reserved)
		unuse_reservation(vma, address);
	return folio;
}

/*
 * Drop the reference of a mapping that is gone.  If it was the last, page and
 * reservation come back together: what the place was promised cannot be taken
 * by others.  An area whose reservations moved elsewhere has no leaf left.
 */
static void put_mapped(struct vm_area_struct *vma, pf_addr_t address,
		       struct folio *folio)
{
	if (!atomic_dec_and_test(&folio->_refcount))
		return;
	if (vma->resv)
		unuse_reservation(vma, address);
	release_folio(folio, vma->resv != NULL);
}

/*
 * lock_place() - one fault at a time: two would want the place's page, of which
 * the pool may have just the one
 */
static struct rw_semaphore *lock_place(struct vm_area_struct *vma,
				       pf_addr_t address)
{
	struct anon_vma *anon_vma = vma->vm_mm->anon_vma;
	u64 nr = (linear_page_index(vma, address) >> hstate_vma(vma)->order) +
		 (uintptr_t)anon_vma / sizeof(*anon_vma);
	struct rw_semaphore *lock =
		&vma->vm_mm->machine->hugetlb_fault[nr % HUGETLB_FAULT_LOCKS];

	down_write(lock);
	return lock;
}

/* ---- leaves ----------------------------------------------------------- */

pmd_t *hugetlb_find_leaf(struct vm_area_struct *vma, pf_addr_t address)
{
	if (hstate_vma(vma)->order == HPAGE_PUD_ORDER)
		return (pmd_t *)mm_find_pud(vma->vm_mm, address);
	return mm_find_pmd(vma->vm_mm, address);
}

pmd_t *hugetlb_alloc_leaf(struct vm_area_struct *vma, pf_addr_t address)
{
	if (hstate_vma(vma)->order == HPAGE_PUD_ORDER)
		return (pmd_t *)mm_alloc_pud(vma->vm_mm, address);
	return mm_alloc_pmd(vma->vm_mm, address);
}

/* The leaf is empty, and stays so while the place is locked. */
static vm_fault_t hugetlb_no_page(struct vm_area_struct *vma, pmd_t *leaf,
				  pf_addr_t address, bool write)
{
	struct folio *folio;
	spinlock_t *ptl;

	/* A new page would look as if the bytes of the old one were lost. */
	if (READ_ONCE(vma->resv_unmapped))
		return VM_FAULT_SIGBUS;
	anon_vma_prepare(vma);
	folio = alloc_hugetlb_folio(vma, address);
	/* An empty pool is a bus error, not a lack of memory. */
	if (!folio)
		return VM_FAULT_SIGBUS;
	if (!page_machine(&folio->page)->metadata_only)
		memset(page_address(&folio->page), 0,
		       huge_page_size(hstate_vma(vma)));
	__folio_set_uptodate(folio);
	ptl = hugetlb_leaf_lock(leaf);
	hugetlb_add_new_anon_rmap(folio, vma, address);
	set_pmd_at(vma->vm_mm, address, leaf,
		   hugetlb_new_leaf(vma, folio, write));
	spin_unlock(ptl);
	return 0;
}

/* The leaf is there, and allows what is wanted: it has been used. */
static void hugetlb_touch(struct vm_area_struct *vma, pmd_t *leaf,
			  pf_addr_t address, bool write)
{
	spinlock_t *ptl = hugetlb_leaf_lock(leaf);

	touch_pmd(vma, address, leaf, write);
	spin_unlock(ptl);
}

static bool wants_userfault(struct vm_area_struct *vma, pmd_t entry)
{
	return !pmd_write(entry) && userfaultfd_huge_pmd_wp(vma, entry) &&
	       !userfaultfd_wp_async(vma);
}

vm_fault_t hugetlb_fault(struct vm_area_struct *vma, pf_addr_t address,
			 unsigned int flags)
{
	const bool write = flags & FAULT_FLAG_WRITE;
	const bool unshare = flags & FAULT_FLAG_UNSHARE;
	struct rw_semaphore *place;
	bool userfault = false;
	vm_fault_t ret = 0;
	pmd_t *leaf, entry;

	address = ALIGN_DOWN(address, huge_page_size(hstate_vma(vma)));
	leaf = hugetlb_alloc_leaf(vma, address);
	if (!leaf)
		return VM_FAULT_OOM;
	place = lock_place(vma, address);
	entry = pmdp_get(leaf);
	if (pmd_none(entry))
		ret = hugetlb_no_page(vma, leaf, address, write);
	else if (write && wants_userfault(vma, entry))
		userfault = true;
	else if ((write || unshare) && !pmd_write(entry))
		ret = hugetlb_wp(vma, leaf, address, unshare);
	else
		hugetlb_touch(vma, leaf, address, write);
	up_write(place);
	/* Without the place's lock: it may wait for long. */
	return userfault ? handle_userfault(&(struct vm_fault){
		.vma = vma, .address = address, .flags = flags }) : ret;
}

/* hugetlb areas have a fault handler of their own; nobody calls this one. */
static vm_fault_t hugetlb_vm_op_fault(struct vm_fault *vmf __maybe_unused)
{
	BUG();
}

const struct vm_operations_struct hugetlb_vm_ops = {
	.fault = hugetlb_vm_op_fault,
};

static void unmap_place(struct vm_area_struct *vma, pf_addr_t address)
{
	pmd_t *leaf = hugetlb_find_leaf(vma, address), entry;
	struct folio *folio;
	spinlock_t *ptl;

	if (!leaf || pmd_none(pmdp_get(leaf)))
		return;
	ptl = hugetlb_leaf_lock(leaf);
	entry = pmdp_huge_get_and_clear(vma->vm_mm, address, leaf);
	folio = page_folio(pmd_page(entry));
	atomic_dec(&folio->_mapcount);
	spin_unlock(ptl);
	put_mapped(vma, address, folio);
}

void hugetlb_unmap(struct vm_area_struct *vma, pf_addr_t start, pf_addr_t end)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (; start < end; start += size) {
		struct rw_semaphore *place = lock_place(vma, start);

		unmap_place(vma, start);
		up_write(place);
	}
}

void hugetlb_change_protection(struct vm_area_struct *vma, pf_addr_t start,
			       pf_addr_t end)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (pf_addr_t at = start; at < end; at += size) {
		pmd_t *leaf = hugetlb_find_leaf(vma, at), entry;
		spinlock_t *ptl;

		if (!leaf)
			continue;
		ptl = hugetlb_leaf_lock(leaf);
		entry = pmdp_get(leaf);
		if (pmd_leaf(entry))
			set_pmd_at(vma->vm_mm, at, leaf,
				   pmd_modify(entry, vma->vm_page_prot));
		spin_unlock(ptl);
	}
}

void hugetlb_wp_range(struct vm_area_struct *vma, pf_addr_t start,
		      pf_addr_t end, bool on)
{
	const u64 size = huge_page_size(hstate_vma(vma));

	for (pf_addr_t at = start; at < end; at += size) {
		/* No copy of the page is under way meanwhile. */
		struct rw_semaphore *place = lock_place(vma, at);
		pmd_t *leaf = hugetlb_find_leaf(vma, at), entry;
		spinlock_t *ptl;

		if (leaf) {
			ptl = hugetlb_leaf_lock(leaf);
			entry = pmdp_get(leaf);
			if (pmd_leaf(entry))
				set_pmd_at(vma->vm_mm, at, leaf, on ?
					pmd_mkuffd_wp(pmd_wrprotect(entry)) :
					pmd_clear_uffd_wp(entry));
			spin_unlock(ptl);
		}
		up_write(place);
	}
}

static void move_leaf(struct mm_struct *mm, pmd_t *from, pmd_t *to,
		      pf_addr_t new)
{
	spinlock_t *a = hugetlb_leaf_lockptr(from);
	spinlock_t *b = hugetlb_leaf_lockptr(to);
	pmd_t entry;

	spin_lock_two(a, b);
	if (pmd_leaf(pmdp_get(from))) {
		entry = pmdp_huge_get_and_clear(mm, 0, from);
		set_pmd_at(mm, new, to, pmd_mksoft_dirty(entry));
	}
	spin_unlock_two(a, b);
}

int hugetlb_move(struct vm_area_struct *from, struct vm_area_struct *to,
		 pf_addr_t old, pf_addr_t new, u64 length)
{
	const u64 size = huge_page_size(hstate_vma(from));

	/* All tables first: then nothing can go wrong half-way. */
	for (u64 done = 0; done < length; done += size)
		if (hugetlb_find_leaf(from, old + done) &&
		    !hugetlb_alloc_leaf(to, new + done))
			return -ENOMEM;
	/* The entries move at once for a walk from a folio. */
	anon_vma_lock_write(from->vm_mm->anon_vma);
	for (u64 done = 0; done < length; done += size) {
		pmd_t *leaf = hugetlb_find_leaf(from, old + done);

		if (leaf)
			move_leaf(from->vm_mm, leaf,
				  hugetlb_find_leaf(to, new + done),
				  new + done);
	}
	anon_vma_unlock_write(from->vm_mm->anon_vma);
	return 0;
}
