/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/image.h"

#include "host/stream_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW		(2ul << 20)	/* taken into the page tables at once */
#define SHORT_RUN	(64ul << 10)	/* read: mapping costs more */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

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

static void unmap(struct image *image)
{
	if (image->map)
		munmap((void *)image->map, image->map_end - image->map_start);
	image->map = NULL;
	image->map_end = image->map_start = image->run_end = 0;
}

void image_close(struct image *image)
{
	unmap(image);
}

void image_map(struct image *image, u64 start, u64 end)
{
	void *map;

	unmap(image);
	end = min(end, image->size);
	if (start >= end)
		return;
	map = mmap(NULL, end - start, PROT_READ, MAP_SHARED, image->fd,
		   (off_t)start);
	if (map == MAP_FAILED)
		return;
	image->map = map;
	image->map_start = start;
	image->map_end = end;
}

void image_run(struct image *image, u64 start, u64 end)
{
	image->ready_end = start;
	image->run_end = end - start < SHORT_RUN ? start : end;
}

/*
 * Let the mapped bytes before @end be there; an error shows here, and not as a
 * signal.  Only those of the run: a hole would be given memory.
 */
static bool make_ready(struct image *image, u64 end)
{
	while (image->ready_end < end) {
		u64 bytes = min(image->run_end - image->ready_end, WINDOW);

		if (madvise((char *)image->map +
			    (image->ready_end - image->map_start), bytes,
			    MADV_POPULATE_READ))
			return false;
		image->ready_end += bytes;
	}
	return true;
}

static int read_plainly(const struct image *image, char *to, u64 offset,
			size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(image->fd, to + done, bytes - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

int image_read(struct image *image, void *to, u64 offset, size_t bytes)
{
	if (image->map && offset + bytes <= image->run_end &&
	    make_ready(image, offset + bytes)) {
		stream_copy_unfenced(to, image->map +
				     (offset - image->map_start), bytes);
		return 0;
	}
	return read_plainly(image, to, offset, bytes);
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
		while (nr && (size_t)put >= iov->iov_len) {
			put -= (ssize_t)iov->iov_len;
			iov++;
			nr--;
		}
		if (put) {
			iov->iov_base = (char *)iov->iov_base + put;
			iov->iov_len -= (size_t)put;
		}
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
