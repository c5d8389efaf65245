/* SPDX-License-Identifier: MIT */
/*
 * Requests 7 to 9 of gup_test: a range that stays pinned.
 *
 * Locks: session->lock, then mmap_lock.
 * Source: mm/gup_test.c
 */
#include "lab/gup_test.h"

#include "api/handle.h"
#include "host/errtext.h"
#include "mm/gfp.h"
#include "mm/gup.h"

#include <errno.h>
#include <inttypes.h>

#define SESSION_FLAGS	(PIN_LONGTERM_TEST_FLAG_USE_WRITE | \
			 PIN_LONGTERM_TEST_FLAG_USE_FAST)

void gup_session_init(struct gup_session *session)
{
	*session = (struct gup_session){ 0 };
	init_rwsem(&session->lock, RANK_SESSION);
}

static int check_args(const struct pin_longterm_test *args)
{
	if (args->flags & ~SESSION_FLAGS)
		return fail(-EINVAL, "session flags %#" PRIx64, args->flags,
			    0, 0);
	if (!IS_ALIGNED(args->addr | args->size, PAGE_SIZE))
		return fail(-EINVAL, "%#" PRIx64 " + %" PRIu64
			    " are not whole pages", args->addr, args->size, 0);
	if (!args->size || args->size > INT64_MAX)
		return fail(-EINVAL, "a session of %" PRIu64 " bytes",
			    args->size, 0, 0);
	return 0;
}

static long pin_part(struct mm_struct *mm, bool fast, pf_addr_t addr,
		     unsigned long nr, unsigned int gup_flags,
		     struct page **pages)
{
	if (fast)
		return pin_user_pages_fast(addr, (int)min(nr, (unsigned long)
							  INT32_MAX),
					   gup_flags, pages);
	return pin_user_pages(mm, addr, nr, gup_flags, pages);
}

/* All of the range, in as many calls as it takes, or nothing. */
static int pin_range(struct mm_struct *mm, const struct pin_longterm_test *args,
		     struct page **pages, unsigned long nr_pages)
{
	const bool fast = args->flags & PIN_LONGTERM_TEST_FLAG_USE_FAST;
	const bool write = args->flags & PIN_LONGTERM_TEST_FLAG_USE_WRITE;
	unsigned long done = 0;
	long got = 1;

	if (!fast && mmap_read_lock_killable(mm))
		return fail(-EINTR, "killed while waiting for mmap_lock",
			    0, 0, 0);
	while (done < nr_pages && got > 0) {
		got = pin_part(mm, fast, args->addr + done * PAGE_SIZE,
			       nr_pages - done,
			       FOLL_LONGTERM | (write ? FOLL_WRITE : 0),
			       pages + done);
		done += max(got, 0L);
	}
	if (!fast)
		mmap_read_unlock(mm);
	if (done == nr_pages)
		return 0;
	unpin_user_pages(pages, done);
	/* Only invalid flags give 0, and there are none. */
	VM_BUG_ON(!got);
	return (int)got;
}

static int start_locked(struct gup_session *session, struct mm_struct *mm,
			const struct pin_longterm_test *args)
{
	unsigned long nr_pages = args->size / PAGE_SIZE;
	struct mm_struct *own = current->mm;
	struct machine *previous;
	struct page **pages;
	int err;

	if (session->pages)
		return fail(-EINVAL, "there is a session of %" PRIu64 " pages",
			    session->nr_pages, 0, 0);
	err = check_args(args);
	if (err)
		return err;
	pages = kzalloc(nr_pages * sizeof(*pages));
	if (!pages)
		return fail(-ENOMEM, "no memory for an array of %" PRIu64
			    " pages", nr_pages, 0, 0);
	previous = machine_enter(mm->machine);
	current->mm = mm;
	err = pin_range(mm, args, pages, nr_pages);
	current->mm = own;
	machine_leave(previous);
	if (err) {
		kfree(pages);
		return err;
	}
	session->pages = pages;
	session->nr_pages = nr_pages;
	return 0;
}

static int killed(void)
{
	return fail(-EINTR, "killed while waiting for the session", 0, 0, 0);
}

int gup_session_start(struct gup_session *session, struct mm_struct *mm,
		      const struct pin_longterm_test *args)
{
	int err;

	if (down_write_killable(&session->lock))
		return killed();
	err = start_locked(session, mm, args);
	up_write(&session->lock);
	return err;
}

int gup_session_stop(struct gup_session *session)
{
	down_write(&session->lock);
	if (session->pages) {
		unpin_user_pages(session->pages, session->nr_pages);
		kfree(session->pages);
		session->pages = NULL;
		session->nr_pages = 0;
	}
	up_write(&session->lock);
	return 0;
}

static int read_locked(struct gup_session *session, struct mm_struct *mm,
		       pf_addr_t to)
{
	if (!session->pages)
		return fail(-EINVAL, "there is no session", 0, 0, 0);
	for (unsigned long i = 0; i < session->nr_pages; i++) {
		struct page *page = session->pages[i];
		int64_t done;

		if (page_machine(page)->metadata_only)
			return fail(-EOPNOTSUPP, "a metadata-only machine has "
				    "no bytes", 0, 0, 0);
		done = pf_write((struct pf_mm *)mm, to + i * PAGE_SIZE,
				page_address(page), PAGE_SIZE);
		if (done == -EOPNOTSUPP)
			return -EOPNOTSUPP;
		if (done != PAGE_SIZE)
			return fail(-EFAULT, "%#" PRIx64 " cannot be written",
				    to + i * PAGE_SIZE, 0, 0);
	}
	return 0;
}

int gup_session_read(struct gup_session *session, struct mm_struct *mm,
		     const u64 *buffer)
{
	int err;

	if (down_write_killable(&session->lock))
		return killed();
	err = read_locked(session, mm, *buffer);
	up_write(&session->lock);
	return err;
}
