/* SPDX-License-Identifier: MIT */
/*
 * Included in front of everything that the explorer watches: what the C library
 * does to memory passes it too.
 */
#ifndef LAB_EXPLORE_REDIRECT_H
#define LAB_EXPLORE_REDIRECT_H

#include <stdlib.h>
#include <string.h>

void *explore_memset(void *to, int byte, size_t bytes);
void *explore_memcpy(void *to, const void *from, size_t bytes);
void *explore_calloc(size_t n, size_t bytes);
void *explore_malloc(size_t bytes);
void explore_free(void *object);

#ifdef __SANITIZE_THREAD__
#define memset		explore_memset
#define memcpy		explore_memcpy
#define memmove		explore_memcpy
#define calloc		explore_calloc
#define malloc		explore_malloc
#define free		explore_free
#endif

#endif
