/* SPDX-License-Identifier: MIT */
/*
 * Claim: whichever allocation of a fork fails, the fork answers -ENOMEM, there
 * is no child, the parent sees what it saw through the pages that it pinned,
 * nothing is left over, and the same fork succeeds when memory is back.  So it
 * is too when frames or a pool really run out.
 *
 * Source: include/pinfold/pinfold.h:pf_mm_fork()
 */
#include "tests/fork_test.h"

/*
 * The parent, in pages from BASE; (p): one page of it is pinned:
 *
 *   0        512       1024          1088         1092   1094
 *   THP (p)  THP       64 KiB (p) ..  small (p)    zero   wiped
 *
 * and two huge pages of a pool far away, the first pinned.
 */
#define P(n)		(BASE + PAGES(n))
#define NR_PAGES	1096
#define H(n)		(BASE + ((u64)1 << 40) + (n) * PMD_SIZE)
#define NR_PINS		4

static struct mm_test t;
static const pf_addr_t pin_at[NR_PINS] = { P(7), P(1024 + 3), P(1089), H(0) };
static struct page *pins[NR_PINS];

static void make_scene(void)
{
	pf_addr_t place;

	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(16), .hugetlb_2m_pages = 4,
		.thp_madvise = BIT(4) | BIT(HPAGE_PMD_ORDER),
	});
	map_at(&t, P(0), NR_PAGES, RW);
	advise(&t, P(0), PAGES(1088), PINFOLD_MADV_HUGEPAGE);
	advise(&t, P(1094), PAGES(2), PINFOLD_MADV_WIPEONFORK);
	for (u64 i = 0; i < NR_PAGES; i++)
		if (i != 1092 && i != 1093)
			write_word(&t, P(i), i + 1);
	assert_int_equal(read_word(&t, P(1092)), 0);
	assert_int_equal(pf_mmap(t.mm, H(0), 2 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	write_word(&t, H(0), 77);
	write_word(&t, H(1), 78);
	for (unsigned int i = 0; i < NR_PINS; i++)
		pins[i] = page_pinned_at(&t, pin_at[i], PINFOLD_FOLL_WRITE);
}

static void assert_scene(struct mm_test *mm)
{
	for (u64 i = 0; i < NR_PAGES; i++) {
		const bool zero = i == 1092 || i == 1093 ||
				  (mm != &t && i >= 1094);

		assert_int_equal(read_word(mm, P(i)), zero ? 0 : i + 1);
	}
	assert_int_equal(read_word(mm, H(0)), 77);
	assert_int_equal(read_word(mm, H(1)), 78);
}

/* inv_O5: the parent stores where the device looks, and the other way round. */
static void assert_coherent(void)
{
	for (unsigned int i = 0; i < NR_PINS; i++) {
		u64 was = read_word(&t, pin_at[i]);

		assert_ptr_equal(page_mapped_at(&t, pin_at[i]), pins[i]);
		assert_true(writable_at(&t, pin_at[i]));
		write_word(&t, pin_at[i], 5000);
		assert_int_equal(device_read(pins[i]), 5000);
		device_write(pins[i], was);
		assert_int_equal(read_word(&t, pin_at[i]), was);
	}
}

static void end_scene(void)
{
	unpin_user_pages(pins, NR_PINS);
	mm_test_end(&t);
}

/* Fork with the @nth allocation failing.  Return: did it fail? */
static bool fork_failing(long nth, bool look)
{
	struct pf_mm *child = NULL;
	unsigned long used = look ? frames_in_use(machine_of(t.machine)) : 0;
	int err;

	current->fail_nth = nth;
	err = pf_mm_fork(t.mm, &child);
	assert_true(!err == (current->fail_nth != 0));
	current->fail_nth = 0;
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(error_note.err, -ENOMEM);
		assert_null(child);
	} else {
		pf_mm_destroy(child);
	}
	if (look) {
		assert_int_equal(frames_in_use(machine_of(t.machine)), used);
		assert_pinned(&t, pins, NR_PINS);
	}
	return err;
}

/*
 * Most allocations are one copy of a small page after the other; among them the
 * same parent is used again, and looked at now and then.
 */
static void each_allocation_in_turn(void **state)
{
	bool failed = true, fresh = true;
	struct mm_test child;
	long nth;

	(void)state;
	for (nth = 1; failed; nth++) {
		if (fresh)
			make_scene();
		fresh = nth < 16 || nth % 64 == 0;
		failed = fork_failing(nth, fresh || nth % 16 == 1);
		fresh |= !failed;
		if (!fresh)
			continue;
		assert_scene(&t);
		assert_coherent();
		child = fork_of(&t);
		assert_scene(&child);
		exit_of(&child);
		end_scene();
	}
	/* one for each page that is copied, and areas and tables besides */
	assert_true(nth > 512 + 16 + 1 + 1 + 10);
}

/* All frames but @left of them, as one-page folios. */
static unsigned long hog(struct page **taken, unsigned long room,
			 unsigned long left)
{
	struct machine *m = machine_of(t.machine);
	unsigned long nr = 0;

	while (nr < room && nr_free_pages(m) > left) {
		taken[nr] = alloc_pages(GFP_USER, 0);
		assert_non_null(taken[nr]);
		nr++;
	}
	return nr;
}

static void frames_run_out(void **state)
{
	static struct page *taken[8192];
	unsigned long used, nr;
	struct mm_test child;

	(void)state;
	make_scene();
	for (unsigned long left = 0; left < 640; left += 40) {
		struct pf_mm *mm = NULL;

		used = frames_in_use(machine_of(t.machine));
		nr = hog(taken, ARRAY_SIZE(taken), left);
		if (!pf_mm_fork(t.mm, &mm)) {
			assert_true(left > 512);
			pf_mm_destroy(mm);
		} else {
			assert_null(mm);
		}
		for (unsigned long i = 0; i < nr; i++)
			__free_pages(taken[i], 0);
		assert_int_equal(frames_in_use(machine_of(t.machine)), used);
	}
	assert_pinned(&t, pins, NR_PINS);
	assert_coherent();
	child = fork_of(&t);
	assert_scene(&child);
	exit_of(&child);
	end_scene();
}

static void a_pool_runs_out(void **state)
{
	struct mm_test child;
	struct pf_mm *mm = NULL;
	pf_addr_t place;

	(void)state;
	make_scene();
	/* the pinned page needs one that nobody has a right to */
	assert_int_equal(pf_mmap(t.mm, H(8), 2 * PMD_SIZE, RW,
				 PINFOLD_MAP_HUGETLB | PINFOLD_MAP_FIXED,
				 &place), 0);
	assert_int_equal(pf_mm_fork(t.mm, &mm), -ENOMEM);
	assert_null(mm);
	assert_pinned(&t, pins, NR_PINS);
	assert_scene(&t);
	assert_coherent();
	assert_int_equal(pf_munmap(t.mm, H(8), 2 * PMD_SIZE), 0);
	child = fork_of(&t);
	assert_scene(&child);
	exit_of(&child);
	end_scene();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_in_turn),
		cmocka_unit_test(frames_run_out),
		cmocka_unit_test(a_pool_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
