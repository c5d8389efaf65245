/* SPDX-License-Identifier: MIT */
/* A machine with one buffer, for the tests of lab/gup_test.h. */
#ifndef TESTS_HELPER_GUP_TEST_H
#define TESTS_HELPER_GUP_TEST_H

#include "host/backend.h"
#include "lab/gup_test.h"
#include "mm/machine.h"
#include "pinfold/pinfold.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NR_PAGES	16
#define MIB		((u64)1 << 20)

struct bed {
	struct machine *machine;
	struct mm_struct *mm;
	pf_addr_t buffer;	/* NR_PAGES pages */
};

static inline void bed_begin(struct bed *bed,
			     const struct pf_machine_options *options)
{
	struct pf_machine *machine;
	struct pf_mm *mm;

	assert_int_equal(pf_machine_create(options, &machine), 0);
	assert_int_equal(pf_mm_create(machine, &mm), 0);
	assert_int_equal(pf_mmap(mm, 0, NR_PAGES * PAGE_SIZE,
				 PINFOLD_PROT_READ | PINFOLD_PROT_WRITE, 0,
				 &bed->buffer), 0);
	bed->machine = (struct machine *)machine;
	bed->mm = (struct mm_struct *)mm;
}

static inline void bed_begin_usual(struct bed *bed)
{
	bed_begin(bed, &(struct pf_machine_options){
		.size = sizeof(struct pf_machine_options),
		.memory_bytes = 16 * MIB,
	});
}

/* Nothing may be left got or pinned. */
static inline void bed_end(struct bed *bed)
{
	assert_int_equal(nr_foll_pin_acquired(bed->machine),
			 nr_foll_pin_released(bed->machine));
	pf_mm_destroy((struct pf_mm *)bed->mm);
	assert_int_equal(pf_machine_destroy((struct pf_machine *)bed->machine),
			 0);
}

static inline void bed_unmap(struct bed *bed, unsigned long page,
			     unsigned long nr_pages)
{
	assert_int_equal(pf_munmap((struct pf_mm *)bed->mm,
				   bed->buffer + page * PAGE_SIZE,
				   nr_pages * PAGE_SIZE), 0);
}

/* @fn(@arg) in a thread that is killed, while mmap_lock is held for write. */
static inline void bed_run_killed(struct bed *bed, void (*fn)(void *),
				  void *arg)
{
	struct backend_thread *thread;

	mmap_write_lock(bed->mm);
	assert_int_equal(backend_thread_create(&thread, fn, arg), 0);
	backend_thread_join(thread);
	mmap_write_unlock(bed->mm);
}

#endif
