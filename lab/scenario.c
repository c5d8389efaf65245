/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include "api/handle.h"
#include "lab/validate.h"
#include "mm/swap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES	((u64)8 << 20)

/* From the linker: the first entry and the last one's end; NULL without any. */
extern const struct scenario *const __start_scenarios[] __attribute__((weak));
extern const struct scenario *const __stop_scenarios[] __attribute__((weak));

void (*race_failed_hook)(const char *file, int line, const char *what);

const struct scenario *scenario_at(unsigned int nth)
{
	const struct scenario *last = NULL;

	/* A few dozen: the nth smallest name, one after the other. */
	for (unsigned int i = 0; i <= nth; i++) {
		const struct scenario *next = NULL;

		for (const struct scenario *const *s = __start_scenarios;
		     s < __stop_scenarios; s++)
			if ((!last || strcmp((*s)->name, last->name) > 0) &&
			    (!next || strcmp((*s)->name, next->name) < 0))
				next = *s;
		if (!next)
			return NULL;
		last = next;
	}
	return last;
}

const struct scenario *scenario_find(const char *name)
{
	for (const struct scenario *const *s = __start_scenarios;
	     s < __stop_scenarios; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

unsigned int scenario_nr_threads(const struct scenario *s)
{
	unsigned int nr = 0;

	while (nr < RACE_THREADS && s->threads[nr].run)
		nr++;
	return nr;
}

void race_failed(const char *file, int line, const char *what)
{
	if (race_failed_hook)
		race_failed_hook(file, line, what);
	fprintf(stderr, "pinfold: %s:%d: not so: %s\n", file, line, what);
	abort();
}

void race_map(struct race *r, unsigned long page, unsigned long nr, int prot)
{
	pf_addr_t place;

	race_check(!pf_mmap(r->mm, race_at(page), nr * PINFOLD_PAGE_SIZE, prot,
			    PINFOLD_MAP_FIXED, &place));
}

void race_store(struct race *r, unsigned long page, unsigned long nr, u64 value)
{
	for (unsigned long i = page; i < page + nr; i++) {
		u64 word = value + i;

		race_check(pf_write(r->mm, race_at(i), &word, sizeof(word)) ==
			   sizeof(word));
	}
}

u64 race_load(struct race *r, unsigned long page)
{
	u64 word;

	if (pf_read(r->mm, race_at(page), &word, sizeof(word)) != sizeof(word))
		return -1;
	return word;
}

static u64 *word_of(const struct race_hold *hold, long i)
{
	void *address;

	race_check(i < hold->nr);
	race_check(!pf_page_address(hold->pages[i], &address));
	return address;
}

u64 race_peek(const struct race_hold *hold, long i)
{
	return READ_ONCE(*word_of(hold, i));
}

void race_poke(const struct race_hold *hold, long i, u64 value)
{
	WRITE_ONCE(*word_of(hold, i), value);
}

static long keep(struct race_hold *hold, bool pin, unsigned long page,
		 unsigned long asked, long ret)
{
	race_check(ret <= (long)asked);
	race_check(ret >= 0 || ret == -EFAULT || ret == -ENOMEM ||
		   ret == -EAGAIN || ret == -EINTR);
	hold->pin = pin;
	hold->first = page;
	hold->nr = ret;
	return ret;
}

long race_pin(struct race *r, struct race_hold *hold, unsigned long page,
	      unsigned long nr, unsigned int flags)
{
	return keep(hold, true, page, nr,
		    pf_pin_user_pages_unlocked(r->mm, race_at(page), nr,
					       hold->pages, flags));
}

long race_get(struct race *r, struct race_hold *hold, unsigned long page,
	      unsigned long nr, unsigned int flags)
{
	return keep(hold, false, page, nr,
		    pf_get_user_pages_unlocked(r->mm, race_at(page), nr,
					       hold->pages, flags));
}

long race_pin_fast(struct race *r, struct race_hold *hold, unsigned long page,
		   unsigned long nr, unsigned int flags)
{
	return keep(hold, true, page, nr,
		    pf_pin_user_pages_fast(r->mm, race_at(page), nr, flags,
					   hold->pages));
}

long race_get_fast(struct race *r, struct race_hold *hold, unsigned long page,
		   unsigned long nr, unsigned int flags)
{
	return keep(hold, false, page, nr,
		    pf_get_user_pages_fast(r->mm, race_at(page), nr, flags,
					   hold->pages));
}

void race_put(struct race_hold *hold)
{
	if (hold->nr > 0 && hold->pin)
		pf_unpin_user_pages(hold->pages, hold->nr);
	for (long i = 0; i < hold->nr && !hold->pin; i++)
		pf_put_page(hold->pages[i]);
	hold->nr = 0;
}

int race_begin(struct race *r, const struct scenario *s)
{
	struct pf_machine_options o = s->machine;

	memset(r, 0, sizeof(*r));
	r->scenario = s;
	o.size = sizeof(o);
	if (!o.memory_bytes)
		o.memory_bytes = DEFAULT_BYTES;
	if (!o.nr_cpus)
		o.nr_cpus = 1;
	return pf_machine_create(&o, &r->machine);
}

int race_round(struct race *r)
{
	int err = pf_mm_create(r->machine, &r->mm);

	if (err)
		return err;
	r->scenario->setup(r);
	return 0;
}

/* All that the threads still hold, as lab/validate.h wants it. */
static int recount(struct race *r)
{
	struct page *gets[RACE_PAGES], *pins[RACE_PAGES];
	struct mm_holds holds = { .gets = gets, .pins = pins };

	for (unsigned int t = 0; t < RACE_THREADS; t++) {
		struct race_hold *h = &r->hold[t];
		unsigned long *nr = h->pin ? &holds.nr_pins : &holds.nr_gets;

		for (long i = 0; i < h->nr; i++) {
			race_check(*nr < RACE_PAGES);
			(h->pin ? pins : gets)[(*nr)++] =
				(struct page *)h->pages[i];
		}
	}
	return mm_validate(machine_of(r->machine), &holds);
}

int race_finish(struct race *r)
{
	struct machine *m = machine_of(r->machine);
	int broken = recount(r);

	if (broken)
		return broken;
	if (r->scenario->check)
		r->scenario->check(r);
	for (unsigned int t = 0; t < RACE_THREADS; t++)
		race_put(&r->hold[t]);
	pf_mm_destroy(r->mm);
	for (unsigned int i = 0; i < RACE_MMS; i++)
		pf_mm_destroy(r->mms[i]);
	memset(r->mms, 0, sizeof(r->mms));
	memset(r->note, 0, sizeof(r->note));
	lru_add_drain_all(m);
	rcu_barrier();
	race_check(!nr_used_pages(m));
	return 0;
}

void race_end(struct race *r)
{
	race_check(!pf_machine_destroy(r->machine));
}
