/* SPDX-License-Identifier: MIT */
/*
 * Integer types that carry a unit.  pf_addr_t and pf_pfn_t are 64 bits on
 * every host, so that a 32-bit host can hold a 64-bit address space.
 */
#ifndef HOST_TYPES_H
#define HOST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint64_t pf_addr_t;	/* virtual address in a simulated mm, bytes */
typedef uint64_t pf_pfn_t;	/* physical frame number, 4 KiB frames */
typedef uint64_t pgoff_t;	/* offset into an object, pages */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#endif
