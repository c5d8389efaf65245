/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/image.h"

#include "host/hostfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int image_open(struct image *image, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ESPIPE;
	*image = (struct image){ .fd = fd, .size = (u64)st.st_size };
	return 0;
}

u64 image_next_data(const struct image *image, u64 offset, u64 end)
{
	off_t found = lseek(image->fd, (off_t)offset, SEEK_DATA);
	struct stat st;

	if (found >= 0)
		return min((u64)found, end);
	/* No data up to the end of the file, which may be near by now. */
	return errno == ENXIO && !fstat(image->fd, &st) &&
	       (u64)st.st_size >= end ? end : offset;
}

u64 image_next_hole(const struct image *image, u64 offset, u64 end)
{
	off_t found = lseek(image->fd, (off_t)offset, SEEK_HOLE);

	return found >= 0 ? min((u64)found, end) : end;
}

int image_read(struct image *image, struct iovec *iov, unsigned int nr,
	       u64 offset, u64 *done)
{
	return hostfd_readv(image->fd, &iov, &nr, offset, done);
}

int image_write(struct image *image, struct iovec *iov, unsigned int nr,
		u64 offset, u64 *done)
{
	*done = 0;
	while (nr) {
		ssize_t put = pwritev(image->fd, iov, (int)nr,
				      (off_t)(offset + *done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		*done += (u64)put;
		iov_advance(&iov, &nr, (size_t)put);
	}
	image->size = max(image->size, offset + *done);
	return 0;
}

static int write_zeroes(struct image *image, u64 offset, u64 bytes)
{
	static const char zeroes[65536];
	u64 done;
	int err = 0;

	while (bytes && !err) {
		struct iovec iov = { (void *)zeroes,
				     min(bytes, (u64)sizeof(zeroes)) };
		const u64 part = iov.iov_len;

		err = image_write(image, &iov, 1, offset, &done);
		offset += part;
		bytes -= part;
	}
	return err;
}

int image_zero(struct image *image, u64 offset, u64 bytes)
{
	u64 inside = offset < image->size ?
		     min(bytes, image->size - offset) : 0;
	int err = 0;

	if (inside && fallocate(image->fd, FALLOC_FL_PUNCH_HOLE |
				FALLOC_FL_KEEP_SIZE, (off_t)offset,
				(off_t)inside))
		err = write_zeroes(image, offset, inside);
	if (!err && inside < bytes) {
		if (ftruncate(image->fd, (off_t)(offset + bytes)))
			return -errno;
		image->size = offset + bytes;
	}
	return err;
}
