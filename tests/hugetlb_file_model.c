/* SPDX-License-Identifier: MIT */
/*
 * Claim: whatever is mapped, touched, dropped, punched, cut, allocated and pinned
 * of hugetlb files, a pool's counts and what each place reads are those of a model
 * that knows pages and promises only.
 *
 * A page is in the file or a private copy; a promise is a place's of the file, or
 * of a private area.  Entries do not matter to it.
 * Source: mm/hugetlb.c, fs/hugetlbfs/inode.c
 */
#include "tests/hugetlb_file_test.h"
#include "tests/random.h"

#define NR_POOL		9
#define NR_FILES	2
#define NR_PLACES	6	/* of a file */
#define NR_AREAS	5
#define NR_PINS		4
#define NR_STEPS	250
#define NR_ROUNDS	12

struct model_place {
	bool entry;		/* promised, or its page is there */
	bool page;
	u64 word;
	int pin;		/* of pins[], or -1 */
};

struct model_file {
	struct pf_file *file;
	u64 size;		/* places */
	struct model_place place[NR_PLACES];
};

struct model_area {
	bool mapped, shared, promises;
	unsigned int file, first, nr;
	struct {
		bool promised, copy;
		u64 word;
	} place[NR_PLACES];
};

static struct model_file files[NR_FILES];
static struct model_area areas[NR_AREAS];
static struct { struct page *page; bool orphan; } pins[NR_PINS];
static long nr_free, nr_promised;

static pf_addr_t at(unsigned int area, unsigned int i)
{
	return H(area * 8 + i);
}

static long spare(void)
{
	return nr_free - nr_promised;
}

/* ---- the model's rules ----------------------------------------------------- */

static bool take(bool *promised)
{
	if (*promised) {
		nr_promised--;
		*promised = false;
	} else if (spare() < 1) {
		return false;
	}
	nr_free--;
	return true;
}

static bool file_page(struct model_file *f, unsigned int p)
{
	struct model_place *place = &f->place[p];
	bool promised = place->entry;

	if (place->page)
		return true;
	if (!take(&promised))
		return false;
	*place = (struct model_place){ .entry = true, .page = true, .pin = -1 };
	return true;
}

static void drop_file_page(struct model_file *f, unsigned int p)
{
	struct model_place *place = &f->place[p];

	if (place->pin < 0)
		nr_free++;
	else
		pins[place->pin].orphan = true;
	*place = (struct model_place){ .pin = -1 };
}

static void drop_copy(struct model_area *a, unsigned int i)
{
	if (a->place[i].copy) {
		nr_free++;
		if (a->promises) {
			nr_promised++;
			a->place[i].promised = true;
		}
	}
	a->place[i].copy = false;
}

static void end_area(struct model_area *a)
{
	for (unsigned int i = 0; a->mapped && i < a->nr; i++) {
		drop_copy(a, i);
		nr_promised -= a->place[i].promised;
	}
	*a = (struct model_area){ 0 };
}

/* What a touch makes of the place.  NULL: a bus error. */
static u64 *touched(struct model_area *a, unsigned int i, bool write)
{
	struct model_file *f = &files[a->file];
	const unsigned int p = a->first + i;

	if (p >= f->size)
		return NULL;
	if (a->shared)
		return file_page(f, p) ? &f->place[p].word : NULL;
	if (!a->place[i].copy && (write || !f->place[p].page)) {
		if (!take(&a->place[i].promised))
			return NULL;
		a->place[i].copy = true;
		a->place[i].word = f->place[p].page ? f->place[p].word : 0;
	}
	return a->place[i].copy ? &a->place[i].word : &f->place[p].word;
}

static bool promise_places(struct model_file *f, unsigned int first,
			   unsigned int nr)
{
	long missing = 0;

	for (unsigned int p = first; p < first + nr; p++)
		missing += !f->place[p].entry;
	if (missing > spare())
		return false;
	for (unsigned int p = first; p < first + nr; p++)
		f->place[p].entry = true;
	nr_promised += missing;
	return true;
}

static bool promise_copies(struct model_area *a)
{
	if (a->nr > spare())
		return false;
	for (unsigned int i = 0; i < a->nr; i++)
		a->place[i].promised = true;
	nr_promised += a->nr;
	return true;
}

/* ---- both ------------------------------------------------------------------ */

static void step_map(struct random *r)
{
	const unsigned int n = random_below(r, NR_AREAS);
	struct model_area *a = &areas[n], new = {
		.mapped = true, .file = random_below(r, NR_FILES),
		.shared = random_chance(r, 60), .promises = random_chance(r, 75),
		.first = random_below(r, NR_PLACES),
	};
	struct model_file *f = &files[new.file];
	bool kept = true;

	new.nr = 1 + random_below(r, NR_PLACES - new.first);
	if (a->mapped)
		assert_int_equal(pf_munmap(t.mm, at(n, 0), a->nr * HUGE), 0);
	end_area(a);
	if (new.promises)
		kept = new.shared ? promise_places(f, new.first, new.nr) :
				    promise_copies(&new);
	assert_int_equal(map_places(at(n, 0), f->file, new.first, new.nr, RW,
				    (new.shared ? SHARED : PRIVATE) |
				    (new.promises ? 0 :
				     PINFOLD_MAP_NORESERVE)),
			 kept ? 0 : -ENOMEM);
	if (!kept)
		return;
	*a = new;
	f->size = max(f->size, (u64)new.first + new.nr);
}

static void step_touch(struct random *r)
{
	const unsigned int n = random_below(r, NR_AREAS);
	struct model_area *a = &areas[n];
	const bool write = random_chance(r, 60);
	unsigned int i;
	u64 word = 0, *expected;

	if (!a->mapped)
		return;
	i = random_below(r, a->nr);
	expected = touched(a, i, write);
	if (!expected) {
		assert_int_equal(write ?
				 pf_write(t.mm, at(n, i), &word, sizeof(word)) :
				 pf_read(t.mm, at(n, i), &word, sizeof(word)),
				 -EFAULT);
	} else if (write) {
		*expected = random_below(r, 1u << 30);
		write_word(&t, at(n, i), *expected);
	} else {
		assert_int_equal(read_word(&t, at(n, i)), *expected);
	}
}

static void step_drop(struct random *r)
{
	const unsigned int n = random_below(r, NR_AREAS);
	struct model_area *a = &areas[n];
	unsigned int i;

	if (!a->mapped)
		return;
	i = random_below(r, a->nr);
	drop_copy(a, i);
	assert_int_equal(pf_madvise(t.mm, at(n, i), HUGE,
				    PINFOLD_MADV_DONTNEED), 0);
}

static void step_unmap(struct random *r)
{
	const unsigned int n = random_below(r, NR_AREAS);

	if (areas[n].mapped)
		assert_int_equal(pf_munmap(t.mm, at(n, 0), areas[n].nr * HUGE),
				 0);
	end_area(&areas[n]);
}

/* The bytes of a hole begin and end inside of pages now and then. */
static void step_punch(struct random *r)
{
	struct model_file *f = &files[random_below(r, NR_FILES)];
	unsigned int first = random_below(r, NR_PLACES);
	unsigned int nr = random_below(r, NR_PLACES - first + 1);
	const bool before = first && random_chance(r, 30);
	const bool behind = first + nr < NR_PLACES && random_chance(r, 30);
	u64 start = first * HUGE - (before ? PAGE_SIZE : 0);
	u64 end = (first + nr) * HUGE + (behind ? PAGE_SIZE : 0);

	if (start == end)
		return;
	for (unsigned int p = first; p < first + nr; p++)
		if (f->place[p].page)
			drop_file_page(f, p);
	/* the end of a page is not its first word */
	if (behind)
		f->place[first + nr].word = 0;
	assert_int_equal(punch_bytes(f->file, start, end - start), 0);
}

static void step_truncate(struct random *r)
{
	const unsigned int n = random_below(r, NR_FILES);
	struct model_file *f = &files[n];
	const u64 size = random_below(r, NR_PLACES + 1);

	for (u64 p = size; size < f->size && p < NR_PLACES; p++) {
		if (f->place[p].page)
			drop_file_page(f, p);
		nr_promised -= f->place[p].entry;
		f->place[p].entry = false;
	}
	for (unsigned int k = 0; size < f->size && k < NR_AREAS; k++)
		for (unsigned int i = 0; i < areas[k].nr; i++)
			if (areas[k].file == n && areas[k].first + i >= size)
				drop_copy(&areas[k], i);
	f->size = size;
	assert_int_equal(pf_file_truncate(f->file, size * HUGE), 0);
}

static void step_allocate(struct random *r)
{
	struct model_file *f = &files[random_below(r, NR_FILES)];
	const unsigned int first = random_below(r, NR_PLACES);
	const unsigned int nr = 1 + random_below(r, NR_PLACES - first);
	const bool keep = random_chance(r, 50);
	unsigned int p = first;

	while (p < first + nr && file_page(f, p))
		p++;
	assert_int_equal(pf_file_allocate(f->file, keep ?
					  PINFOLD_FALLOC_KEEP_SIZE : 0,
					  (int64_t)(first * HUGE),
					  (int64_t)(nr * HUGE)),
			 p == first + nr ? 0 : -ENOSPC);
	if (p == first + nr && !keep)
		f->size = max(f->size, (u64)first + nr);
}

static void step_pin(struct random *r)
{
	const unsigned int n = random_below(r, NR_PINS);
	struct model_file *f = &files[random_below(r, NR_FILES)];
	const unsigned int p = random_below(r, NR_PLACES);
	struct pf_page *page;
	u64 offset;
	long expected = 1;

	if (pins[n].page || f->place[p].pin >= 0)
		return;
	if (p >= f->size)
		expected = -EINVAL;
	else if (!file_page(f, p))
		expected = -ENOMEM;
	assert_int_equal(pf_memfd_pin_folios(f->file, (int64_t)(p * HUGE) + 9,
					     (int64_t)(p * HUGE) + 9, &page, 1,
					     &offset), expected);
	if (expected != 1)
		return;
	assert_int_equal(offset, 9);
	pins[n].page = page_of(page);
	pins[n].orphan = false;
	f->place[p].pin = (int)n;
}

static void unpin(unsigned int n)
{
	struct pf_page *page = (struct pf_page *)pins[n].page;

	if (!page)
		return;
	if (pins[n].orphan)
		nr_free++;
	for (unsigned int i = 0; i < NR_FILES * NR_PLACES; i++)
		if (files[i % NR_FILES].place[i / NR_FILES].pin == (int)n)
			files[i % NR_FILES].place[i / NR_FILES].pin = -1;
	pf_unpin_user_pages(&page, 1);
	pins[n].page = NULL;
}

static void compare(bool all)
{
	struct page *held[NR_PINS];
	struct mm_holds holds = { .pins = held };

	assert_pool(nr_free, nr_promised);
	if (!all)
		return;
	for (unsigned int n = 0; n < NR_PINS; n++)
		if (pins[n].page)
			held[holds.nr_pins++] = pins[n].page;
	assert_int_equal(mm_validate(machine_of(t.machine), &holds), 0);
	for (unsigned int n = 0; n < NR_FILES; n++) {
		assert_int_equal(pf_file_size(files[n].file),
				 files[n].size * HUGE);
		for (unsigned int p = 0; p < files[n].size; p++)
			assert_int_equal(file_word(files[n].file, p * HUGE),
					 files[n].place[p].page ?
					 files[n].place[p].word : 0);
	}
}

static void random_step(struct random *r)
{
	static void (*const steps[])(struct random *r) = {
		step_map, step_map, step_touch, step_touch, step_touch,
		step_touch, step_drop, step_unmap, step_punch, step_truncate,
		step_allocate, step_pin,
	};
	const unsigned int which = random_below(r, ARRAY_SIZE(steps) + 1);

	if (which == ARRAY_SIZE(steps))
		unpin(random_below(r, NR_PINS));
	else
		steps[which](r);
}

static void one_round(struct random *r)
{
	begin(NR_POOL);
	nr_free = NR_POOL;
	nr_promised = 0;
	memset(files, 0, sizeof(files));
	memset(areas, 0, sizeof(areas));
	for (unsigned int n = 0; n < NR_FILES; n++) {
		files[n].file = huge_file(0);
		for (unsigned int p = 0; p < NR_PLACES; p++)
			files[n].place[p].pin = -1;
	}
	for (unsigned int i = 0; i < NR_STEPS; i++) {
		random_step(r);
		compare(i % 8 == 0);
	}
	compare(true);
	for (unsigned int n = 0; n < NR_PINS; n++)
		unpin(n);
	for (unsigned int n = 0; n < NR_FILES; n++)
		pf_file_close(files[n].file);
	end();
}

static void counts_are_the_models(void **state)
{
	struct random r;

	(void)state;
	random_init(&r);
	for (unsigned int i = 0; i < NR_ROUNDS; i++)
		one_round(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_the_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
