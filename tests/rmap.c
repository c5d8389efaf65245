/* SPDX-License-Identifier: MIT */
/*
 * Claim: from a folio the walk finds every entry that maps it, in every address
 * space, once each: across fork, exit, cuts and moves of areas, and while other
 * threads move entries and borders.  A folio that nothing maps has none, also if
 * its address space is gone and a pin keeps it.
 *
 * Oracle: the tables of all address spaces, walked whole.  mm_validate() does
 * the same with every folio of every test.
 *
 * Source: mm/rmap.h
 */
#include "tests/fork_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "host/clock.h"
#include "mm/rmap.h"

#define NR_PAGES	600
#define MOST		4096
#define TO		(PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED)

static struct mm_test t;

struct entry {
	struct mm_struct *mm;
	pf_addr_t address;
	struct page *page;	/* the first that it maps */
};

struct entries {
	unsigned int nr, most;
	struct entry at[MOST];
};

static struct entries walked, expected;

static bool note_entries(struct folio *folio, struct vm_area_struct *vma,
			 pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	struct entries *e = arg;

	assert_true(address >= vma->vm_start && address < vma->vm_end);
	while (page_vma_mapped_walk(&pvmw)) {
		assert_true(e->nr < MOST);
		e->at[e->nr++] = (struct entry){
			vma->vm_mm, pvmw.address,
			pvmw.pte ? pte_page(ptep_get(pvmw.pte)) :
				   pmd_page(pmdp_get(pvmw.pmd)),
		};
		if (e->nr == e->most) {
			page_vma_mapped_walk_done(&pvmw);
			return false;
		}
	}
	return true;
}

static void walk_folio(struct folio *folio, unsigned int most)
{
	struct rmap_walk_control rwc = {
		.arg = &walked, .rmap_one = note_entries,
	};

	walked.nr = 0;
	walked.most = most;
	rmap_walk(folio, &rwc);
}

static void expect_in_area(struct vm_area_struct *vma, struct folio *folio)
{
	struct mm_test mm = { .mm = (struct pf_mm *)vma->vm_mm };
	pf_addr_t at, step;

	for (at = vma->vm_start; at < vma->vm_end; at += step) {
		const bool leaf = !pmd_none(leaf_at(&mm, at));
		struct page *page = page_mapped_at(&mm, at);

		step = leaf ? PMD_SIZE : PAGE_SIZE;
		if (page && page_folio(page) == folio)
			expected.at[expected.nr++] = (struct entry){
				vma->vm_mm, at, page,
			};
	}
}

/* Each address space, whole. */
static void expect_entries(struct folio *folio)
{
	struct vm_area_struct *vma;
	struct mm_struct *mm;

	expected.nr = 0;
	list_for_each_entry(mm, &machine_of(t.machine)->mm_list, machine_list) {
		mmap_read_lock(mm);
		for (vma = vma_first(mm); vma; vma = vma_next(vma))
			expect_in_area(vma, folio);
		mmap_read_unlock(mm);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->mm != y->mm)
		return x->mm < y->mm ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void sort(struct entries *e)
{
	qsort(e->at, e->nr, sizeof(e->at[0]), by_place);
}

static void check_folio(struct folio *folio)
{
	walk_folio(folio, MOST);
	expect_entries(folio);
	assert_int_equal(walked.nr, expected.nr);
	assert_int_equal(walked.nr, folio_mapcount(folio));
	sort(&walked);
	sort(&expected);
	for (unsigned int i = 0; i < walked.nr; i++) {
		assert_ptr_equal(walked.at[i].mm, expected.at[i].mm);
		assert_int_equal(walked.at[i].address, expected.at[i].address);
		assert_ptr_equal(walked.at[i].page, expected.at[i].page);
	}
}

static void begin(unsigned long orders)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(32), .thp_always = orders,
		.hugetlb_2m_pages = 2,
	});
}

static void make_pages(u64 nr)
{
	map_at(&t, BASE, nr, RW);
	for (u64 i = 0; i < nr; i++)
		write_word(&t, BASE + PAGES(i), i);
}

static void one_page_in_a_family(void **state)
{
	struct mm_test child, grandchild, stranger = { 0 };
	struct folio *folio;
	pf_addr_t place;

	(void)state;
	begin(0);
	make_pages(3);
	/* an address space of another family has the same addresses */
	stranger.machine = t.machine;
	assert_int_equal(pf_mm_create(t.machine, &stranger.mm), 0);
	map_at(&stranger, BASE, 3, RW);
	write_word(&stranger, BASE + PAGES(1), 7);

	folio = page_folio(page_mapped_at(&t, BASE + PAGES(1)));
	check_folio(folio);
	assert_int_equal(walked.nr, 1);
	child = fork_of(&t);
	grandchild = fork_of(&child);
	check_folio(folio);
	assert_int_equal(walked.nr, 3);
	walk_folio(folio, 2);
	assert_int_equal(walked.nr, 2);
	assert_int_equal(pf_mremap(child.mm, BASE, PAGES(3), PAGES(3), TO,
				   BASE + MIB(64) + PAGES(5), &place), 0);
	check_folio(folio);
	assert_int_equal(pf_mremap(grandchild.mm, BASE + PAGES(1), PAGES(1),
				   PAGES(1), TO, BASE + MIB(96), &place), 0);
	check_folio(folio);
	write_word(&t, BASE + PAGES(1), 1);
	check_folio(folio);
	assert_int_equal(walked.nr, 2);
	exit_of(&child);
	check_folio(folio);
	assert_int_equal(walked.nr, 1);
	exit_of(&grandchild);
	exit_of(&stranger);
	mm_test_end(&t);
}

static void leaves(void **state)
{
	struct mm_test child;
	struct folio *folio;
	pf_addr_t place;

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER));
	make_pages(512);
	folio = page_folio(page_mapped_at(&t, BASE));
	check_folio(folio);
	assert_int_equal(walked.nr, 1);
	child = fork_of(&t);
	check_folio(folio);
	write_word(&child, BASE + PAGES(9), 1);
	check_folio(folio);
	assert_int_equal(walked.nr, 1 + 511);
	/* two areas with pages of it, on both sides of a table's end */
	assert_int_equal(pf_mremap(child.mm, BASE + PAGES(100), PAGES(200),
				   PAGES(200), TO, BASE + MIB(64) + PAGES(400),
				   &place), 0);
	check_folio(folio);
	assert_int_equal(walked.nr, 1 + 511);
	exit_of(&child);

	assert_int_equal(pf_mmap(t.mm, BASE, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB |
				 PINFOLD_MAP_FIXED, &place), 0);
	write_word(&t, BASE, 1);
	folio = page_folio(page_mapped_at(&t, BASE));
	child = fork_of(&t);
	check_folio(folio);
	assert_int_equal(walked.nr, 2);
	assert_int_equal(pf_mremap(t.mm, BASE, PMD_SIZE, PMD_SIZE, TO,
				   BASE + MIB(64), &place), 0);
	check_folio(folio);
	assert_int_equal(walked.nr, 2);
	exit_of(&child);
	mm_test_end(&t);
}

static void nothing_maps_it(void **state)
{
	struct page *pin;
	struct folio *folio;

	(void)state;
	begin(0);
	make_pages(1);
	pin = page_pinned_at(&t, BASE, PINFOLD_FOLL_WRITE);
	folio = page_folio(pin);
	advise(&t, BASE, PAGES(1), PINFOLD_MADV_DONTNEED);
	walk_folio(folio, MOST);
	assert_int_equal(walked.nr, 0);
	assert_null(folio_get_anon_vma(folio));
	/* nor is there an address space any more */
	pf_mm_destroy(t.mm);
	rcu_barrier();
	walk_folio(folio, MOST);
	assert_int_equal(walked.nr, 0);
	unpin_user_page(pin);
	assert_int_equal(pf_mm_create(t.machine, &t.mm), 0);
	mm_test_end(&t);
}

/* ---- histories --------------------------------------------------------- */

#define NR_MMS		4

static void change(struct random *r, struct mm_test *mm)
{
	static const int advices[] = {
		PINFOLD_MADV_DONTNEED, PINFOLD_MADV_HUGEPAGE,
		PINFOLD_MADV_NOHUGEPAGE, PINFOLD_MADV_WIPEONFORK,
		PINFOLD_MADV_KEEPONFORK, PINFOLD_MADV_POPULATE_WRITE,
	};
	u64 page = random_below(r, NR_PAGES), nr = 1 + random_below(r, 40);
	pf_addr_t at = BASE + PAGES(page), place;
	pf_addr_t to = BASE + PAGES(random_below(r, 2 * NR_PAGES));

	if (random_chance(r, 20))
		nr = 512;
	switch (random_below(r, 6)) {
	case 0:
		(void)!pf_mprotect(mm->mm, at, PAGES(nr), random_chance(r, 60) ?
				   RW : PINFOLD_PROT_READ);
		break;
	case 1:
		(void)!pf_mremap(mm->mm, at, PAGES(nr), PAGES(nr),
				 TO | (random_chance(r, 30) ?
				       PINFOLD_MREMAP_DONTUNMAP : 0), to,
				 &place);
		break;
	case 2:
		(void)!pf_madvise(mm->mm, at, PAGES(nr),
				  advices[random_below(r, ARRAY_SIZE(advices))]);
		break;
	case 3:
		if (random_chance(r, 30))
			pf_munmap(mm->mm, at, PAGES(min(nr, 20ul)));
		break;
	case 4:
		if (random_chance(r, 20))
			(void)!pf_mmap(mm->mm, at, PAGES(nr), RW,
				       PINFOLD_MAP_FIXED, &place);
		break;
	default:
		for (u64 i = 0; i < 8; i++)
			(void)!pf_write(mm->mm, at + PAGES(i), &nr, sizeof(nr));
		break;
	}
}

static void histories(void **state)
{
	struct mm_test mms[NR_MMS] = { 0 };
	struct random r;

	(void)state;
	random_init(&r);
	begin(BIT(2) | BIT(HPAGE_PMD_ORDER));
	make_pages(NR_PAGES);
	for (unsigned int step = 0; step < 3000; step++) {
		struct mm_test *mm = &mms[random_below(&r, NR_MMS)];

		if (!mm->mm)
			*mm = random_chance(&r, 70) ? fork_of(&t) : *mm;
		else if (random_chance(&r, 15))
			exit_of(mm);
		else
			change(&r, random_chance(&r, 25) ? &t : mm);
		/* MM_RMAP: each folio's walk, against all tables */
		if (step % 30 == 0)
			assert_valid(&t);
	}
	for (unsigned int i = 0; i < NR_MMS; i++)
		if (mms[i].mm)
			exit_of(&mms[i]);
	mm_test_end(&t);
}

/* ---- threads ----------------------------------------------------------- */

/*
 * One page that its address space moves, cuts around and protects, and that a
 * child comes to share and leaves again.  Seen from the folio, the address space
 * maps it all the time, once.
 */
struct mover {
	struct mm_test *t;
	u64 until;
	int err;
	struct backend_thread *thread;
};

static void move_about(void *arg)
{
	struct mover *m = arg;
	pf_addr_t from = BASE, to = BASE + MIB(64) + PAGES(200), place;

	for (unsigned int i = 1; !m->err && clock_ns() < m->until; i++) {
		if (i % 256 == 0)
			rcu_barrier();
		m->err = pf_mremap(m->t->mm, from, PAGES(4), PAGES(4), TO, to,
				   &place);
		m->err |= pf_mprotect(m->t->mm, to, PAGES(2),
				      PINFOLD_PROT_READ);
		m->err |= pf_mprotect(m->t->mm, to + PAGES(1), PAGES(2),
				      PINFOLD_PROT_READ);
		m->err |= pf_mprotect(m->t->mm, to, PAGES(4), RW);
		place = from;
		from = to;
		to = place;
	}
}

static void fork_about(void *arg)
{
	struct mover *m = arg;

	for (unsigned int i = 1; !m->err && clock_ns() < m->until; i++) {
		struct pf_mm *child;

		/* Tables of the dead wait for a grace period. */
		if (i % 64 == 0)
			rcu_barrier();
		m->err = pf_mm_fork(m->t->mm, &child);
		if (!m->err)
			pf_mm_destroy(child);
	}
}

struct sight {
	struct mm_struct *mm;
	unsigned int own, others;
};

static bool count(struct folio *folio, struct vm_area_struct *vma,
		  pf_addr_t address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address);
	struct sight *s = arg;

	while (page_vma_mapped_walk(&pvmw)) {
		if (vma->vm_mm == s->mm)
			s->own++;
		else
			s->others++;
	}
	return true;
}

static void while_entries_move(void **state)
{
	struct mover mover = { 0 }, forker = { 0 };
	unsigned long walks = 0, shared = 0;
	struct folio *folio;

	(void)state;
	begin(0);
	make_pages(4);
	folio = page_folio(page_mapped_at(&t, BASE + PAGES(1)));
	mover.t = forker.t = &t;
	mover.until = forker.until = clock_ns() + 700 * 1000000ull;
	assert_int_equal(backend_thread_create(&mover.thread, move_about,
					       &mover), 0);
	assert_int_equal(backend_thread_create(&forker.thread, fork_about,
					       &forker), 0);
	while (clock_ns() < mover.until) {
		struct sight sight = { .mm = mm_of(t.mm) };
		struct rmap_walk_control rwc = {
			.arg = &sight, .rmap_one = count,
		};

		rmap_walk(folio, &rwc);
		assert_int_equal(sight.own, 1);
		assert_true(sight.others <= 1);
		shared += sight.others;
		walks++;
	}
	backend_thread_join(mover.thread);
	backend_thread_join(forker.thread);
	assert_int_equal(mover.err, 0);
	assert_int_equal(forker.err, 0);
	assert_true(walks > 0);
	print_message("%lu walks, %lu of them met a child\n", walks, shared);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_page_in_a_family),
		cmocka_unit_test(leaves),
		cmocka_unit_test(nothing_maps_it),
		cmocka_unit_test(histories),
		cmocka_unit_test(while_entries_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
