/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of the host's: regular files, read and resized.
 *
 * All return 0, or a count, or a negative errno of the host's.
 */
#ifndef HOST_HOSTFD_H
#define HOST_HOSTFD_H

#include "host/compiler.h"
#include "host/types.h"

#include <sys/uio.h>

/*
 * hostfd_open() - a duplicate of @fd, if it is a regular file open for reading,
 * and for writing if @writable
 *
 * Return: the duplicate, and *@size in bytes; -EBADF, -ENODEV, -EACCES, -EMFILE.
 * Owner: the caller, who calls hostfd_close().
 */
int __must_check hostfd_open(int fd, bool writable, u64 *size);
/* hostfd_memory() - a file of @size zeroes that has no name; or a negative errno */
int __must_check hostfd_memory(u64 size);
void hostfd_close(int fd);

/* iov_advance() - what is left of *@iov behind its first @bytes */
void iov_advance(struct iovec **iov, unsigned int *nr, size_t bytes);

/*
 * hostfd_readv() - fill *@iov from @pos on; what could not be is left in it
 *
 * A signal does not end it.
 * Return: 0; -ENODATA, the file has ended; or the host's errno.  *@done: bytes.
 */
int __must_check hostfd_readv(int fd, struct iovec **iov, unsigned int *nr,
			      u64 pos, u64 *done);
/*
 * hostfd_read() - fill all of @iov, which is used up, from @pos on
 *
 * What lies above the end of the file is zero.  A signal does not end it.
 */
int __must_check hostfd_read(int fd, struct iovec *iov, unsigned int nr,
			     u64 pos);

int __must_check hostfd_truncate(int fd, u64 size);
/* @mode: as fallocate(2) */
int __must_check hostfd_fallocate(int fd, int mode, u64 offset, u64 len);

#endif
