/* SPDX-License-Identifier: MIT */
/*
 * The image of a memory: a file of raw pages, maybe with holes.
 *
 * Reading goes through a mapping where there is one, so that the bytes are
 * copied once, by our own copy; what cannot be reached that way is read.
 *
 * Limit: a mapped file that is truncated while it is read costs the process a
 *        SIGBUS.
 */
#ifndef HOST_IMAGE_H
#define HOST_IMAGE_H

#include "host/compiler.h"
#include "host/types.h"

#include <sys/uio.h>

struct image {
	int fd;
	u64 size;		/* of the file, bytes */
	u64 map_start, map_end;	/* [start, end) of the file is mapped; or 0, 0 */
	const char *map;	/* the byte at map_start */
	u64 run_end;		/* of the run that is read from the mapping */
	u64 ready_end;		/* up to there nothing faults */
};

/*
 * image_open() - look at a file
 *
 * Return: 0; -EISDIR, -ESPIPE (no regular file), -EBADF.
 * Owner: the caller, who ends with image_close().  @fd stays his; its position is
 * unspecified from now on.
 */
int __must_check image_open(struct image *image, int fd);
void image_close(struct image *image);

/* image_map() - runs of [@start, @end) are going to be read; of whole pages */
void image_map(struct image *image, u64 start, u64 end);

/* image_run() - [@start, @end) is read now, ascending; of whole pages, mapped */
void image_run(struct image *image, u64 start, u64 end);

/*
 * image_read() - read @bytes at @offset, by streaming stores
 *
 * The caller calls stream_copy_fence() before he publishes them.
 *
 * Return: 0; -ENODATA, the file has ended; -EINTR and what else reading gives.
 * On failure @to is garbage.
 */
int __must_check image_read(struct image *image, void *to, u64 offset,
			    size_t bytes);

/*
 * image_next_data() - where data begins, at or after @offset
 * image_next_hole() - where data ends
 *
 * Return: an offset up to @end; where holes are not known all is data.
 */
u64 image_next_data(const struct image *image, u64 offset, u64 end);
u64 image_next_hole(const struct image *image, u64 offset, u64 end);

/*
 * image_write() - write the bytes of @iov, one behind the other, at @offset
 *
 * Changes @iov.  Return: 0 or a negative errno, and *@done bytes are written.
 */
int __must_check image_write(struct image *image, struct iovec *iov,
			     unsigned int nr, u64 offset, u64 *done);

/* image_zero() - let @bytes at @offset be zero, without taking room for them */
int __must_check image_zero(struct image *image, u64 offset, u64 bytes);

#endif
