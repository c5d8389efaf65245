/* SPDX-License-Identifier: MIT */
/*
 * Requests 1 to 6 of gup_test: get or pin a range, look at it, release it.
 *
 * The times are of the calls alone: the array is there before them, and what is
 * looked up in between is not counted.
 *
 * Source: mm/gup_test.c
 */
#include "lab/gup_test.h"

#include "host/clock.h"
#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/gup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct job {
	struct mm_struct *mm;
	struct gup_test *record;
	u32 cmd;
	bool pins, longterm;	/* what the pages have to be */
	struct page **pages;
	unsigned long nr;	/* pages got */
};

static bool is_fast(u32 cmd)
{
	return cmd == GUP_FAST_BENCHMARK || cmd == PIN_FAST_BENCHMARK;
}

static bool takes_pins(u32 cmd, u32 test_flags)
{
	switch (cmd) {
	case PIN_FAST_BENCHMARK:
	case PIN_LONGTERM_BENCHMARK:
	case PIN_BASIC_TEST:
		return true;
	case DUMP_USER_PAGES_TEST:
		return test_flags & GUP_TEST_FLAG_DUMP_PAGES_USE_PIN;
	default:
		return false;
	}
}

/* ---- getting and putting ------------------------------------------------- */

static long get_part(const struct job *job, pf_addr_t addr, unsigned long nr)
{
	const unsigned int flags = job->record->gup_flags;
	struct page **pages = job->pages + job->nr;

	if (is_fast(job->cmd))
		return job->pins ?
			pin_user_pages_fast(addr, (int)nr, flags, pages) :
			get_user_pages_fast(addr, (int)nr, flags, pages);
	if (!job->pins)
		return get_user_pages(job->mm, addr, nr, flags, pages);
	return pin_user_pages(job->mm, addr, nr,
			      flags | (job->longterm ? FOLL_LONGTERM : 0),
			      pages);
}

/*
 * With 100 pages a call and 250 pages, of which the 130th cannot be got:
 *
 *   0        100       200    250      calls: 100 -> 100, 100 -> 29, end
 *   |---------|--x------|------|       size:  200 pages, 129 are got
 */
static void get_range(struct job *job)
{
	struct gup_test *record = job->record;
	const unsigned long per_call = record->nr_pages_per_call;
	const pf_addr_t end = record->addr + record->size;
	pf_addr_t at = record->addr;
	unsigned long nr;
	long got;

	while (at < end) {
		nr = min(per_call, (end - at) / PAGE_SIZE);
		got = get_part(job, at, nr);
		if (got <= 0)
			break;
		job->nr += got;
		at += min(per_call * PAGE_SIZE, end - at);
		if ((unsigned long)got != per_call)
			break;
	}
	record->size = at - record->addr;
}

static void put_range(struct job *job)
{
	if (job->pins) {
		unpin_user_pages(job->pages, job->nr);
		return;
	}
	for (unsigned long i = 0; i < job->nr; i++)
		put_page(job->pages[i]);
}

/* ---- looking at what was got --------------------------------------------- */

/* As one piece, whatever other threads say. */
static void log_page(const struct job *job, unsigned long i, const char *why)
{
	struct page *page = job->pages[i];

	flockfile(stderr);
	fprintf(stderr, "gup_test: page %lu of the range at %#" PRIx64
		", frame %" PRIu64 "\n", i, job->record->addr,
		(u64)page_to_pfn(page));
	dump_folio(page_folio(page), why);
	funlockfile(stderr);
}

/* The first page that is not what it has to be is enough. */
static void verify(const struct job *job)
{
	for (unsigned long i = 0; i < job->nr && job->pins; i++) {
		struct folio *folio = page_folio(job->pages[i]);

		if (!folio_maybe_dma_pinned(folio)) {
			log_page(job, i, "warning: it is not pinned");
			return;
		}
		if (job->longterm && !folio_is_longterm_pinnable(folio)) {
			log_page(job, i, "warning: it may not be pinned for "
				 "long");
			return;
		}
	}
}

static void dump_chosen(const struct job *job)
{
	u32 *which = job->record->which_pages;

	for (unsigned int k = 0; k < GUP_TEST_MAX_PAGES_TO_DUMP; k++) {
		if (which[k] > job->nr) {
			fprintf(stderr, "gup_test: warning: page %" PRIu32
				" is not among the %lu that were got\n",
				which[k] - 1, job->nr);
			which[k] = 0;
		}
		if (which[k])
			log_page(job, which[k] - 1, "it was chosen");
	}
}

/* ---- the request --------------------------------------------------------- */

static void run(struct job *job)
{
	struct gup_test *record = job->record;
	u64 start = clock_ns();

	get_range(job);
	record->get_delta_usec = (clock_ns() - start) / 1000;
	verify(job);
	if (job->cmd == DUMP_USER_PAGES_TEST)
		dump_chosen(job);
	start = clock_ns();
	put_range(job);
	record->put_delta_usec = (clock_ns() - start) / 1000;
}

static int run_as_own_mm(struct job *job)
{
	const bool lock = !is_fast(job->cmd);
	struct machine *previous;
	struct mm_struct *own = current->mm;

	if (lock && mmap_read_lock_killable(job->mm))
		return fail(-EINTR, "killed while waiting for mmap_lock",
			    0, 0, 0);
	previous = machine_enter(job->mm->machine);
	current->mm = job->mm;
	run(job);
	current->mm = own;
	machine_leave(previous);
	if (lock)
		mmap_read_unlock(job->mm);
	return 0;
}

int gup_test_request(struct mm_struct *mm, u32 cmd, struct gup_test *record)
{
	const unsigned long nr_pages = record->size / PAGE_SIZE;
	struct job job = {
		.mm = mm,
		.record = record,
		.cmd = cmd,
		.pins = takes_pins(cmd, record->test_flags),
		.longterm = cmd == PIN_LONGTERM_BENCHMARK ||
			    (record->gup_flags & FOLL_LONGTERM),
	};
	int err;

	if (cmd < GUP_FAST_BENCHMARK || cmd > DUMP_USER_PAGES_TEST)
		return fail(-EINVAL, "no request %#" PRIx64, cmd, 0, 0);
	job.pages = kzalloc((nr_pages + 1) * sizeof(*job.pages));
	if (!job.pages)
		return fail(-ENOMEM, "no memory for an array of %" PRIu64
			    " pages", nr_pages, 0, 0);
	host_touch(job.pages, (nr_pages + 1) * sizeof(*job.pages));
	err = run_as_own_mm(&job);
	kfree(job.pages);
	return err;
}
