/* SPDX-License-Identifier: MIT */
/*
 * Fibres: several stacks on one thread, each with thread-local variables of its
 * own, switched by hand.
 *
 * Thread-local variables are the program's own (its TLS block), not those of
 * shared libraries; their addresses are the same in every fibre.
 */
#ifndef HOST_FIBRE_H
#define HOST_FIBRE_H

#include "host/types.h"

struct fibre;

/*
 * fibre_create() - a fibre that will run @fn(@arg)
 * @fn: NULL: the calling thread itself; else it never returns, it switches away
 *
 * Return: the fibre, or NULL for want of memory.
 */
struct fibre *fibre_create(void (*fn)(void *), void *arg);

/* fibre_reset() - the next switch to it starts its function anew */
void fibre_reset(struct fibre *fibre);
/* fibre_switch() - go on in @to; returns when somebody switches to @from */
void fibre_switch(struct fibre *from, struct fibre *to);

/* fibre_stack_offset() - where @addr lies in its stack; -1: elsewhere */
int64_t fibre_stack_offset(const struct fibre *fibre, const void *addr);
/*
 * fibre_save() - remember the running fibre's thread-local variables
 * fibre_restore() - put them back, as if what was called since had not been
 */
void fibre_save(struct fibre *fibre);
void fibre_restore(struct fibre *fibre);
/* fibre_tls() - the TLS block that fibres share; *@bytes may be 0 */
char *fibre_tls(size_t *bytes);

#endif
