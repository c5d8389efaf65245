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

static ssize_t read_some(int fd, const struct iovec *iov, unsigned int nr,
			 u64 pos)
{
	ssize_t got;

	do {
		got = preadv(fd, iov, (int)nr, (off_t)pos);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void use_up(struct iovec *iov, unsigned int nr, size_t bytes)
{
	for (unsigned int i = 0; i < nr && bytes; i++) {
		size_t part = bytes < iov[i].iov_len ? bytes : iov[i].iov_len;

		iov[i].iov_base = (char *)iov[i].iov_base + part;
		iov[i].iov_len -= part;
		bytes -= part;
	}
}

int hostfd_read(int fd, struct iovec *iov, unsigned int nr, u64 pos)
{
	unsigned int i = 0;

	while (i < nr) {
		ssize_t got;

		if (!iov[i].iov_len) {
			i++;
			continue;
		}
		got = read_some(fd, iov + i, nr - i, pos);
		if (got < 0)
			return (int)got;
		if (!got)
			break;
		use_up(iov + i, nr - i, (size_t)got);
		pos += (u64)got;
	}
	for (; i < nr; i++)
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
