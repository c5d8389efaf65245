/* SPDX-License-Identifier: MIT */
/*
 * The exhaustive search is depth first and without state: a schedule is run
 * from the start each time, along the choices of the last one up to the deepest
 * that has an alternative left.  Bounds 0, 1, 2 ... are searched in turn, so
 * what is found has the fewest preemptions.
 *
 * 1. Two schedules that differ only in the order of operations which do not
 *    touch each other lead to one state, and have one hash (run_hash()).  What
 *    follows a state is searched once, with the most preemptions left.
 * 2. A thing becomes shared when a second thread uses it, so earlier schedules
 *    had no point there: the search of that bound then begins again.
 *
 * Source: Musuvathi, Qadeer: Iterative context bounding (PLDI 2007);
 *	   Burckhardt et al.: A randomized scheduler (ASPLOS 2010)
 */
#include "lab/explore/search.h"

#include "host/bug.h"
#include "host/clock.h"
#include "lab/explore/source.h"
#include "lab/random.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NODES	65536
#define MINIMISE_NS	5000000000u	/* then it is short enough */
#define SEEN_BITS	21
#define SWITCH_PERCENT	12
#define STALE_PERCENT	30

const char *const strategy_names[NR_STRATEGIES] = {
	"exhaustive", "pct", "random", "weak",
};

/* One choice of the schedule that is being run. */
struct node {
	u8 can;			/* tasks; of a load: how many stores */
	u8 tried;		/* tasks */
	u8 running;		/* NOBODY: it could not go on */
	u8 chosen;
	bool load;
	u8 left;		/* preemptions, or stale loads, before it */
};

struct explorer {
	struct chooser chooser;
	struct search *search;
	struct random random;
	u64 deadline;
	/* exhaustive */
	unsigned int bound;
	struct node *nodes;
	u32 nr_nodes, depth;
	u32 left, stale_left;
	u64 round;		/* in the hashes of this search only */
	/* PCT */
	int priority[NR_TASKS];
	u32 changes[16], nr_changes;
	u32 picks, max_picks;
	/* replay */
	const struct schedule *replayed;
	bool used[MAX_DEVIATIONS];
};

static u64 *seen;
static u32 nr_seen;

/* ---- exhaustive ---------------------------------------------------------- */

/* Was this state met with as many preemptions left?  Remember it. */
static bool was_seen(struct explorer *e, unsigned int running)
{
	u64 where = (e->round * 32 + e->stale_left) * NR_TASKS * 2 + running;
	u64 h = (run_hash() ^ where) * 0x9e3779b97f4a7c15;
	u64 key = (h ^ h >> 31) & ~(u64)0xff, left = e->left + 1;
	u64 slot = key >> (64 - SEEN_BITS);

	if (nr_seen > (1u << SEEN_BITS) * 3 / 4) {
		memset(seen, 0, sizeof(*seen) << SEEN_BITS);
		nr_seen = 0;
	}
	for (; seen[slot]; slot = (slot + 1) & ((1u << SEEN_BITS) - 1)) {
		if ((seen[slot] & ~(u64)0xff) != key)
			continue;
		if ((seen[slot] & 0xff) >= left)
			return true;
		break;
	}
	nr_seen += !seen[slot];
	seen[slot] = key | left;
	return false;
}

static void add_node(struct explorer *e, struct node node)
{
	if (e->nr_nodes == MAX_NODES)
		run_fail(FAIL_LIVELOCK, "more than %d choices", MAX_NODES);
	e->nodes[e->nr_nodes++] = node;
	e->depth++;
}

static unsigned int pick_exhaustive(struct chooser *c, unsigned int can,
				    unsigned int running)
{
	struct explorer *e = container_of(c, struct explorer, chooser);
	unsigned int first = running != NOBODY ? running :
			     (unsigned int)__builtin_ctz(can);
	bool replaying = e->depth < e->nr_nodes;
	struct node *n;

	if (!replaying && was_seen(e, running))
		return PICK_STOP;
	if (running != NOBODY && !e->left)
		return running;
	if (!replaying) {
		add_node(e, (struct node){
			.can = can, .tried = BIT(first), .running = running,
			.chosen = first, .left = e->left });
		return first;
	}
	n = &e->nodes[e->depth++];
	if (running != NOBODY && n->chosen != running)
		e->left--;
	return n->chosen;
}

static unsigned int age_exhaustive(struct chooser *c, unsigned int n)
{
	struct explorer *e = container_of(c, struct explorer, chooser);

	if (!e->stale_left)
		return 0;
	if (e->depth == e->nr_nodes) {
		add_node(e, (struct node){ .can = n, .load = true,
					   .left = e->stale_left });
		return 0;
	}
	if (e->nodes[e->depth].chosen)
		e->stale_left--;
	return e->nodes[e->depth++].chosen;
}

/* The next schedule: the deepest choice that has another way. */
static bool next_schedule(struct explorer *e)
{
	for (; e->nr_nodes; e->nr_nodes--) {
		struct node *n = &e->nodes[e->nr_nodes - 1];
		unsigned int others = n->can & ~n->tried;

		if (n->load) {
			if (n->chosen + 1 < n->can) {
				n->chosen++;
				return true;
			}
			continue;
		}
		if (others && (n->running == NOBODY || n->left)) {
			n->chosen = __builtin_ctz(others);
			n->tried |= BIT(n->chosen);
			return true;
		}
	}
	return false;
}

/* ---- one schedule, whatever the strategy ------------------------------------- */

static bool out_of_time(struct explorer *e)
{
	struct search *s = e->search;

	if (s->max_schedules && s->schedules >= s->max_schedules)
		return true;
	if (s->schedules % 64)
		return false;
	if (s->progress)
		s->progress(s, s->progress_arg);
	return e->deadline && clock_ns() > e->deadline;
}

/* Yields true to go on. */
static bool one_schedule(struct explorer *e)
{
	struct search *s = e->search;
	enum run_outcome outcome;

	outcome = run_once(&e->chooser);
	s->schedules++;
	s->pruned += outcome == RUN_STOPPED;
	s->max_points = max(s->max_points, run.points);
	if (outcome != RUN_FAILED)
		return true;
	s->found = true;
	s->found_after = s->schedules;
	s->failure = run.failure;
	s->schedule = run.schedule;
	return false;
}

/* All schedules of one bound; true when all have been run. */
static bool search_bound(struct explorer *e)
{
	u64 grown = run.grown;

	e->nr_nodes = 0;
	e->round++;
	do {
		if (out_of_time(e))
			return false;
		e->depth = 0;
		e->left = e->bound;
		e->stale_left = e->search->weak ? e->bound : 0;
		if (!one_schedule(e))
			return false;
		if (run.grown != grown) {
			/* From now on there are other points: again. */
			grown = run.grown;
			e->nr_nodes = 0;
			e->round++;
			continue;
		}
		if (!next_schedule(e))
			return true;
	} while (true);
}

static void search_exhaustive(struct explorer *e)
{
	struct search *s = e->search;

	e->chooser.pick = pick_exhaustive;
	e->chooser.age = age_exhaustive;
	for (e->bound = 0; e->bound <= s->bound; e->bound++) {
		if (!search_bound(e))
			return;
		s->bound_done = e->bound;
	}
	s->exhausted = true;
}

/* ---- random -------------------------------------------------------------------- */

static unsigned int random_task(struct explorer *e, unsigned int can)
{
	unsigned int nth = random_below(&e->random, __builtin_popcount(can));

	while (nth--)
		can &= can - 1;
	return __builtin_ctz(can);
}

static unsigned int pick_random(struct chooser *c, unsigned int can,
				unsigned int running)
{
	struct explorer *e = container_of(c, struct explorer, chooser);

	if (running != NOBODY && !random_chance(&e->random, SWITCH_PERCENT))
		return running;
	return random_task(e, can);
}

static unsigned int age_random(struct chooser *c, unsigned int n)
{
	struct explorer *e = container_of(c, struct explorer, chooser);

	return random_chance(&e->random, STALE_PERCENT) ?
	       random_below(&e->random, n) : 0;
}

/*
 * The highest priority goes on; at each of the change points the one that ran
 * last falls below all others.
 */
static unsigned int pick_pct(struct chooser *c, unsigned int can,
			     unsigned int running __maybe_unused)
{
	struct explorer *e = container_of(c, struct explorer, chooser);
	unsigned int best = NR_TASKS;

	e->picks++;
	for (u32 i = 0; i < e->nr_changes; i++)
		if (e->changes[i] == e->picks && run.running != NOBODY)
			e->priority[run.running] = -1 - (int)i;
	for (unsigned int i = 0; i < NR_TASKS; i++)
		if ((can & BIT(i)) &&
		    (best == NR_TASKS || e->priority[i] > e->priority[best]))
			best = i;
	return best;
}

static void set_priorities(struct explorer *e)
{
	for (unsigned int i = 0; i < NR_TASKS; i++) {
		unsigned int other = random_below(&e->random, i + 1);

		e->priority[i] = e->priority[other];
		e->priority[other] = i;
	}
	e->nr_changes = min(e->search->bound ? e->search->bound - 1 : 0,
			    ARRAY_SIZE(e->changes));
	for (u32 i = 0; i < e->nr_changes; i++)
		e->changes[i] = 1 + random_below(&e->random,
						 max(e->max_picks, 1u));
	e->picks = 0;
}

static void search_random(struct explorer *e, bool pct)
{
	struct search *s = e->search;

	e->chooser.pick = pct ? pick_pct : pick_random;
	e->chooser.age = age_random;
	while (!out_of_time(e)) {
		if (pct)
			set_priorities(e);
		if (!one_schedule(e))
			break;
		e->max_picks = max(e->max_picks, e->picks);
	}
	if (!pct || !e->max_picks)
		return;
	/* The task of RCU's callbacks is one more. */
	s->guarantee = 1.0 / (run.nr_threads + 1);
	for (u32 i = 0; i < e->nr_changes; i++)
		s->guarantee /= e->max_picks;
}

static u64 deadline_after(double seconds)
{
	return seconds > 0 ? clock_ns() + (u64)(seconds * 1e9) : 0;
}

static void search_weak(struct explorer *e)
{
	struct search *s = e->search;

	e->deadline = deadline_after(s->seconds / 2);
	search_exhaustive(e);
	e->deadline = deadline_after(s->seconds / 2);
	if (!s->found && s->seconds > 0)
		search_random(e, false);
}

void search_run(struct search *s)
{
	static struct node nodes[MAX_NODES];
	static u64 rounds;
	struct explorer e = {
		.search = s, .nodes = nodes, .random = { s->seed },
		.deadline = deadline_after(s->seconds), .round = rounds,
	};
	u64 start = clock_ns();

	if (!seen)
		seen = calloc(1u << SEEN_BITS, sizeof(*seen));
	BUG_ON(!seen);
	run.weak = s->weak = s->weak || s->strategy == STRATEGY_WEAK;
	if (s->strategy == STRATEGY_WEAK)
		search_weak(&e);
	else if (s->strategy == STRATEGY_EXHAUSTIVE)
		search_exhaustive(&e);
	else
		search_random(&e, s->strategy == STRATEGY_PCT);
	rounds = e.round + 1;
	s->used_seconds = (clock_ns() - start) / 1e9;
	if (s->found)
		search_minimise(s);
}

/* ---- replay and minimising --------------------------------------------------- */

static const struct deviation *deviation_here(struct explorer *e, bool stale)
{
	const struct schedule *s = e->replayed;
	unsigned int task = run.running;
	u32 op = task == NOBODY ? 0 : run.tasks[task].ops;

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct deviation *d = &s->dev[i];

		if (!e->used[i] && d->task == task && d->op == op &&
		    stale == !!(d->to & STALE)) {
			e->used[i] = true;
			return d;
		}
	}
	return NULL;
}

static unsigned int pick_replay(struct chooser *c, unsigned int can,
				unsigned int running)
{
	struct explorer *e = container_of(c, struct explorer, chooser);
	const struct deviation *d = deviation_here(e, false);

	if (d && (can & BIT(d->to)))
		return d->to;
	return running != NOBODY ? running : (unsigned int)__builtin_ctz(can);
}

static unsigned int age_replay(struct chooser *c, unsigned int n)
{
	struct explorer *e = container_of(c, struct explorer, chooser);
	const struct deviation *d = deviation_here(e, true);
	unsigned int age = d ? d->to & ~STALE : 0;

	return age < n ? age : 0;
}

static unsigned int replay_missed;

unsigned int search_replay_missed(void)
{
	return replay_missed;
}

enum run_outcome search_replay(const struct schedule *schedule, bool trace)
{
	struct explorer e = {
		.chooser = { pick_replay, age_replay }, .replayed = schedule,
	};
	enum run_outcome outcome;

	run.weak = schedule->weak;
	run.all_points = true;
	run.tracing = trace;
	if (trace)
		source_trace_begin();
	outcome = run_once(&e.chooser);
	run.all_points = false;
	run.tracing = false;
	replay_missed = 0;
	for (unsigned int i = 0; i < schedule->nr; i++)
		replay_missed += !e.used[i];
	return outcome;
}

/* Does the same failure come without the turns [@from, @from + @nr)? */
static bool fails_without(struct search *s, unsigned int from, unsigned int nr)
{
	static struct schedule shorter;

	shorter = s->schedule;
	memmove(&shorter.dev[from], &shorter.dev[from + nr],
		(shorter.nr - from - nr) * sizeof(shorter.dev[0]));
	shorter.nr -= nr;
	if (search_replay(&shorter, false) != RUN_FAILED ||
	    run.failure.kind != s->failure.kind)
		return false;
	/* what really was done, which may be less than what was asked for */
	if (run.schedule.nr < shorter.nr)
		shorter = run.schedule;
	s->schedule = shorter;
	s->failure = run.failure;
	return true;
}

void search_minimise(struct search *s)
{
	const u64 until = clock_ns() + MINIMISE_NS;

	for (unsigned int nr = max(s->schedule.nr / 2, 1u);;
	     nr = max(nr / 2, 1u)) {
		bool shorter = false;

		for (unsigned int end = s->schedule.nr; end >= nr && end;) {
			if (clock_ns() > until)
				return;
			if (fails_without(s, end - nr, nr)) {
				shorter = true;
				end = min(end - nr, s->schedule.nr);
			} else {
				end -= nr;
			}
		}
		if (nr == 1 && !shorter)
			return;
	}
}
