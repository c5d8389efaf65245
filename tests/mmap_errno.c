/* SPDX-License-Identifier: MIT */
/*
 * Claim: each misuse of mmap, munmap, mprotect, mremap and madvise gets Linux's
 * errno, a line of words that names the value, and no effect but the documented
 * partial one; the limit on areas is counted as Linux counts; and populating
 * answers as in gup_P1 ... gup_P7 and case_L1.
 *
 * Every row starts from two areas with a hole between them:
 *
 *   pages   0 1 2 3   4    5 6 7
 *           rw area  hole  r area
 *
 * Source: include/pinfold/pinfold.h; Linux 6.12: mm/mmap.c, mm/mprotect.c,
 *         mm/mremap.c, mm/madvise.c
 */
#include "tests/mm_test.h"

#include "host/backend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define START	"0-4:rw 5-8:r"
#define TOP	(TASK_SIZE)
#define HALF	(PAGE_SIZE / 2)
#define UNTOUCHED ((pf_addr_t)0xdead)

enum call { MMAP, MUNMAP, MPROTECT, MREMAP, MADVISE };

struct row {
	enum call call;
	u64 at, length;
	int flags;		/* or protection, or advice */
	u64 to, to_length;	/* mremap */
	int expected;
	const char *areas;	/* afterwards; NULL: START */
	const char *text;	/* in pf_error_text() */
};

#define P(n)	(BASE + PAGES(n))
#define L(n)	PAGES(n)
#define FIXED	PINFOLD_MAP_FIXED
#define CAREFUL	PINFOLD_MAP_FIXED_NOREPLACE
#define MOVE	PINFOLD_MREMAP_MAYMOVE
#define TO	(PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED)
#define KEEP	(PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_DONTUNMAP)
#define R	PINFOLD_PROT_READ
#define NONE	PINFOLD_PROT_NONE
#define DONTNEED PINFOLD_MADV_DONTNEED
#define HUGE	PINFOLD_MADV_HUGEPAGE
#define SMALL	PINFOLD_MADV_NOHUGEPAGE

static const struct row rows[] = {
	/* mmap: always read and write */
	{ MMAP, P(9), 0, FIXED, .expected = -EINVAL, .text = "length 0" },
	{ MMAP, 0, -1, 0, .expected = -ENOMEM, .text = "18446744073709551615" },
	{ MMAP, 0, TOP + 1, 0, .expected = -ENOMEM, .text = "more than" },
	{ MMAP, 0, TOP, 0, .expected = -ENOMEM, .text = "no room" },
	{ MMAP, P(9), L(1), 0x3, .expected = -EINVAL, .text = "0x3" },
	{ MMAP, P(9), L(1), FIXED | 0x40000000, .expected = -EINVAL,
	  .text = "0x40000010" },
	{ MMAP, P(9) + HALF, L(1), FIXED, .expected = -EINVAL,
	  .text = "multiple of the page size" },
	{ MMAP, P(9) + 1, L(1), CAREFUL, .expected = -EINVAL,
	  .text = "0x10000009001" },
	{ MMAP, 0, L(1), FIXED, .expected = -EPERM, .text = "below 0x10000" },
	{ MMAP, 0xf000, L(1), FIXED, .expected = -EPERM, .text = "0xf000" },
	{ MMAP, 0xf000, L(2), CAREFUL, .expected = -EPERM, .text = "0xf000" },
	/* unaligned and too high: too high counts */
	{ MMAP, TOP + 1, L(1), FIXED, .expected = -ENOMEM,
	  .text = "above the user addresses" },
	{ MMAP, TOP, L(1), FIXED, .expected = -ENOMEM, .text = "4096" },
	{ MMAP, -PAGE_SIZE, L(2), FIXED, .expected = -ENOMEM,
	  .text = "0xfffffffffffff000" },
	{ MMAP, P(4), L(2), CAREFUL, .expected = -EEXIST,
	  .text = "0x10000004000-0x10000006000" },
	{ MMAP, P(3), L(2), FIXED | CAREFUL, .expected = -EEXIST,
	  .text = "is mapped in" },
	{ MMAP, P(4), L(1), CAREFUL, .areas = "0-5:rw 5-8:r" },
	{ MMAP, P(4), 1, FIXED, .areas = "0-5:rw 5-8:r" },
	{ MMAP, P(6), L(1), FIXED, .areas = "0-4:rw 5-6:r 6-7:rw 7-8:r" },
	{ MMAP, P(3), L(4), FIXED, .areas = "0-7:rw 7-8:r" },
	{ MMAP, P(4) + HALF, L(1), 0, .areas = "0-5:rw 5-8:r" },

	/* munmap */
	{ MUNMAP, P(0) + 1, L(1), .expected = -EINVAL, .text = "0x10000000001" },
	{ MUNMAP, P(0), 0, .expected = -EINVAL, .text = "0x10000000000 + 0" },
	{ MUNMAP, P(0), -1, .expected = -EINVAL,
	  .text = "18446744073709551615" },
	{ MUNMAP, P(0), TOP, .expected = -EINVAL, .text = "above the user" },
	{ MUNMAP, TOP, L(1), .expected = -EINVAL, .text = "4096" },
	{ MUNMAP, TOP + PAGE_SIZE, L(1), .expected = -EINVAL },
	{ MUNMAP, -PAGE_SIZE, L(1), .expected = -EINVAL },
	{ MUNMAP, P(4), L(1), .expected = 0 },
	{ MUNMAP, P(20), L(100), .expected = 0 },
	{ MUNMAP, 0, L(16), .expected = 0 },
	{ MUNMAP, P(1), 1, .areas = "0-1:rw 2-4:rw 5-8:r" },
	{ MUNMAP, P(3), L(3), .areas = "0-3:rw 6-8:r" },
	{ MUNMAP, P(0), TOP - BASE, .areas = "" },

	/* mprotect */
	{ MPROTECT, P(0) + HALF, L(1), R, .expected = -EINVAL,
	  .text = "multiple of the page size" },
	{ MPROTECT, P(0), L(1), 0x8, .expected = -EINVAL, .text = "0x8" },
	{ MPROTECT, P(0), L(1), 0x01000000, .expected = -EINVAL,
	  .text = "0x1000000" },
	{ MPROTECT, P(0), 0, R, .expected = 0 },
	{ MPROTECT, P(4), 0, R, .expected = 0 },
	{ MPROTECT, P(0), -1, R, .expected = -ENOMEM, .text = "wraps" },
	{ MPROTECT, P(0), -BASE, R, .expected = -ENOMEM, .text = "wraps" },
	{ MPROTECT, P(4), L(1), R, .expected = -ENOMEM, .text = "0x10000004000" },
	{ MPROTECT, P(4), L(4), NONE, .expected = -ENOMEM,
	  .text = "0x10000004000" },
	/* what lies before the hole is changed */
	{ MPROTECT, P(2), L(6), R, .expected = -ENOMEM,
	  .areas = "0-2:rw 2-4:r 5-8:r", .text = "0x10000004000" },
	{ MPROTECT, P(6), L(9), RW, .expected = -ENOMEM,
	  .areas = "0-4:rw 5-6:r 6-8:rw", .text = "0x10000008000" },
	{ MPROTECT, TOP - PAGE_SIZE, L(9), RW, .expected = -ENOMEM },
	{ MPROTECT, P(1), 1, NONE, .areas = "0-1:rw 1-2:- 2-4:rw 5-8:r" },
	{ MPROTECT, P(0), L(4), RW, .expected = 0 },

	/* mremap */
	{ MREMAP, P(0), L(2), 8, 0, L(2), -EINVAL, .text = "0x8" },
	{ MREMAP, P(0), L(2), PINFOLD_MREMAP_FIXED, P(20), L(2), -EINVAL,
	  .text = "flags 0x2" },
	{ MREMAP, P(0), L(2), PINFOLD_MREMAP_DONTUNMAP, 0, L(2), -EINVAL,
	  .text = "flags 0x4" },
	{ MREMAP, P(0), L(2), KEEP, 0, L(3), -EINVAL, .text = "8192 and 12288" },
	{ MREMAP, P(0), L(2) - 1, KEEP, 0, L(2), -EINVAL,
	  .text = "8191 and 8192" },
	{ MREMAP, P(0) + 1, L(2), MOVE, 0, L(2), -EINVAL, .text = "00001 is not" },
	{ MREMAP, P(0), L(2), MOVE, 0, 0, -EINVAL, .text = "new length 0" },
	{ MREMAP, P(0), L(2), MOVE, 0, -1, -EINVAL, .text = "new length" },
	{ MREMAP, P(4), L(1), MOVE, 0, L(1), -EFAULT, .text = "0x10000004000" },
	{ MREMAP, P(4), L(1), 0, 0, L(1), -EFAULT, .text = "0x10000004000" },
	{ MREMAP, P(0), 0, MOVE, 0, L(2), -EINVAL, .text = "old length 0" },
	{ MREMAP, P(2), L(3), MOVE, 0, L(4), -EFAULT,
	  .text = "0x10000002000 + 12288" },
	/* not growing, it is not asked whether it is one area */
	{ MREMAP, P(2), L(5), 0, 0, L(5), .expected = 0 },
	{ MREMAP, P(2), L(5), 0, 0, L(1), .areas = "0-3:rw 7-8:r" },
	{ MREMAP, P(0), L(4), 0, 0, 1, .areas = "0-1:rw 5-8:r" },
	{ MREMAP, P(0), L(4), 0, 0, L(5), .areas = "0-5:rw 5-8:r" },
	{ MREMAP, P(0), L(4), 0, 0, L(6), -ENOMEM, .text = "0x10000004000" },
	{ MREMAP, P(0), L(2), 0, 0, L(3), -ENOMEM, .text = "no room to grow" },
	{ MREMAP, P(0), L(4), MOVE, 0, TOP + PAGE_SIZE, -ENOMEM,
	  .text = "more than" },
	{ MREMAP, P(0), L(4), MOVE, 0, TOP, -ENOMEM, .text = "no room for" },
	{ MREMAP, P(0), L(2), TO, P(20) + HALF, L(2), -EINVAL,
	  .text = "0x10000014800" },
	{ MREMAP, P(0), L(2), TO, TOP, L(2), -EINVAL, .text = "8192" },
	{ MREMAP, P(0), L(2), TO, P(20), TOP + PAGE_SIZE, -EINVAL,
	  .text = "0x10000014000" },
	{ MREMAP, P(0), L(2), TO, P(1), L(2), -EINVAL, .text = "overlap" },
	{ MREMAP, P(1), L(2), TO, P(0), L(2), -EINVAL, .text = "overlap" },
	{ MREMAP, P(0), L(2), KEEP, P(1), L(2), -EINVAL, .text = "overlap" },
	{ MREMAP, P(0), L(2), TO, 0xf000, L(1), -EPERM,
	  .areas = "0-1:rw 2-4:rw 5-8:r", .text = "0xf000 is below" },
	/* the place is made free before the old range is looked at */
	{ MREMAP, P(5), L(4), TO, P(0), L(4), -EFAULT, .areas = "5-8:r",
	  .text = "reaches over" },
	{ MREMAP, P(5), 0, TO, P(0), L(1), -EINVAL, .areas = "1-4:rw 5-8:r",
	  .text = "old length 0" },
	{ MREMAP, P(0), L(8), TO, P(20), L(2), .areas = "20-22:rw" },
	{ MREMAP, P(1), L(1), TO, P(6), L(1),
	  .areas = "0-1:rw 2-4:rw 5-6:r 6-7:rw 7-8:r" },
	{ MREMAP, P(0), L(2), TO, P(2), L(2), .areas = "2-4:rw 5-8:r" },
	{ MREMAP, P(0), L(2), KEEP, P(20), L(2),
	  .areas = "0-4:rw 5-8:r 20-22:rw" },

	/* madvise */
	{ MADVISE, P(0), L(1), 1000, .expected = -EINVAL, .text = "advice 1000" },
	{ MADVISE, P(0), L(1), -1, .expected = -EINVAL, .text = "advice -1" },
	{ MADVISE, P(0) + 1, L(1), DONTNEED, .expected = -EINVAL,
	  .text = "0x10000000001" },
	{ MADVISE, P(0), -1, DONTNEED, .expected = -EINVAL, .text = "wraps" },
	{ MADVISE, P(0), -BASE - PAGE_SIZE, DONTNEED, .expected = -ENOMEM,
	  .text = "0x10000004000" },
	{ MADVISE, P(1), -BASE, DONTNEED, .expected = -EINVAL, .text = "wraps" },
	{ MADVISE, P(4), 0, DONTNEED, .expected = 0 },
	{ MADVISE, P(4) + 1, 0, DONTNEED, .expected = -EINVAL },
	{ MADVISE, P(4), L(1), 0, .expected = -ENOMEM, .text = "0x10000004000" },
	{ MADVISE, P(0), L(8), 0, .expected = -ENOMEM, .text = "0x10000004000" },
	{ MADVISE, P(6), L(8), DONTNEED, .expected = -ENOMEM,
	  .text = "0x10000008000" },
	/* the rest is done all the same */
	{ MADVISE, P(2), L(4), HUGE, .expected = -ENOMEM,
	  .areas = "0-2:rw 2-4:rwh 5-6:rh 6-8:r" },
	{ MADVISE, P(3), L(9), SMALL, .expected = -ENOMEM,
	  .areas = "0-3:rw 3-4:rwn 5-8:rn", .text = "0x10000004000" },
	{ MADVISE, P(0), L(2), HUGE, .areas = "0-2:rwh 2-4:rw 5-8:r" },
};

static void describe_flags(char *out, vm_flags_t flags)
{
	if (!(flags & VM_ACCESS_FLAGS))
		*out++ = '-';
	if (flags & VM_READ)
		*out++ = 'r';
	if (flags & VM_WRITE)
		*out++ = 'w';
	if (flags & VM_EXEC)
		*out++ = 'x';
	if (flags & VM_HUGEPAGE)
		*out++ = 'h';
	if (flags & VM_NOHUGEPAGE)
		*out++ = 'n';
	*out = 0;
}

/* The areas, in pages from BASE: "0-4:rw 5-8:r". */
static const char *describe(struct mm_test *t)
{
	static char text[256];
	struct vm_area_struct *vma;
	char *at = text;

	mmap_read_lock(mm_of(t->mm));
	*at = 0;
	for (vma = vma_first(mm_of(t->mm)); vma; vma = vma_next(vma)) {
		char flags[8];

		describe_flags(flags, vma->vm_flags);
		at += sprintf(at, "%s%" PRIu64 "-%" PRIu64 ":%s",
			      at == text ? "" : " ",
			      (vma->vm_start - BASE) >> PAGE_SHIFT,
			      (vma->vm_end - BASE) >> PAGE_SHIFT, flags);
	}
	mmap_read_unlock(mm_of(t->mm));
	return text;
}

static int do_row(struct mm_test *t, const struct row *r, pf_addr_t *place)
{
	switch (r->call) {
	case MMAP:
		return pf_mmap(t->mm, r->at, r->length, RW, r->flags, place);
	case MUNMAP:
		return pf_munmap(t->mm, r->at, r->length);
	case MPROTECT:
		return pf_mprotect(t->mm, r->at, r->length, r->flags);
	case MREMAP:
		return pf_mremap(t->mm, r->at, r->length, r->to_length,
				 r->flags, r->to, place);
	default:
		return pf_madvise(t->mm, r->at, r->length, r->flags);
	}
}

/* One line, no more than a line, with the value in it. */
static void check_text(const struct row *r)
{
	const char *text = pf_error_text();

	assert_int_equal(error_note.err, r->expected);
	assert_true(strlen(text) > 20 && strlen(text) < 160);
	assert_null(strchr(text, '\n'));
	if (r->text && !strstr(text, r->text)) {
		print_error("\"%s\" is not in \"%s\"\n", r->text, text);
		assert_non_null(strstr(text, r->text));
	}
}

static void check_row(struct mm_test *t, const struct row *r)
{
	const char *areas = r->areas ? r->areas : START;
	pf_addr_t place = UNTOUCHED;
	int err;

	error_note.err = 0;
	err = do_row(t, r, &place);
	if (err != r->expected || strcmp(describe(t), areas))
		print_error("row %d: %d, areas %s\n", (int)(r - rows), err,
			    describe(t));
	assert_int_equal(err, r->expected);
	assert_string_equal(describe(t), areas);
	if (err) {
		check_text(r);
		assert_int_equal(place, UNTOUCHED);
	}
}

static void test_rows(void **state)
{
	struct mm_test t;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(pf_munmap(t.mm, 0, TOP), 0);
		map_at(&t, P(0), 4, RW);
		map_at(&t, P(5), 3, R);
		check_row(&t, &rows[i]);
	}
	mm_test_end(&t);
}

/* A hint below the first usable page means that page; 0 means none. */
static void test_low_hints(void **state)
{
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	assert_int_equal(pf_mmap(t.mm, 0x1000, L(1), RW, 0, &place), 0);
	assert_int_equal(place, MMAP_MIN_ADDR);
	assert_int_equal(pf_mmap(t.mm, 1, L(1), RW, 0, &place), 0);
	assert_int_equal(place, TASK_CEILING - MIB(128) - PAGE_SIZE);
	mm_test_end(&t);
}

/* ---- the limit on areas ----------------------------------------------- */

/*
 * @nr areas, one page of every two, of which the first has @first pages.
 * They end at page NR_LIMIT.
 */
#define FIRST	((u64)16)
#define SPARE	P(1 << 20)

static void make_areas(struct mm_test *t, unsigned int nr)
{
	mm_test_begin(t, (struct pf_machine_options){ .metadata_only = true });
	map_at(t, P(0), FIRST, RW);
	for (unsigned int i = 1; i < nr; i++)
		map_at(t, P(FIRST + 2 * i), 1, RW);
	assert_int_equal(mm_of(t->mm)->map_count, nr);
}

#define NR_AREAS(t)	(mm_of((t)->mm)->map_count)

static void test_limit_mmap(void **state)
{
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	make_areas(&t, MAX_MAP_COUNT);
	/* one more than the limit */
	assert_int_equal(pf_mmap(t.mm, SPARE, L(3), RW, 0, &place), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT + 1);
	assert_int_equal(pf_mmap(t.mm, P(0), L(1), RW, 0, &place), -ENOMEM);
	/* even before a wrong address is noticed */
	assert_int_equal(pf_mmap(t.mm, 1, L(1), RW, FIXED, &place), -ENOMEM);
	assert_non_null(strstr(pf_error_text(), "65531 areas"));
	assert_int_equal(pf_munmap(t.mm, place, L(3)), 0);
	/* over an area: a hole in it is one area more at the end */
	assert_int_equal(pf_mmap(t.mm, P(1), L(1), R, FIXED, &place), -ENOMEM);
	assert_int_equal(pf_mmap(t.mm, P(0), L(1), R, FIXED, &place), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT + 1);
	mm_test_end(&t);
}

static void test_limit_munmap(void **state)
{
	struct mm_test t;

	(void)state;
	make_areas(&t, MAX_MAP_COUNT);
	assert_int_equal(pf_munmap(t.mm, P(1), L(1)), -ENOMEM);
	assert_non_null(strstr(pf_error_text(), "0x10000001000"));
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT);
	/* from its ends, and of several */
	assert_int_equal(pf_munmap(t.mm, P(0), L(1)), 0);
	assert_int_equal(pf_munmap(t.mm, P(FIRST - 1), L(1)), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT);
	assert_int_equal(pf_munmap(t.mm, P(FIRST - 2), L(5)), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT - 1);
	/* below the limit the pieces may be more for a moment */
	assert_int_equal(pf_munmap(t.mm, P(4), L(1)), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT);
	mm_test_end(&t);
}

static void test_limit_mprotect(void **state)
{
	struct mm_test t;

	(void)state;
	make_areas(&t, MAX_MAP_COUNT - 1);
	assert_int_equal(pf_mprotect(t.mm, P(4), L(1), R), -ENOMEM);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT - 1);
	assert_int_equal(pf_mprotect(t.mm, P(0), L(8), R), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT);
	/* a border moves, a whole area changes: no area more */
	assert_int_equal(pf_mprotect(t.mm, P(4), L(4), RW), 0);
	assert_int_equal(pf_mprotect(t.mm, P(4), L(2), R), 0);
	assert_int_equal(pf_mprotect(t.mm, P(0), L(6), RW), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT - 1);
	assert_int_equal(pf_mprotect(t.mm, P(0), L(FIRST), R), 0);
	mm_test_end(&t);
}

static void test_limit_madvise(void **state)
{
	struct mm_test t;

	(void)state;
	make_areas(&t, MAX_MAP_COUNT);
	assert_int_equal(pf_madvise(t.mm, P(1), L(1), HUGE), -EAGAIN);
	assert_non_null(strstr(pf_error_text(), "0x10000001000"));
	assert_int_equal(pf_madvise(t.mm, P(0), L(FIRST), HUGE), 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT);
	mm_test_end(&t);
}

static void test_limit_mremap(void **state)
{
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	make_areas(&t, MAX_MAP_COUNT - 5);
	assert_int_equal(pf_mremap(t.mm, P(0), L(1), L(1), TO, SPARE, &place),
			 -ENOMEM);
	assert_int_equal(pf_mremap(t.mm, P(0), L(1), L(1), KEEP, SPARE,
				   &place), -ENOMEM);
	assert_int_equal(pf_munmap(t.mm, P(FIRST + 2), L(1)), 0);
	assert_int_equal(pf_mremap(t.mm, P(0), L(1), L(1), TO, SPARE, &place),
			 0);
	assert_int_equal(NR_AREAS(&t), MAX_MAP_COUNT - 5);
	mm_test_end(&t);

	make_areas(&t, MAX_MAP_COUNT - 3);
	assert_int_equal(pf_mremap(t.mm, P(0), L(1), L(2), MOVE, 0, &place),
			 -ENOMEM);
	/* in place it grows at any number of areas */
	map_at(&t, SPARE, 1, RW);
	assert_int_equal(pf_mremap(t.mm, SPARE, L(1), L(2), 0, 0, &place), 0);
	assert_int_equal(place, SPARE);
	mm_test_end(&t);
}

/* ---- populating ------------------------------------------------------- */

#define READ_IN		PINFOLD_MADV_POPULATE_READ
#define WRITE_IN	PINFOLD_MADV_POPULATE_WRITE
#define NR_P		512

static unsigned int nr_resident(struct mm_test *t, pf_addr_t at, u64 nr)
{
	unsigned int resident = 0;

	for (u64 i = 0; i < nr; i++)
		resident += resident_at(t, at + PAGES(i));
	return resident;
}

static void begin_populate(struct mm_test *t, int prot)
{
	mm_test_begin(t, (struct pf_machine_options){ 0 });
	map_at(t, P(0), NR_P, prot);
	assert_int_equal(nr_resident(t, P(0), NR_P), 0);
}

#define POPULATE(t, at, nr, how, expected)				\
	assert_int_equal(pf_madvise((t)->mm, P(at), L(nr), (how)), (expected))

static void test_populate_protection(void **state)
{
	struct mm_test t;

	(void)state;
	begin_populate(&t, R);				/* gup_P1 */
	POPULATE(&t, 0, NR_P, READ_IN, 0);
	assert_int_equal(nr_resident(&t, P(0), NR_P), NR_P);
	POPULATE(&t, 0, NR_P, WRITE_IN, -EINVAL);
	mm_test_end(&t);

	begin_populate(&t, PINFOLD_PROT_WRITE);		/* gup_P2 */
	POPULATE(&t, 0, NR_P, READ_IN, -EINVAL);
	assert_int_equal(nr_resident(&t, P(0), NR_P), 0);
	POPULATE(&t, 0, NR_P, WRITE_IN, 0);
	assert_int_equal(nr_resident(&t, P(0), NR_P), NR_P);
	mm_test_end(&t);
}

static void test_populate_hole(void **state)
{
	static const int kinds[] = { READ_IN, WRITE_IN };
	struct mm_test t;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		begin_populate(&t, RW);
		assert_int_equal(pf_munmap(t.mm, P(1), L(1)), 0);
		POPULATE(&t, 0, NR_P, kinds[i], -ENOMEM);	/* gup_P3 */
		assert_non_null(strstr(pf_error_text(), "0x10000001000"));
		assert_int_equal(nr_resident(&t, P(0), NR_P), 1);
		POPULATE(&t, 0, 2, kinds[i], -ENOMEM);		/* gup_P4 */
		POPULATE(&t, 1, NR_P - 1, kinds[i], -ENOMEM);	/* gup_P5 */
		assert_int_equal(nr_resident(&t, P(0), NR_P), 1);
		POPULATE(&t, 2, NR_P - 2, kinds[i], 0);
		mm_test_end(&t);
	}
}

static void test_populate_all(void **state)
{
	struct mm_test t;

	(void)state;
	begin_populate(&t, RW);				/* gup_P6 */
	POPULATE(&t, 0, NR_P, READ_IN, 0);
	assert_int_equal(nr_resident(&t, P(0), NR_P), NR_P);
	assert_true(is_zero_page(page_mapped_at(&t, P(7))));
	mm_test_end(&t);

	begin_populate(&t, RW);				/* gup_P7 */
	POPULATE(&t, 0, NR_P, WRITE_IN, 0);
	assert_int_equal(nr_resident(&t, P(0), NR_P), NR_P);
	assert_false(is_zero_page(page_mapped_at(&t, P(7))));
	assert_true(pte_write(entry_at(&t, P(7))));
	mm_test_end(&t);
}

/* Populating a part of the memory is not undone when there is no more. */
static void test_populate_no_memory(void **state)
{
	struct mm_test t;
	unsigned int resident;

	(void)state;
	begin_populate(&t, RW);
	map_at(&t, P(0), MIB(32) >> PAGE_SHIFT, RW);
	POPULATE(&t, 0, MIB(32) >> PAGE_SHIFT, WRITE_IN, -ENOMEM);
	resident = nr_resident(&t, P(0), MIB(32) >> PAGE_SHIFT);
	assert_true(resident > 3 * MIB(16) / 4 >> PAGE_SHIFT);
	mm_test_end(&t);
}

static void test_case_L1(void **state)
{
	static const int kinds[] = { READ_IN, WRITE_IN };
	struct mm_test t;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		mm_test_begin(&t, (struct pf_machine_options){ 0 });
		map_at(&t, P(0), 3, RW);
		map_at(&t, P(4), 2, RW);
		POPULATE(&t, 0, 6, kinds[i], -ENOMEM);
		assert_int_equal(nr_resident(&t, P(0), 3), 3);
		assert_int_equal(nr_resident(&t, P(4), 2), 0);
		mm_test_end(&t);
	}
}

struct retry {
	struct mm_test *t;
	struct backend_thread *thread;
	unsigned int faults;
};

static void unmap_all(void *arg)
{
	struct retry *r = arg;

	BUG_ON(pf_munmap(r->t->mm, P(0), L(3)));
}

/* The second fault lets the lock go, and somebody waits for it to unmap. */
static vm_fault_t retry_second(void *arg, struct vm_area_struct *vma,
			       pf_addr_t address __maybe_unused,
			       unsigned int flags)
{
	struct retry *r = arg;

	if (++r->faults != 2)
		return 0;
	assert_true(flags & FAULT_FLAG_ALLOW_RETRY);
	assert_int_equal(backend_thread_create(&r->thread, unmap_all, r), 0);
	while (!READ_ONCE(vma->vm_mm->mmap_lock.writers_waiting))
		cpu_relax();
	return VM_FAULT_RETRY;
}

/* case_L1: the area goes while the lock is dropped: no endless loop. */
static void test_case_L1_retry(void **state)
{
	struct mm_test t;
	struct retry r = { .t = &t };

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	map_at(&t, P(0), 3, RW);
	current->fault_hook = retry_second;
	current->fault_hook_arg = &r;
	POPULATE(&t, 0, 3, WRITE_IN, -ENOMEM);
	current->fault_hook = NULL;
	backend_thread_join(r.thread);
	assert_int_equal(r.faults, 2);
	mm_test_end(&t);
}

/* ---- partial effects on pages ----------------------------------------- */

static void test_dontneed(void **state)
{
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	map_at(&t, P(0), 2, RW);
	map_at(&t, P(3), 2, RW);
	assert_int_equal(pf_mmap(t.mm, P(5), L(1), RW, FIXED |
				 PINFOLD_MAP_LOCKED, &place), 0);
	map_at(&t, P(6), 1, RW);
	for (int i = 0; i < 7; i++)
		if (i != 2)
			write_word(&t, P(i), i + 1);
	/* over the hole, and the rest all the same */
	POPULATE(&t, 0, 4, DONTNEED, -ENOMEM);
	assert_int_equal(nr_resident(&t, P(0), 4), 0);
	assert_int_equal(read_word(&t, P(4)), 5);
	/* up to the locked area, which ends it */
	POPULATE(&t, 1, 6, DONTNEED, -EINVAL);
	assert_non_null(strstr(pf_error_text(), "0x10000005000"));
	assert_int_equal(nr_resident(&t, P(3), 2), 0);
	assert_int_equal(read_word(&t, P(5)), 6);
	assert_int_equal(read_word(&t, P(6)), 7);
	mm_test_end(&t);
}

/* Best effort: what may be written or run is there, what may not be is not. */
static void test_map_populate(void **state)
{
	static const int prots[] = {
		RW, R, PINFOLD_PROT_WRITE, PINFOLD_PROT_EXEC, NONE,
	};
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(prots); i++) {
		const bool writable = prots[i] & PINFOLD_PROT_WRITE;

		mm_test_begin(&t, (struct pf_machine_options){ 0 });
		assert_int_equal(pf_mmap(t.mm, P(0), L(8), prots[i], FIXED |
					 PINFOLD_MAP_POPULATE, &place), 0);
		assert_int_equal(nr_resident(&t, P(0), 8),
				 prots[i] == NONE ? 0 : 8);
		if (prots[i] != NONE)
			assert_int_equal(is_zero_page(page_mapped_at(&t, P(3))),
					 !writable);
		mm_test_end(&t);
	}
}

/* Locked areas are populated when made, grown, moved and made writable. */
static void test_locked(void **state)
{
	struct mm_test t;
	pf_addr_t place;

	(void)state;
	mm_test_begin(&t, (struct pf_machine_options){ 0 });
	assert_int_equal(pf_mmap(t.mm, P(0), L(4), R, FIXED |
				 PINFOLD_MAP_LOCKED, &place), 0);
	assert_int_equal(nr_resident(&t, P(0), 4), 4);
	assert_true(is_zero_page(page_mapped_at(&t, P(1))));
	assert_int_equal(pf_mprotect(t.mm, P(1), L(1), RW), 0);
	assert_false(is_zero_page(page_mapped_at(&t, P(1))));
	assert_true(is_zero_page(page_mapped_at(&t, P(2))));
	assert_int_equal(pf_mremap(t.mm, P(2), L(2), L(3), 0, 0, &place), 0);
	assert_int_equal(nr_resident(&t, P(0), 5), 5);
	map_at(&t, P(5), 1, NONE);
	assert_int_equal(pf_mremap(t.mm, P(1), L(1), L(3), MOVE, 0, &place), 0);
	assert_int_equal(nr_resident(&t, place, 3), 3);
	assert_int_equal(nr_resident(&t, P(1), 1), 0);
	mm_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_low_hints),
		cmocka_unit_test(test_limit_mmap),
		cmocka_unit_test(test_limit_munmap),
		cmocka_unit_test(test_limit_mprotect),
		cmocka_unit_test(test_limit_madvise),
		cmocka_unit_test(test_limit_mremap),
		cmocka_unit_test(test_populate_protection),
		cmocka_unit_test(test_populate_hole),
		cmocka_unit_test(test_populate_all),
		cmocka_unit_test(test_populate_no_memory),
		cmocka_unit_test(test_case_L1),
		cmocka_unit_test(test_case_L1_retry),
		cmocka_unit_test(test_dontneed),
		cmocka_unit_test(test_map_populate),
		cmocka_unit_test(test_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
