/* SPDX-License-Identifier: MIT */
/*
 * Atomic accesses: their order, and in weak mode what a load may see.
 *
 * 1. Stores to one location have one order, that in which they are made;
 *    memory holds the newest.
 * 2. In weak mode a load that is not seq_cst may see any store that is not older
 *    than one its task knows of: its own, one that happens before it, one that a
 *    full barrier before it has to let through, or one that a load which happens
 *    before it has seen.  A read-modify-write sees the newest.
 * 3. A seq_cst access and a fully ordered read-modify-write are full barriers,
 *    as Linux's are.  (C11's order less.)
 * 4. A consume load is an acquire load: dependencies are not visible here.
 *
 * Limit: a load never sees a store that has not been made yet, so a store is not
 * moved up before an earlier load; a failed compare-exchange sees the newest
 * store; of one location HISTORY stores are remembered; if two sizes are used at
 * one place, loads there see the newest.
 */
#include "lab/explore/cell.h"

#include "host/bug.h"
#include "lab/explore/source.h"

#include <string.h>

#define MAX_LOCATIONS	65535u	/* numbers of 16 bits */

static struct location locations[MAX_LOCATIONS];
static u16 nr_locations;

void locations_run_begin(void)
{
	nr_locations = 1;	/* 0: none */
}

static bool overlaps(const struct location *l, const void *addr, size_t bytes)
{
	return l->addr < (uintptr_t)addr + bytes &&
	       (uintptr_t)addr < l->addr + l->size;
}

void locations_forget(struct cell *c, const void *addr, size_t bytes)
{
	u16 *link = &c->loc;

	while (*link) {
		struct location *l = &locations[*link];

		if (overlaps(l, addr, bytes))
			*link = l->next;
		else
			link = &l->next;
	}
}

/* They stay in their cells' lists, but are nowhere. */
void locations_forget_all(const void *addr, size_t bytes)
{
	for (u16 i = 1; i < nr_locations; i++)
		if (overlaps(&locations[i], addr, bytes)) {
			locations[i].addr = 0;
			locations[i].size = 0;
		}
}

static u64 read_word(const void *addr, unsigned int size)
{
	switch (size) {
	case 1: return *(const volatile u8 *)addr;
	case 2: return *(const volatile u16 *)addr;
	case 4: return *(const volatile u32 *)addr;
	default: return *(const volatile u64 *)addr;
	}
}

static void write_word(void *addr, unsigned int size, u64 value)
{
	switch (size) {
	case 1: *(volatile u8 *)addr = value; break;
	case 2: *(volatile u16 *)addr = value; break;
	case 4: *(volatile u32 *)addr = value; break;
	default: *(volatile u64 *)addr = value; break;
	}
}

static struct store *newest(struct location *l)
{
	return &l->stores[l->nr - 1];
}

static u64 mix(u64 a, u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15;
	return a ^ a >> 32;
}

/* Another size at the place of @l: its history ends, what was handed over not. */
static void take_place_of(struct location *l, struct location *old)
{
	struct store *s = &l->stores[0];

	s->hash = mix(s->hash, newest(old)->hash);
	l->hash_readers += old->hash_readers;
	if (newest(old)->releases) {
		knowledge_join(&s->hands, &newest(old)->hands);
		s->releases = true;
	}
}

/* The location; made at its first use, what is there being its oldest store. */
static struct location *location_of(struct cell *c, const void *addr,
				    unsigned int size)
{
	struct location *l;

	for (u16 i = c->loc; i; i = locations[i].next) {
		l = &locations[i];
		if (l->addr == (uintptr_t)addr && l->size == size)
			return l;
	}
	if (nr_locations == MAX_LOCATIONS)
		run_fail(FAIL_LIMIT, "more than %u atomic locations",
			 MAX_LOCATIONS);
	l = &locations[nr_locations];
	l->addr = (uintptr_t)addr;
	l->size = size;
	l->nr = 1;
	l->hash_readers = 0;
	memset(&l->stores[0], 0, sizeof(l->stores[0]));
	l->stores[0].value = read_word(addr, size);
	for (u16 i = c->loc; i; i = locations[i].next)
		if (overlaps(&locations[i], addr, size))
			take_place_of(l, &locations[i]);
	locations_forget(c, addr, size);
	l->next = c->loc;
	c->loc = nr_locations++;
	return l;
}

static void hash_load(struct location *l, const struct store *s)
{
	struct task *t = run_task();

	t->hash = mix(mix(t->hash, l->addr), s->hash);
	l->hash_readers += mix(t->hash, 1);
}

static void hash_store(struct location *l, u64 older)
{
	struct task *t = run_task();

	t->hash = mix(mix(mix(t->hash, l->addr + 1), older), l->hash_readers);
	l->hash_readers = 0;
}

/* ---- barriers ----------------------------------------------------------- */

static void full_barrier(struct task *t)
{
	knowledge_join(&t->know, &t->loaded);
	vclock_join(&run.fenced, &t->know.hb);
	vclock_join(&t->know.seen, &run.fenced);
	/* The order of barriers is in no location's order of stores. */
	for (unsigned int i = 0; run.weak && i < NR_TASKS; i++)
		t->hash = mix(t->hash, t->know.seen.at[i]);
	t->released = t->know;
	t->know.hb.at[run.running]++;
}

void memory_fence(enum order order, uintptr_t pc)
{
	struct task *t = run_task();

	run_step(pc);
	if (run.phase != RUN_THREADS)
		return;
	if (order == ORDER_SEQ_CST) {
		full_barrier(t);
		return;
	}
	if (order != ORDER_RELEASE)
		knowledge_join(&t->know, &t->loaded);
	if (order == ORDER_RELEASE || order == ORDER_ACQ_REL) {
		t->released = t->know;
		t->know.hb.at[run.running]++;
	}
}

static bool acquires(enum order order)
{
	return order != ORDER_RELAXED && order != ORDER_RELEASE;
}

static bool releases(enum order order)
{
	return order >= ORDER_RELEASE;
}

static void take_over(struct task *t, const struct store *s, enum order order)
{
	if (!s->releases)
		return;
	if (acquires(order))
		knowledge_join(&t->know, &s->hands);
	else
		knowledge_join(&t->loaded, &s->hands);
}

/* ---- stores and loads ----------------------------------------------------- */

static bool knows(const struct task *t, unsigned int task, u32 clock)
{
	return clock <= t->know.hb.at[task] || clock <= t->know.seen.at[task];
}

/* May @t no longer look past @s, to an older store? */
static bool is_bound(const struct task *t, const struct store *s)
{
	if (!s->clock || knows(t, s->task, s->clock))
		return true;
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if (s->read_at[i] && knows(t, i, s->read_at[i]))
			return true;
	return false;
}

static struct store *store_to_see(struct location *l, enum order order)
{
	struct task *t = run_task();
	unsigned int n = 1;

	if (!run.weak || order == ORDER_SEQ_CST)
		return newest(l);
	while (n < l->nr && !is_bound(t, &l->stores[l->nr - n]))
		n++;
	return &l->stores[l->nr - 1 - run_choose_store(n)];
}

/* Append a store; @older: what a read-modify-write has read, or NULL. */
static void append_store(struct location *l, u64 value, enum order order,
			 const struct store *older)
{
	struct task *t = run_task();
	struct store s = { .value = value, .task = run.running };
	bool has_fence = t->released.hb.at[run.running] != 0;

	/* The first clock of a task is 1, so 0 is "before the run". */
	s.clock = t->know.hb.at[run.running];
	s.hash = t->hash;
	if (releases(order))
		s.hands = t->know;
	else if (has_fence)
		s.hands = t->released;
	s.releases = releases(order) || has_fence;
	if (older && older->releases) {
		knowledge_join(&s.hands, &older->hands);
		s.releases = true;
	}
	if (!run.weak) {
		l->nr = 0;
	} else if (l->nr == HISTORY) {
		memmove(&l->stores[0], &l->stores[1],
			sizeof(l->stores) - sizeof(l->stores[0]));
		l->nr--;
	}
	l->stores[l->nr++] = s;
	t->know.hb.at[run.running]++;
}

/* The running task uses @c atomically: was it known to be shared? */
static bool note_use(struct cell *c, enum access kind)
{
	bool shared = cell_is_shared(c);

	c->atomic_read |= BIT(run.running);
	if (kind & ACCESS_WRITE)
		c->atomic_written |= BIT(run.running);
	if (!shared && cell_is_shared(c))
		run.grown++;
	return shared;
}

/*
 * What all atomic accesses begin with: a choice of who goes on, then the checks.
 * NULL: nothing is kept, as no threads are running.
 */
static struct cell *atomic_begin(const void *addr, unsigned int size,
				 enum access kind, uintptr_t pc)
{
	struct cell *c;
	bool shared;

	if (run.phase <= RUN_ALONE || memory_is_private(addr))
		return NULL;
	run_step(pc);
	memory_check(addr, size, pc);
	c = cell_of(addr);
	if (run.phase == RUN_THREADS) {
		shared = note_use(c, kind);
		run_point(shared);
		/* Others ran: look again. */
		memory_check(addr, size, pc);
		run_task()->pc = pc;
		cell_access(c, cell_mask(addr, size), kind | ACCESS_ATOMIC, pc,
			    addr);
	}
	if (kind & ACCESS_WRITE)
		cell_log(c);
	return run.phase == RUN_THREADS ? c : NULL;
}

u64 memory_load(const void *addr, unsigned int size, enum order order,
		uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_READ, pc);
	struct task *t = run_task();
	struct location *l;
	struct store *s;

	if (!c)
		return read_word(addr, size);
	l = location_of(c, addr, size);
	if (order == ORDER_SEQ_CST)
		full_barrier(t);
	s = store_to_see(l, order);
	if (!s->read_at[run.running])
		s->read_at[run.running] = t->know.hb.at[run.running];
	take_over(t, s, order);
	if (cell_is_shared(c))
		hash_load(l, s);
	if (run.tracing)
		source_trace_load(addr, size, s->value, s != newest(l), pc);
	return s->value;
}

void memory_store(void *addr, unsigned int size, u64 value, enum order order,
		  uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_WRITE, pc);
	struct location *l;

	if (!c) {
		write_word(addr, size, value);
		return;
	}
	l = location_of(c, addr, size);
	if (cell_is_shared(c))
		hash_store(l, newest(l)->hash);
	if (run.tracing)
		source_trace_store(addr, size, read_word(addr, size), value,
				   false, pc);
	append_store(l, value, order, NULL);
	write_word(addr, size, value);
	if (order == ORDER_SEQ_CST)
		full_barrier(run_task());
}

/* The old value has been read, the new one is to be stored. */
static void read_modify_write(struct cell *c, void *addr, unsigned int size,
			      u64 value, enum order order, uintptr_t pc)
{
	struct task *t = run_task();
	struct location *l = location_of(c, addr, size);
	struct store older = *newest(l);

	if (!newest(l)->read_at[run.running])
		newest(l)->read_at[run.running] = t->know.hb.at[run.running];
	if (order == ORDER_SEQ_CST)
		full_barrier(t);
	take_over(t, &older, order);
	if (cell_is_shared(c))
		hash_store(l, older.hash);
	if (run.tracing)
		source_trace_store(addr, size, read_word(addr, size), value,
				   true, pc);
	append_store(l, value, order, &older);
	write_word(addr, size, value);
	if (order == ORDER_SEQ_CST)
		full_barrier(t);
}

void memory_load_newest(const void *addr, unsigned int size, uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_READ, pc);
	struct location *l;

	if (!c)
		return;
	l = location_of(c, addr, size);
	take_over(run_task(), newest(l), ORDER_RELAXED);
	if (cell_is_shared(c))
		hash_load(l, newest(l));
	if (run.tracing)
		source_trace_load(addr, size, newest(l)->value, false, pc);
}

void memory_store_coming(void *addr, unsigned int size, uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_WRITE, pc);
	struct location *l;

	if (!c)
		return;
	l = location_of(c, addr, size);
	if (cell_is_shared(c))
		hash_store(l, newest(l)->hash);
	if (run.tracing)
		source_trace_plain(addr, size, ACCESS_WRITE, pc);
	/* Its value is not known yet: from here on this is the only store. */
	locations_forget(c, addr, size);
	l = location_of(c, addr, size);
	newest(l)->hash = run_task()->hash;
}

static u64 rmw_value(enum rmw op, u64 old, u64 operand)
{
	switch (op) {
	case RMW_XCHG: return operand;
	case RMW_ADD: return old + operand;
	case RMW_SUB: return old - operand;
	case RMW_AND: return old & operand;
	case RMW_OR: return old | operand;
	case RMW_XOR: return old ^ operand;
	default: return ~(old & operand);
	}
}

u64 memory_rmw(void *addr, unsigned int size, enum rmw op, u64 operand,
	       enum order order, uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_WRITE, pc);
	u64 old = read_word(addr, size);
	u64 value = rmw_value(op, old, operand);

	if (size < 8)
		value &= BIT(size * 8) - 1;
	if (c)
		read_modify_write(c, addr, size, value, order, pc);
	else
		write_word(addr, size, value);
	return old;
}

bool memory_cmpxchg(void *addr, unsigned int size, u64 *old, u64 new,
		    enum order order, enum order failure, uintptr_t pc)
{
	struct cell *c = atomic_begin(addr, size, ACCESS_WRITE, pc);
	u64 now = read_word(addr, size);

	if (now == *old) {
		if (c)
			read_modify_write(c, addr, size, new, order, pc);
		else
			write_word(addr, size, new);
		return true;
	}
	*old = now;
	if (c) {
		struct location *l = location_of(c, addr, size);

		take_over(run_task(), newest(l), failure);
		if (cell_is_shared(c))
			hash_load(l, newest(l));
		if (run.tracing)
			source_trace_load(addr, size, now, false, pc);
	}
	return false;
}

/* ---- locks ---------------------------------------------------------------- */

void memory_approach(u32 *word, uintptr_t pc)
{
	run_step(pc);
	run_point(note_use(cell_of(word), ACCESS_WRITE));
}

bool memory_lock(u32 *word, bool trying, uintptr_t pc)
{
	struct cell *c = cell_of(word);
	struct location *l;

	run_task()->pc = pc;
	if (trying && !c->tried) {
		/* From now on its unlocking is a point. */
		c->tried = true;
		run.grown++;
	}
	if (*word) {
		if (trying && cell_is_shared(c))
			hash_load(location_of(c, word, 4),
				  newest(location_of(c, word, 4)));
		return false;
	}
	cell_log(c);
	cell_access(c, cell_mask(word, 4), ACCESS_WRITE | ACCESS_ATOMIC, pc,
		    word);
	l = location_of(c, word, 4);
	take_over(run_task(), newest(l), ORDER_ACQUIRE);
	if (cell_is_shared(c))
		hash_store(l, newest(l)->hash);
	if (run.tracing)
		source_trace_lock(word, "taken", pc);
	append_store(l, 1, ORDER_RELAXED, NULL);
	*word = 1;
	return true;
}

void memory_unlock(u32 *word, uintptr_t pc)
{
	struct cell *c = cell_of(word);
	struct location *l;

	run_step(pc);
	run_point(c->tried && cell_is_shared(c));
	run_task()->pc = pc;
	cell_log(c);
	cell_access(c, cell_mask(word, 4), ACCESS_WRITE | ACCESS_ATOMIC, pc,
		    word);
	l = location_of(c, word, 4);
	if (run.tracing)
		source_trace_lock(word, "released", pc);
	append_store(l, 0, ORDER_RELEASE, NULL);
	/* Before it and after it are two states. */
	if (cell_is_shared(c))
		run_task()->hash = mix(run_task()->hash, 2);
	newest(l)->hash = run_task()->hash;
	*word = 0;
}

void memory_meet(const u32 *word, bool write, uintptr_t pc)
{
	struct cell *c = atomic_begin(word, 4, write ? ACCESS_WRITE :
							ACCESS_READ, pc);

	if (!c || !cell_is_shared(c))
		return;
	if (write) {
		struct location *l = location_of(c, word, 4);

		hash_store(l, newest(l)->hash);
		newest(l)->hash = run_task()->hash;
	} else {
		hash_load(location_of(c, word, 4),
			  newest(location_of(c, word, 4)));
	}
}
