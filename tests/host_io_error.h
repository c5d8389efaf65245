/* SPDX-License-Identifier: MIT */
/*
 * A disk that cannot read a page: what the library reads with preadv() passes
 * here.  Reads that begin before the page end in front of it, as on a real one.
 */
#ifndef TESTS_HOST_IO_ERROR_H
#define TESTS_HOST_IO_ERROR_H

#include "host/compiler.h"
#include "host/types.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_BAD_PAGE	-1L

static long bad_page = NO_BAD_PAGE;	/* of every file */
static unsigned int bad_reads;		/* how often somebody tried */
static unsigned int odd_reads;		/* to what O_DIRECT does not read to */

/* Not the C library's: a buffer at a time, which may end any of its reads too. */
ssize_t preadv(int fd, const struct iovec *iov, int nr __maybe_unused, off_t at)
{
	const off_t bad = (off_t)bad_page * 4096;
	size_t bytes = iov->iov_len;

	odd_reads += (uintptr_t)iov->iov_base % 4096 != 0;
	if (bad_page != NO_BAD_PAGE && at >= bad && at < bad + 4096) {
		bad_reads++;
		errno = EIO;
		return -1;
	}
	if (bad_page != NO_BAD_PAGE && at < bad && bytes > (size_t)(bad - at))
		bytes = (size_t)(bad - at);
	return pread(fd, iov->iov_base, bytes, at);
}

#endif
