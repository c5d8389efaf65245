/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked, circular lists with the head as a node.
 *
 * Rules for callers: list_del() leaves the node unusable until it is added
 * again or initialised.  Concurrent use is the caller's lock's business.
 *
 * @next is stored whole: in a folio it is the word in which page_folio(), which
 * takes no lock, looks for the mark of a tail.
 *
 * Source: include/linux/list.h (the names)
 */
#ifndef LIB_LIST_H
#define LIB_LIST_H

#include "host/atomic.h"

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	WRITE_ONCE(list->next, list);
	list->prev = list;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_insert(struct list_head *new, struct list_head *prev,
			       struct list_head *next)
{
	next->prev = new;
	WRITE_ONCE(new->next, next);
	new->prev = prev;
	WRITE_ONCE(prev->next, new);
}

/* list_add() - behind the head: a stack */
static inline void list_add(struct list_head *new, struct list_head *head)
{
	list_insert(new, head, head->next);
}

/* list_add_tail() - before the head: a queue */
static inline void list_add_tail(struct list_head *new, struct list_head *head)
{
	list_insert(new, head->prev, head);
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
	WRITE_ONCE(entry->next, NULL);
	entry->prev = NULL;
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),	\
	     n = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);					\
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

#endif
