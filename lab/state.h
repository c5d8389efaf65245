/* SPDX-License-Identifier: MIT */
/*
 * A state builder: any table entry, folio and fault result, put in place.
 *
 * A box is a machine that is used again; a state is one address space in it,
 * built entry by entry or, by state_build(), from a seed.  Frames come from the
 * machine's allocator in a fixed order and a closed state leaves its box as
 * new, so the same steps in two boxes give the same frame numbers: two walks
 * are compared on such clones.
 *
 * The builder stands for all that is not modelled: other processes that share a
 * page, the page cache, somebody who migrates.  It lists what it holds for
 * them, and drops it in state_close().
 *
 * Rules for callers: nobody else works on the machine.  The machine of the
 * state that is worked on is entered, by state_enter().  What a test got or
 * pinned is released before state_close().  A writable anonymous entry needs an
 * exclusive page; anonymous pages belong in copy-on-write areas.
 */
#ifndef LAB_STATE_H
#define LAB_STATE_H

#include "mm/filemap.h"
#include "mm/mm.h"

#define STATE_RELATIVES	4

struct state_box {
	struct machine *machine;
	void *pristine;			/* the memmap of the new machine */
	unsigned long free_pages;
};

/* What the builder holds of a folio. */
struct state_held {
	struct folio *folio;
	int refs;		/* references */
	int maps;		/* mappings of other address spaces */
	int pins;
	int bias;		/* what brought the refcount to an edge */
};

struct state {
	struct state_box *box;
	struct machine *machine;
	struct mm_struct *mm;
	pf_addr_t base;			/* PMD-aligned start of the window */
	unsigned long nr_pages;		/* of the window */
	struct vm_operations_struct file_ops;	/* with ->fault */
	struct address_space mapping;	/* of STATE_FILE folios; nothing is in it */
	struct vm_operations_struct bare_ops;	/* without */
	struct state_held *held;
	size_t nr_held, room_held;
	struct folio *edge;		/* its refcount is near INT_MAX */
	struct mm_struct *relatives[STATE_RELATIVES]; /* by state_fork() */
	unsigned int nr_relatives;
};

/*
 * state_box_create() - a metadata-only machine of @bytes
 *
 * Return: 0, or a negative errno.
 * Owner: the caller, who calls state_box_destroy() after each state_close().
 */
int __must_check state_box_create(u64 bytes, struct state_box **out);
void state_box_destroy(struct state_box *box);

/* state_open() - an empty address space; enters the machine */
int __must_check state_open(struct state_box *box, pf_addr_t base,
			    unsigned long nr_pages, struct state **out);
/*
 * state_close() - take everything apart and leave the box as new
 *
 * Return: 0, or -EINVAL and the reason in error_text(): frames, references or
 * pins are left over.  The state is gone either way.
 */
int __must_check state_close(struct state *s);

static inline void state_enter(const struct state *s)
{
	(void)machine_enter(s->machine);
}

/* state_address() - of a page of the window */
static inline pf_addr_t state_address(const struct state *s, unsigned long page)
{
	return s->base + page * PAGE_SIZE;
}

/* Areas. */
#define STATE_MAY	(VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC | VM_SOFTDIRTY)
#define STATE_RW	(VM_READ | VM_WRITE | STATE_MAY)
#define STATE_RO	(VM_READ | STATE_MAY)

/* state_area() - pages [first, + nr) as one area; @ops: NULL is anonymous */
struct vm_area_struct *state_area(struct state *s, unsigned long first,
				  unsigned long nr, vm_flags_t flags,
				  const struct vm_operations_struct *ops);
/* state_vma() - the area at a page, or NULL */
struct vm_area_struct *state_vma(struct state *s, unsigned long page);

/* Folios. */
enum state_kind { STATE_ANON, STATE_FILE };

/*
 * state_folio() - a folio, with one reference in the list; NULL without memory
 *
 * A file folio's stands for the page cache.  state_drop() gives an anonymous
 * one's up once the folio is mapped, as a fault would have.
 */
struct folio *state_folio(struct state *s, enum state_kind kind,
			  unsigned int order);
void state_drop(struct state *s, struct folio *folio);
/* state_hold() - take more: what is held is dropped in state_close() */
void state_hold(struct state *s, struct folio *folio, int refs, int maps);
void state_pin(struct state *s, struct folio *folio, int pins);
/* state_set_refcount() - bring it to @count; until state_close() */
void state_set_refcount(struct state *s, struct folio *folio, int count);

/* Entries.  The bits of one: */
#define STATE_WRITE	0x01u	/* writable */
#define STATE_YOUNG	0x02u
#define STATE_DIRTY	0x04u
#define STATE_SOFT	0x08u	/* soft-dirty */
#define STATE_UFFD_WP	0x10u
#define STATE_PROTNONE	0x20u
#define STATE_SHARED	0x40u	/* anonymous: another process maps it too */
#define STATE_ORPHAN	0x80u	/* anonymous: shared once, not exclusive now */
#define STATE_OWN	(STATE_WRITE | STATE_YOUNG | STATE_DIRTY | STATE_SOFT)

/* Non-present entries. */
enum state_absent {
	ABSENT_SWAP,
	ABSENT_MIGRATION_READ,
	ABSENT_MIGRATION_READ_EXCLUSIVE,
	ABSENT_MIGRATION_WRITE,
	ABSENT_HWPOISON,
	ABSENT_MARKER_UFFD_WP,
	ABSENT_MARKER_POISON,
	NR_ABSENT,
};

/* Each returns false without memory or for a huge entry in the way. */
bool state_map_page(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, struct page *page, unsigned int bits);
bool state_map_leaf(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, struct folio *folio, unsigned int bits);
bool state_map_huge_zero(struct state *s, struct vm_area_struct *vma,
			 pf_addr_t address, unsigned int bits);
bool state_map_zero(struct state *s, struct vm_area_struct *vma,
		    pf_addr_t address, unsigned int bits);
/* A frame number without a page to it, whatever the frame is. */
bool state_map_pfn(struct state *s, struct vm_area_struct *vma,
		   pf_addr_t address, pf_pfn_t pfn, unsigned int bits);
bool state_map_absent(struct state *s, struct vm_area_struct *vma,
		      pf_addr_t address, enum state_absent what);
/* A huge entry that is not present, as while a huge page is migrated. */
bool state_map_absent_leaf(struct state *s, struct vm_area_struct *vma,
			   pf_addr_t address);

/*
 * state_map() - pages [from, + nr) of @folio from @page of the window on
 *
 * For tests with fixed states: all this cannot fail.
 */
void state_map(struct state *s, unsigned long page, struct folio *folio,
	       unsigned long from, unsigned long nr, unsigned int bits);

/* state_pte() - the entry of a page; 0 without a table */
pte_t state_pte(struct state *s, unsigned long page);
pmd_t state_pmd(struct state *s, unsigned long page);
/* state_page() - what a page of the window maps, by PTE or leaf; or NULL */
struct page *state_page(struct state *s, unsigned long page);

/*
 * state_repair() - what a fault would wait for has happened
 *
 * A migration entry becomes a mapping of its folio, a swap entry one of a new
 * page, a non-present leaf nothing; other entries stay.
 * Return: false without memory.
 */
bool state_repair(struct state *s, struct vm_area_struct *vma,
		  pf_addr_t address);

/*
 * state_fork() - a child of the state, or of its relative number @of (from 1)
 *
 * Pages become shared with an address space that is really there, and lives
 * until state_exit() or state_close().
 * Return: false without memory, or with STATE_RELATIVES already.
 */
bool state_fork(struct state *s, unsigned int of);
/* state_exit() - the relative that was made last is gone */
void state_exit(struct state *s);

/* state_dump() - pages [first, end) with their areas and folios, to stderr */
void state_dump(struct state *s, unsigned long first, unsigned long end);

/* state_build() - fill the window at random (state_random.c) */
void state_build(struct state *s, u64 seed);

#endif
