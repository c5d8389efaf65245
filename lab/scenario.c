/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include "api/handle.h"
#include "lab/scenario_cache.h"
#include "lab/validate.h"
#include "mm/swap.h"
#include "mm/task.h"

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

/* ---- setting up -------------------------------------------------------- */

static void map(struct race *r, unsigned long page, unsigned long nr, int prot,
		int flags)
{
	pf_addr_t place;

	race_check(!pf_mmap(r->mm, race_at(page), race_bytes(nr), prot,
			    PINFOLD_MAP_FIXED | flags, &place));
}

void race_map(struct race *r, unsigned long page, unsigned long nr, int prot)
{
	map(r, page, nr, prot, 0);
}

void race_map_hugetlb(struct race *r, unsigned long page, unsigned long nr)
{
	map(r, page, nr, RACE_RW, PINFOLD_MAP_HUGETLB);
}

static bool store(struct race *r, pf_addr_t address, u64 word)
{
	return pf_write(r->mm, address, &word, sizeof(word)) == sizeof(word);
}

void race_store(struct race *r, unsigned long page, unsigned long nr, u64 value)
{
	for (unsigned long i = page; i < page + nr; i++)
		race_check(store(r, race_at(i), value + i));
}

void race_setup_empty(struct race *r)
{
	race_map(r, 0, 4, RACE_RW);
}

void race_drain(struct race *r)
{
	lru_add_drain_all(machine_of(r->machine));
}

void race_setup_pages(struct race *r)
{
	race_setup_empty(r);
	race_store(r, 0, 4, 100);
	race_drain(r);
}

void race_setup_huge_empty(struct race *r)
{
	race_map(r, 0, RACE_HUGE, RACE_RW);
}

void race_setup_huge(struct race *r)
{
	race_setup_huge_empty(r);
	race_store(r, 0, 4, 100);
}

/* ---- what threads do ---------------------------------------------------- */

static long keep(struct race_hold *hold, bool pin, unsigned long page,
		 unsigned long asked, long ret)
{
	race_check(ret <= (long)asked);
	race_check(ret >= 0 || ret == -EFAULT || ret == -ENOMEM ||
		   ret == -EAGAIN || ret == -EINTR);
	hold->pin = pin;
	hold->first = page;
	hold->nr = ret;
	hold->succeeded += ret > 0;
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
	hold->succeeded += hold->nr > 0;
	hold->nr = 0;
}

void race_put_dirty(struct race_hold *hold)
{
	race_check(hold->nr > 0 && hold->pin);
	pf_unpin_user_pages_dirty_lock(hold->pages, hold->nr, true);
	hold->succeeded++;
	hold->nr = 0;
}

void race_munmap(struct race *r, struct race_hold *mine, unsigned long page,
		 unsigned long nr)
{
	race_check(!pf_munmap(r->mm, race_at(page), race_bytes(nr)));
	race_done(mine);
}

void race_protect(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr, int prot)
{
	race_check(!pf_mprotect(r->mm, race_at(page), race_bytes(nr), prot));
	race_done(mine);
}

void race_discard(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr)
{
	race_check(!pf_madvise(r->mm, race_at(page), race_bytes(nr),
			       PINFOLD_MADV_DONTNEED));
	race_done(mine);
}

void race_move(struct race *r, struct race_hold *mine, unsigned long page,
	       unsigned long nr, unsigned long to)
{
	const int flags = PINFOLD_MREMAP_MAYMOVE | PINFOLD_MREMAP_FIXED;
	pf_addr_t place;

	race_check(!pf_mremap(r->mm, race_at(page), race_bytes(nr),
			      race_bytes(nr), flags, race_at(to), &place));
	race_done(mine);
}

void race_resize(struct race *r, struct race_hold *mine, unsigned long page,
		 unsigned long nr, unsigned long new_nr)
{
	pf_addr_t place;

	race_check(!pf_mremap(r->mm, race_at(page), race_bytes(nr),
			      race_bytes(new_nr), 0, 0, &place));
	race_done(mine);
}

int race_populate(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr, bool write)
{
	int err = pf_madvise(r->mm, race_at(page), race_bytes(nr),
			     write ? PINFOLD_MADV_POPULATE_WRITE :
				     PINFOLD_MADV_POPULATE_READ);

	mine->succeeded += !err;
	return err;
}

void race_write(struct race *r, struct race_hold *mine, unsigned long page,
		unsigned int word, u64 value)
{
	mine->succeeded += store(r, race_at(page) + word * sizeof(value),
				 value);
}

void race_signal(struct race *r, struct race_hold *mine, unsigned int thread,
		 bool fatal)
{
	spin_lock(&r->task_lock);
	if (r->task[thread]) {
		pf_task_signal(r->task[thread], fatal);
		race_done(mine);
	}
	spin_unlock(&r->task_lock);
}

static vm_fault_t answer_fault(void *arg, struct vm_area_struct *vma,
			       pf_addr_t address, unsigned int flags)
{
	const unsigned int asks = FAULT_FLAG_ALLOW_RETRY;
	const unsigned int waits = asks | FAULT_FLAG_RETRY_NOWAIT;
	vm_fault_t ret = 0;

	current->fault_hook = NULL;
	switch ((enum race_fault)(uintptr_t)arg) {
	case RACE_FAULT_RETRY:
		return flags & asks ? VM_FAULT_RETRY : 0;
	case RACE_FAULT_COMPLETED:
		if ((flags & waits) == asks)
			ret = handle_mm_fault(vma, address, flags, NULL);
		return (flags & waits) == asks && !ret ? VM_FAULT_COMPLETED :
							 ret;
	case RACE_FAULT_NO_MEMORY:
		return VM_FAULT_OOM;
	}
	return 0;
}

void race_next_fault(enum race_fault answer)
{
	current->fault_hook_arg = (void *)(uintptr_t)answer;
	current->fault_hook = answer_fault;
}

/* ---- checking ------------------------------------------------------------ */

static u64 load(struct pf_mm *mm, unsigned long page)
{
	u64 word;

	if (pf_read(mm, race_at(page), &word, sizeof(word)) != sizeof(word))
		return -1;
	return word;
}

u64 race_load(struct race *r, unsigned long page)
{
	return load(r->mm, page);
}

u64 race_load_child(struct race *r, unsigned long page)
{
	return load(r->mms[0], page);
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

bool race_same(struct race *r, const struct race_hold *hold, long i,
	       unsigned long page)
{
	const u64 old = race_load(r, page), probe = ~race_peek(hold, i);
	bool same;

	if (!store(r, race_at(page), probe))
		return false;
	same = race_peek(hold, i) == probe;
	race_check(store(r, race_at(page), old));
	return same;
}

bool race_all_same(struct race *r, const struct race_hold *hold,
		   unsigned long page)
{
	for (long i = 0; i < hold->nr; i++)
		if (!race_same(r, hold, i, page + i))
			return false;
	return true;
}

bool race_values(const struct race_hold *hold, u64 value, u64 step)
{
	for (long i = 0; i < hold->nr; i++)
		if (race_peek(hold, i) != value + i * step)
			return false;
	return true;
}

/* ---- running ------------------------------------------------------------ */

int race_begin(struct race *r, const struct scenario *s)
{
	struct pf_machine_options o = s->machine;

	memset(r, 0, sizeof(*r));
	r->scenario = s;
	spin_lock_init(&r->task_lock, RANK_SESSION);
	o.size = sizeof(o);
	if (!o.memory_bytes)
		o.memory_bytes = DEFAULT_BYTES;
	if (!o.nr_cpus)
		o.nr_cpus = 1;
	return pf_machine_create(&o, &r->machine);
}

/* Who has a cache calls the engine itself, without a call that enters. */
static struct machine *enter(struct race *r)
{
	struct machine *previous = current->machine;

	if (r->scenario->cache)
		machine_enter(machine_of(r->machine));
	return previous;
}

static void leave(struct race *r, struct machine *previous)
{
	if (r->scenario->cache)
		machine_leave(previous);
}

int race_round(struct race *r)
{
	int err = pf_mm_create(r->machine, &r->mm);
	struct machine *previous;

	if (err)
		return err;
	previous = enter(r);
	if (r->scenario->cache)
		race_cache_begin(r);
	r->scenario->setup(r);
	leave(r, previous);
	for (unsigned int t = 0; t < RACE_THREADS; t++)
		r->hold[t].succeeded = 0;
	return 0;
}

static void set_task(struct race *r, unsigned int thread, struct pf_task *task)
{
	spin_lock(&r->task_lock);
	r->task[thread] = task;
	spin_unlock(&r->task_lock);
}

void race_enter(struct race *r, unsigned int thread)
{
	set_task(r, thread, pf_task_self());
}

void race_run(struct race *r, unsigned int thread)
{
	struct machine *previous = enter(r);

	race_enter(r, thread);
	r->scenario->threads[thread].run(r, &r->hold[thread]);
	leave(r, previous);
	set_task(r, thread, NULL);
	/* What was sent, and not asked for, was meant for this round. */
	pf_task_clear_signals();
	current->fault_hook = NULL;
	current->fail_nth = 0;
}

/* All that the threads still hold, as lab/validate.h wants it. */
int race_recount(struct race *r)
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

void race_close(struct race *r)
{
	struct machine *previous = enter(r);

	if (r->scenario->check)
		r->scenario->check(r);
	for (unsigned int t = 0; t < RACE_THREADS; t++)
		race_put(&r->hold[t]);
	if (r->scenario->cache)
		race_cache_end(r);
	leave(r, previous);
	pf_mm_destroy(r->mm);
	for (unsigned int i = 0; i < RACE_MMS; i++)
		pf_mm_destroy(r->mms[i]);
	memset(r->mms, 0, sizeof(r->mms));
	pf_file_close(r->file);
	r->file = NULL;
	memset(r->note, 0, sizeof(r->note));
}

void race_settle(struct race *r)
{
	struct machine *m = machine_of(r->machine);

	lru_add_drain_all(m);
	rcu_barrier();
	race_check(!nr_used_pages(m));
}

int race_finish(struct race *r)
{
	int broken = race_recount(r);

	if (broken)
		return broken;
	race_close(r);
	race_settle(r);
	return 0;
}

void race_end(struct race *r)
{
	race_check(!pf_machine_destroy(r->machine));
}
