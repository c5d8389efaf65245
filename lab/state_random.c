/* SPDX-License-Identifier: MIT */
/*
 * state_build(): a random state, the same for the same seed.
 *
 * First areas, with holes between some, then each area is filled with
 * placements: a few pages that have something in common, such as the pages of
 * one folio in order, a folio's middle, two adjacent folios, a hole, or entries
 * that are not present.  Each placement is made in a mood: how many of its
 * entries are writable, dirty, shared ...; "all", "none" and "mixed" meet in
 * one table.  At last the whole may be forked, before or after pins are taken.
 */
#include "lab/state.h"

#include "lab/random.h"
#include "mm/gfp.h"
#include "mm/gup_internal.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"

#include <limits.h>

#define MAX_SEEN 64

/* Percentages: how many entries of a placement have the property. */
struct mood {
	unsigned int write, young, dirty, soft, uffd_wp, protnone, shared;
	bool orphans;		/* nobody shares them any more */
};

struct builder {
	struct state *s;
	struct random r;
	struct vm_area_struct *vma;
	struct mood mood;
	struct folio *seen[MAX_SEEN];	/* to take references of */
	unsigned int nr_seen;
	struct folio *steady;	/* large, exclusive throughout: for edges */
	bool calm;		/* areas of a few kinds, most entries present */
};

static unsigned int below(struct builder *b, unsigned int n)
{
	return random_below(&b->r, n);
}

static bool chance(struct builder *b, unsigned int percent)
{
	return random_chance(&b->r, percent);
}

/* ---- areas --------------------------------------------------------------- */

struct area_choice {
	unsigned int weight;
	vm_flags_t flags;
	bool file, bare;	/* ops with and without ->fault */
};

#define MAYS	(VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC)
#define BOTH	(VM_SHARED | VM_MAYSHARE)

static const struct area_choice choices[] = {
	{ 38, VM_READ | VM_WRITE | MAYS, false, false },
	{ 14, VM_READ | MAYS, false, false },
	{ 6, MAYS, false, false },
	{ 2, VM_WRITE | MAYS, false, false },
	{ 2, VM_EXEC | MAYS, false, false },
	{ 2, VM_WRITE | VM_MAYWRITE, false, false },	/* may not be read */
	{ 2, VM_READ | VM_MAYREAD, false, false },	/* may not be written */
	{ 8, VM_READ | VM_WRITE | MAYS, true, false },
	{ 6, VM_READ | MAYS, true, false },
	{ 5, VM_READ | VM_WRITE | MAYS | BOTH, true, false },
	{ 3, VM_READ | MAYS | BOTH, true, false },
	{ 2, VM_READ | VM_MAYREAD | VM_MAYSHARE, true, false },
	{ 2, VM_READ | VM_WRITE | MAYS, false, true },
	{ 4, VM_READ | MAYS | VM_MIXEDMAP, false, true },
	{ 4, VM_READ | VM_WRITE | MAYS | VM_MIXEDMAP, false, true },
	{ 1, VM_READ | VM_WRITE | MAYS | VM_PFNMAP, false, true },
	{ 1, VM_READ | VM_WRITE | MAYS | VM_IO, false, true },
};

static const struct area_choice *choose_area(struct builder *b)
{
	unsigned int sum = 0, at;

	/* So that long requests get somewhere. */
	if (b->calm)
		return &choices[chance(b, 70) ? 0 : chance(b, 80) ? 1 : 7];
	for (unsigned int i = 0; i < ARRAY_SIZE(choices); i++)
		sum += choices[i].weight;
	at = below(b, sum);
	for (unsigned int i = 0;; i++) {
		if (at < choices[i].weight)
			return &choices[i];
		at -= choices[i].weight;
	}
}

static vm_flags_t area_extras(struct builder *b)
{
	static const struct {
		unsigned int percent;
		vm_flags_t flag;
	} extras[] = {
		{ 80, VM_SOFTDIRTY }, { 15, VM_UFFD_WP }, { 15, VM_HUGEPAGE },
		{ 5, VM_NOHUGEPAGE }, { 5, VM_EXEC }, { 4, VM_GROWSDOWN },
		{ 4, VM_LOCKED }, { 2, VM_SHADOW_STACK },
	};
	vm_flags_t flags = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(extras); i++)
		if (chance(b, extras[i].percent))
			flags |= extras[i].flag;
	return flags;
}

static unsigned long area_length(struct builder *b, unsigned long at)
{
	unsigned long left = b->s->nr_pages - at, nr;

	switch (below(b, 4)) {
	case 0:
		nr = 1 + below(b, 12);
		break;
	case 1:
		nr = 1 + below(b, 60);
		break;
	case 2:
		nr = 1 + below(b, 400);
		break;
	default:	/* to a table's end, and perhaps past it */
		nr = ALIGN(at + 1, HPAGE_PMD_NR) - at +
		     HPAGE_PMD_NR * below(b, 3);
		break;
	}
	return min(nr, left);
}

static void build_areas(struct builder *b)
{
	struct state *s = b->s;
	unsigned long nr;

	for (unsigned long at = 0; at < s->nr_pages; at += nr) {
		const struct area_choice *c = choose_area(b);

		nr = area_length(b, at);
		if (chance(b, b->calm ? 2 : 8))
			continue;	/* a hole */
		state_area(s, at, nr, c->flags | area_extras(b),
			   c->file ? &s->file_ops : c->bare ? &s->bare_ops :
							      NULL);
	}
}

/* ---- entries ------------------------------------------------------------- */

static unsigned int some_percentage(struct builder *b)
{
	static const unsigned int percentages[] = {
		0, 0, 100, 100, 50, 10, 90,
	};

	return percentages[below(b, ARRAY_SIZE(percentages))];
}

static unsigned int rarely(struct builder *b, unsigned int percent)
{
	return chance(b, percent) ? some_percentage(b) : 0;
}

static void new_mood(struct builder *b)
{
	b->mood = (struct mood){
		.write = some_percentage(b),
		.young = some_percentage(b),
		.dirty = some_percentage(b),
		.soft = some_percentage(b),
		.uffd_wp = rarely(b, 20),
		.protnone = rarely(b, 15),
		.shared = rarely(b, 35),
		.orphans = chance(b, 30),
	};
	if (chance(b, 50))
		b->mood.write = 100;
}

static bool area_takes_anon(struct builder *b)
{
	return is_cow_mapping(b->vma->vm_flags);
}

/* Bits that entry may have, whatever it maps. */
static unsigned int soft_bits(struct builder *b)
{
	unsigned int bits = 0;

	if (chance(b, b->mood.young))
		bits |= STATE_YOUNG;
	if (chance(b, b->mood.dirty))
		bits |= STATE_DIRTY;
	if (chance(b, b->mood.soft))
		bits |= STATE_SOFT;
	if (chance(b, b->mood.uffd_wp))
		bits |= STATE_UFFD_WP;
	if (!vma_is_accessible(b->vma) || chance(b, b->mood.protnone))
		bits |= STATE_PROTNONE;
	return bits;
}

static unsigned int page_bits(struct builder *b, bool anon)
{
	const vm_flags_t flags = b->vma->vm_flags;
	unsigned int bits = soft_bits(b);
	bool writable = (flags & VM_WRITE) && !(bits & STATE_PROTNONE) &&
			!((bits & STATE_UFFD_WP) && (flags & VM_UFFD_WP));

	if (anon && chance(b, b->mood.shared))
		return bits | (b->mood.orphans ? STATE_ORPHAN : STATE_SHARED);
	if (!anon && is_cow_mapping(flags))
		writable = false;
	if (writable && chance(b, b->mood.write))
		bits |= STATE_WRITE;
	return bits;
}

static struct folio *new_folio(struct builder *b, unsigned int order)
{
	const bool anon = area_takes_anon(b) &&
			  (vma_is_anonymous(b->vma) || chance(b, 40));
	struct folio *folio = state_folio(b->s, anon ? STATE_ANON : STATE_FILE,
					  order);

	if (!folio)
		return NULL;
	if (chance(b, 30))
		__folio_set_referenced(folio);
	if (chance(b, 30))
		__folio_set_active(folio);
	if (chance(b, 30))
		__folio_set_dirty(folio);
	if (chance(b, 80))
		folio_add_lru(folio);
	if (b->nr_seen < MAX_SEEN)
		b->seen[b->nr_seen++] = folio;
	else
		b->seen[below(b, MAX_SEEN)] = folio;
	return folio;
}

/* The folio is placed: only its entries keep it, unless it is in a file. */
static void placed(struct builder *b, struct folio *folio)
{
	if (!folio_test_anon(folio))
		return;
	for (unsigned int i = 0; i < b->nr_seen; i++)
		if (b->seen[i] == folio && !folio_mapcount(folio))
			b->seen[i] = b->seen[--b->nr_seen];
	state_drop(b->s, folio);
}

static void map_one(struct builder *b, pf_addr_t at, struct page *page)
{
	(void)!state_map_page(b->s, b->vma, at, page,
			      page_bits(b, PageAnon(page)));
}

/* ---- placements: each yields how many pages of the area it used ---------- */

static unsigned long place_nothing(struct builder *b,
				   pf_addr_t at __maybe_unused,
				   unsigned long room)
{
	return min(room, 1ul + below(b, chance(b, 20) ? 200 : 8));
}

static unsigned long place_small(struct builder *b, pf_addr_t at,
				 unsigned long room)
{
	unsigned long nr = min(room, 1ul + below(b, 40));

	for (unsigned long i = 0; i < nr; i++) {
		struct folio *folio = new_folio(b, 0);

		if (!folio)
			return i + 1;
		map_one(b, at + i * PAGE_SIZE, &folio->page);
		placed(b, folio);
	}
	return nr;
}

static unsigned int some_order(struct builder *b)
{
	return chance(b, 8) ? 7 + below(b, 3) : 1 + below(b, 6);
}

/* A folio's pages from the first or a middle one on, in order. */
static unsigned long place_large(struct builder *b, pf_addr_t at,
				 unsigned long room)
{
	unsigned int order = some_order(b);
	unsigned long from = chance(b, 60) ? 0 : below(b, 1u << order);
	unsigned long nr = (1ul << order) - from;
	struct folio *folio = new_folio(b, order);

	if (!folio)
		return 1;
	if (chance(b, 30))
		nr = 1 + below(b, nr);
	nr = min(nr, room);
	for (unsigned long i = 0; i < nr; i++)
		map_one(b, at + i * PAGE_SIZE, folio_page(folio, from + i));
	if (folio_test_anon(folio) && !b->mood.shared &&
	    folio_mapcount(folio))
		b->steady = folio;
	placed(b, folio);
	return nr;
}

/* Folios one after another, in one mood; their frames are mostly adjacent. */
static unsigned long place_neighbours(struct builder *b, pf_addr_t at,
				      unsigned long room)
{
	unsigned int order = below(b, 5), count = 2 + below(b, 4);
	unsigned long nr = 0;

	while (count-- && nr < room) {
		struct folio *folio = new_folio(b, order);
		unsigned long pages = min(room - nr, 1ul << order);

		if (!folio)
			return nr + 1;
		for (unsigned long i = 0; i < pages; i++, nr++)
			map_one(b, at + nr * PAGE_SIZE, folio_page(folio, i));
		placed(b, folio);
		if (chance(b, 20))
			order = below(b, 5);
	}
	return nr;
}

/* A folio's pages out of order; of a file, also the same one again. */
static unsigned long place_reordered(struct builder *b, pf_addr_t at,
				     unsigned long room)
{
	unsigned int order = 1 + below(b, 5);
	unsigned long nr = min(room, 1ul << order), step = 1 + 2 * below(b, 4);
	struct folio *folio = new_folio(b, order);
	unsigned long mask = (1ul << order) - 1, page = below(b, mask + 1);

	if (!folio)
		return 1;
	for (unsigned long i = 0; i < nr; i++) {
		map_one(b, at + i * PAGE_SIZE, folio_page(folio, page & mask));
		if (chance(b, 70) || folio_test_anon(folio))
			page += step;
	}
	placed(b, folio);
	return nr;
}

static unsigned long place_leaf(struct builder *b, pf_addr_t at,
				unsigned long room)
{
	unsigned int bits;
	struct folio *folio;

	if (!IS_ALIGNED(at, PMD_SIZE) || room < HPAGE_PMD_NR ||
	    !vma_is_anonymous(b->vma) || !area_takes_anon(b))
		return place_large(b, at, room);
	if (chance(b, 15)) {
		bits = soft_bits(b) & ~STATE_DIRTY;
		(void)!state_map_huge_zero(b->s, b->vma, at, bits);
		return HPAGE_PMD_NR;
	}
	folio = new_folio(b, HPAGE_PMD_ORDER);
	if (!folio)
		return 1;
	bits = page_bits(b, true);
	if (state_map_leaf(b->s, b->vma, at, folio, bits) &&
	    !(bits & (STATE_SHARED | STATE_ORPHAN)))
		b->steady = folio;
	placed(b, folio);
	return HPAGE_PMD_NR;
}

static unsigned long place_zero(struct builder *b, pf_addr_t at,
				unsigned long room)
{
	unsigned long nr = min(room, 1ul + below(b, 10));

	if (b->vma->vm_flags & VM_SHARED)
		return place_nothing(b, at, room);
	for (unsigned long i = 0; i < nr; i++)
		(void)!state_map_zero(b->s, b->vma, at + i * PAGE_SIZE,
				      soft_bits(b) & ~STATE_DIRTY);
	return nr;
}

static unsigned int pfn_bits(struct builder *b)
{
	unsigned int bits = soft_bits(b);

	if ((b->vma->vm_flags & VM_WRITE) &&
	    !(bits & (STATE_PROTNONE | STATE_UFFD_WP)) &&
	    chance(b, b->mood.write))
		bits |= STATE_WRITE;
	return bits;
}

/*
 * Entries without a descriptor, at random or amid a folio's pages, with just
 * the frame number that would go on.
 */
static unsigned long place_pfn(struct builder *b, pf_addr_t at,
			       unsigned long room)
{
	unsigned long nr = min(room, 4ul + below(b, 13)), odd = below(b, nr);
	struct folio *folio;

	if (!(b->vma->vm_flags & (VM_MIXEDMAP | VM_PFNMAP | VM_IO)))
		return place_neighbours(b, at, room);
	folio = chance(b, 60) ? new_folio(b, 4) : NULL;
	for (unsigned long i = 0; i < nr; i++) {
		pf_addr_t address = at + i * PAGE_SIZE;
		pf_pfn_t pfn = folio ? folio_pfn(folio) + i : 16 + i;

		if (folio && i != odd && i < 16)
			map_one(b, address, folio_page(folio, i));
		else
			(void)!state_map_pfn(b->s, b->vma, address, pfn,
					     pfn_bits(b));
	}
	if (folio)
		placed(b, folio);
	return nr;
}

static unsigned long place_absent(struct builder *b, pf_addr_t at,
				  unsigned long room)
{
	unsigned long nr = min(room, 1ul + below(b, 5));

	if (!area_takes_anon(b) || (b->calm && chance(b, 80)))
		return place_nothing(b, at, room);
	if (IS_ALIGNED(at, PMD_SIZE) && room >= HPAGE_PMD_NR &&
	    vma_is_anonymous(b->vma) && chance(b, 20)) {
		(void)!state_map_absent_leaf(b->s, b->vma, at);
		return HPAGE_PMD_NR;
	}
	for (unsigned long i = 0; i < nr; i++)
		(void)!state_map_absent(b->s, b->vma, at + i * PAGE_SIZE,
					below(b, NR_ABSENT));
	return nr;
}

typedef unsigned long (*place_fn)(struct builder *b, pf_addr_t at,
				  unsigned long room);

static void fill_area(struct builder *b)
{
	static const place_fn places[] = {
		place_nothing, place_small, place_small, place_large,
		place_large, place_large, place_neighbours, place_neighbours,
		place_reordered, place_leaf, place_leaf, place_zero,
		place_pfn, place_pfn, place_absent,
	};
	pf_addr_t at = b->vma->vm_start;

	while (at < b->vma->vm_end) {
		unsigned long room = (b->vma->vm_end - at) >> PAGE_SHIFT;
		place_fn place = places[below(b, ARRAY_SIZE(places))];

		if (IS_ALIGNED(at, PMD_SIZE) && room >= HPAGE_PMD_NR &&
		    chance(b, 60))
			place = place_leaf;
		/* Neighbouring placements in one mood run into each other. */
		if (chance(b, 60))
			new_mood(b);
		at += place(b, at, room) * PAGE_SIZE;
	}
}

/* ---- counts -------------------------------------------------------------- */

static bool may_pin(struct folio *folio)
{
	if (!folio_test_anon(folio))
		return true;
	for (long i = 0; i < folio_nr_pages(folio); i++)
		if (PageAnonExclusive(folio_page(folio, i)))
			return true;
	return false;
}

static void take_extras(struct builder *b)
{
	static const int amounts[] = { 1, 1, 2, 3, 1023, 1024, 5000 };

	for (unsigned int i = 0; i < b->nr_seen; i++) {
		if (chance(b, 5))
			state_hold(b->s, b->seen[i],
				   amounts[below(b, ARRAY_SIZE(amounts))], 0);
		if (chance(b, 5) && may_pin(b->seen[i]))
			state_pin(b->s, b->seen[i], 1 + below(b, 3));
	}
}

/* A count that refuses grabs, or will after a few more. */
static void push_to_edge(struct builder *b)
{
	if (!b->steady || !chance(b, 12))
		return;
	lru_add_drain();
	if (chance(b, 40)) {
		state_set_refcount(b->s, b->steady, 0);
		return;
	}
	state_set_refcount(b->s, b->steady,
			   INT_MAX - (chance(b, 40) ? 0 : below(b, 20)));
	b->s->edge = b->steady;
}

/* Relatives share pages, or did so once: then they are orphans. */
static void fork_some(struct builder *b)
{
	struct state *s = b->s;

	if (!chance(b, 25))
		return;
	/* Copies and splits would meet the edge. */
	b->steady = NULL;
	if (state_fork(s, 0) && chance(b, 30))
		(void)!state_fork(s, below(b, s->nr_relatives + 1));
	while (s->nr_relatives && chance(b, 30))
		state_exit(s);
}

void state_build(struct state *s, u64 seed)
{
	struct builder b = { .s = s, .r = { seed } };
	struct vm_area_struct *vma;

	if (chance(&b, 30))
		WRITE_ONCE(s->machine->thp_always, BIT(2 + below(&b, 8)));
	if (chance(&b, 50))
		WRITE_ONCE(s->machine->thp_madvise, BIT(4) | BIT(9));
	b.calm = chance(&b, 50);
	build_areas(&b);
	new_mood(&b);
	mmap_read_lock(s->mm);
	vma = vma_first(s->mm);
	mmap_read_unlock(s->mm);
	for (; vma; vma = vma_next(vma)) {
		b.vma = vma;
		fill_area(&b);
	}
	fork_some(&b);
	take_extras(&b);
	fork_some(&b);
	if (chance(&b, 40))
		lru_add_drain_all(s->machine);
	push_to_edge(&b);
}
