/* SPDX-License-Identifier: MIT */
/*
 * Finding or adding many folios of a range together.
 *
 *   scan     without locks: which indices are absent?
 *   provide  a frame for each absent piece, one charge and nodes for all;
 *            nothing is locked
 *   fill     ascending: lock what is present, store runs of what is absent, one
 *            hold of xa_lock for a run of single pages in one leaf
 *   finish   LRU; new ones are unlocked where the caller wants that
 *
 * What was scanned is a hint.  Each store finds out under xa_lock if its slot is
 * still empty; a folio that came first is taken in place of ours.
 *
 * Invariants:
 * 1. Sleeping for the lock of a folio, all that is locked is below it.
 * 2. What this has locked and put into the cache is never waited for by itself:
 *    with something in hand, what goes wrong ends the call with what there is.
 * 3. A frame is in the plan, in the cache, or spare.  Those in the plan are paid
 *    for, spare ones are not.
 *
 * Locks: folio lock, xa_lock; nothing is allocated under xa_lock.
 * Source: the design is its own; the contract is that of __filemap_get_folio()
 *         for each index.
 */
#include "mm/filemap_grab.h"

#include "host/errtext.h"
#include "mm/filemap_internal.h"
#include "mm/memcontrol.h"

#include <errno.h>
#include <inttypes.h>

/* A frame for an absent piece; ascending in the plan. */
struct piece {
	pgoff_t index;
	struct folio *folio;
};

struct grab_state {
	struct address_space *mapping;
	struct folio_grab *grab;
	pgoff_t pos;			/* all before it is covered */
	pgoff_t last;
	fgf_t fgp;
	gfp_t gfp;
	unsigned int max_order;
	unsigned int piece;		/* pieces before it are used */
	unsigned int nr_pieces;
	bool done;			/* the last index is covered */
	bool no_memory;			/* the plan ends for want of it */
	struct mem_cgroup *memcg;	/* who pays */
	u16 memcg_id;
	unsigned long flags;		/* that new folios have when published */
	unsigned long charged;		/* pages, that no folio has yet */
	u64 shadowed;			/* bit i: folio i is where a shadow was */
	void *shadows[FILEMAP_GRAB_MAX];
	struct xa_state xas;		/* its spare nodes */
	struct piece pieces[FILEMAP_GRAB_MAX];
};

void filemap_grab_init(struct folio_grab *grab)
{
	grab->nr = 0;
	grab->nr_spares = 0;
	grab->created = 0;
	grab->nodes = NULL;
	grab->nr_nodes = 0;
}

void filemap_grab_end(struct folio_grab *grab)
{
	struct xa_state xas = {
		.xa_spares = grab->nodes, .xa_nr_spares = grab->nr_nodes,
	};

	xas_destroy(&xas);
	grab->nodes = NULL;
	grab->nr_nodes = 0;
	while (grab->nr_spares)
		folio_put(grab->spares[--grab->nr_spares]);
}

/* ---- scan and provide ------------------------------------------------ */

/* Frames that come many at a time have a count of 0 until they are used. */
static void thaw(struct folio *folio)
{
	if (!folio_ref_count(folio))
		folio_ref_unfreeze(folio, 1);
}

/* The spare list never holds more than one call's pieces. */
static void keep_spare(struct grab_state *g, struct folio *folio)
{
	struct folio_grab *grab = g->grab;

	thaw(folio);
	if (grab->nr_spares < FILEMAP_GRAB_MAX)
		grab->spares[grab->nr_spares++] = folio;
	else
		folio_put(folio);
}

static struct folio *take_spare(struct grab_state *g, unsigned int order)
{
	struct folio_grab *grab = g->grab;

	for (unsigned int i = grab->nr_spares; i-- > 0;) {
		struct folio *folio = grab->spares[i];

		if (folio_order(folio) != order)
			continue;
		grab->spares[i] = grab->spares[--grab->nr_spares];
		return folio;
	}
	return NULL;
}

static struct folio *take_frame(struct grab_state *g, unsigned int order)
{
	const bool small = order == mapping_min_folio_order(g->mapping);
	struct folio *folio = take_spare(g, order);

	if (folio)
		return folio;
	return filemap_alloc_folio(small ? g->gfp : g->gfp | FILEMAP_GFP_LARGE,
				   order);
}

/* The largest order at @index that ends before @end. */
static unsigned int piece_order(const struct grab_state *g, pgoff_t index,
				pgoff_t nr)
{
	unsigned int order = g->max_order;

	if (index)
		order = min_t(unsigned int, order,
			      (unsigned int)__builtin_ctzll(index));
	order = min_t(unsigned int, order, 63 - (unsigned int)
		      __builtin_clzll(nr));
	return max_t(unsigned int, order, mapping_min_folio_order(g->mapping));
}

/*
 * Frames for the absent range [@index, @last].  Short memory makes the pieces
 * smaller, and then the plan shorter; halves keep what follows aligned.
 *
 * Return: false if the plan ends here.
 */
static bool plan_absent(struct grab_state *g, pgoff_t index, pgoff_t last,
			unsigned int *entries)
{
	const unsigned int min_order = mapping_min_folio_order(g->mapping);

	index = mapping_align_index(g->mapping, index);
	while (*entries < FILEMAP_GRAB_MAX) {
		unsigned int order = piece_order(g, index, last - index + 1 ?
						 last - index + 1 : -1UL);
		struct folio *folio = take_frame(g, order);

		while (!folio && order > min_order)
			folio = take_frame(g, g->max_order = --order);
		if (!folio) {
			g->no_memory = true;
			return false;
		}
		g->pieces[g->nr_pieces++] = (struct piece){ index, folio };
		++*entries;
		if (last - index < 1UL << order)
			return true;
		index += 1UL << order;
	}
	return false;
}

/*
 * The first folio, or value that is kept, from the cursor on, as [*base, *next):
 * shadows are as good as nothing.
 */
static bool next_present(const struct grab_state *g, struct xa_state *xas,
			 pgoff_t *base, pgoff_t *next)
{
	pgoff_t nr = 0;
	void *entry;

	while ((entry = xas_find(xas, g->last))) {
		if (xas_retry(xas, entry) || (xa_is_value(entry) &&
		    !mapping_keeps_values(g->mapping)))
			continue;
		nr = (pgoff_t)1 << xas_get_order(xas);
		break;
	}
	*base = xas->xa_index & ~(nr - 1);
	*next = *base + nr;
	return entry;
}

/*
 * Look at the range without a lock.  Entries that are present count against the
 * batch as well.
 */
static void make_plan(struct grab_state *g)
{
	pgoff_t index = g->pos, base, next;
	unsigned int entries = 0;
	bool present;

	for (;;) {
		XA_STATE(xas, &g->mapping->i_pages, index);

		/* Not held on: frames are allocated in between. */
		rcu_read_lock();
		present = next_present(g, &xas, &base, &next);
		rcu_read_unlock();
		if (!present)
			break;
		if (base > index && !plan_absent(g, index, base - 1, &entries))
			return;
		if (++entries >= FILEMAP_GRAB_MAX || next - 1 >= g->last)
			return;
		index = next;
	}
	plan_absent(g, index, g->last, &entries);
}

/* Frames for single pages at @absent, all at once. */
static void plan_pages(struct grab_state *g, const pgoff_t *absent,
		       unsigned int nr)
{
	struct folio *folios[FILEMAP_GRAB_MAX];
	unsigned int got = 0;

	while (got < nr && (folios[got] = take_spare(g, 0)))
		got++;
	got += folio_alloc_frozen(g->gfp, folios + got, nr - got);
	for (unsigned int i = 0; i < got; i++)
		g->pieces[i] = (struct piece){ absent[i], folios[i] };
	g->nr_pieces = got;
	g->no_memory = got < nr;
}

/* make_plan() for single pages: one walk, however present ones are strewn. */
static void make_plan_of_pages(struct grab_state *g)
{
	XA_STATE(xas, &g->mapping->i_pages, g->pos);
	pgoff_t absent[FILEMAP_GRAB_MAX], index = g->pos, base, next, gap;
	unsigned int nr = 0, entries = 0;

	rcu_read_lock();
	do {
		bool present = next_present(g, &xas, &base, &next);

		/* The first one may begin before. */
		gap = !present ? g->last - index + 1 :
		      base > index ? base - index : 0;
		for (; gap && entries < FILEMAP_GRAB_MAX; gap--, entries++)
			absent[nr++] = index++;
		if (!present)
			break;
		index = next;
	} while (++entries < FILEMAP_GRAB_MAX && next - 1 < g->last);
	rcu_read_unlock();
	plan_pages(g, absent, nr);
}

static bool charge_pages(struct grab_state *g, unsigned long nr)
{
	if (try_charge(g->memcg, g->gfp, nr))
		return false;
	g->charged += nr;
	return true;
}

/*
 * Pay for the plan at once; if that is too much, for as many pieces as can be.
 *
 * Return: false if a large first piece is too much, and smaller ones may not be.
 */
static bool charge_plan(struct grab_state *g)
{
	unsigned long nr = 0;
	unsigned int i;

	for (i = 0; i < g->nr_pieces; i++)
		nr += (unsigned long)folio_nr_pages(g->pieces[i].folio);
	if (!nr || charge_pages(g, nr))
		return true;
	for (i = 0; i < g->nr_pieces; i++)
		if (!charge_pages(g, (unsigned long)
				  folio_nr_pages(g->pieces[i].folio)))
			break;
	nr = i ? 0 : folio_order(g->pieces[0].folio);
	while (g->nr_pieces > i)
		keep_spare(g, g->pieces[--g->nr_pieces].folio);
	if (nr > mapping_min_folio_order(g->mapping)) {
		g->max_order = (unsigned int)nr - 1;
		return false;
	}
	g->no_memory = true;
	return true;
}

/*
 * Nodes for all single pages that the plan will store, if there is memory; large
 * folios get their own.
 */
static void provide_nodes(struct grab_state *g)
{
	const struct piece *first = g->pieces, *end = first + g->nr_pieces;

	while (first < end && folio_test_large(first->folio))
		first++;
	while (first < end && folio_test_large(end[-1].folio))
		end--;
	if (first == end)
		return;
	xas_set(&g->xas, first->index);
	(void)!xas_alloc_spares(&g->xas, xas_spares_for(&g->xas, end[-1].index),
				g->gfp);
}

/* Nodes that are left over wait for the next call as well. */
static void take_nodes(struct grab_state *g)
{
	g->xas.xa_spares = g->grab->nodes;
	g->xas.xa_nr_spares = g->grab->nr_nodes;
}

static void keep_nodes(struct grab_state *g)
{
	g->grab->nodes = g->xas.xa_spares;
	g->grab->nr_nodes = g->xas.xa_nr_spares;
}

static void drop_plan(struct grab_state *g)
{
	while (g->piece < g->nr_pieces)
		keep_spare(g, g->pieces[g->piece++].folio);
	g->piece = 0;
	g->nr_pieces = 0;
	if (g->charged)
		mem_cgroup_cancel_charge(g->memcg, g->charged);
	g->charged = 0;
}

/* ---- fill ------------------------------------------------------------ */

static void cover(struct grab_state *g, struct folio *folio, bool created)
{
	struct folio_grab *grab = g->grab;

	if (created)
		grab->created |= (u64)1 << grab->nr;
	grab->folios[grab->nr++] = folio;
	g->pos = folio_next_index(folio);
	g->done = g->pos - 1 >= g->last;
}

/* A charge of the plan's becomes the folio's. */
static void commit_charge(struct grab_state *g, struct folio *folio)
{
	mem_cgroup_commit_charge(folio, g->memcg_id);
	g->charged -= (unsigned long)folio_nr_pages(folio);
}

static void uncommit_charge(struct grab_state *g, struct folio *folio)
{
	mem_cgroup_uncommit_charge(folio);
	g->charged += (unsigned long)folio_nr_pages(folio);
}

/* A small folio, all but the store: it may be found as soon as that is done. */
static void dress(struct grab_state *g, const struct piece *p)
{
	struct folio *folio = p->folio;

	commit_charge(g, folio);
	__folio_set_locked_flags(folio, g->flags);
	WRITE_ONCE(folio->mapping, g->mapping);
	folio->index = p->index;
	if (folio_ref_count(folio))
		folio_ref_inc(folio);
	else
		folio_ref_unfreeze(folio, 2);
}

static void undress(struct grab_state *g, struct folio *folio)
{
	uncommit_charge(g, folio);
	filemap_clear_mapping(folio);
	folio_clear_referenced(folio);
	folio_put(folio);
	folio_unlock(folio);
}

/* Who reclaims may wait for what is locked here. */
static gfp_t locked_gfp(const struct grab_state *g)
{
	return g->grab->nr ? g->gfp & ~GFP_KERNEL : g->gfp;
}

/* Single pages of the plan, one behind the other in one leaf. */
static unsigned int run_length(const struct grab_state *g)
{
	const struct piece *p = &g->pieces[g->piece];
	unsigned int room, nr;

	room = min(g->nr_pieces - g->piece,
		   XA_CHUNK_SIZE - (unsigned int)(p->index & XA_CHUNK_MASK));
	/* A large folio that was counted once may have been split since. */
	room = min(room, FILEMAP_GRAB_MAX - g->grab->nr);
	for (nr = 0; nr < room; nr++)
		if (p[nr].index != p->index + nr ||
		    folio_order(p[nr].folio))
			break;
	return nr;
}

/*
 * At the first slot with anything in it: go on if that is a shadow, and over
 * those behind it.  What they were is remembered, by place in the batch.
 */
static unsigned int store_over_shadows(struct grab_state *g, void **entries,
				       unsigned int stored, unsigned int nr)
{
	const unsigned int at = g->grab->nr + stored;
	unsigned int more;

	if (stored == nr || xas_error(&g->xas) ||
	    mapping_keeps_values(g->mapping))
		return 0;
	more = xas_replace_run(&g->xas, entries + stored, &g->shadows[at],
			       nr - stored);
	for (unsigned int i = 0; i < more; i++)
		if (g->shadows[at + i])
			g->shadowed |= (u64)1 << (at + i);
	return more;
}

/*
 * Store a run in one hold of the lock.  It stops at the first slot with a folio
 * in it, or a larger shadow.
 *
 * Return: how many were stored.
 */
static unsigned int store_run(struct grab_state *g, unsigned int nr)
{
	void *entries[FILEMAP_GRAB_MAX];
	const struct piece *p = &g->pieces[g->piece];
	struct xa_node *leaf;
	unsigned int stored;

	for (unsigned int i = 0; i < nr; i++) {
		dress(g, &p[i]);
		entries[i] = p[i].folio;
	}
	leaf = filemap_fill_leaf(&g->xas, entries, nr);
	do {
		xas_set(&g->xas, p->index);
		xas_lock(&g->xas);
		stored = filemap_store_run(&g->xas, &leaf, entries, nr);
		stored += store_over_shadows(g, entries, stored, nr);
		if (stored)
			filemap_account(g->mapping, stored);
		xas_unlock(&g->xas);
	} while (xas_error(&g->xas) == -ENOMEM && xas_nomem(&g->xas, locked_gfp(g)));
	if (leaf)
		xas_spare_leaf(&g->xas, leaf);
	for (unsigned int i = stored; i < nr; i++)
		undress(g, p[i].folio);
	return stored;
}

/* A large folio, or one where a larger shadow is: as one alone is added. */
static int store_one(struct grab_state *g)
{
	const struct piece *p = &g->pieces[g->piece];
	void *shadow;
	int err;

	thaw(p->folio);
	commit_charge(g, p->folio);
	__folio_set_locked(p->folio);
	if (g->fgp & FGP_ACCESSED)
		folio_set_referenced(p->folio);
	err = __filemap_add_folio(g->mapping, p->folio, p->index, locked_gfp(g),
				  &shadow);
	if (err) {
		uncommit_charge(g, p->folio);
		folio_clear_referenced(p->folio);
		folio_unlock(p->folio);
		/* The value need not be in the way of a smaller one. */
		if (err == -EINVAL && folio_test_large(p->folio))
			err = -EEXIST;
		return err;
	}
	if (shadow) {
		g->shadowed |= (u64)1 << g->grab->nr;
		g->shadows[g->grab->nr] = shadow;
	}
	cover(g, p->folio, true);
	g->piece++;
	return 0;
}

/*
 * Store the next piece, and if they are single pages those behind it.
 *
 * Return: 0; -EEXIST, a folio is there; -EINVAL, a value; -ENOMEM.
 */
static int store_pieces(struct grab_state *g)
{
	unsigned int nr = run_length(g), stored = 0;

	/* Alone at index 0 it would be in the head. */
	if (nr && g->pieces[g->piece].index)
		stored = store_run(g, nr);
	if (!stored)
		return store_one(g);
	while (stored--)
		cover(g, g->pieces[g->piece++].folio, true);
	return 0;
}

/* Take what is there already.  Return: as filemap_lock_found() */
static int take_found(struct grab_state *g, struct folio *folio)
{
	int err = 0;

	if (g->fgp & FGP_LOCK)
		err = filemap_lock_found(g->mapping, folio, g->pos, g->fgp);
	if (err)
		return err;
	/*
	 * Without locks: a larger one came in place of those before, or what
	 * was found is gone and its index with it.
	 */
	if (!folio_contains(folio, g->pos) ||
	    (g->grab->nr && folio->index != g->pos)) {
		if (g->fgp & FGP_LOCK)
			folio_unlock(folio);
		folio_put(folio);
		return -ESTALE;
	}
	filemap_touch_found(folio, g->fgp);
	cover(g, folio, false);
	return 0;
}

/* Pieces whose place somebody else's folio has taken. */
static void skip_pieces(struct grab_state *g)
{
	while (g->piece < g->nr_pieces &&
	       mapping_align_index(g->mapping, g->pos) >
	       g->pieces[g->piece].index)
		keep_spare(g, g->pieces[g->piece++].folio);
}

static bool piece_is_next(const struct grab_state *g)
{
	return g->piece < g->nr_pieces && g->pieces[g->piece].index ==
	       mapping_align_index(g->mapping, g->pos);
}

/*
 * Cover the next index or more.
 *
 * Return: 0; -ENOENT, it is absent; -EAGAIN, it is locked; -ESTALE, it changes
 * all the time; -EEXIST, a piece does not fit; -EINVAL, a value that is kept;
 * -ENOMEM.
 */
static int fill_next(struct grab_state *g)
{
	struct folio *folio;
	int err = -EEXIST;

	skip_pieces(g);
	if (piece_is_next(g))
		err = store_pieces(g);
	if (err != -EEXIST)
		return err;
	folio = filemap_get_entry(g->mapping, g->pos);
	if (folio && !xa_is_value(folio))
		return take_found(g, folio);
	if (folio && (g->fgp & FGP_CREAT) && mapping_keeps_values(g->mapping))
		return -EINVAL;
	return piece_is_next(g) ? -EEXIST : -ENOENT;
}

static bool interrupted(const struct grab_state *g)
{
	return (g->fgp & FGP_INTERRUPTIBLE) && signal_pending(current);
}

/* ---- all of it ------------------------------------------------------- */

static void finish(struct grab_state *g)
{
	struct folio_grab *grab = g->grab;

	grab->next = g->pos ? g->pos : grab->nr ? (pgoff_t)-1 : 0;
	if (mapping_unevictable(g->mapping) && !(g->fgp & FGP_FOR_MMAP))
		return;
	for (unsigned int i = 0; i < grab->nr; i++) {
		if (!(grab->created >> i & 1))
			continue;
		filemap_queue_new(grab->folios[i], g->shadowed >> i & 1 ?
				  g->shadows[i] : NULL, g->gfp);
		if (g->fgp & FGP_FOR_MMAP)
			folio_unlock(grab->folios[i]);
	}
}

/*
 * With nothing in hand all can begin anew: what is absent was not when it was
 * looked at, or a large piece has met a small folio.
 */
static int grab_once(struct grab_state *g)
{
	int err = 0;

	g->no_memory = false;
	if ((g->fgp & FGP_CREAT) && !interrupted(g)) {
		do {
			if (g->max_order || mapping_min_folio_order(g->mapping))
				make_plan(g);
			else
				make_plan_of_pages(g);
		} while (!charge_plan(g));
		provide_nodes(g);
	}
	if (g->no_memory && !g->nr_pieces)
		err = -ENOMEM;
	while (!g->done && g->grab->nr < FILEMAP_GRAB_MAX) {
		int ret = interrupted(g) ? -EINTR : fill_next(g);

		if (!ret)
			continue;
		err = err && ret == -ENOENT ? err : ret;
		break;
	}
	drop_plan(g);
	return g->grab->nr ? 0 : err;
}

static bool worth_another_try(const struct grab_state *g, int err)
{
	return err == -EEXIST || err == -ESTALE ||
	       (err == -ENOENT && (g->fgp & FGP_CREAT));
}

int filemap_grab_folios(struct address_space *mapping, pgoff_t start,
			pgoff_t nr, fgf_t fgp, gfp_t gfp,
			unsigned int max_order, struct folio_grab *grab)
{
	struct grab_state g = {
		.mapping = mapping, .grab = grab, .pos = start,
		.last = start + nr - 1, .fgp = fgp,
		.gfp = filemap_gfp(mapping, fgp, gfp),
		.max_order = min_t(unsigned int, max_order,
				   mapping_max_folio_order(mapping)),
		.memcg = get_mem_cgroup_from_current(),
		.flags = filemap_new_flags(mapping, fgp),
		.xas = XA_STATE_INIT(&mapping->i_pages, start, 0, 0),
	};
	int err;

	g.memcg_id = mem_cgroup_id(g.memcg);
	grab->nr = 0;
	grab->created = 0;
	grab->next = start;
	if (!nr || g.last < start)
		return fail(-EINVAL, "%" PRIu64 " pages from %" PRIu64 " are "
			    "no range", nr, start, 0);
	if ((fgp & FGP_CREAT) && !(fgp & (FGP_LOCK | FGP_FOR_MMAP)))
		g.fgp |= FGP_LOCK;
	take_nodes(&g);
	for (;; cond_resched()) {
		err = grab_once(&g);
		if (!worth_another_try(&g, err))
			break;
		/* A smaller piece fits sooner or later. */
		if (err == -EEXIST &&
		    g.max_order > mapping_min_folio_order(mapping))
			g.max_order--;
	}
	finish(&g);
	keep_nodes(&g);
	if (err == -ENOMEM && (fgp & FGP_NOWAIT))
		err = -EAGAIN;
	return err ? fail(err, "nothing at index %" PRIu64, start, 0, 0) :
		     (int)grab->nr;
}
