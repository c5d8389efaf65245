/* SPDX-License-Identifier: MIT */
/*
 * Claim: on any state and for any request, the walk that takes runs (`batch`)
 * does what the walk that takes a page at a time (`single`) does, and so does
 * `walk` in between: result, pages, *locked, sequence of faults, every count of
 * every folio, pin counters, flags, every table entry, areas.  Permitted are:
 *
 *  - a folio is marked accessed once a run, not once a page: the test counts
 *    the runs from pages, faults and areas, and predicts both walks' marks;
 *  - a run may pass the edge of a refcount where single pages stop at it: only
 *    on the folio that the builder put at the edge;
 *  - a huge leaf's pages are one grab, so that on the same folio -EFAULT of the
 *    second grab becomes success.
 *
 * Signals come at faults, after which each walk looks for them, so they make no
 * difference.
 *
 * PINFOLD_ROUNDS: address spaces, 3000 unless set (60 under ThreadSanitizer,
 * which has nothing to see here).
 *
 * Source: mm/gup.c, and lab/gup_single.c for what it is compared with
 */
#include "host/errtext.h"
#include "lab/fault_script.h"
#include "lab/gup_algos.h"
#include "lab/random.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"
#include "mm/swap.h"

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random.h"

#define BOX_BYTES	((u64)32 << 20)
#define MAX_REQUEST	2000
#define MAX_CALLS	6
#define NR_CLONES	3

enum { SINGLE, WALK, BATCH };

/* How often a folio was marked accessed: what its two flags must say. */
#define MARK_REFERENCED	1
#define MARK_ACTIVE	2

struct clone {
	const struct gup_algo *algo;
	struct state_box *box;
	struct state *s;
	struct fault_script faults;
	u8 *marks;			/* expected, one a frame */
	struct page *pages[MAX_CALLS][MAX_REQUEST];
	long ret;
	int locked;
	char text[120];			/* of the failure */
};

struct request {
	pf_addr_t start;
	unsigned long nr;
	unsigned int flags;
	bool array, locked, write_locked;
	size_t signal_fault;
	u32 signals;
	long fail_nth;
};

struct run {
	struct random r;
	struct clone clones[NR_CLONES];
	u64 seed;			/* of this address space */
	struct request request;
	unsigned int call;
	long got[MAX_CALLS];		/* pages to release, of each clone */
	bool pinned[MAX_CALLS];
	pf_pfn_t *before;		/* frames before the call */
	unsigned long nr_calls, nr_pages, nr_faults, nr_edges;
};

/* ---- saying what is wrong ------------------------------------------------ */

static void print_clone(struct clone *c, long page)
{
	unsigned long first = max(page - 4, 0L);

	fprintf(stderr, "%s: returned %ld, locked %d (%s)\n", c->algo->name,
		c->ret, c->locked, c->text);
	fault_script_dump(&c->faults);
	state_enter(c->s);
	state_dump(c->s, first, first + 9);
}

static void mismatch(struct run *run, long page, const char *what)
	__attribute__((noreturn));

static void mismatch(struct run *run, long page, const char *what)
{
	struct request *q = &run->request;

	fprintf(stderr, "%s differ%s; address space %#" PRIx64 ", call %u: "
		"start %#" PRIx64 " (page %" PRId64 ") nr %lu flags %#x "
		"array %d locked %d signal %zu:%u fail_nth %ld\n", what,
		what[strlen(what) - 1] == 's' ? "" : "s", run->seed, run->call,
		q->start,
		(int64_t)(q->start - run->clones[0].s->base) >> PAGE_SHIFT,
		q->nr, q->flags, q->array, q->locked, q->signal_fault,
		q->signals, q->fail_nth);
	for (int i = 0; i < NR_CLONES; i++)
		print_clone(&run->clones[i], page);
	fail_msg("%s", what);
	abort();
}

/* The page of the window that maps a frame, to print what is around it. */
static long page_of_frame(struct clone *c, pf_pfn_t pfn)
{
	state_enter(c->s);
	for (unsigned long i = 0; i < c->s->nr_pages; i++) {
		struct page *p = state_page(c->s, i);

		if (p && (page_to_pfn(p) == pfn ||
			  folio_pfn(page_folio(p)) == pfn))
			return i;
	}
	return 0;
}

/* ---- comparing two clones ------------------------------------------------ */

static void compare_areas(struct run *run, struct clone *a, struct clone *b)
{
	struct vm_area_struct *v, *w;

	v = vma_first(a->s->mm);
	w = vma_first(b->s->mm);
	for (; v && w; v = vma_next(v), w = vma_next(w))
		if (v->vm_start != w->vm_start || v->vm_end != w->vm_end ||
		    v->vm_flags != w->vm_flags || v->vm_pgoff != w->vm_pgoff ||
		    v->vm_page_prot.pgprot != w->vm_page_prot.pgprot)
			break;
	if (v || w)
		mismatch(run, 0, "areas");
	if (a->s->mm->flags != b->s->mm->flags ||
	    atomic64_read(&a->s->mm->rss_pages) !=
	    atomic64_read(&b->s->mm->rss_pages) ||
	    atomic64_read(&a->s->mm->pgtables) !=
	    atomic64_read(&b->s->mm->pgtables))
		mismatch(run, 0, "address spaces");
}

/* Entries hold frame numbers, so equal tables have equal bytes. */
static void compare_tables(struct run *run, struct clone *a, struct clone *b)
{
	for (unsigned long i = 0; i < a->s->nr_pages; i += PTRS_PER_PTE) {
		pmd_t x, y;

		state_enter(a->s);
		x = state_pmd(a->s, i);
		state_enter(b->s);
		y = state_pmd(b->s, i);
		if (pmd_val(x) != pmd_val(y))
			mismatch(run, i, "huge entries");
		if (!pmd_is_table(x) ||
		    !memcmp(a->s->machine->arena + (pmd_pfn(x) << PAGE_SHIFT),
			    b->s->machine->arena + (pmd_pfn(y) << PAGE_SHIFT),
			    PAGE_SIZE))
			continue;
		for (;; i++) {
			pte_t p, q;

			state_enter(a->s);
			p = state_pte(a->s, i);
			state_enter(b->s);
			q = state_pte(b->s, i);
			if (!pte_same(p, q))
				mismatch(run, i, "entries");
		}
	}
}

static bool is_user_folio(const struct page *page)
{
	return atomic_read(&page->_refcount) > 0 && !PageTail(page) &&
	       !test_bit(PG_table, &page->flags);
}

/* How many frames a free block spans that both machines have; 0: none here. */
static unsigned long free_span(const struct page *p, const struct page *q)
{
	if (!test_bit(PG_buddy, &p->flags) || p->flags != q->flags ||
	    p->order != q->order)
		return 0;
	return 1ul << p->order;
}

static void compare_frames(struct run *run, struct clone *a, struct clone *b)
{
	const unsigned long accessed = BIT(PG_referenced) | BIT(PG_active);
	struct machine *m = a->s->machine, *n = b->s->machine;

	for (pf_pfn_t i = RESERVED_PAGES; i < m->nr_pages; i++) {
		struct page *p = machine_page(m, i), *q = machine_page(n, i);
		unsigned long span = free_span(p, q);
		bool differ;

		if (span) {
			i += span - 1;
			continue;
		}
		differ = ((p->flags ^ q->flags) & ~accessed) ||
			 p->_mapcount.counter != q->_mapcount.counter ||
			 p->_refcount.counter != q->_refcount.counter ||
			 p->_pincount.counter != q->_pincount.counter ||
			 p->order != q->order;
		if (!differ && is_user_folio(p))
			differ = ((uintptr_t)p->mapping ^
				  (uintptr_t)q->mapping) & PAGE_MAPPING_FLAGS;
		if (differ)
			mismatch(run, page_of_frame(a, i), "folios");
	}
	if (nr_foll_pin_acquired(m) != nr_foll_pin_acquired(n) ||
	    nr_foll_pin_released(m) != nr_foll_pin_released(n))
		mismatch(run, 0, "pin counters");
}

static u8 marks_of(const struct page *page)
{
	return (test_bit(PG_referenced, &page->flags) ? MARK_REFERENCED : 0) |
	       (test_bit(PG_active, &page->flags) ? MARK_ACTIVE : 0);
}

/* Accessed marks: exactly the predicted ones. */
static void check_marks(struct run *run, struct clone *c)
{
	struct machine *m = c->s->machine;

	for (pf_pfn_t i = RESERVED_PAGES; i < m->nr_pages; i++) {
		struct page *p = machine_page(m, i);
		unsigned long span = free_span(p, p);
		u8 is;

		if (span) {
			memset(c->marks + i, 0, span);
			i += span - 1;
			continue;
		}
		is = marks_of(p);
		if (!is_user_folio(p) && atomic_read(&p->_refcount) >= 0 &&
		    !test_bit(PG_head, &p->flags))
			c->marks[i] = 0;	/* freed since */
		if (is != c->marks[i])
			mismatch(run, page_of_frame(c, i), "accessed marks");
	}
}

static void compare_pair(struct run *run, struct clone *a, struct clone *b)
{
	compare_tables(run, a, b);
	compare_areas(run, a, b);
	compare_frames(run, a, b);
}

static void compare_states(struct run *run)
{
	compare_pair(run, &run->clones[SINGLE], &run->clones[WALK]);
	compare_pair(run, &run->clones[SINGLE], &run->clones[BATCH]);
	for (int i = 0; i < NR_CLONES; i++)
		check_marks(run, &run->clones[i]);
}

static void compare_faults(struct run *run, struct clone *a, struct clone *b,
			   bool prefix)
{
	struct fault_script *f = &a->faults, *g = &b->faults;

	if (prefix ? f->nr_records > g->nr_records :
		     f->nr_records != g->nr_records)
		mismatch(run, 0, "number of faults");
	for (size_t i = 0; i < f->nr_records; i++)
		if (f->records[i].address != g->records[i].address ||
		    f->records[i].flags != g->records[i].flags ||
		    f->records[i].answer != g->records[i].answer)
			mismatch(run, (f->records[i].address - a->s->base) >>
				 PAGE_SHIFT, "faults");
	if (f->runaway || g->runaway)
		mismatch(run, 0, "endless faults");
}

static long first_page(struct run *run)
{
	return (long)(run->request.start - run->clones[0].s->base) >>
	       PAGE_SHIFT;
}

static void compare_arrays(struct run *run, struct clone *a, struct clone *b,
			   long nr)
{
	if (!run->request.array)
		return;
	for (long i = 0; i < nr; i++) {
		struct page *p = a->pages[run->call][i];
		struct page *q = b->pages[run->call][i];

		state_enter(a->s);
		if (page_machine(p) != a->s->machine ||
		    page_machine(q) != b->s->machine ||
		    page_to_pfn(p) != page_to_pfn(q) ||
		    p != state_page(a->s, first_page(run) + i))
			mismatch(run, first_page(run) + i, "arrays");
	}
}

/* ---- predicting accessed marks ------------------------------------------- */

static void mark_accessed(u8 *mark)
{
	if (!(*mark & MARK_REFERENCED))
		*mark |= MARK_REFERENCED;
	else if (!(*mark & MARK_ACTIVE))
		*mark = MARK_ACTIVE;
}

/* What a page of the window maps by a PTE that a walk can mark; 0: nothing. */
static pf_pfn_t marked_frame(struct state *s, long page)
{
	pmd_t pmd = state_pmd(s, page);
	pte_t pte;

	if (!pmd_is_table(pmd))
		return 0;
	pte = state_pte(s, page);
	if (!pte_present(pte))
		return 0;
	if (pte_special(pte) && !is_zero_pfn(pte_pfn(pte)))
		return 0;
	return pte_pfn(pte);
}

static pf_pfn_t any_frame(struct state *s, unsigned long page)
{
	struct page *p = state_page(s, page);

	return p ? page_to_pfn(p) : 0;
}

static void note_frames(struct run *run)
{
	struct state *s = run->clones[0].s;

	state_enter(s);
	for (unsigned long i = 0; i < s->nr_pages; i++)
		run->before[i] = any_frame(s, i);
}

/*
 * Does a run begin at page @i of the request for another reason than what its
 * entry maps?  A fault stops the walk there, and a page that was taken after
 * the lock was dropped is taken alone.
 */
static void find_breaks(struct run *run, struct clone *c, u8 *breaks, long nr)
{
	pf_addr_t first = run->request.start >> PAGE_SHIFT;

	memset(breaks, 0, nr + 1);
	for (size_t i = 0; i < c->faults.nr_records; i++) {
		struct fault_record *f = &c->faults.records[i];
		long at = (f->address >> PAGE_SHIFT) - first;

		if (at < 0 || at >= nr)
			continue;
		breaks[at] = 1;
		if (f->answer == ANSWER_RETRY || f->answer == ANSWER_COMPLETED)
			breaks[at + 1] = 1;
	}
}

/* Does page @page of the window go on with the run of the one before? */
static bool same_run(struct state *s, long page)
{
	pf_pfn_t frame = marked_frame(s, page);
	pf_pfn_t last = marked_frame(s, page - 1);

	if (!frame || frame != last + 1 ||
	    pte_index(state_address(s, page)) == 0)
		return false;
	return page_folio(pfn_to_page(frame)) ==
	       page_folio(pfn_to_page(last)) &&
	       state_vma(s, page) == state_vma(s, page - 1);
}

static void predict_marks(struct run *run, struct clone *c, bool by_run)
{
	static u8 breaks[MAX_REQUEST + 1];
	long nr = max(c->ret, 0L), first = first_page(run);
	struct state *s = c->s;

	state_enter(s);
	/* A folio that came with this call is new. */
	for (unsigned long i = 0; i < s->nr_pages; i++) {
		struct page *p = state_page(s, i);

		if (p && page_to_pfn(p) != run->before[i] && !is_zero_page(p))
			c->marks[folio_pfn(page_folio(p))] = 0;
	}
	if (!(run->request.flags & FOLL_TOUCH))
		return;
	find_breaks(run, c, breaks, nr);
	for (long i = 0; i < nr; i++) {
		pf_pfn_t frame = marked_frame(s, first + i);

		if (!frame)
			continue;
		if (by_run && i && !breaks[i] && same_run(s, first + i))
			continue;
		mark_accessed(&c->marks[folio_pfn(page_folio(
						pfn_to_page(frame)))]);
	}
}

static void note_marks(struct clone *c)
{
	struct machine *m = c->s->machine;

	for (pf_pfn_t i = RESERVED_PAGES; i < m->nr_pages; i++) {
		struct page *p = machine_page(m, i);

		c->marks[i] = marks_of(p);
	}
}

/* ---- one call ------------------------------------------------------------ */

static unsigned int some_flags(struct random *r, bool *array)
{
	static const struct {
		unsigned int percent, flag;
	} optional[] = {
		{ 45, FOLL_WRITE }, { 55, FOLL_TOUCH }, { 20, FOLL_FORCE },
		{ 10, FOLL_NOFAULT }, { 7, FOLL_NOWAIT }, { 5, FOLL_ANON },
		{ 25, FOLL_HONOR_NUMA_FAULT }, { 20, FOLL_INTERRUPTIBLE },
		{ 30, FOLL_HWPOISON }, { 8, FOLL_SPLIT_PMD }, { 8, FOLL_DUMP },
		{ 50, FOLL_UNLOCKABLE }, { 20, FOLL_REMOTE },
		{ 3, FOLL_MADV_POPULATE }, { 5, FOLL_PCI_P2PDMA },
	};
	unsigned int flags = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(optional); i++)
		if (random_chance(r, optional[i].percent))
			flags |= optional[i].flag;
	*array = random_chance(r, 88);
	if (*array && random_chance(r, 60))
		flags |= FOLL_PIN |
			 (random_chance(r, 30) ? FOLL_LONGTERM : 0);
	return flags;
}

static void some_request(struct run *run)
{
	static const unsigned int most[] = { 1, 8, 40, 40, 300, 600, 2000 };
	struct random *r = &run->r;
	struct state *s = run->clones[0].s;
	struct request *q = &run->request;
	long page = (long)random_below(r, s->nr_pages + 3) - 2;

	*q = (struct request){ 0 };
	q->flags = some_flags(r, &q->array);
	if (random_chance(r, 30))
		page = max(0l, (long)ALIGN_DOWN((unsigned long)max(page, 0l),
						512ul) - 8);
	q->start = s->base + page * PAGE_SIZE;
	if (random_chance(r, 30))
		q->start += random_below(r, PAGE_SIZE);
	q->nr = 1 + random_below(r, most[random_below(r, ARRAY_SIZE(most))]);
	q->locked = !(q->flags & FOLL_UNLOCKABLE) || random_chance(r, 50);
	q->write_locked = !(q->flags & FOLL_UNLOCKABLE) && random_chance(r, 20);
	if (random_chance(r, 12)) {
		q->signal_fault = 1 + random_below(r, 6);
		q->signals = random_chance(r, 50) ? SIGNAL_FATAL :
						    SIGNAL_ORDINARY;
	}
	if (random_chance(r, 5))
		q->fail_nth = 1 + random_below(r, 10);
}

static void take_lock(struct clone *c, const struct request *q)
{
	if (q->locked && q->write_locked)
		mmap_write_lock(c->s->mm);
	else if (q->locked)
		mmap_read_lock(c->s->mm);
}

static void drop_lock(struct clone *c, const struct request *q)
{
	if (c->locked && q->write_locked)
		mmap_write_unlock(c->s->mm);
	else if (c->locked)
		mmap_read_unlock(c->s->mm);
	assert_false(rwsem_is_locked(&c->s->mm->mmap_lock));
}

static void call(struct run *run, struct clone *c)
{
	struct request *q = &run->request;

	state_enter(c->s);
	fault_script_forget(&c->faults);
	c->faults.signal_fault = q->signal_fault;
	c->faults.signals = q->signals;
	c->locked = q->locked;
	take_lock(c, q);
	fault_script_start(&c->faults);
	current->fail_nth = q->fail_nth;
	c->ret = gup_algo_call(c->algo, c->s->mm, q->start, q->nr, q->flags,
			       q->array ? c->pages[run->call] : NULL,
			       &c->locked);
	current->fail_nth = 0;
	fault_script_stop();
	waiter_clear();
	drop_lock(c, q);
	if (c->ret < 0)
		snprintf(c->text, sizeof(c->text), "%s", error_text());
}

static bool rules_hold(const struct request *q, const struct clone *c)
{
	if (c->ret > (long)q->nr || (!c->ret && !(q->flags & FOLL_NOWAIT)))
		return false;
	if (!(q->flags & FOLL_UNLOCKABLE) && c->locked != 1)
		return false;
	/* Taken inside: always given back. */
	return q->locked || !c->locked;
}

/*
 * Did @a, one page at a time, stop at the count's edge, and did @b, with a
 * whole run, pass it?
 */
static bool passed_edge(struct run *run, struct clone *a, struct clone *b)
{
	long at = max(a->ret, 0L);
	struct folio *edge = a->s->edge;
	struct page *page;
	bool leaf;

	if (!edge || !run->request.array || b->ret <= at)
		return false;
	state_enter(a->s);
	page = state_page(a->s, first_page(run) + at);
	if (!page || page_folio(page) != edge)
		return false;
	leaf = pmd_leaf(state_pmd(a->s, first_page(run) + at));
	if (a->ret < 0 && a->ret != (leaf ? -EFAULT : -ENOMEM))
		return false;
	/* The first page of a leaf was given back after the rest failed. */
	if (folio_ref_count(edge) > 0 &&
	    !(leaf && folio_ref_count(edge) == INT_MAX))
		return false;
	if (folio_ref_count(b->s->edge) > 0)
		return false;
	compare_faults(run, a, b, true);
	compare_arrays(run, a, b, at);
	return true;
}

static bool agree(struct run *run, struct clone *a, struct clone *b)
{
	if (a->ret != b->ret && passed_edge(run, a, b)) {
		run->nr_edges++;
		return false;
	}
	if (a->ret != b->ret)
		mismatch(run, first_page(run) + max(min(a->ret, b->ret), 0L),
			 "results");
	if (a->locked != b->locked)
		mismatch(run, first_page(run), "*locked");
	compare_faults(run, a, b, false);
	compare_arrays(run, a, b, a->ret);
	return true;
}

/* Live pins: acquired less released, page by page (inv_O1). */
static void check_live_pins(struct run *run, struct clone *c)
{
	struct machine *m = c->s->machine;
	u64 live = 0;

	for (unsigned int i = 0; i <= run->call; i++)
		for (long k = 0; run->pinned[i] && k < run->got[i]; k++)
			live += !is_zero_page(c->pages[i][k]);
	for (size_t i = 0; i < c->s->nr_held; i++)
		live += c->s->held[i].pins;
	if (nr_foll_pin_acquired(m) - nr_foll_pin_released(m) != live)
		mismatch(run, 0, "live pins and counters");
}

static bool one_call(struct run *run)
{
	struct clone *c = run->clones;
	bool same;

	some_request(run);
	note_frames(run);
	for (int i = 0; i < NR_CLONES; i++) {
		call(run, &c[i]);
		if (!rules_hold(&run->request, &c[i]))
			mismatch(run, first_page(run), "rules for results");
	}
	run->nr_calls++;
	run->nr_faults += c[SINGLE].faults.nr_records;
	run->nr_pages += max(c[SINGLE].ret, 0L);
	run->pinned[run->call] = run->request.flags & FOLL_PIN;
	run->got[run->call] = run->request.array ? max(c[SINGLE].ret, 0L) : 0;
	same = agree(run, &c[SINGLE], &c[WALK]);
	same &= agree(run, &c[SINGLE], &c[BATCH]);
	if (!same)
		return false;
	for (int i = 0; i < NR_CLONES; i++) {
		predict_marks(run, &c[i], i == BATCH);
		check_live_pins(run, &c[i]);
	}
	compare_states(run);
	return true;
}

/* ---- release ------------------------------------------------------------- */

static void release_pins(struct page **pages, long nr, unsigned int how)
{
	switch (how) {
	case 0:
		unpin_user_pages(pages, nr);
		break;
	case 1:
		unpin_user_pages_dirty_lock(pages, nr, false);
		break;
	case 2:
		for (long i = nr; i-- > 0; )
			unpin_user_page(pages[i]);
		break;
	default:
		for (long i = 0; i < nr; i += 7)
			unpin_user_pages(pages + i, min(7L, nr - i));
		break;
	}
}

static void release(struct clone *c, unsigned int call, long nr, bool pinned,
		    unsigned int how)
{
	state_enter(c->s);
	if (pinned)
		release_pins(c->pages[call], nr, how);
	else
		for (long i = 0; i < nr; i++)
			put_page(c->pages[call][i]);
}

static void release_call(struct run *run, unsigned int call)
{
	unsigned int how = random_below(&run->r, 4);

	for (int i = 0; i < NR_CLONES; i++)
		release(&run->clones[i], call, run->got[call],
			run->pinned[call], how);
	run->got[call] = 0;
}

/* After an edge was passed, each clone has its own number of pages. */
static void release_last_apart(struct run *run)
{
	for (int i = 0; i < NR_CLONES; i++)
		release(&run->clones[i], run->call,
			max(run->clones[i].ret, 0L), run->pinned[run->call], 0);
	run->got[run->call] = 0;
}

/* ---- one address space --------------------------------------------------- */

static void open_clones(struct run *run, unsigned long nr_pages)
{
	static const pf_addr_t bases[] = {
		(pf_addr_t)1 << 40,		/* a PGD entry's start */
		((pf_addr_t)1 << 40) + 17 * PMD_SIZE,
		((pf_addr_t)2 << 40) - PMD_SIZE,	/* across one */
		((pf_addr_t)3 << 30) - 2 * PMD_SIZE,	/* across a PUD entry */
	};
	pf_addr_t base = bases[random_below(&run->r, ARRAY_SIZE(bases))];
	unsigned int percent = random_chance(&run->r, 60) ?
			       random_below(&run->r, 40) : 0;

	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		assert_int_equal(state_open(c->box, base, nr_pages, &c->s), 0);
		state_build(c->s, run->seed);
		note_marks(c);
		c->faults = (struct fault_script){
			.state = c->s, .seed = run->seed, .percent = percent,
		};
	}
}

static void close_clones(struct run *run)
{
	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		fault_script_free(&c->faults);
		if (state_close(c->s))
			fail_msg("address space %#" PRIx64 ", %s: %s",
				 run->seed, c->algo->name, error_text());
	}
}

static unsigned long some_size(struct random *r)
{
	switch (random_below(r, 8)) {
	case 0:
		return 600 + random_below(r, 2000);
	case 1:
	case 2:
		return 300 + random_below(r, 500);
	default:
		return 30 + random_below(r, 300);
	}
}

static void one_address_space(struct run *run, u64 seed)
{
	unsigned int calls;
	bool same = true;

	run->seed = seed;
	run->r = (struct random){ ~seed };
	memset(run->got, 0, sizeof(run->got));
	open_clones(run, some_size(&run->r));
	run->call = 0;
	compare_states(run);
	calls = 1 + random_below(&run->r, MAX_CALLS);
	for (; same && run->call < calls; run->call++) {
		same = one_call(run);
		if (same && random_chance(&run->r, 30))
			release_call(run, random_below(&run->r, run->call + 1));
	}
	run->call--;
	if (!same)
		release_last_apart(run);
	for (unsigned int i = 0; i <= run->call; i++)
		release_call(run, i);
	if (same)
		compare_states(run);
	close_clones(run);
}

/* ---- the program --------------------------------------------------------- */

static void make_boxes(struct run *run)
{
	static const char *const names[NR_CLONES] = {
		[SINGLE] = "single", [WALK] = "walk", [BATCH] = "batch",
	};

	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		c->algo = gup_algo_find(names[i]);
		assert_non_null(c->algo);
		assert_int_equal(state_box_create(BOX_BYTES, &c->box), 0);
		c->marks = calloc(c->box->machine->nr_pages, 1);
		assert_non_null(c->marks);
	}
	run->before = calloc(4096, sizeof(*run->before));
	assert_non_null(run->before);
}

static void free_boxes(struct run *run)
{
	for (int i = 0; i < NR_CLONES; i++) {
		state_box_destroy(run->clones[i].box);
		free(run->clones[i].marks);
	}
	free(run->before);
	free(run);
}

/* PINFOLD_SPACE: the one address space that a failure names. */
static void batch_is_single(void **state)
{
	const char *rounds = getenv("PINFOLD_ROUNDS");
	const char *space = getenv("PINFOLD_SPACE");
	unsigned long nr = rounds ? strtoul(rounds, NULL, 0) :
			   TSAN_BUILD ? 60 : 3000;
	struct run *run = calloc(1, sizeof(*run));
	struct random seeds;

	(void)state;
	assert_non_null(run);
	make_boxes(run);
	random_init(&seeds);
	if (space)
		one_address_space(run, strtoull(space, NULL, 0));
	for (unsigned long i = 0; !space && i < nr; i++)
		one_address_space(run, random_next(&seeds));
	fprintf(stderr, "%lu calls, %lu pages, %lu faults, %lu passed edges\n",
		run->nr_calls, run->nr_pages, run->nr_faults, run->nr_edges);
	if (!space && nr >= 3000)
		assert_true(run->nr_edges > 0);
	free_boxes(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_is_single),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
