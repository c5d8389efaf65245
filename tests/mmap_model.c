/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever is mapped, unmapped, protected, moved, advised, written and
 * pinned, in any order, an address space has the areas, the permissions and the
 * bytes that a naive model of one entry a page has; a pinned page stays what
 * the address space sees until it is unmapped or discarded, and keeps its bytes
 * after that (inv_O5); and all counts are right at any time (lab/validate.h).
 *
 * PINFOLD_SEED=N replays a run; PINFOLD_VERBOSE=1 prints each step of it.
 *
 * Source: include/pinfold/pinfold.h; mm/vma.c
 */
#include "tests/mmap_model.h"

/* ---- ranges ----------------------------------------------------------- */

static int random_start(struct model *m)
{
	static const int aligns[] = { 1, 1, 1, 4, 16, 512 };
	int align = aligns[random_below(&m->random, ARRAY_SIZE(aligns))];

	return ALIGN_DOWN((int)random_below(&m->random, NR), align);
}

static int random_length(struct model *m, int start)
{
	static const int most[] = { 2, 8, 32, 512 };
	int length;

	if (random_chance(&m->random, 20))
		length = 512 * (1 + random_below(&m->random, 2));
	else
		length = 1 + random_below(&m->random, most[random_below(
				&m->random, ARRAY_SIZE(most))]);
	return min(length, NR - start);
}

/* Not among them: write and execute, which is the guard's. */
static int random_prot(struct model *m)
{
	static const u8 prots[] = {
		PINFOLD_PROT_NONE, PINFOLD_PROT_READ, PINFOLD_PROT_WRITE,
		PINFOLD_PROT_EXEC, RW, RW, RW, RW | PINFOLD_PROT_EXEC,
	};

	return prots[random_below(&m->random, ARRAY_SIZE(prots))];
}

/* ---- mapping ---------------------------------------------------------- */

static void model_map(struct model *m, int at, int nr, int prot, bool locked)
{
	unmap(m, at, nr);
	for (; nr--; at++)
		m->pages[at] = (struct mpage){
			.mapped = true, .prot = prot, .locked = locked,
			.pgoff = addr_of(at) >> PAGE_SHIFT,
		};
}

static void do_one_mmap(struct model *m)
{
	static const int kinds[] = {
		PINFOLD_MAP_FIXED, PINFOLD_MAP_FIXED,
		PINFOLD_MAP_FIXED_NOREPLACE, 0, 0,
	};
	int at = random_start(m), nr = random_length(m, at);
	int prot = random_prot(m), err;
	int flags = kinds[random_below(&m->random, ARRAY_SIZE(kinds))];
	const bool hinted = flags || random_chance(&m->random, 50);
	pf_addr_t place = 1;

	if (random_chance(&m->random, 20))
		flags |= PINFOLD_MAP_POPULATE;
	if (random_chance(&m->random, 5))
		flags |= PINFOLD_MAP_LOCKED;
	STEP(m, "mmap %d+%d prot %d flags %#x\n", at, nr, prot, flags);
	err = pf_mmap(m->t.mm, hinted ? addr_of(at) : 0, PAGES(nr), prot, flags,
		      &place);
	if ((flags & PINFOLD_MAP_FIXED_NOREPLACE) && !all_free(m, at, nr)) {
		assert_int_equal(err, -EEXIST);
		assert_int_equal(place, 1);
		return;
	}
	assert_int_equal(err, 0);
	if ((flags & (PINFOLD_MAP_FIXED | PINFOLD_MAP_FIXED_NOREPLACE)) ||
	    (hinted && all_free(m, at, nr)))
		assert_int_equal(place, addr_of(at));
	else
		expect_place(m, nr, place);
	if (place < WINDOW)
		assert_int_equal(pf_munmap(m->t.mm, place, PAGES(nr)), 0);
	else
		model_map(m, page_of_addr(place), nr, prot,
			  flags & PINFOLD_MAP_LOCKED);
}

static void do_one_munmap(struct model *m)
{
	int at = random_start(m), nr = random_length(m, at);

	STEP(m, "munmap %d+%d\n", at, nr);
	assert_int_equal(pf_munmap(m->t.mm, addr_of(at), PAGES(nr)), 0);
	unmap(m, at, nr);
}

static void do_one_mprotect(struct model *m)
{
	int at = random_start(m), nr = random_length(m, at);
	int prot = random_prot(m), expected = 0;

	STEP(m, "mprotect %d+%d %d\n", at, nr, prot);
	for (int i = at; i < at + nr && !expected; i++) {
		if (m->pages[i].mapped)
			m->pages[i].prot = prot;
		else
			expected = -ENOMEM;
	}
	assert_int_equal(pf_mprotect(m->t.mm, addr_of(at), PAGES(nr), prot),
			 expected);
}

/* ---- moving ----------------------------------------------------------- */

struct remap {
	int old, old_nr, new_nr, flags;
	int new;			/* asked for; then where it went */
	bool outside;			/* it went below the window */
};

/* What mremap() does before it moves, and what it answers if it does not. */
static int model_prepare(struct model *m, struct remap *r)
{
	const bool to = r->flags & (PINFOLD_MREMAP_FIXED |
				    PINFOLD_MREMAP_DONTUNMAP);

	if (!m->pages[r->old].mapped)
		return -EFAULT;
	if (to && r->old + r->old_nr > r->new && r->new + r->new_nr > r->old)
		return -EINVAL;
	if (r->flags & PINFOLD_MREMAP_FIXED)
		unmap(m, r->new, r->new_nr);
	if (r->old_nr > r->new_nr) {
		unmap(m, r->old + r->new_nr, r->old_nr - r->new_nr);
		r->old_nr = r->new_nr;
	}
	if (!to && r->old_nr == r->new_nr)
		return 0;
	if (r->old + r->old_nr > area_end(m, r->old))
		return -EFAULT;
	return 1;
}

/* Like the page before it, one further. */
static void model_extend(struct model *m, int at, int nr)
{
	for (; nr--; at++) {
		m->pages[at] = m->pages[at - 1];
		m->pages[at].content = NULL;
		m->pages[at].pgoff++;
	}
}

static void model_move(struct model *m, const struct remap *r)
{
	const bool stays = r->flags & PINFOLD_MREMAP_DONTUNMAP;

	for (int i = 0; i < r->old_nr; i++) {
		struct mpage *from = &m->pages[r->old + i];

		if (r->outside) {
			discard(m, r->old + i);
			continue;
		}
		m->pages[r->new + i] = *from;
		if (from->content)
			from->content->at = r->new + i;
		from->content = NULL;
	}
	if (!stays)
		unmap(m, r->old, r->old_nr);
	if (!r->outside)
		model_extend(m, r->new + r->old_nr, r->new_nr - r->old_nr);
}

static bool model_can_grow(struct model *m, const struct remap *r)
{
	int end = r->old + r->old_nr;

	return area_end(m, r->old) == end && r->old + r->new_nr <= NR &&
	       all_free(m, end, r->new_nr - r->old_nr);
}

static void remap_to_place(struct model *m, struct remap *r, pf_addr_t place)
{
	if (r->flags & PINFOLD_MREMAP_FIXED)
		assert_int_equal(place, addr_of(r->new));
	else if (!(r->flags & PINFOLD_MREMAP_DONTUNMAP) ||
		 !all_free(m, r->new, r->new_nr))
		expect_place(m, r->new_nr, place);
	else
		assert_int_equal(place, addr_of(r->new));
	r->new = page_of_addr(place);
	r->outside = place < WINDOW;
	model_move(m, r);
	if (r->outside)
		assert_int_equal(pf_munmap(m->t.mm, place, PAGES(r->new_nr)),
				 0);
}

static void do_one_mremap(struct model *m)
{
	static const int kinds[] = {
		0, PINFOLD_MREMAP_MAYMOVE,
		PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED,
		PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED,
		PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_DONTUNMAP,
		PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_DONTUNMAP |
			PINFOLD_MREMAP_FIXED,
	};
	struct remap r = { .old = random_start(m), .new = random_start(m) };
	pf_addr_t place = 1;
	int err, ready;

	r.flags = kinds[random_below(&m->random, ARRAY_SIZE(kinds))];
	r.old_nr = r.new_nr = random_length(m, r.old);
	if (!(r.flags & PINFOLD_MREMAP_DONTUNMAP) &&
	    random_chance(&m->random, 50))
		r.new_nr = random_length(m, r.new);
	r.new = min(r.new, NR - r.new_nr);
	/* The area it leaves behind loses its lock, and stays apart. */
	if ((r.flags & PINFOLD_MREMAP_DONTUNMAP) && m->pages[r.old].locked)
		return;
	STEP(m, "mremap %d+%d to %d+%d flags %d\n", r.old, r.old_nr, r.new,
	     r.new_nr, r.flags);
	err = pf_mremap(m->t.mm, addr_of(r.old), PAGES(r.old_nr),
			PAGES(r.new_nr), r.flags, addr_of(r.new), &place);
	ready = model_prepare(m, &r);
	if (ready <= 0) {
		assert_int_equal(err, ready);
	} else if (r.flags & (PINFOLD_MREMAP_FIXED |
			      PINFOLD_MREMAP_DONTUNMAP)) {
		assert_int_equal(err, 0);
		remap_to_place(m, &r, place);
	} else if (model_can_grow(m, &r)) {
		assert_int_equal(err, 0);
		assert_int_equal(place, addr_of(r.old));
		model_extend(m, r.old + r.old_nr, r.new_nr - r.old_nr);
	} else if (!(r.flags & PINFOLD_MREMAP_MAYMOVE)) {
		assert_int_equal(err, -ENOMEM);
	} else {
		assert_int_equal(err, 0);
		remap_to_place(m, &r, place);
	}
}

/* ---- advice ----------------------------------------------------------- */

static int model_dontneed(struct model *m, int at, int nr)
{
	int expected = 0;

	for (int i = at; i < at + nr; i++) {
		if (!m->pages[i].mapped)
			expected = -ENOMEM;
		else if (m->pages[i].locked)
			return -EINVAL;
		else
			discard(m, i);
	}
	return expected;
}

static int model_huge(struct model *m, int at, int nr, enum huge huge)
{
	int expected = 0;

	for (int i = at; i < at + nr; i++) {
		if (!m->pages[i].mapped)
			expected = -ENOMEM;
		else if (huge != HUGE_DEFAULT)
			m->pages[i].huge = huge;
	}
	return expected;
}

static int model_populate(struct model *m, int at, int nr, int needs)
{
	for (int i = at; i < at + nr; i++) {
		if (!m->pages[i].mapped)
			return -ENOMEM;
		if (!(m->pages[i].prot & needs))
			return -EINVAL;
	}
	return 0;
}

static void do_one_madvise(struct model *m)
{
	static const int advices[] = {
		PINFOLD_MADV_NORMAL, PINFOLD_MADV_DONTNEED,
		PINFOLD_MADV_DONTNEED, PINFOLD_MADV_HUGEPAGE,
		PINFOLD_MADV_NOHUGEPAGE, PINFOLD_MADV_POPULATE_READ,
		PINFOLD_MADV_POPULATE_WRITE, PINFOLD_MADV_POPULATE_WRITE,
	};
	int advice = advices[random_below(&m->random, ARRAY_SIZE(advices))];
	int at = random_start(m), nr = random_length(m, at);
	int expected = 0;

	STEP(m, "madvise %d+%d %d\n", at, nr, advice);
	switch (advice) {
	case PINFOLD_MADV_NORMAL:
		expected = model_huge(m, at, nr, HUGE_DEFAULT);
		break;
	case PINFOLD_MADV_DONTNEED:
		expected = model_dontneed(m, at, nr);
		break;
	case PINFOLD_MADV_HUGEPAGE:
		expected = model_huge(m, at, nr, HUGE_YES);
		break;
	case PINFOLD_MADV_NOHUGEPAGE:
		expected = model_huge(m, at, nr, HUGE_NO);
		break;
	case PINFOLD_MADV_POPULATE_READ:
		expected = model_populate(m, at, nr, PINFOLD_PROT_READ);
		break;
	case PINFOLD_MADV_POPULATE_WRITE:
		expected = model_populate(m, at, nr, PINFOLD_PROT_WRITE);
		break;
	}
	assert_int_equal(pf_madvise(m->t.mm, addr_of(at), PAGES(nr), advice),
			 expected);
}

/* ---- bytes ------------------------------------------------------------ */

/* How many pages from @at on permit @needs. */
static int permitted(struct model *m, int at, int nr, int needs, bool force)
{
	int i = 0;

	while (i < nr && m->pages[at + i].mapped &&
	       (force || (m->pages[at + i].prot & needs)))
		i++;
	return i;
}

static void do_one_write(struct model *m)
{
	int at = random_start(m), nr = min(random_length(m, at), 40);
	int can = permitted(m, at, nr, PINFOLD_PROT_WRITE, false);
	int64_t expected = can ? (int64_t)PAGES(can) : -EFAULT;

	if (!m->bytes)
		return;
	STEP(m, "write %d+%d\n", at, nr);
	for (int i = 0; i < nr; i++)
		for (unsigned int k = 0; k < WORDS; k++)
			m->buffer[i * WORDS + k] = m->stamp + i;
	assert_int_equal(pf_write(m->t.mm, addr_of(at), m->buffer, PAGES(nr)),
			 expected);
	for (int i = 0; i < can; i++)
		content_of(m, at + i)->stamp = m->stamp + i;
	m->stamp += nr;
}

static void do_one_read(struct model *m)
{
	int at = random_start(m), nr = min(random_length(m, at), 40);
	int can = permitted(m, at, nr, PINFOLD_PROT_READ, false);
	int64_t expected = can ? (int64_t)PAGES(can) : -EFAULT;

	if (!m->bytes)
		return;
	STEP(m, "read %d+%d\n", at, nr);
	assert_int_equal(pf_read(m->t.mm, addr_of(at), m->buffer, PAGES(nr)),
			 expected);
	for (int i = 0; i < can; i++) {
		struct content *c = m->pages[at + i].content;

		compare_words(m->buffer + i * WORDS, c ? c->stamp : 0);
	}
}

/* ---- holding ---------------------------------------------------------- */

static bool is_zero_content(struct page *page)
{
	return is_zero_page(page) || is_huge_zero_folio(page_folio(page));
}

static void remember(struct model *m, struct hold *h, int at,
		     struct page **pages, long nr)
{
	h->nr = nr;
	h->pages = calloc(nr, sizeof(*h->pages));
	assert_non_null(h->pages);
	for (long i = 0; i < nr; i++) {
		h->pages[i].page = pages[i];
		if (is_zero_content(pages[i])) {
			assert_false(h->write);
			assert_null(m->pages[at + i].content);
			continue;
		}
		h->pages[i].content = content_of(m, at + i);
		h->pages[i].content->refs++;
	}
	m->nr_held += nr;
}

static void do_one_hold(struct model *m)
{
	static struct page *pages[MOST_HELD];
	struct hold *h = &m->holds[random_below(&m->random, NR_HOLDS)];
	int at = random_start(m), nr = random_length(m, at), can;
	const bool force = random_chance(&m->random, 20);
	struct mm_struct *mm = mm_of(m->t.mm);
	unsigned int flags = force ? FOLL_FORCE : 0;
	long ret;

	if (h->nr || m->nr_held + nr > MOST_HELD)
		return;
	h->pin = random_chance(&m->random, 80);
	h->write = random_chance(&m->random, 60);
	flags |= h->write ? FOLL_WRITE : 0;
	if (h->pin && random_chance(&m->random, 50))
		flags |= FOLL_LONGTERM;
	if (random_chance(&m->random, 10))
		flags |= FOLL_SPLIT_PMD;
	STEP(m, "%s %d+%d %#x\n", h->pin ? "pin" : "get", at, nr, flags);
	ret = h->pin ? pin_user_pages_unlocked(mm, addr_of(at), nr, pages,
					       flags) :
		       get_user_pages_unlocked(mm, addr_of(at), nr, pages,
					       flags);
	can = permitted(m, at, nr, h->write ? PINFOLD_PROT_WRITE :
					      PINFOLD_PROT_READ, force);
	assert_int_equal(ret, can ? can : -EFAULT);
	if (ret > 0)
		remember(m, h, at, pages, ret);
	for (long i = 0; i < ret; i++)
		if (flags & FOLL_LONGTERM)
			assert_false(is_zero_content(pages[i]));
}

static void release_pages(struct model *m, struct hold *h, struct page **pages)
{
	unsigned long half = random_below(&m->random, h->nr + 1);

	if (!h->pin) {
		for (unsigned long i = 0; i < h->nr; i++)
			put_page(pages[i]);
		return;
	}
	switch (random_below(&m->random, 4)) {
	case 0:
		unpin_user_pages(pages, h->nr);
		break;
	case 1:
		unpin_user_pages_dirty_lock(pages, h->nr, h->write);
		break;
	case 2:
		for (unsigned long i = h->nr; i--;)
			unpin_user_page(pages[i]);
		break;
	default:
		unpin_user_pages(pages + half, h->nr - half);
		unpin_user_pages(pages, half);
	}
}

static void release(struct model *m, struct hold *h)
{
	static struct page *pages[MOST_HELD];

	if (!h->nr)
		return;
	STEP(m, "release %lu\n", h->nr);
	for (unsigned long i = 0; i < h->nr; i++) {
		pages[i] = h->pages[i].page;
		content_put(h->pages[i].content);
	}
	release_pages(m, h, pages);
	m->nr_held -= h->nr;
	free(h->pages);
	*h = (struct hold){ 0 };
}

static void do_one_release(struct model *m)
{
	release(m, &m->holds[random_below(&m->random, NR_HOLDS)]);
}

/* The device writes, and whoever still maps the page sees it. */
static void do_one_device_write(struct model *m)
{
	struct hold *h = &m->holds[random_below(&m->random, NR_HOLDS)];
	struct held_page *held;
	u64 *words;

	if (!m->bytes || !h->write || !h->nr)
		return;
	held = &h->pages[random_below(&m->random, h->nr)];
	words = page_address(held->page);
	held->content->stamp = m->stamp++;
	STEP(m, "device write to page %d\n", held->content->at);
	for (unsigned int k = 0; k < WORDS; k++)
		words[k] = held->content->stamp;
}

/* ---- runs ------------------------------------------------------------- */

static void release_all(struct model *m)
{
	for (unsigned int i = 0; i < NR_HOLDS; i++)
		release(m, &m->holds[i]);
	assert_int_equal(pf_munmap(m->t.mm, WINDOW, PAGES(NR)), 0);
	unmap(m, 0, NR);
}

static void (*const operations[])(struct model *) = {
	do_one_mmap, do_one_mmap, do_one_mmap,
	do_one_munmap,
	do_one_mprotect, do_one_mprotect,
	do_one_mremap, do_one_mremap,
	do_one_madvise, do_one_madvise,
	do_one_write, do_one_write, do_one_write,
	do_one_read,
	do_one_hold, do_one_hold,
	do_one_release, do_one_release,
	do_one_device_write,
};

static unsigned long random_orders(struct model *m)
{
	unsigned long orders = 0;

	if (random_chance(&m->random, 30))
		orders |= BIT(2);
	if (random_chance(&m->random, 30))
		orders |= BIT(4);
	if (random_chance(&m->random, 50))
		orders |= BIT(9);
	if (random_chance(&m->random, 10))
		orders |= BIT(2 + random_below(&m->random, 8));
	return orders;
}

static void run(u64 seed, u64 memory, int steps, bool bytes)
{
	struct model *m = calloc(1, sizeof(*m));
	struct machine *machine;

	assert_non_null(m);
	m->random.state = seed;
	m->verbose = getenv("PINFOLD_VERBOSE");
	m->bytes = bytes;
	m->stamp = 1;
	m->buffer = calloc(40, PAGE_SIZE);
	assert_non_null(m->buffer);
	mm_test_begin(&m->t, (struct pf_machine_options){
		.memory_bytes = memory,
		.metadata_only = !bytes,
		.thp_always = random_orders(m),
		.thp_madvise = random_orders(m),
		.no_huge_zero = random_chance(&m->random, 30),
	});
	/* Nothing grows out of the window. */
	map_at(&m->t, WINDOW_END, 1, PINFOLD_PROT_WRITE | PINFOLD_PROT_EXEC);
	machine = machine_of(m->t.machine);
	for (int i = 0; i < steps; i++) {
		operations[random_below(&m->random, ARRAY_SIZE(operations))](m);
		compare_areas(m);
		if (i % 32 == 0)
			compare_pages(m);
		if (i % 512 == 0)
			validate(m);
		if (i % 128 == 0)
			WRITE_ONCE(machine->thp_always, random_orders(m));
		/* Folios that are mapped in part pile up. */
		if (nr_free_pages(machine) < LOW_MEMORY)
			release_all(m);
	}
	compare_pages(m);
	validate(m);
	release_all(m);
	mm_test_end(&m->t);
	free(m->buffer);
	free(m);
}

/* ThreadSanitizer has nothing to see here: one thread. */
#define SHARE		(TSAN_BUILD ? 4 : 1)

static void test_bytes(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 12 / SHARE; i++)
		run(r.state + i, MIB(48), 2400, true);
}

static void test_structure(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 8 / SHARE; i++)
		run(r.state + i, MIB(64), 4800, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
