/* SPDX-License-Identifier: MIT */
/*
 * What the hardware takes for populating a file.
 *
 * Adding, without a copy: for each folio load which frame it is, store to its
 * descriptor what makes it one of the file (flags, mapping, index, its count
 * from 0 to what it has in the end), to each tail where its head is, and store
 * the slots.  No allocation, no lock, no walk.  What is present already: load
 * its slot.
 * Looking up: load the slot, one locked read-modify-write to get the reference,
 * one to put it.
 * With a copy: one memcpy() of the whole, or the same by streaming stores.
 */
#include "bench/populate.h"

#include "host/errtext.h"
#include "host/stream_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void *get_memory(size_t bytes)
{
	void *memory = host_reserve(bytes, HPAGE_PMD_SIZE);

	if (memory && host_commit(memory, bytes, true, false)) {
		host_release(memory, bytes);
		memory = NULL;
	}
	if (memory)
		host_touch(memory, bytes);
	return memory;
}

int populate_limit_begin(struct populate_limit *l, unsigned long nr_pages,
			 unsigned int order, struct random *shuffle)
{
	const unsigned long nr = nr_pages >> order;

	l->memmap_bytes = nr_pages * sizeof(struct page);
	l->frames_bytes = ALIGN(nr * sizeof(*l->frames), PAGE_SIZE);
	l->slots_bytes = nr_pages * sizeof(*l->slots);
	l->memmap = get_memory(l->memmap_bytes);
	l->frames = get_memory(l->frames_bytes);
	l->slots = get_memory(ALIGN(l->slots_bytes, PAGE_SIZE));
	if (!l->memmap || !l->frames || !l->slots)
		return fail(-ENOMEM, "no memory for the limit of %" PRIu64
			    " pages", nr_pages, 0, 0);
	for (unsigned long i = 0; i < nr; i++)
		l->frames[i] = l->memmap + (i << order);
	for (unsigned long i = nr; shuffle && i > 1; i--) {
		unsigned long k = random_below(shuffle, i);
		struct page *swap = l->frames[i - 1];

		l->frames[i - 1] = l->frames[k];
		l->frames[k] = swap;
	}
	for (unsigned long i = 0; i < nr_pages; i++)
		l->slots[i] = l->frames[i >> order];
	return 0;
}

void populate_limit_end(struct populate_limit *l)
{
	host_release(l->memmap, l->memmap_bytes);
	host_release(l->frames, l->frames_bytes);
	host_release(l->slots, ALIGN(l->slots_bytes, PAGE_SIZE));
}

/* How many slots an entry of @order has: above a leaf, one for each leaf. */
static __always_inline unsigned long nr_slots(unsigned int order)
{
	return 1UL << order % XA_CHUNK_SHIFT;
}

static __always_inline void add(const struct populate *p, pgoff_t index,
				unsigned int order)
{
	struct page *page = p->limit.frames[index >> order];
	void **slots = &p->limit.slots[index];

	WRITE_ONCE(page->flags, order ? BIT(PG_head) : 0);
	WRITE_ONCE(page->mapping, &p->gmem->mapping);
	page->index = index;
	for (unsigned long i = 1; i < 1UL << order; i++)
		WRITE_ONCE(page[i].compound_head, (unsigned long)page | 1);
	smp_store_release(&page->_refcount.counter, 1 << order);
	smp_store_release(&slots[0], page);
	for (unsigned long i = 1; i < nr_slots(order); i++)
		smp_store_release(&slots[i], (void *)(i << 2 | 2));
}

void populate_limit_add(struct populate_lane *lane)
{
	const struct populate *p = lane->p;
	const unsigned int order = p->order;
	const bool half = p->file == FILE_HALF;

	for (pgoff_t index = lane->start; index < lane->end;
	     index += 1UL << order) {
		if (half && (index >> order & 1))
			(void)READ_ONCE(p->limit.slots[index]);
		else if (order)
			add(p, index, order);
		else
			add(p, index, 0);
	}
	lane->done = lane->end - lane->start;
}

/* What the engine does to descriptors when a file is emptied, in the same order. */
void populate_limit_empty(struct populate_lane *lane)
{
	const struct populate *p = lane->p;
	const unsigned long nr = 1UL << p->order;

	for (pgoff_t index = lane->end; index > lane->start; index -= nr) {
		struct page *page = p->limit.frames[(index - 1) >> p->order];

		for (unsigned long i = nr; i-- > 0;)
			WRITE_ONCE(page[i].compound_head, 0);
		WRITE_ONCE(page->flags, 0);
		atomic_set(&page->_refcount, 0);
	}
}

void populate_limit_query(struct populate_lane *lane)
{
	const struct populate *p = lane->p;

	for (pgoff_t index = lane->start; index < lane->end;
	     index += 1UL << p->order) {
		struct page *page = READ_ONCE(p->limit.slots[index]);

		atomic_add(1, &page->_refcount);
		atomic_sub(1, &page->_refcount);
	}
	lane->done = lane->end - lane->start;
}

static void copy_stripe(struct populate_lane *lane,
			void (*copy)(char *dst, const char *src, size_t len))
{
	const size_t at = lane->start << PAGE_SHIFT;

	copy(lane->p->target + at, lane->p->source + at,
	     (lane->end - lane->start) << PAGE_SHIFT);
	lane->done = lane->end - lane->start;
}

static void copy_plain(char *dst, const char *src, size_t len)
{
	memcpy(dst, src, len);
}

static void copy_streaming(char *dst, const char *src, size_t len)
{
	stream_copy(dst, src, len);
}

void populate_limit_copy(struct populate_lane *lane)
{
	copy_stripe(lane, copy_plain);
}

void populate_limit_stream(struct populate_lane *lane)
{
	copy_stripe(lane, copy_streaming);
}
