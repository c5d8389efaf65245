/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever a private page is backed by, no side of a fork sees the other
 * side's later stores, not even through references that it took before, and a
 * pin sees the stores of its own process, whether the page was shared, had been
 * shared, or was merely write-protected when it was pinned.
 *
 * Each action runs on each backing: gup_ACTION_BACKING.  What cannot be run is
 * in tests/gup_catalogue.c.  A pipe that memory was
 * spliced into is played by references for reading.  Pages of a hugetlb pool are
 * reused whoever else has references, so there the spliced bytes change; that
 * is as Linux has it, and is tested as well.
 *
 * Source: tools/testing/selftests/mm/cow.c
 */
#include "tests/fork_test.h"

#define OLD	0x01
#define NEW	0xff
#define MOST	512

struct backing {
	const char *name;
	void (*make)(const struct backing *b);
	unsigned int order;	/* of the folio */
	bool hugetlb;
};

struct action {
	const char *name;
	void (*run)(void);
};

struct combination {
	const struct backing *backing;
	const struct action *action;
};

static struct mm_test t;
static unsigned long nr;	/* pages of the range, from BASE */
static bool hugetlb;
static struct page *held[MOST];

/* ---- bytes ------------------------------------------------------------- */

static void fill(struct mm_test *mm, u64 first, u64 pages, u8 byte)
{
	static u8 page[PAGE_SIZE];

	memset(page, byte, sizeof(page));
	for (u64 i = first; i < first + pages; i++)
		assert_int_equal(pf_write(mm->mm, BASE + PAGES(i), page,
					  sizeof(page)), sizeof(page));
}

static bool all_are(const u8 *bytes, u8 byte)
{
	for (u64 i = 0; i < PAGE_SIZE; i++)
		if (bytes[i] != byte)
			return false;
	return true;
}

static void assert_sees(struct mm_test *mm, u8 byte)
{
	static u8 page[PAGE_SIZE];

	for (unsigned long i = 0; i < nr; i++) {
		assert_int_equal(pf_read(mm->mm, BASE + PAGES(i), page,
					 sizeof(page)), sizeof(page));
		assert_true(all_are(page, byte));
	}
}

static void assert_held_are(u8 byte)
{
	for (unsigned long i = 0; i < nr; i++)
		assert_true(all_are(page_address(held[i]), byte));
}

static void protect(int prot)
{
	assert_int_equal(pf_mprotect(t.mm, BASE, PAGES(nr), prot), 0);
}

/* ---- backings ---------------------------------------------------------- */

/* A folio of that order, all written, with nothing else enabled. */
static void make_folio(const struct backing *b, u64 pages)
{
	WRITE_ONCE(machine_of(t.machine)->thp_always,
		   b->order ? BIT(b->order) : 0);
	map_at(&t, BASE, pages, RW);
	nr = 1ul << b->order;
	fill(&t, 0, nr, OLD);
	assert_int_equal(folio_order(page_folio(page_mapped_at(&t, BASE))),
			 b->order);
}

static void make_whole(const struct backing *b)
{
	make_folio(b, 1ul << b->order);
}

static void make_by_ptes(const struct backing *b)
{
	make_whole(b);
	if (b->order == HPAGE_PMD_ORDER) {
		assert_int_equal(pf_mprotect(t.mm, BASE + PAGES(1), PAGES(1),
					     PINFOLD_PROT_READ), 0);
		assert_int_equal(pf_mprotect(t.mm, BASE + PAGES(1), PAGES(1),
					     RW), 0);
	}
	assert_true(pmd_none(leaf_at(&t, BASE)));
}

static void make_one_page_of(const struct backing *b)
{
	make_by_ptes(b);
	advise(&t, BASE + PAGES(1), PAGES(nr - 1), PINFOLD_MADV_DONTNEED);
	nr = 1;
}

static void make_half(const struct backing *b)
{
	pf_addr_t far = BASE + ((u64)1 << 40), place;

	make_by_ptes(b);
	nr /= 2;
	assert_int_equal(pf_mremap(t.mm, BASE + PAGES(nr), PAGES(nr), PAGES(nr),
				   PINFOLD_MREMAP_MAYMOVE |
				   PINFOLD_MREMAP_FIXED, far, &place), 0);
}

/* Page 0 was shared once, the others never. */
static void make_partly_shared(const struct backing *b)
{
	struct mm_test child;

	make_by_ptes(b);
	advise(&t, BASE + PAGES(1), PAGES(nr - 1), PINFOLD_MADV_DONTFORK);
	child = fork_of(&t);
	exit_of(&child);
	advise(&t, BASE + PAGES(1), PAGES(nr - 1), PINFOLD_MADV_DOFORK);
	assert_false(exclusive_at(&t, BASE));
	assert_true(exclusive_at(&t, BASE + PAGES(1)));
}

static void make_hugetlb(const struct backing *b)
{
	pf_addr_t place;

	nr = 1ul << b->order;
	assert_int_equal(pf_mmap(t.mm, BASE, PAGES(nr), RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	fill(&t, 0, nr, OLD);
}

/* ---- actions ----------------------------------------------------------- */

static void parent_writes(bool protect_first)
{
	struct mm_test child = fork_of(&t);

	assert_sees(&child, OLD);
	if (protect_first) {
		protect(PINFOLD_PROT_READ);
		protect(RW);
	}
	fill(&t, 0, nr, NEW);
	assert_sees(&child, OLD);
	assert_sees(&t, NEW);
	exit_of(&child);
}

static void a1(void)
{
	parent_writes(false);
}

static void a2(void)
{
	parent_writes(true);
}

static void splice(struct mm_test *mm)
{
	assert_int_equal(pf_get_user_pages_unlocked(mm->mm, BASE, nr,
				(struct pf_page **)held, 0), nr);
}

static void end_splice(void)
{
	assert_held_are(hugetlb ? NEW : OLD);
	for (unsigned long i = 0; i < nr; i++)
		put_page(held[i]);
}

static void unmap(struct mm_test *mm)
{
	assert_int_equal(pf_munmap(mm->mm, BASE, PAGES(nr)), 0);
}

static void child_splices(bool protect_first)
{
	struct mm_test child = fork_of(&t);

	splice(&child);
	unmap(&child);
	if (protect_first) {
		protect(PINFOLD_PROT_READ);
		protect(RW);
	}
	fill(&t, 0, nr, NEW);
	assert_sees(&t, NEW);
	end_splice();
	exit_of(&child);
}

static void a3(void)
{
	child_splices(false);
}

static void a4(void)
{
	child_splices(true);
}

static void a5(void)
{
	struct mm_test child;

	splice(&t);
	child = fork_of(&t);
	unmap(&t);
	fill(&child, 0, nr, NEW);
	exit_of(&child);
	end_splice();
}

static void a6(void)
{
	struct mm_test child = fork_of(&t);

	splice(&t);
	unmap(&t);
	fill(&child, 0, nr, NEW);
	end_splice();
	exit_of(&child);
}

static void pin_range(bool fast)
{
	struct pf_page **pages = (struct pf_page **)held;
	long ret = fast ?
		pf_pin_user_pages_fast(t.mm, BASE, nr,
				       PINFOLD_FOLL_LONGTERM, pages) :
		pf_pin_user_pages_unlocked(t.mm, BASE, nr, pages,
					   PINFOLD_FOLL_LONGTERM);

	assert_int_equal(ret, nr);
	assert_pinned(&t, held, nr);
}

static void pin_sees_stores(bool fast)
{
	pin_range(fast);
	assert_held_are(OLD);
	fill(&t, 0, nr, NEW);
	assert_held_are(NEW);
	for (unsigned long i = 0; i < nr; i++)
		assert_ptr_equal(page_mapped_at(&t, BASE + PAGES(i)), held[i]);
}

static void end_pin(void)
{
	unpin_user_pages(held, nr);
}

static void pin_shared(bool fast)
{
	struct mm_test child = fork_of(&t);

	pin_sees_stores(fast);
	assert_sees(&child, OLD);
	end_pin();
	exit_of(&child);
}

static void a9(void)
{
	pin_shared(false);
}

static void a10(void)
{
	pin_shared(true);
}

static void pin_once_shared(bool fast)
{
	struct mm_test child = fork_of(&t);

	exit_of(&child);
	pin_sees_stores(fast);
	end_pin();
}

static void a11(void)
{
	pin_once_shared(false);
}

static void a12(void)
{
	pin_once_shared(true);
}

/* As if soft-dirty bits had been cleared, while nothing is writable. */
static void clear_soft_dirty(void)
{
	struct mm_struct *mm = mm_of(t.mm);
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	for (vma = vma_first(mm); vma; vma = vma_next(vma))
		vma->vm_flags &= ~VM_SOFTDIRTY;
	for (unsigned long i = 0; i < nr; i++) {
		pf_addr_t at = BASE + PAGES(i);
		pmd_t *pmd = mm_find_pmd(mm, at);

		if (pmd_leaf(pmdp_get(pmd)))
			set_pmd_at(mm, at, pmd,
				   pmd_clear_soft_dirty(pmdp_get(pmd)));
		else
			set_pte_at(mm, at, pte_at(&t, at),
				   pte_clear_soft_dirty(entry_at(&t, at)));
	}
	mmap_write_unlock(mm);
}

static void pin_protected(bool fast)
{
	static struct page *before[MOST];

	protect(PINFOLD_PROT_READ);
	clear_soft_dirty();
	protect(RW);
	for (unsigned long i = 0; i < nr; i++) {
		assert_false(writable_at(&t, BASE + PAGES(i)));
		before[i] = page_mapped_at(&t, BASE + PAGES(i));
	}
	pin_sees_stores(fast);
	/* what was exclusive was not replaced */
	for (unsigned long i = 0; i < nr; i++)
		if (PageAnonExclusive(before[i]))
			assert_ptr_equal(held[i], before[i]);
	assert_true(nr == 1 || held[nr - 1] == before[nr - 1]);
	end_pin();
}

static void a13(void)
{
	pin_protected(false);
}

static void a14(void)
{
	pin_protected(true);
}

/* ---- all with all ------------------------------------------------------ */

#define EACH_SIZE(make_size)						\
	make_size("16K", 2), make_size("32K", 3), make_size("64K", 4),	\
	make_size("128K", 5), make_size("256K", 6), make_size("512K", 7), \
	make_size("1M", 8), make_size("2M", HPAGE_PMD_ORDER)

#define K5(size, order)  { "K5(" size ")", make_by_ptes, order, false }
#define K7(size, order)  { "K7(" size ")", make_one_page_of, order, false }
#define K9(size, order)  { "K9(" size ")", make_half, order, false }
#define K10(size, order) { "K10(" size ")", make_partly_shared, order, false }

static const struct backing backings[] = {
	{ "K1", make_whole, 0, false },
	{ "K3", make_whole, HPAGE_PMD_ORDER, false },
	EACH_SIZE(K5), EACH_SIZE(K7), EACH_SIZE(K9), EACH_SIZE(K10),
	{ "K11(2M)", make_hugetlb, HPAGE_PMD_ORDER, true },
};

static const struct action actions[] = {
	{ "A1", a1 }, { "A2", a2 }, { "A3", a3 }, { "A4", a4 }, { "A5", a5 },
	{ "A6", a6 }, { "A9", a9 }, { "A10", a10 }, { "A11", a11 },
	{ "A12", a12 }, { "A13", a13 }, { "A14", a14 },
};

static void combined(void **state)
{
	const struct combination *c = *state;

	assert_int_equal(pf_mm_create(t.machine, &t.mm), 0);
	hugetlb = c->backing->hugetlb;
	c->backing->make(c->backing);
	c->action->run();
	pf_mm_destroy(t.mm);
	/* Recounting waits for a grace period, so once has to be enough. */
	assert_int_equal(frames_in_use(machine_of(t.machine)), 0);
	assert_valid(&t);
}

/* One machine for all: a test that leaves something over fails the others. */
static int make_machine(void **state)
{
	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .hugetlb_2m_pages = 2,
	});
	pf_mm_destroy(t.mm);
	return 0;
}

static int end_machine(void **state)
{
	(void)state;
	machine_leave(t.previous);
	return pf_machine_destroy(t.machine);
}

#define NR_TESTS	(ARRAY_SIZE(actions) * ARRAY_SIZE(backings))

int main(void)
{
	static struct combination combinations[NR_TESTS];
	static struct CMUnitTest tests[NR_TESTS];
	static char names[NR_TESTS][32];
	size_t n = 0;

	for (size_t a = 0; a < ARRAY_SIZE(actions); a++) {
		for (size_t b = 0; b < ARRAY_SIZE(backings); b++, n++) {
			combinations[n] = (struct combination){
				&backings[b], &actions[a],
			};
			snprintf(names[n], sizeof(names[n]), "gup_%s_%s",
				 actions[a].name, backings[b].name);
			tests[n] = (struct CMUnitTest){
				.name = names[n], .test_func = combined,
				.initial_state = &combinations[n],
			};
		}
	}
	return cmocka_run_group_tests(tests, make_machine, end_machine);
}
