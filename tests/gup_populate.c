/* SPDX-License-Identifier: MIT */
/*
 * Claim: the helpers that make memory resident, and those that reach into an
 * address space page by page, go as far as they can, say how far that was, and
 * keep mmap_lock as they promise, whatever the faults answer.
 *
 * p1 ... p8, v16, case_L1: the scenarios of that name.
 * Source: mm/gup.c: populate_vma_page_range(), faultin_page_range(),
 *         __mm_populate(), fixup_user_fault(), fault_in_*(), get_dump_page();
 *         mm/memory.c: __access_remote_vm()
 */
#include "tests/mm_test.h"

#include "mm/swapops.h"

#include <errno.h>
#include <pthread.h>

#define P(n)		(BASE + PAGES(n))
#define READ		PINFOLD_MADV_POPULATE_READ
#define WRITE		PINFOLD_MADV_POPULATE_WRITE

static struct mm_test t;
static struct mm_struct *mm;
static struct page *pages[64];
#define handles		((struct pf_page **)pages)

/* ---- what faults answer ----------------------------------------------- */

#define MOST_FAULTS	64

struct hook {
	vm_fault_t answers[MOST_FAULTS];	/* 0: the handler's own */
	unsigned int flags[MOST_FAULTS];
	pf_addr_t addresses[MOST_FAULTS];
	unsigned int nr;
	unsigned int meet;	/* at this fault, from 1 on, a writer waits */
};

static struct hook hook;

static vm_fault_t answer(void *arg, struct vm_area_struct *vma,
			 pf_addr_t address, unsigned int flags)
{
	unsigned int i = hook.nr;

	(void)arg;
	if (i >= MOST_FAULTS)
		return 0;
	hook.flags[i] = flags;
	hook.addresses[i] = address & PAGE_MASK;
	WRITE_ONCE(hook.nr, i + 1);
	/* It gets the lock as soon as this fault drops it. */
	while (i + 1 == hook.meet &&
	       !READ_ONCE(vma->vm_mm->mmap_lock.writers_waiting))
		cpu_relax();
	return hook.answers[i];
}

#define expect_faults(...) do {						\
	static const vm_fault_t _answers[] = { __VA_ARGS__ };		\
	memset(&hook, 0, sizeof(hook));					\
	memcpy(hook.answers, _answers, sizeof(_answers));		\
	current->fault_hook = answer;					\
} while (0)

static void begin(void)
{
	mm_test_begin(&t, (struct pf_machine_options){
		.memory_bytes = MIB(8),
	});
	mm = mm_of(t.mm);
	current->mm = mm;
	current->cpu = 1;
	expect_faults(0);
}

static void end(void)
{
	current->fault_hook = NULL;
	current->mm = NULL;
	mm_test_end(&t);
}

static unsigned int nr_resident(u64 first, u64 nr)
{
	unsigned int resident = 0;

	for (u64 i = 0; i < nr; i++)
		resident += resident_at(&t, P(first + i));
	return resident;
}

static bool zero_at(u64 n)
{
	return page_mapped_at(&t, P(n)) == machine_of(t.machine)->zero_page;
}

static void set_entry(u64 n, pte_t entry)
{
	set_pte_at(mm, P(n), pte_at(&t, P(n)), entry);
}

static void change_area(u64 n, vm_flags_t set, vm_flags_t clear)
{
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	vma = vma_lookup(mm, P(n));
	vma->vm_flags = (vma->vm_flags & ~clear) | set;
	mmap_write_unlock(mm);
}

static void drop(u64 first, u64 nr)
{
	assert_int_equal(pf_madvise(t.mm, P(first), PAGES(nr),
				    PINFOLD_MADV_DONTNEED), 0);
}

/* ---- populate_vma_page_range() ---------------------------------------- */

static long populate_range(u64 first, u64 nr, int *locked)
{
	struct vm_area_struct *vma;
	long ret;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, P(first));
	if (locked)
		*locked = 1;
	ret = populate_vma_page_range(vma, P(first), P(first + nr), locked);
	if (!locked || *locked)
		mmap_read_unlock(mm);
	return ret;
}

static void ranges_by_permission(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 8, RW);
	assert_int_equal(populate_range(2, 4, NULL), 4);
	assert_int_equal(nr_resident(0, 8), 4);
	assert_false(zero_at(2));
	/* what is new is not left in this CPU's batch */
	assert_int_equal(machine_of(t.machine)->cpus[0].nr_lru_add, 0);

	map_at(&t, P(8), 8, PINFOLD_PROT_READ);
	assert_int_equal(populate_range(8, 8, NULL), 8);
	assert_true(zero_at(8) && zero_at(15));

	/* only to be written, or run: pages of its own, or read by force */
	map_at(&t, P(16), 8, PINFOLD_PROT_WRITE);
	assert_int_equal(populate_range(16, 8, NULL), 8);
	assert_false(zero_at(16));
	map_at(&t, P(24), 8, PINFOLD_PROT_EXEC);
	assert_int_equal(populate_range(24, 8, NULL), 8);
	assert_true(zero_at(24));

	map_at(&t, P(32), 8, PINFOLD_PROT_NONE);
	assert_int_equal(populate_range(32, 8, NULL), -EFAULT);
	map_at(&t, P(40), 8, RW);
	change_area(40, VM_LOCKONFAULT, 0);
	assert_int_equal(populate_range(40, 8, NULL), 8);
	assert_int_equal(nr_resident(32, 16), 0);
	end();
}

static void ranges_with_a_lock_to_drop(void **state)
{
	const unsigned int retry = FAULT_FLAG_ALLOW_RETRY |
				   FAULT_FLAG_KILLABLE | FAULT_FLAG_WRITE;
	int locked;

	(void)state;
	begin();
	map_at(&t, P(0), 8, RW);
	expect_faults(0, 0, VM_FAULT_RETRY);
	assert_int_equal(populate_range(0, 8, &locked), 2);
	assert_int_equal(locked, 0);
	assert_int_equal(hook.flags[2], retry);
	expect_faults(VM_FAULT_COMPLETED);
	assert_int_equal(populate_range(2, 6, &locked), 0);
	assert_int_equal(locked, 0);
	expect_faults(0);
	assert_int_equal(populate_range(2, 6, &locked), 6);
	assert_int_equal(locked, 1);
	/* none to drop: nothing that would drop it is asked for */
	drop(0, 8);
	expect_faults(0);
	assert_int_equal(populate_range(0, 8, NULL), 8);
	assert_int_equal(hook.flags[0], FAULT_FLAG_WRITE);
	drop(0, 8);
	expect_faults(0, VM_FAULT_OOM);
	assert_int_equal(populate_range(0, 8, NULL), 1);
	expect_faults(VM_FAULT_OOM);
	assert_int_equal(populate_range(1, 7, NULL), -ENOMEM);
	expect_faults(VM_FAULT_SIGBUS);
	assert_int_equal(populate_range(1, 7, &locked), -EFAULT);
	assert_int_equal(locked, 1);
	end();
}

/* ---- mm_populate() ---------------------------------------------------- */

static void everything_but_holes(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(2), 2, RW);
	map_at(&t, P(6), 2, PINFOLD_PROT_READ);
	map_at(&t, P(8), 2, RW | PINFOLD_PROT_EXEC);
	map_at(&t, P(12), 2, RW);
	change_area(8, VM_PFNMAP, 0);
	assert_int_equal(mm_populate(mm, P(0), PAGES(20), false), 0);
	assert_int_equal(nr_resident(0, 20), 6);
	assert_int_equal(nr_resident(8, 2), 0);
	change_area(8, 0, VM_PFNMAP);
	assert_int_equal(mm_populate(mm, P(14), PAGES(20), false), 0);
	end();
}

static void errors_end_it_or_not(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 4, RW);
	map_at(&t, P(4), 4, PINFOLD_PROT_NONE);
	map_at(&t, P(8), 4, RW);
	assert_int_equal(mm_populate(mm, P(0), PAGES(12), false), -EFAULT);
	assert_int_equal(nr_resident(0, 12), 4);
	assert_int_equal(mm_populate(mm, P(0), PAGES(12), true), 0);
	assert_int_equal(nr_resident(0, 12), 8);
	/* the rest of an area is left out after an error in it */
	drop(0, 4);
	drop(8, 4);
	expect_faults(0, VM_FAULT_SIGBUS, VM_FAULT_SIGBUS);
	assert_int_equal(mm_populate(mm, P(0), PAGES(12), true), 0);
	assert_int_equal(nr_resident(0, 4), 1);
	assert_int_equal(nr_resident(8, 4), 4);
	drop(8, 4);
	/* tried once more where it was short */
	expect_faults(0, VM_FAULT_OOM, VM_FAULT_OOM);
	assert_int_equal(mm_populate(mm, P(8), PAGES(4), false), -ENOMEM);
	assert_int_equal(nr_resident(8, 4), 1);
	end();
}

static void dropped_locks_are_taken_again(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 4, RW);
	map_at(&t, P(6), 2, PINFOLD_PROT_READ);
	expect_faults(VM_FAULT_RETRY, 0, VM_FAULT_RETRY, VM_FAULT_COMPLETED, 0,
		      0, 0, 0, VM_FAULT_RETRY);
	assert_int_equal(mm_populate(mm, P(0), PAGES(8), false), 0);
	assert_int_equal(nr_resident(0, 8), 6);
	assert_false(rwsem_is_locked(&mm->mmap_lock));
	end();
}

static void a_killed_thread_stops(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 4, RW);
	pf_task_signal(pf_task_self(), true);
	assert_int_equal(mm_populate(mm, P(0), PAGES(4), false), -EINTR);
	assert_int_equal(nr_resident(0, 4), 0);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(4), WRITE), -EINTR);
	pf_task_clear_signals();
	/* an ordinary signal is no reason */
	pf_task_signal(pf_task_self(), false);
	assert_int_equal(mm_populate(mm, P(0), PAGES(4), false), 0);
	pf_task_clear_signals();
	end();
}

/* ---- MADV_POPULATE ---------------------------------------------------- */

static long faultin(u64 first, u64 nr, bool write, int *locked)
{
	long ret;

	mmap_read_lock(mm);
	*locked = 1;
	ret = faultin_page_range(mm, P(first), P(first + nr), write, locked);
	if (*locked)
		mmap_read_unlock(mm);
	return ret;
}

static void faultin_goes_as_far_as_it_can(void **state)
{
	int locked;

	(void)state;
	begin();
	map_at(&t, P(0), 4, RW);
	map_at(&t, P(4), 4, PINFOLD_PROT_READ);
	assert_int_equal(faultin(0, 8, true, &locked), 4);
	assert_int_equal(faultin(4, 4, true, &locked), -EINVAL);
	assert_int_equal(faultin(4, 6, false, &locked), 4);
	assert_int_equal(faultin(8, 2, false, &locked), -ENOMEM);
	assert_int_equal(locked, 1);
	drop(0, 4);
	expect_faults(VM_FAULT_HWPOISON);
	assert_int_equal(faultin(0, 4, true, &locked), -EHWPOISON);
	expect_faults(VM_FAULT_OOM);
	assert_int_equal(faultin(0, 4, true, &locked), -ENOMEM);
	/* a retry is made inside; the lock is reported dropped */
	expect_faults(0, VM_FAULT_RETRY);
	assert_int_equal(faultin(0, 4, true, &locked), 4);
	assert_int_equal(locked, 0);
	assert_true(hook.flags[2] & FAULT_FLAG_TRIED);
	assert_int_equal(hook.addresses[2], P(1));
	assert_false(hook.flags[3] & FAULT_FLAG_TRIED);
	end();
}

static void p1_p2_permissions(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 512, PINFOLD_PROT_READ);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), READ), 0);
	assert_int_equal(nr_resident(0, 512), 512);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), WRITE), -EINVAL);
	map_at(&t, P(0), 512, PINFOLD_PROT_WRITE);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), READ), -EINVAL);
	assert_int_equal(nr_resident(0, 512), 0);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), WRITE), 0);
	assert_int_equal(nr_resident(0, 512), 512);
	end();
}

static void p3_p4_p5_holes(void **state)
{
	static const int advice[] = { READ, WRITE };

	(void)state;
	begin();
	map_at(&t, P(0), 512, RW);
	assert_int_equal(pf_munmap(t.mm, P(1), PAGE_SIZE), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), advice[i]),
				 -ENOMEM);
		assert_int_equal(pf_madvise(t.mm, P(0), PAGES(2), advice[i]),
				 -ENOMEM);
		assert_int_equal(pf_madvise(t.mm, P(1), PAGES(511), advice[i]),
				 -ENOMEM);
		assert_int_equal(nr_resident(0, 512), 1);
	}
	end();
}

static void p6_p7_untouched(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 512, RW);
	assert_int_equal(nr_resident(0, 512), 0);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), READ), 0);
	assert_int_equal(nr_resident(0, 512), 512);
	assert_true(zero_at(0) && zero_at(511));
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), WRITE), 0);
	assert_int_equal(nr_resident(0, 512), 512);
	assert_false(zero_at(0) || zero_at(511));
	end();
}

static unsigned long nr_soft_dirty(unsigned long nr)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < nr; i++)
		count += pte_soft_dirty(entry_at(&t, P(i)));
	return count;
}

/* Tracking as after clearing: the area is not soft-dirty, so its pages tell. */
static void p8_soft_dirty(void **state)
{
	struct vm_area_struct *vma;

	(void)state;
	begin();
	map_at(&t, P(0), 512, RW);
	mmap_write_lock(mm);
	vma = vma_lookup(mm, P(0));
	vma_set_flags(vma, vma->vm_flags & ~VM_SOFTDIRTY);
	mmap_write_unlock(mm);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), READ), 0);
	assert_int_equal(nr_soft_dirty(512), 0);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGES(512), WRITE), 0);
	assert_int_equal(nr_soft_dirty(512), 512);
	end();
}

/* ---- another thread in between ---------------------------------------- */

struct unmapping {
	pf_addr_t start;
	u64 length;
	pthread_t thread;
};

static void *unmap(void *arg)
{
	const struct unmapping *u = arg;

	return (void *)(intptr_t)pf_munmap(t.mm, u->start, u->length);
}

/*
 * Another thread is in its hook.meet'th fault, which goes on when this one's
 * unmapping waits for the lock.
 */
static void unmap_in_fault(struct unmapping *u, u64 first, u64 nr)
{
	u->start = P(first);
	u->length = PAGES(nr);
	while (READ_ONCE(hook.nr) < hook.meet)
		cpu_relax();
	assert_int_equal(pthread_create(&u->thread, NULL, unmap, u), 0);
}

static void unmapped(struct unmapping *u)
{
	void *ret;

	assert_int_equal(pthread_join(u->thread, &ret), 0);
	assert_null(ret);
}

static void *pin_thread(void *arg)
{
	current->fault_hook = answer;
	return (void *)pf_pin_user_pages_unlocked(t.mm, P(0), (uintptr_t)arg,
						  handles, FOLL_WRITE);
}

static void v16_unmapped_while_waiting(void **state)
{
	struct unmapping u;
	pthread_t pinner;
	void *ret;

	(void)state;
	begin();
	map_at(&t, P(0), 8, RW);
	expect_faults(0, 0, 0, VM_FAULT_RETRY);
	current->fault_hook = NULL;
	hook.meet = 4;
	assert_int_equal(pthread_create(&pinner, NULL, pin_thread, (void *)8),
			 0);
	unmap_in_fault(&u, 3, 5);
	unmapped(&u);
	assert_int_equal(pthread_join(pinner, &ret), 0);
	assert_int_equal((long)ret, 3);
	assert_false(rwsem_is_locked(&mm->mmap_lock));
	unpin_user_pages(pages, 3);
	assert_valid(&t);
	end();
}

static void *populate_thread(void *arg)
{
	current->fault_hook = answer;
	(void)arg;
	return (void *)(intptr_t)pf_madvise(t.mm, P(0), PAGES(4), WRITE);
}

static void case_L1(void **state)
{
	static const int advice[] = { READ, WRITE };
	struct unmapping u;
	pthread_t thread;
	void *ret;

	(void)state;
	begin();
	for (int i = 0; i < 2; i++) {
		map_at(&t, P(0), 6, RW);
		assert_int_equal(pf_munmap(t.mm, P(3), PAGE_SIZE), 0);
		assert_int_equal(pf_madvise(t.mm, P(0), PAGES(6), advice[i]),
				 -ENOMEM);
		assert_int_equal(nr_resident(0, 3), 3);
		assert_int_equal(nr_resident(3, 3), 0);
	}
	/* RETRY drops the lock, and the area is gone when it is held again. */
	map_at(&t, P(0), 4, RW);
	expect_faults(0, VM_FAULT_RETRY);
	current->fault_hook = NULL;
	hook.meet = 2;
	assert_int_equal(pthread_create(&thread, NULL, populate_thread, NULL),
			 0);
	unmap_in_fault(&u, 0, 4);
	unmapped(&u);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_int_equal((intptr_t)ret, -ENOMEM);
	assert_int_equal(hook.nr, 2);
	assert_valid(&t);
	end();
}

/* ---- fixup_user_fault() ----------------------------------------------- */

static int fixup(u64 n, unsigned int flags, bool *unlocked)
{
	int ret;

	if (unlocked)
		*unlocked = false;
	mmap_read_lock(mm);
	ret = fixup_user_fault(mm, P(n), flags, unlocked);
	/* on every path it is held */
	assert_true(rwsem_is_locked(&mm->mmap_lock));
	mmap_read_unlock(mm);
	return ret;
}

static void fixups_that_cannot_be(void **state)
{
	bool unlocked;

	(void)state;
	begin();
	map_at(&t, P(0), 2, RW);
	map_at(&t, P(2), 2, PINFOLD_PROT_READ);
	map_at(&t, P(4), 2, PINFOLD_PROT_WRITE);
	assert_int_equal(fixup(9, 0, &unlocked), -EFAULT);
	assert_int_equal(fixup(2, FAULT_FLAG_WRITE, &unlocked), -EFAULT);
	assert_int_equal(fixup(4, 0, &unlocked), -EFAULT);
	assert_int_equal(fixup(4, FAULT_FLAG_WRITE, &unlocked), 0);
	assert_int_equal(fixup(2, 0, NULL), 0);
	assert_false(unlocked);
	expect_faults(VM_FAULT_OOM, VM_FAULT_SIGBUS, VM_FAULT_SIGSEGV,
		      VM_FAULT_HWPOISON);
	assert_int_equal(fixup(0, 0, NULL), -ENOMEM);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixup(0, 0, &unlocked), -EFAULT);
	/* killed: only where the caller says that this may end it */
	expect_faults(0);
	pf_task_signal(pf_task_self(), true);
	assert_int_equal(fixup(0, FAULT_FLAG_KILLABLE, NULL), -EINTR);
	assert_int_equal(fixup(0, 0, &unlocked), -EINTR);
	assert_int_equal(fixup(0, 0, NULL), 0);
	pf_task_clear_signals();
	end();
}

static void fixups_retry(void **state)
{
	bool unlocked;

	(void)state;
	begin();
	map_at(&t, P(0), 2, RW);
	expect_faults(VM_FAULT_RETRY, VM_FAULT_RETRY, 0);
	assert_int_equal(fixup(0, FAULT_FLAG_WRITE, &unlocked), 0);
	assert_true(unlocked);
	assert_int_equal(hook.nr, 3);
	assert_false(hook.flags[0] & FAULT_FLAG_TRIED);
	assert_true(hook.flags[0] & FAULT_FLAG_ALLOW_RETRY);
	assert_true(hook.flags[1] & FAULT_FLAG_TRIED);
	assert_int_equal(nr_resident(0, 1), 1);
	/* done, though nothing is looked at again */
	expect_faults(VM_FAULT_COMPLETED);
	assert_int_equal(fixup(1, FAULT_FLAG_WRITE, &unlocked), 0);
	assert_true(unlocked);
	assert_int_equal(hook.nr, 1);
	assert_int_equal(nr_resident(1, 1), 0);
	/* what a retry finds may be an error */
	expect_faults(VM_FAULT_RETRY, VM_FAULT_SIGBUS);
	assert_int_equal(fixup(1, 0, &unlocked), -EFAULT);
	assert_true(unlocked);
	end();
}

/* It faults even where all looks well: that is what it is for. */
static void fixups_fault_always(void **state)
{
	bool unlocked;

	(void)state;
	begin();
	map_at(&t, P(0), 1, RW);
	write_word(&t, P(0), 1);
	set_entry(0, pte_mkclean(pte_mkold(entry_at(&t, P(0)))));
	expect_faults(0);
	assert_int_equal(fixup(0, 0, &unlocked), 0);
	assert_int_equal(hook.nr, 1);
	assert_true(pte_young(entry_at(&t, P(0))));
	assert_false(pte_dirty(entry_at(&t, P(0))));
	assert_int_equal(fixup(0, FAULT_FLAG_WRITE, &unlocked), 0);
	assert_true(pte_dirty(entry_at(&t, P(0))));
	end();
}

/* ---- fault_in_*() ----------------------------------------------------- */

static void fault_in_counts_what_is_missing(void **state)
{
	u64 (*const each[])(pf_addr_t, u64) = {
		fault_in_readable, fault_in_writeable, fault_in_safe_writeable,
	};

	(void)state;
	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(each); i++) {
		map_at(&t, P(0), 4, RW);
		assert_int_equal(each[i](P(0), 0), 0);
		assert_int_equal(each[i](P(9), 0), 0);
		assert_int_equal(each[i](P(0) + 5, 1), 0);
		assert_int_equal(nr_resident(0, 4), 1);
		assert_int_equal(each[i](P(1) + 5, PAGE_SIZE), 0);
		assert_int_equal(nr_resident(0, 4), 3);
		assert_int_equal(each[i](P(0), PAGES(4)), 0);
		/* from the hole on */
		assert_int_equal(each[i](P(2) + 100, PAGES(3)),
				 PAGES(1) + 100);
		assert_int_equal(each[i](P(4), 10), 10);
		assert_int_equal(each[i](P(4) - 1, 10), 9);
		assert_int_equal(each[i]((pf_addr_t)0 - 100, 200), 200);
		assert_int_equal(pf_munmap(t.mm, P(0), PAGES(4)), 0);
	}
	end();
}

static void fault_in_by_permission(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 2, PINFOLD_PROT_READ);
	assert_int_equal(fault_in_readable(P(0), PAGES(2)), 0);
	assert_int_equal(fault_in_writeable(P(0), PAGES(2)), PAGES(2));
	assert_int_equal(fault_in_safe_writeable(P(0) + 7, PAGES(1)),
			 PAGES(1));
	assert_true(zero_at(0));
	end();
}

/* One of the two stores a zero byte at each place that it touches. */
static void fault_in_and_the_bytes(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 3, RW);
	for (u64 i = 0; i < 3; i++)
		write_word(&t, P(i), ~0ull);
	assert_int_equal(fault_in_readable(P(0), PAGES(3)), 0);
	assert_int_equal(fault_in_safe_writeable(P(0), PAGES(3)), 0);
	for (u64 i = 0; i < 3; i++)
		assert_true(read_word(&t, P(i)) == ~0ull);
	assert_int_equal(fault_in_writeable(P(0) + 2, PAGES(1)), 0);
	assert_true(read_word(&t, P(0)) == ~0xff0000ull);
	assert_true(read_word(&t, P(1)) == ~0xffull);
	assert_true(read_word(&t, P(2)) == ~0ull);
	end();
}

static void fault_in_retries(void **state)
{
	(void)state;
	begin();
	map_at(&t, P(0), 3, RW);
	expect_faults(VM_FAULT_RETRY, 0, VM_FAULT_RETRY, VM_FAULT_COMPLETED, 0,
		      VM_FAULT_RETRY);
	assert_int_equal(fault_in_safe_writeable(P(0), PAGES(3)), 0);
	/* the one that was said to be complete was not looked at again */
	assert_int_equal(nr_resident(0, 3), 2);
	expect_faults(VM_FAULT_RETRY, 0);
	assert_int_equal(fault_in_writeable(P(0), PAGES(3)), 0);
	assert_int_equal(nr_resident(0, 3), 3);
	assert_false(rwsem_is_locked(&mm->mmap_lock));
	end();
}

/* ---- access_remote_vm() ----------------------------------------------- */

static void access_across_pages(void **state)
{
	static char out[3 * 4096], in[3 * 4096];

	(void)state;
	begin();
	map_at(&t, P(0), 3, RW);
	for (unsigned int i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + (i >> 8);
	assert_int_equal(access_remote_vm(mm, P(0) + 100, out, 9000,
					  FOLL_WRITE), 9000);
	assert_true(folio_test_dirty(page_folio(page_mapped_at(&t, P(0)))));
	assert_int_equal(access_remote_vm(mm, P(0) + 100, in, 9000, 0), 9000);
	assert_memory_equal(in, out, 9000);
	/* up to the end of what is there */
	memset(in, 0, sizeof(in));
	assert_int_equal(access_remote_vm(mm, P(2) + 4000, in, 5000, 0), 96);
	assert_int_equal(access_remote_vm(mm, P(3), in, 10, 0), 0);
	assert_int_equal(access_remote_vm(mm, P(0), in, 0, 0), 0);
	assert_int_equal(access_remote_vm(mm, P(0), in, 10, FOLL_NOWAIT), 10);
	assert_valid(&t);
	end();
}

static void access_by_force(void **state)
{
	char bytes[16] = "changed";

	(void)state;
	begin();
	map_at(&t, P(0), 1, RW);
	write_word(&t, P(0), 5);
	assert_int_equal(pf_mprotect(t.mm, P(0), PAGE_SIZE, PINFOLD_PROT_NONE),
			 0);
	assert_int_equal(access_remote_vm(mm, P(0), bytes, 8, 0), 0);
	assert_int_equal(access_remote_vm(mm, P(0), bytes, 8, FOLL_FORCE), 8);
	assert_int_equal(*(u64 *)bytes, 5);
	assert_int_equal(access_remote_vm(mm, P(0), "changed", 8, FOLL_WRITE),
			 0);
	assert_int_equal(access_remote_vm(mm, P(0), "changed", 8,
					  FOLL_WRITE | FOLL_FORCE), 8);
	assert_int_equal(access_remote_vm(mm, P(0), bytes, 8, FOLL_FORCE), 8);
	assert_string_equal(bytes, "changed");
	end();
}

static void access_meets_faults(void **state)
{
	char bytes[3 * 4096];

	(void)state;
	begin();
	map_at(&t, P(0), 3, RW);
	/* the lock is never dropped; the fault is another's */
	expect_faults(0, VM_FAULT_SIGBUS);
	assert_int_equal(access_remote_vm(mm, P(0) + 4000, bytes, 5000, 0), 96);
	assert_int_equal(hook.flags[0], FAULT_FLAG_REMOTE);
	expect_faults(VM_FAULT_OOM);
	assert_int_equal(access_remote_vm(mm, P(1), bytes, 10, FOLL_WRITE), 0);
	expect_faults(0);
	pf_task_signal(pf_task_self(), true);
	assert_int_equal(access_remote_vm(mm, P(0), bytes, 10, 0), 0);
	pf_task_clear_signals();
	assert_valid(&t);
	end();
}

static void *lock_for_write(void *arg)
{
	mmap_write_lock(mm);
	WRITE_ONCE(*(int *)arg, 1);
	while (READ_ONCE(*(int *)arg) != 2)
		cpu_relax();
	mmap_write_unlock(mm);
	return NULL;
}

/* The lock is somebody else's, and the thread that waits for it is killed. */
static void locks_that_cannot_be_had(void **state)
{
	pthread_t thread;
	int held = 0;
	char byte;

	(void)state;
	begin();
	map_at(&t, P(0), 1, RW);
	assert_int_equal(pthread_create(&thread, NULL, lock_for_write, &held),
			 0);
	while (READ_ONCE(held) != 1)
		cpu_relax();
	pf_task_signal(pf_task_self(), true);
	assert_int_equal(access_remote_vm(mm, P(0), &byte, 1, 0), 0);
	assert_null(get_dump_page(P(0)));
	assert_int_equal(mm_populate(mm, P(0), PAGE_SIZE, false), -EINTR);
	assert_int_equal(pf_madvise(t.mm, P(0), PAGE_SIZE, READ), -EINTR);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, P(0), 1, handles, 0),
			 -EAGAIN);
	assert_int_equal(pf_pin_user_pages_unlocked(t.mm, P(0), 1, handles,
						    FOLL_LONGTERM), -EAGAIN);
	assert_int_equal(pf_pin_user_pages_fast(t.mm, P(0), 1, 0, handles),
			 -EAGAIN);
	assert_int_equal(fault_in_readable(P(0), 1), 1);
	pf_task_clear_signals();
	WRITE_ONCE(held, 2);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(nr_resident(0, 1), 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_by_permission),
		cmocka_unit_test(ranges_with_a_lock_to_drop),
		cmocka_unit_test(everything_but_holes),
		cmocka_unit_test(errors_end_it_or_not),
		cmocka_unit_test(dropped_locks_are_taken_again),
		cmocka_unit_test(a_killed_thread_stops),
		cmocka_unit_test(faultin_goes_as_far_as_it_can),
		cmocka_unit_test(p1_p2_permissions),
		cmocka_unit_test(p3_p4_p5_holes),
		cmocka_unit_test(p6_p7_untouched),
		cmocka_unit_test(p8_soft_dirty),
		cmocka_unit_test(v16_unmapped_while_waiting),
		cmocka_unit_test(case_L1),
		cmocka_unit_test(fixups_that_cannot_be),
		cmocka_unit_test(fixups_retry),
		cmocka_unit_test(fixups_fault_always),
		cmocka_unit_test(fault_in_counts_what_is_missing),
		cmocka_unit_test(fault_in_by_permission),
		cmocka_unit_test(fault_in_and_the_bytes),
		cmocka_unit_test(fault_in_retries),
		cmocka_unit_test(access_across_pages),
		cmocka_unit_test(access_by_force),
		cmocka_unit_test(access_meets_faults),
		cmocka_unit_test(locks_that_cannot_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
