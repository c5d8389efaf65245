/* SPDX-License-Identifier: MIT */
/*
 * Cache maintenance of a user page: nothing to do on x86-64, whose caches are
 * coherent and physically tagged.  The lab build calls a recorder instead, so
 * that a test can see when, for which page and under which locks the engine
 * asks for it.
 *
 * Source: include/linux/cacheflush.h, mm/gup.c
 */
#ifndef ARCH_X86_64_CACHEFLUSH_H
#define ARCH_X86_64_CACHEFLUSH_H

#include "host/types.h"

struct page;
struct vm_area_struct;

#ifdef PINFOLD_LAB
#define ARCH_FLUSHES_USER_PAGES 1
typedef void (*flush_recorder_fn)(void *arg, struct vm_area_struct *vma,
				  pf_addr_t address, struct page *page);
/* The calling thread's recorder; NULL: none. */
extern __thread flush_recorder_fn flush_recorder;
extern __thread void *flush_recorder_arg;
void flush_anon_page(struct vm_area_struct *vma, struct page *page,
		     pf_addr_t address);
void flush_dcache_page(struct page *page);
#else
#define ARCH_FLUSHES_USER_PAGES 0
static inline void flush_anon_page(struct vm_area_struct *vma,
				   struct page *page, pf_addr_t address)
{
	(void)vma;
	(void)page;
	(void)address;
}

static inline void flush_dcache_page(struct page *page)
{
	(void)page;
}
#endif

#endif
