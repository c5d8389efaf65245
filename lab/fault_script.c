/* SPDX-License-Identifier: MIT */
#include "lab/fault_script.h"

#include "lab/random.h"
#include "mm/swapops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MANY_FAULTS 12

static void record(struct fault_script *f, pf_addr_t address,
		   unsigned int flags, enum fault_answer answer)
{
	if (f->nr_records == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		f->records = realloc(f->records, f->room * sizeof(*f->records));
		BUG_ON(!f->records);
	}
	f->records[f->nr_records++] = (struct fault_record){
		address, flags, answer,
	};
}

static const struct fault_rule *find_rule(const struct fault_script *f,
					  unsigned long page, unsigned int nth)
{
	for (size_t i = 0; i < f->nr_rules; i++)
		if (f->rules[i].page == page && f->rules[i].nth == nth)
			return &f->rules[i];
	return NULL;
}

static bool absent(struct state *s, unsigned long page)
{
	pmd_t pmd = state_pmd(s, page);
	pte_t pte = state_pte(s, page);

	return (!pmd_none(pmd) && !pmd_present(pmd)) ||
	       (!pte_none(pte) && !pte_present(pte));
}

static enum fault_answer random_answer(struct fault_script *f,
				       unsigned long page, unsigned int nth)
{
	static const enum fault_answer answers[] = {
		ANSWER_RETRY, ANSWER_RETRY, ANSWER_RETRY, ANSWER_RETRY,
		ANSWER_COMPLETED, ANSWER_COMPLETED, ANSWER_REPAIR,
		ANSWER_OOM, ANSWER_SIGBUS, ANSWER_HWPOISON,
	};
	struct random r = { f->seed ^ (u64)page << 20 ^ nth };

	if (!f->seed)
		return ANSWER_PASS;
	if (random_chance(&r, f->percent))
		return answers[random_below(&r, ARRAY_SIZE(answers))];
	/* Nothing comes of waiting for a migration that nobody makes. */
	if (absent(f->state, page) && (nth > 1 || random_chance(&r, 70)))
		return ANSWER_REPAIR;
	return ANSWER_PASS;
}

/* What the caller's flags allow in place of @answer. */
static enum fault_answer allowed(enum fault_answer answer, unsigned int flags)
{
	if (answer == ANSWER_RETRY && !(flags & FAULT_FLAG_ALLOW_RETRY))
		return ANSWER_REPAIR;
	if (answer == ANSWER_COMPLETED &&
	    (!(flags & FAULT_FLAG_ALLOW_RETRY) ||
	     (flags & FAULT_FLAG_RETRY_NOWAIT)))
		return ANSWER_REPAIR;
	return answer;
}

static enum fault_answer choose(struct fault_script *f, unsigned long page,
				unsigned int flags)
{
	unsigned int nth = f->nth[page]++;
	const struct fault_rule *rule = find_rule(f, page, nth);

	if (nth >= MANY_FAULTS) {
		f->nth[page] = MANY_FAULTS;
		f->runaway = true;
		return ANSWER_SIGBUS;
	}
	if (rule && rule->signals)
		waiter_post(&waiter_self, rule->signals);
	return allowed(rule ? rule->answer : random_answer(f, page, nth),
		       flags);
}

static vm_fault_t give(struct fault_script *f, struct vm_area_struct *vma,
		       pf_addr_t address, enum fault_answer answer)
{
	switch (answer) {
	case ANSWER_RETRY:
		return VM_FAULT_RETRY;
	case ANSWER_OOM:
		return VM_FAULT_OOM;
	case ANSWER_SIGBUS:
		return VM_FAULT_SIGBUS;
	case ANSWER_HWPOISON:
		return VM_FAULT_HWPOISON;
	case ANSWER_REPAIR:
	case ANSWER_COMPLETED:
		if (!state_repair(f->state, vma, address))
			return VM_FAULT_OOM;
		return answer == ANSWER_COMPLETED ? VM_FAULT_COMPLETED : 0;
	default:
		return 0;
	}
}

static vm_fault_t script_hook(void *arg, struct vm_area_struct *vma,
			      pf_addr_t address, unsigned int flags)
{
	struct fault_script *f = arg;
	unsigned long page = (address - f->state->base) >> PAGE_SHIFT;
	enum fault_answer answer;

	BUG_ON(page >= f->state->nr_pages);
	answer = choose(f, page, flags);
	record(f, address, flags, answer);
	if (f->nr_records == f->signal_fault)
		waiter_post(&waiter_self, f->signals);
	return give(f, vma, address, answer);
}

void fault_script_start(struct fault_script *script)
{
	if (!script->nth)
		script->nth = calloc(script->state->nr_pages, 1);
	BUG_ON(!script->nth);
	current->fault_hook_arg = script;
	current->fault_hook = script_hook;
}

void fault_script_stop(void)
{
	current->fault_hook = NULL;
}

void fault_script_forget(struct fault_script *script)
{
	script->nr_records = 0;
}

static const char *const answer_names[NR_ANSWERS] = {
	[ANSWER_PASS] = "pass", [ANSWER_REPAIR] = "repair",
	[ANSWER_RETRY] = "retry", [ANSWER_COMPLETED] = "completed",
	[ANSWER_OOM] = "oom", [ANSWER_SIGBUS] = "sigbus",
	[ANSWER_HWPOISON] = "hwpoison",
};

void fault_script_dump(const struct fault_script *script)
{
	const size_t ends = 10, nr = script->nr_records;

	for (size_t i = 0; i < nr; i++) {
		const struct fault_record *r = &script->records[i];

		if (i >= ends && i + ends < nr)
			continue;
		fprintf(stderr, "  fault %zu: page %" PRIu64 " flags %#x: %s\n",
			i, (r->address - script->state->base) >> PAGE_SHIFT,
			r->flags, answer_names[r->answer]);
	}
}

void fault_script_free(struct fault_script *script)
{
	free(script->records);
	free(script->nth);
}
