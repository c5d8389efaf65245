/* SPDX-License-Identifier: MIT */
/*
 * A naive address space: one entry a page of a window, what each page holds,
 * and its comparison with the engine's.  For tests/mmap_model.c.
 */
#ifndef TESTS_MMAP_MODEL_H
#define TESTS_MMAP_MODEL_H

#include "tests/mm_test.h"
#include "tests/random.h"

#include <errno.h>
#include <stdlib.h>

/* The window ends where areas without a hint are put first. */
#define NR		(5 * 512)
#define WINDOW_END	(TASK_CEILING - MIB(128))
#define WINDOW		(WINDOW_END - PAGES(NR))
#define NR_HOLDS	24
#define MOST_HELD	1024
#define LOW_MEMORY	(MIB(20) >> PAGE_SHIFT)
#define WORDS		(PAGE_SIZE / sizeof(u64))

/*
 * What a page holds.  It lives while it is mapped or held.  A page without one
 * reads zero.
 */
struct content {
	int at;			/* page of the window; -1: mapped no more */
	unsigned int refs;	/* 1 if mapped, and 1 for each hold */
	u64 stamp;		/* the value of all its words */
};

enum huge { HUGE_DEFAULT, HUGE_YES, HUGE_NO };

struct mpage {
	bool mapped, locked;
	u8 prot;
	enum huge huge;
	pgoff_t pgoff;
	struct content *content;
};

struct held_page {
	struct page *page;
	struct content *content;	/* NULL: a zero page */
};

/* Pages got or pinned by one call; released all at once. */
struct hold {
	bool pin, write;
	unsigned long nr;
	struct held_page *pages;
};

struct model {
	struct mm_test t;
	struct random random;
	bool bytes, verbose;
	u64 stamp;
	struct mpage pages[NR];
	struct hold holds[NR_HOLDS];
	unsigned long nr_held;
	unsigned int nr_areas;		/* seen by the last comparison */
	u64 *buffer;
};

static inline pf_addr_t addr_of(int at)
{
	return WINDOW + PAGES(at);
}

static inline int page_of_addr(pf_addr_t addr)
{
	return (int)((int64_t)(addr - WINDOW) >> PAGE_SHIFT);
}

#define STEP(m, ...) do {						\
	if ((m)->verbose)						\
		fprintf(stderr, __VA_ARGS__);				\
} while (0)

/* ---- the model's side ------------------------------------------------- */

static inline void content_put(struct content *c)
{
	if (c && !--c->refs)
		free(c);
}

/* The content of a page that has bytes of its own from now on. */
static inline struct content *content_of(struct model *m, int at)
{
	struct mpage *p = &m->pages[at];

	if (!p->content) {
		p->content = calloc(1, sizeof(*p->content));
		assert_non_null(p->content);
		p->content->refs = 1;
		p->content->at = at;
	}
	return p->content;
}

static inline void discard(struct model *m, int at)
{
	struct mpage *p = &m->pages[at];

	if (p->content)
		p->content->at = -1;
	content_put(p->content);
	p->content = NULL;
}

static inline void unmap(struct model *m, int at, int nr)
{
	for (; nr--; at++) {
		discard(m, at);
		m->pages[at] = (struct mpage){ 0 };
	}
}

static inline bool same_area(const struct mpage *a, const struct mpage *b)
{
	return a->mapped && b->mapped && a->prot == b->prot &&
	       a->huge == b->huge && a->locked == b->locked &&
	       a->pgoff + 1 == b->pgoff;
}

/* One past the area that page @at is in. */
static inline int area_end(struct model *m, int at)
{
	while (at + 1 < NR && same_area(&m->pages[at], &m->pages[at + 1]))
		at++;
	return at + 1;
}

static inline bool all_free(struct model *m, int at, int nr)
{
	for (; nr--; at++)
		if (at < 0 || at >= NR || m->pages[at].mapped)
			return false;
	return true;
}

/* Where a search from the top puts @nr pages; -1: not in the window. */
static inline int gap_topdown(struct model *m, int nr, int align)
{
	int run = 0;

	for (int at = NR - 1; at >= 0; at--) {
		run = m->pages[at].mapped ? 0 : run + 1;
		/* The first place below the top of a gap. */
		if (run >= nr && at % align == 0)
			return at;
	}
	return -1;
}

static inline void expect_place(struct model *m, int nr, pf_addr_t place)
{
	int at = -1;

	if (nr % 512 == 0)
		at = gap_topdown(m, nr, 512);
	else
		at = gap_topdown(m, nr, 1);
	if (at >= 0)
		assert_int_equal(page_of_addr(place), at);
	else
		assert_true(place < WINDOW);
}

/* ---- comparing -------------------------------------------------------- */

static inline void expect_flags(const struct mpage *p, vm_flags_t flags)
{
	static const vm_flags_t huge[] = {
		[HUGE_YES] = VM_HUGEPAGE, [HUGE_NO] = VM_NOHUGEPAGE,
	};
	vm_flags_t expected = VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC |
			      VM_SOFTDIRTY | huge[p->huge];

	expected |= p->prot & PINFOLD_PROT_READ ? VM_READ : 0;
	expected |= p->prot & PINFOLD_PROT_WRITE ? VM_WRITE : 0;
	expected |= p->prot & PINFOLD_PROT_EXEC ? VM_EXEC : 0;
	expected |= p->locked ? VM_LOCKED : 0;
	assert_int_equal(flags, expected);
}

/* The areas are the model's runs of like pages: cut and merged as they are. */
static inline void compare_areas(struct model *m)
{
	struct mm_struct *mm = mm_of(m->t.mm);
	struct vm_area_struct *vma;

	mmap_read_lock(mm);
	vma = vma_first(mm);
	m->nr_areas = 0;
	for (int at = 0; at < NR; at++) {
		if (!m->pages[at].mapped)
			continue;
		assert_non_null(vma);
		assert_int_equal(vma->vm_start, addr_of(at));
		assert_int_equal(vma->vm_pgoff, m->pages[at].pgoff);
		expect_flags(&m->pages[at], vma->vm_flags);
		at = area_end(m, at) - 1;
		assert_int_equal(vma->vm_end, addr_of(at + 1));
		vma = vma_next(vma);
		m->nr_areas++;
	}
	/* The guard. */
	assert_int_equal(vma->vm_start, WINDOW_END);
	assert_null(vma_next(vma));
	assert_int_equal(mm->map_count, m->nr_areas + 1);
	mmap_read_unlock(mm);
}

static inline void compare_words(const u64 *words, u64 stamp)
{
	for (unsigned int i = 0; i < WORDS; i++)
		if (words[i] != stamp)
			assert_int_equal(words[i], stamp);
}

/* What is there without a fault, whatever the permissions are. */
static inline void compare_page(struct model *m, int at)
{
	struct mpage *p = &m->pages[at];
	struct page *page;
	long ret = get_user_pages_unlocked(mm_of(m->t.mm), addr_of(at), 1,
					   &page, FOLL_NOFAULT | FOLL_FORCE);

	if (ret != 1) {
		assert_int_equal(ret, -EFAULT);
		assert_true(!p->content || !p->content->stamp);
		return;
	}
	assert_true(p->mapped);
	if (m->bytes)
		compare_words(page_address(page),
			      p->content ? p->content->stamp : 0);
	put_page(page);
}

static inline void compare_hold(struct model *m, struct hold *h)
{
	for (unsigned long i = 0; i < h->nr; i++) {
		struct page *page = h->pages[i].page;
		struct content *c = h->pages[i].content;

		if (m->bytes)
			compare_words(page_address(page), c ? c->stamp : 0);
		if (c && c->at >= 0)	/* inv_O5 */
			assert_ptr_equal(page_mapped_at(&m->t, addr_of(c->at)),
					 page);
		if (h->pin && c)
			assert_true(folio_maybe_dma_pinned(page_folio(page)));
	}
}

static inline void compare_pages(struct model *m)
{
	for (int at = 0; at < NR; at++)
		if (m->pages[at].mapped)
			compare_page(m, at);
	for (unsigned int i = 0; i < NR_HOLDS; i++)
		compare_hold(m, &m->holds[i]);
}

static inline void validate(struct model *m)
{
	static struct page *gets[MOST_HELD * 2], *pins[MOST_HELD * 2];
	struct mm_holds held = { gets, 0, pins, 0 };

	for (unsigned int i = 0; i < NR_HOLDS; i++) {
		struct hold *h = &m->holds[i];

		for (unsigned long k = 0; k < h->nr; k++) {
			if (h->pin)
				pins[held.nr_pins++] = h->pages[k].page;
			else
				gets[held.nr_gets++] = h->pages[k].page;
		}
	}
	assert_int_equal(mm_validate(machine_of(m->t.machine), &held), 0);
}

#endif
