/* SPDX-License-Identifier: MIT */
/*
 * Pools of huge pages, and who has a right to one.
 *
 * 1. nr_huge_pages = free ones + those in use; resv_huge_pages <= free ones.
 * 2. Only an allocation with a reservation takes one of the last
 *    resv_huge_pages.
 * 3. resv_huge_pages = the unused reservations of private areas + the places that
 *    files have reserved (hugetlbfs.c).
 * 4. Reservations of a private area belong to the address space that mapped it,
 *    not to its children.
 *
 * Locks: hstate->lock, inside the place's lock.
 * Source: mm/hugetlb.c
 */
#include "mm/hugetlb_internal.h"

#include "host/errtext.h"
#include "mm/gfp.h"

#include <errno.h>
#include <inttypes.h>

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

struct folio *dequeue_hugetlb_folio(struct hstate *h, bool reserved)
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

/* The last reference is gone. */
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

bool hugetlb_put_reserved(struct folio *folio)
{
	if (!atomic_dec_and_test(&folio->_refcount))
		return false;
	release_folio(folio, true);
	return true;
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

int hugetlb_acct_memory(struct hstate *h, long delta)
{
	bool enough;

	spin_lock(&h->lock);
	enough = (long)(h->free_huge_pages - h->resv_huge_pages) >= delta;
	if (enough)
		h->resv_huge_pages += (unsigned long)delta;
	spin_unlock(&h->lock);
	return enough ? 0 :
	       fail(-ENOMEM, "the pool of %" PRIu64 " KiB pages cannot promise %"
		    PRId64 " of them", huge_page_size(h) >> 10, delta, 0);
}

/* What a private area is promised. */
static int reserve_private(struct vm_area_struct *vma, struct hstate *h)
{
	unsigned long nr = vma_pages(vma) >> h->order;
	struct hugetlb_resv *resv;
	int err;

	resv = kzalloc(sizeof(*resv) + (nr / WORD_BITS + 1) * sizeof(long));
	if (!resv)
		return fail(-ENOMEM, "no memory for a reservation", 0, 0, 0);
	err = hugetlb_acct_memory(h, (long)nr);
	if (err) {
		kfree(resv);
		return err;
	}
	atomic_set(&resv->users, 1);
	resv->first = vma->vm_pgoff;
	resv->nr = nr;
	vma->resv = resv;
	return 0;
}

int hugetlb_reserve(struct vm_area_struct *vma, struct hstate *h)
{
	int err = 0;

	vma->hstate = h;
	if (!(vma->vm_flags & VM_NORESERVE))
		err = vma->vm_flags & VM_MAYSHARE ? hugetlbfs_reserve(vma) :
						    reserve_private(vma, h);
	if (!err && vma->vm_file && (vma->vm_flags & VM_WRITE))
		hugetlbfs_grow(vma);
	return err;
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
	const long unused = (long)hugetlb_reserved(vma);

	if (!vma->resv)
		return;
	(void)!hugetlb_acct_memory(hstate_vma(vma), -unused);
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
	struct folio *folio = dequeue_hugetlb_folio(hstate_vma(vma), reserved);

	if (!folio && reserved)
		unuse_reservation(vma, address);
	return folio;
}

void hugetlb_put_own(struct vm_area_struct *vma, pf_addr_t address,
		     struct folio *folio)
{
	/* An area whose reservations moved elsewhere has no leaf left. */
	if (!vma->resv)
		folio_put(folio);
	/* The page first: who finds that the place has its right, takes one. */
	else if (hugetlb_put_reserved(folio))
		unuse_reservation(vma, address);
}

void hugetlb_put_mapped(struct vm_area_struct *vma, pf_addr_t address,
			struct folio *folio)
{
	if (folio_test_anon(folio))
		hugetlb_put_own(vma, address, folio);
	else
		folio_put(folio);
}
