/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: two or three threads that meet, in the words of the public header.
 *
 * A scenario is one C file in lab/scenarios/.  Drop it there: the explorer
 * (`pinfold race`) runs it under every schedule, the stress test runs it with
 * real threads.
 *
 *	static void setup(struct race *r)
 *	{
 *		race_map(r, 0, 4, RACE_RW);
 *		race_store(r, 0, 4, 'a');
 *	}
 *
 *	static void pin(struct race *r, struct race_hold *mine)
 *	{
 *		race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
 *	}
 *
 *	static void unmap(struct race *r, struct race_hold *mine)
 *	{
 *		race_check(!pf_munmap(r->mm, race_at(0), 4 * PINFOLD_PAGE_SIZE));
 *	}
 *
 *	SCENARIO(pin_vs_munmap,
 *		.claim = "a pinned page keeps its bytes when its area goes",
 *		.setup = setup,
 *		.threads = { { "pin", pin }, { "unmap", unmap } },
 *		.check = check)
 *
 * setup() and check() run alone, check() after all threads have ended.  What the
 * threads hold then is recounted (lab/validate.h), released, the address spaces
 * are destroyed, and no frame may be missing.
 *
 * Rules
 * 1. All that the threads share is in struct race; there are no other variables.
 * 2. A thread does the same whenever it meets the same: no clock, no random.
 */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include "host/compiler.h"
#include "host/types.h"

#include "pinfold/pinfold.h"

#define RACE_THREADS	4
#define RACE_PAGES	1024	/* a hold's room; the window has as many */
#define RACE_MMS	4
#define RACE_NOTES	8
#define RACE_RW		(PINFOLD_PROT_READ | PINFOLD_PROT_WRITE)
#define RACE_BASE	((pf_addr_t)1 << 40)

/* What one thread got or pinned and has not released. */
struct race_hold {
	long nr;		/* pages held, or the negative errno */
	bool pin;
	unsigned long first;	/* page of the window that pages[0] was */
	struct pf_page *pages[RACE_PAGES];
};

/* One run. */
struct race {
	const struct scenario *scenario;
	struct pf_machine *machine;
	struct pf_mm *mm;		/* there before setup() */
	struct pf_mm *mms[RACE_MMS];	/* others, made by the scenario */
	struct race_hold hold[RACE_THREADS];
	long note[RACE_NOTES];		/* what threads tell check() */
};

struct race_thread {
	const char *name;
	void (*run)(struct race *r, struct race_hold *mine);
};

struct scenario {
	const char *name;
	const char *claim;		/* what must hold, in one line */
	const char *reference;		/* a case id or URL, or NULL */
	struct pf_machine_options machine; /* size may be 0; 8 MiB, one CPU */
	void (*setup)(struct race *r);
	struct race_thread threads[RACE_THREADS];
	void (*check)(struct race *r);	/* may be NULL */
};

/* Scenarios find each other through a section of the program. */
#define SCENARIO(id, ...)						\
	static const struct scenario scenario_##id = {			\
		.name = #id, __VA_ARGS__				\
	};								\
	static const struct scenario *const scenario_entry_##id		\
		__attribute__((used, section("scenarios"))) =		\
		&scenario_##id;

/* scenario_at() - the @i-th by name, or NULL past the last */
const struct scenario *scenario_at(unsigned int i);
const struct scenario *scenario_find(const char *name);
unsigned int scenario_nr_threads(const struct scenario *s);

/* race_check() - what must hold; ends the run if not */
#define race_check(cond) \
	((cond) ? (void)0 : race_failed(__FILE__, __LINE__, #cond))
void race_failed(const char *file, int line, const char *what);

/* race_at() - address of page @page of the window */
static inline pf_addr_t race_at(unsigned long page)
{
	return RACE_BASE + page * PINFOLD_PAGE_SIZE;
}

/* race_map() - map private anonymous memory, pages [@page, @page + @nr) */
void race_map(struct race *r, unsigned long page, unsigned long nr, int prot);

/* race_store() - the first word of each page becomes @value + its page number */
void race_store(struct race *r, unsigned long page, unsigned long nr,
		u64 value);
/* race_load() - the first word of page @page through the tables; -1: none */
u64 race_load(struct race *r, unsigned long page);
/* race_peek() - the first word of the @i-th page of @hold, through its frame */
u64 race_peek(const struct race_hold *hold, long i);
void race_poke(const struct race_hold *hold, long i, u64 value);

/*
 * race_pin(), race_get() - pin or get into @hold, which is empty
 *
 * By the unlocked entry; race_pin_fast() and race_get_fast() by the fast one.
 * Any result below 0 must be -EFAULT, -ENOMEM, -EAGAIN or -EINTR.
 */
long race_pin(struct race *r, struct race_hold *hold, unsigned long page,
	      unsigned long nr, unsigned int flags);
long race_get(struct race *r, struct race_hold *hold, unsigned long page,
	      unsigned long nr, unsigned int flags);
long race_pin_fast(struct race *r, struct race_hold *hold, unsigned long page,
		   unsigned long nr, unsigned int flags);
long race_get_fast(struct race *r, struct race_hold *hold, unsigned long page,
		   unsigned long nr, unsigned int flags);
/* race_put() - release all of @hold */
void race_put(struct race_hold *hold);

/* ---- for who runs scenarios -------------------------------------------- */

/*
 * race_begin() - make the machine; race_round() - an address space and setup()
 *
 * race_finish() runs check(), recounts, releases and destroys what the round
 * made.  Return: 0; -ENOMEM; race_finish(): what the recount found (positive).
 */
int __must_check race_begin(struct race *r, const struct scenario *s);
int __must_check race_round(struct race *r);
int __must_check race_finish(struct race *r);
void race_end(struct race *r);

/* Called by race_failed(); the default says so on stderr and aborts. */
extern void (*race_failed_hook)(const char *file, int line, const char *what);

#endif
