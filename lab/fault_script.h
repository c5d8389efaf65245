/* SPDX-License-Identifier: MIT */
/*
 * Faults by script: answers in the handler's place, and a record of all faults.
 *
 * The answer to a fault depends on its page and on how many faults that page
 * had before, not on who asks: two walks over clones of a state hear the same.
 * Answers that drop mmap_lock are given only where the caller lets them be, and
 * to a page with many faults the answer is a bus error, so every walk ends.
 */
#ifndef LAB_FAULT_SCRIPT_H
#define LAB_FAULT_SCRIPT_H

#include "lab/state.h"

enum fault_answer {
	ANSWER_PASS,		/* the engine's own handler */
	ANSWER_REPAIR,		/* state_repair(), then the handler */
	ANSWER_RETRY,		/* mmap_lock dropped, unless RETRY_NOWAIT */
	ANSWER_COMPLETED,	/* state_repair(), and mmap_lock dropped */
	ANSWER_OOM,
	ANSWER_SIGBUS,
	ANSWER_HWPOISON,
	NR_ANSWERS,
};

/* The @nth fault (from 0) of a page of the window gets this answer. */
struct fault_rule {
	unsigned long page;
	unsigned int nth;
	enum fault_answer answer;
	u32 signals;		/* posted to the calling thread, at the fault */
};

struct fault_record {
	pf_addr_t address;
	unsigned int flags;	/* FAULT_FLAG_* */
	enum fault_answer answer;
};

struct fault_script {
	struct state *state;
	const struct fault_rule *rules;	/* these come first */
	size_t nr_rules;
	u64 seed;			/* 0: all other faults pass */
	unsigned int percent;		/* of the other faults that get a
					   random answer; the rest pass, or
					   repair a non-present entry */
	size_t signal_fault;		/* that record, from 1 on ... */
	u32 signals;			/* ... brings these */
	struct fault_record *records;
	size_t nr_records, room;
	u8 *nth;			/* faults of each page so far */
	bool runaway;			/* a walk that did not end by itself */
};

/* fault_script_start() - the calling thread's faults go by @script */
void fault_script_start(struct fault_script *script);
/* fault_script_stop() - they do not any more; the record stays */
void fault_script_stop(void);
/* fault_script_forget() - empty the record; the pages' counts stay */
void fault_script_forget(struct fault_script *script);
/* fault_script_dump() - the ends of the record, to stderr */
void fault_script_dump(const struct fault_script *script);
void fault_script_free(struct fault_script *script);

#endif
