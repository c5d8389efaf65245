/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/hostfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int hostfd_open(int fd, bool writable, u64 *size)
{
	const int flags = fcntl(fd, F_GETFL);
	struct stat st;
	int copy;

	if (flags < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENODEV;
	if ((flags & O_ACCMODE) == O_WRONLY ||
	    (writable && (flags & O_ACCMODE) != O_RDWR))
		return -EACCES;
	*size = (u64)st.st_size;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

int hostfd_memory(u64 size)
{
	int fd = memfd_create("pinfold", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size))
		return fd;
	close(fd);
	return -errno;
}

void hostfd_close(int fd)
{
	close(fd);
}

void iov_advance(struct iovec **iov, unsigned int *nr, size_t bytes)
{
	while (*nr && bytes >= (*iov)->iov_len) {
		bytes -= (*iov)->iov_len;
		++*iov;
		--*nr;
	}
	if (bytes) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + bytes;
		(*iov)->iov_len -= bytes;
	}
}

int hostfd_readv(int fd, struct iovec **iov, unsigned int *nr, u64 pos,
		 u64 *done)
{
	*done = 0;
	while (*nr) {
		ssize_t got = preadv(fd, *iov, (int)*nr, (off_t)(pos + *done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		*done += (u64)got;
		iov_advance(iov, nr, (size_t)got);
	}
	return 0;
}

int hostfd_read(int fd, struct iovec *iov, unsigned int nr, u64 pos)
{
	u64 done;
	int err = hostfd_readv(fd, &iov, &nr, pos, &done);

	if (err != -ENODATA)
		return err;
	for (unsigned int i = 0; i < nr; i++)
		memset(iov[i].iov_base, 0, iov[i].iov_len);
	return 0;
}

int hostfd_truncate(int fd, u64 size)
{
	return ftruncate(fd, (off_t)size) ? -errno : 0;
}

int hostfd_fallocate(int fd, int mode, u64 offset, u64 len)
{
	return fallocate(fd, mode, (off_t)offset, (off_t)len) ? -errno : 0;
}
