/* SPDX-License-Identifier: MIT */
/*
 * Claim: a store to a page that is write-protected for a handler waits until the
 * protection is ended, calls the handler once, and then goes to the page that
 * was there; who may not wait gets an error and the handler hears nothing.
 * Whatever else happens to the entry, protection stays until it is ended, or the
 * page is gone.
 *
 * Source: semantics/gup.md 2.2, 2.5, 3.7, 4.6, 4.7; Linux's userfaultfd(2) and
 * uffd-wp selftests
 */
#include "tests/fault_test.h"
#include "tests/random.h"

#include "host/backend.h"
#include "mm/userfaultfd.h"

#include <errno.h>
#include <sched.h>

#define NR	HPAGE_PMD_NR

/* ---- a handler that counts, and may resolve -------------------------- */

struct handler {
	unsigned int events;
	pf_addr_t last;
	u64 resolve;		/* bytes to unprotect around the page; 0: none */
};

static struct handler handler;

static void on_fault(void *arg, pf_addr_t address)
{
	struct handler *h = arg;

	WRITE_ONCE(h->last, address);
	if (h->resolve)
		BUG_ON(pf_userfault_writeprotect(t.mm,
						 ALIGN_DOWN(address, h->resolve),
						 h->resolve, false));
	smp_store_release(&h->events, h->events + 1);
}

static unsigned int events(void)
{
	return smp_load_acquire(&handler.events);
}

static void enroll(u64 page, u64 nr)
{
	assert_int_equal(pf_userfault_register(t.mm, AT + PAGES(page),
					       PAGES(nr), on_fault, &handler),
			 0);
}

static int protect(u64 page, u64 nr, bool on)
{
	return pf_userfault_writeprotect(t.mm, AT + PAGES(page), PAGES(nr), on);
}

static void begin(unsigned long orders, u64 fill)
{
	handler = (struct handler){ .resolve = PAGE_SIZE };
	BEGIN(.memory_bytes = MIB(16), .thp_always = orders,
	      .hugetlb_2m_pages = 1);
	map_at(&t, AT, 2 * NR, RW);
	for (u64 i = 0; i < fill; i++)
		write_word(&t, AT + PAGES(i), i + 1);
}

static bool is_wp(u64 page)
{
	uint64_t entry;

	assert_int_equal(pf_pagemap(t.mm, AT + PAGES(page), 1, &entry), 0);
	return entry & PINFOLD_PM_UFFD_WP;
}

/* ---- who may register ------------------------------------------------ */

static void test_errno(void **state)
{
	struct handler other = { 0 };

	(void)state;
	begin(0, 4);
	assert_int_equal(protect(0, 4, true), -ENOENT);
	assert_int_equal(pf_userfault_register(t.mm, AT + 1, PAGE_SIZE,
					       on_fault, &handler), -EINVAL);
	assert_int_equal(pf_userfault_register(t.mm, AT, 0, on_fault,
					       &handler), -EINVAL);
	assert_int_equal(pf_userfault_register(t.mm, AT - PMD_SIZE, PMD_SIZE,
					       on_fault, &handler), -EINVAL);
	enroll(1, 2);
	enroll(0, 4);			/* the same handler: all right */
	assert_int_equal(pf_userfault_register(t.mm, AT, PAGES(9), on_fault,
					       &other), -EBUSY);
	assert_int_equal(pf_userfault_register(t.mm, AT, PAGES(9), NULL,
					       NULL), -EBUSY);
	assert_int_equal(protect(0, 5, true), -ENOENT);
	assert_true(is_wp(3));		/* as far as it went */
	assert_int_equal(protect(0, 4, true), 0);
	assert_int_equal(protect(4, 1, true), -ENOENT);
	assert_valid(&t);
	assert_int_equal(pf_userfault_unregister(t.mm, AT, PAGES(4)), 0);
	assert_false(is_wp(3));
	assert_int_equal(mm_of(t.mm)->map_count, 1);
	assert_int_equal(protect(0, 4, true), -ENOENT);
	write_word(&t, AT, 5);
	assert_int_equal(events(), 0);
	mm_test_end(&t);
}

/* [fail_nth] an area that cannot be cut is not registered. */
static void test_register_fails(void **state)
{
	long nth = 1;
	int err;

	(void)state;
	begin(0, 4);
	do {
		current->fail_nth = nth++;
		err = pf_userfault_register(t.mm, AT + PAGES(1), PAGES(2),
					    on_fault, &handler);
		current->fail_nth = 0;
		assert_true(err == 0 || err == -ENOMEM);
		assert_valid(&t);
		if (err)
			assert_int_equal(mm_of(t.mm)->map_count, 1);
	} while (err);
	assert_int_equal(nth, 5);	/* handler, and two cuts */
	nth = 1;
	do {
		current->fail_nth = nth++;
		err = pf_userfault_unregister(t.mm, AT + PAGES(1), PAGES(1));
		current->fail_nth = 0;
		assert_true(err == 0 || err == -ENOMEM);
		assert_valid(&t);
	} while (err);
	assert_int_equal(nth, 3);
	mm_test_end(&t);
}

/* ---- one page -------------------------------------------------------- */

static void test_store(void **state)
{
	struct page *page;
	struct pf_page *pin;
	void *bytes;

	(void)state;
	begin(0, 4);
	enroll(0, 8);
	page = page_mapped_at(&t, AT);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &pin,
						    PINFOLD_FOLL_WRITE), 1);
	assert_int_equal(protect(0, 8, true), 0);
	assert_false(pte_write(entry_at(&t, AT)));
	assert_int_equal(read_word(&t, AT), 1);
	assert_int_equal(events(), 0);
	write_word(&t, AT, 77);
	assert_int_equal(events(), 1);
	assert_int_equal(handler.last, AT);
	/* the page of the pin, and no second event */
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_int_equal(pf_page_address(pin, &bytes), 0);
	assert_int_equal(*(u64 *)bytes, 77);
	write_word(&t, AT, 78);
	assert_int_equal(events(), 1);
	assert_true(is_wp(1));
	/* what was not there is not protected */
	write_word(&t, AT + PAGES(6), 1);
	assert_int_equal(events(), 1);
	pf_unpin_user_page(pin);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_zero_page(void **state)
{
	(void)state;
	for (int huge = 0; huge < 2; huge++) {
		begin(huge ? BIT(HPAGE_PMD_ORDER) : 0, 0);
		assert_int_equal(read_word(&t, AT), 0);
		enroll(0, NR);
		assert_int_equal(protect(0, NR, true), 0);
		write_word(&t, AT, 5);
		assert_int_equal(events(), 1);
		assert_int_equal(read_word(&t, AT), 5);
		assert_int_equal(read_word(&t, AT + PAGE_SIZE), 0);
		assert_int_equal(is_wp(1), huge);
		assert_valid(&t);
		mm_test_end(&t);
	}
}

/* [gup_2.2] who may not let mmap_lock go; who does not want to wait */
static void test_no_wait(void **state)
{
	struct pf_page *page;
	pte_t before;

	(void)state;
	begin(0, 4);
	enroll(0, 4);
	assert_int_equal(protect(0, 4, true), 0);
	before = entry_at(&t, AT);
	pf_mm_read_lock(t.mm);
	assert_int_equal(pf_pin_user_pages(t.mm, AT, 1, PINFOLD_FOLL_WRITE,
					   &page), -EFAULT);
	assert_int_equal(pf_get_user_pages(t.mm, AT, 1, PINFOLD_FOLL_WRITE |
					   PINFOLD_FOLL_NOWAIT, &page), 0);
	/* for reading nothing is in the way */
	assert_int_equal(pf_pin_user_pages(t.mm, AT, 1, 0, &page), 1);
	pf_mm_read_unlock(t.mm);
	pf_unpin_user_page(page);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, AT, 1,
						PINFOLD_FOLL_WRITE |
						PINFOLD_FOLL_NOFAULT, &page),
			 -EFAULT);
	assert_int_equal(events(), 0);
	assert_int_equal(pte_val(entry_at(&t, AT)), pte_val(before));
	/* the forms that take the lock wait, once a page */
	assert_int_equal(pf_pin_user_pages_fast(t.mm, AT, 1,
						PINFOLD_FOLL_WRITE, &page), 1);
	assert_int_equal(events(), 1);
	pf_unpin_user_page(page);
	assert_valid(&t);
	mm_test_end(&t);
}

/* [gup_4.6] an unshare fault is no store, and leaves the mark */
static void test_unshare(void **state)
{
	struct pf_page *page;
	struct page *shared;

	(void)state;
	begin(0, 1);
	enroll(0, 1);
	assert_int_equal(protect(0, 1, true), 0);
	shared = orphan_page(AT);
	folio_get(page_folio(shared));
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, AT, 1, &page, 0), 1);
	assert_ptr_not_equal(page_of(page), shared);
	assert_true(is_wp(0));
	assert_int_equal(events(), 0);
	folio_put(page_folio(shared));
	pf_unpin_user_page(page);
	write_word(&t, AT, 2);
	assert_int_equal(events(), 1);
	mm_test_end(&t);
}

/* ---- waiting --------------------------------------------------------- */

struct writer {
	pf_addr_t at;
	u64 word;
	int64_t ret;
	bool done;
	struct pf_task *task;
	struct backend_thread *thread;
};

static void run_writer(void *arg)
{
	struct writer *w = arg;

	smp_store_release(&w->task, pf_task_self());
	w->ret = pf_write(t.mm, w->at, &w->word, sizeof(w->word));
	smp_store_release(&w->done, true);
}

/* Start it, and see it wait. */
static void start_writer(struct writer *w, u64 page)
{
	unsigned int before = events();

	*w = (struct writer){ .at = AT + PAGES(page), .word = 100 + page };
	assert_int_equal(backend_thread_create(&w->thread, run_writer, w), 0);
	while (events() == before)
		sched_yield();
	for (int i = 0; i < 50; i++)
		sched_yield();
	assert_false(smp_load_acquire(&w->done));
}

static void end_writer(struct writer *w, int64_t expected)
{
	backend_thread_join(w->thread);
	assert_int_equal(w->ret, expected);
}

static void begin_waiting(struct writer *w, unsigned int nr)
{
	begin(0, 16);
	handler.resolve = 0;
	enroll(0, 16);
	assert_int_equal(protect(0, 16, true), 0);
	for (unsigned int i = 0; i < nr; i++)
		start_writer(&w[i], 2 * i);
}

static void test_resolved_by_other(void **state)
{
	struct writer w[2];

	(void)state;
	begin_waiting(w, 2);
	assert_int_equal(protect(1, 1, false), 0);	/* no one's */
	assert_int_equal(protect(2, 1, false), 0);
	end_writer(&w[1], 8);
	/* Had it been woken it would ask again. */
	for (int i = 0; i < 50; i++)
		sched_yield();
	assert_false(smp_load_acquire(&w[0].done));
	assert_int_equal(protect(0, 1, false), 0);
	end_writer(&w[0], 8);
	assert_int_equal(read_word(&t, AT), 100);
	assert_int_equal(read_word(&t, AT + PAGES(2)), 102);
	assert_int_equal(events(), 2);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_ends_of_waiting(void **state)
{
	struct writer w[3];

	(void)state;
	begin_waiting(w, 3);
	/* a signal: only a fatal one */
	pf_task_signal(w[0].task, false);
	for (int i = 0; i < 50; i++)
		sched_yield();
	assert_false(smp_load_acquire(&w[0].done));
	pf_task_signal(w[0].task, true);
	end_writer(&w[0], -EINTR);
	assert_int_equal(read_word(&t, AT), 1);
	assert_true(is_wp(0));
	/* the page is unmapped */
	assert_int_equal(pf_munmap(t.mm, AT + PAGES(2), PAGE_SIZE), 0);
	end_writer(&w[1], -EFAULT);
	/* nobody serves it any more */
	assert_int_equal(pf_userfault_unregister(t.mm, AT, PAGES(16)), 0);
	end_writer(&w[2], 8);
	assert_int_equal(read_word(&t, AT + PAGES(4)), 104);
	assert_valid(&t);
	mm_test_end(&t);
}

/* ---- huge entries ---------------------------------------------------- */

static void test_huge(void **state)
{
	struct page *page;

	(void)state;
	begin(BIT(HPAGE_PMD_ORDER), NR);
	page = page_mapped_at(&t, AT);
	enroll(0, 2 * NR);
	assert_int_equal(protect(0, NR, true), 0);
	assert_true(pmd_uffd_wp(leaf_at(&t, AT)));
	assert_false(pmd_write(leaf_at(&t, AT)));
	/* the whole at once: the leaf stays, and is writable without a fault */
	handler.resolve = PMD_SIZE;
	write_word(&t, AT + PAGES(9), 77);
	assert_int_equal(events(), 1);
	assert_int_equal(handler.last, AT + PAGES(9));
	assert_true(pmd_write(leaf_at(&t, AT)));
	/* page by page: mapped by PTEs from then on */
	assert_int_equal(protect(0, NR, true), 0);
	handler.resolve = PAGE_SIZE;
	write_word(&t, AT + PAGES(9), 78);
	assert_true(pmd_none(leaf_at(&t, AT)));
	assert_false(is_wp(9));
	assert_true(is_wp(8) && is_wp(10) && is_wp(0));
	assert_ptr_equal(page_mapped_at(&t, AT), page);
	assert_int_equal(read_word(&t, AT + PAGES(8)), 9);
	assert_int_equal(events(), 2);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_hugetlb(void **state)
{
	struct pf_page *pin;
	pf_addr_t place;
	void *bytes;

	(void)state;
	begin(0, 0);
	assert_int_equal(pf_mmap(t.mm, 0, PMD_SIZE, RW, PINFOLD_MAP_HUGETLB,
				 &place), 0);
	write_word(&t, place + PAGES(3), 4);
	assert_int_equal(pf_userfault_register(t.mm, place, PAGE_SIZE,
					       on_fault, &handler), -EINVAL);
	assert_int_equal(pf_userfault_register(t.mm, place, PMD_SIZE,
					       on_fault, &handler), 0);
	assert_int_equal(pf_userfault_writeprotect(t.mm, place, PAGE_SIZE,
						   true), -EINVAL);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, place, 1, &pin,
						    PINFOLD_FOLL_WRITE), 1);
	assert_int_equal(pf_userfault_writeprotect(t.mm, place, PMD_SIZE,
						   true), 0);
	handler.resolve = PMD_SIZE;
	write_word(&t, place, 9);
	assert_int_equal(events(), 1);
	assert_int_equal(handler.last, place);
	assert_int_equal(pf_page_address(pin, &bytes), 0);
	assert_int_equal(*(u64 *)bytes, 9);
	assert_false(pmd_uffd_wp(leaf_at(&t, place)));
	pf_unpin_user_page(pin);
	/* and without a handler */
	assert_int_equal(pf_userfault_unregister(t.mm, place, PMD_SIZE), 0);
	assert_int_equal(pf_userfault_register(t.mm, place, PMD_SIZE, NULL,
					       NULL), 0);
	assert_int_equal(pf_userfault_writeprotect(t.mm, place, PMD_SIZE,
						   true), 0);
	write_word(&t, place, 10);
	assert_false(pmd_uffd_wp(leaf_at(&t, place)));
	assert_int_equal(read_word(&t, place + PAGES(3)), 4);
	assert_valid(&t);
	mm_test_end(&t);
}

/* ---- what else happens ----------------------------------------------- */

static void test_async(void **state)
{
	(void)state;
	begin(BIT(HPAGE_PMD_ORDER), NR);
	assert_int_equal(pf_userfault_register(t.mm, AT, PMD_SIZE, NULL, NULL),
			 0);
	assert_int_equal(protect(0, NR, true), 0);
	write_word(&t, AT + PAGES(5), 1);
	for (u64 i = 0; i < NR; i++)
		assert_int_equal(is_wp(i), i != 5);
	assert_valid(&t);
	mm_test_end(&t);
}

static void test_moved(void **state)
{
	pf_addr_t there = AT + 8 * PMD_SIZE, place;

	(void)state;
	begin(0, 16);
	enroll(0, 16);
	assert_int_equal(protect(0, 16, true), 0);
	assert_int_equal(pf_mremap(t.mm, AT, PAGES(8), PAGES(8),
				   PINFOLD_MREMAP_MAYMOVE |
				   PINFOLD_MREMAP_FIXED, there, &place), 0);
	assert_valid(&t);
	for (u64 i = 0; i < 16; i++)
		assert_int_equal(is_wp(8 * NR + i), false);
	write_word(&t, there, 7);
	assert_int_equal(events(), 0);
	assert_int_equal(pf_userfault_writeprotect(t.mm, there, PAGE_SIZE,
						   true), -ENOENT);
	/* what stayed is served still */
	write_word(&t, AT + PAGES(9), 7);
	assert_int_equal(events(), 1);
	mm_test_end(&t);
}

/* Protection against what else changes entries, and cuts areas. */
static void test_stays(void **state)
{
	struct page *before[16];

	(void)state;
	begin(BIT(4), 16);
	enroll(0, 16);
	assert_int_equal(protect(0, 16, true), 0);
	for (u64 i = 0; i < 16; i++)
		before[i] = page_mapped_at(&t, AT + PAGES(i));
	assert_int_equal(pf_mprotect(t.mm, AT + PAGES(4), PAGES(4),
				     PINFOLD_PROT_READ), 0);
	assert_int_equal(pf_mprotect(t.mm, AT, PAGES(16), 0), 0);
	assert_int_equal(pf_mprotect(t.mm, AT, PAGES(16), RW), 0);
	assert_true(pf_numa_hint(t.mm, AT, PAGES(16)) == 16);
	assert_int_equal(read_word(&t, AT), 1);
	assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
	assert_int_equal(pf_split(t.mm, AT, PAGES(16), 0), 1);
	assert_int_equal(pf_madvise(t.mm, AT, PMD_SIZE,
				    PINFOLD_MADV_COLLAPSE), -EINVAL);
	assert_valid(&t);
	for (u64 i = 0; i < 16; i++) {
		assert_true(is_wp(i));
		write_word(&t, AT + PAGES(i), 50 + i);
		assert_int_equal(events(), i + 1);
		assert_ptr_equal(page_mapped_at(&t, AT + PAGES(i)), before[i]);
	}
	mm_test_end(&t);
}

/* ---- at random ------------------------------------------------------- */

struct model {
	u64 words[NR];
	bool wp[NR];
	unsigned int events;
};

static void model_store(struct model *m, unsigned int page)
{
	m->events += m->wp[page];
	m->wp[page] = false;
	write_word(&t, AT + PAGES(page), ++m->words[page]);
	assert_int_equal(events(), m->events);
}

static void model_protect(struct model *m, u64 page, u64 nr, bool on)
{
	for (u64 i = page; i < page + nr; i++)
		m->wp[i] = on && resident_at(&t, AT + PAGES(i));
	assert_int_equal(protect(page, nr, on), 0);
}

static void random_step(struct random *r, struct model *m)
{
	u64 page = random_below(r, NR), nr = 1 + random_below(r, NR - page);
	pf_addr_t at = AT + PAGES(page);

	if (random_chance(r, 20)) {
		page = 0;
		nr = NR;
		at = AT;
	}
	switch (random_below(r, 10)) {
	case 0:
	case 1:
		model_protect(m, page, nr, true);
		break;
	case 2:
		model_protect(m, page, nr, false);
		break;
	case 3:
		nr = min(nr, (u64)40);
		assert_int_equal(pf_madvise(t.mm, at, PAGES(nr),
					    PINFOLD_MADV_DONTNEED), 0);
		memset(m->words + page, 0, nr * sizeof(*m->words));
		memset(m->wp + page, 0, nr * sizeof(*m->wp));
		break;
	case 4:
		assert_int_equal(pf_mprotect(t.mm, at, PAGES(nr),
					     PINFOLD_PROT_READ), 0);
		assert_int_equal(pf_mprotect(t.mm, AT, PMD_SIZE, RW), 0);
		break;
	case 5:
		assert_true(pf_numa_hint(t.mm, at, PAGES(nr)) >= 0);
		assert_int_equal(pf_clear_soft_dirty(t.mm), 0);
		break;
	case 6:
		assert_true(pf_split(t.mm, at, PAGES(nr),
				     2 * random_below(r, 4)) >= 0);
		(void)!pf_madvise(t.mm, AT, PMD_SIZE, PINFOLD_MADV_COLLAPSE);
		break;
	default:
		model_store(m, page);
		break;
	}
}

static void test_random(void **state)
{
	static struct model m;
	struct random r;

	(void)state;
	random_init(&r);
	for (int round = 0; round < 8; round++) {
		begin(round & 1 ? BIT(HPAGE_PMD_ORDER) :
				  round ? BIT(round) : 0, 0);
		memset(&m, 0, sizeof(m));
		enroll(0, 2 * NR);
		for (int step = 0; step < 120; step++) {
			random_step(&r, &m);
			if (step % 20 == 19)
				assert_valid(&t);
		}
		for (unsigned int i = 0; i < NR; i++) {
			assert_int_equal(is_wp(i), m.wp[i]);
			assert_int_equal(read_word(&t, AT + PAGES(i)),
					 m.words[i]);
		}
		assert_int_equal(events(), m.events);
		mm_test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_register_fails),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_zero_page),
		cmocka_unit_test(test_no_wait),
		cmocka_unit_test(test_unshare),
		cmocka_unit_test(test_resolved_by_other),
		cmocka_unit_test(test_ends_of_waiting),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_hugetlb),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
