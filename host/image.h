/* SPDX-License-Identifier: MIT */
/*
 * The image of a memory: a file of raw pages, maybe with holes.
 *
 * It is read and not mapped: entering its pages into the page tables, one by
 * one, costs as much as the second copy saves, and a file that shrinks meanwhile
 * is an error and no SIGBUS.
 */
#ifndef HOST_IMAGE_H
#define HOST_IMAGE_H

#include "host/compiler.h"
#include "host/types.h"

#include <sys/uio.h>

struct image {
	int fd;
	u64 size;		/* of the file, bytes */
};

/*
 * image_open() - look at a file
 *
 * Return: 0; -EISDIR, -ESPIPE (no regular file), -EBADF.
 * Owner: @fd stays the caller's; its position is unspecified from now on.
 */
int __must_check image_open(struct image *image, int fd);

/*
 * image_read() - read into @iov, one behind the other, from @offset on
 * image_write() - write that
 *
 * Both change @iov.
 * Return: 0; -ENODATA, the file has ended; what else reading or writing gives;
 * *@done bytes have been.
 */
int __must_check image_read(struct image *image, struct iovec *iov,
			    unsigned int nr, u64 offset, u64 *done);
int __must_check image_write(struct image *image, struct iovec *iov,
			     unsigned int nr, u64 offset, u64 *done);

/*
 * image_next_data() - where data begins, at or after @offset
 * image_next_hole() - where data ends
 *
 * Return: an offset up to @end; where holes are not known all is data.
 */
u64 image_next_data(const struct image *image, u64 offset, u64 end);
u64 image_next_hole(const struct image *image, u64 offset, u64 end);

/* image_zero() - let @bytes at @offset be zero, without taking room for them */
int __must_check image_zero(struct image *image, u64 offset, u64 bytes);

#endif
