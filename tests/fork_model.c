/* SPDX-License-Identifier: MIT */
/*
 * Claim: in any history of stores, loads, forks, exits, pins, references and
 * calls that change protection or drop pages, each address space sees the bytes
 * that its own history gave it; and a pinned page stays the page of its address
 * space (inv_O5), which sees what a device stores there, and the other way
 * round, until it drops the page.
 *
 * Oracle: an array of bytes for each address space, which fork copies.
 */
#include "tests/fork_test.h"
#include "tests/random.h"

/*
 * The window of each address space, in pages from BASE:
 *
 *   0              64       512          1024         1536
 *   small, 64 KiB  hole     THP          hugetlb
 */
#define NR_SMALL	64
#define FIRST_THP	512
#define FIRST_HUGE	1024
#define NR_WINDOW	1536
#define NR_MMS		5
#define NR_HOLDS	24
#define STEPS		6000

struct model {
	struct mm_test t;	/* .mm: NULL: none */
	u8 *bytes;		/* of the window */
};

/* A pin or a reference on one page. */
struct hold {
	struct page *page;	/* NULL: none */
	struct model *owner;	/* NULL: it has dropped the page */
	u64 index;		/* in the window */
};

static struct random r;
static struct mm_test t;
static struct model models[NR_MMS];
static struct hold pins[NR_HOLDS], gets[NR_HOLDS];

static unsigned int below(unsigned int n)
{
	return random_below(&r, n);
}

static pf_addr_t place_of(u64 index)
{
	return BASE + PAGES(index);
}

/* A page of the window that is mapped; half of them near a few others. */
static u64 some_page(void)
{
	static const u64 firsts[] = { 0, FIRST_THP, FIRST_HUGE };
	static const unsigned int nrs[] = { NR_SMALL, 512, 512 };
	unsigned int part = below(3);
	unsigned int nr = below(2) ? 8 : nrs[part];

	return firsts[part] + below(nr);
}

static u64 end_of_part(u64 index)
{
	return index < FIRST_THP ? NR_SMALL :
	       index < FIRST_HUGE ? FIRST_HUGE : NR_WINDOW;
}

static struct model *some_model(void)
{
	struct model *m = &models[below(NR_MMS)];

	return m->t.mm ? m : NULL;
}

/* ---- stores and loads -------------------------------------------------- */

static void store(struct model *m)
{
	u8 bytes[3 * PAGE_SIZE];
	u64 index = some_page(), offset = PAGES(index) + below(PAGE_SIZE);
	u64 length = 1 + below(below(4) ? 64 : sizeof(bytes));

	length = min(length, PAGES(end_of_part(index)) - offset);
	for (u64 i = 0; i < length; i++)
		bytes[i] = random_next(&r);
	assert_int_equal(pf_write(m->t.mm, BASE + offset, bytes, length),
			 length);
	memcpy(m->bytes + offset, bytes, length);
}

static void load_pages(struct model *m, u64 index, u64 nr)
{
	static u8 bytes[512 * PAGE_SIZE];

	nr = min(nr, end_of_part(index) - index);
	assert_int_equal(pf_read(m->t.mm, place_of(index), bytes, PAGES(nr)),
			 PAGES(nr));
	assert_memory_equal(bytes, m->bytes + PAGES(index), PAGES(nr));
}

static void load(struct model *m)
{
	load_pages(m, some_page(), 1 + below(3));
}

static void load_all(struct model *m)
{
	load_pages(m, 0, NR_SMALL);
	load_pages(m, FIRST_THP, 512);
	load_pages(m, FIRST_HUGE, 512);
}

/* ---- holding pages ----------------------------------------------------- */

static struct hold *free_hold(struct hold *holds)
{
	for (unsigned int i = 0; i < NR_HOLDS; i++)
		if (!holds[i].page)
			return &holds[i];
	return NULL;
}

static void pin(struct model *m)
{
	struct hold *h = free_hold(pins);

	if (!h)
		return;
	h->index = some_page();
	h->owner = m;
	/* Longterm, or for writing: never the zero page. */
	h->page = page_pinned_at(&m->t, place_of(h->index), below(2) ?
				 PINFOLD_FOLL_LONGTERM : PINFOLD_FOLL_WRITE);
}

static void get(struct model *m)
{
	struct hold *h = free_hold(gets);

	if (!h)
		return;
	h->index = some_page();
	/* References do not keep pool pages apart: see tests/gup_actions.c. */
	if (h->index < FIRST_HUGE)
		h->page = page_got_at(&m->t, place_of(h->index), below(2) ?
				      PINFOLD_FOLL_WRITE : 0);
}

static void let_go(struct model *m __maybe_unused)
{
	struct hold *pin = &pins[below(NR_HOLDS)];
	struct hold *get = &gets[below(NR_HOLDS)];

	if (pin->page && below(2)) {
		unpin_user_page(pin->page);
		pin->page = NULL;
	}
	if (get->page) {
		put_page(get->page);
		get->page = NULL;
	}
}

static void device(struct model *m __maybe_unused)
{
	struct hold *h = &pins[below(NR_HOLDS)];
	u64 at = below(PAGE_SIZE);
	u8 byte = random_next(&r), *bytes;

	if (!h->page)
		return;
	bytes = page_address(h->page);
	bytes[at] = byte;
	if (h->owner)
		h->owner->bytes[PAGES(h->index) + at] = byte;
}

/* inv_O5 */
static void check_pins(void)
{
	for (unsigned int i = 0; i < NR_HOLDS; i++) {
		struct hold *h = &pins[i];

		if (!h->page || !h->owner)
			continue;
		assert_ptr_equal(page_mapped_at(&h->owner->t,
						place_of(h->index)), h->page);
		assert_memory_equal(page_address(h->page),
				    h->owner->bytes + PAGES(h->index),
				    PAGE_SIZE);
	}
}

static void detach(struct model *m, u64 first, u64 end)
{
	for (unsigned int i = 0; i < NR_HOLDS; i++)
		if (pins[i].owner == m && pins[i].index >= first &&
		    pins[i].index < end)
			pins[i].owner = NULL;
}

/* ---- changing address spaces ------------------------------------------- */

static void some_range(u64 *first, u64 *nr)
{
	*first = some_page();
	if (*first >= FIRST_HUGE) {
		*first = FIRST_HUGE;
		*nr = 512;
	} else if (*first >= FIRST_THP && !below(3)) {
		*first = FIRST_THP;
		*nr = 512;
	} else {
		*nr = 1 + below(20);
		*nr = min(*nr, end_of_part(*first) - *first);
	}
}

/* A store by force into what its owner may only read, as a debugger does. */
static void force(struct model *m)
{
	u64 index = some_page(), at = below(PAGE_SIZE);
	u8 byte = random_next(&r);
	struct page *page;

	if (index >= FIRST_HUGE)
		return;
	assert_int_equal(pf_mprotect(m->t.mm, place_of(index), PAGES(1),
				     PINFOLD_PROT_READ), 0);
	page = page_pinned_at(&m->t, place_of(index),
			      PINFOLD_FOLL_WRITE | PINFOLD_FOLL_FORCE);
	*((u8 *)page_address(page) + at) = byte;
	m->bytes[PAGES(index) + at] = byte;
	unpin_user_page(page);
	assert_false(writable_at(&m->t, place_of(index)));
	assert_int_equal(pf_write(m->t.mm, place_of(index), &byte, 1), -EFAULT);
	load_pages(m, index, 1);
	assert_int_equal(pf_mprotect(m->t.mm, place_of(index), PAGES(1), RW),
			 0);
}

/* The child is to find nothing, or nothing but zeroes, in a part of it. */
static void set_fork_advice(struct model *m, u64 first, u64 nr, bool on,
			    bool wipe)
{
	int advice = wipe ? PINFOLD_MADV_KEEPONFORK : PINFOLD_MADV_DOFORK;

	if (on)
		advice = wipe ? PINFOLD_MADV_WIPEONFORK :
				PINFOLD_MADV_DONTFORK;
	advise(&m->t, place_of(first), PAGES(nr), advice);
}

static void fork_mm(struct model *m)
{
	const bool partly = !below(3), wipe = below(2);
	struct model *child = NULL;
	u64 first, nr;

	for (unsigned int i = 0; i < NR_MMS; i++)
		if (!models[i].t.mm)
			child = &models[i];
	if (!child)
		return;
	some_range(&first, &nr);
	if (partly && first < FIRST_HUGE)
		set_fork_advice(m, first, nr, true, wipe);
	child->t = fork_of(&m->t);
	memcpy(child->bytes, m->bytes, PAGES(NR_WINDOW));
	if (!partly || first >= FIRST_HUGE)
		return;
	memset(child->bytes + PAGES(first), 0, PAGES(nr));
	set_fork_advice(m, first, nr, false, wipe);
	if (wipe)
		set_fork_advice(child, first, nr, false, wipe);
	else
		map_at(&child->t, place_of(first), nr, RW);
}

static unsigned int nr_living(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < NR_MMS; i++)
		nr += models[i].t.mm != NULL;
	return nr;
}

static void exit_mm(struct model *m)
{
	if (nr_living() == 1)
		return;
	detach(m, 0, NR_WINDOW);
	exit_of(&m->t);
}

static void discard(struct model *m)
{
	u64 first, nr;

	if (below(4))
		return;
	some_range(&first, &nr);
	detach(m, first, first + nr);
	advise(&m->t, place_of(first), PAGES(nr), PINFOLD_MADV_DONTNEED);
	memset(m->bytes + PAGES(first), 0, PAGES(nr));
}

static void protect(struct model *m)
{
	u64 first, nr;

	some_range(&first, &nr);
	assert_int_equal(pf_mprotect(m->t.mm, place_of(first), PAGES(nr),
				     below(2) ? PINFOLD_PROT_READ :
						PINFOLD_PROT_NONE), 0);
	if (below(2))
		check_pins();
	assert_int_equal(pf_mprotect(m->t.mm, place_of(first), PAGES(nr), RW),
			 0);
}

/* There and back: the same pages, by entries that moved. */
static void move(struct model *m)
{
	const pf_addr_t far = BASE + ((u64)1 << 40) + PAGES(below(512));
	const int to = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED;
	pf_addr_t place;
	u64 first, nr;

	some_range(&first, &nr);
	if (first >= FIRST_HUGE)
		return;
	assert_int_equal(pf_mremap(m->t.mm, place_of(first), PAGES(nr),
				   PAGES(nr), to, far, &place), 0);
	assert_int_equal(pf_mremap(m->t.mm, far, PAGES(nr), PAGES(nr), to,
				   place_of(first), &place), 0);
}

/* ---- the history ------------------------------------------------------- */

static void begin(void)
{
	static const unsigned long orders[] = {
		0, BIT(4), BIT(HPAGE_PMD_ORDER), BIT(2) | BIT(HPAGE_PMD_ORDER),
	};
	pf_addr_t place;

	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(64),
		.hugetlb_2m_pages = 2 * NR_MMS + NR_HOLDS,
		.thp_always = orders[below(ARRAY_SIZE(orders))],
	});
	map_at(&t, BASE, NR_SMALL, RW);
	map_at(&t, place_of(FIRST_THP), 512, RW);
	assert_int_equal(pf_mmap(t.mm, place_of(FIRST_HUGE), PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	for (unsigned int i = 0; i < NR_MMS; i++) {
		models[i].bytes = calloc(NR_WINDOW, PAGE_SIZE);
		assert_non_null(models[i].bytes);
	}
	models[0].t = t;
}

static void validate(void)
{
	struct page *pinned[NR_HOLDS], *got[NR_HOLDS];
	struct mm_holds holds = { .gets = got, .pins = pinned };

	for (unsigned int i = 0; i < NR_HOLDS; i++) {
		if (pins[i].page)
			pinned[holds.nr_pins++] = pins[i].page;
		if (gets[i].page)
			got[holds.nr_gets++] = gets[i].page;
	}
	assert_int_equal(mm_validate(machine_of(t.machine), &holds), 0);
}

static void finish(void)
{
	struct model *last = NULL;

	validate();
	for (unsigned int i = 0; i < NR_MMS; i++)
		if (models[i].t.mm)
			load_all(&models[i]);
	for (unsigned int i = 0; i < NR_HOLDS; i++) {
		if (pins[i].page)
			unpin_user_page(pins[i].page);
		if (gets[i].page)
			put_page(gets[i].page);
		pins[i].page = NULL;
		gets[i].page = NULL;
	}
	for (unsigned int i = 0; i < NR_MMS; i++) {
		if (last && models[i].t.mm)
			exit_of(&models[i].t);
		else if (models[i].t.mm)
			last = &models[i];
		free(models[i].bytes);
	}
	t.mm = last->t.mm;
	last->t.mm = NULL;
	mm_test_end(&t);
}

static void histories(void **state)
{
	static void (*const steps[])(struct model *) = {
		store, store, store, store, load, load, pin, get, let_go,
		let_go, device, device, fork_mm, exit_mm, discard, protect,
		move, force,
	};

	(void)state;
	random_init(&r);
	for (unsigned int round = 0; round < 6; round++) {
		begin();
		for (unsigned int i = 0; i < STEPS / 6; i++) {
			struct model *m = some_model();

			if (!m)
				continue;
			steps[below(ARRAY_SIZE(steps))](m);
			check_pins();
			if (i % 100 == 99)
				validate();
		}
		finish();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
