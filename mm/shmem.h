/* SPDX-License-Identifier: MIT */
/*
 * Files of memory alone: memfd, tmpfs, shared anonymous memory.
 *
 * A value in the index is a place in swap, and not lost sight of: what finds
 * one where it wants to add a folio fails.
 *
 * Source: include/linux/shmem_fs.h
 * Differs: nothing is swapped out or in yet.
 */
#ifndef MM_SHMEM_H
#define MM_SHMEM_H

#include "mm/fs.h"

extern const struct address_space_operations shmem_aops;

static inline bool shmem_mapping(const struct address_space *mapping)
{
	return mapping->a_ops == &shmem_aops;
}

#define SHMEM_NO_PIN	1u	/* like secretmem: neither got nor pinned */
#define SHMEM_NO_SEALS	2u	/* file_add_seals() fails */

/*
 * shmem_file_setup() - a file of @size bytes of zeroes, no memory yet
 * @max_order: of its folios, up to MAX_PAGECACHE_ORDER
 *
 * Return: 0; -ENOMEM; -EINVAL, @size is above 2^63 - 1.
 * Owner: the caller, who calls fput().
 * Source: mm/shmem.c:shmem_file_setup()
 */
int __must_check shmem_file_setup(struct machine *machine, u64 size,
				  unsigned int max_order, unsigned int flags,
				  struct file **file);

#endif
