/* SPDX-License-Identifier: MIT */
/*
 * Claim: on any state that holds still and for any request,
 *
 * 1. the lockless walk takes exactly the pages that its specification gives page
 *    by page (model() below), and leaves every count, flag and entry as if it
 *    had taken them so;
 * 2. the slow path would have given each of these pages too, without a fault,
 *    wherever the area permits what was asked;
 * 3. the whole fast call gives what the slow path alone gives, and leaves the
 *    same state but for the hints (referenced, active, dirty; young and dirty of
 *    a leaf); a longterm call keeps what the walk had where the slow path gives
 *    everything back.
 *
 * Permitted: a run passes the edge of a count where single pages stop at it.
 *
 * PINFOLD_ROUNDS: address spaces, 900 unless set (40 under ThreadSanitizer).
 *
 * Source: mm/gup.c:gup_fast_pte_range(), gup_fast_pmd_leaf(),
 *         gup_fast_folio_allowed(), gup_fast_fallback()
 */
#include "host/errtext.h"
#include "host/exits.h"
#include "lab/fault_script.h"
#include "lab/gup_algos.h"
#include "lab/random.h"
#include "mm/gfp.h"
#include "mm/huge_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random.h"

#define BOX_BYTES	((u64)32 << 20)
#define MAX_REQUEST	1500
#define MAX_CALLS	6
#define HINTS		(BIT(PG_referenced) | BIT(PG_active) | BIT(PG_dirty))

enum { FAST, MODEL, SLOW, NR_CLONES };

struct clone {
	const char *name;
	struct state_box *box;
	struct state *s;
	struct fault_script faults;
	u8 *types;			/* pageblock types, to be restored */
	struct page *pages[MAX_CALLS][MAX_REQUEST];
	struct page *walked[MAX_REQUEST];
	long ret;
};

struct request {
	unsigned long page, nr;
	unsigned int flags;
};

struct run {
	struct random r;
	struct clone clones[NR_CLONES];
	u64 seed;
	struct request q;
	unsigned int call;
	long got[MAX_CALLS];
	bool pinned[MAX_CALLS], cma;
	unsigned long walked, slowed, refused, edges;
};

static void mismatch(struct run *run, long page, const char *what)
	__attribute__((noreturn));

static void mismatch(struct run *run, long page, const char *what)
{
	unsigned long first = max(page - 4, 0L);

	fprintf(stderr, "%s; address space %#" PRIx64 ", call %u: page %lu nr "
		"%lu flags %#x\n", what, run->seed, run->call, run->q.page,
		run->q.nr, run->q.flags);
	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		fprintf(stderr, "%s: returned %ld\n", c->name, c->ret);
		state_enter(c->s);
		state_dump(c->s, first, first + 9);
	}
	fail_msg("%s", what);
	abort();
}

/* ---- the specification, page by page -------------------------------------- */

static bool model_filter(struct folio *folio, unsigned int flags)
{
	if (!(flags & FOLL_PIN) || !(flags & FOLL_LONGTERM) ||
	    !(flags & FOLL_WRITE))
		return true;
	if (folio_test_hugetlb(folio))
		return true;
	if (!folio->mapping)
		return false;
	return (uintptr_t)folio->mapping & PAGE_MAPPING_ANON;
}

static bool model_unshares(struct page *page, unsigned int flags)
{
	if (!(flags & FOLL_PIN) || (flags & FOLL_WRITE))
		return false;
	if (PageAnon(page))
		return !PageAnonExclusive(page);
	return flags & FOLL_LONGTERM;
}

/* F1 to F8 for one page of the window; NULL: the walk ends here. */
static struct page *model_page(struct state *s, unsigned long at,
			       unsigned int flags)
{
	pmd_t pmd = state_pmd(s, at);
	struct page *page, *speaker;
	struct folio *folio;
	u64 entry;

	if (!pmd_present(pmd))
		return NULL;
	entry = pmd_leaf(pmd) ? pmd_val(pmd) : pte_val(state_pte(s, at));
	if (!(entry & _PAGE_PRESENT) || !(entry & _PAGE_USER) ||
	    (entry & _PAGE_SPECIAL))
		return NULL;
	if ((flags & FOLL_WRITE) && !(entry & _PAGE_RW))
		return NULL;
	speaker = pfn_to_page((entry & _PAGE_PFN_MASK) >> PAGE_SHIFT);
	page = speaker;
	if (pmd_leaf(pmd))
		page += (s->base / PAGE_SIZE + at) % HPAGE_PMD_NR;
	folio = page_folio(page);
	if (folio_ref_count(folio) <= 0)
		return NULL;
	if ((flags & FOLL_LONGTERM) && !folio_is_longterm_pinnable(folio))
		return NULL;
	if (!model_filter(folio, flags))
		return NULL;
	if (!(entry & _PAGE_RW) && model_unshares(speaker, flags))
		return NULL;
	return page;
}

static long model(struct clone *c, const struct request *q)
{
	long nr;

	state_enter(c->s);
	for (nr = 0; nr < (long)q->nr; nr++) {
		struct page *page = model_page(c->s, q->page + nr, q->flags);
		struct folio *folio = page ? page_folio(page) : NULL;

		if (!page || try_grab_folio(folio, 1, q->flags))
			break;
		folio_set_referenced(folio);
		c->walked[nr] = page;
	}
	return nr;
}

/* ---- comparing ------------------------------------------------------------- */

static bool in_use(const struct page *page)
{
	return atomic_read(&page->_refcount) > 0 && !PageTail(page);
}

static void compare_frames(struct run *run, struct clone *a, struct clone *b,
			   unsigned long but)
{
	struct machine *m = a->s->machine, *n = b->s->machine;

	for (pf_pfn_t i = RESERVED_PAGES; i < m->nr_pages; i++) {
		struct page *p = machine_page(m, i), *q = machine_page(n, i);

		if (!in_use(p) && !in_use(q))
			continue;
		if (((p->flags ^ q->flags) & ~but) || p->order != q->order ||
		    p->_mapcount.counter != q->_mapcount.counter ||
		    p->_refcount.counter != q->_refcount.counter ||
		    p->_pincount.counter != q->_pincount.counter)
			mismatch(run, run->q.page, "folios differ");
	}
	if (nr_foll_pin_acquired(m) - nr_foll_pin_released(m) !=
	    nr_foll_pin_acquired(n) - nr_foll_pin_released(n))
		mismatch(run, run->q.page, "live pins differ");
}

/* Return: whether the entries are equal in the bits of @but too. */
static bool compare_tables(struct run *run, struct clone *a, struct clone *b,
			   u64 but)
{
	bool equal = true;

	for (unsigned long i = 0; i < a->s->nr_pages; i++) {
		pte_t p = __pte(0), q = __pte(0);
		pmd_t x, y;

		state_enter(a->s);
		x = state_pmd(a->s, i);
		if (pmd_is_table(x))
			p = state_pte(a->s, i);
		state_enter(b->s);
		y = state_pmd(b->s, i);
		if (pmd_is_table(y))
			q = state_pte(b->s, i);
		if (((pmd_val(x) ^ pmd_val(y)) & ~but) || !pte_same(p, q))
			mismatch(run, i, "entries differ");
		equal &= pmd_val(x) == pmd_val(y);
	}
	return equal;
}

static void compare_arrays(struct run *run, struct page **a, struct page **b,
			   long nr)
{
	for (long i = 0; i < nr; i++)
		if (page_to_pfn(a[i]) != page_to_pfn(b[i]))
			mismatch(run, run->q.page + i, "arrays differ");
}

/* ---- the walk alone -------------------------------------------------------- */

static void let_go(struct clone *c, struct page **pages, long nr, bool pins)
{
	state_enter(c->s);
	if (pins)
		unpin_user_pages(pages, nr);
	else
		for (long i = 0; i < nr; i++)
			put_page(pages[i]);
}

/* Did the model stop within the folio whose count is at its edge? */
static bool at_edge(struct run *run, long model_nr, long walk_nr)
{
	struct clone *c = &run->clones[MODEL];
	struct page *page;

	if (!c->s->edge || walk_nr <= model_nr)
		return false;
	state_enter(c->s);
	page = state_page(c->s, run->q.page + model_nr);
	return page && page_folio(page) == c->s->edge &&
	       folio_ref_count(c->s->edge) <= 0;
}

/* The slow path gives each page too, one by one and without a fault. */
static void slow_agrees(struct run *run, struct clone *c, long nr)
{
	unsigned int flags = run->q.flags | FOLL_NOFAULT;

	state_enter(c->s);
	for (long i = 0; i < nr; i++) {
		pf_addr_t at = state_address(c->s, run->q.page + i);
		struct vm_area_struct *vma = state_vma(c->s, run->q.page + i);
		struct folio *folio = page_folio(c->walked[i]);
		struct page *page = NULL;
		int locked = 0;

		if (!vma || check_vma_flags(vma, flags)) {
			run->refused++;
			continue;
		}
		if (folio_ref_count(folio) <= 0 || folio == c->s->edge)
			continue;
		if (gup_algo_call(&gup_algos[GUP_BATCH], c->s->mm, at, 1, flags,
				  &page, &locked) != 1 || page != c->walked[i])
			mismatch(run, run->q.page + i, "the slow path differs");
		gup_put_folio(folio, 1, flags);
	}
}

static bool walk_once(struct run *run)
{
	struct clone *fast = &run->clones[FAST], *naive = &run->clones[MODEL];
	const struct request *q = &run->q;
	const bool pins = q->flags & FOLL_PIN;
	bool edge;

	naive->ret = model(naive, q);
	state_enter(fast->s);
	fast->ret = gup_fast(fast->s->mm, state_address(fast->s, q->page), q->nr,
			     q->flags, fast->walked);
	edge = at_edge(run, naive->ret, fast->ret);
	if (fast->ret != naive->ret && !edge)
		mismatch(run, q->page + min(fast->ret, naive->ret),
			 "the walk differs from the model");
	compare_arrays(run, fast->walked, naive->walked, naive->ret);
	if (!edge) {
		compare_frames(run, fast, naive, 0);
		compare_tables(run, fast, naive, 0);
		slow_agrees(run, naive, naive->ret);
		compare_frames(run, fast, naive, HINTS);
	}
	run->walked += fast->ret;
	run->edges += edge;
	let_go(fast, fast->walked, fast->ret, pins);
	let_go(naive, naive->walked, naive->ret, pins);
	return !edge;
}

/* ---- the whole call -------------------------------------------------------- */

static void call(struct run *run, struct clone *c)
{
	const pf_addr_t at = state_address(c->s, run->q.page);
	const unsigned int flags = run->q.flags;
	struct page **pages = c->pages[run->call];
	int locked = 0;

	state_enter(c->s);
	fault_script_forget(&c->faults);
	fault_script_start(&c->faults);
	current->mm = c->s->mm;
	if (c == &run->clones[SLOW])
		c->ret = __gup_longterm_locked(c->s->mm, at, run->q.nr, pages,
				&locked, flags | FOLL_TOUCH | FOLL_UNLOCKABLE);
	else if (flags & FOLL_PIN)
		c->ret = pin_user_pages_fast(at, run->q.nr, flags & ~FOLL_PIN,
					     pages);
	else
		c->ret = get_user_pages_fast(at, run->q.nr, flags & ~FOLL_GET,
					     pages);
	current->mm = NULL;
	fault_script_stop();
}

/* Does the walk take a page that its area would refuse, or one at an edge? */
static bool slow_may_differ(struct run *run, long walked)
{
	struct clone *c = &run->clones[FAST];

	state_enter(c->s);
	for (long i = 0; i < walked; i++) {
		struct vm_area_struct *vma = state_vma(c->s, run->q.page + i);

		if (!vma || check_vma_flags(vma, run->q.flags) ||
		    page_folio(c->walked[i]) == c->s->edge)
			return true;
	}
	return false;
}

static bool call_once(struct run *run, long walked)
{
	struct clone *fast = &run->clones[FAST], *slow = &run->clones[SLOW];
	const bool differs = slow_may_differ(run, walked);

	for (int i = 0; i < NR_CLONES; i++)
		call(run, &run->clones[i]);
	for (int i = 0; i < NR_CLONES; i++)
		run->got[run->call] = max(fast->ret, 0L);
	run->pinned[run->call] = run->q.flags & FOLL_PIN;
	if (fast->ret != run->clones[MODEL].ret)
		mismatch(run, run->q.page, "two clones differ");
	/* The whole of a slow longterm call is given back; here, the rest. */
	if (run->cma && slow->ret == -ENOMEM)
		return fast->ret == (walked ? walked : -ENOMEM) ? false :
		       (mismatch(run, run->q.page, "longterm"), false);
	if (differs)
		return false;
	if (fast->ret != slow->ret) {
		if (slow->s->edge && fast->ret > slow->ret)
			return false;
		mismatch(run, run->q.page + max(min(fast->ret, slow->ret), 0L),
			 "results differ");
	}
	if (fast->faults.nr_records != slow->faults.nr_records)
		mismatch(run, run->q.page, "faults differ");
	compare_arrays(run, fast->pages[run->call], slow->pages[run->call],
		       fast->ret);
	compare_frames(run, fast, slow, HINTS);
	run->slowed += max(fast->ret, 0L) - walked;
	/* What a leaf's hints say may matter to the next call. */
	return compare_tables(run, fast, slow, _PAGE_ACCESSED | _PAGE_DIRTY |
			      _PAGE_SOFT_DIRTY);
}

/* ---- one address space ------------------------------------------------------ */

static void some_request(struct run *run)
{
	static const unsigned int most[] = { 1, 8, 40, 40, 300, 600, 1500 };
	struct random *r = &run->r;
	unsigned long pages = run->clones[0].s->nr_pages;
	struct request *q = &run->q;

	q->page = random_below(r, pages);
	if (random_chance(r, 30))
		q->page = max((long)ALIGN_DOWN(q->page, 512ul) - 8, 0L);
	q->nr = 1 + random_below(r, most[random_below(r, ARRAY_SIZE(most))]);
	q->nr = min(q->nr, pages - q->page);
	q->flags = random_chance(r, 65) ? FOLL_PIN : FOLL_GET;
	if (random_chance(r, 45))
		q->flags |= FOLL_WRITE;
	if ((q->flags & FOLL_PIN) && random_chance(r, 40))
		q->flags |= FOLL_LONGTERM;
	if (random_chance(r, 15))
		q->flags |= FOLL_FORCE;
	if (random_chance(r, 10))
		q->flags |= FOLL_NOFAULT;
	if (random_chance(r, 15))
		q->flags |= FOLL_HONOR_NUMA_FAULT;
}

static unsigned long nr_blocks(const struct machine *m)
{
	return m->nr_pages >> PAGEBLOCK_ORDER;
}

/* A folio past its count's edge cannot be isolated: its block stays as it is. */
static bool has_edge(const struct clone *c, unsigned long block)
{
	return c->s->edge && folio_pfn(c->s->edge) >> PAGEBLOCK_ORDER == block;
}

/* Some pageblocks are CMA's, for as long as the address space lives. */
static void some_cma(struct run *run)
{
	struct random r = { run->seed };

	run->cma = random_chance(&r, 40);
	for (unsigned long i = 0; i < nr_blocks(run->clones[0].s->machine); i++)
		for (int k = 0; k < NR_CLONES; k++) {
			struct clone *c = &run->clones[k];
			u8 *type = &c->s->machine->pageblock_type[i];

			c->types[i] = *type;
			if (run->cma && (run->seed >> (i % 60) & 3) == 1 &&
			    !has_edge(c, i))
				*type = MIGRATE_CMA;
		}
}

static void open_clones(struct run *run)
{
	unsigned long nr = 30 + random_below(&run->r, random_chance(&run->r, 20) ?
					     2000 : 500);
	unsigned int percent = random_chance(&run->r, 60) ?
			       random_below(&run->r, 40) : 0;

	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		assert_int_equal(state_open(c->box, ((pf_addr_t)3 << 30) -
					    2 * PMD_SIZE, nr, &c->s), 0);
		state_build(c->s, run->seed);
		c->faults = (struct fault_script){
			.state = c->s, .seed = run->seed, .percent = percent,
		};
	}
	some_cma(run);
}

static void close_clones(struct run *run)
{
	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];
		struct machine *m = c->s->machine;

		memcpy(m->pageblock_type, c->types, nr_blocks(m));
		fault_script_free(&c->faults);
		if (state_close(c->s))
			fail_msg("address space %#" PRIx64 ", %s: %s",
				 run->seed, c->name, error_text());
	}
}

static void one_address_space(struct run *run, u64 seed)
{
	unsigned int calls;
	bool same = true;

	run->seed = seed;
	run->r = (struct random){ ~seed };
	open_clones(run);
	calls = 1 + random_below(&run->r, MAX_CALLS);
	for (run->call = 0; same && run->call < calls; run->call++) {
		run->got[run->call] = 0;
		some_request(run);
		same = walk_once(run);
		if (!same)
			continue;
		same = call_once(run, run->clones[FAST].ret);
		for (int i = 0; i < NR_CLONES; i++) {
			struct clone *c = &run->clones[i];
			unsigned int now = run->call;

			/* What is kept makes the next state another. */
			if (same && random_chance(&(struct random){ seed + now },
						  60))
				continue;
			let_go(c, c->pages[now], max(c->ret, 0L),
			       run->pinned[now]);
			if (i == NR_CLONES - 1)
				run->got[now] = 0;
		}
	}
	while (run->call--)
		for (int i = 0; i < NR_CLONES; i++)
			let_go(&run->clones[i], run->clones[i].pages[run->call],
			       run->got[run->call], run->pinned[run->call]);
	close_clones(run);
}

/* PINFOLD_SPACE: the one address space that a failure names. */
static void fast_is_its_model(void **state)
{
	static const char *const names[] = { "fast", "model", "slow" };
	const char *rounds = getenv("PINFOLD_ROUNDS");
	const char *space = getenv("PINFOLD_SPACE");
	unsigned long nr = rounds ? strtoul(rounds, NULL, 0) :
			   TSAN_BUILD ? 40 : 900;
	struct run *run = calloc(1, sizeof(*run));
	struct random seeds;

	(void)state;
	assert_non_null(run);
	for (int i = 0; i < NR_CLONES; i++) {
		struct clone *c = &run->clones[i];

		c->name = names[i];
		assert_int_equal(state_box_create(BOX_BYTES, &c->box), 0);
		c->types = calloc(nr_blocks(c->box->machine), 1);
		assert_non_null(c->types);
	}
	random_init(&seeds);
	if (space)
		one_address_space(run, strtoull(space, NULL, 0));
	for (unsigned long i = 0; !space && i < nr; i++)
		one_address_space(run, random_next(&seeds));
	fprintf(stderr, "%lu pages walked, %lu left to the slow path, %lu that "
		"their area refuses, %lu edges\n", run->walked, run->slowed,
		run->refused, run->edges);
	for (int i = 0; i < NR_GUP_EXITS; i++)
		fprintf(stderr, "  %-20s %lu\n", gup_exit_names[i],
			(unsigned long)gup_exits[i]);
	if (!space && nr >= 900) {
		/* What no other thread is needed for. */
		for (int i = GUP_FAST_ABSENT; i <= GUP_FAST_F8; i++)
			assert_true(gup_exits[i] || i == GUP_FAST_F5_MOVED ||
				    i == GUP_FAST_F6_ENTRY ||
				    i == GUP_FAST_F6_TABLE);
		assert_true(gup_exits[GUP_FAST_CLIPPED] && run->slowed);
	}
	for (int i = 0; i < NR_CLONES; i++) {
		state_box_destroy(run->clones[i].box);
		free(run->clones[i].types);
	}
	free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_is_its_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
