/* SPDX-License-Identifier: MIT */
/*
 * Claim: the layout of a real process shows the mappings, the resident pages
 * and the folio orders that the process made, to root and, without the orders,
 * to an ordinary user; a process that cannot be read gives its errno and words.
 *
 * Source: docs/layout.md
 */
#include "lab/layout.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/arena.h"
#include "host/procfs.h"

#define PAGE		((size_t)LAYOUT_PAGE_BYTES)
#define HUGE		((size_t)2 << 20)
#define NOBODY		65534

/* A private mapping between two guard pages, which no neighbour joins. */
static char *map_guarded(size_t bytes, size_t align)
{
	const size_t span = bytes + 2 * align;
	char *all = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	char *p;

	assert_true(all != MAP_FAILED);
	p = (char *)ALIGN((uintptr_t)all + PAGE, align);
	if (p - PAGE > all)
		munmap(all, (size_t)(p - PAGE - all));
	if (all + span > p + bytes + PAGE)
		munmap(p + bytes + PAGE,
		       (size_t)(all + span - (p + bytes + PAGE)));
	assert_int_equal(mprotect(p, bytes, PROT_READ | PROT_WRITE), 0);
	return p;
}

static void unmap_guarded(char *p, size_t bytes)
{
	assert_int_equal(munmap(p - PAGE, bytes + 2 * PAGE), 0);
}

static struct layout *capture(pid_t pid)
{
	struct layout_error why;
	struct layout *l = NULL;

	if (layout_capture(pid, &l, &why))
		fail_msg("%s", why.text);
	return l;
}

static const struct layout_vma *find_vma(const struct layout *l, const void *p)
{
	for (size_t i = 0; i < l->nr_vmas; i++)
		if (l->vmas[i].start <= (uintptr_t)p &&
		    (uintptr_t)p < l->vmas[i].end)
			return &l->vmas[i];
	return NULL;
}

static bool frames_readable(void)
{
	struct procfs *p;
	bool yes;

	assert_int_equal(procfs_open(getpid(), &p), 0);
	yes = procfs_frames_readable(p);
	procfs_close(p);
	return yes;
}

/* Pages 0-3 and 6 written, 10-15 written, the rest never touched. */
static char *make_pattern(void)
{
	char *p = map_guarded(16 * PAGE, PAGE);

	madvise(p, 16 * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < 16; i++)
		if (i < 4 || i == 6 || i >= 10)
			p[(size_t)i * PAGE] = 1;
	return p;
}

static bool pattern_is_right(const struct layout *l, const char *p,
			     int8_t order)
{
	static const u64 pages[] = { 4, 2, 1, 3, 6 };
	const struct layout_vma *vma = find_vma(l, p);

	if (!vma || vma->start != (uintptr_t)p ||
	    vma->end != (uintptr_t)p + 16 * PAGE || vma->nr_runs != 5)
		return false;
	if (!vma->read || !vma->write || vma->exec || vma->shared || vma->file)
		return false;
	for (size_t i = 0; i < 5; i++) {
		const struct layout_run *run = &vma->runs[i];

		if (run->nr_pages != pages[i] || run->resident != !(i & 1) ||
		    run->order != (i & 1 ? LAYOUT_ORDER_UNKNOWN : order))
			return false;
	}
	return true;
}

/* A child that waits to be killed; ready when this returns. */
static pid_t start_child(bool readable)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!readable)
			prctl(PR_SET_DUMPABLE, 0);
		if (write(fds[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_pattern(void **state)
{
	char *p = make_pattern();
	pid_t pid = start_child(true);
	struct layout *l = capture(pid);
	const int8_t order = frames_readable() ? 0 : LAYOUT_ORDER_UNKNOWN;

	(void)state;
	end_child(pid);
	assert_true(pattern_is_right(l, p, order));
	assert_int_equal(l->orders_known, frames_readable());
	layout_free(l);

	l = capture(getpid());
	assert_true(pattern_is_right(l, p, order));
	layout_free(l);
	unmap_guarded(p, 16 * PAGE);
}

/* Runs @fn in a child without rights; yields what it returns. */
static int run_as_nobody(int (*fn)(const void *), const void *arg)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (!getuid() && setuid(NOBODY))
			_exit(100);
		prctl(PR_SET_DUMPABLE, 1);
		_exit(fn(arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int check_self(const void *pattern)
{
	struct layout_error why;
	struct layout *l;
	int bad = 0;

	if (layout_capture(getpid(), &l, &why))
		return 1;
	if (!pattern_is_right(l, pattern, LAYOUT_ORDER_UNKNOWN))
		bad |= 2;
	if (l->orders_known || !layout_unknown_pages(l))
		bad |= 4;
	layout_free(l);
	return bad;
}

static void test_ordinary_user(void **state)
{
	char *p = make_pattern();

	(void)state;
	assert_int_equal(run_as_nobody(check_self, p), 0);
	unmap_guarded(p, 16 * PAGE);
}

static int check_refused(const void *pid)
{
	struct layout_error why;
	struct layout *l;
	int ret = layout_capture(*(const pid_t *)pid, &l, &why);

	if (ret != -EACCES && ret != -EPERM)
		return 1;
	return !strstr(why.text, "not permitted to read process");
}

static void test_not_permitted(void **state)
{
	pid_t pid = start_child(false);

	(void)state;
	assert_int_equal(run_as_nobody(check_refused, &pid), 0);
	end_child(pid);
}

static void assert_capture_fails(pid_t pid, int err, const char *what)
{
	struct layout_error why;
	struct layout *l = NULL;

	assert_int_equal(layout_capture(pid, &l, &why), err);
	assert_null(l);
	assert_non_null(strstr(why.text, what));
}

static void test_gone(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	/* ended, and still there for us to wait for */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_capture_fails(pid, -ENODATA, "has no memory of its own");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_capture_fails(pid, -ESRCH, "no process");
}

/* A huge folio, and the first half of another whose rest was discarded. */
static void test_huge_region(void **state)
{
	const bool frames = frames_readable();
	const struct layout_vma *vma;
	struct layout *l;
	char *p = map_guarded(2 * HUGE, HUGE);

	(void)state;
	madvise(p, 2 * HUGE, MADV_HUGEPAGE);
	memset(p, 1, 2 * HUGE);
	if (host_huge_bytes(p, 2 * HUGE) != 2 * HUGE) {
		unmap_guarded(p, 2 * HUGE);
		skip();
	}
	l = capture(getpid());
	vma = find_vma(l, p);
	assert_int_equal(vma->nr_runs, 1);
	assert_int_equal(vma->runs[0].order, LAYOUT_HUGE_ORDER);
	assert_int_equal(vma->runs[0].nr_pages, 1024);
	layout_free(l);

	assert_int_equal(madvise(p + HUGE + HUGE / 2, HUGE / 2, MADV_DONTNEED),
			 0);
	l = capture(getpid());
	vma = find_vma(l, p);
	assert_int_equal(vma->nr_runs, frames ? 2 : 3);
	assert_int_equal(vma->runs[0].nr_pages, frames ? 768 : 512);
	assert_int_equal(vma->runs[0].order, LAYOUT_HUGE_ORDER);
	assert_false(vma->runs[vma->nr_runs - 1].resident);
	assert_int_equal(vma->runs[vma->nr_runs - 1].nr_pages, 256);
	layout_free(l);
	unmap_guarded(p, 2 * HUGE);
}

/* A page that was only read is the zero page: resident, order 0. */
static void test_zero_page(void **state)
{
	char *p = map_guarded(3 * PAGE, PAGE);
	const struct layout_vma *vma;
	struct layout *l;

	(void)state;
	madvise(p, 3 * PAGE, MADV_NOHUGEPAGE);
	(void)*(volatile char *)(p + PAGE);
	l = capture(getpid());
	vma = find_vma(l, p);
	assert_int_equal(vma->nr_runs, 3);
	assert_true(vma->runs[1].resident);
	if (frames_readable())
		assert_int_equal(vma->runs[1].order, 0);
	layout_free(l);
	unmap_guarded(p, 3 * PAGE);
}

static void test_names_and_kinds(void **state)
{
	char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct layout_vma *vma;
	struct layout *l;

	(void)state;
	assert_true(shared != MAP_FAILED);
	l = capture(getpid());
	vma = find_vma(l, (void *)(uintptr_t)capture);
	assert_non_null(vma);
	assert_true(vma->exec && vma->file && !vma->write && !vma->shared);
	assert_memory_equal(vma->name, "layout_capture", 14);
	vma = find_vma(l, shared);
	assert_non_null(vma);
	assert_true(vma->shared && vma->file);
	assert_string_equal(vma->name, "zero");
	for (size_t i = 0; i < l->nr_vmas; i++) {
		vma = &l->vmas[i];
		assert_string_not_equal(vma->name, "[vsyscall]");
		if (vma->file)
			assert_null(strchr(vma->name, '/'));
		if (!strncmp(vma->name, "[vvar", 5))
			assert_false(vma->runs[0].resident);
	}
	layout_free(l);
	munmap(shared, PAGE);
}

/* What was captured fulfils every rule that the reader checks. */
static void test_read_back(void **state)
{
	char path[] = "/tmp/pinfold-test.XXXXXX";
	struct layout *l = capture(getpid()), *back = NULL;
	struct layout_error why;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(layout_write(l, f), 0);
	assert_int_equal(fclose(f), 0);
	if (layout_read(path, &back, &why))
		fail_msg("%s", why.text);
	unlink(path);
	assert_int_equal(back->nr_vmas, l->nr_vmas);
	assert_int_equal(layout_resident_pages(back), layout_resident_pages(l));
	assert_int_equal(layout_unknown_pages(back), layout_unknown_pages(l));
	layout_free(back);
	layout_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_ordinary_user),
		cmocka_unit_test(test_not_permitted),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_huge_region),
		cmocka_unit_test(test_zero_page),
		cmocka_unit_test(test_names_and_kinds),
		cmocka_unit_test(test_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
