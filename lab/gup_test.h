/* SPDX-License-Identifier: MIT */
/*
 * The requests of Linux's gup_test device, as functions on an address space.
 *
 * Names, numbers and records are those of the device.  Where it copies from and
 * to the caller, a record is a host pointer here, and so is the pointer to the
 * address that READ copies to; addresses in records are of the address space.
 *
 * Rules for callers
 * - Any thread may make any request at any time; the functions enter the
 *   machine and take mmap_lock themselves.
 * - What the device writes to the kernel's log goes to stderr.
 *
 * Source: mm/gup_test.c, mm/gup_test.h
 */
#ifndef LAB_GUP_TEST_H
#define LAB_GUP_TEST_H

#include "mm/mm.h"

#define GUP_FAST_BENCHMARK	0xc0506701u
#define PIN_FAST_BENCHMARK	0xc0506702u
#define PIN_LONGTERM_BENCHMARK	0xc0506703u
#define GUP_BASIC_TEST		0xc0506704u
#define PIN_BASIC_TEST		0xc0506705u
#define DUMP_USER_PAGES_TEST	0xc0506706u

#define GUP_TEST_MAX_PAGES_TO_DUMP	8

/* test_flags */
#define GUP_TEST_FLAG_DUMP_PAGES_USE_PIN	0x1u

struct gup_test {
	u64 get_delta_usec;	/* out */
	u64 put_delta_usec;	/* out */
	u64 addr;
	u64 size;		/* bytes; out: how far the calls got */
	u32 nr_pages_per_call;
	u32 gup_flags;		/* FOLL_* */
	u32 test_flags;
	/* counted from 1; 0: none; out: 0 for those that were not got */
	u32 which_pages[GUP_TEST_MAX_PAGES_TO_DUMP];
};

_Static_assert(sizeof(struct gup_test) == 80, "the device's record");

/*
 * gup_test_request() - get or pin a range in calls of so many pages, release it
 * @cmd: one of the six numbers above
 *
 * The first call that gets less than it asked for is the last.  @record->size
 * then is the distance to the next call: behind the whole part that came short,
 * or before the part of which nothing came.  So a range that ends short within
 * its last call looks complete, as it does in Linux.
 *
 * Context: mmap_lock not held; requests 3 to 6 hold it for read from the first
 * get to the last put.
 * Return: 0, whatever was got; -ENOMEM without memory for the array; -EINTR if
 * killed while waiting for the lock; -EINVAL for another number.
 */
int __must_check gup_test_request(struct mm_struct *mm, u32 cmd,
				  struct gup_test *record);

/* flags of a session */
#define PIN_LONGTERM_TEST_FLAG_USE_WRITE	0x1u
#define PIN_LONGTERM_TEST_FLAG_USE_FAST		0x2u

struct pin_longterm_test {
	u64 addr;
	u64 size;		/* bytes */
	u32 flags;
};

_Static_assert(sizeof(struct pin_longterm_test) == 24, "the device's record");

/* What the device keeps: the pages of one range, pinned longterm. */
struct gup_session {
	struct rw_semaphore lock;	/* all below */
	struct page **pages;		/* NULL: no session */
	unsigned long nr_pages;
};

/* gup_session_init() - no session yet */
void gup_session_init(struct gup_session *session);

/*
 * gup_session_start() - pin a range and keep it
 *
 * Return: 0, and all of it is pinned; -EINVAL (there is a session, unknown
 * flags, address or size not of whole pages, size 0), -ENOMEM, -EINTR, or what
 * pinning said, and nothing is pinned.
 * Owner: the session, until gup_session_stop().
 */
int __must_check gup_session_start(struct gup_session *session,
				   struct mm_struct *mm,
				   const struct pin_longterm_test *args);

/*
 * gup_session_stop() - unpin it; as closing the device does
 *
 * Return: 0, also without a session.
 */
int gup_session_stop(struct gup_session *session);

/*
 * gup_session_read() - copy the pinned pages' bytes to @mm
 * @buffer: address in @mm
 *
 * Return: 0; -EINVAL without a session; -EFAULT if @buffer cannot be written
 * (pages before that one have been); -EINTR; -EOPNOTSUPP on a metadata-only
 * machine.
 */
int __must_check gup_session_read(struct gup_session *session,
				  struct mm_struct *mm, const u64 *buffer);

#endif
