/* SPDX-License-Identifier: MIT */
/*
 * Claim: whichever allocation of a call fails, the call answers with its
 * documented errno or a short result, what was there before is there still,
 * nothing is left over, and the same call succeeds when memory is back.
 *
 * Each operation is repeated from a new machine with its first, second, third
 * ... allocation failing, until all succeed.
 *
 * Source: include/pinfold/pinfold.h (what each call says about -ENOMEM)
 */
#include "tests/mm_test.h"

#include <errno.h>
#include <inttypes.h>

/*
 * The scene, in pages from BASE:
 *
 *   0          512         576     1024        2048
 *   huge page  small pages  hole    untouched
 *
 * and a place far away, without page tables.  Operations on hugetlb pages find
 * three of them mapped elsewhere, the first in use, and two more in the pool.
 */
#define P(n)		(BASE + PAGES(n))
#define SMALL		512
#define NR_SMALL	64
#define EMPTY		1024
#define NR_SCENE	2048
#define FAR		(BASE + ((u64)1 << 39))
#define NR_FAR		1100
#define H(n)		(BASE + ((u64)1 << 40) + (n) * PMD_SIZE)
#define NR_HUGE		3
#define NR_WORDS	(NR_SCENE + NR_FAR + NR_HUGE)

struct snapshot {
	char areas[512];
	u64 words[NR_WORDS];
};

static struct mm_test t;
static struct page *pages[NR_SCENE];

static void describe(struct snapshot *s)
{
	struct vm_area_struct *vma;
	char *at = s->areas;

	mmap_read_lock(mm_of(t.mm));
	for (vma = vma_first(mm_of(t.mm)); vma; vma = vma_next(vma))
		at += sprintf(at, "%" PRIx64 "-%" PRIx64 ":%lx ",
			      vma->vm_start >> PAGE_SHIFT,
			      vma->vm_end >> PAGE_SHIFT, vma->vm_flags);
	mmap_read_unlock(mm_of(t.mm));
}

static u64 word_at(pf_addr_t at)
{
	struct page *page = page_mapped_at(&t, at);

	return page ? *(u64 *)page_address(page) : 0;
}

static void take_snapshot(struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
	describe(s);
	for (u64 i = 0; i < NR_SCENE; i++)
		s->words[i] = word_at(P(i));
	for (u64 i = 0; i < NR_FAR; i++)
		s->words[NR_SCENE + i] = word_at(FAR + PAGES(i));
	for (u64 i = 0; i < NR_HUGE; i++)
		s->words[NR_SCENE + NR_FAR + i] = word_at(H(i));
}

static pf_addr_t place;

static void make_scene(bool hugetlb)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8),
		.thp_madvise = BIT(4) | BIT(HPAGE_PMD_ORDER),
		.hugetlb_2m_pages = hugetlb ? NR_HUGE + 2 : 0,
	});
	if (hugetlb) {
		assert_int_equal(pf_mmap(t.mm, H(0), NR_HUGE * PMD_SIZE, RW,
					 PINFOLD_MAP_HUGETLB |
					 PINFOLD_MAP_FIXED, &place), 0);
		write_word(&t, H(0), 1);
	}
	map_at(&t, P(0), SMALL + NR_SMALL, RW);
	assert_int_equal(pf_madvise(t.mm, P(0), PMD_SIZE,
				    PINFOLD_MADV_HUGEPAGE), 0);
	map_at(&t, P(EMPTY), NR_SCENE - EMPTY, RW);
	for (u64 i = 0; i < SMALL + NR_SMALL; i++)
		write_word(&t, P(i), i + 1);
	assert_false(pmd_none(leaf_at(&t, P(0))));
}

/* ---- operations: what they return, 0 or a count if all went well ------ */

static long map_populate(void)
{
	return pf_mmap(t.mm, FAR, PAGES(20), RW, PINFOLD_MAP_FIXED |
		       PINFOLD_MAP_POPULATE, &place);
}

static long map_over_huge(void)
{
	return pf_mmap(t.mm, P(7), PAGES(2), RW, PINFOLD_MAP_FIXED, &place);
}

static long map_over_border(void)
{
	return pf_mmap(t.mm, P(SMALL - 5), PAGES(10), PINFOLD_PROT_READ,
		       PINFOLD_MAP_FIXED, &place);
}

static long unmap_in_huge(void)
{
	return pf_munmap(t.mm, P(7), PAGES(2));
}

static long unmap_over_border(void)
{
	return pf_munmap(t.mm, P(SMALL - 5), PAGES(10));
}

static long protect_in_huge(void)
{
	return pf_mprotect(t.mm, P(7), PAGES(2), PINFOLD_PROT_READ);
}

static long protect_over_border(void)
{
	return pf_mprotect(t.mm, P(SMALL - 5), PAGES(10), PINFOLD_PROT_READ);
}

static long advise_in_small(void)
{
	return pf_madvise(t.mm, P(SMALL + 5), PAGES(10), PINFOLD_MADV_HUGEPAGE);
}

static long advise_in_huge(void)
{
	return pf_madvise(t.mm, P(7), PAGES(2), PINFOLD_MADV_NOHUGEPAGE);
}

#define TO (PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED)
#define KEEP (TO | PINFOLD_MREMAP_DONTUNMAP)

static long move_huge(void)
{
	return pf_mremap(t.mm, P(0), PMD_SIZE, PMD_SIZE, TO, FAR, &place);
}

static long move_huge_unaligned(void)
{
	return pf_mremap(t.mm, P(0), PMD_SIZE, PMD_SIZE, TO, FAR + PAGES(300),
			 &place);
}

static long move_part_of_huge(void)
{
	return pf_mremap(t.mm, P(7), PAGES(2), PAGES(2), TO, FAR, &place);
}

/* The end is in a table that the first pages do not need. */
static long move_small_over_tables(void)
{
	return pf_mremap(t.mm, P(SMALL), PAGES(NR_SMALL), PAGES(NR_SMALL), TO,
			 FAR + PAGES(512 - 10), &place);
}

static long move_small_grow(void)
{
	return pf_mremap(t.mm, P(SMALL + 5), PAGES(10), PAGES(600),
			 PINFOLD_MREMAP_MAYMOVE, 0, &place);
}

static long move_and_keep(void)
{
	return pf_mremap(t.mm, P(SMALL + 5), PAGES(10), PAGES(10), KEEP, FAR,
			 &place);
}

static long move_over_itself(void)
{
	return pf_mremap(t.mm, P(SMALL + 5), PAGES(10), PAGES(10), TO,
			 P(SMALL + 30), &place);
}

static long move_and_shrink(void)
{
	return pf_mremap(t.mm, P(SMALL), PAGES(NR_SMALL), PAGES(10), TO, FAR,
			 &place);
}

static long shrink(void)
{
	return pf_mremap(t.mm, P(SMALL), PAGES(NR_SMALL), PAGES(1), 0, 0,
			 &place);
}

static long shrink_in_area(void)
{
	return pf_mremap(t.mm, P(SMALL), PAGES(10), PAGES(5), 0, 0, &place);
}

static long populate_read(void)
{
	return pf_madvise(t.mm, P(EMPTY), PAGES(600),
			  PINFOLD_MADV_POPULATE_READ);
}

static long populate_write(void)
{
	return pf_madvise(t.mm, P(EMPTY), PAGES(40),
			  PINFOLD_MADV_POPULATE_WRITE);
}

static long discard_in_huge(void)
{
	return pf_madvise(t.mm, P(7), PAGES(2), PINFOLD_MADV_DONTNEED);
}

static u64 buffer[4 * PAGE_SIZE / sizeof(u64)];

static long write_untouched(void)
{
	for (unsigned int i = 0; i < 4; i++)
		buffer[i * PAGE_SIZE / sizeof(u64)] = 77 + i;
	return pf_write(t.mm, P(EMPTY + 510), buffer, sizeof(buffer));
}

static long read_untouched(void)
{
	return pf_read(t.mm, P(EMPTY + 510), buffer, sizeof(buffer));
}

static long pin_untouched(void)
{
	return pf_pin_user_pages_unlocked(t.mm, P(EMPTY + 505), 20,
					  (struct pf_page **)pages,
					  PINFOLD_FOLL_WRITE);
}

/* Zero pages first, then pages of its own for each. */
static long pin_longterm(void)
{
	return pf_pin_user_pages_unlocked(t.mm, P(EMPTY + 505), 20,
					  (struct pf_page **)pages,
					  PINFOLD_FOLL_LONGTERM);
}

static long pin_split_huge(void)
{
	return pf_pin_user_pages_unlocked(t.mm, P(500), 20,
					  (struct pf_page **)pages,
					  PINFOLD_FOLL_WRITE |
					  PINFOLD_FOLL_SPLIT_PMD);
}

static long get_huge(void)
{
	return pf_get_user_pages_unlocked(t.mm, P(0), SMALL + NR_SMALL,
					  (struct pf_page **)pages, 0);
}

static long pin_fast(void)
{
	return pf_pin_user_pages_fast(t.mm, P(EMPTY + 505), 20,
				      PINFOLD_FOLL_WRITE,
				      (struct pf_page **)pages);
}

static long pin_fast_longterm(void)
{
	return pf_pin_user_pages_fast(t.mm, P(EMPTY + 505), 20,
				      PINFOLD_FOLL_WRITE |
				      PINFOLD_FOLL_LONGTERM,
				      (struct pf_page **)pages);
}

/* ---- what happens to an address space unasked -------------------------- */

/* Nobody serves these faults. */
static void no_handler(void *arg __maybe_unused,
		       pf_addr_t address __maybe_unused)
{
}

static long collapse_one_page(void)
{
	u64 word = 0;

	if (pf_write(t.mm, P(EMPTY), &word, sizeof(word)) < 0)
		return -ENOMEM;
	return pf_madvise(t.mm, P(EMPTY), PMD_SIZE, PINFOLD_MADV_COLLAPSE);
}

static long split_folios(void)
{
	return pf_split(t.mm, P(0), PAGES(SMALL + NR_SMALL), 0);
}

static long clear_soft_dirty(void)
{
	return pf_clear_soft_dirty(t.mm);
}

static long mark_part_of_huge(void)
{
	return pf_numa_hint(t.mm, P(7), PAGES(2));
}

static long serve_in_huge(void)
{
	return pf_userfault_register(t.mm, P(7), PAGES(2), no_handler, NULL);
}

static long protect_for_store(void)
{
	u64 word = 8;
	long err = pf_userfault_register(t.mm, P(0), PMD_SIZE, NULL, NULL);

	if (!err)
		err = pf_userfault_writeprotect(t.mm, P(0), PMD_SIZE, true);
	if (err)
		return err;
	return pf_write(t.mm, P(7), &word, sizeof(word)) < 0 ? -ENOMEM : 0;
}

/* ---- on hugetlb pages ------------------------------------------------- */

static long hugetlb_map_populate(void)
{
	return pf_mmap(t.mm, FAR, 2 * PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
		       PINFOLD_MAP_POPULATE, &place);
}

static long hugetlb_map_over_itself(void)
{
	return pf_mmap(t.mm, H(1), PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
		       PINFOLD_MAP_FIXED, &place);
}

static long hugetlb_unmap_middle(void)
{
	return pf_munmap(t.mm, H(1), PMD_SIZE);
}

static long hugetlb_protect_middle(void)
{
	return pf_mprotect(t.mm, H(1), PMD_SIZE, PINFOLD_PROT_READ);
}

static long hugetlb_discard(void)
{
	return pf_madvise(t.mm, H(0), 2 * PMD_SIZE, PINFOLD_MADV_DONTNEED);
}

static long hugetlb_move(void)
{
	return pf_mremap(t.mm, H(0), NR_HUGE * PMD_SIZE, NR_HUGE * PMD_SIZE, TO,
			 FAR, &place);
}

static long hugetlb_move_part(void)
{
	return pf_mremap(t.mm, H(0), 2 * PMD_SIZE, 2 * PMD_SIZE, TO, FAR,
			 &place);
}

/* Over a table's end, so that it takes two. */
static long hugetlb_move_over_tables(void)
{
	return pf_mremap(t.mm, H(0), NR_HUGE * PMD_SIZE, NR_HUGE * PMD_SIZE, TO,
			 FAR + PUD_SIZE - PMD_SIZE, &place);
}

static long hugetlb_write(void)
{
	return pf_write(t.mm, H(1), buffer, sizeof(u64));
}

static long hugetlb_pin_longterm(void)
{
	return pf_pin_user_pages_unlocked(t.mm, H(0), NR_SCENE / 2,
					  (struct pf_page **)pages,
					  PINFOLD_FOLL_WRITE |
					  PINFOLD_FOLL_LONGTERM);
}

static long hugetlb_pin_fast(void)
{
	return pf_pin_user_pages_fast(t.mm, H(1), 600, 0,
				      (struct pf_page **)pages);
}

/* ---- what may be seen after a failure --------------------------------- */

/* All as it was. */
static void same(const struct snapshot *before, const struct snapshot *now,
		 long ret)
{
	assert_true(ret < 0);
	assert_string_equal(now->areas, before->areas);
	assert_memory_equal(now->words, before->words, sizeof(now->words));
}

/* An area at the start of the range may be changed; no page is. */
static void same_words(const struct snapshot *before,
		       const struct snapshot *now, long ret)
{
	assert_true(ret < 0);
	assert_memory_equal(now->words, before->words, sizeof(now->words));
}

/* Best effort: only what was faulted in differs, and that is zero. */
static void areas_made(const struct snapshot *before,
		       const struct snapshot *now, long ret)
{
	if (ret < 0)
		assert_string_equal(now->areas, before->areas);
	assert_memory_equal(now->words, before->words, sizeof(now->words));
}

static void faulted(const struct snapshot *before, const struct snapshot *now,
		    long ret)
{
	(void)ret;
	assert_string_equal(now->areas, before->areas);
	assert_memory_equal(now->words, before->words, sizeof(now->words));
}

/* As much is written as was said. */
static void written(const struct snapshot *before, const struct snapshot *now,
		    long ret)
{
	assert_string_equal(now->areas, before->areas);
	for (u64 i = 0; i < 4; i++)
		assert_int_equal(now->words[EMPTY + 510 + i],
				 ret > (long)PAGES(i) ? 77 + i : 0);
}

struct operation {
	const char *name;
	long (*run)(void);
	void (*check)(const struct snapshot *before,
		      const struct snapshot *now, long ret);
	int failure;		/* errno when there is no result at all */
	long success;
	enum { PLAIN, PINS, GETS } result;
	unsigned int least;	/* allocations that it is known to make */
	bool hugetlb;		/* in the scene that has such pages */
};

#define OP(f, ...) { .name = #f, .run = f, __VA_ARGS__ }

static const struct operation operations[] = {
	OP(map_populate, .check = areas_made, .failure = -ENOMEM, .least = 5),
	OP(map_over_huge, .check = same, .failure = -ENOMEM, .least = 3),
	OP(map_over_border, .check = same, .failure = -ENOMEM, .least = 3),
	OP(unmap_in_huge, .check = same, .failure = -ENOMEM, .least = 2),
	OP(unmap_over_border, .check = same, .failure = -ENOMEM, .least = 2),
	OP(protect_in_huge, .check = same, .failure = -ENOMEM, .least = 2),
	OP(protect_over_border, .check = same_words, .failure = -ENOMEM,
	   .least = 2),
	OP(advise_in_small, .check = same, .failure = -EAGAIN, .least = 2),
	OP(advise_in_huge, .check = same, .failure = -EAGAIN, .least = 2),
	OP(move_huge, .check = same, .failure = -ENOMEM, .least = 3),
	OP(move_huge_unaligned, .check = same, .failure = -ENOMEM, .least = 5),
	OP(move_part_of_huge, .check = same, .failure = -ENOMEM, .least = 6),
	OP(move_small_over_tables, .check = same, .failure = -ENOMEM,
	   .least = 5),
	OP(move_small_grow, .check = same, .failure = -ENOMEM, .least = 6),
	OP(move_and_keep, .check = same, .failure = -ENOMEM, .least = 4),
	/* makes its target free first, as documented */
	OP(move_over_itself, .check = NULL, .failure = -ENOMEM, .least = 4),
	OP(move_and_shrink, .check = NULL, .failure = -ENOMEM, .least = 5),
	OP(shrink, .check = same, .failure = -ENOMEM),
	OP(shrink_in_area, .check = same, .failure = -ENOMEM, .least = 2),
	OP(populate_read, .check = faulted, .failure = -ENOMEM, .least = 2),
	OP(populate_write, .check = faulted, .failure = -ENOMEM, .least = 40),
	OP(discard_in_huge, .check = same, .failure = -ENOMEM),
	OP(write_untouched, .check = written, .failure = -ENOMEM,
	   .success = sizeof(buffer), .least = 6),
	OP(read_untouched, .check = faulted, .failure = -ENOMEM,
	   .success = sizeof(buffer), .least = 2),
	OP(pin_untouched, .check = faulted, .failure = -ENOMEM, .success = 20,
	   .result = PINS, .least = 20),
	OP(pin_longterm, .check = faulted, .failure = -ENOMEM, .success = 20,
	   .result = PINS, .least = 20),
	OP(pin_split_huge, .check = faulted, .failure = -ENOMEM,
	   .success = 20, .result = PINS),
	OP(get_huge, .check = faulted, .failure = -ENOMEM,
	   .success = SMALL + NR_SMALL, .result = GETS),
	OP(pin_fast, .check = faulted, .failure = -ENOMEM, .success = 20,
	   .result = PINS, .least = 20),
	OP(pin_fast_longterm, .check = faulted, .failure = -ENOMEM,
	   .success = 20, .result = PINS, .least = 20),
	/* a page, which was not there and is zero, may stay */
	OP(collapse_one_page, .check = faulted, .failure = -ENOMEM, .least = 3),
	OP(split_folios, .check = same, .failure = -ENOMEM, .success = 1),
	OP(clear_soft_dirty, .check = same, .failure = -ENOMEM),
	OP(mark_part_of_huge, .check = same, .failure = -ENOMEM, .success = 2),
	OP(serve_in_huge, .check = same, .failure = -ENOMEM, .least = 3),
	OP(protect_for_store, .check = same_words, .failure = -ENOMEM),
	OP(hugetlb_map_populate, .check = areas_made, .failure = -ENOMEM,
	   .least = 5, .hugetlb = true),
	OP(hugetlb_map_over_itself, .check = NULL, .failure = -ENOMEM,
	   .least = 4, .hugetlb = true),
	OP(hugetlb_unmap_middle, .check = same, .failure = -ENOMEM, .least = 2,
	   .hugetlb = true),
	OP(hugetlb_protect_middle, .check = same, .failure = -ENOMEM,
	   .least = 2, .hugetlb = true),
	OP(hugetlb_discard, .check = same, .failure = -ENOMEM,
	   .hugetlb = true),
	OP(hugetlb_move, .check = same, .failure = -ENOMEM, .least = 3,
	   .hugetlb = true),
	OP(hugetlb_move_part, .check = same, .failure = -ENOMEM, .least = 4,
	   .hugetlb = true),
	OP(hugetlb_move_over_tables, .check = same, .failure = -ENOMEM,
	   .least = 4, .hugetlb = true),
	/* A pool that has nothing is a bus error. */
	OP(hugetlb_write, .check = faulted, .failure = -EFAULT,
	   .success = sizeof(u64), .least = 1, .hugetlb = true),
	OP(hugetlb_pin_longterm, .check = faulted, .failure = -EFAULT,
	   .success = NR_SCENE / 2, .result = PINS, .least = 1,
	   .hugetlb = true),
	OP(hugetlb_pin_fast, .check = faulted, .failure = -EFAULT,
	   .success = 600, .result = PINS, .least = 2, .hugetlb = true),
};

static void check_result(const struct operation *op, long ret, bool failed)
{
	struct mm_holds holds = { 0 };

	if (ret < 0)
		assert_int_equal(ret, op->failure);
	else if (!failed)
		assert_int_equal(ret, op->success);
	else
		assert_true(ret <= op->success);
	if (ret > 0 && op->result == PINS)
		holds = (struct mm_holds){ .pins = pages, .nr_pins = ret };
	if (ret > 0 && op->result == GETS)
		holds = (struct mm_holds){ .gets = pages, .nr_gets = ret };
	assert_int_equal(mm_validate(machine_of(t.machine), &holds), 0);
	unpin_user_pages(holds.pins, holds.nr_pins);
	for (unsigned long i = 0; i < holds.nr_gets; i++)
		put_page(holds.gets[i]);
}

/* Return: whether there was an @nth allocation to fail. */
static bool run_once(const struct operation *op, long nth)
{
	static struct snapshot before, now;
	bool failed;
	long ret;

	make_scene(op->hugetlb);
	take_snapshot(&before);
	place = 0xdead;
	error_note.err = 0;
	current->fail_nth = nth;
	ret = op->run();
	failed = !current->fail_nth;
	current->fail_nth = 0;
	if (ret < 0) {
		assert_true(failed);
		assert_int_equal(place, 0xdead);
		assert_int_equal(error_note.err, ret);
	}
	check_result(op, ret, failed);
	take_snapshot(&now);
	if (failed && op->check && (ret < 0 || ret < op->success ||
				    op->check == areas_made))
		op->check(&before, &now, ret);
	if (ret < 0) {
		/* There is all that it takes: now it succeeds. */
		ret = op->run();
		assert_int_equal(ret, op->success);
		check_result(op, ret, false);
	}
	mm_test_end(&t);
	return failed;
}

static void test_operations(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		const struct operation *op = &operations[i];
		long nth = 1;

		while (run_once(op, nth))
			nth++;
		if (nth - 1 < op->least)
			print_error("%s: %ld allocations\n", op->name, nth - 1);
		assert_true(nth > op->least);
	}
}

/* A copy that cannot be made: the page stays, shared as it was. */
static void test_copy(void **state)
{
	struct page *page;
	u64 word = 5;
	pte_t entry;

	(void)state;
	make_scene(false);
	page = page_mapped_at(&t, P(SMALL));
	folio_get(page_folio(page));
	ClearPageAnonExclusive(page);
	entry = pte_wrprotect(entry_at(&t, P(SMALL)));
	set_pte_at(mm_of(t.mm), P(SMALL), pte_at(&t, P(SMALL)), entry);
	current->fail_nth = 1;
	assert_int_equal(pf_write(t.mm, P(SMALL), &word, sizeof(word)),
			 -ENOMEM);
	assert_int_equal(current->fail_nth, 0);
	assert_int_equal(pte_val(entry_at(&t, P(SMALL))), pte_val(entry));
	assert_int_equal(word_at(P(SMALL)), SMALL + 1);
	write_word(&t, P(SMALL), 5);
	assert_int_equal(*(u64 *)page_address(page), SMALL + 1);
	folio_put(page_folio(page));
	mm_test_end(&t);
}

/* A huge page that cannot be had is small ones, without a word. */
static void test_huge_falls_back(void **state)
{
	unsigned long orders = 0;

	(void)state;
	for (long nth = 1; nth < 8; nth++) {
		u64 word = 1;
		int64_t ret;

		make_scene(false);
		assert_int_equal(pf_madvise(t.mm, P(EMPTY), PMD_SIZE,
					    PINFOLD_MADV_HUGEPAGE), 0);
		current->fail_nth = nth;
		ret = pf_write(t.mm, P(EMPTY), &word, sizeof(word));
		current->fail_nth = 0;
		if (ret == -ENOMEM)
			orders |= BIT(1);
		else
			orders |= BIT(folio_order(page_folio(
					page_mapped_at(&t, P(EMPTY)))));
		assert_valid(&t);
		mm_test_end(&t);
	}
	/* without tables: -ENOMEM; without the huge page: the next smaller */
	assert_int_equal(orders, BIT(1) | BIT(4) | BIT(HPAGE_PMD_ORDER));
}

static void test_mm_create(void **state)
{
	struct pf_mm *mm = NULL;
	long nth = 1;
	int err;

	(void)state;
	make_scene(false);
	do {
		current->fail_nth = nth++;
		err = pf_mm_create(t.machine, &mm);
		assert_true(!err == (current->fail_nth != 0));
		current->fail_nth = 0;
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(error_note.err, -ENOMEM);
			assert_null(mm);
		}
		assert_valid(&t);
	} while (err);
	assert_true(nth > 3);
	pf_mm_destroy(mm);
	mm_test_end(&t);
}

static void test_machine_create(void **state)
{
	const struct pf_machine_options options = {
		.size = sizeof(options), .memory_bytes = MIB(12),
		.movable_bytes = MIB(4), .cma_bytes = MIB(4),
		.hugetlb_2m_pages = 2,
	};
	struct pf_machine *machine = NULL;
	long nth = 1;
	int err;

	(void)state;
	do {
		current->fail_nth = nth++;
		err = pf_machine_create(&options, &machine);
		current->fail_nth = 0;
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(error_note.err, -ENOMEM);
			assert_null(machine);
		}
	} while (err);
	assert_true(nth > 3);
	assert_int_equal(mm_validate(machine_of(machine), NULL), 0);
	assert_int_equal(pf_machine_destroy(machine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_huge_falls_back),
		cmocka_unit_test(test_mm_create),
		cmocka_unit_test(test_machine_create),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
