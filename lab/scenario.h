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
 *		race_munmap(r, mine, 0, 4);
 *	}
 *
 *	SCENARIO(pin_vs_munmap,
 *		.claim = "a pinned page keeps its bytes when its area goes",
 *		.setup = setup,
 *		.threads = { { "pin", pin }, { "munmap", unmap } },
 *		.check = check)
 *
 * setup() and check() run alone, check() after all threads have ended.  What
 * the threads hold then is recounted (lab/validate.h), released, the address
 * spaces are destroyed, and no frame may be missing.
 *
 * Rules
 * 1. All that the threads share is in struct race; no other variables are.
 * 2. A thread does the same whenever it meets the same: no clock, no random.
 * 3. Threads leave the bytes of what they pinned to check(): a store beside a
 *    copy through the tables would be a race of the scenario's own.
 */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include "host/lock.h"

#include "pinfold/pinfold.h"

#define RACE_THREADS	4
#define RACE_PAGES	1024	/* a hold's room; the window has as many */
#define RACE_MMS	4
#define RACE_NOTES	8
#define RACE_RW		(PINFOLD_PROT_READ | PINFOLD_PROT_WRITE)
#define RACE_BASE	((pf_addr_t)1 << 40)

struct address_space;

/* What one thread got or pinned and has not released. */
struct race_hold {
	long nr;		/* pages held, or the negative errno */
	bool pin;
	unsigned long first;	/* page of the window that pages[0] was */
	unsigned long succeeded; /* calls of the thread, in this round */
	struct pf_page *pages[RACE_PAGES];
};

/* One run. */
struct race {
	const struct scenario *scenario;
	struct pf_machine *machine;
	struct pf_mm *mm;		/* there before setup() */
	struct pf_mm *mms[RACE_MMS];	/* others, made by the scenario */
	struct address_space *cache;	/* if the scenario has one */
	struct pf_file *file;		/* see lab/scenario_file.h */
	struct race_hold hold[RACE_THREADS];
	long note[RACE_NOTES];		/* what threads tell check() */
	spinlock_t task_lock;		/* task[] */
	struct pf_task *task[RACE_THREADS]; /* while the thread runs */
};

struct race_thread {
	const char *name;
	void (*run)(struct race *r, struct race_hold *mine);
};

struct scenario {
	const char *name;
	const char *claim;		/* what must hold, in one line */
	const char *reference;		/* a case, an invariant, or NULL */
	bool waits;			/* a thread waits for another's call */
	struct pf_machine_options machine; /* size may be 0; 8 MiB, one CPU */
	bool cache;			/* see lab/scenario_cache.h */
	unsigned int max_order;		/* of the cache's folios */
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

static inline u64 race_bytes(unsigned long nr_pages)
{
	return nr_pages * PINFOLD_PAGE_SIZE;
}

/* ---- setting up -------------------------------------------------------- */

/* race_map() - map private anonymous memory, pages [@page, @page + @nr) */
void race_map(struct race *r, unsigned long page, unsigned long nr, int prot);
/* race_map_hugetlb() - @nr small pages' worth of 2 MiB pages */
void race_map_hugetlb(struct race *r, unsigned long page, unsigned long nr);

/* race_store() - the first word of page i becomes @value + i */
void race_store(struct race *r, unsigned long page, unsigned long nr,
		u64 value);
/*
 * race_drain() - empty the LRU batches, which hold references: else the last
 * put is theirs, and no thread frees a page
 */
void race_drain(struct race *r);

/* Setups that many share: pages [0, 4), page i holds 100 + i; drained. */
void race_setup_pages(struct race *r);
/* The same without a page: the first touch is still to come. */
void race_setup_empty(struct race *r);
/* Pages [0, 512), which RACE_THP makes one huge page; 0 to 3 hold 100 + i. */
void race_setup_huge(struct race *r);
void race_setup_huge_empty(struct race *r);
#define RACE_HUGE	512
#define RACE_THP	.thp_always = 1ul << 9

/* ---- what threads do ---------------------------------------------------- */

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
/* race_put() - release all of @hold; race_put_dirty(): pins, as written to */
void race_put(struct race_hold *hold);
void race_put_dirty(struct race_hold *hold);

/* These must succeed.  race_move(): whatever is at @to goes. */
void race_munmap(struct race *r, struct race_hold *mine, unsigned long page,
		 unsigned long nr);
void race_protect(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr, int prot);
void race_discard(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr);
void race_move(struct race *r, struct race_hold *mine, unsigned long page,
	       unsigned long nr, unsigned long to);
void race_resize(struct race *r, struct race_hold *mine, unsigned long page,
		 unsigned long nr, unsigned long new_nr);

/* race_populate() - MADV_POPULATE_WRITE or _READ; its result */
int race_populate(struct race *r, struct race_hold *mine, unsigned long page,
		  unsigned long nr, bool write);
/* race_write() - word @word of page @page becomes @value, if it can be so */
void race_write(struct race *r, struct race_hold *mine, unsigned long page,
		unsigned int word, u64 value);
/* race_done() - a call of another kind succeeded */
static inline void race_done(struct race_hold *mine)
{
	mine->succeeded++;
}

/* race_signal() - to another thread, unless it ended; fatal ones kill waits */
void race_signal(struct race *r, struct race_hold *mine, unsigned int thread,
		 bool fatal);

/*
 * race_next_fault() - how the calling thread's next fault goes
 *
 * The first two drop mmap_lock, as a fault that waits does, and are given only
 * where the caller lets them be; the third finds no memory.
 */
enum race_fault {
	RACE_FAULT_RETRY,
	RACE_FAULT_COMPLETED,
	RACE_FAULT_NO_MEMORY,
};
void race_next_fault(enum race_fault answer);

/* ---- checking ------------------------------------------------------------ */

/* race_load() - the first word of page @page through the tables; -1: none */
u64 race_load(struct race *r, unsigned long page);
/* race_load_child() - the same in r->mms[0] */
u64 race_load_child(struct race *r, unsigned long page);
/* race_peek() - the first word of the @i-th page of @hold, through its frame */
u64 race_peek(const struct race_hold *hold, long i);
void race_poke(const struct race_hold *hold, long i, u64 value);
/*
 * race_same() - does a store to page @page reach the @i-th page of @hold?
 *
 * It stores; the word is what it was afterwards.
 */
bool race_same(struct race *r, const struct race_hold *hold, long i,
	       unsigned long page);
/* race_all_same() - does it for each page of @hold, the first being @page? */
bool race_all_same(struct race *r, const struct race_hold *hold,
		   unsigned long page);
/* race_values() - is the first word of each page @value, + @step a page? */
bool race_values(const struct race_hold *hold, u64 value, u64 step);

/* ---- for who runs scenarios -------------------------------------------- */

/*
 * race_begin() - make the machine; race_round() - an address space and setup();
 * race_run() - what thread @thread does, in the thread that calls
 *
 * race_enter() may come before race_run(), where threads meet first: from there
 * on others can signal the thread.
 *
 * race_finish() recounts, runs check(), releases and destroys what the round
 * made, and looks for lost frames.  That waits for a grace period: who has many
 * rounds to run calls race_close() for each, which only checks and releases,
 * race_recount() before it now and then, and race_settle() at last.
 *
 * Return: 0; -ENOMEM; the number of the invariant that is broken.
 */
int __must_check race_begin(struct race *r, const struct scenario *s);
int __must_check race_round(struct race *r);
void race_enter(struct race *r, unsigned int thread);
void race_run(struct race *r, unsigned int thread);
int __must_check race_finish(struct race *r);
int __must_check race_recount(struct race *r);
void race_close(struct race *r);
void race_settle(struct race *r);
void race_end(struct race *r);

/* Called by race_failed(); the default says so on stderr and aborts. */
extern void (*race_failed_hook)(const char *file, int line, const char *what);

#endif
